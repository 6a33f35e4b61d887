"""``POST /api/navlin/v1/lines/SOURCE``: lines of a log, from any program that ships logs. They are written to disk
before the response is sent.

A body has lines as they are in the log, or with ``?field=NAME`` JSON objects (one per line, or in an array) whose member
NAME has the line. A line that is not such an object is stored as it is, because a refused body would be sent again for
ever; if it cannot be read, it becomes a reject of its source. 503 tells the sender to try again; 429 says that too much
of the same host is still unread.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import orjson
import structlog
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from navlin.api.answers import HttpError, error_answer, json_answer
from navlin.api.bodies import EVENTS_BYTES, Bodies
from navlin.api.event_spool import SpoolFull
from navlin.api.hosts import LINES_BELOW, HostAddress, HostReceiver
from navlin.api.json_bounds import Octets, TooManyValues, check_json
from navlin.api.packed_bodies import plain_body
from navlin.model.extractor import LINES

log = structlog.stdlib.get_logger(__name__)

MOST_FIELD_CHARS: Final = 128
MOST_VALUES: Final = 250_000
"""Maximum number of values in an envelope, or in an array of envelopes."""
ADDRESS: Final = HostAddress(
    "POST",
    LINES_BELOW + "{source}",
    "Append lines to the log of a source. The body has at most 16 MiB, and at most 32 MiB unpacked.",
    (
        ("source", "path", "name of the source"),
        (
            "field",
            "query",
            "member that has the line, if each line is a JSON object or the body an array of them",
        ),
        ("Content-Encoding", "header", "`gzip`, or none"),
    ),
    ((200, "the lines are on disk; `lines` is their number"),),
)


def routes(receiver: HostReceiver, bodies: Bodies) -> list[Route]:
    return [Route(ADDRESS.path, partial(_take, receiver, bodies), methods=[ADDRESS.method])]


async def _take(receiver: HostReceiver, bodies: Bodies, request: Request) -> Response:
    request.state.address = ADDRESS.path
    source = request.path_params["source"]
    host = receiver.require(request, source, LINES).host
    name = request.query_params.get("field", "")
    if len(name) > MOST_FIELD_CHARS or request.query_params.keys() - {"field"}:
        raise HttpError(400, f"the only parameter is field, of at most {MOST_FIELD_CHARS} characters")
    encoding = request.headers.get("content-encoding", "")

    def take_in(body: Octets) -> Response:
        receiver.require_room()
        text = plain_body(body, encoding).rstrip(b"\r\n")
        lines = list(_unwrapped(text, name)) if name else [bytes(text)]
        if text:
            receiver.lines_of(source).append(lines, host)
        return json_answer({"lines": sum(each.count(b"\n") + 1 for each in lines) if text else 0})

    try:
        async with bodies.read(request, host, EVENTS_BYTES) as body:
            return await bodies.take_in(host, partial(take_in, body))
    except SpoolFull as full:
        log.warning("lines refused", reason=str(full), host=host, source=source)
        receiver.contacts.note(
            host, refused=f"lines of {source} are refused: {full}", refused_ms=receiver.now_ms()
        )
        return error_answer(429, f"the lines cannot be accepted now: {full}", {"Retry-After": "60"})
    except OSError as error:
        log.error("lines not stored", error=str(error), host=host, source=source)
        return error_answer(503, f"the lines cannot be stored now: {error.strerror}", {"Retry-After": "5"})


def _unwrapped(text: Octets, name: str) -> Iterator[bytes]:
    """Yield the member ``name`` of each object, and whatever has no such member as it is."""
    if text.lstrip()[:1] == b"[" and isinstance(objects := _value(text), list):
        for each in objects:
            message = each.get(name) if isinstance(each, dict) else None
            yield message.encode() if isinstance(message, str) else orjson.dumps(each)
        return
    for line in bytes(text).split(b"\n"):
        value = _value(line) if name.encode("utf-8", "replace") in line else None
        message = value.get(name) if isinstance(value, dict) else None
        yield message.encode() if isinstance(message, str) else line


def _value(text: Octets) -> Any:
    """Return the JSON value of a text; None if it is not valid JSON. Raises `HttpError` if it has too many values."""
    try:
        check_json(text, MOST_VALUES)
        return orjson.loads(text)
    except TooManyValues as error:
        raise HttpError(413, f"the body is too large for one request: {error}") from None
    except ValueError:
        return None
