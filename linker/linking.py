"""What every rule is given, and how rules that run over everything divide it into ranges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from navlin.index.filters import IdRange, id_ranges
from navlin.index.graph import Graph
from navlin.index.solr import Solr, SolrAddress
from navlin.index.stamp import Stamp

RangeTask = Callable[[IdRange], int]
"""Does a rule's work on one range and returns how many documents it changed. Picklable; runs here or in a Spark task."""
EachRange = Callable[[RangeTask, Sequence[IdRange]], Iterable[int]]


def in_this_process(task: RangeTask, ranges: Sequence[IdRange]) -> Iterator[int]:
    """An `EachRange`: one range after the other."""
    return map(task, ranges)


@dataclass(frozen=True, slots=True)
class Linking:
    """One pass of the linker.

    ``run_id`` is this run's and stamps what it changes, so that a later rule sees what an earlier one did. ``run_ids`` are
    all runs of the source since its last finished one: what they and this one stamped is what is to be linked, and it must
    have been committed. ``since_ms`` is when that last one started (0: there was none): entities that were there when these
    runs wrote may have been removed after it; None if nobody wrote. With ``everything`` the rules look at the whole index
    instead, by ``ranges``, each handed to ``each_range``.
    """

    solr: Solr
    now_ms: int
    run_id: str
    run_ids: tuple[str, ...] = ()
    since_ms: int | None = None
    everything: bool = False
    each_range: EachRange = in_this_process
    ranges: tuple[IdRange, ...] = id_ranges()

    @property
    def graph(self) -> Graph:
        """The graph that is linked."""
        return Graph(self.solr)

    @property
    def stamp(self) -> Stamp:
        """What this pass marks its changes with."""
        return Stamp(self.run_id, self.now_ms)

    @property
    def runs(self) -> tuple[str, ...]:
        """The ids of the runs whose documents are to be linked."""
        return tuple(dict.fromkeys((self.run_id, *self.run_ids)))

    @property
    def for_task(self) -> LinkingTask:
        """The pass as a Spark task gets it."""
        return LinkingTask(self.solr.address, self.stamp)


@dataclass(frozen=True, slots=True)
class LinkingTask:
    """What a range task needs to make its own `Linking`: small and picklable."""

    address: SolrAddress
    stamp: Stamp

    @contextmanager
    def linking(self) -> Iterator[Linking]:
        """The pass, over a connection of the task's own."""
        with Solr(self.address) as solr:
            yield Linking(solr, self.stamp.now_ms, self.stamp.run_id, everything=True)
