"""The listening sockets of processes, from /proc."""

from __future__ import annotations

import os
import re
import socket
import struct
from collections.abc import Iterable, Iterator
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Final

_LISTENING: Final = "0A"
Address = IPv4Address | IPv6Address


def tcp_listeners(pids: Iterable[int]) -> Iterator[tuple[int, Address, int]]:
    """Yield (process id, address, port) of each TCP socket on which one of these processes listens."""
    known = dict(_tcp())
    for pid in pids:
        for inode in _sockets(pid):
            if inode in known:
                yield pid, *known[inode]


def unix_listeners(pids: Iterable[int]) -> Iterator[tuple[int, str]]:
    """Yield (process id, path) of each named Unix socket of these processes."""
    known = {}
    for line in Path("/proc/net/unix").read_text().splitlines()[1:]:
        words = line.split(maxsplit=7)
        if len(words) > 7:
            known[words[6]] = words[7]
    for pid in pids:
        yield from ((pid, known[inode]) for inode in _sockets(pid) if inode in known)


def _tcp() -> Iterator[tuple[str, tuple[Address, int]]]:
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == _LISTENING:
                host, _, port = words[1].partition(":")
                yield words[9], (_address(host), int(port, 16))


def _address(host: str) -> Address:
    """Return an address as the kernel prints it: words of four bytes in the machine's order."""
    words = (int(host[at : at + 8], 16) for at in range(0, len(host), 8))
    packed = b"".join(struct.pack("=I", word) for word in words)
    address = ip_address(packed)
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _sockets(pid: int) -> set[str]:
    found = set()
    with suppress(OSError):
        for each in os.listdir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                if match := re.match(r"socket:\[(\d+)\]", os.readlink(f"/proc/{pid}/fd/{each}")):
                    found.add(match[1])
    return found


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), 10)
