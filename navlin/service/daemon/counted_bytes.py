"""A connection of HTTP whose chunks may not cost more than the body that they bring.

A body in chunks of one byte, or with long extensions of chunks, is many times as long on the wire as it is, and takes
the event loop long to parse. So the number of pieces and the bytes beside the body are limited by the size of the
body. Clients write chunks of some kB.
"""

from __future__ import annotations

from typing import Any, Final

import h11

FREE_PIECES: Final = 200
"""Number of pieces of a body that may be of any size."""
LEAST_PIECE_BYTES: Final = 128
"""Least average size of further pieces."""
FREE_BYTES: Final = 64 << 10
"""Number of bytes on the wire, beside the body and the header, that may exceed the body's own."""


class CountedConnection(h11.Connection):
    """h11's connection, which counts the pieces and the bytes of each request's body. ``is_wasteful`` is true if they
    exceed the limits; then no further event is returned.
    """

    def __init__(self, most_header_bytes: int) -> None:
        super().__init__(h11.SERVER, most_header_bytes)
        self.is_wasteful = False
        self._received = self._begun_at = 0
        self._body_bytes = self._pieces = 0

    def receive_data(self, data: bytes) -> None:
        """Count and take bytes, as h11 does."""
        self._received += len(data)
        super().receive_data(data)

    def next_event(self) -> Any:
        """Return the next event as h11 does, or h11.PAUSED if the request is wasteful."""
        if self.is_wasteful:
            return h11.PAUSED
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._begun_at, self._body_bytes, self._pieces = self._parsed, 0, 0
        elif isinstance(event, h11.Data):
            self._pieces += 1
            self._body_bytes += len(event.data)
        self.is_wasteful = self.their_state is h11.SEND_BODY and (
            self._pieces > FREE_PIECES + self._body_bytes // LEAST_PIECE_BYTES
            or self._parsed - self._begun_at - self._body_bytes > FREE_BYTES + self._body_bytes
        )
        return h11.PAUSED if self.is_wasteful else event

    @property
    def _parsed(self) -> int:
        """Number of bytes that were received and parsed."""
        return self._received - len(self._receive_buffer)
