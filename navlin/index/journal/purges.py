"""Purges in ``nav_runs``: the open one, the finished ones, and the time up to which records have ever been purged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

import orjson

from navlin.index.journal.leases import LeaseLost
from navlin.index.schema.fields import RUNS, date_ms, solr_date
from navlin.index.solr import solr_query as q
from navlin.index.solr.solr import Solr
from navlin.model.identity import run_id
from navlin.model.redaction import bounded, redact

PURGE: Final = "purge"
"""Used in place of a source's id, in the name of purge's lease and in its run ids."""
_OPEN: Final = "purge:open"
_BEFORE: Final = "purge:before"
_UNFINISHED: Final = "purge:unfinished"
_DAILY: Final = "purge:daily"
_DAY_MS: Final = 86_400_000
_MAX_REASON_BYTES: Final = 4_000
_TAKEN: Final = "another process has taken the lease of the purge, and continues it"


@dataclass(frozen=True, slots=True)
class PurgeRecord:
    """Progress of a purge. ``after`` is the identity up to which ``rule`` is done; ``pending`` the next removal;
    ``tallies`` the results of each rule. Only the purge itself interprets these three; they are plain JSON."""

    before_ms: int
    started_ms: int
    ours: bool = True
    rule: str = ""
    after: str = ""
    pending: Mapping[str, Any] = field(default_factory=dict)
    tallies: Mapping[str, Any] = field(default_factory=dict)
    epoch: int = 0
    """The epoch of the lease under which the record was saved."""
    version: int = field(default=-1, compare=False)
    """The ``_version_`` that was read or written; -1 for a new record. Not stored."""

    @property
    def run_id(self) -> str:
        """The stamp of the purge's changes."""
        return run_id(PURGE, self.started_ms)


@dataclass(frozen=True, slots=True)
class UnfinishedPurge:
    """Reason, time and age limit of the last daily purge that did not finish (epoch ms)."""

    reason: str
    at_ms: int
    before_ms: int


def open_purge(solr: Solr) -> PurgeRecord | None:
    """Return the purge that was begun and has not ended, or None."""
    for document in solr.get(RUNS, [_OPEN]):
        return PurgeRecord(**orjson.loads(document["body"]), version=int(document["_version_"]))
    return None


def ended_purges(solr: Solr, limit: int) -> tuple[list[tuple[PurgeRecord, int]], int]:
    """Return the last ``limit`` finished purges, newest first, each with its end (epoch ms); and their total number."""
    filters = [q.term("kind", "purge"), q.term("status", "finished")]
    found, total = solr.page(RUNS, q.EVERYTHING, filters=filters, sort="started desc", rows=limit)
    return [(PurgeRecord(**orjson.loads(each["body"])), date_ms(each["ended"])) for each in found], total


def save_purge(solr: Solr, record: PurgeRecord) -> PurgeRecord:
    """Save the progress of the open purge durably, and return it with its new version. Raises `LeaseLost` if the index
    has another version."""
    added = solr.add_all(RUNS, [{**_document(_OPEN, record, "running"), "_version_": record.version}])
    if added.conflicts:
        raise LeaseLost(_TAKEN)
    version = added.applied.get(_OPEN, 0)
    if not version:  # a SolrCloud does not always return the version
        version = next((int(each["_version_"]) for each in solr.get(RUNS, [_OPEN])), 0)
    return replace(record, version=version)


def close_purge(solr: Solr, record: PurgeRecord, ended_ms: int) -> None:
    """End the open purge; its record is kept. Raises `LeaseLost` if another process has continued it."""
    document = _document(f"purge:{record.started_ms}", record, "finished")
    solr.add_all(RUNS, [{**document, "ended": solr_date(ended_ms)}])
    taken = solr.delete_versions(RUNS, {_OPEN: record.version})
    unfinished = unfinished_purge(solr)
    # Allow a difference of one day, because the command that releases a held purge names the beginning of a day.
    if unfinished is not None and not taken and record.before_ms > unfinished.before_ms - _DAY_MS:
        solr.delete_ids(RUNS, [_UNFINISHED])
    solr.commit(RUNS, soft=False)
    if taken:
        raise LeaseLost(_TAKEN)


def unfinished_purge(solr: Solr) -> UnfinishedPurge | None:
    """Return the last daily purge that did not finish, unless a later one covered the same range."""
    for document in solr.get(RUNS, [_UNFINISHED]):
        return UnfinishedPurge(**orjson.loads(document["body"]))
    return None


def remember_unfinished(solr: Solr, unfinished: UnfinishedPurge) -> None:
    """Record why the daily purge did not finish. The record is kept until a purge of the same range finishes."""
    reason = bounded(redact(unfinished.reason), _MAX_REASON_BYTES)
    solr.add_all(RUNS, [_plain(_UNFINISHED, asdict(replace(unfinished, reason=reason)))])
    solr.commit(RUNS, soft=False)


def forget_unfinished(solr: Solr) -> None:
    """Forget the unfinished purge, because daily purging is disabled."""
    if unfinished_purge(solr) is not None:
        solr.delete_ids(RUNS, [_UNFINISHED])
        solr.commit(RUNS, soft=False)


@dataclass(frozen=True, slots=True)
class DailyPurge:
    """Time of the last daily purge (epoch ms), whatever its result. If not ``made``, none has been due yet, and the
    first is due after this time."""

    at_ms: int
    made: bool = True


def daily_purge(solr: Solr) -> DailyPurge | None:
    """Return the record of the last daily purge; None if there is no record."""
    for document in solr.get(RUNS, [_DAILY]):
        return DailyPurge(**orjson.loads(document["body"]))
    return None


def remember_daily(solr: Solr, purge: DailyPurge) -> None:
    solr.add_all(RUNS, [_plain(_DAILY, asdict(purge))])
    solr.commit(RUNS, soft=False)


def forget_daily(solr: Solr) -> None:
    """Forget the last daily purge, because daily purging is disabled, so that none counts as missed."""
    if daily_purge(solr) is not None:
        solr.delete_ids(RUNS, [_DAILY])
        solr.commit(RUNS, soft=False)


def purged_before_ms(solr: Solr) -> int:
    """Return the time up to which purges have removed ageing records (epoch ms; 0: never). Older records must not be
    written again."""
    for document in solr.get(RUNS, [_BEFORE]):
        before_ms: int = orjson.loads(document["body"])["before_ms"]
        return before_ms
    return 0


def remember_purged_before(solr: Solr, before_ms: int) -> None:
    """Record that everything older than ``before_ms`` (epoch ms) is being purged. Call this before the first
    removal."""
    _remember(solr, max(before_ms, purged_before_ms(solr)), reads_lost_before_ms(solr))


def reads_lost_before_ms(solr: Solr) -> int:
    """Return the time up to which reads may have been removed without a trace (epoch ms; 0: none). The causes are
    purges by early versions, which recorded nothing on the entities read, purges of reads of paths without any known
    directory around them, and forgetting an engine's source."""
    for document in solr.get(RUNS, [_BEFORE]):
        body = orjson.loads(document["body"])
        lost_ms: int = body.get("reads_lost_before_ms", body["before_ms"])
        return lost_ms
    return 0


def remember_lost_reads(solr: Solr, before_ms: int) -> None:
    """Record that reads earlier than this are removed without a trace. Call this before the removal."""
    if before_ms > (lost_ms := reads_lost_before_ms(solr)):
        _remember(solr, purged_before_ms(solr), max(before_ms, lost_ms))


def forget_purged_before(solr: Solr) -> None:
    """Allow records of any time to be written again. Lost reads stay recorded as lost, because the files with their
    records may be gone."""
    if lost_ms := reads_lost_before_ms(solr):
        _remember(solr, 0, lost_ms)
    else:
        solr.delete_ids(RUNS, [_BEFORE])
    solr.commit(RUNS, soft=False)


def _remember(solr: Solr, before_ms: int, reads_lost_before_ms: int) -> None:
    body = {"before_ms": before_ms, "reads_lost_before_ms": reads_lost_before_ms}
    solr.add_all(RUNS, [_plain(_BEFORE, body)])


def _plain(identity: str, body: Mapping[str, Any]) -> dict[str, Any]:
    return {"identity": identity, "kind": "purge", "body": orjson.dumps(body).decode()}


def _document(identity: str, record: PurgeRecord, status: str) -> dict[str, Any]:
    return {
        "identity": identity,
        "kind": "purge",
        "status": status,
        "runId": record.run_id,
        "started": solr_date(record.started_ms),
        "epoch_l": record.epoch,
        "body": orjson.dumps(
            {name: value for name, value in asdict(record).items() if name != "version"}
        ).decode(),
    }
