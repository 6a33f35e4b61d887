"""Chooses how a run gets the indexed documents to compare with its records. The choice is made once, from a few
counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

RECORDS_IN_TASK: Final = 20_000
"""Number of records per task. Tasks must be short, because Spark's fair scheduler does not preempt them, and runs that
follow events must not wait."""
CARRIED_DOCUMENTS: Final = 10_000
"""Maximum number of documents at and below the covered paths that the driver reads and sends with the tasks. If there
are more, for example after a directory was renamed, each task exports the documents in its own range."""


class StateAccess(StrEnum):
    """Method by which a task gets its source's documents from the index."""

    NOTHING = "nothing"
    """The index has no documents of this source, so no id is looked up. If a document exists unexpectedly, writing it
    causes a conflict."""
    CARRIED = "carried"
    """The driver reads the documents at and below the covered paths, and sends them with the tasks. Other ids are
    looked up."""
    EXPORTED = "exported"
    """Each task exports the documents in its range of identities at and below the covered paths. Other ids are looked
    up, unless the run covers the whole source."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Counts from which a run chooses its `Comparison`: the run's ``records``, the source's documents in the index
    (``stored``), and the documents at or below the covered paths (``covered``). ``everything``: the run covers the whole
    source.

    ``stored`` may be None if the run covers only a part of the source and its records fit into one task, because counting
    takes time proportional to the index.
    """

    records: int
    stored: int | None
    covered: int
    everything: bool
    follows_events: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """The chosen method by which tasks get documents from the index (``state``), and the number of ranges of identities
    into which the records are divided (``ranges``)."""

    state: StateAccess
    ranges: int


def choose(sizes: Sizes) -> Comparison:
    """Choose the cheapest comparison that finds all documents.

    In a run that follows events, the covered paths are operations. The documents of operations are small, so they are
    carried, whatever their number.
    """
    if sizes.stored == 0:
        return Comparison(StateAccess.NOTHING, _ranges(sizes.records))
    if sizes.everything:
        return Comparison(StateAccess.EXPORTED, _ranges(sizes.records + (sizes.stored or 0)))
    if sizes.covered > CARRIED_DOCUMENTS and not sizes.follows_events:
        return Comparison(StateAccess.EXPORTED, _ranges(sizes.records + sizes.covered))
    return Comparison(StateAccess.CARRIED, _ranges(sizes.records))


def _ranges(documents: int) -> int:
    return max(1, math.ceil(documents / RECORDS_IN_TASK))
