"""Decide what to read from an HDFS: an image, the paths that events touched, or the configured trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from extractors.hdfs.client import HdfsClient
from extractors.hdfs.continuity import EDITS, UNKNOWN, LastEdits, NamespaceIds
from extractors.hdfs.filters import PathFilters
from extractors.hdfs.image_reading import OfferedImage
from extractors.hdfs.reading import to_tree
from extractors.hdfs.splits import DescribeSplit, ImageSplit, TreeSplit
from extractors.hdfs.touched import TouchedPaths
from navlin.model.batches import in_batches
from navlin.model.image_positions import IMAGE
from navlin.model.plan import Plan
from navlin.model.records import Covered, Position, Split
from navlin.model.source import Source
from navlin.model.tree import ROOT

TRANSACTION: Final = "transaction"
"""Key of the position that holds the last followed transaction. Everything read is at least as new."""
IMAGE_MD5: Final = "image md5"
"""Key of the position that holds the MD5 of the last image read."""
COMPLETE_MS: Final = "complete_ms"
"""Key of the position that holds the time of the last complete plan, in epoch ms."""
ROUNDS: Final = "rounds"
"""Key of the position that holds the last rounds that followed events, as [transaction, epoch ms], oldest first."""
MISSED: Final = "missed events"
"""Key of the position that counts the consecutive times that the events since an image were gone before they could be
followed.
"""

ROUNDS_KEPT: Final = 200
"""Number of rounds saved: more than a day at ten-minute intervals. An image is seldom older."""
EVENTS_AT_ONCE: Final = 100_000
MOST_PLACES: Final = 1_000_000
"""Number of touched paths after which a round stops, because all of them are held in memory. Later events are left to
the next round.
"""
MOST_MOVES: Final = 10_000
"""Maximum number of renames in one round for which user-written metadata follows the renamed path. There is a maximum
because the index entries below each path must be read first. With more renames, the metadata follows none of them.
"""
SILENT_TRANSACTIONS: Final = 10_000
"""Number of transactions below which no position is saved if they have no events on paths that navlin reads."""
PATHS_IN_SPLIT: Final = 1_000
TREES_IN_SPLIT: Final = 200
"""Number of trees in one split. Renamed paths are mostly files; large directories are split further."""

RAISE = (
    "the NameNode removes its edits before navlin has followed them: raise dfs.namenode.num.extra.edits.retained"
    " (and dfs.namenode.num.checkpoints.retained); until then each new image is read as a whole"
)


@dataclass(frozen=True, slots=True)
class Saved:
    """The saved positions."""

    transaction: int | None = None
    image: int = -1
    complete_ms: int = 0
    rounds: tuple[tuple[int, int], ...] = ()
    missed: int = 0
    namespace: NamespaceIds = UNKNOWN
    edits: list[Any] | None = None
    image_md5: str = ""


def saved_in(values: Mapping[str, Any]) -> Saved:
    """Return the saved positions. Missing ones have their default values."""
    return Saved(
        values.get(TRANSACTION),
        values.get(IMAGE, -1),
        values.get(COMPLETE_MS, 0),
        tuple((transaction, at_ms) for transaction, at_ms in values.get(ROUNDS, ())),
        values.get(MISSED, 0),
        NamespaceIds.saved_in(values),
        values.get(EDITS),
        values.get(IMAGE_MD5) or "",
    )


@dataclass(frozen=True, slots=True)
class HdfsPlanning:
    """Source and settings of a plan."""

    source: Source
    filters: PathFilters
    sidecars: bool
    spool: Path
    now_ms: int


# -- A whole image -----------------------------------------------------------------------------------------------------


def plan_image(
    planning: HdfsPlanning,
    saved: Saved,
    image: OfferedImage,
    note: str,
    *,
    missed: int = 0,
    follow: bool = True,
    edits: list[Any] | None = None,
) -> Plan:
    """Return a plan to read an image, the first or a newer one. With ``follow``, events are followed from the image's
    transaction on. ``edits`` are the last edits up to that transaction (`edits_before`).
    """
    transaction = image.transaction
    as_of_ms = image_as_of_ms(saved.rounds, transaction, planning.now_ms)
    directory = str(planning.spool / str(transaction))
    split = ImageSplit(directory, transaction, as_of_ms, saved.namespace.namespace_id, image.md5)
    positions = (
        # A user who may not follow events may not see all sidecars either. So no transaction is saved for that user,
        # and if another user may follow events later, that begins with a complete plan.
        Position(TRANSACTION, transaction if follow else None),
        Position(EDITS, edits),
        Position(IMAGE, transaction),
        Position(IMAGE_MD5, image.md5 or None),
        Position(COMPLETE_MS, planning.now_ms),
        Position(ROUNDS, [list(each) for each in saved.rounds]),
        Position(MISSED, missed),
    )
    # An image may be hours old, so later events are read right after it.
    covers = replace(_whole(planning, ROOT, as_of_ms), proved=True)
    return Plan((split,), positions, (covers,), note, more=True)


def image_as_of_ms(rounds: Sequence[tuple[int, int]], transaction: int, now_ms: int) -> int:
    """Return the time to assume for an image's state, in epoch ms by navlin's own clock. It is just before the first
    round that followed transactions newer than the image; ``now_ms`` without such a round.

    Although the image is read later than the events of such rounds, their changes are then neither overwritten nor
    treated as deletions.
    """
    # Two milliseconds, because the attributes from sidecars get a time one millisecond later than the image's.
    return min((at_ms - 2 for followed, at_ms in rounds if followed > transaction), default=now_ms)


# -- Touched paths -----------------------------------------------------------------------------------------------------


def follow(client: HdfsClient, planning: HdfsPlanning, after: int) -> tuple[TouchedPaths, int, LastEdits]:
    """Return the paths touched after a transaction, the last transaction read, and the last edits. Stop early if
    `MOST_PLACES` is exceeded.

    Raises `MissingEvents`.
    """
    touched, last = TouchedPaths(planning.filters.takes, planning.sidecars), LastEdits()
    while True:
        events = client.events(after, EVENTS_AT_ONCE)
        count = 0
        for event in events:
            touched.add(event)
            last.add(event)
            count += 1
        after = events.through
        if count < EVENTS_AT_ONCE or touched.places > MOST_PLACES:
            return touched, after, last


def plan_touched(
    planning: HdfsPlanning, saved: Saved, touched: TouchedPaths, through: int, edits: list[Any] | None
) -> Plan:
    """Return a plan to read touched paths in their current state. Paths that are gone are covered, but not read.

    If no path was touched and fewer than `SILENT_TRANSACTIONS` have passed, the plan saves nothing, so the next round
    begins at the same transaction.
    """
    now_ms = planning.now_ms
    splits: list[Split] = [
        DescribeSplit(paths, now_ms) for paths in in_batches(touched.described(), PATHS_IN_SPLIT)
    ]
    splits += [TreeSplit(paths, now_ms) for paths in in_batches(touched.listed(), TREES_IN_SPLIT)]
    covers = tuple(Covered(to_tree(path), now_ms, reported=True) for path in touched.gone())
    if not splits and not covers:
        silent = through - (saved.transaction or 0) < SILENT_TRANSACTIONS
        return Plan() if silent else Plan(positions=(Position(TRANSACTION, through), Position(EDITS, edits)))
    rounds = [*saved.rounds, (through, now_ms)][-ROUNDS_KEPT:]
    positions = [Position(TRANSACTION, through), Position(EDITS, edits)]
    positions.append(Position(ROUNDS, [list(each) for each in rounds]))
    if saved.missed:
        positions.append(Position(MISSED, 0))
    notes = ["more events are left for the next round"] if touched.places > MOST_PLACES else []
    moves = tuple((to_tree(before), to_tree(after)) for before, after in touched.renames)
    if len(moves) > MOST_MOVES:
        notes.append(
            f"{len(moves)} renames in one round, too many to follow: user metadata stays with the names"
        )
        moves = ()
    return Plan(tuple(splits), tuple(positions), covers, "; ".join(notes), moves=moves)


# -- Listings ----------------------------------------------------------------------------------------------------------


def plan_listing(
    planning: HdfsPlanning,
    saved: Saved,
    roots: Sequence[str],
    note: str,
    *,
    through: int | None = None,
    missed: int = 0,
    edits: list[Any] | None = None,
) -> Plan:
    """Return a plan to list whole trees. With ``through``, events are followed from that transaction on."""
    splits = tuple(TreeSplit((root,), planning.now_ms, configured=True) for root in roots)
    covers = tuple(_whole(planning, root, planning.now_ms) for root in roots)
    positions = [Position(COMPLETE_MS, planning.now_ms)]
    if through is not None:
        positions += [Position(TRANSACTION, through), Position(MISSED, missed), Position(EDITS, edits)]
        positions.append(Position(ROUNDS, [list(each) for each in saved.rounds]))
    return Plan(splits, tuple(positions), covers, note)


def _whole(planning: HdfsPlanning, path: str, as_of_ms: int) -> Covered:
    return Covered(to_tree(path), as_of_ms, matching=planning.filters.matching)
