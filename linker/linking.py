"""Arguments that every rule receives, and the division of the index into ranges for rules that process everything."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from navlin.index.graph.filters import IdRange, id_ranges
from navlin.index.graph.graph import Graph
from navlin.index.schema.stamp import Stamp
from navlin.index.solr.solr import Solr, SolrAddress
from navlin.index.write.graph_changes import GraphChanges

RangeTask = Callable[[IdRange], int]
"""A function that does a rule's work on one range and returns the number of changed documents. Picklable, because it
may run in a Spark task.
"""
EachRange = Callable[[RangeTask, Sequence[IdRange]], Iterable[int]]


def in_this_process(task: RangeTask, ranges: Sequence[IdRange]) -> Iterator[int]:
    """An `EachRange` that runs the task on one range after the other."""
    return map(task, ranges)


@dataclass(frozen=True, slots=True)
class Linking:
    """One pass of the linker.

    ``run_id`` identifies this run. Its changes carry this id, so that later rules see the changes of earlier ones.
    ``run_ids`` are all runs of the source since the last finished run. The pass links the documents that were written
    in ``run_ids`` and in this run; they must have been committed.

    ``since_ms`` is the start of that last finished run in epoch ms, 0 if there was none, or None if no run wrote
    anything. Entities that existed when the later runs wrote may have been removed since then.

    With ``everything``, the rules process the whole index instead, divided into ``ranges`` that are processed by
    ``each_range``.
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
        return Graph(self.solr)

    @property
    def changes(self) -> GraphChanges:
        return GraphChanges(self.solr)

    @property
    def stamp(self) -> Stamp:
        return Stamp(self.run_id, self.now_ms)

    @property
    def runs(self) -> tuple[str, ...]:
        """Ids of the runs whose documents are to be linked."""
        return tuple(dict.fromkeys((self.run_id, *self.run_ids)))

    @property
    def for_task(self) -> LinkingTask:
        """This pass in the form that is sent to Spark tasks."""
        return LinkingTask(self.solr.address, self.stamp)


@dataclass(frozen=True, slots=True)
class LinkingTask:
    """Parameters from which a task creates its `Linking`. Small and picklable."""

    address: SolrAddress
    stamp: Stamp

    @contextmanager
    def linking(self) -> Iterator[Linking]:
        """Yield a `Linking` for this task, with its own connection."""
        with Solr(self.address) as solr:
            yield Linking(solr, self.stamp.now_ms, self.stamp.run_id, everything=True)
