"""``POST /api/v1/lineage`` and ``/api/v1/lineage/batch``: OpenLineage events, as its clients send them. They are
written to disk before the response is sent.

The first endpoint responds with 201 if a whole body can be read. Otherwise it responds with 400, and stores nothing.
The second takes an array and stores each event that can be read. It responds with 200, and lists the failed events by
their position. 503 tells the sender to try again; 429 says that too many events of the same user are still unread. The
index is not queried, so events are accepted while the index is down. The sender must have permission to write, or be
named in ``[web]``.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import orjson
import structlog
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from navlin.access.roles import Role
from navlin.api.answers import HttpError, error_answer, json_answer
from navlin.api.audit import audit
from navlin.api.bodies import EVENTS_BYTES, Bodies
from navlin.api.event_spool import EventSpool, SpoolFull
from navlin.api.json_bounds import Octets, TooManyValues, check_json

log = structlog.stdlib.get_logger(__name__)

ADDRESS: Final = "/api/v1/lineage"
BATCH: Final = "/api/v1/lineage/batch"
MOST_BYTES: Final = 32 << 20
"""Maximum size of a body after decompression."""
MOST_MEMBERS: Final = 10_000
"""Maximum number of members of one gzip file."""
MOST_VALUES: Final = 250_000
"""Maximum number of values in an event, or in an array of events."""
MOST_DEPTH: Final = 1_000
MOST_IN_BATCH: Final = 10_000
MOST_UNUSUAL_BYTES: Final = 4 << 20
"""Maximum size of an event, or array of events, that contains NaN. Such a text needs Python's own parser, which takes
several times the memory."""
_PIECE_BYTES: Final = 64 << 10
_UNPACKED_BYTES: Final = 256 << 10
_NO_NUMBER: Final = re.compile(rb"\b(?:NaN|Infinity)\b")
Taker = Callable[[Octets, str], tuple[list[bytes], Response]]
"""Converts a body and its content encoding to lines for the spool, and the response."""
OFF: Final = "OpenLineage events are not accepted here: set openlineage_directory in [web] to enable them"


@dataclass(frozen=True, slots=True)
class EventReceiver:
    """The spool for events, and the names of users who may send events whatever their role."""

    spool: EventSpool
    senders: frozenset[str] = frozenset()


def routes(receiver: EventReceiver | None, bodies: Bodies) -> list[Route]:
    """Return both routes. Without ``receiver``, the response is an error that names the setting to enable them."""
    takers = ((ADDRESS, _all_or_none), (BATCH, _each))
    return [
        Route(address, partial(_take, receiver, bodies, address, taker), methods=["POST"])
        for address, taker in takers
    ]


async def _take(
    receiver: EventReceiver | None, bodies: Bodies, address: str, taker: Taker, request: Request
) -> Response:
    request.state.address = address
    user = request.state.user
    if receiver is None:
        raise HttpError(404, OFF)
    if user.role < Role.METADATA_ADMINISTRATOR and user.name not in receiver.senders:
        audit("request refused", request, user.name, reason="role")
        words = Role.METADATA_ADMINISTRATOR.words
        raise HttpError(403, f"this needs the role {words}, or an entry in openlineage_users of [web]")
    encoding = request.headers.get("content-encoding", "")

    def take_in(body: Octets) -> Response:
        lines, answer = taker(body, encoding)
        receiver.spool.append(lines, user.name)
        return answer

    try:
        async with bodies.read(request, user.name, EVENTS_BYTES) as body:
            return await bodies.take_in(user.name, partial(take_in, body))
    except SpoolFull as full:
        log.warning("OpenLineage events refused", reason=str(full), user=user.name)
        return error_answer(429, f"the event cannot be accepted now: {full}", {"Retry-After": "60"})
    except OSError as error:
        log.error("OpenLineage event not stored", error=str(error), user=user.name)
        return error_answer(503, f"the event cannot be stored now: {error.strerror}", {"Retry-After": "5"})


def _all_or_none(body: Octets, encoding: str) -> tuple[list[bytes], Response]:
    """Return the events of a body, each as a line, and the response to send once they are stored. Raises `HttpError`."""
    return list(_lines(_plain(body, encoding))), Response(status_code=201)


def _each(body: Octets, encoding: str) -> tuple[list[bytes], Response]:
    """Return the readable events of an array, each as a line, and the response to send once they are stored. Raises
    `HttpError`."""
    try:
        events = _value(_plain(body, encoding))
    except ValueError as error:
        raise _no_json(error) from None
    if not isinstance(events, list):
        raise HttpError(400, f"the body is not an array; send a single event to {ADDRESS}")
    if len(events) > MOST_IN_BATCH:
        raise HttpError(413, f"a batch may have at most {MOST_IN_BATCH:,} events")
    lines, failed = list[bytes](), list[dict[str, Any]]()
    for index, event in enumerate(events):
        try:
            lines.append(_checked(event, "the event"))
        except HttpError as problem:
            failed.append({"index": index, "reason": problem.message, "retriable": False})
    counts = {
        "received": len(events),
        "successful": len(lines),
        "failed": len(failed),
        "retriable": 0,
        "non_retriable": len(failed),
    }
    status = "partial_success" if failed else "success"
    return lines, json_answer({"status": status, "summary": counts, "failed_events": failed})


def _plain(body: Octets, encoding: str) -> Octets:
    """Return the decompressed body. Raises `HttpError`."""
    match encoding.strip().lower():
        case "" | "identity":
            return body
        case "gzip" | "x-gzip":
            return _unpacked(body)
    raise HttpError(
        415, f"the encoding {encoding[:40]!r} is not supported: send the body as gzip, or without an encoding"
    )


def _unpacked(body: Octets) -> bytearray:
    """Decompress a gzip file of one or more members, because some clients write one member for each event. Raises
    `HttpError`."""
    plain, at, members = bytearray(), 0, 0
    while at < len(body) or not members:
        member, members = zlib.decompressobj(wbits=31), members + 1
        if members > MOST_MEMBERS:
            raise HttpError(413, f"a gzip body may have at most {MOST_MEMBERS:,} members")
        while not member.eof:
            piece = body[at : at + _PIECE_BYTES]
            if not piece:
                raise HttpError(400, "the body is not valid gzip: its end is missing")
            at += len(piece)
            while piece and not member.eof:
                try:
                    # Small pieces, because copying holds the GIL.
                    plain += member.decompress(piece, _UNPACKED_BYTES)
                except zlib.error as error:
                    raise HttpError(400, f"the body is not valid gzip: {error}") from None
                if len(plain) > MOST_BYTES:
                    raise HttpError(
                        413, f"the body is too large: at most {MOST_BYTES >> 20} MiB are accepted"
                    )
                piece = member.unconsumed_tail
        at -= len(member.unused_data)
    return plain


def _lines(body: Octets) -> Iterator[bytes]:
    """Yield each event of a body (one event, an array, or one event per line) as a line. Raises `HttpError` if any of
    them is not an event."""
    try:
        found = _value(body)
    except ValueError as error:
        # Parse one line at a time, because all events together may take ten times the memory of their text.
        yield from _lines_of_lines(body, error)
        return
    events = found if isinstance(found, list) else [found]
    for number, event in enumerate(events):
        yield _checked(event, f"event {number} of the body" if len(events) > 1 else "the event")


def _lines_of_lines(body: Octets, whole: ValueError) -> Iterator[bytes]:
    if body.find(b"\n") < 0:
        raise _no_json(whole)
    number = -1
    for number, line in enumerate(_split(body)):
        try:
            event = _value(line)
        except TooManyValues as error:
            raise _no_json(error) from None
        except ValueError:
            raise _no_json(whole) from None
        yield _checked(event, f"event {number} of the body")
    if number < 1:
        raise _no_json(whole)


def _split(body: Octets) -> Iterator[Octets]:
    at = 0
    while at < len(body):
        end = body.find(b"\n", at)
        end = len(body) if end < 0 else end
        if line := body[at:end].strip():
            yield line
        at = end + 1


def _no_json(error: ValueError) -> HttpError:
    if isinstance(error, TooManyValues):
        return HttpError(413, f"the body is too large for one request: {error}")
    return HttpError(400, f"the body is not valid JSON: {error}")


def _checked(event: Any, called: str) -> bytes:
    """Return an event as a line. Raises `HttpError` if the value is not an event."""
    if why := _why_not(event):
        raise HttpError(400, f"{called} {why}")
    return _line(event)


def _value(text: Octets) -> Any:
    """Return the JSON value of a text. The text may contain NaN, as Python writes it. Raises `ValueError`."""
    check_json(text, MOST_VALUES, MOST_DEPTH)
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        if len(text) > MOST_UNUSUAL_BYTES or not _NO_NUMBER.search(text):
            raise
    try:
        value = json.loads(text)
        json.dumps(value, ensure_ascii=False).encode()  # a lone surrogate cannot be encoded
    except RecursionError as error:
        raise ValueError(str(error)) from None
    return value


def _line(event: Any) -> bytes:
    """Return an event as a line. Raises `HttpError` if the event is nested too deep."""
    try:
        return orjson.dumps(event)
    except orjson.JSONEncodeError:  # nested deeper, or with larger numbers, than orjson writes
        try:
            return json.dumps(event, separators=(",", ":")).encode()
        except RecursionError:
            raise HttpError(400, "the event is nested too deep") from None


def _why_not(event: Any) -> str:
    """Return why a value is not an event, as the end of a sentence; "" if it is one. The extractor that reads the
    events requires no more than this."""
    if not isinstance(event, dict):
        return "is not a JSON object"
    if not isinstance(event.get("eventTime"), str) or not event["eventTime"]:
        return "has no eventTime"
    named = (
        event.get("job") if event.get("dataset") is None or event.get("job") is not None else event["dataset"]
    )
    given = named if isinstance(named, dict) else {}
    if not all(isinstance(given.get(name), str) and given[name] for name in ("namespace", "name")):
        return "does not name a job or a dataset: either needs a namespace and a name"
    run = event.get("run")
    if run is not None and not (isinstance(run, dict) and isinstance(run.get("runId"), str) and run["runId"]):
        return "has a run without a runId"
    return ""
