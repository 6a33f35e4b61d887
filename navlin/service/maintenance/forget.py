"""Flags entities deleted that no run reads any more, because their source was removed from the configuration or a
filter now excludes them.

A run does not flag these entities, because they may still exist.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from linker import link
from linker.flag_deletions import flag_relations
from linker.linking import Linking
from navlin.index.graph.relation import NO_TREE
from navlin.index.graph.sources import KnownSource
from navlin.index.graph.state import StoredState, stored_below
from navlin.index.journal.leases import lease
from navlin.index.journal.purges import remember_lost_reads
from navlin.index.journal.run_counts import RunCounts
from navlin.index.journal.runs import (
    RunRecord,
    Status,
    forget_positions,
    last_run,
    next_iteration,
    runs_to_link,
    save_run_fenced,
)
from navlin.index.schema.fields import ELEMENTS, RELATIONS, RUNS
from navlin.index.schema.stamp import Stamp
from navlin.index.solr.solr import Solr
from navlin.index.write.graph_changes import GraphChanges
from navlin.model.batches import in_batches
from navlin.model.source import HDFS
from navlin.model.tree import ROOT, contains, tree_path

BATCH = 5_000


@dataclass(frozen=True, slots=True)
class Forgetting:
    """The documents of a source to flag deleted at and below ``path``. ``elements`` and ``relations`` map identities to
    the newest known times (epoch ms), which become the times of the flags."""

    source: KnownSource
    path: str
    elements: dict[str, int]
    relations: dict[str, int]


def tree_place(text: str) -> str:
    """Convert user input to a path in the tree of a source. ``db`` or ``db.table`` is converted to upper case; a path
    (``/user/x``, ``/SALES/ORDERS``) is not changed."""
    return text.rstrip("/") or ROOT if text.startswith("/") else tree_path(*text.upper().split("."))


def to_forget(solr: Solr, source: KnownSource, path: str) -> Forgetting:
    """Find the documents of a source at or below ``path`` that are not flagged deleted yet. The SOURCE document,
    entities that programs registered (`NO_TREE`), and implied relations are left out."""
    found: dict[str, dict[str, int]] = {}
    for core in (ELEMENTS, RELATIONS):
        stored = stored_below(solr, core, source.id, [path])
        found[core] = {each.identity: each.as_of_ms for each in stored if _counts(each, path)}
    return Forgetting(source, path, found[ELEMENTS], found[RELATIONS])


def _counts(stored: StoredState, path: str) -> bool:
    return not stored.deleted and stored.tree_path != NO_TREE and contains(path, stored.tree_path)


def forget(solr: Solr, forgetting: Forgetting, clock: Callable[[], int], *, configured: bool) -> int:
    """Flag the documents deleted while holding the lease of the source. Return the number of flagged documents. Raises
    `Leased` or `LeaseLost`.

    Documents with newer records are not flagged. Relations with a deleted catalogued entity of this source as an end
    are not flagged either (`flag_relations`), so entities are flagged and committed before relations. If the source is
    not ``configured`` any more and is forgotten completely, the source itself is also flagged. Saved positions are
    removed, so that a later run reads the source from the beginning.
    """
    source = forgetting.source
    with lease(solr, source.id) as stored:
        last = last_run(solr, source.id)
        # Record a separate run, so that readers of the changes since the last run find the flags set here.
        number = next_iteration(last)
        version = last.version if last is not None and last.iteration == number else -1
        record = RunRecord(
            source.name, source.id, number, Status.RUNNING, clock(), epoch=stored.epoch, version=version
        )
        record = save_run_fenced(solr, record, stored.renew)
        run_ids, _ = runs_to_link(solr, source.id, record.iteration)
        solr.commit(RUNS, soft=False)
        stamp = Stamp(record.run_id, record.started_ms)
        if source.type != HDFS and not source.metastore:
            # The reads that the source recorded are lost with it. So for a period that begins before now, no entity may
            # count as unused.
            remember_lost_reads(solr, stamp.now_ms)
        changes, elements, flagged = GraphChanges(solr), dict(forgetting.elements), 0
        if forgetting.path == ROOT and not configured:
            elements[source.id] = stamp.now_ms
        for flag, gone in ((GraphChanges.flag_entities, elements), (flag_relations, forgetting.relations)):
            for batch in in_batches(iter(gone), BATCH):
                stored.check()
                flagged += flag(changes, {identity: gone[identity] for identity in batch}, stamp)
            solr.commit(ELEMENTS, soft=False)
            solr.commit(RELATIONS, soft=False)
        link(Linking(solr, stamp.now_ms, stamp.run_id, run_ids))
        solr.commit(RELATIONS, soft=False)
        stored.renew()
        forget_positions(solr, source.id)
        counts = RunCounts(deleted=flagged)
        ended = replace(record, status=Status.FINISHED, ended_ms=clock(), note="forgotten", counts=counts)
        save_run_fenced(solr, ended, stored.renew)
        solr.commit(RUNS, soft=False)
    return flagged
