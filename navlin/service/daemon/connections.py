"""Limits for connections to the web process: idle and incomplete connections are closed, and the number per peer is
limited.

uvicorn only closes connections that are idle between two requests. It waits forever for the rest of a header, for the
rest of a body that is not read, and for a client that does not read the response.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Final

import h11
import structlog
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from navlin.access.attempts import network_of
from navlin.service.daemon.counted_bytes import CountedConnection

log = structlog.stdlib.get_logger(__name__)

HEADER_S: Final = 15.0
"""Timeout for a request's header, in seconds, from its first byte or from the start of the connection. Also the timeout
for a TLS handshake."""
LEFTOVER_S: Final = 5.0
"""Timeout for the rest of a request's body after the response, in seconds."""
STALLED_S: Final = 60.0
"""Timeout for a client that does not read the response, in seconds. Only one piece of the response waits
(`navlin.api.application.PIECE_BYTES`), and the client may take as long for each."""
MOST_HEADER_BYTES: Final = 16 << 10
MOST_CONNECTIONS: Final = 1_000
RESERVED_DESCRIPTORS: Final = 128
"""File descriptors reserved for the index, files and everything else."""
MOST_OF_PEER: Final = 128
SAID_EVERY_S: Final = 60.0


def most_connections() -> int:
    """Return the maximum number of connections of this process, which depends on its limit of file descriptors."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    return max(soft // 4, min(MOST_CONNECTIONS, soft - RESERVED_DESCRIPTORS))


@dataclass(slots=True)
class Connections:
    """The open connections, grouped by peer. When a limit is reached, the oldest idle connection is closed to accept a
    new one. If every connection has a request in progress, the new connection is closed.

    ``most`` is the limit for all peers together; ``proxies`` are IP addresses without a limit of their own.
    """

    most: int
    proxies: Collection[str] = ()
    _of_peer: dict[str, dict[BoundedProtocol, None]] = field(default_factory=dict)
    _count: int = 0
    _said_s: float = float("-inf")
    _unsaid: int = 0

    def take(self, new: BoundedProtocol) -> bool:
        """Register a new connection, and return whether it may stay."""
        own = self._of_peer.setdefault(new.peer, {})
        bounded = new.peer not in self.proxies and len(own) >= min(MOST_OF_PEER, max(1, self.most // 2))
        if bounded or self._count >= self.most:
            self._say(new.peer)
            crowd = own if bounded else max(self._of_peer.values(), key=len)
            idle = next((each for each in crowd if not each.answering), None)
            if idle is None:
                self.leave(new)
                return False
            self.leave(idle)
            idle.transport.abort()
        self._of_peer.setdefault(new.peer, {})[new] = None
        self._count += 1
        return True

    def leave(self, old: BoundedProtocol) -> None:
        """Remove a connection. Harmless if it is unknown."""
        own = self._of_peer.get(old.peer, {})
        if old in own:
            del own[old]
            self._count -= 1
        if not own:
            self._of_peer.pop(old.peer, None)

    def _say(self, peer: str) -> None:
        self._unsaid += 1
        if time.monotonic() >= self._said_s + SAID_EVERY_S:
            log.warning(
                "connections closed: too many were open", closed=self._unsaid, last=peer, open=self._count
            )
            self._said_s, self._unsaid = time.monotonic(), 0


class BoundedProtocol(H11Protocol):
    """A connection with timeouts for header, body and response."""

    def __init__(self, *given: Any, all_connections: Connections, **more: Any) -> None:
        super().__init__(*given, **more)
        self.conn: CountedConnection = CountedConnection(MOST_HEADER_BYTES)
        self.peer = ""
        self._all = all_connections
        self._unread: asyncio.TimerHandle | None = None
        self._unwritten: asyncio.TimerHandle | None = None

    @property
    def answering(self) -> bool:
        """Whether a request is in progress, that is, its header is complete and its response is not."""
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(transport)
        self.peer = network_of(self.client[0] if self.client else "")
        # By default the timeout would apply only if 64 KiB are waiting, and fewer bytes could wait forever. With 0 bytes,
        # a connection with TLS would always be paused.
        transport.set_write_buffer_limits(high=1, low=0)
        if self._all.take(self):
            self._unread = self.loop.call_later(HEADER_S, transport.abort)
        else:
            transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.is_wasteful:
            self._refuse_body()
        elif self.answering:
            _end(self._unread)
            self._unread = None
        elif self._unread is None:
            # Bytes do not restart this timer; otherwise a client that sends one byte from time to time would keep the
            # connection open.
            self._unread = self.loop.call_later(HEADER_S, self.transport.abort)

    def _refuse_body(self) -> None:
        """Answer 400 if no answer has begun, and close the connection."""
        self.cycle.disconnected = True
        self.cycle.message_event.set()
        if self.conn.our_state is h11.SEND_RESPONSE:
            self.send_400_response("The body is sent in too many pieces.")
        else:
            self.transport.abort()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.conn.is_wasteful:
            self.transport.abort()
        if self.answering or self.transport.is_closing():
            return
        _end(self._unread)
        self._unread = None
        if self.conn.their_state is h11.SEND_BODY:
            self._unread = self.loop.call_later(LEFTOVER_S, self.transport.abort)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unwritten = self.loop.call_later(STALLED_S, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        _end(self._unwritten)

    def connection_lost(self, exc: Exception | None) -> None:
        _end(self._unread)
        _end(self._unwritten)
        self._all.leave(self)
        super().connection_lost(exc)


def _end(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()


class Loop(asyncio.SelectorEventLoop):
    """An event loop that limits a TLS handshake to `HEADER_S`, because uvicorn has no setting for this timeout."""

    async def create_server(self, *given: Any, **how: Any) -> asyncio.Server:
        if how.get("ssl") is not None:
            how["ssl_handshake_timeout"] = HEADER_S
        return await super().create_server(*given, **how)


class OnceAMinute(logging.Filter):
    """A log filter that passes a repeated warning of a library only once per minute, because asyncio can report
    thousands of times per second that no file descriptors are left."""

    def __init__(self) -> None:
        super().__init__()
        self._passed_s: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to write the record."""
        what = f"{record.getMessage().partition(chr(10))[0]} {record.exc_info and record.exc_info[1]!r}"
        now_s = time.monotonic()
        if now_s < self._passed_s.get(what, float("-inf")) + SAID_EVERY_S:
            return False
        if len(self._passed_s) >= 1_000:
            self._passed_s.clear()
        self._passed_s[what] = now_s
        return True
