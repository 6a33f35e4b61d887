"""What an extractor gets to plan from, and what it decides to read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from navlin.model.records import Covered, Position, Split


@dataclass(frozen=True, slots=True)
class Positions:
    """What was saved last time, and the time now.

    ``values`` is empty when nothing was saved, and when the version of the extractor has changed since, or a setting that
    affects what is read: the plan is then a complete one. ``complete`` asks for a complete plan whatever was saved.
    ``failed`` is how many times in a row reading a split has failed, by the split's name.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    now_ms: int = 0
    complete: bool = False
    failed: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SourceTime:
    """The time by a source's own clock, epoch ms. ``of`` names the clock in a sentence.

    ``exact``: it is that time there now, give or take seconds; else it is at least as late, by the source's newest event.
    """

    at_ms: int
    of: str
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Plan:
    """What to read, what is known beforehand, and what all of it together covers.

    ``positions`` and ``covers`` hold once every split, and every split that those yielded, was read without error.
    ``note`` is a sentence on why the plan is what it is, if a person would ask ("event ids have a gap"). ``more``: once it
    is carried out there is more to read at once, which only then can be planned. ``source_time`` is what the source's own
    clock showed, if it showed anything: this machine's is held against it. ``moves`` are what the source renamed since the
    last plan, in that order, as tree paths before and after: what people wrote goes along, also of all below.
    """

    splits: tuple[Split, ...] = ()
    positions: tuple[Position, ...] = ()
    covers: tuple[Covered, ...] = ()
    note: str = ""
    more: bool = False
    source_time: SourceTime | None = None
    moves: tuple[tuple[str, str], ...] = ()
