"""Files to which what is sent by HTTP is appended before it is answered, for a source to follow.

Each process writes files of its own, a new one every day and after `ROLL_BYTES`: what another process had to leave half
written is nobody else's matter. They are navlin's own, so those that nobody has written to for `KEEP_S` are removed.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

PREFIX, SUFFIX = "events-", ".jsonl"
ROLL_BYTES: Final = 256 << 20
KEEP_S: Final = 30 * 86_400


@dataclass(slots=True)
class _File:
    descriptor: int
    day: str
    size: int


class EventSpool:
    """Appends lines to files in ``directory``. ``now_s`` gives epoch seconds."""

    def __init__(self, directory: Path, now_s: Callable[[], float] = time.time) -> None:
        self._directory, self._now_s = directory, now_s
        self._lock = threading.Lock()
        self._file: _File | None = None
        self._count = 0

    def append(self, lines: Sequence[bytes]) -> None:
        """Appends lines, all or none; when this returns, they outlive a crash of the machine. Raises OSError."""
        data = b"".join(line + b"\n" for line in lines)
        with self._lock:
            file = self._current()
            try:
                written = 0
                while written < len(data):
                    written += os.write(file.descriptor, data[written:])
                os.fdatasync(file.descriptor)
            except OSError:
                self._take_back(file)
                raise
            file.size += len(data)

    def close(self) -> None:
        """Closes the file; the next line begins a new one."""
        with self._lock:
            self._leave()

    def _current(self) -> _File:
        day = f"{datetime.fromtimestamp(self._now_s(), UTC):%Y%m%d}"
        file = self._file
        # One that somebody has removed would take what nobody reads.
        if (
            file is None
            or file.day != day
            or file.size >= ROLL_BYTES
            or not os.fstat(file.descriptor).st_nlink
        ):
            self._leave()
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._remove_old()
            self._file = file = _File(self._open(day), day, 0)
        return file

    def _open(self, day: str) -> int:
        while True:
            self._count += 1
            name = f"{PREFIX}{day}-{os.getpid()}-{self._count}{SUFFIX}"
            with suppress(FileExistsError):
                flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
                descriptor = os.open(self._directory / name, flags, 0o600)
                break
        # The name must outlive a crash as well.
        directory = os.open(self._directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
        return descriptor

    def _take_back(self, file: _File) -> None:
        """What was written of lines that are refused must not be followed by others."""
        try:
            os.ftruncate(file.descriptor, file.size)
        except OSError:
            self._leave()

    def _leave(self) -> None:
        if self._file is not None:
            os.close(self._file.descriptor)
            self._file = None

    def _remove_old(self) -> None:
        before_s = self._now_s() - KEEP_S
        for path in self._directory.glob(f"{PREFIX}*{SUFFIX}"):
            with suppress(OSError):
                if path.stat().st_mtime < before_s:
                    path.unlink()
