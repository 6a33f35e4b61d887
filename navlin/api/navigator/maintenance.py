"""``/maintenance/purge``, ``/maintenance/running``, ``/maintenance/history``: requesting a purge, and its result.

The form of a purge (id, startTime, endTime, status, message, username, stage, stagePercent) is taken from reports of
Navigator, because Navigator's documentation does not describe it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Final

from navlin.access.roles import Role
from navlin.api.endpoint import ApiRequest, Endpoint
from navlin.api.own.requests import ACCEPTED, submit
from navlin.index.journal.requests import Job
from navlin.index.schema.fields import solr_date
from navlin.query.purges import Purge, PurgeState, open_purges, past_purges
from navlin.questions.declare.shared import Nothing

SIXTY_DAYS_MINUTES: Final = 86_400
MOST_MINUTES: Final = 52_560_000
MINUTE_MS: Final = 60_000
MOST: Final = 1_000


@dataclass(frozen=True, slots=True)
class PurgeParameters:
    deleteTimeThresholdMinutes: Annotated[
        int, "Minimum age in minutes of what is removed.", range(MOST_MINUTES + 1)
    ] = SIXTY_DAYS_MINUTES


@dataclass(frozen=True, slots=True)
class HistoryParameters:
    limit: Annotated[int, "Maximum number of results, newest first.", range(1, MOST + 1)] = 100
    offset: Annotated[int, "Number of the newest to skip.", range(MOST + 1)] = 0


def _purge(request: ApiRequest) -> dict[str, Any]:
    given: PurgeParameters = request.parameters
    # As in Navigator, a purge requested during another one is ignored.
    for purge in open_purges(request.solr):
        if purge.state in (PurgeState.RUNNING, PurgeState.WAITING):
            return _shown(purge)
    now_ms = request.service.now_ms()
    before_ms = max(0, now_ms - given.deleteTimeThresholdMinutes * MINUTE_MS)
    arguments = {"before_ms": before_ms, "dry_run": False, "accepted": 0}
    left = submit(request, Job.PURGE, {**arguments, "deleted_files": request.service.purges_deleted_files})
    return _shown(Purge(left["id"], PurgeState.WAITING, before_ms, now_ms, asked_by=request.user.name))


def _running(request: ApiRequest) -> list[dict[str, Any]]:
    return [_shown(each) for each in open_purges(request.solr) if each.state is not PurgeState.INTERRUPTED]


def _history(request: ApiRequest) -> list[dict[str, Any]]:
    given: HistoryParameters = request.parameters
    return [_shown(each) for each in past_purges(request.solr, given.limit, given.offset).results]


def _shown(purge: Purge) -> dict[str, Any]:
    return {
        "id": purge.id,
        "startTime": solr_date(purge.started_ms),
        "endTime": solr_date(purge.ended_ms) if purge.ended_ms else None,
        "status": purge.state.upper(),
        "message": purge.note or _message(purge),
        "username": purge.asked_by or None,
        "stage": purge.rule.upper() or None,
        "stagePercent": 100 if purge.state is PurgeState.FINISHED else None,
        "deleteTimeThreshold": solr_date(purge.before_ms),
        "rules": {name: dict(counts) for name, counts in purge.rules.items()},
    }


def _message(purge: Purge) -> str:
    done = [
        f"{counts['removed']} out of {counts['candidates']} {name}" for name, counts in purge.rules.items()
    ]
    return f"Purged {', '.join(done)}" if done else ""


PURGE = Endpoint(
    "POST",
    "/maintenance/purge",
    Role.ADMINISTRATOR,
    "Request a purge; while one runs, return that one.",
    PurgeParameters,
    _purge,
    ACCEPTED,
    lenient=True,
)
RUNNING = Endpoint(
    "GET",
    "/maintenance/running",
    Role.LINEAGE_VIEWER,
    "List running and waiting purges.",
    Nothing,
    _running,
    lenient=True,
)
HISTORY = Endpoint(
    "GET",
    "/maintenance/history",
    Role.LINEAGE_VIEWER,
    "List the history of purges, newest first.",
    HistoryParameters,
    _history,
    lenient=True,
)
