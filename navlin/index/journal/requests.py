"""Requests to ``navlin serve``, stored in ``nav_runs`` with job, arguments, progress and answer.

The command line, or any other process with access to the index, writes the requests. Only one daemon runs a request; if
several try to take it, the ``_version_`` of the document decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final
from uuid import uuid4

import orjson

from navlin.index.journal.holder import Holder
from navlin.index.schema.fields import RUNS, date_ms, solr_date
from navlin.index.solr import solr_query as q
from navlin.index.solr.solr import Solr

KEPT_MS: Final = 24 * 3_600_000
"""Retention time of answered requests."""


class Job(StrEnum):
    EXTRACT = "extract"
    LINK = "link"
    PURGE = "purge"


class RequestState(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    """The request has an answer, which also tells whether the run itself succeeded."""
    FAILED = "failed"
    """The request has no answer; ``error`` gives the reason."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request. Times are epoch ms; ``arguments`` and ``answer`` are plain JSON."""

    id: str
    job: Job
    arguments: Mapping[str, Any]
    asked_by: str
    asked_ms: int
    state: RequestState = RequestState.WAITING
    holder: Holder | None = None
    """The daemon that took on the request."""
    step: str = ""
    answer: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    ended_ms: int = 0
    version: int = -1
    """The ``_version_`` that was read; -1 for a request that was not written yet."""

    @property
    def open(self) -> bool:
        """Whether there is neither an answer nor an error yet."""
        return self.state in (RequestState.WAITING, RequestState.RUNNING)


class TakenMeanwhile(Exception):
    """Another process has changed the request since it was read."""


def leave_request(solr: Solr, job: Job, arguments: Mapping[str, Any], asked_by: str, now_ms: int) -> Request:
    """Write a new request, visible at once, and return it."""
    request = save_request(solr, Request(str(uuid4()), job, arguments, asked_by, now_ms))
    solr.commit(RUNS, soft=True)
    return request


def read_request(solr: Solr, request_id: str) -> Request | None:
    """Return the current state of a request; None if it was withdrawn, or answered more than a day ago."""
    for document in solr.get(RUNS, [_identity(request_id)]):
        return _request(document)
    return None


def open_requests(solr: Solr) -> list[Request]:
    """Return the requests without an answer, oldest first. Those being written at this moment may be missing."""
    filters = [q.term("kind", "request"), q.one_of("status", [RequestState.WAITING, RequestState.RUNNING])]
    found, _ = solr.page(RUNS, q.EVERYTHING, "identity", filters=filters, sort="started asc", rows=1_000)
    ids = [document["identity"] for document in found]
    # Search results may lag behind by one commit.
    requests = (_request(document) for document in solr.get(RUNS, ids)) if ids else ()
    return sorted((each for each in requests if each.open), key=lambda each: (each.asked_ms, each.id))


def requests_for(solr: Solr, job: Job) -> list[Request]:
    """Return all kept requests for a job, newest first; those being written at this moment may be missing."""
    filters = [q.term("kind", "request"), q.one_of("key", [job])]
    ids = [each["identity"] for each in solr.cursor(RUNS, q.EVERYTHING, "identity", filters=filters)]
    requests = (_request(document) for document in solr.get(RUNS, ids)) if ids else ()
    return sorted(requests, key=lambda each: (each.asked_ms, each.id), reverse=True)


def save_request(solr: Solr, request: Request) -> Request:
    """Write a request and return it with its new version. Raises `TakenMeanwhile`."""
    body = {
        "arguments": request.arguments,
        "asked_by": request.asked_by,
        "holder": request.holder,
        "step": request.step,
        "answer": request.answer,
        "error": request.error,
    }
    document: dict[str, Any] = {
        "identity": _identity(request.id),
        "kind": "request",
        "key": request.job.value,
        "status": request.state.value,
        "started": solr_date(request.asked_ms),
        "body": orjson.dumps(body).decode(),
        "_version_": request.version,
    }
    if request.ended_ms:
        document["ended"] = solr_date(request.ended_ms)
    added = solr.add_all(RUNS, [document])
    if added.conflicts:
        raise TakenMeanwhile(request.id)
    version = added.applied[document["identity"]]
    if not version:  # a SolrCloud does not always return the version
        again = read_request(solr, request.id)
        version = again.version if again is not None else 1
    return replace(request, version=version)


def withdraw_request(solr: Solr, request: Request) -> bool:
    """Remove a request unless it has changed since it was read; return whether it was removed."""
    identity = _identity(request.id)
    return not solr.delete_versions(RUNS, {identity: request.version})


def remove_answered(solr: Solr, now_ms: int) -> None:
    """Remove requests that were answered more than `KEPT_MS` ago."""
    before = q.in_range("ended", before=solr_date(now_ms - KEPT_MS))
    found = solr.cursor(RUNS, q.EVERYTHING, "identity", filters=[q.term("kind", "request"), before])
    solr.delete_ids(RUNS, [document["identity"] for document in found])


def _identity(request_id: str) -> str:
    return "request:" + request_id


def _request(document: Mapping[str, Any]) -> Request:
    body = orjson.loads(document["body"])
    holder = body.pop("holder")
    return Request(
        document["identity"].removeprefix("request:"),
        Job(document["key"]),
        asked_ms=date_ms(document["started"]),
        state=RequestState(document["status"]),
        holder=Holder(**holder) if holder else None,
        ended_ms=date_ms(document["ended"]) if "ended" in document else 0,
        version=document["_version_"],
        **body,
    )
