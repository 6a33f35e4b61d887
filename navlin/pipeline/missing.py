"""Entities that are in the index but missing in a full listing, without an event that reported their deletion.

A listing may be short without an error: a proxy that truncates, a NameNode that starts, a lost page. So the source is
asked for missing places by name, if it can be; else they are flagged only if a second listing misses them too. A place
represents everything below it: for a dropped database only its own path is checked, and none of its tables.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from navlin.model.tree import ROOT, contains, excepted
from navlin.pipeline.guard import Guard, HighWater

MOST_PLACES: Final = 100_000
"""Most places that are checked, and remembered."""
MOST_CHARS: Final = 16 << 20
"""Most characters in the paths of these places together."""
BELOW_FIRST: Final = "\x00"
"""In place of the slash, it sorts the paths below a path directly after it: ``/a``, ``/a/b``, ``/a-b``."""


@dataclass(frozen=True, slots=True)
class Missing:
    """The number of missing entities at and below each topmost place. ``too_many``: there are more places than may be
    checked, and these are their parents."""

    places: Mapping[str, int] = field(default_factory=dict)
    too_many: bool = False

    @property
    def entities(self) -> int:
        """The number of missing entities in all."""
        return sum(self.places.values())

    def but(self, spared: Collection[str]) -> Missing:
        """A copy without these paths."""
        return Missing({path: count for path, count in self.places.items() if not excepted(path, spared)})


@dataclass(frozen=True, slots=True)
class Look:
    """The facts known when a listing misses something.

    ``asked``: missing places that the source found by name, None if it cannot be asked. ``before``: places that the last
    full listing missed already. ``proved``: the listing is known to be complete. ``accepted``: places whose loss a
    person has accepted, None if nobody was asked.
    """

    missing: Missing
    held: int
    read: int
    water: HighWater
    asked: Collection[str] | None = None
    before: Collection[str] = ()
    proved: bool = False
    accepted: Collection[str] | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision. ``spared`` are places that are not flagged, nor anything below them; ``held`` is the reason why
    nothing is flagged until a person has looked; ``shown`` are the places to show that person; ``once`` those that must
    be missing twice."""

    spared: frozenset[str] = frozenset()
    held: str = ""
    notes: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    once: tuple[str, ...] = ()


def topmost(paths: Iterable[str]) -> Missing:
    """The topmost of paths that are sorted with `BELOW_FIRST` in place of their slashes. If there are more than
    `MOST_PLACES`, their nearest sufficient ancestors: each counts the missing entities at and below it."""
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
    return Missing(places, too_many=depth is not None)


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


def decide(guard: Guard, look: Look) -> Verdict:
    """Decides which of the missing places are flagged, which are spared, and whether the run is held."""
    if look.missing.too_many and not look.proved and look.accepted is None:
        held = "the places that are missing are too many to ask for"
        return Verdict(held=held, shown=tuple(look.missing.places))
    missing, spared, notes = look.missing, set[str](), []
    once: tuple[str, ...] = ()
    if look.asked is not None:
        if spared := set(look.asked) & missing.places.keys():
            notes.append(
                f"the listing missed {len(spared)} places that are there by their names: {_some(spared)}"
            )
    elif not look.proved and look.accepted is None and look.read:
        once = tuple(missing.places)
        spared = {path for path in missing.places if not excepted(path, look.before)}
        if spared:
            count = sum(missing.places[path] for path in spared)
            notes.append(
                f"{count} entities are missing for the first time: flagged if the next listing misses them too"
            )
    missing = missing.but(spared)
    if look.accepted is not None:
        beyond = {path for path in missing.places if not excepted(path, look.accepted)}
        held = ""
        if beyond:
            more = sum(missing.places[path] for path in beyond)
            held = f"{more} more entities are missing than were accepted: {_some(beyond)}"
        return Verdict(frozenset(spared | beyond), held, tuple(notes), tuple(sorted(beyond)))
    held = guard.doubt(lost=missing.entities, held=look.held, read=look.read, water=look.water)
    shown = tuple(missing.places) if held else ()
    return Verdict(frozenset(spared | set(shown)), held, tuple(notes), shown, once)


def _some(paths: Collection[str]) -> str:
    first = ", ".join(sorted(paths)[:3])
    return f"{first}, …" if len(paths) > 3 else first


@dataclass(frozen=True, slots=True)
class Remembered:
    """The state kept from run to run, as the value of one position."""

    once: tuple[str, ...] = ()
    held_run: str = ""
    shown: tuple[str, ...] = ()
    water: HighWater = field(default_factory=HighWater)

    @classmethod
    def of(cls, value: Mapping[str, Any] | None) -> Remembered:
        """The state from a position's value, which may be None."""
        if not value:
            return cls()
        return cls(
            tuple(value["once"]),
            value["held_run"],
            tuple(value["shown"]),
            HighWater(value["most"], value["at_ms"]),
        )

    def after(self, verdict: Verdict, run_id: str, water: HighWater) -> Remembered:
        """The state after a full listing. While a loss is held, the earlier size remains valid."""
        if verdict.held:
            return replace(self, held_run=run_id, shown=verdict.shown)
        return Remembered(once=verdict.once, water=water)

    def value(self) -> dict[str, Any] | None:
        """The position's value; None, which removes it, if there is nothing to remember."""
        if self == Remembered():
            return None
        return {
            "once": list(self.once),
            "held_run": self.held_run,
            "shown": list(self.shown),
            "most": self.water.most,
            "at_ms": self.water.at_ms,
        }
