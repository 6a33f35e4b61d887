"""Memory of directories with very many files, so that a poll costs only the changed files, not all of them.

As long as a directory's own time is unchanged, no name in it has come or gone. Files written to lately are looked at in
each poll, the others in turn, so that the growth of one of those shows when its turn comes. After each round, the
directory is listed again. Small directories are listed each time, and all their files are looked at.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import nlargest
from typing import Final

MOST_LOOKED_AT: Final = 1_000
"""Number of files, the newest ones, that each poll looks at."""
IN_TURN: Final = 2_000
"""Number of other files that each poll looks at."""
LATELY_NS: Final = 3_600_000_000_000
SETTLED_NS: Final = 2_000_000_000
"""Minimum age of a directory's time. A file system may keep times in steps of two seconds, so a directory that has just
changed may change again without a new time.
"""

Files = dict[str, tuple[str, os.stat_result]]


@dataclass(slots=True)
class RememberedDirectory:
    """The files of a directory by key, as last looked at."""

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
        """Look at the files that are due; return their keys, or None if the directory must be listed again."""
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
class RememberedFiles:
    """The large directories of one source, and the files in its last plan."""

    directories: dict[str, RememberedDirectory] = field(default_factory=dict)
    planned: set[str] = field(default_factory=set)
    positions: int = 0
    """Number of positions saved at the last plan; if there are fewer now, every file is looked at."""


def identity_of(directory: str) -> tuple[int, int, int] | None:
    """Return (device, inode, modification time), which change with the names in a directory; None if they are unknown, or
    the directory has only just changed.
    """
    try:
        stat = os.stat(directory)
    except OSError:
        return None
    settled = time.time_ns() - stat.st_mtime_ns > SETTLED_NS
    return (stat.st_dev, stat.st_ino, stat.st_mtime_ns) if settled else None
