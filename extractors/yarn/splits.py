"""The pieces of work of one run: applications to read, and what a plan could not list or remember."""

from __future__ import annotations

from dataclasses import dataclass

from extractors.yarn.applications import Seen
from extractors.yarn.engine_runs import KeptJob
from navlin.model.records import Split, first_of


@dataclass(frozen=True, slots=True)
class SeenSplit(Split):
    """Some applications as listed at ``now_ms``. ``configured`` is true if the configurations of their jobs are to be
    fetched, ``unread`` if that has already failed ``tries`` times. ``may_wait`` are the ids of the applications whose
    configurations may be requested again later. ``kept`` are jobs that engines submitted for the same users earlier.
    """

    seen: tuple[Seen, ...]
    configured: bool = False
    now_ms: int = 0
    unread: bool = False
    tries: int = 0
    may_wait: frozenset[str] = frozenset()
    kept: tuple[KeptJob, ...] = ()

    @property
    def name(self) -> str:
        return first_of([each.id for each in self.seen])


@dataclass(frozen=True, slots=True)
class UnansweredSplit(Split):
    """The JobHistoryServer could not list its jobs. Reading this split raises the error, without affecting other
    splits.
    """

    error: str

    @property
    def name(self) -> str:
        return "jobs of the JobHistoryServer"


@dataclass(frozen=True, slots=True)
class BeyondSplit(Split):
    """User → number of open applications that are not remembered, as (user, number) pairs. ``place`` is the
    ResourceManager's URL.
    """

    place: str
    counts: tuple[tuple[str, int], ...]

    @property
    def name(self) -> str:
        return "open applications that are not remembered"
