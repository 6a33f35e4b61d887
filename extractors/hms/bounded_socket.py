"""Thrift sockets that limit the time and the size of each response."""

from __future__ import annotations

import time
from typing import Any, Final

from thrift.transport.TSocket import TSocket
from thrift.transport.TSSLSocket import TSSLSocket
from thrift.transport.TTransport import TTransportException

WHOLE: Final = 4
"""Maximum time for a whole response, as a multiple of the timeout."""
MOST_BYTES: Final = 1 << 28


class _BoundedResponses:
    """Limits one response at a time. `begin` starts the next response."""

    handle: Any
    _deadline_s = _silence_s = 0.0
    _left_bytes = 0

    def begin(self, silence_s: float) -> None:
        """Limit the next response to ``silence_s`` seconds between two reads, `WHOLE` times that in all, and
        `MOST_BYTES`.
        """
        self.setTimeout(silence_s * 1000)  # type: ignore[attr-defined]
        self._silence_s, self._deadline_s = silence_s, time.monotonic() + WHOLE * silence_s
        self._left_bytes = MOST_BYTES

    def read(self, size: int) -> bytes:
        """Read as TSocket does, within the limits. Raises `TTransportException` if a limit is exceeded."""
        left_s = self._deadline_s - time.monotonic()
        if left_s <= 0:
            raise TTransportException(TTransportException.TIMED_OUT, "the answer is incomplete")
        self.handle.settimeout(min(left_s, self._silence_s))
        try:
            data: bytes = super().read(size)  # type: ignore[misc]
        finally:
            if self.handle is not None:
                self.handle.settimeout(self._silence_s)
        self._left_bytes -= len(data)
        if self._left_bytes < 0:
            words = f"the answer has more than {MOST_BYTES >> 20} MiB"
            raise TTransportException(TTransportException.SIZE_LIMIT, words)
        return data


class PlainSocket(_BoundedResponses, TSocket):  # type: ignore[misc]  # thrift ships no annotations
    """A plain socket that limits the time and the size of each response."""


class TlsSocket(_BoundedResponses, TSSLSocket):  # type: ignore[misc]
    """A TLS socket that limits the time and the size of each response."""
