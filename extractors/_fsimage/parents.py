"""The join of inodes with the directories that list them: for each inode of the section, its directory's number.

Ids are spread over billions where files come and go, so nothing is addressed by id. Both sides are sorted, one range of
ids after another: as many ranges as it takes to stay within the memory that is given.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from extractors._fsimage.children import CHILDREN, OWNERS
from extractors._fsimage.errors import ImageError
from extractors._fsimage.layout import INODE, INODE_DIR
from extractors._fsimage.lockstep import Ints, Numbers
from extractors._fsimage.scan import IDS
from extractors._fsimage.scratch import chunks, filled, read_column

PARENTS: Final = "parents"
NOBODY: Final = 0xFFFFFFFF
"""The directory's number of an inode that no directory lists."""
ROOT: Final = NOBODY - 1
"""In the finished column, that of the root itself."""
_BYTES_A_ROW: Final = 48
"""What a row of either side takes while a range is joined."""
_SAMPLES: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Joined:
    """``parents`` is mapped, by inode. An inode that several directories list has none there: it stands in ``contested``
    with these. ``named`` are the inodes that were asked for by id."""

    parents: NDArray[np.uint32]
    contested: dict[int, list[int]]
    named: dict[int, int]


def join(
    image: str,
    scratch: Path,
    inodes: int,
    children: int,
    directory_ids: Numbers,
    wanted: list[int],
    memory_bytes: int,
) -> Joined:
    """``wanted`` are inode ids whose number is to be told."""
    parents = filled(scratch / PARENTS, "<u4", inodes, NOBODY)
    contested: dict[int, list[int]] = {}
    named: dict[int, int] = {}
    names = np.array(sorted(wanted), np.uint64)
    for low, high in _ranges(scratch, inodes, max(1, -(-(inodes + children) * _BYTES_A_ROW // memory_bytes))):
        ids, numbers = _sorted(scratch, (IDS, "<u8"), None, inodes, low, high)
        twice = ids[1:] == ids[:-1]
        if twice.any():
            raise ImageError(image, f"inode {ids[int(np.argmax(twice))]} is there twice", INODE)
        found, owners = _sorted(scratch, (CHILDREN, "<u8"), (OWNERS, "<u4"), children, low, high)
        place = np.searchsorted(ids, found)
        missing = place == len(ids)
        missing[~missing] = ids[place[~missing]] != found[~missing]
        if missing.any():
            row = int(np.argmax(missing))
            what = f"inode {directory_ids[owners[row]]} lists inode {found[row]}, which section {INODE} does not have"
            raise ImageError(image, what, INODE_DIR)
        numbers_found = numbers[place]
        again = np.flatnonzero(found[1:] == found[:-1])
        if len(again):
            rows = np.unique(np.concatenate([again, again + 1]))
            for number, owner in zip(numbers_found[rows].tolist(), owners[rows].tolist(), strict=True):
                contested.setdefault(number, []).append(owner)
            owners[rows] = NOBODY
        parents[numbers_found] = owners
        asked = names[(names >= low) & (names <= high)]
        at = np.searchsorted(ids, asked)
        named |= {int(each): int(numbers[where]) for each, where in zip(asked, at, strict=True)}
    return Joined(parents, contested, named)


def _ranges(scratch: Path, inodes: int, count: int) -> Iterator[tuple[int, int]]:
    """So many ranges of ids, both ends included, with about as many inodes in each."""
    top = (1 << 64) - 1
    if count > 1 and inodes:
        step = max(1, inodes // _SAMPLES)
        sample = np.sort(
            np.concatenate(
                [chunk[-first % step :: step] for first, chunk in chunks(scratch / IDS, "<u8", inodes)]
            )
        )
        cuts = sorted({int(sample[len(sample) * each // count]) for each in range(1, count)} - {0})
    else:
        cuts = []
    for low, high in zip([0, *cuts], [*cuts, top + 1], strict=True):
        yield low, high - 1


def _sorted(
    scratch: Path, keys: tuple[str, str], payload: tuple[str, str] | None, count: int, low: int, high: int
) -> tuple[Numbers, NDArray[Any]]:
    """The keys within the range, in order, each with its payload; without one, with its number."""
    held: list[Numbers] = [np.zeros(0, np.uint64)]
    with_them: list[NDArray[Any]] = [np.zeros(0, np.uint32)]
    for first, chunk in chunks(scratch / keys[0], keys[1], count):
        here = np.flatnonzero((chunk >= low) & (chunk <= high))
        held.append(chunk[here])
        if payload is None:
            with_them.append((here + first).astype(np.uint32))
        else:
            with_them.append(read_column(scratch / payload[0], payload[1], first, len(chunk))[here])
    found = np.concatenate(held)
    order: Ints = np.argsort(found)
    return found[order], np.concatenate(with_them)[order]
