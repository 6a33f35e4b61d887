"""How a run comes by what the index holds, to compare its records with it: one choice, made from a few counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

RECORDS_IN_TASK: Final = 20_000
"""A task's share, so that it stays short: Spark's fair scheduler does not preempt, and an event must not wait."""
CARRIED_DOCUMENTS: Final = 10_000
"""How many documents below what is covered the driver reads for its tasks. Of more than that, as below a directory that
was renamed, each task exports its own range."""


class HeldState(StrEnum):
    """Where a task finds what the index holds of its source."""

    NOTHING = "nothing"
    """The index holds nothing: no id is looked up. A document that is there after all conflicts when it is written."""
    CARRIED = "carried"
    """The driver reads what is at and below the covered paths, and tasks bear it; other ids are looked up."""
    EXPORTED = "exported"
    """Each task exports what its range of identities has at and below the covered paths; unless that is everything, other
    ids are looked up."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much a run compares: its ``records``, how many documents the index holds of its source, and how many of them are
    at or below the covered paths. ``everything``: the run covers the whole source.

    ``held`` may be None if the run covers a part and its records fit into one task: to count it costs as much as the index
    is large.
    """

    records: int
    held: int | None
    covered: int
    everything: bool
    follows_events: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was chosen: where tasks find the state, and into how many ranges of identities the records are split."""

    state: HeldState
    ranges: int


def choose(sizes: Sizes) -> Comparison:
    """The cheapest way that finds all that is held.

    What follows events covers operations, each of them small: they are carried, however many.
    """
    if sizes.held == 0:
        return Comparison(HeldState.NOTHING, _ranges(sizes.records))
    if sizes.everything:
        return Comparison(HeldState.EXPORTED, _ranges(sizes.records + (sizes.held or 0)))
    if sizes.covered > CARRIED_DOCUMENTS and not sizes.follows_events:
        return Comparison(HeldState.EXPORTED, _ranges(sizes.records + sizes.covered))
    return Comparison(HeldState.CARRIED, _ranges(sizes.records))


def _ranges(documents: int) -> int:
    return max(1, math.ceil(documents / RECORDS_IN_TASK))
