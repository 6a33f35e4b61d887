"""Jobs submitted to ``navlin serve``, and ``/requests/{id}`` for their progress and result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from navlin.access.roles import Role
from navlin.api.answers import HttpError
from navlin.api.endpoint import ApiRequest, Endpoint
from navlin.index.journal.requests import Job, Request, leave_request, read_request

ACCEPTED = 202


def submit(request: ApiRequest, job: Job, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Submit a job, and return it in the form of ``/requests/{id}``. Raises `HttpError` if no daemon runs."""
    if not request.service.daemon_runs():
        raise HttpError(503, "navlin serve is not running here: start it to extract, link or purge")
    now_ms = request.service.now_ms()
    return _shown(leave_request(request.solr, job, arguments, request.user.name, now_ms))


@dataclass(frozen=True, slots=True)
class Parameters:
    id: Annotated[str, "Id of the request, from the answer to it."]


def request_of(request: ApiRequest) -> Request:
    """Return the submitted job with the given id. Raises `HttpError` if the id is unknown."""
    found = read_request(request.solr, request.parameters.id)
    if found is None:
        raise HttpError(404, "there is no such request: finished requests are kept for a day")
    return found


def _answer(request: ApiRequest) -> dict[str, Any]:
    return _shown(request_of(request))


def _shown(request: Request) -> dict[str, Any]:
    return {
        "id": request.id,
        "job": request.job.value,
        "arguments": dict(request.arguments),
        "askedBy": request.asked_by,
        "askedMs": request.asked_ms,
        "state": request.state.value,
        "step": request.step,
        "answer": dict(request.answer) if request.answer else None,
        "error": request.error,
        "endedMs": request.ended_ms or None,
    }


READ = Endpoint(
    "GET",
    "/requests/{id}",
    Role.LINEAGE_VIEWER,
    "Get the progress and the result of a request.",
    Parameters,
    _answer,
    returns="state (waiting, running, done, failed), step, answer (as --json of the command), error.",
)
