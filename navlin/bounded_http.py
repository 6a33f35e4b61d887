"""HTTP responses with a limited time and size, whatever the server does.

The timeout of ``requests`` only limits the silence between two bytes. Here the whole response, including its head, may
take `WHOLE` times the timeout, and its bytes are counted before and after decompression. `bound` sets these limits on a
session.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

WHOLE: Final = 4
"""Maximum time for a whole response, as a multiple of the timeout."""
SLOWEST_BYTES_S: Final = 16 << 10
"""Minimum rate of a stream, in bytes per second. A stream that keeps this rate may take longer than `WHOLE`
timeouts."""
_HEAD_BYTES: Final = 8 << 20
_LINE_BYTES: Final = 1 << 16
_BUFFER_BYTES: Final = 1 << 16


class AnswerTooLong(requests.exceptions.RequestException):
    """A response exceeds the maximum size."""


class WrongLength(requests.exceptions.RequestException):
    """The head of a response does not give one valid length, so the end of the response is unknown."""


class BoundedAdapter(HTTPAdapter):
    """Transport adapter that limits the time and size of responses. ``most_bytes`` is None for streams, which have no
    maximum size because the caller reads them piece by piece. ``check`` is called with the port of each new connection
    before anything is sent, and raises OSError if the peer is not the right one."""

    def __init__(
        self, most_bytes: int | None, *, check: Callable[[int], None] | None = None, **pools: Any
    ) -> None:
        self._most_bytes, self._check = most_bytes, check
        super().__init__(**pools)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        """Create connection pools whose connections limit each response."""
        super().init_poolmanager(*args, **kwargs)
        pools: dict[str, Any] = {
            "http": partial(_pool, HTTPConnectionPool, partial(_Bounded, self._most_bytes, self._check)),
            "https": partial(_pool, HTTPSConnectionPool, partial(_BoundedTls, self._most_bytes, self._check)),
        }
        self.poolmanager.pool_classes_by_scheme = pools

    def send(self, *args: Any, **kwargs: Any) -> requests.Response:
        """Send like `HTTPAdapter.send`; reading more of the response than is allowed raises `AnswerTooLong`. Raises
        `WrongLength`."""
        response = super().send(*args, **kwargs)
        lengths = {each.strip() for each in response.headers.get("Content-Length", "0").split(",")}
        if len(lengths) > 1 or not all(each.isascii() and each.isdigit() for each in lengths):
            response.close()
            raise WrongLength(f"its answer has the length {min(lengths):.20}, which is not a length")
        if self._most_bytes is not None:
            raw: Any = response.raw
            raw.stream = partial(_counted, raw, raw.stream, self._most_bytes)
        return response


def bound(session: requests.Session, most_bytes: int | None, **pools: Any) -> requests.Session:
    """Limit the time and size of all further responses of a session, and return the session. Every request needs a
    timeout."""
    adapter = BoundedAdapter(most_bytes, **pools)
    session.mount("http://", adapter)
    session.mount("https://", adapter)
    return session


def _pool(kind: Callable[..., Any], connection: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    pool = kind(*args, **kwargs)
    pool.ConnectionCls = connection
    return pool


def _counted(
    raw: Any, stream: Callable[..., Iterator[bytes]], most: int, *args: Any, **kwargs: Any
) -> Iterator[bytes]:
    """Yield the decompressed pieces of a body. Raises `AnswerTooLong` after ``most`` bytes."""
    count = 0
    for piece in stream(*args, **kwargs):
        count += len(piece)
        if count > most:
            raw.close()
            raise AnswerTooLong(_too_long(most))
        yield piece


def _too_long(most_bytes: int) -> str:
    return f"its answer has more than {most_bytes >> 20} MiB: it was not read"


class _Bounded(HTTPConnection):
    def __init__(
        self, most_bytes: int | None, check: Callable[[int], None] | None, *args: Any, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._most_bytes, self._check = most_bytes, check

    def connect(self) -> None:
        super().connect()
        if self._check is not None and self.port is not None:
            self._check(self.port)
        self.sock: Any = _Socket(self.sock, self._most_bytes)


class _BoundedTls(_Bounded, HTTPSConnection):
    """A connection over TLS with the same limits."""


class _Socket:
    """Socket whose `makefile` limits the time and size of one response."""

    def __init__(self, socket: Any, most_bytes: int | None) -> None:
        self._socket, self._most_bytes = socket, most_bytes

    def __getattr__(self, name: str) -> Any:
        return getattr(self._socket, name)

    def makefile(self, *_: Any, **__: Any) -> io.BufferedReader:
        return _Lines(_BoundedResponse(self._socket, self._most_bytes), _BUFFER_BYTES)


class _Lines(io.BufferedReader):
    def readline(self, size: int | None = -1, /) -> bytes:
        # urllib3 reads the line with a chunk's size without a limit.
        return super().readline(_LINE_BYTES if size is None or size < 0 else size)


class _BoundedResponse(io.RawIOBase):
    """Raw stream of one response. Reading raises OSError if a limit is exceeded."""

    def __init__(self, socket: Any, most_bytes: int | None) -> None:
        self._socket, self._most_bytes = socket, most_bytes
        self._raw = socket.makefile("rb", buffering=0)
        self._silence_s: float = socket.gettimeout()
        self._waited_s = 0.0
        self._received = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int | None:
        left_s = self._left_s()
        self._socket.settimeout(min(self._silence_s, left_s))
        begun_s = time.monotonic()
        count: int | None = 0
        try:
            count = self._raw.readinto(buffer)
        except TimeoutError:
            if left_s >= self._silence_s:
                raise
        self._waited_s += time.monotonic() - begun_s
        self._left_s()
        self._received += count or 0
        if self._most_bytes is not None and self._received > self._most_bytes + _HEAD_BYTES:
            raise OSError(_too_long(self._most_bytes))
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()

    def _left_s(self) -> float:
        allowed_s = WHOLE * self._silence_s
        if self._most_bytes is None:
            allowed_s += self._received / SLOWEST_BYTES_S
        if self._waited_s >= allowed_s:
            raise OSError(self._too_slow())
        return allowed_s - self._waited_s

    def _too_slow(self) -> str:
        if self._most_bytes is None:
            return f"its answer arrives at less than {SLOWEST_BYTES_S >> 10} KiB a second"
        return f"its answer is still incomplete after {WHOLE * self._silence_s:g} s"
