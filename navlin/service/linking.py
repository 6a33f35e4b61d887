"""``navlin link``: applies the linker's rules outside of a run, to the unfinished work of an interrupted run or to the
whole index."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from linker import link
from linker.linking import Linking, RangeTask
from navlin.index.graph.filters import IdRange
from navlin.index.graph.relation import LINKER
from navlin.index.journal.run_counts import RunCounts
from navlin.index.journal.runs import RunRecord, Status, last_run, runs_to_link, save_run
from navlin.index.schema.fields import RELATIONS, RUNS
from navlin.index.solr.solr import Solr
from navlin.model.source import Source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def link_recent(solr: Solr, sources: Sequence[Source], now_ms: int) -> dict[str, int]:
    """Link the documents that runs of each source wrote since the last finished run. Return rule → number of changed
    relations.

    After a finished run there is nothing to do, because it has linked its own documents.
    """
    changed: dict[str, int] = {}
    for source in sources:
        last = last_run(solr, source.id)
        if last is None:
            continue
        run_ids, since_ms = runs_to_link(solr, source.id, last.iteration)
        for rule, count in link(Linking(solr, now_ms, last.run_id, run_ids, since_ms)).items():
            changed[rule] = changed.get(rule, 0) + count
    solr.commit(RELATIONS, soft=False)
    return changed


def link_everything(
    solr: Solr, spark: Callable[[], SparkSession], clock: Callable[[], int]
) -> dict[str, int]:
    """Link the whole index again, range by range in Spark. Return rule → number of changed relations."""

    def in_spark(task: RangeTask, ranges: Sequence[IdRange]) -> Iterable[int]:
        context = spark().sparkContext
        counts: list[int] = context.parallelize(ranges, len(ranges)).map(task).collect()
        return counts

    now_ms = clock()
    record = RunRecord(LINKER, LINKER, now_ms, Status.RUNNING, now_ms)
    save_run(solr, record)
    changed = link(Linking(solr, now_ms, record.run_id, everything=True, each_range=in_spark))
    solr.commit(RELATIONS, soft=False)
    counts = RunCounts(linked=sum(changed.values()))
    save_run(solr, replace(record, status=Status.FINISHED, ended_ms=clock(), counts=counts))
    solr.commit(RUNS, soft=False)
    return changed
