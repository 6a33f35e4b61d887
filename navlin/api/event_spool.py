"""Files to which data received over HTTP is appended before the response is sent. A source follows these files.

Each process writes its own files: one for each sender, and a new one each day and after `ROLL_BYTES`. So a line that
one process leaves half written affects no other process. The files belong to navlin. A file is removed if it was not
written to for `KEEP_S`, or earlier if there is no room left, but only if the saved positions show that it was read to
the end. Each sender has a share of the room, beyond which nothing is appended.
"""

from __future__ import annotations

import fcntl
import os
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from navlin.files import make_directory, sync_directory
from navlin.model.shares import shares
from navlin.model.spooled import PREFIX, SUFFIX, file_key, in_name, part_of_sender, spooled_name

ROLL_BYTES: Final = 256 << 20
KEEP_S: Final = 30 * 86_400
SENDER_BYTES: Final = 1 << 30
ALL_BYTES: Final = 8 << 30
LOOK_S: Final = 10.0
"""Interval at which the files of other processes are counted."""
MOST_OPEN: Final = 32
ReadToEnd = Callable[[Mapping[str, int]], Collection[str]]
"""Function that maps file keys and sizes to the keys of the files that were read to the end."""


class SpoolFull(Exception):
    """The sender's share of the room is used up by events that have not been read yet."""


@dataclass(slots=True)
class _File:
    descriptor: int
    day: str
    size: int


class EventSpool:
    """Appends lines to files in ``directory``. ``now_s`` returns epoch seconds."""

    def __init__(
        self, directory: Path, read_to_end: ReadToEnd, now_s: Callable[[], float] = time.time
    ) -> None:
        self._directory, self._read_to_end, self._now_s = directory, read_to_end, now_s
        self._lock = threading.Lock()
        self._files: dict[str, _File] = {}
        self._count = 0
        self._bytes: dict[str, int] = {}
        self._looked_s = -LOOK_S

    def append(self, lines: Sequence[bytes], sender: str = "") -> None:
        """Append all lines or none. When this returns, they survive a crash of the machine.

        Raises `SpoolFull` if the sender has no room left, and OSError.
        """
        data = b"".join(line + b"\n" for line in lines)
        with self._lock:
            self._make_room(in_name(sender), len(data))
            file = self._current(sender)
            try:
                written = 0
                while written < len(data):
                    written += os.write(file.descriptor, data[written:])
                os.fdatasync(file.descriptor)
            except OSError:
                self._take_back(sender, file)
                raise
            file.size += len(data)
            self._bytes[in_name(sender)] = self._bytes.get(in_name(sender), 0) + len(data)

    def close(self) -> None:
        """Close the files; the next line begins a new file."""
        with self._lock:
            for sender in [*self._files]:
                self._leave(sender)

    def _current(self, sender: str) -> _File:
        day = f"{datetime.fromtimestamp(self._now_s(), UTC):%Y%m%d}"
        file = self._files.pop(sender, None)
        # Lines appended to an unlinked file would never be read.
        if (
            file is None
            or file.day != day
            or file.size >= ROLL_BYTES
            or not os.fstat(file.descriptor).st_nlink
        ):
            if file is not None:
                os.close(file.descriptor)
            make_directory(self._directory)
            self._remove(before_s=self._now_s() - KEEP_S)
            file = _File(self._open(day, sender), day, 0)
        self._files[sender] = file
        if len(self._files) > MOST_OPEN:
            self._leave(next(iter(self._files)))
        return file

    def _open(self, day: str, sender: str) -> int:
        while True:
            self._count += 1
            name = spooled_name(day, os.getpid(), self._count, sender)
            with suppress(FileExistsError):
                flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
                descriptor = os.open(self._directory / name, flags, 0o600)
                # `_remove` spares files that are being written to.
                fcntl.flock(descriptor, fcntl.LOCK_SH)
                break
        # The directory entry must survive a crash as well.
        sync_directory(self._directory)
        return descriptor

    def _take_back(self, sender: str, file: _File) -> None:
        """Truncate a partial write of rejected lines, or abandon the file, because nothing may be appended after such a
        write."""
        try:
            os.ftruncate(file.descriptor, file.size)
        except OSError:
            self._leave(sender)

    def _leave(self, sender: str) -> None:
        os.close(self._files.pop(sender).descriptor)

    # -- Room ------------------------------------------------------------------------------------------------------------

    def _make_room(self, sender: str, size_bytes: int) -> None:
        if time.monotonic() - self._looked_s >= LOOK_S:
            self._look()
            if not self._has_room(sender, size_bytes):
                self._remove()
                self._look()
        if not self._has_room(sender, size_bytes):
            raise SpoolFull(
                f"{self._bytes.get(sender, 0)} bytes of this sender's earlier events are stored, some still to be read"
            )

    def _has_room(self, sender: str, size_bytes: int) -> bool:
        wanted = self._bytes.get(sender, 0) + size_bytes
        return (
            shares({**self._bytes, sender: wanted}, of_one=SENDER_BYTES, in_all=ALL_BYTES)[sender] >= wanted
        )

    def _look(self) -> None:
        self._looked_s = time.monotonic()
        self._bytes = {}
        for path, stat in self._kept():
            sender = part_of_sender(path.name)
            self._bytes[sender] = self._bytes.get(sender, 0) + stat.st_size

    def _kept(self) -> Iterator[tuple[Path, os.stat_result]]:
        for path in self._directory.glob(f"{PREFIX}*{SUFFIX}"):
            with suppress(FileNotFoundError):
                yield path, path.stat()

    def _remove(self, before_s: float | None = None) -> None:
        """Remove files that were read to the end. With ``before_s``, keep files that were written to after that
        time."""
        host = socket.gethostname()
        found = {
            file_key(host, stat): (path, stat.st_size)
            for path, stat in self._kept()
            if before_s is None or stat.st_mtime < before_s
        }
        read = self._read_to_end({key: size for key, (_, size) in found.items()}) if found else ()
        for key in read:
            path, size = found[key]
            with suppress(OSError), path.open("rb") as file:  # the file is being written to, or gone
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(file.fileno()).st_size == size:
                    path.unlink()
