"""Peers that an attack simulates: raw HTTP, written by the attack itself, and a small LDAP directory (RFC 4511) in BER."""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def json_answer(value: Any, *lines: str) -> bytes:
    body = json.dumps(value).encode()
    head = [
        "HTTP/1.1 200 OK",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "Connection: close",
        *lines,
    ]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


def pour(
    connection: socket.socket, piece: bytes, most: int, pause_s: float = 0.0, first: bytes = b""
) -> None:
    """Send `first`, then `piece` repeatedly up to `most` bytes, with a pause after each piece."""
    connection.sendall(first)
    sent = 0
    while sent < most:
        connection.sendall(piece)
        sent += len(piece)
        if pause_s:
            time.sleep(pause_s)


@contextmanager
def raw_peer(act: Callable[[socket.socket], None], port: int = 0) -> Iterator[int]:
    """Listen on loopback. `act` handles each connection in a separate thread; an error on the connection ends it."""
    listener = socket.create_server(("127.0.0.1", port), backlog=256)
    ended = threading.Event()

    def serve(connection: socket.socket) -> None:
        try:
            act(connection)
        except (OSError, ValueError, IndexError):
            pass
        finally:
            connection.close()

    def accept() -> None:
        while not ended.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield int(listener.getsockname()[1])
    finally:
        ended.set()
        listener.close()


@contextmanager
def http_peer(act: Callable[[socket.socket, bytes], None], port: int = 0) -> Iterator[int]:
    """Like `raw_peer`, but `act` also gets the head of the HTTP request."""

    def read(connection: socket.socket) -> None:
        head = b""
        connection.settimeout(120)
        while b"\r\n\r\n" not in head and len(head) < 1_000_000:
            more = connection.recv(65536)
            if not more:
                return
            head += more
        act(connection, head)

    with raw_peer(read, port) as at:
        yield at


def certificate(name: str = "localhost") -> Path:
    """Return a directory with a self-signed certificate c.pem and its key k.pem."""
    directory = Path(tempfile.mkdtemp(prefix="attack-tls-"))
    words = f"req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN={name} -addext subjectAltName=DNS:{name},IP:127.0.0.1"
    subprocess.run(
        ["openssl", *words.split(), "-keyout", "k.pem", "-out", "c.pem"],
        cwd=directory,
        check=True,
        capture_output=True,
    )
    return directory


def tlv(tag: int, value: bytes) -> bytes:
    size = len(value)
    if size < 128:
        return bytes((tag, size)) + value
    octets = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes((tag, 0x80 | len(octets))) + octets + value


def number(value: int, tag: int = 2) -> bytes:
    return tlv(tag, value.to_bytes(max(1, (value.bit_length() + 8) // 8), "big"))


def parts(data: bytes) -> list[tuple[int, bytes]]:
    """Return (tag, content) of each element in the content of a BER sequence."""
    out, at = [], 0
    while at < len(data):
        tag, size, at = data[at], data[at + 1], at + 2
        if size & 0x80:
            count = size & 0x7F
            size, at = int.from_bytes(data[at : at + count], "big"), at + count
        out.append((tag, data[at : at + size]))
        at += size
    return out


def read_message(connection: socket.socket) -> tuple[int, int, bytes, bytes] | None:
    """Read one LDAP message. Return its id, the tag and the content of the operation, and all bytes of the message;
    None at the end of the connection.
    """
    head = connection.recv(2, socket.MSG_WAITALL)
    if len(head) < 2:
        return None
    size = head[1]
    if size & 0x80:
        octets = connection.recv(size & 0x7F, socket.MSG_WAITALL)
        size, head = int.from_bytes(octets, "big"), head + octets
    body = connection.recv(size, socket.MSG_WAITALL)
    found = parts(body)
    return int.from_bytes(found[0][1], "big"), found[1][0], found[1][1], head + body


def message(ident: int, operation: bytes) -> bytes:
    return tlv(0x30, number(ident) + operation)


def result(tag: int, code: int = 0, more: bytes = b"", text: bytes = b"") -> bytes:
    return tlv(tag, number(code, 10) + tlv(4, b"") + tlv(4, text) + more)


def entry(name: str, **attributes: list[str]) -> bytes:
    listed = b"".join(
        tlv(0x30, tlv(4, k.encode()) + tlv(0x31, b"".join(tlv(4, v.encode()) for v in vs)))
        for k, vs in attributes.items()
    )
    return tlv(0x64, tlv(4, name.encode()) + tlv(0x30, listed))


class Directory:
    """An LDAP directory that accepts every bind and finds `ann`, unless `answer` decides otherwise. It records all
    bytes received, and each bind.
    """

    def __init__(
        self, answer: Callable[[socket.socket, int, int, bytes], bool] | None = None, tls: Path | None = None
    ) -> None:
        self.answer, self.came, self.binds, self.searches = answer, b"", [], 0  # type: ignore[var-annotated]
        self.context: ssl.SSLContext | None = None
        if tls:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(tls / "c.pem", tls / "k.pem")

    def __call__(self, connection: socket.socket) -> None:
        connection.settimeout(120)
        while (got := read_message(connection)) is not None:
            ident, tag, content, raw = got
            self.came += raw
            if tag == 0x60:
                words = parts(content)
                self.binds.append((words[1][1], words[2][1]))
            self.searches += tag == 0x63
            if self.answer and self.answer(connection, ident, tag, content):
                continue
            if tag == 0x60:
                connection.sendall(message(ident, result(0x61)))
            elif tag == 0x63:
                dn = "uid=ann,dc=example,dc=org"
                connection.sendall(
                    message(ident, entry(dn, uid=["ann"], cn=["ann"])) + message(ident, result(0x65))
                )
            elif tag == 0x77 and self.context:
                connection.sendall(message(ident, result(0x78)))
                connection = self.context.wrap_socket(connection, server_side=True)
            elif tag == 0x42:
                return
            else:
                connection.sendall(message(ident, result(0x78, 2)))
