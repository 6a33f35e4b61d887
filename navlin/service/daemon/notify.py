"""Notifies systemd (``sd_notify(3)``) with one datagram to the socket in NOTIFY_SOCKET, if that is set."""

from __future__ import annotations

import socket
from collections.abc import Mapping


class Systemd:
    """The service manager that started this process, if any."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        name = environment.get("NOTIFY_SOCKET", "")
        # A name that begins with @ is in the abstract namespace.
        self._address = "\0" + name[1:] if name.startswith("@") else name

    def notify(self, **states: str) -> None:
        """Send states such as ``READY="1"``, ``STATUS="…"``. Errors are ignored, because the service manager may not
        listen."""
        if not self._address:
            return
        message = "\n".join(f"{name}={value}" for name, value in states.items())
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as to_manager:
            try:
                to_manager.sendto(message.encode(), self._address)
            except OSError:
                return
