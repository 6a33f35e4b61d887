"""Record of purged executions and operations, by which gaps in coverage can still be found: the days on which a source
recorded executions, the start of its first execution, and the last times of incomplete operations and of unreadable
records. ``nav_runs`` has one document for each source."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from navlin.index.graph.entity import StoredEntity
from navlin.index.schema.fields import RUNS
from navlin.index.solr.solr import Solr

DAY_MS: Final = 86_400_000
DAYS_KEPT: Final = 2_000
"""Number of latest days for which start times of executions are kept. From earlier days, only the very first start is
kept."""
_KIND: Final = "purged runs"
_ATTEMPTS: Final = 8


@dataclass(frozen=True, slots=True)
class PurgedRuns:
    """Purged executions of one source. ``first_ms`` is the start of the first execution (epoch ms; 0: none was
    removed), ``days`` maps days since 1970 to the first and last start of that day. ``incomplete_ms`` is the time of
    the last removed incomplete operation (0: none), ``rejected_ms`` the last time of the removed rejects (0: none)."""

    first_ms: int = 0
    days: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    incomplete_ms: int = 0
    rejected_ms: int = 0

    def any_between(self, first_ms: int, before_ms: int) -> bool:
        """Whether an execution is known to have started in the interval (``before_ms`` excluded)."""
        return any(first_ms <= each < before_ms for bounds in self.days.values() for each in bounds)


def purged_runs(solr: Solr, source_id: str) -> PurgedRuns:
    return _of(next(iter(solr.get(RUNS, [_identity(source_id)])), None))


def remember_executions(solr: Solr, executions: Iterable[StoredEntity]) -> None:
    """Remember executions before they are removed. They must have been read with `navlin.index.graph.entity.PURGE`."""
    started: dict[str, list[int]] = defaultdict(list)
    for each in executions:
        if each.started_ms:
            started[each.source_id].append(each.started_ms)
    for source_id, times in started.items():
        _change(solr, source_id, times)


def remember_incomplete(solr: Solr, operations: Iterable[StoredEntity]) -> None:
    """Remember the incomplete operations among these, before the operations are removed. They must have been read
    whole."""
    latest: dict[str, int] = defaultdict(int)
    for each in operations:
        if each.incomplete:
            when_ms = max(each.as_of_ms, each.last_run.last_ms)
            latest[each.source_id] = max(latest[each.source_id], when_ms)
    for source_id, when_ms in latest.items():
        _change(solr, source_id, incomplete_ms=when_ms)


def remember_rejects(solr: Solr, source_id: str, seen_ms: int) -> None:
    """Remember that rejects of a source are being removed. Call this before the removal. ``seen_ms`` is the time at
    which the last of these rejects was seen (epoch ms)."""
    _change(solr, source_id, rejected_ms=seen_ms)


def _change(
    solr: Solr, source_id: str, times: Iterable[int] = (), *, incomplete_ms: int = 0, rejected_ms: int = 0
) -> None:
    for _ in range(_ATTEMPTS):
        document = next(iter(solr.get(RUNS, [_identity(source_id)])), None)
        known = _of(document)
        new = _with(known, times, incomplete_ms, rejected_ms)
        if new == known:
            return
        days = {str(day): bounds for day, bounds in new.days.items()}
        body = {
            "first_ms": new.first_ms,
            "days": days,
            "incomplete_ms": new.incomplete_ms,
            "rejected_ms": new.rejected_ms,
        }
        changed = {
            "identity": _identity(source_id),
            "kind": _KIND,
            "sourceId": source_id,
            "body": orjson.dumps(body).decode(),
            "_version_": document["_version_"] if document else -1,
        }
        if not solr.add_all(RUNS, [changed]).conflicts:
            return
    raise RuntimeError(f"the record of purged executions of {source_id} keeps changing")


def _with(known: PurgedRuns, times: Iterable[int], incomplete_ms: int, rejected_ms: int) -> PurgedRuns:
    days, first_ms = dict(known.days), known.first_ms
    for each in times:
        first_ms = min(first_ms or each, each)
        first, last = days.get(each // DAY_MS, (each, each))
        days[each // DAY_MS] = (min(first, each), max(last, each))
    kept = {day: days[day] for day in sorted(days)[-DAYS_KEPT:]}
    incomplete_ms, rejected_ms = (
        max(known.incomplete_ms, incomplete_ms),
        max(known.rejected_ms, rejected_ms),
    )
    return PurgedRuns(first_ms, kept, incomplete_ms, rejected_ms)


def _of(document: Mapping[str, Any] | None) -> PurgedRuns:
    if document is None:
        return PurgedRuns()
    body = orjson.loads(document["body"])
    days = {int(day): (first, last) for day, (first, last) in body["days"].items()}
    return PurgedRuns(body["first_ms"], days, body["incomplete_ms"], body.get("rejected_ms", 0))


def _identity(source_id: str) -> str:
    return f"purged##{source_id}"
