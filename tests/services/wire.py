"""A connection to a Thrift service that tests can watch and disturb. It forwards bytes between a client and the
real service.
"""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Self

_CALL = re.compile(rb"\x80\x01\x00\x01....([A-Za-z_]\w*)", re.DOTALL)


class Wire:
    """Listens on its own port and forwards to ``port``.

    ``calls`` lists the names of the calls that passed. ``disturb`` maps the bytes received from a client to the
    bytes to forward; b"" leaves the client without a response, and None breaks the connection.
    """

    def __init__(self, port: int, disturb: Callable[[bytes], bytes | None] = lambda sent: sent) -> None:
        self.calls: list[str] = []
        self.disturb = disturb
        self._to = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.uri = f"thrift://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                service = socket.create_connection(("127.0.0.1", self._to))
                threading.Thread(target=self._requests, args=(client, service), daemon=True).start()
                threading.Thread(target=self._answers, args=(service, client), daemon=True).start()

    def _requests(self, client: socket.socket, service: socket.socket) -> None:
        with suppress(OSError), client, service:
            while sent := client.recv(1 << 20):
                self.calls += (name.decode() for name in _CALL.findall(sent))
                forwarded = self.disturb(sent)
                if forwarded is None:
                    client.shutdown(socket.SHUT_RDWR)
                    return
                service.sendall(forwarded)

    @staticmethod
    def _answers(service: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while answered := service.recv(1 << 20):
                client.sendall(answered)
