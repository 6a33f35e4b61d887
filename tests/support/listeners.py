"""Addresses on which processes listen, read from Linux's ``/proc/net``."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Final

LISTENING: Final = "0A"


def listeners(pids: Iterable[int]) -> list[IPv4Address | IPv6Address]:
    """Return the address of each TCP socket on which one of these processes listens."""
    own = {link for pid in pids for link in _open(pid)}
    found = []
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        for line in table.read_text().splitlines()[1:]:
            _, local, _, state, *_, inode = line.split()[:10]
            if state == LISTENING and f"socket:[{inode}]" in own:
                found.append(_address(local.partition(":")[0]))
    return found


def _open(pid: int) -> list[str]:
    links = []
    with suppress(OSError):  # the process has just ended
        for each in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                links.append(os.readlink(each))
    return links


def _address(digits: str) -> IPv4Address | IPv6Address:
    """Parse an address as the kernel prints it: as four-byte words in the machine's byte order, which is assumed to be
    little endian.
    """
    words = [bytes.fromhex(digits[at : at + 8])[::-1] for at in range(0, len(digits), 8)]
    address = ip_address(b"".join(words))
    return (isinstance(address, IPv6Address) and address.ipv4_mapped) or address
