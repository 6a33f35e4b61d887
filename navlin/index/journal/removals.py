"""Removals from the index, and changes since a run: the basis of exports that follow the index.

Every removal of entities or relations leaves a record in ``nav_runs``: the ids of one batch, their kind, and the run. A
record is written before the removal; readers ignore ids in it that still exist, or exist again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from navlin.index.graph.entity import WHOLE, StoredEntity
from navlin.index.graph.relation import StoredRelation
from navlin.index.journal.edits import edited_since
from navlin.index.journal.runs import RUNS_KEPT, Status
from navlin.index.schema.fields import ELEMENTS, RELATIONS, RUNS, solr_date
from navlin.index.schema.stamp import Stamp
from navlin.index.solr import solr_query as q
from navlin.index.solr.solr import Solr
from navlin.model.batches import in_batches
from navlin.model.identity import identify
from navlin.model.refusal import Refusal

KEPT_DAYS: Final = 30
_DAY_MS: Final = 86_400_000
_ENTITY: Final = "entity"
_RELATION: Final = "relation"
_KINDS: Final = {ELEMENTS: _ENTITY, RELATIONS: _RELATION}
_CORES: Final = {kind: core for core, kind in _KINDS.items()}
IDS_A_QUERY: Final = 1_000
CLOCKS_DIFFER_MS: Final = 600_000
"""Margin for the difference between two hosts' clocks. Runs that ended up to this long before the requested time are
read, too."""
_FEW_RECORDS: Final = 10
"""Maximum number of removal records read for a batch of runs. A record may have a thousand ids."""
NOT_AHEAD: Final = "{!cache=false}started:[* TO NOW+1HOUR]"
"""Filter that excludes records that start in Solr's future; an hour allows for differing clocks."""


class UnknownRun(Refusal):
    """The run has no record (any more), so the changes since then are unknown."""

    status = 410


@dataclass(frozen=True, slots=True)
class Removal:
    """An entity or relation (``kind``) that a run removed; only its id is known."""

    kind: str
    id: str


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes since a run. Each iterator is lazy and can be read once. ``edited`` are the ids of entities changed by
    users instead of runs."""

    entities: Iterator[StoredEntity]
    relations: Iterator[StoredRelation]
    removed: Iterator[Removal]
    edited: Iterator[str]


def record_removal(solr: Solr, core: str, ids: Sequence[str], stamp: Stamp) -> None:
    """Record that a run removes these documents."""
    kind = _KINDS[core]
    document = {
        "identity": f"removal:{kind}:{stamp.run_id}:{identify(*sorted(ids))}",
        "kind": "removal",
        "runId": stamp.run_id,
        "started": solr_date(stamp.now_ms),
        "body": orjson.dumps({"of": kind, "ids": list(ids)}).decode(),
    }
    solr.add_all(RUNS, [document])


def expire_removals(solr: Solr, now_ms: int) -> None:
    """Delete the records of removals more than `KEPT_DAYS` days ago."""
    old = q.in_range("started", "*", solr_date(now_ms - KEPT_DAYS * _DAY_MS))
    ids = [each["identity"] for each in solr.cursor(RUNS, old, "identity", filters=["kind:removal"])]
    for batch in in_batches(ids, IDS_A_QUERY):
        solr.delete_ids(RUNS, batch)


def changed_since(solr: Solr, run_id: str) -> Changes:
    """Return the changes by the runs that ended after this run started, except this run's own.

    Concurrent runs are included, because their changes may have become visible later. Raises `UnknownRun`.
    """
    started = _started(solr, run_id)
    return _changed(solr, started, but=run_id)


def changed_since_ms(solr: Solr, since_ms: int) -> Changes:
    """Return the changes by the runs that ended after this time (epoch ms). Raises `UnknownRun`."""
    return _changed(solr, solr_date(since_ms))


def removed_entities(solr: Solr, since_ms: int, most: int) -> list[str] | None:
    """Return the ids of the entities that were removed by runs that ended after this time (epoch ms) or are still
    running, and that are still absent; None if there may be more than ``most``."""
    # A record is written before the removal, so after this commit the record of every removal seen so far is visible.
    solr.commit(RUNS, soft=True)
    removed: list[str] = []
    since = solr_date(max(0, since_ms - CLOCKS_DIFFER_MS))
    for batch in in_batches(_runs_since(solr, since), IDS_A_QUERY):
        of_runs = q.terms("runId", batch)
        found, total = solr.page(RUNS, of_runs, "body", filters="kind:removal", rows=_FEW_RECORDS)
        bodies = [orjson.loads(each["body"]) for each in found]
        removed += [each for body in bodies if body["of"] == _ENTITY for each in body["ids"]]
        if total > _FEW_RECORDS or len(removed) > most:
            return None
    there = {each["identity"] for each in solr.get(ELEMENTS, removed, "identity")}
    return [each for each in removed if each not in there]


def newest_run(solr: Solr) -> str:
    """Return the id of the finished run that started last, from which changes can be read later; "" if there is none.
    Running runs do not count, because they will write more than can be read now. Failed runs do not count, because they
    are repeated under the same id. Runs in the future by Solr's clock do not count, because they would hide changes
    until then."""
    filters = [q.present("runId"), q.one_of("status", (Status.FINISHED, Status.HELD)), NOT_AHEAD]
    sort = "started desc,identity asc"
    found, _ = solr.page(RUNS, "kind:run", "runId", filters=filters, sort=sort, rows=1)
    return str(found[0]["runId"]) if found else ""


def _changed(solr: Solr, since: str, *, but: str = "") -> Changes:
    _require_records(solr, since)
    runs = [each for each in _runs_since(solr, since) if each != but]
    return Changes(
        map(StoredEntity.of, _stamped(solr, ELEMENTS, runs)),
        map(StoredRelation.of, _stamped(solr, RELATIONS, runs)),
        _removed_by(solr, runs),
        edited_since(solr, since),
    )


def _started(solr: Solr, run_id: str) -> str:
    for record in solr.cursor(RUNS, q.term("runId", run_id), "started", filters=["kind:run"]):
        started: str = record["started"]
        return started
    raise UnknownRun(f"there is no record of the run {run_id}: everything has to be read again")


def _require_records(solr: Solr, since: str) -> None:
    """Raise `UnknownRun` if a source has had more runs since this time than are kept."""
    later = f"+{q.in_range('iteration', 2)} +{q.in_range('started', since)}"
    for source in solr.facet(RUNS, "sourceId", {"q": later, "fq": ["kind:run"]}):
        of_source = ["kind:run", q.term("sourceId", source)]
        fields, sort = "source,iteration,started", "iteration asc"
        first, _ = solr.page(RUNS, "*:*", fields, filters=of_source, sort=sort, rows=1)
        for run in first:
            if run["iteration"] > 1 and run["started"] > since:
                raise UnknownRun(
                    f"{run['source']} had more than {RUNS_KEPT:,} runs since {since}, and no more are"
                    " kept: everything has to be read again"
                )


def _runs_since(solr: Solr, started: str) -> Iterator[str]:
    """Yield the ids of the runs, purges and passes of the linker that ended after this time, or are still running."""
    later = f"{q.in_range('ended', started)} status:{Status.RUNNING}"
    filters = ["kind:(run OR purge)", q.present("runId")]
    for record in solr.cursor(RUNS, later, "identity,runId", filters=filters):
        yield record["runId"]


def _stamped(solr: Solr, core: str, runs: Sequence[str]) -> Iterator[dict[str, Any]]:
    for batch in in_batches(runs, IDS_A_QUERY):
        yield from solr.cursor(core, q.terms("extractorRunId", batch), WHOLE)


def _removed_by(solr: Solr, runs: Sequence[str]) -> Iterator[Removal]:
    for batch in in_batches(runs, IDS_A_QUERY):
        records = solr.cursor(RUNS, q.terms("runId", batch), "identity,body", filters=["kind:removal"])
        for record in records:
            body = orjson.loads(record["body"])
            there = {each["identity"] for each in solr.get(_CORES[body["of"]], body["ids"], "identity")}
            yield from (Removal(body["of"], each) for each in body["ids"] if each not in there)
