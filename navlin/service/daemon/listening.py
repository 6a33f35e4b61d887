"""The listening socket of the web process.

`navlin serve` opens the socket and passes it to the web process. So a restarted web process listens at the same port,
and clients wait during the restart instead of being refused.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import Final

import structlog

from navlin.service.settings.web_settings import WebSettings

log = structlog.stdlib.get_logger(__name__)

WAITING: Final = 128
"""Maximum number of connections waiting to be accepted."""


class NoPort(Exception):
    """The address and port are not available; the message gives the reason and a remedy."""


@dataclass(frozen=True, slots=True)
class Listening:
    """An open socket, and the URL for users."""

    socket: socket.socket
    url: str


def listen(settings: WebSettings, *, or_another: bool = False) -> Listening:
    """Open the port. If it is taken, raise `NoPort`; with ``or_another``, log a warning and use any free port
    instead."""
    family = socket.AF_INET6 if ":" in settings.address else socket.AF_INET
    # With protocol 0, asyncio leaves Nagle's algorithm on, which delays each small response, except for the first on a
    # connection, by 40 ms.
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((settings.address, settings.port))
    except OSError as error:
        if not or_another or not settings.port:
            opened.close()
            raise NoPort(
                f"{settings.address}:{settings.port} cannot be opened ({error.strerror}): another program may be"
                " using it; set another port in [web] of the configuration, or 0 for any free one"
            ) from error
        opened.bind((settings.address, 0))
        log.warning(
            "configured port taken: another one opened",
            wanted=settings.port,
            port=opened.getsockname()[1],
            reason=error.strerror,
        )
    opened.listen(WAITING)
    return _listening(settings, opened)


def inherited(settings: WebSettings, descriptor: int) -> Listening:
    """Return the socket that the parent process has opened."""
    return _listening(settings, socket.socket(fileno=descriptor))


def _listening(settings: WebSettings, opened: socket.socket) -> Listening:
    host = f"[{settings.address}]" if opened.family == socket.AF_INET6 else settings.address
    scheme = "https" if settings.certificate_file else "http"
    return Listening(opened, f"{scheme}://{host}:{opened.getsockname()[1]}{settings.base_path}")
