"""The core ``nav_runs``: run records and positions, navlin's own state.

Every document has a ``kind``. Values to search for have their own fields; the rest is JSON in ``body``.

Run records and positions have the epoch of the lease under which they were saved, in ``epoch_l``. A write requires the
version that was read under that lease, so that Solr refuses the writes of a process that has lost its lease.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

import orjson

from navlin.index.journal.leases import LeaseLost
from navlin.index.journal.run_counts import RunCounts
from navlin.index.journal.saved_values import dumps, loads
from navlin.index.schema.fields import RUNS, date_ms, solr_date
from navlin.index.solr import solr_query as q
from navlin.index.solr.solr import Solr
from navlin.model.batches import in_batches
from navlin.model.identity import identify, run_id
from navlin.model.raw_names import raw, shown, stored
from navlin.model.records import Position
from navlin.model.redaction import redact

RUNS_KEPT = 20_000
"""Number of run records kept per source. With a run every five seconds, they cover a day, so that an export can
continue after its target was down for a day."""
BACKING_OFF: Final = "held back: "
"""Key prefix of positions that record a failed split."""
MISSING: Final = "missing"
"""Key of the position that records paths missed by full listings (`navlin.pipeline.missing.Remembered`)."""


class Status(StrEnum):
    RUNNING = "running"
    FINISHED = "finished"
    HELD = "held"
    """Finished, but its pending deletions were implausible and await review."""
    FAILED = "failed"
    IDLE = "idle"
    """There was nothing to read; no record is kept."""
    LEASED = "leased"
    """Another process is running this source."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One pass of the pipeline over one source."""

    source: str
    source_id: str
    iteration: int
    status: Status
    started_ms: int
    ended_ms: int = 0
    note: str = ""
    error: str = ""
    counts: RunCounts = field(default_factory=RunCounts)
    failures: Sequence[str] = ()
    more: bool = False
    """Whether more records can be read immediately. Not stored, because only the caller needs it."""
    epoch: int = 0
    """The epoch of the lease under which the run was made; 0 if there was no lease."""
    version: int = field(default=0, compare=False)
    """The ``_version_`` that was read or written. Not stored. 0 replaces any version; -1 is for a new record."""

    @property
    def run_id(self) -> str:
        """The stamp of the run's documents."""
        return run_id(self.source_id, self.iteration)

    def to_json(self) -> dict[str, Any]:
        """run_id, source, status, started_ms, ended_ms (epoch ms; null while it runs), note, error, counts, failures."""
        return {
            "run_id": self.run_id,
            "source": self.source,
            "status": self.status.value,
            "started_ms": self.started_ms,
            "ended_ms": self.ended_ms or None,
            "note": self.note,
            "error": self.error,
            "counts": asdict(self.counts),
            "failures": list(self.failures),
        }


# -- Run records -------------------------------------------------------------------------------------------------------


def last_run(solr: Solr, source_id: str, *statuses: Status) -> RunRecord | None:
    """Return the newest run of a source, with one of ``statuses`` if any are given; None if there is no such run."""
    filters = ["kind:run", f"{{!term f=sourceId}}{source_id}"]
    if statuses:
        filters.append(f"status:({' OR '.join(statuses)})")
    found, _ = solr.page(RUNS, "*:*", filters=filters, sort="iteration desc", rows=1)
    return _run(found[0]) if found else None


def recent_runs(
    solr: Solr, source: str, statuses: Sequence[Status], limit: int, offset: int
) -> tuple[tuple[RunRecord, ...], int]:
    """Return the run records of the source with this name ("" for all sources), newest first, and their total number.
    If ``statuses`` are given, only runs with one of them count."""
    filters = ["kind:run", *([q.term("source", source)] if source else [])]
    if statuses:
        filters.append(q.one_of("status", statuses))
    sort = "started desc,identity asc"
    found, total = solr.page(RUNS, "*:*", filters=filters, sort=sort, rows=limit, start=offset)
    return tuple(map(_run, found)), total


def runs_to_link(solr: Solr, source_id: str, iteration: int) -> tuple[tuple[str, ...], int]:
    """Return the ids of the runs after a source's last finished run, up to this iteration, because their documents may
    not be linked yet. Also return the start of that finished run, epoch ms; 0 if there is none."""
    finished = last_run(solr, source_id, Status.FINISHED, Status.HELD)
    first, since_ms = (finished.iteration + 1, finished.started_ms) if finished else (1, 0)
    return tuple(run_id(source_id, number) for number in range(first, iteration + 1)), since_ms


def next_iteration(previous: RunRecord | None) -> int:
    """Return the iteration of the run after ``previous``. A failed or interrupted run does not use up its iteration, so
    that its documents are linked together with those of its repetition, however long a source fails."""
    if previous is None:
        return 1
    return previous.iteration + (previous.status in (Status.FINISHED, Status.HELD))


class RecordTaken(LeaseLost):
    """Another process has written this run record since it was read."""


def save_run(solr: Solr, record: RunRecord) -> RunRecord:
    """Write a run record and return it with its new version. It is visible after the next commit.

    Raises `RecordTaken` if the index has another version than the record.
    """
    body = {
        "note": redact(shown(record.note)),
        "error": redact(shown(record.error)),
        "counts": record.counts.counted(),
        "failures": [redact(shown(failure)) for failure in record.failures],
    }
    document: dict[str, Any] = {
        "identity": "run:" + record.run_id,
        "kind": "run",
        "source": record.source,
        "sourceId": record.source_id,
        "runId": record.run_id,
        "iteration": record.iteration,
        "status": record.status.value,
        "started": solr_date(record.started_ms),
        "epoch_l": record.epoch,
        "body": orjson.dumps(body).decode(),
        "_version_": record.version,
    }
    if record.ended_ms:
        document["ended"] = solr_date(record.ended_ms)
        solr.delete_ids(RUNS, ["run:" + run_id(record.source_id, record.iteration - RUNS_KEPT)])
    added = solr.add_all(RUNS, [document])
    if added.conflicts:
        raise RecordTaken(f"the record of run {record.run_id} was written by another process")
    version = added.applied.get(document["identity"], 0)
    if not version:  # a SolrCloud does not always return the version
        version = next((int(each["_version_"]) for each in solr.get(RUNS, [document["identity"]])), 0)
    return replace(record, version=version)


def save_run_fenced(solr: Solr, record: RunRecord, renew: Callable[[], None]) -> RunRecord:
    """Save a run record as `save_run` does, but under a lease. ``renew`` raises if the lease is lost. While the lease
    is held, a version that another process has written since was written without a lease, and is replaced."""
    while True:
        try:
            return save_run(solr, record)
        except RecordTaken:
            renew()
            versions = _versions(solr, ["run:" + record.run_id])
            record = replace(record, version=versions.get("run:" + record.run_id, -1))


def _run(document: Mapping[str, Any]) -> RunRecord:
    body = orjson.loads(document["body"])
    return RunRecord(
        document["source"],
        document["sourceId"],
        int(document["iteration"]),
        Status(document["status"]),
        date_ms(document["started"]),
        date_ms(document["ended"]) if "ended" in document else 0,
        epoch=int(document.get("epoch_l", 0)),
        version=int(document["_version_"]),
        **{**body, "counts": RunCounts.of(body["counts"])},
    )


# -- Positions -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SavedPositions:
    """The positions of a source. ``values`` maps the keys of valid positions to their values; ``outdated`` maps the ids
    of positions saved with other settings or by another version to their fingerprints; ``versions`` maps the ids of all
    positions to their ``_version_``."""

    values: Mapping[str, Any]
    outdated: Mapping[str, str]
    versions: Mapping[str, int] = field(default_factory=dict)


def of_positions(source_id: str) -> list[str]:
    """Return the filters that select the positions of a source."""
    return ["kind:position", f"{{!term f=sourceId}}{source_id}"]


def load_positions(solr: Solr, source_id: str, fingerprint: str) -> SavedPositions:
    values: dict[str, Any] = {}
    outdated: dict[str, str] = {}
    versions: dict[str, int] = {}
    fields = "identity,key,fingerprint,body,_version_"
    for document in solr.cursor(RUNS, "*:*", fields, filters=of_positions(source_id)):
        versions[document["identity"]] = int(document["_version_"])
        if document["fingerprint"] == fingerprint:
            values[raw(document["key"])] = loads(document["body"])
        else:
            outdated[document["identity"]] = document["fingerprint"]
    return SavedPositions(values, outdated, versions)


def save_positions(
    solr: Solr,
    source_id: str,
    fingerprint: str,
    positions: Iterable[Position],
    before: Mapping[str, Any],
    *,
    outdated: Iterable[str] = (),
    fence: Fence | None = None,
) -> Mapping[str, int]:
    """Write the positions that differ from ``before``. Return the ids of the written documents, with their versions (0
    if unknown). Call this after the hard commit of the data.

    ``outdated`` are ids of positions that are no longer valid. They are removed, because they would become valid again
    if their settings came back. With a ``fence``, nothing that another process has saved under a later lease is
    replaced or removed.
    """
    # The last position of a key counts, because a split that is read in parts yields one after each part.
    latest = {position.key: position.value for position in positions}
    changed = {key: value for key, value in latest.items() if before.get(key) != value}
    gone = [position_id(source_id, key) for key, value in changed.items() if value is None]
    documents = [
        {
            "identity": position_id(source_id, key),
            "kind": "position",
            "sourceId": source_id,
            "key": stored(key),
            "fingerprint": fingerprint,
            "body": dumps(value).decode(),
            **({"epoch_l": fence.epoch} if fence is not None else {}),
        }
        for key, value in changed.items()
        if value is not None
    ]
    versions: dict[str, int] = {}
    for written in in_batches(documents, 1_000):
        versions |= _add_fenced(solr, written, fence)
    ids = {document["identity"] for document in documents}
    for batch in in_batches([*gone, *(each for each in outdated if each not in ids)], 1_000):
        _delete_fenced(solr, batch, fence)
    return versions


@dataclass(frozen=True, slots=True)
class Fence:
    """Protection of a source's positions against a process that has lost its lease. ``epoch`` is that of this process's
    lease; ``versions`` maps document ids to the versions that this process read; ``renew`` raises if the lease is
    lost."""

    epoch: int
    versions: Mapping[str, int]
    renew: Callable[[], None]


def _add_fenced(solr: Solr, documents: Sequence[Mapping[str, Any]], fence: Fence | None) -> Mapping[str, int]:
    if fence is None:
        return solr.add_all(RUNS, documents).applied
    versions = fence.versions
    applied: dict[str, int] = {}
    todo = {document["identity"]: document for document in documents}
    while todo:
        versioned = [
            {**document, "_version_": versions.get(identity, -1)} for identity, document in todo.items()
        ]
        added = solr.add_all(RUNS, versioned)
        applied |= added.applied
        conflicts = added.conflicts
        if conflicts:
            # Either we have lost the lease, and ``renew`` raises, or a process without the lease wrote late, and our
            # write wins.
            fence.renew()
            versions = _versions(solr, conflicts)
        todo = {identity: todo[identity] for identity in conflicts}
    return applied


def _delete_fenced(solr: Solr, ids: Sequence[str], fence: Fence | None) -> None:
    if fence is None:
        solr.delete_ids(RUNS, ids)
        return
    versions = {identity: fence.versions[identity] for identity in ids if identity in fence.versions}
    while versions:
        stayed = solr.delete_versions(RUNS, versions)
        if stayed:
            fence.renew()
        versions = _versions(solr, stayed)


def _versions(solr: Solr, ids: Sequence[str]) -> dict[str, int]:
    found = solr.get(RUNS, ids, "identity,_version_") if ids else []
    return {document["identity"]: int(document["_version_"]) for document in found}


def forget_positions(solr: Solr, source_id: str) -> None:
    """Remove all positions of a source, so that the next plan is a complete one."""
    found = solr.cursor(RUNS, "*:*", "identity", filters=of_positions(source_id))
    ids = [document["identity"] for document in found]
    for batch in in_batches(ids, 1_000):
        solr.delete_ids(RUNS, batch)


def position_id(source_id: str, key: str) -> str:
    """Return the id of the document that has the position of this key."""
    return f"position:{source_id}:{identify(key)}"
