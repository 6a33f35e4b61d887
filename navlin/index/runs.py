"""The core ``nav_runs``: run records, positions and rejects. navlin's own state, beside what it is about.

Every document has a ``kind``. What is searched for has a field of its own, the rest is JSON in ``body``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import orjson

from navlin.index.fields import RUNS, cut, date_ms, solr_date
from navlin.index.run_counts import RunCounts
from navlin.index.solr import Solr
from navlin.index.state import in_batches
from navlin.model.identity import identify, run_id
from navlin.model.records import Position, Reject
from navlin.model.redaction import redact

SAMPLE_CHARS = 500
RUNS_KEPT = 1_000
"""Run records kept of each source: with one every five seconds, what happened in the last hour and a half and more."""


class Status(StrEnum):
    """How a run stands."""

    RUNNING = "running"
    FINISHED = "finished"
    HELD = "held"
    """Finished, but what it would have flagged deleted was implausible: it waits for a person."""
    FAILED = "failed"
    IDLE = "idle"
    """There was nothing to read; no record is kept of it."""
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
    """Whether there is more to read at once. Not kept: it is for the caller that ran it."""

    @property
    def run_id(self) -> str:
        """What the run's documents are stamped with."""
        return run_id(self.source_id, self.iteration)


# -- Run records -------------------------------------------------------------------------------------------------------


def last_run(solr: Solr, source_id: str, *statuses: Status) -> RunRecord | None:
    """The newest run of a source, of those statuses if any are named."""
    filters = ["kind:run", f"{{!term f=sourceId}}{source_id}"]
    if statuses:
        filters.append(f"status:({' OR '.join(statuses)})")
    for document in _select(solr, filters, rows=1, sort="iteration desc"):
        return _run(document)
    return None


def runs_to_link(solr: Solr, source_id: str, iteration: int) -> tuple[str, ...]:
    """The run ids since a source's last finished run, up to this one: what they stamped is not linked for sure yet."""
    finished = last_run(solr, source_id, Status.FINISHED, Status.HELD)
    first = finished.iteration + 1 if finished else 1
    return tuple(run_id(source_id, number) for number in range(first, iteration + 1))


def next_iteration(previous: RunRecord | None) -> int:
    """The iteration of the run after ``previous``. One that failed or was cut off uses none up: what both write is linked
    together, however long a source fails."""
    if previous is None:
        return 1
    return previous.iteration + (previous.status in (Status.FINISHED, Status.HELD))


def save_run(solr: Solr, record: RunRecord) -> None:
    """Writes a run record. It is visible after the next commit."""
    body = {
        "note": redact(record.note),
        "error": redact(record.error),
        "counts": record.counts.counted(),
        "failures": [redact(failure) for failure in record.failures],
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
        "body": orjson.dumps(body).decode(),
    }
    if record.ended_ms:
        document["ended"] = solr_date(record.ended_ms)
        solr.delete_ids(RUNS, ["run:" + run_id(record.source_id, record.iteration - RUNS_KEPT)])
    solr.add(RUNS, [document])


def _run(document: Mapping[str, Any]) -> RunRecord:
    body = orjson.loads(document["body"])
    return RunRecord(
        document["source"],
        document["sourceId"],
        int(document["iteration"]),
        Status(document["status"]),
        date_ms(document["started"]),
        date_ms(document["ended"]) if "ended" in document else 0,
        **{**body, "counts": RunCounts.of(body["counts"])},
    )


# -- Positions -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SavedPositions:
    """The positions of a source: the ``values`` by key of those that count; the ids of those that were saved under other
    fingerprints, by other settings or another version, with these."""

    values: Mapping[str, Any]
    outdated: Mapping[str, str]


def load_positions(solr: Solr, source_id: str, fingerprint: str) -> SavedPositions:
    """What was saved of a source."""
    values: dict[str, Any] = {}
    outdated: dict[str, str] = {}
    filters = ["kind:position", f"{{!term f=sourceId}}{source_id}"]
    for document in solr.cursor(RUNS, "*:*", "identity,key,fingerprint,body", filters=filters):
        if document["fingerprint"] == fingerprint:
            values[document["key"]] = orjson.loads(document["body"])
        else:
            outdated[document["identity"]] = document["fingerprint"]
    return SavedPositions(values, outdated)


def save_positions(
    solr: Solr,
    source_id: str,
    fingerprint: str,
    positions: Iterable[Position],
    before: Mapping[str, Any],
    *,
    outdated: Iterable[str] = (),
) -> int:
    """Writes the positions that differ from ``before``; returns how many. Call it after the hard commit of the data.

    ``outdated`` are ids of positions that count no more: they go, lest they count again when their settings come back.
    """
    # The last position of a key counts: a split that is read in parts yields one after each part.
    latest = {position.key: position.value for position in positions}
    changed = {key: value for key, value in latest.items() if before.get(key) != value}
    gone = [_position_id(source_id, key) for key, value in changed.items() if value is None]
    documents = [
        {
            "identity": _position_id(source_id, key),
            "kind": "position",
            "sourceId": source_id,
            "key": key,
            "fingerprint": fingerprint,
            "body": orjson.dumps(value).decode(),
        }
        for key, value in changed.items()
        if value is not None
    ]
    for start in range(0, len(documents), 1_000):
        solr.add(RUNS, documents[start : start + 1_000])
    written = {document["identity"] for document in documents}
    for batch in in_batches([*gone, *(each for each in outdated if each not in written)], 1_000):
        solr.delete_ids(RUNS, batch)
    return len(changed)


def forget_positions(solr: Solr, source_id: str) -> None:
    """Makes the next plan of a source a complete one."""
    filters = ["kind:position", f"{{!term f=sourceId}}{source_id}"]
    ids = [document["identity"] for document in solr.cursor(RUNS, "*:*", "identity", filters=filters)]
    for batch in in_batches(ids, 1_000):
        solr.delete_ids(RUNS, batch)


def _position_id(source_id: str, key: str) -> str:
    return f"position:{source_id}:{identify(key)}"


# -- Rejects -------------------------------------------------------------------------------------------------------------


def save_rejects(
    solr: Solr, source: str, source_id: str, run: str, now_ms: int, rejects: Iterable[Reject]
) -> int:
    """Records what would not read, by place, offset and reason: the same one seen again is one. Returns how many."""
    documents = reject_documents(source, source_id, run, now_ms, rejects)
    if documents:
        solr.add(RUNS, documents)
    return len(documents)


def reject_documents(
    source: str, source_id: str, run: str, now_ms: int, rejects: Iterable[Reject]
) -> list[dict[str, Any]]:
    """The documents of rejects, redacted, each once."""
    documents = {
        identity: {
            "identity": identity,
            "kind": "reject",
            "source": source,
            "sourceId": source_id,
            "runId": run,
            "started": solr_date(now_ms),
            "place": cut(redact(reject.place), 2_000),
            "offset": reject.offset,
            "count": reject.count,
            "reason": cut(redact(reject.reason), 2_000),
            "body": orjson.dumps({"sample": cut(redact(reject.sample), SAMPLE_CHARS)}).decode(),
        }
        for reject in rejects
        for identity in ["reject:" + identify(source_id, reject.place, str(reject.offset), reject.reason)]
    }
    return list(documents.values())


def _select(solr: Solr, filters: Sequence[str], *, rows: int, sort: str) -> list[dict[str, Any]]:
    answer = solr.select(RUNS, {"q": "*:*", "fq": list(filters), "rows": rows, "sort": sort})
    documents: list[dict[str, Any]] = answer["response"]["docs"]
    return documents
