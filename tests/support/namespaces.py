"""Separate hosts, as network, process id and user namespaces, like containers. They reach a port of this host only
through a socket in the file system, which both sides see.
"""

from __future__ import annotations

import fcntl
import socket
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

HOST: Final = (
    "unshare",
    "--user",
    "--map-root-user",
    "--pid",
    "--net",
    "--fork",
    "--kill-child",
    "--mount-proc",
)
"""Prefix for a command: it runs as process 1 of such a host, which has this host's name."""
_SIOCSIFFLAGS, _IFF_UP_RUNNING = 0x8914, 0x41


def refused() -> str:
    """The reason why this machine gives an unprivileged process no such host; "" if it does."""
    tried = subprocess.run([*HOST, "true"], capture_output=True, text=True, check=False)
    return tried.stderr.strip() if tried.returncode else ""


@contextmanager
def bridge(path: Path, port: int) -> Iterator[None]:
    """Forwards connections to the socket at ``path`` to ``port`` of this host."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        _forward(listening, lambda: socket.create_connection(("127.0.0.1", port)))
        yield
        listening.shutdown(socket.SHUT_RDWR)


def cross(path: str) -> int:
    """Inside: opens a port that leads over the bridge at ``path`` until the process ends, and returns it."""
    raise_loopback()
    return lead_to(path)


def raise_loopback() -> None:
    """Inside: raises the loopback interface, without which a new network cannot even reach itself."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", _IFF_UP_RUNNING))


def lead_to(path: str | Path) -> int:
    """Opens a port of this host that leads over the bridge at ``path`` until the process ends, and returns it."""
    listening = socket.create_server(("127.0.0.1", 0))

    def over_the_bridge() -> socket.socket:
        connected = socket.socket(socket.AF_UNIX)
        connected.connect(str(path))
        return connected

    _forward(listening, over_the_bridge)
    port: int = listening.getsockname()[1]
    return port


def _forward(listening: socket.socket, connect: Callable[[], socket.socket]) -> None:
    listening.listen()

    def accept() -> None:
        with suppress(OSError):
            while True:
                one = listening.accept()[0]
                try:
                    other = connect()
                except OSError:  # nobody is listening there yet
                    one.close()
                    continue
                for source, target in ((one, other), (other, one)):
                    threading.Thread(target=_copy, args=(source, target), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
