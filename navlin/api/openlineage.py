"""``POST /api/v1/lineage``: OpenLineage events, as its clients send them, kept on disk before they are answered.

It answers 201 when an event will be read, 400 for what never will be, and 503 for what its sender should try again; 429 as
long as too much that the same user sent before is not read. Events are taken while the index is away. Who sends must be
allowed to write, or named in ``[web]``.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import orjson
import structlog
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from navlin.access.roles import Role
from navlin.api.answers import Problem, error_answer
from navlin.api.audit import audit
from navlin.api.event_spool import EventSpool, SpoolFull

log = structlog.stdlib.get_logger(__name__)

ADDRESS: Final = "/api/v1/lineage"
MOST_BYTES: Final = 64 << 20
"""Of a body that was compressed."""
_NO_NUMBER: Final = re.compile(rb"\b(?:NaN|Infinity)\b")
OFF: Final = "OpenLineage events are not taken here: openlineage_directory in [web] says where to keep them"


@dataclass(frozen=True, slots=True)
class EventDoor:
    """Where events go, and the names of users who may send them whatever their role."""

    spool: EventSpool
    senders: frozenset[str] = frozenset()


def routes(door: EventDoor | None) -> list[Route]:
    """The address; without a door it says how to have one."""
    return [Route(ADDRESS, partial(_take, door), methods=["POST"])]


async def _take(door: EventDoor | None, request: Request) -> Response:
    request.state.address = ADDRESS
    user = request.state.user
    if door is None:
        raise Problem(404, OFF)
    if user.role < Role.METADATA_ADMINISTRATOR and user.name not in door.senders:
        audit("request refused", request, user.name, reason="role")
        words = Role.METADATA_ADMINISTRATOR.words
        raise Problem(
            403, f"that is for users with the role {words}, and for those in openlineage_users of [web]"
        )
    encoding = request.headers.get("content-encoding", "")
    # A large body takes seconds, in which the event loop must answer others.
    lines = await run_in_threadpool(_events, await request.body(), encoding)
    try:
        await run_in_threadpool(door.spool.append, lines, user.name)
    except SpoolFull as full:
        log.warning("events refused", reason=str(full), user=user.name)
        return error_answer(429, f"the event is not taken now: {full}", {"Retry-After": "60"})
    except OSError as error:
        log.error("event not kept", error=str(error), user=user.name)
        return error_answer(503, f"the event cannot be kept now: {error.strerror}", {"Retry-After": "5"})
    return Response(status_code=201)


def _events(body: bytes, encoding: str) -> list[bytes]:
    """The events of a body, each as a line. Raises `Problem`."""
    return list(_lines(_plain(body, encoding)))


def _plain(body: bytes, encoding: str) -> bytes:
    """The body without its compression. Raises `Problem`."""
    match encoding.strip().lower():
        case "" | "identity":
            return body
        case "gzip" | "x-gzip":
            return _unpacked(body)
    raise Problem(415, f"the body is encoded as {encoding[:40]!r}: send it as it is, or as gzip")


def _unpacked(body: bytes) -> bytes:
    """The content of a gzip of one or more members, as some clients write one for each event. Raises `Problem`."""
    plain, rest, room = list[bytes](), body, MOST_BYTES
    while rest or not plain:
        member = zlib.decompressobj(wbits=31)
        try:
            # One byte more than fits: a limit of none would be no limit.
            plain.append(member.decompress(rest, room + 1))
        except zlib.error as error:
            raise Problem(400, f"the body is no gzip: {error}") from None
        room -= len(plain[-1])
        if room < 0:
            raise Problem(413, f"a body has at most {MOST_BYTES >> 20} MiB")
        if not member.eof:
            raise Problem(400, "the body is no gzip: it has no end")
        rest = member.unused_data
    return b"".join(plain)


def _lines(body: bytes) -> Iterator[bytes]:
    """The events of a body (one, an array, or one a line), each as a line. Raises `Problem` for what is no event."""
    try:
        found = _value(body)
    except ValueError as error:
        lines = [line for line in body.splitlines() if line.strip()]
        try:
            found = [_value(line) for line in lines]
        except ValueError:
            found = []
        if len(lines) < 2 or not found:
            raise Problem(400, f"the body is no JSON: {error}") from None
    events = found if isinstance(found, list) else [found]
    for number, event in enumerate(events):
        if why := _why_not(event):
            raise Problem(400, f"{f'event {number} of the body' if len(events) > 1 else 'the event'} {why}")
        yield _line(event)


def _value(text: bytes) -> Any:
    """The JSON value of a text, which may hold NaN, as Python writes it. Raises `ValueError`."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        if not _NO_NUMBER.search(text):
            raise
    try:
        value = json.loads(text)
        json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair is no text
    except RecursionError as error:
        raise ValueError(str(error)) from None
    return value


def _line(event: Any) -> bytes:
    """An event as a line. Raises `Problem` for one that is nested too deep."""
    try:
        return orjson.dumps(event)
    except orjson.JSONEncodeError:  # nested deeper, or with larger numbers, than it writes
        try:
            return json.dumps(event, separators=(",", ":")).encode()
        except RecursionError:
            raise Problem(400, "the event is nested too deep") from None


def _why_not(event: Any) -> str:
    """Why this is no event, in words; "" if it is one. Whoever reads it is strict about no more than that."""
    if not isinstance(event, dict):
        return "is no JSON object"
    if not isinstance(event.get("eventTime"), str) or not event["eventTime"]:
        return "has no eventTime"
    named = (
        event.get("job") if event.get("dataset") is None or event.get("job") is not None else event["dataset"]
    )
    given = named if isinstance(named, dict) else {}
    if not all(isinstance(given.get(name), str) and given[name] for name in ("namespace", "name")):
        return "names no job, or no dataset: both need a namespace and a name"
    run = event.get("run")
    if run is not None and not (isinstance(run, dict) and isinstance(run.get("runId"), str) and run["runId"]):
        return "has a run without a runId"
    return ""
