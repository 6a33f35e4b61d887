"""Thrift over SASL, as Hive's services speak it: a negotiation, followed by frames, which are signed or encrypted if
agreed.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from io import BytesIO
from typing import Any, Final

from thrift.transport.TTransport import CReadableTransport, TTransportBase, TTransportException

from navlin.kerberos.client import SaslConversation
from navlin.kerberos.messages import KerberosFailed

START, OK, BAD, ERROR, COMPLETE = range(1, 6)
MECHANISM: Final = b"GSSAPI"
LONGEST_TOKEN: Final = 1 << 20
LONGEST_FRAME: Final = 1 << 29
_STATUS: Final = struct.Struct(">BI")
_LENGTH: Final = struct.Struct(">I")


class SaslRefused(KerberosFailed):
    """The service aborted the negotiation."""


class SaslTransport(TTransportBase, CReadableTransport):  # type: ignore[misc]  # thrift ships no annotations
    """A transport over a socket. ``begin`` starts the conversation after the socket is opened."""

    def __init__(self, socket: Any, begin: Callable[[], SaslConversation]) -> None:
        self._socket = socket
        self._begin = begin
        self._conversation: SaslConversation | None = None
        self._wraps = False
        self._received = BytesIO()
        self._written = BytesIO()

    def isOpen(self) -> bool:
        return bool(self._socket.isOpen())

    def open(self) -> None:
        """Connect and negotiate. Raises `KerberosFailed` and the socket's errors."""
        self._socket.open()
        try:
            self._negotiate()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._conversation is not None:
            self._conversation.close()
            self._conversation = None
        self._socket.close()

    def read(self, size: int) -> bytes:
        data = self._received.read(size)
        if not data:
            self._read_frame()
            data = self._received.read(size)
        return data

    def write(self, data: bytes) -> None:
        self._written.write(data)

    def flush(self) -> None:
        data, self._written = self._written.getvalue(), BytesIO()
        if self._wraps:
            data = self._open_conversation.wrap(data)
        self._socket.write(_LENGTH.pack(len(data)) + data)
        self._socket.flush()

    # Thrift's C code reads from this buffer.

    @property
    def cstringio_buf(self) -> BytesIO:
        return self._received

    def cstringio_refill(self, prefix: bytes, wanted: int) -> BytesIO:
        while len(prefix) < wanted:
            self._read_frame()
            prefix += self._received.getvalue()
        self._received = BytesIO(prefix)
        return self._received

    def _negotiate(self) -> None:
        self._conversation = conversation = self._begin()
        self._send(START, MECHANISM)
        self._send(OK, conversation.token)
        while True:
            status, challenge = self._receive()
            if status not in (OK, COMPLETE):
                reason = challenge.decode(errors="replace").strip() or "without a reason"
                raise SaslRefused(f"the service refused Kerberos: {reason[:300]} (its own log says why)")
            if status == COMPLETE and conversation.layer:
                break
            answer = conversation.step(challenge)
            if status == COMPLETE:
                break
            self._send(COMPLETE if conversation.layer else OK, answer)
        if not conversation.layer:
            raise SaslRefused("the service ended the negotiation before it was complete")
        self._wraps = conversation.layer != "auth"

    def _send(self, status: int, body: bytes) -> None:
        self._socket.write(_STATUS.pack(status, len(body)) + body)
        self._socket.flush()

    def _receive(self) -> tuple[int, bytes]:
        status, length = _STATUS.unpack(self._socket.readAll(_STATUS.size))
        if length > LONGEST_TOKEN:
            raise SaslRefused("the answer is not SASL: does the service use Kerberos at this port?")
        return status, self._socket.readAll(length) if length else b""

    def _read_frame(self) -> None:
        (length,) = _LENGTH.unpack(self._socket.readAll(_LENGTH.size))
        if length > LONGEST_FRAME:
            raise TTransportException(TTransportException.SIZE_LIMIT, f"a frame of {length} bytes")
        frame = self._socket.readAll(length)
        self._received = BytesIO(self._open_conversation.unwrap(frame) if self._wraps else frame)

    @property
    def _open_conversation(self) -> SaslConversation:
        if self._conversation is None:
            raise TTransportException(TTransportException.NOT_OPEN, "the connection is closed")
        return self._conversation
