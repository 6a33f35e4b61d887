"""The last contact with each host that sends data, kept in a small file in the host's directory.

``navlin status`` reads these files, so that it need not list the files of thousands of hosts.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final

import orjson

from navlin.model.forwarded import HOSTS

FILE: Final = ".contact"
FILE_BYTES: Final = 4_096
_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC
HEARTBEAT_S: Final = 300
"""Interval at which an agent reports even if it has nothing to send, in seconds."""
LATE_S: Final = 2 * HEARTBEAT_S + 90
"""Time since the last heartbeat after which a host is late: two heartbeats and their jitter, in seconds."""
REFUSED_MS: Final = 3_600_000
"""Time for which a refusal is shown."""
NOTED_MS: Final = 30_000
"""Maximum age of the file while a host sends data."""
MOST_ADDRESSES: Final = 4
ADDRESS_MS: Final = 3_600_000
"""Time for which an address is remembered. More than one in that time may be a cloned machine."""


@dataclass(frozen=True, slots=True)
class HostContact:
    """The last contact with a host. Times are epoch ms.

    ``alive_ms`` is the last heartbeat of its agent, 0 if it has none. ``addresses`` maps its recent IP addresses to the
    time of the last request. ``behind_bytes`` and ``behind_files`` are what its agent has still to send,
    ``unreadable`` the files that the agent cannot read, and ``problem`` the agent's own message. ``refused`` is the
    reason of the last refusal for lack of room. ``bytes`` and ``files`` are kept here. ``lost_files`` and
    ``lost_bytes`` were removed unread to make room.
    """

    host: str
    last_ms: int = 0
    alive_ms: int = 0
    addresses: dict[str, int] = field(default_factory=dict)
    behind_bytes: int = 0
    behind_files: int = 0
    unreadable: int = 0
    problem: str = ""
    refused: str = ""
    refused_ms: int = 0
    bytes: int = 0
    files: int = 0
    lost_files: int = 0
    lost_bytes: int = 0
    lost_ms: int = 0

    def late(self, now_ms: int) -> bool:
        """Whether an agent has missed two heartbeats."""
        return self.alive_ms > 0 and now_ms - max(self.alive_ms, self.last_ms) > LATE_S * 1000

    def concern(self, now_ms: int) -> str:
        """Return why somebody should look at this host; "" if there is nothing."""
        if self.late(now_ms):
            return "its agent does not report"
        if self.lost_ms and now_ms - self.lost_ms < 24 * REFUSED_MS:
            return f"{self.lost_files} files of {self.lost_bytes:,} bytes were removed unread to make room"
        if self.refused and now_ms - self.refused_ms < REFUSED_MS:
            return self.refused
        if len(self.addresses) > 1:
            return f"it reports from {' and '.join(sorted(self.addresses))}: two machines may share its token"
        if self.unreadable:
            return f"its agent cannot read {self.unreadable} files"
        return self.problem

    def as_json(self, now_ms: int) -> dict[str, Any]:
        return {**asdict(self), "late": self.late(now_ms), "concern": self.concern(now_ms)}


_NAMES: Final = {each.name for each in fields(HostContact)}


class Contacts:
    """Notes contacts below ``root``. ``now_ms`` returns epoch ms. Thread-safe."""

    def __init__(self, root: Path, now_ms: Callable[[], int]) -> None:
        self._hosts, self._now_ms = root / HOSTS, now_ms
        self._lock = threading.Lock()
        self._known: dict[str, tuple[HostContact, int]] = {}

    def note(self, host: str, address: str = "", *, now: bool = False, **changes: Any) -> None:
        """Note a request of a host. The file is written if ``now``, or if it is older than `NOTED_MS`."""
        at_ms = self._now_ms()
        with self._lock:
            contact, written_ms = self._known.get(host) or (read_contact(self._hosts / host), 0)
            recent = {each: ms for each, ms in contact.addresses.items() if at_ms - ms < ADDRESS_MS}
            if address:
                recent = {**recent, address: at_ms}
            newest = sorted(recent, key=lambda each: recent[each])[-MOST_ADDRESSES:]
            addresses = {each: recent[each] for each in newest}
            contact = replace(contact, last_ms=at_ms, addresses=addresses, **changes)
            if now or at_ms - written_ms >= NOTED_MS:
                written_ms = at_ms
                self._write(contact)
            self._known[host] = contact, written_ms

    def lost(self, host: str, files: int, size_bytes: int) -> None:
        """Count files of a host that were removed unread."""
        with self._lock:
            contact, _ = self._known.get(host) or (read_contact(self._hosts / host), 0)
        self.note(
            host,
            now=True,
            lost_files=contact.lost_files + files,
            lost_bytes=contact.lost_bytes + size_bytes,
            lost_ms=self._now_ms(),
        )

    def _write(self, contact: HostContact) -> None:
        # Thousands of hosts report, so the file is overwritten in one step, always with the same length.
        content = orjson.dumps(contact).ljust(FILE_BYTES)
        file = self._hosts / contact.host / FILE
        with suppress(OSError):  # the disk may be full, and a contact is not worth an error
            try:
                descriptor = os.open(file, _FLAGS, 0o600)
            except FileNotFoundError:
                file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                descriptor = os.open(file, _FLAGS, 0o600)
            try:
                os.pwrite(descriptor, content, 0)
            finally:
                os.close(descriptor)


def read_contact(directory: Path) -> HostContact:
    """Return the contact noted in a host's directory; an empty one if there is none."""
    try:
        value = orjson.loads((directory / FILE).read_bytes())
        known = {name: each for name, each in value.items() if name in _NAMES}
        return HostContact(**{**known, "host": directory.name})
    except (OSError, ValueError, AttributeError):
        return HostContact(directory.name)


def contacts_in(root: Path) -> Iterator[HostContact]:
    """Yield the contact with every host that has sent data, ordered by name."""
    with suppress(FileNotFoundError):
        for name in sorted(os.listdir(root / HOSTS)):
            yield read_contact(root / HOSTS / name)
