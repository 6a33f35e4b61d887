"""Sums over everything below each directory: files, bytes and times.

Each file is first added to its directory; directories are then added to their parents, deepest first. The walk writes
the values of each inode. Once the directory of each inode is known, the sums are written in the section's order of
directories, so that a part of the image finds the sums that it needs.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from extractors.hdfs.image.arrays import Ints, MessageBytes, Numbers
from extractors.hdfs.image.batch_decoder import FieldKind, Shape, WantedField, decode, tag
from extractors.hdfs.image.directories import Tree
from extractors.hdfs.image.inodes import FILE, Heads, file_sizes
from extractors.hdfs.image.prepared import CHUNK, PARENTS, ROOT, NumberFile, filled, read_column
from extractors.hdfs.image.wire import BYTES, VARINT

_FIELDS: Final[Shape] = {
    tag(1, VARINT): WantedField("replication", FieldKind.NUMBER),
    tag(2, VARINT): WantedField("modified", FieldKind.NUMBER),
    tag(3, VARINT): WantedField("accessed", FieldKind.NUMBER),
    tag(6, BYTES): WantedField("blocks", FieldKind.EACH),
    tag(11, VARINT): WantedField("block_type", FieldKind.NUMBER),
}
_FACTS: Final = {"file_bytes": "<i8", "file_copies": "<u1", "file_modified": "<u4", "file_accessed": "<u4"}
"""Column → type of its values, one for each inode. ``file_copies`` is 0 for inodes other than files. Times are in
seconds.
"""
CONTENTS: Final = "contents"
"""File with one row for each live directory, in the section's order: the index of the directory's inode in the
section, followed by `SUMS`.
"""
SUMS: Final = ("contentFiles", "contentSize", "contentSpace", "contentModified", "contentAccessed")
"""Number of files, total bytes, total bytes of all copies, and newest modification and access time (epoch ms)."""
NOT_KNOWN: Final = -1
"""Value of the access time of a directory if the access time of any file below it was not kept."""
_NO_TIME: Final = 0xFFFFFFFF
_WEEK_S: Final = 604_800
WEEKS_KEPT: Final = 210


class FileFacts:
    """Columns with the sizes and times of files, written during the walk."""

    def __init__(self, scratch: Path) -> None:
        self._scratch, self._opened = scratch, ExitStack()
        self._columns: dict[str, NumberFile] = {}

    def __enter__(self) -> Self:
        for name, kind in _FACTS.items():
            self._columns[name] = self._opened.enter_context(NumberFile(self._scratch / name, kind))
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def add(self, page: MessageBytes, heads: Heads) -> None:
        count, files = len(heads.ids), heads.of(FILE)
        found = decode(page, heads.bodies.starts["file"][files], heads.bodies.ends["file"][files], _FIELDS)
        striped = found.numbers["block_type"] == 1
        copies = np.where(striped, 1, np.clip(found.numbers["replication"], 1, 255))
        for name, values in (
            ("file_bytes", file_sizes(page, found)),
            ("file_copies", copies),
            ("file_modified", _seconds(found.numbers["modified"])),
            (
                "file_accessed",
                np.where(found.numbers["accessed"] == 0, _NO_TIME, _seconds(found.numbers["accessed"])),
            ),
        ):
            column: NDArray[Any] = np.zeros(count, np.dtype(_FACTS[name]))
            column[files] = values
            self._columns[name].add(column)


def _seconds(times_ms: Numbers) -> Numbers:
    """Convert times to seconds, rounded up so that nothing seems older than it is."""
    seconds: Numbers = times_ms // np.uint64(1000) + np.uint64(1)
    return np.minimum(seconds, np.uint64(_NO_TIME - 1), dtype=np.uint64)


@dataclass(frozen=True, slots=True)
class Times:
    """Times of all files. ``newest_s`` is the newest time of any file, in seconds. ``read_weeks`` are the weeks (of
    seven days, numbered since 1970) in which a file was last accessed after its last modification. They show when
    access times were kept.
    """

    newest_s: int
    read_weeks: tuple[int, ...]


def sum_contents(tree: Tree, ranked: Ints, inodes: Ints, count: int, scratch: Path) -> Times:
    """Write `CONTENTS` and delete the columns of `FileFacts`. The column of parents must already hold ranks.
    ``inodes`` are the indices of the directories in the section; ``count`` is the number of all inodes.
    """
    sums = np.zeros((len(ranked), len(SUMS)), np.int64)
    newest_s, weeks = 0, set[int]()
    for first in range(0, count, CHUNK):
        size = min(CHUNK, count - first)
        parents = read_column(scratch / PARENTS, "<u4", first, size)
        facts = {name: read_column(scratch / name, kind, first, size) for name, kind in _FACTS.items()}
        rows = np.flatnonzero((facts["file_copies"] > 0) & (parents < ROOT))
        above = parents[rows].astype(np.int64)
        length = facts["file_bytes"][rows]
        modified, accessed = (
            facts[name][rows].astype(np.int64) for name in ("file_modified", "file_accessed")
        )
        np.add.at(sums[:, 0], above, 1)
        np.add.at(sums[:, 1], above, length)
        np.add.at(sums[:, 2], above, length * facts["file_copies"][rows])
        np.maximum.at(sums[:, 3], above, modified)
        np.maximum.at(sums[:, 4], above, accessed)
        kept = accessed != _NO_TIME
        newest_s = max(newest_s, int(modified.max(initial=0)), int(accessed[kept].max(initial=0)))
        read = kept & (accessed > modified + 1)
        weeks.update(np.unique(accessed[read] // _WEEK_S).tolist())
    _add_upward(tree, ranked, sums)
    _write(sums, ranked, inodes, scratch)
    for name in _FACTS:
        (scratch / name).unlink()
    return Times(newest_s, tuple(sorted(weeks)[-WEEKS_KEPT:]))


def _add_upward(tree: Tree, ranked: Ints, sums: NDArray[np.int64]) -> None:
    positions = np.empty(len(tree.live), np.int64)
    positions[ranked] = np.arange(len(ranked))
    depths = tree.depths[ranked]
    edges = np.searchsorted(depths, np.arange(1, int(depths[-1]) + 2))
    for begin, end in reversed(list(pairwise(edges))):
        above = positions[tree.parents[ranked[begin:end]]]
        for column in (0, 1, 2):
            np.add.at(sums[:, column], above, sums[begin:end, column])
        for column in (3, 4):
            np.maximum.at(sums[:, column], above, sums[begin:end, column])


def _write(sums: NDArray[np.int64], ranked: Ints, inodes: Ints, scratch: Path) -> None:
    unknown = sums[:, 4] == _NO_TIME
    sums[:, 3:] *= 1000
    sums[unknown, 4] = NOT_KNOWN
    order = np.argsort(inodes[ranked])
    table = filled(scratch / CONTENTS, "<i8", len(ranked) * (len(SUMS) + 1), 0).reshape(len(ranked), -1)
    table[:, 0] = inodes[ranked][order]
    table[:, 1:] = sums[order]
    table.flush()  # type: ignore[attr-defined]


class ContentSums:
    """The table that `sum_contents` wrote, memory-mapped."""

    def __init__(self, scratch: Path, directories: int) -> None:
        self._table = np.memmap(scratch / CONTENTS, "<i8", "r", shape=(directories, len(SUMS) + 1))
        self._inodes = np.ascontiguousarray(self._table[:, 0])

    def of(self, first: int, count: int) -> tuple[Ints, dict[str, Ints]]:
        """Return the directories among the ``count`` inodes from index ``first`` on, as (rows, sums). Rows are counted
        from ``first``; ``sums`` maps the names in `SUMS` to arrays.
        """
        begin, end = np.searchsorted(self._inodes, (first, first + count))
        found = np.asarray(self._table[begin:end])
        return found[:, 0] - first, {name: found[:, at] for at, name in enumerate(SUMS, 1)}
