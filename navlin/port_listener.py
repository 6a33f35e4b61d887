"""The user whose process listens at a port of this machine.

A server that died leaves its port to whoever binds it next, so before a password is sent there, the kernel is asked who
listens.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

_TABLES: Final = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
"""Sockets of this network namespace, one a line (proc(5)): number, local address and port in hexadecimal, remote ones,
state, queues, timer, retransmissions, user id."""
_LISTENS: Final = "0A"
_REACHED: Final = frozenset(
    {
        *("0100007F", "00000000"),  # 127.0.0.1 and every address
        *("0000000000000000FFFF00000100007F", "0" * 32),
    }
)
"""Local addresses of listeners that a connection to 127.0.0.1 reaches."""


class ForeignListener(OSError):
    """A process of another user listens at the port, or no process does any more."""


def check_listener(uid: int, port: int) -> None:
    """Check that a process of the user with this id listens at 127.0.0.1. Raises `ForeignListener` otherwise. Without
    the kernel's tables nothing is checked."""
    tables = [table for table in _TABLES if table.is_file()]
    uids = {each for table in tables for each in _uids(table.read_text(), port)}
    if tables and uids != {uid}:
        others = ", ".join(str(each) for each in sorted(uids - {uid}))
        who = f"the user with the id {others} listens" if others else "no process listens any more"
        raise ForeignListener(f"{who} at port {port}: nothing was sent")


def _uids(table: str, port: int) -> Iterator[int]:
    here = f":{port:04X} "
    for line in table.splitlines():
        if here in line:
            _, local, _, state, _, _, _, uid, *_ = line.split()
            address, _, local_port = local.rpartition(":")
            if state == _LISTENS and address in _REACHED and int(local_port, 16) == port:
                yield int(uid)
