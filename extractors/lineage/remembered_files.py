"""Memory of directories with very many files, so that a poll only checks some of the files.

As long as a directory's own modification time is unchanged, no name in it has been added or removed. Files that were
written to recently are checked in each poll. All other files are checked in turn, so their growth is noticed when
their turn comes. After each round, the directory is listed again. Small directories are listed in each poll, and all
their files are checked.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import nlargest
from typing import Final

MOST_LOOKED_AT: Final = 1_000
"""Number of files that each poll checks because they are the newest."""
IN_TURN: Final = 2_000
"""Number of older files that each poll checks."""
LATELY_NS: Final = 3_600_000_000_000
SETTLED_NS: Final = 2_000_000_000
"""Minimum age of a directory's modification time. A file system may keep times in steps of two seconds, so a directory
that has just changed may change again without a new time.
"""

RELISTED_S: Final = 600.0
"""Interval at which a directory whose modification time shows each append is listed although the time is unchanged."""

Files = dict[str, tuple[str, os.stat_result]]


@dataclass(slots=True)
class RememberedDirectory:
    """The files of a directory, as last checked. ``files`` is key → (path, ``stat``)."""

    identity: tuple[int, int, int]
    files: Files
    archived_ns: int | None = None
    compressed: int = 0
    links: list[str] = field(default_factory=list)
    newest: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        since_ns = time.time_ns() - LATELY_NS
        lately = [key for key, (_, stat) in self.files.items() if stat.st_mtime_ns >= since_ns]
        newest = nlargest(MOST_LOOKED_AT, self.files, key=lambda key: self.files[key][1].st_mtime_ns)
        self.newest = list(dict.fromkeys((*newest, *lately)))
        left = set(self.newest)
        self.others = [key for key in self.files if key not in left]

    def look(self, key_of: Callable[[os.stat_result], str]) -> set[str] | None:
        """Check the files that are due. Return their keys, or None if the directory must be listed again."""
        if not self.others:
            return None
        turn, self.others = self.others[:IN_TURN], self.others[IN_TURN:]
        for key in (*self.newest, *turn):
            path, before = self.files[key]
            try:
                stat = os.stat(path)
            except OSError:
                return None
            if key_of(stat) != key:
                return None
            self.files[key] = path, stat
            if stat.st_mtime_ns != before.st_mtime_ns and key in turn:
                self.newest.append(key)
        return {*self.newest, *turn}


@dataclass(slots=True)
class TouchedDirectory:
    """The files of a directory whose modification time changes with each append to a file in it, as last listed at
    ``listed_s`` (monotonic)."""

    identity: tuple[int, int, int]
    files: Files
    listed_s: float = field(default_factory=time.monotonic)

    def unchanged(self, identity: tuple[int, int, int] | None) -> bool:
        return self.identity == identity and time.monotonic() - self.listed_s < RELISTED_S


@dataclass(slots=True)
class RememberedFiles:
    """The large directories of one source, those that are touched with each append, and the files in its last plan."""

    directories: dict[str, RememberedDirectory] = field(default_factory=dict)
    touched: dict[str, TouchedDirectory] = field(default_factory=dict)
    planned: set[str] = field(default_factory=set)
    positions: int = 0
    """Number of positions saved at the last plan. If there are fewer now, every file is checked."""


def identity_of(directory: str) -> tuple[int, int, int] | None:
    """Return (device, inode, modification time), which changes when names in the directory change. Return None if this
    is unknown or the directory has only just changed.
    """
    try:
        stat = os.stat(directory)
    except OSError:
        return None
    settled = time.time_ns() - stat.st_mtime_ns > SETTLED_NS
    return (stat.st_dev, stat.st_ino, stat.st_mtime_ns) if settled else None
