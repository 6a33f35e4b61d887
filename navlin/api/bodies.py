"""Request bodies, read only after the caller is known, and parsed in separate threads.

A body is limited in size by its endpoint (`Endpoint.most_bytes`), in time, and by the room that all bodies share; each
user can take only a part of the room. Bodies are parsed in a few threads that answer no queries. Of one user's bodies,
only one is parsed at a time.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn, TypeVar

import anyio
import orjson
from anyio import CapacityLimiter, to_thread
from starlette.requests import Request

from navlin.api.answers import HttpError
from navlin.api.json_bounds import MOST_VALUES, Octets, TooDeep, TooManyValues, check_json
from navlin.api.turns import Turns

T = TypeVar("T")
SMALL_BYTES: Final = 64 << 10
"""Maximum size of a body at an endpoint without its own limit."""
EDIT_BYTES: Final = 2 << 20
"""Maximum size of a body that edits entities, because a description may have a million characters."""
QUERY_BYTES: Final = 4 << 20
"""Maximum size of a query's body, because Navigator's clients send queries with ten thousand ids."""
EVENTS_BYTES: Final = 16 << 20
"""Maximum size of a body with OpenLineage events, as sent (possibly compressed)."""

UNCOUNTED_BYTES: Final = 16 << 10
"""Maximum size of a body that is read without waiting for room."""
ROOM_BYTES: Final = 36 << 20
"""Room for all larger bodies that are being read or parsed."""
SHARE_BYTES: Final = 18 << 20
"""Maximum room that the bodies of one user may take."""
ROOM_WITHIN_S: Final = 30.0
SILENCE_S: Final = 15.0
"""Maximum time between two pieces of a body."""
GRACE_S: Final = 15.0
LEAST_BYTES_A_SECOND: Final = 16 << 10
"""Minimum average rate of a body after the grace period."""
MOST_DISCARDED_BYTES: Final = 64 << 20
DISCARDED_WITHIN_S: Final = 5.0
"""Limits up to which an oversized body is still read, so that the sender receives the response."""

PARSED_AT_ONCE: Final = 2
PARSED_INLINE_BYTES: Final = 2 << 10
"""Maximum size of a body that is parsed in the event loop, because handing it to a thread would take longer."""


@dataclass(slots=True)
class Bodies:
    """The bodies in progress in one process. For a single event loop."""

    _room: int = ROOM_BYTES
    _of_user: dict[str, int] = field(default_factory=dict)
    _changed: anyio.Event = field(default_factory=anyio.Event)
    _turns: Turns = field(default_factory=lambda: Turns(1))
    _threads: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(PARSED_AT_ONCE))
    _large: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(1))

    @asynccontextmanager
    async def read(self, request: Request, user: str, most_bytes: int) -> AsyncIterator[Octets]:
        """Yield the body of a user's request. The body takes up room until the context ends. Raises `HttpError`."""
        declared = request.headers.get("content-length", "")
        if declared and (not declared.isdigit() or int(declared) > most_bytes):
            await _refuse_large(request, most_bytes)
        chunked = "transfer-encoding" in request.headers
        if chunked and declared:
            # A proxy may believe one of the two, and see another end of the request.
            raise HttpError(400, "a request has a length or chunks, not both")
        wanted = most_bytes if chunked else int(declared or 0)
        async with self._kept_room(user, wanted if wanted > UNCOUNTED_BYTES else 0):
            yield await _read(request, most_bytes) if wanted else b""

    async def parse(self, user: str, size_bytes: int, work: Callable[[], T]) -> T:
        """Return the result of ``work``, which parses a body of ``size_bytes`` bytes. It runs in a thread unless the
        body is small."""
        if size_bytes <= PARSED_INLINE_BYTES:
            return work()
        async with self._turns.turn(user):
            return await to_thread.run_sync(work, limiter=self._threads)

    async def take_in(self, user: str, work: Callable[[], T]) -> T:
        """Return the result of ``work``. It may take a hundred MiB of memory, so only one such call runs at a time in the
        process."""
        async with self._turns.turn(user):
            return await to_thread.run_sync(work, limiter=self._large)

    @asynccontextmanager
    async def _kept_room(self, user: str, size_bytes: int) -> AsyncIterator[None]:
        try:
            with anyio.fail_after(ROOM_WITHIN_S):
                while size_bytes and not self._fits(user, size_bytes):
                    await self._changed.wait()
        except TimeoutError:
            raise HttpError(429, "too much is being sent at the moment: try again") from None
        self._take(user, size_bytes)
        try:
            yield
        finally:
            self._take(user, -size_bytes)
            changed, self._changed = self._changed, anyio.Event()
            changed.set()

    def _fits(self, user: str, size_bytes: int) -> bool:
        return size_bytes <= self._room and self._of_user.get(user, 0) + size_bytes <= SHARE_BYTES

    def _take(self, user: str, size_bytes: int) -> None:
        self._room -= size_bytes
        self._of_user[user] = self._of_user.get(user, 0) + size_bytes
        if not self._of_user[user]:
            del self._of_user[user]


def json_of(body: Octets, most_values: int = MOST_VALUES) -> Any:
    """Return the JSON value of a body; an empty object for an empty body. Raises `HttpError`."""
    try:
        check_json(body, most_values)
        return orjson.loads(body) if body else {}
    except TooManyValues as error:
        raise HttpError(413, f"the body is too large: {error}") from None
    except TooDeep as error:
        raise HttpError(400, f"the body is nested too deep: {error}") from None
    except orjson.JSONDecodeError as error:
        raise HttpError(400, f"the body is not valid JSON: {error}") from None


async def _read(request: Request, most_bytes: int) -> Octets:
    # The pieces are not joined at the end, because that would block the event loop.
    body, began_s = bytearray(), anyio.current_time()
    while True:
        until_s = began_s + GRACE_S + len(body) / LEAST_BYTES_A_SECOND
        try:
            with anyio.fail_after(max(0.0, min(until_s - anyio.current_time(), SILENCE_S))):
                message = await request.receive()
        except TimeoutError:
            raise HttpError(408, "the body did not arrive in time") from None
        if message["type"] == "http.disconnect":
            raise HttpError(400, "the connection ended before the whole body had arrived")
        body += message.get("body", b"")
        if len(body) > most_bytes:
            body.clear()
            await _refuse_large(request, most_bytes)
        if not message.get("more_body"):
            return body


async def _refuse_large(request: Request, most_bytes: int) -> NoReturn:
    """Raise `HttpError`, but first continue to read for a while. If a connection is closed while the client still sends,
    the response may be lost."""
    discarded, goes_on = 0, "expect" not in request.headers
    with anyio.move_on_after(DISCARDED_WITHIN_S):
        while goes_on and discarded < MOST_DISCARDED_BYTES:
            message = await request.receive()
            discarded += len(message.get("body", b""))
            goes_on = message.get("more_body", False)
    size = f"{most_bytes >> 20} MiB" if most_bytes >= 1 << 20 else f"{most_bytes >> 10} KiB"
    raise HttpError(413, f"the body is too large: this address accepts at most {size}")
