"""``/sources``: the last runs, the lag, the next run and the pending decisions of each source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from navlin.access.roles import Role
from navlin.api.endpoint import ApiRequest
from navlin.console.page import ConsolePage
from navlin.query.page import UnknownSource
from navlin.query.runs import runs
from navlin.questions.declare.shared import Nothing
from navlin.render.status import backing_off, positions

RUNS_DRAWN: Final = 30
BAR_PX: Final = 8
HIGHEST_PX: Final = 32


def _values(request: ApiRequest) -> Mapping[str, Any]:
    status = request.service.status(request.solr)
    return {
        "status": status,
        "positions": {
            each["name"]: positions(each["index"], status["now_ms"])
            for each in status["sources"]
            if each["index"]["position_count"]
        },
        "held_back": {
            each["name"]: list(backing_off(each["index"], status["now_ms"])) for each in status["sources"]
        },
        "bars": {each["name"]: _bars(request, each["name"]) for each in status["sources"]},
        "width": RUNS_DRAWN * BAR_PX,
        "highest": HIGHEST_PX,
        "may_run": request.user.role >= Role.ADMINISTRATOR,
    }


def _bars(request: ApiRequest, source: str) -> list[dict[str, Any]]:
    """Return the last runs, oldest first, each as a bar. The height is relative to the longest of these runs."""
    try:
        found = [
            each for each in runs(request.solr, source=source, limit=RUNS_DRAWN).results if each.ended_ms
        ]
    except UnknownSource:
        # The source has not run yet.
        return []
    longest_ms = max((each.ended_ms - each.started_ms for each in found), default=0) or 1
    return [
        {
            "x": number * BAR_PX,
            "height": max(3, round(HIGHEST_PX * (each.ended_ms - each.started_ms) / longest_ms)),
            "status": each.status.value,
            "seconds": (each.ended_ms - each.started_ms) / 1_000,
            "started_ms": each.started_ms,
        }
        for number, each in enumerate(reversed(found), RUNS_DRAWN - len(found))
    ]


PAGE = ConsolePage("/sources", "Sources", Nothing, _values, menu="Sources")
