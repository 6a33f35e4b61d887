"""How much room the state directory has. Below a least amount nothing is extracted: Solr and Spark would break in the middle
of a write, each in its own way, while questions can still be answered."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

STARTS_BYTES: Final = 32 << 20
"""What a Solr needs to start: its log, and room to replay what was written. One that is ended without it stays down."""
AGAIN: Final = 1.25
"""So many times the least amount must be free before it counts as enough again."""


@dataclass(frozen=True, slots=True)
class Space:
    """What is free for this process below a directory, and what must be."""

    directory: Path
    free_bytes: int
    least_bytes: int

    @property
    def short(self) -> bool:
        """Whether it is less than must be."""
        return self.free_bytes < self.least_bytes

    def __str__(self) -> str:
        return (
            f"the disk of {self.directory} has {_mib(self.free_bytes)} left, and nothing is extracted below"
            f" {_mib(self.least_bytes)} (least_free of [navlin])"
        )


def space(directory: Path, least_bytes: int) -> Space:
    """How it is now. A directory that is not there yet has the room of the one that it is to be made in."""
    nearest = next(each for each in (directory, *directory.absolute().parents) if each.is_dir())
    disk = os.statvfs(nearest)
    return Space(directory, disk.f_bavail * disk.f_frsize, least_bytes)


class DiskWatch:
    """Remembers whether there was too little room, so that a change is seen once."""

    def __init__(self, directory: Path, least_bytes: int) -> None:
        self._directory = directory
        self.least_bytes = least_bytes
        self.short = False

    def changed(self) -> Space | None:
        """Looks, and returns what it sees if `short` has changed by it."""
        now = space(self._directory, self.least_bytes)
        short = now.free_bytes < self.least_bytes * (AGAIN if self.short else 1)
        if short == self.short:
            return None
        self.short = short
        return now

    @property
    def room_to_start(self) -> bool:
        """Whether a Solr that is ended can be started again."""
        return space(self._directory, self.least_bytes).free_bytes >= STARTS_BYTES

    def __str__(self) -> str:
        return str(space(self._directory, self.least_bytes))


def _mib(size: int) -> str:
    return f"{size / (1 << 20):,.0f} MiB"
