"""Checks the free space for the state directory. Below a minimum, nothing is extracted, because Solr and Spark would
fail in the middle of a write. Queries are still answered."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

STARTS_BYTES: Final = 32 << 20
"""Free space that Solr needs to start, for its log and to replay updates, in bytes. If Solr stops with less space, it
cannot be restarted."""
AGAIN: Final = 1.25
"""After a shortage, multiple of the minimum that must be free before the space counts as sufficient again."""


@dataclass(frozen=True, slots=True)
class Space:
    """The bytes available to this process in a directory, and the required minimum."""

    directory: Path
    free_bytes: int
    least_bytes: int

    @property
    def short(self) -> bool:
        """Whether the free space is below the minimum."""
        return self.free_bytes < self.least_bytes

    def __str__(self) -> str:
        return (
            f"the disk of {self.directory} has {_mib(self.free_bytes)} left; nothing is extracted"
            f" below {_mib(self.least_bytes)} (least_free of [navlin])"
        )


def space(directory: Path, least_bytes: int) -> Space:
    """Return the present free space. For a missing directory, return the free space of its nearest existing
    ancestor."""
    nearest = next(each for each in (directory, *directory.absolute().parents) if each.is_dir())
    disk = os.statvfs(nearest)
    return Space(directory, disk.f_bavail * disk.f_frsize, least_bytes)


class DiskWatch:
    """Remembers whether space is short, so that each change is reported once."""

    def __init__(self, directory: Path, least_bytes: int) -> None:
        self._directory = directory
        self.least_bytes = least_bytes
        self.short = False

    def changed(self) -> Space | None:
        """Check the free space. Return it if `short` has changed, otherwise None."""
        now = space(self._directory, self.least_bytes)
        short = now.free_bytes < self.least_bytes * (AGAIN if self.short else 1)
        if short == self.short:
            return None
        self.short = short
        return now

    @property
    def room_to_start(self) -> bool:
        """Whether there is enough space to start a stopped Solr again."""
        return space(self._directory, self.least_bytes).free_bytes >= STARTS_BYTES

    def __str__(self) -> str:
        return str(space(self._directory, self.least_bytes))


def _mib(size: int) -> str:
    return f"{size / (1 << 20):,.0f} MiB"
