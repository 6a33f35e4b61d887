"""What a full listing does not have, though the index has it and no event reported its loss.

A listing may be short without an error: a proxy that cuts, a NameNode that starts, a page that is lost. So what it misses is
asked for by its name, if its source can be asked; else it is flagged only if a second listing misses it too. Places stand
for all below them: of a dropped database its own path is asked for, and none of its tables.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from navlin.model.tree import ROOT, contains, excepted
from navlin.pipeline.guard import Guard, HighWater

MOST_PLACES: Final = 100_000
"""So many places are asked for, and remembered, at most."""
MOST_CHARS: Final = 16 << 20
"""So long are the paths of these places in all, at most."""
BELOW_FIRST: Final = "\x00"
"""If it stands for the slash, what is below a path follows it at once: ``/a``, ``/a/b``, ``/a-b``."""


@dataclass(frozen=True, slots=True)
class Missing:
    """By topmost place how many entities are missing at and below it. ``too_many``: there are more places than may be asked
    for, and these are what contains them."""

    places: Mapping[str, int] = field(default_factory=dict)
    too_many: bool = False

    @property
    def entities(self) -> int:
        """How many are missing in all."""
        return sum(self.places.values())

    def but(self, spared: Collection[str]) -> Missing:
        """Without those places."""
        return Missing({path: count for path, count in self.places.items() if not excepted(path, spared)})


@dataclass(frozen=True, slots=True)
class Look:
    """What is known when a listing misses something.

    ``asked``: places that the source has by their names, None if it cannot be asked. ``before``: what the last full listing
    missed already. ``proved``: the listing is known to be whole. ``accepted``: places whose loss a person has accepted, None
    if nobody was asked.
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
    """What becomes of it. ``spared`` are places that are not flagged, nor what is below; ``held`` is why nothing is flagged
    at all until a person has looked; ``shown`` what that person is shown; ``once`` what must be missing twice."""

    spared: frozenset[str] = frozenset()
    held: str = ""
    notes: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    once: tuple[str, ...] = ()


def topmost(paths: Iterable[str]) -> Missing:
    """The topmost of paths that are sorted with `BELOW_FIRST` in place of their slashes. Of more than `MOST_PLACES`, what
    contains them as near as may be: each counts what is missing at and below it."""
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
    """What is kept of it from run to run, as the value of one position."""

    once: tuple[str, ...] = ()
    held_run: str = ""
    shown: tuple[str, ...] = ()
    water: HighWater = field(default_factory=HighWater)

    @classmethod
    def of(cls, value: Mapping[str, Any] | None) -> Remembered:
        """From the position's value, None if there is none."""
        if not value:
            return cls()
        return cls(
            tuple(value["once"]),
            value["held_run"],
            tuple(value["shown"]),
            HighWater(value["most"], value["at_ms"]),
        )

    def after(self, verdict: Verdict, run_id: str, water: HighWater) -> Remembered:
        """After a full listing. While a loss is held, the size from before counts on."""
        if verdict.held:
            return replace(self, held_run=run_id, shown=verdict.shown)
        return Remembered(once=verdict.once, water=water)

    def value(self) -> dict[str, Any] | None:
        """The position's value; None, which forgets it, if there is nothing to remember."""
        if self == Remembered():
            return None
        return {
            "once": list(self.once),
            "held_run": self.held_run,
            "shown": list(self.shown),
            "most": self.water.most,
            "at_ms": self.water.at_ms,
        }
