"""The tree of directories: which of them are below the root, their depths, and their paths."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from extractors.hdfs.image.arrays import Flags, Ints, Numbers, as_text, joined
from extractors.hdfs.image.errors import ImageError
from extractors.hdfs.image.layout import INODE_DIR
from extractors.hdfs.image.prepared import (
    NAME_ENDS,
    NAMES,
    NO_POLICY,
    NOBODY,
    PATH_ENDS,
    PATHS,
    POLICIES,
    NumberFile,
    read_column,
)
from extractors.hdfs.image.strings import REPLICATED

MAX_ROUNDS: Final = 64
MAX_PATH_BYTES: Final = 64 << 10
"""Maximum length of a path. HDFS itself refuses to create paths of more than 8,000 characters or 1,000 components."""
_CHUNK_BYTES: Final = 32 << 20
_CHUNK_ROWS: Final = 64 << 10


@dataclass(frozen=True, slots=True)
class Tree:
    """Arrays with one element for each directory, in the section's order. ``live`` directories are those below the
    root. ``depths`` (0 for the root) and ``lengths`` (bytes of the path) are valid only for live directories.
    """

    live: Flags
    depths: Ints
    lengths: Ints
    parents: Ints


def grow(
    image: str,
    ids: Numbers,
    root: int,
    parents: NDArray[np.uint32],
    name_lengths: Ints,
    contested: Mapping[int, Sequence[int]],
) -> Tree:
    """Follow every directory to the root. A directory that does not reach the root belongs only to snapshots. Raises
    ImageError on a cycle.

    ``contested`` maps each directory with several parents to these parents. Only one of them may be live, because the
    others list the directory only in snapshots.
    """
    count = len(ids)
    above = parents.astype(np.int64)
    above[above == NOBODY] = count
    open_ones = dict(contested)
    for _ in range(MAX_ROUNDS):
        tree = _climb(image, ids, root, above, name_lengths)
        owner_of = {
            each: live_owner(image, ids, tree, int(ids[each]), owners) for each, owners in open_ones.items()
        }
        decided = {each: owner for each, owner in owner_of.items() if owner >= 0}
        if not decided:
            for each, owners in contested.items():
                live_owner(image, ids, tree, int(ids[each]), owners)
            return tree
        for each, owner in decided.items():
            above[each] = owner
            del open_ones[each]
    raise ImageError(
        image, "directories with several parents, nested too deeply to tell which is theirs", INODE_DIR
    )


def live_owner(image: str, ids: Numbers, tree: Tree, inode: int, owners: Sequence[int]) -> int:
    """Return the live directory among ``owners``; -1 if none is live. Raises ImageError if several are live."""
    live = [each for each in owners if tree.live[each]]
    if len(live) > 1:
        what = f"inode {inode} is listed by directory {ids[live[0]]} and by {ids[live[1]]}"
        raise ImageError(
            image,
            what if live[0] != live[1] else f"inode {inode} is listed twice by directory {ids[live[0]]}",
            INODE_DIR,
        )
    return live[0] if live else -1


def _climb(image: str, ids: Numbers, root: int, above: Ints, name_lengths: Ints) -> Tree:
    """Return the tree. In each round, the pointer of every directory doubles its distance, from the parent to two
    levels up, then four, and so on, until all pointers have arrived at the root or at the dummy after the directories.
    """
    count = len(ids)
    # A dummy after the directories is the parent of directories that no other directory lists.
    to = np.append(above, count)
    to[root] = root
    depths = np.ones(count + 1, np.int64)
    lengths = np.append(name_lengths + 1, 0)
    depths[[root, count]] = lengths[[root, count]] = 0
    for _ in range(count.bit_length() + 1):
        if ((to == root) | (to == count)).all():
            live = (to == root)[:count]
            return Tree(live, depths[:count], lengths[:count], above)
        depths += depths[to]
        lengths += lengths[to]
        to = to[to]
    lost = int(to[int(np.argmax((to != root) & (to != count)))])
    cycle = [lost]
    while len(cycle) < 8 and (following := int(above[cycle[-1]])) != lost:
        cycle.append(following)
    names = ", ".join(str(ids[each]) for each in cycle)
    raise ImageError(image, f"directories that contain one another: inodes {names}", INODE_DIR)


def rank(tree: Tree) -> Ints:
    """Return the numbers of the live directories, ordered by depth, beginning with the root."""
    live = np.flatnonzero(tree.live)
    return live[np.argsort(tree.depths[live], kind="stable")]


def write_paths(
    image: str, ids: Numbers, tree: Tree, ranked: Ints, renamed: Mapping[int, bytes], scratch: Path
) -> None:
    """Write `PATHS` and `PATH_ENDS` in the order of ``ranked``. The root's path is empty, so that any path and name
    can be joined with a slash.
    """
    lengths = tree.lengths[ranked]
    longest = int(np.argmax(lengths))
    if lengths[longest] > MAX_PATH_BYTES:
        deep = f"{lengths[longest]} bytes, in {tree.depths[ranked[longest]]} names"
        what = f"the path of directory {ids[ranked[longest]]} has {deep}"
        raise ImageError(image, what, INODE_DIR)
    free = shutil.disk_usage(scratch).free
    if int(lengths.sum()) > free:
        raise ImageError(
            image, f"its directories' paths take {lengths.sum()} bytes, and {scratch} has room for {free}"
        )
    positions = np.empty(len(ids), np.int64)
    positions[ranked] = np.arange(len(ranked))
    names = _Names(scratch, renamed)
    depths = tree.depths[ranked]
    ends = np.zeros(len(ranked) + 1, np.int64)
    begin, end = 0, 1
    done = 1
    with (scratch / PATHS).open("wb") as file:
        while done < len(ranked):
            file.flush()
            above = _mapped(scratch, ends, begin, end)
            begin, end = end, int(np.searchsorted(depths, depths[end], side="right"))
            for first, last in _cuts(lengths, begin, end):
                rows = ranked[first:last]
                parents = positions[tree.parents[rows]] - (begin - len(above))
                paths = joined(above.take(pa.array(parents)), names.take(rows))
                sizes = pc.binary_length(paths).to_numpy(zero_copy_only=False)
                ends[first + 1 : last + 1] = ends[first] + np.cumsum(sizes)
                file.write(paths.buffers()[2][: int(ends[last] - ends[first])])
            done = end
    with NumberFile(scratch / PATH_ENDS, "<i8") as column:
        column.add(ends)


def _mapped(scratch: Path, ends: NDArray[np.int64], begin: int, end: int) -> Any:
    """Return the paths of the directories from rank ``begin`` to ``end``, which have the same depth."""
    low, high = int(ends[begin]), int(ends[end])
    data = pa.memory_map(str(scratch / PATHS)).read_buffer()[low:high] if high > low else pa.py_buffer(b"")
    return pa.Array.from_buffers(
        pa.large_string(), end - begin, [None, pa.py_buffer(ends[begin : end + 1] - low), data]
    )


def _cuts(lengths: Ints, begin: int, end: int) -> list[tuple[int, int]]:
    """Split a range of rows into runs with a bounded number of rows and bytes."""
    sums = np.cumsum(lengths[begin:end])
    cuts = [begin]
    while cuts[-1] < end:
        before = int(sums[cuts[-1] - begin - 1]) if cuts[-1] > begin else 0
        fits = begin + int(np.searchsorted(sums, before + _CHUNK_BYTES, side="right"))
        cuts.append(min(max(fits, cuts[-1] + 1), cuts[-1] + _CHUNK_ROWS, end))
    return list(pairwise(cuts))


class _Names:
    """Names of the directories as text, read from the files that the walk wrote."""

    def __init__(self, scratch: Path, renamed: Mapping[int, bytes]) -> None:
        ends = read_column(scratch / NAME_ENDS, "<i8")
        size = int(ends[-1])
        data = pa.memory_map(str(scratch / NAMES)).read_buffer() if size else pa.py_buffer(b"")
        self._names = pa.Array.from_buffers(
            pa.large_binary(), len(ends) - 1, [None, pa.py_buffer(ends), data]
        )
        self._renamed = renamed

    def take(self, rows: Ints) -> Any:
        names = self._names.take(pa.array(rows)).cast(pa.binary())
        if self._renamed and (known := [row for row in rows.tolist() if row in self._renamed]):
            changed = np.isin(rows, known)
            names = pc.if_else(
                pa.array(changed),
                pa.array([self._renamed.get(row) for row in rows.tolist()], pa.binary()),
                names,
            )
        return as_text(names)


def write_policies(tree: Tree, ranked: Ints, set_on: Mapping[int, str], scratch: Path) -> list[str]:
    """Write `POLICIES`, which holds by rank the number of the erasure coding policy in force in each directory. Return
    the names of the policies, by number. Write nothing if there are none.
    """
    names = sorted(set(set_on.values()) - {REPLICATED})
    if not names:
        return []
    numbers = {name: number for number, name in enumerate(names)} | {REPLICATED: NO_POLICY}
    positions = np.empty(len(tree.live), np.int64)
    positions[ranked] = np.arange(len(ranked))
    policies = np.full(len(ranked), NO_POLICY, np.int16)
    own = np.zeros(len(ranked), np.bool_)
    for directory, name in set_on.items():
        if tree.live[directory]:
            policies[positions[directory]] = numbers[name]
            own[positions[directory]] = True
    above = positions[np.where(ranked == ranked[0], ranked[0], tree.parents[ranked])]
    edges = np.searchsorted(tree.depths[ranked], np.arange(1, int(tree.depths[ranked[-1]]) + 2))
    for begin, end in pairwise(edges):
        inherited = policies[above[begin:end]]
        policies[begin:end] = np.where(own[begin:end], policies[begin:end], inherited)
    with NumberFile(scratch / POLICIES, "<i2") as column:
        column.add(policies)
    return names
