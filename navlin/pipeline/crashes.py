"""Handles splits whose read crashed a process instead of raising an error, usually for lack of memory.

A crash does not show which split caused it. So each split that was being read is suspected, and is read alone the next
time, while no other suspect is read. If a split also crashes a process when it is read alone, the split is set aside
for a day and reported as a reject. If a disk was full, no split is suspected, and all splits are read again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

from navlin.index.journal.runs import BACKING_OFF
from navlin.model.records import Position, Reject, Split

SET_ASIDE_MS: Final = 86_400_000
SET_ASIDE: Final = "it is set aside for a day: reading it crashed Spark, or a process of Spark's, twice"
_ALONE: Final = threading.Lock()
_FULL: Final = ("No space left on device", "Disk quota exceeded")
"""Messages of ENOSPC and EDQUOT, from Python and from Java."""


class ReadingEnded(Exception):
    """A process crashed during a read; the message names the split."""


def batches(splits: Sequence[Split], before: Mapping[str, Any]) -> Iterator[tuple[Split, ...]]:
    """Yield the splits to read together: first all unsuspected splits, then each suspect alone."""
    suspects = [split for split in splits if _crashes(split.name, before)]
    if others := tuple(split for split in splits if not _crashes(split.name, before)):
        yield others
    for split in suspects:
        yield (split,)


def turn(splits: Sequence[Split], before: Mapping[str, Any]) -> AbstractContextManager[Any]:
    """Return a context manager for reading the splits. It makes suspects of different sources wait for each other."""
    return _ALONE if any(_crashes(split.name, before) for split in splits) else nullcontext()


def suspected(
    splits: Sequence[Split], before: Mapping[str, Any], error: str, now_ms: int, settings: str
) -> tuple[list[Position], list[Reject]]:
    """Return positions that save the crash counts of ``splits``, and a reject if a split is now set aside."""
    positions: list[Position] = []
    rejects: list[Reject] = []
    for name in (split.name for split in splits):
        crashes = _crashes(name, before) + 1
        aside = crashes > 1 and len(splits) == 1
        if aside:
            rejects.append(Reject(name, SET_ASIDE))
        value = {
            "times": crashes,
            "crashes": crashes,
            "until_ms": now_ms + SET_ASIDE_MS if aside else now_ms,
            "error": SET_ASIDE if aside else error,
            "settings": settings,
        }
        positions.append(Position(BACKING_OFF + name, value))
    return positions, rejects


def is_of_a_full_disk(error: str) -> bool:
    """Whether a read ended because a disk, usually that of Spark's scratch files, has no room."""
    return any(message in error for message in _FULL)


def _crashes(name: str, before: Mapping[str, Any]) -> int:
    return int(before.get(BACKING_OFF + name, {}).get("crashes", 0))
