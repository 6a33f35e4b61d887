"""Ports of loopback for services that must be told their port before they start.

A port that was free a moment ago may have been given to another program when the service binds it. A port from here is
kept bound by this process, and nobody listens at it: Linux gives it to no other program that asks for any port, and
lets a service that sets SO_REUSEADDR, as Java's do, bind it and listen.
"""

from __future__ import annotations

import socket
from typing import Final

_KEPT: Final[list[socket.socket]] = []
"""Bound for as long as this process lives, so that a service may be started again on its port."""


def reserved_port() -> int:
    """Return a free port of 127.0.0.1, and reserve it until this process ends. Raises OSError if there is none."""
    kept = socket.socket()
    kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    kept.bind(("127.0.0.1", 0))
    _KEPT.append(kept)
    port: int = kept.getsockname()[1]
    return port
