"""Which directories hang below the root, and how deep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from extractors._fsimage.errors import ImageError
from extractors._fsimage.layout import INODE_DIR
from extractors._fsimage.lockstep import Flags, Ints, Numbers
from extractors._fsimage.parents import NOBODY

MAX_ROUNDS: Final = 64


@dataclass(frozen=True, slots=True)
class Tree:
    """By directory, in the section's order. ``depths`` (the root's is 0) and ``lengths`` (bytes of the path) count for live
    ones."""

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
    """Follows every directory to the root; one that does not come there belongs to snapshots alone. Raises on a cycle.

    ``contested`` directories have several parents, and at most one of these may be live: the others are snapshots' too.
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
        settled = {each: owner for each, owner in owner_of.items() if owner >= 0}
        if not settled:
            for each, owners in contested.items():
                live_owner(image, ids, tree, int(ids[each]), owners)
            return tree
        for each, owner in settled.items():
            above[each] = owner
            del open_ones[each]
    raise ImageError(
        image, "directories with several parents, nested too deep to tell which is theirs", INODE_DIR
    )


def live_owner(image: str, ids: Numbers, tree: Tree, inode: int, owners: Sequence[int]) -> int:
    """The one of these directories that is live, -1 for none."""
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
    """Every directory points to the one above, then two up, then four, and so on, until all have arrived."""
    count = len(ids)
    # Behind the directories stands one that is nobody's: those that no directory lists hang there.
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
