"""The paths that a run covers. An entity at or below a covered path is gone if the run did not read it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from navlin.model.records import Covered, Depth
from navlin.model.tree import ROOT, excepted, parent_of


@dataclass(frozen=True, slots=True)
class Coverage:
    """All `Covered` entries of a run, for look-up by path. This object is small, because it is pickled into Spark
    tasks.

    ``by_path`` maps paths to entries. ``withdrawn`` are paths with a record that could not be parsed; nothing at or
    below them is covered.
    """

    by_path: Mapping[str, Covered] = field(default_factory=dict)
    withdrawn: frozenset[str] = frozenset()
    floors: Mapping[str, int] = field(default_factory=dict)
    """Path → time at which the path was last read, according to the index (epoch ms). Older records at or below the
    path are obsolete."""

    def of(self, path: str) -> Covered | None:
        """Return the newest `Covered` that applies to a path; None if there is none, or if the path is outside the
        source's tree."""
        if not self.by_path or not path.startswith(ROOT) or excepted(path, self.withdrawn):
            return None
        if len(self.by_path) == 1 and self.everything:  # fast path for a complete listing
            whole = self.by_path[ROOT]
            return whole if _speaks(whole, path) else None
        newest: Covered | None = None
        at, steps = path, 0
        while True:
            covered = self.by_path.get(at)
            if covered is not None and _reaches(covered, steps) and _speaks(covered, path):
                newest = covered if newest is None or covered.as_of_ms > newest.as_of_ms else newest
            if at == ROOT:
                return newest
            at, steps = parent_of(at), steps + 1

    def known_as_of_ms(self, covered: Covered | None) -> int:
        """Return the time at which the path of ``covered`` was last read completely, by this run or an earlier one
        (epoch ms); 0 for None."""
        if covered is None:
            return 0
        return max(covered.as_of_ms, self.floors.get(covered.path, 0))

    @property
    def listed(self) -> tuple[Covered, ...]:
        """The entries that come from a listing, not from an event of the source."""
        return tuple(each for each in self.by_path.values() if not each.reported)

    @property
    def everything(self) -> bool:
        """Whether the run covers the whole source. If so, the documents in the index are exported instead of looked
        up."""
        return ROOT in self.by_path and self.by_path[ROOT].depth is Depth.ALL


def coverage(covers: Iterable[Covered], withdrawn: Iterable[str]) -> Coverage:
    """Merge the coverage of a plan and its splits. If two entries have the same path, the newer one wins; if they have
    the same time, the wider one."""
    by_path: dict[str, Covered] = {}
    for covered in covers:
        known = by_path.get(covered.path)
        if known is None or _weight(covered) > _weight(known):
            by_path[covered.path] = replace(covered, except_paths=frozenset(covered.except_paths))
    return Coverage(by_path, frozenset(withdrawn))


def _weight(covered: Covered) -> tuple[int, int, int]:
    widths = {Depth.SELF: 0, Depth.CHILDREN: 1, Depth.ALL: 2}
    return covered.as_of_ms, widths[covered.depth], -len(covered.except_paths)


def _speaks(covered: Covered, path: str) -> bool:
    if excepted(path, covered.except_paths):
        return False
    # There is no need to compile the expression, because `re` caches compiled expressions.
    return not covered.matching or re.fullmatch(covered.matching, path) is not None


def _reaches(covered: Covered, steps: int) -> bool:
    match covered.depth:
        case Depth.SELF:
            return steps == 0
        case Depth.CHILDREN:
            return steps <= 1
        case Depth.ALL:
            return True
