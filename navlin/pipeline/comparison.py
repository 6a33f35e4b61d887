"""The choice of a run's access to the index, for comparing its records: one choice, made from a few counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

RECORDS_IN_TASK: Final = 20_000
"""The share of one task, small so that it stays short: Spark's fair scheduler does not preempt, and events must not
wait."""
CARRIED_DOCUMENTS: Final = 10_000
"""Most documents below the covered paths that the driver reads for its tasks. If there are more, as below a renamed
directory, each task exports its own range."""


class HeldState(StrEnum):
    """A task's access to the index's documents of its source."""

    NOTHING = "nothing"
    """The index has none: no id is looked up. An unexpected document causes a conflict when it is written."""
    CARRIED = "carried"
    """The driver reads the documents at and below the covered paths, and tasks carry them; other ids are looked up."""
    EXPORTED = "exported"
    """Each task exports the documents of its range of identities at and below the covered paths; unless that is
    everything, other ids are looked up."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes that a run compares: its ``records``, the index's documents of its source (``held``), and those of them
    at or below the covered paths (``covered``). ``everything``: the run covers the whole source.

    ``held`` may be None if the run covers a part and its records fit into one task: counting it costs time proportional
    to the index.
    """

    records: int
    held: int | None
    covered: int
    everything: bool
    follows_events: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """The choice: the tasks' access to the index, and the number of identity ranges of the records."""

    state: HeldState
    ranges: int


def choose(sizes: Sizes) -> Comparison:
    """The cheapest comparison that finds all documents.

    Runs that follow events cover operations, each of them small: these are carried, however many.
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
