"""Running, waiting and past purges, whoever requested them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Final

from navlin.index.journal.holder import may_live
from navlin.index.journal.leases import held_lease
from navlin.index.journal.purges import PURGE, PurgeRecord, ended_purges, open_purge
from navlin.index.journal.requests import Job, Request, RequestState, requests_for
from navlin.index.solr.solr import Solr
from navlin.query.bounds import LIMIT, MOST
from navlin.query.page import Page

COUNTED: Final = ("candidates", "removed", "relations")


class PurgeState(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    INTERRUPTED = "interrupted"
    """The purge started, and the next purge will continue it."""
    FINISHED = "finished"
    HELD = "held"
    """A person must review the purge."""
    FAILED = "failed"
    IGNORED = "ignored"
    """Another purge was running."""


@dataclass(frozen=True, slots=True)
class Purge:
    """One purge. Times are epoch ms, 0 for none. ``asked_by`` is the user who requested the purge, "" if nobody did or
    if the request is more than a day old. ``rules`` maps rule names to the counts of candidates and removals so far."""

    id: str
    state: PurgeState
    before_ms: int
    started_ms: int
    ended_ms: int = 0
    asked_by: str = ""
    rule: str = ""
    note: str = ""
    rules: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """JSON keys: id, state, before_ms, started_ms, ended_ms (epoch ms; null for an open purge), asked_by, rule,
        note, rules (candidates, removed, relations of each)."""
        return {**asdict(self), "state": self.state.value, "ended_ms": self.ended_ms or None}


@dataclass(frozen=True, slots=True)
class Purges:
    """The open purges, and some of the purges that ended."""

    open: tuple[Purge, ...]
    listed: Page[Purge]

    def to_json(self) -> dict[str, Any]:
        """open, and of those that ended total, offset, limit, truncated, results; each with id, state, before_ms,
        started_ms, ended_ms, asked_by, rule, note, rules."""
        return {"open": [each.to_json() for each in self.open], **self.listed.to_json()}


def purges(solr: Solr, *, limit: int = LIMIT, offset: int = 0) -> Purges:
    """Return the open purges, and a page of the history."""
    return Purges(tuple(open_purges(solr)), past_purges(solr, limit, offset))


def open_purges(solr: Solr) -> list[Purge]:
    """Return the running purge, the waiting ones, and an interrupted one if there is any, oldest first."""
    record, lease = open_purge(solr), held_lease(solr, PURGE)
    runs = lease is not None and lease.holder is not None and may_live(lease.holder)
    requests = [each for each in _requests(solr) if each.open]
    found: list[Purge] = []
    if record is not None:
        asked_by = next((each.asked_by for each in requests if each.state is RequestState.RUNNING), "")
        found.append(_of_record(record, PurgeState.RUNNING if runs else PurgeState.INTERRUPTED, 0, asked_by))
    for request in reversed(requests):
        state = PurgeState.RUNNING if request.state is RequestState.RUNNING else PurgeState.WAITING
        # A running purge that has a record already is shown once.
        if not (state is PurgeState.RUNNING and runs and record is not None):
            found.append(_of_request(request, state))
    return found


def past_purges(solr: Solr, limit: int, offset: int) -> Page[Purge]:
    """Return purges that ended, newest first: the last `MOST` that finished, and those of the last day that did not
    finish."""
    requests = _requests(solr)
    records, finished = ended_purges(solr, min(MOST, limit + offset))
    unfinished = list(_unfinished([each for each in requests if not each.open]))
    every = [
        *(
            _of_record(record, PurgeState.FINISHED, ended_ms, _asked_by(requests, record, ended_ms))
            for record, ended_ms in records
        ),
        *unfinished,
    ]
    every.sort(key=lambda each: each.started_ms, reverse=True)
    total = min(MOST, finished) + len(unfinished)
    return Page(tuple(every[offset : offset + limit]), total, offset, limit)


def _requests(solr: Solr) -> list[Request]:
    return [each for each in requests_for(solr, Job.PURGE) if not each.arguments.get("dry_run")]


def _asked_by(requests: list[Request], record: PurgeRecord, ended_ms: int) -> str:
    for each in requests:
        # The purge ends a moment before its request is answered.
        over = each.state is RequestState.RUNNING or ended_ms <= each.ended_ms
        if each.asked_ms <= record.started_ms and over:
            return each.asked_by
    return ""


def _unfinished(requests: list[Request]) -> Iterator[Purge]:
    states = {
        "held": PurgeState.HELD,
        "leased": PurgeState.IGNORED,
        "stopped": PurgeState.INTERRUPTED,
    }
    for each in requests:
        if each.state is RequestState.FAILED:
            yield _of_request(each, PurgeState.FAILED)
        elif state := states.get(str(each.answer.get("status"))):
            yield _of_request(each, state)


def _of_record(record: PurgeRecord, state: PurgeState, ended_ms: int, asked_by: str) -> Purge:
    rules = {name: {key: int(tally.get(key, 0)) for key in COUNTED} for name, tally in record.tallies.items()}
    rule = record.rule if state is not PurgeState.FINISHED else ""
    return Purge(
        record.run_id, state, record.before_ms, record.started_ms, ended_ms, asked_by, rule, rules=rules
    )


def _of_request(request: Request, state: PurgeState) -> Purge:
    rules: list[Mapping[str, Any]] = list(request.answer.get("rules", ()))
    return Purge(
        request.id,
        state,
        int(request.arguments.get("before_ms", 0)),
        request.asked_ms,
        request.ended_ms,
        request.asked_by,
        note=request.error or str(request.answer.get("note", "")),
        rules={each["rule"]: {key: int(each.get(key, 0)) for key in COUNTED} for each in rules},
    )
