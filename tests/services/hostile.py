"""A hostile server that accepts connections and responds to each as instructed, possibly forever."""

from __future__ import annotations

import gzip
import itertools
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final, Self

DRIP_S: Final = 0.05
DRIPS: Final = 800
"""Number of bytes that a peer drips. They take 40 seconds, ten times as long as any client here may wait."""
CLOSING_S: Final = 2.0
HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"

Pieces = Callable[[], Iterator[bytes]]


class HostilePeer:
    """A server that sends ``pieces`` to each client.

    It starts after the client's first bytes, or immediately if it ``speaks_first``, and pauses before each piece if
    it ``drips``. Then it closes the connection, or stays silent if it ``stays``. ``sent`` counts the bytes that
    clients accepted; ``asked`` holds the first bytes received on each connection. With ``tls``, all of this is inside
    of TLS.
    """

    def __init__(
        self,
        pieces: Pieces,
        *,
        drips: bool = False,
        stays: bool = False,
        speaks_first: bool = False,
        address: str = "127.0.0.1",
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._tls = tls
        self._pieces, self._drips, self._stays, self._speaks_first = pieces, drips, stays, speaks_first
        self._listening = socket.create_server((address, 0))
        self._ended = threading.Event()
        self.port: int = self._listening.getsockname()[1]
        self.where = f"{address}:{self.port}"
        self.sent = 0
        self.asked: list[bytes] = []

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        tls = self._tls
        with (
            suppress(OSError),
            tls.wrap_socket(connection, server_side=True) if tls else connection as connection,
        ):
            if not self._speaks_first:
                self.asked.append(connection.recv(1 << 16))
            for piece in self._pieces():
                if self._ended.wait(DRIP_S if self._drips else 0):
                    return
                connection.sendall(piece)
                self.sent += len(piece)
            if self._stays:
                self._ended.wait()
            # Closing with unread input would discard the output already sent.
            connection.shutdown(socket.SHUT_WR)
            connection.settimeout(CLOSING_S)
            while connection.recv(1 << 16):
                pass


def silence() -> HostilePeer:
    return HostilePeer(lambda: iter(()), stays=True)


def drip(answer: bytes, *, speaks_first: bool = False, tls: ssl.SSLContext | None = None) -> HostilePeer:
    """Return a peer that sends a response one byte at a time, then its last byte again and again."""
    return HostilePeer(
        lambda: (bytes((byte,)) for byte in answer[:DRIPS].ljust(DRIPS, answer[-1:])),
        drips=True,
        speaks_first=speaks_first,
        tls=tls,
    )


def endless(beginning: bytes, rest: bytes) -> HostilePeer:
    """Return a peer that sends as much data as the client accepts."""
    many = rest * (1 + (1 << 16) // len(rest))
    return HostilePeer(lambda: itertools.chain((beginning,), itertools.repeat(many)))


def cut(answer: bytes) -> HostilePeer:
    """Return a peer that sends the beginning of a response, then closes the connection."""
    return HostilePeer(lambda: iter((answer,)))


def http_drip() -> HostilePeer:
    """Return a peer that sends a long body, one byte at a time."""
    return drip(HEAD + b"\r\n ")


def http_head_drip() -> HostilePeer:
    """Return a peer that sends a long response header, one byte at a time."""
    return drip(HEAD + b"X: x")


def http_endless() -> HostilePeer:
    return endless(HEAD + b'\r\n{"apps":{"app":[', b"{},")


def http_endless_chunk_size() -> HostilePeer:
    return endless(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"0")


def http_bomb(unpacked: bytes = b"[],", megabytes: int = 1_024) -> HostilePeer:
    """Return a peer that sends a small compressed response that unpacks to several GiB."""
    packed = gzip.compress(unpacked * ((1 << 20) // len(unpacked)), 9) * megabytes
    head = HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)
    return cut(head + packed)


def http_of_length(length: bytes) -> HostilePeer:
    """Respond with an empty JSON object and this Content-Length."""
    return HostilePeer(lambda: iter((HEAD + b"Content-Length: " + length + b"\r\n\r\n{}",)))


def http_answer(body: bytes) -> HostilePeer:
    return cut(HEAD + b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(body) + body)


def http_cut() -> HostilePeer:
    return cut(HEAD + b'Content-Length: 1000\r\n\r\n{"apps":')


def http_redirect(target: str) -> HostilePeer:
    return cut(
        b"HTTP/1.1 307 Elsewhere\r\nLocation: %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        % target.encode()
    )


def tls_drip() -> HostilePeer:
    """Return a peer that sends the beginning of a long TLS record, one byte at a time."""
    return drip(b"\x16\x03\x03\x3f\xff\x02\x00\x3f\xf0\x00")
