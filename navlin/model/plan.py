"""Input and output of an extractor's planning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from navlin.model.records import Covered, Position, Split


@dataclass(frozen=True, slots=True)
class Positions:
    """The positions saved last time, and the current time.

    ``values`` is empty if nothing was saved, or if the extractor's version or a setting that affects the records read
    has changed since; the plan must then be a complete one. ``complete`` asks for a complete plan whatever was saved.
    ``failed`` maps names of splits to the number of consecutive failures to read them.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    now_ms: int = 0
    complete: bool = False
    failed: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SourceTime:
    """The time by a source's own clock, epoch ms. ``of`` names the clock in a sentence.

    ``exact``: whether this is the current time there, within seconds; else it is a lower bound, from the source's
    newest event.
    """

    at_ms: int
    of: str
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Plan:
    """The splits to read, the positions known beforehand, and the paths that reading all splits covers.

    ``positions`` and ``covers`` hold once all splits, including those yielded by other splits, were read without error.
    ``note`` is a sentence that explains an unusual plan ("event ids have a gap"). ``more``: whether there is more to
    read right after this plan, which can be planned only then. ``source_time`` is the time by the source's own clock,
    if known, for comparison with this machine's. ``moves`` are the source's renames since the last plan, in order, as
    (tree path before, tree path after). User metadata moves along, including that of everything below. ``found`` are
    positions of data that was not known before. They are saved before the splits are read, so that the data is still
    looked for if this run does not end and the data is elsewhere when the next plan is made.
    """

    splits: tuple[Split, ...] = ()
    positions: tuple[Position, ...] = ()
    covers: tuple[Covered, ...] = ()
    note: str = ""
    more: bool = False
    source_time: SourceTime | None = None
    moves: tuple[tuple[str, str], ...] = ()
    found: tuple[Position, ...] = ()
