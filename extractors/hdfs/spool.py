"""Directories that hold images while they are read. Each image has its own directory, until a later plan no longer
needs it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import gettempdir
from typing import Final

from navlin.model.source import Estate, Source

_LOCK: Final = "lock"


def spool_of(estate: Estate, source: Source) -> Path:
    """Return the spool directory of one source. Raises PermissionError if the spool is in the temporary directory and
    belongs to another user.
    """
    if estate.spool:
        return Path(estate.spool) / source.id
    directory = Path(gettempdir()) / f"navlin-spool-{os.getuid()}"
    directory.mkdir(mode=0o700, exist_ok=True)
    if directory.lstat().st_uid != os.getuid() or directory.is_symlink():
        raise PermissionError(f"{directory} is not this user's: configure a state directory")
    return directory / source.id


def clear(spool: Path, keep: int | None = None) -> None:
    """Remove the files of earlier plans, except those that are being read and the image of transaction ``keep``."""
    with suppress(FileNotFoundError):
        for directory in spool.iterdir():
            if directory.name != str(keep):
                _remove(directory)


def _remove(directory: Path) -> None:
    try:
        with _locked(directory, fcntl.LOCK_EX | fcntl.LOCK_NB):
            shutil.rmtree(directory, ignore_errors=True)
    except OSError:  # being read now, or another process was faster
        return


@contextmanager
def alone_in(directory: Path) -> Iterator[None]:
    """Create the directory, and hold an exclusive lock on it."""
    directory.mkdir(parents=True, exist_ok=True)
    with _locked(directory, fcntl.LOCK_EX):
        yield


@contextmanager
def reading_in(directory: Path) -> Iterator[None]:
    """Prevent the directory from being removed. Raises FileNotFoundError if it has already been removed."""
    with _locked(directory, fcntl.LOCK_SH):
        yield


@contextmanager
def _locked(directory: Path, how: int) -> Iterator[None]:
    with (directory / _LOCK).open("a") as lock:
        fcntl.flock(lock, how)
        yield


class SpoolProgress:
    """Progress of the work on an image, written to a small file that everyone may read: ``fetched: 1200 of 34000
    bytes``.
    """

    def __init__(self, directory: Path) -> None:
        self._file = directory / "progress"
        self._reported = ("", -1.0)

    def report(self, what: str, done: int, total: int) -> None:
        share = done / total if total > 0 else 0.0
        before, reported = self._reported
        if what != before or share - reported >= 0.01 or done == total:
            self._reported = what, share
            self._file.write_text(f"{what}: {done} of {total if total >= 0 else 'unknown'} bytes\n")

    def of(self, what: str) -> Callable[[int, int], None]:
        """Return a progress callback for one kind of work."""
        return lambda done, total: self.report(what, done, total)
