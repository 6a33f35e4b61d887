"""Choice of how a run accesses the index to compare its records, made once from a few counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

RECORDS_IN_TASK: Final = 20_000
"""Number of records per task. It is small so that tasks are short, because Spark's fair scheduler does not preempt, and
events must not wait."""
CARRIED_DOCUMENTS: Final = 10_000
"""Maximum number of documents below the covered paths that the driver reads for its tasks. If there are more, as below
a renamed directory, each task exports its own range."""


class HeldState(StrEnum):
    """Access of a task to the documents of its source in the index."""

    NOTHING = "nothing"
    """The index has no documents, so no id is looked up. An unexpected document causes a conflict when it is
    written."""
    CARRIED = "carried"
    """The driver reads the documents at and below the covered paths, and tasks carry them; other ids are looked up."""
    EXPORTED = "exported"
    """Each task exports the documents in its range of identities at and below the covered paths. Unless everything is
    covered, other ids are looked up."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes that a run compares: the number of its ``records``, of the source's documents in the index (``held``),
    and of those at or below the covered paths (``covered``). ``everything``: the run covers the whole source.

    ``held`` may be None if the run covers only a part of the source and its records fit into one task, because counting
    takes time proportional to the index.
    """

    records: int
    held: int | None
    covered: int
    everything: bool
    follows_events: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """The choice: the access of tasks to the index, and the number of ranges of identities into which the records are
    divided."""

    state: HeldState
    ranges: int


def choose(sizes: Sizes) -> Comparison:
    """Choose the cheapest comparison that finds all documents.

    Runs that follow events cover operations. These are small, so they are carried, however many there are.
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
