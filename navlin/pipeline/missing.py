"""Handles entities that are in the index but missing in a full listing, although no event reported their deletion.

A listing may be incomplete without an error, for example because a proxy truncates it, a NameNode is starting, or a
page is lost. So the source is asked for each missing place by name if possible. Otherwise a place is flagged deleted
only if a second listing misses it too, if the listing is known to be complete, or if a user has accepted the loss. A
place is a path, and represents everything below that path. For a dropped database, for example, only the path of the
database is checked, not the paths of its tables.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from navlin.model.tree import ROOT, contains, excepted
from navlin.pipeline.guard import Guard, HighWaterMark

MOST_PLACES: Final = 100_000
"""Maximum number of missing places to check and remember."""
MOST_CHARS: Final = 16 << 20
"""Maximum total length of the missing paths to check and remember, in characters."""
BELOW_FIRST: Final = "\x00"
"""Replacement for the slash in sort keys. It makes the paths below a path sort directly after that path: ``/a``,
``/a/b``, ``/a-b``."""


@dataclass(frozen=True, slots=True)
class MissingEntities:
    """The missing entities of a full listing. ``places`` maps each topmost missing path to the number of missing
    entities at and below that path. ``too_many``: there are too many paths to check, so ``places`` has their
    ancestors."""

    places: Mapping[str, int] = field(default_factory=dict)
    too_many: bool = False

    @property
    def entities(self) -> int:
        """Total number of missing entities."""
        return sum(self.places.values())

    def but(self, spared: Collection[str]) -> MissingEntities:
        """Return the rest, without the ``spared`` paths and the paths below them. ``too_many`` is not copied."""
        return MissingEntities(
            {path: count for path, count in self.places.items() if not excepted(path, spared)}
        )


@dataclass(frozen=True, slots=True)
class Look:
    """The facts on which `decide` bases its decision about missing entities. ``stored`` is the number of entities in the
    index, ``read`` the number of records read.

    ``found_by_name``: missing places that the source found when asked by name; None if the source cannot be asked.
    ``before``: places that the previous full listing missed too. ``proved``: the listing is known to be complete.
    ``accepted``: places whose loss a user has accepted; None if this run was not started by an acceptance.
    """

    missing: MissingEntities
    stored: int
    read: int
    high_water_mark: HighWaterMark
    found_by_name: Collection[str] | None = None
    before: Collection[str] = ()
    proved: bool = False
    accepted: Collection[str] | None = None


@dataclass(frozen=True, slots=True)
class LossDecision:
    """The decision about missing entities. ``spared``: places at and below which nothing is flagged. ``blocked`` says why
    a user must confirm the loss first; "" if this is not necessary. If ``blocked`` is set and ``spared`` is empty, no
    missing place may be flagged, because there were too many to check. ``shown``: places to show to that user. ``once``:
    missing places to remember, because a place missing for the first time is flagged only if the next full listing
    misses it too."""

    spared: frozenset[str] = frozenset()
    blocked: str = ""
    notes: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    once: tuple[str, ...] = ()


def topmost(paths: Iterable[str]) -> MissingEntities:
    """Return the topmost ``paths`` with counts. ``paths`` must be sorted with `BELOW_FIRST` instead of slashes. If the
    topmost paths exceed `MOST_PLACES` or `MOST_CHARS`, they are combined into ancestors, as few levels up as
    necessary."""
    places: dict[str, int] = {}
    chars = 0
    last, depth = "", None
    for path in paths:
        place = path if depth is None else _shortened(path, depth)
        if last and contains(last, place):
            places[last] += 1
            continue
        places[place], last = 1, place
        chars += len(place)
        while len(places) > MOST_PLACES or chars > MOST_CHARS:
            depth = max(map(_depth, places)) - 1
            places = _collapsed(places, depth)
            chars, last = sum(map(len, places)), next(reversed(places))
    return MissingEntities(places, too_many=depth is not None)


def _collapsed(places: Mapping[str, int], depth: int) -> dict[str, int]:
    collapsed: dict[str, int] = {}
    for path, count in places.items():
        place = _shortened(path, depth)
        collapsed[place] = collapsed.get(place, 0) + count
    return collapsed


def _shortened(path: str, depth: int) -> str:
    return "/".join(path.split("/", depth + 1)[: depth + 1]) or ROOT


def _depth(path: str) -> int:
    return 0 if path == ROOT else path.count("/")


def decide(guard: Guard, look: Look) -> LossDecision:
    """Decide which missing places to spare, and whether a user must confirm the loss. All other missing places are
    flagged deleted, unless there are too many to check."""
    if look.missing.too_many and not look.proved and look.accepted is None:
        blocked = "too many places are missing to look up each by its name"
        return LossDecision(blocked=blocked, shown=tuple(look.missing.places))
    missing, spared, notes = look.missing, set[str](), []
    once: tuple[str, ...] = ()
    if look.found_by_name is not None:
        if spared := set(look.found_by_name) & missing.places.keys():
            notes.append(
                f"the listing missed {len(spared)} places that exist when looked up by name: {_some(spared)}"
            )
    elif not look.proved and look.accepted is None and look.read:
        once = tuple(missing.places)
        spared = {path for path in missing.places if not excepted(path, look.before)}
        if spared:
            count = sum(missing.places[path] for path in spared)
            notes.append(
                f"{count} entities are missing for the first time: they are flagged deleted if the next"
                " listing misses them too"
            )
    missing = missing.but(spared)
    if look.accepted is not None:
        beyond = {path for path in missing.places if not excepted(path, look.accepted)}
        blocked = ""
        if beyond:
            more = sum(missing.places[path] for path in beyond)
            blocked = f"{more} more entities are missing than were accepted: {_some(beyond)}"
        return LossDecision(frozenset(spared | beyond), blocked, tuple(notes), tuple(sorted(beyond)))
    blocked = guard.why_implausible(
        lost=missing.entities, stored=look.stored, read=look.read, high_water_mark=look.high_water_mark
    )
    shown = tuple(missing.places) if blocked else ()
    return LossDecision(frozenset(spared | set(shown)), blocked, tuple(notes), shown, once)


def _some(paths: Collection[str]) -> str:
    first = ", ".join(sorted(paths)[:3])
    return f"{first}, …" if len(paths) > 3 else first


@dataclass(frozen=True, slots=True)
class MissingState:
    """State about missing places that a source keeps between runs. It is stored as the value of one position."""

    once: tuple[str, ...] = ()
    blocked_run: str = ""
    shown: tuple[str, ...] = ()
    high_water_mark: HighWaterMark = field(default_factory=HighWaterMark)

    @classmethod
    def of(cls, value: Mapping[str, Any] | None) -> MissingState:
        """Restore the state from the value of the position, which may be None."""
        if not value:
            return cls()
        return cls(
            tuple(value["once"]),
            value["held_run"],
            tuple(value["shown"]),
            HighWaterMark(value["most"], value["at_ms"]),
        )

    def after(self, decision: LossDecision, run_id: str, high_water_mark: HighWaterMark) -> MissingState:
        """Return the state after a full listing. While a user must still confirm the loss, the previous ``once`` and
        high-water mark are kept."""
        if decision.blocked:
            return replace(self, blocked_run=run_id, shown=decision.shown)
        return MissingState(once=decision.once, high_water_mark=high_water_mark)

    def value(self) -> dict[str, Any] | None:
        """Return the value of the position; None, which removes the position, if there is nothing to remember."""
        if self == MissingState():
            return None
        return {
            "once": list(self.once),
            "held_run": self.blocked_run,
            "shown": list(self.shown),
            "most": self.high_water_mark.most,
            "at_ms": self.high_water_mark.at_ms,
        }
