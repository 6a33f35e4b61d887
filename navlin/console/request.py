"""``/request``: progress and result of a submitted job; and the paths to which forms send jobs (``/run``, ``/purge``)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final
from urllib.parse import urlencode

from navlin.access.roles import Role
from navlin.api.answers import Redirect
from navlin.api.endpoint import ApiRequest
from navlin.api.own.questions import requested
from navlin.api.own.requests import Parameters, request_of
from navlin.console.page import ConsolePage
from navlin.index.journal.runs import Status
from navlin.questions import all_questions
from navlin.questions.declare.question import Question


def _values(request: ApiRequest) -> Mapping[str, Any]:
    found = request_of(request)
    return {
        "request": found,
        "waits": found.open,
        "idle": found.answer.get("status") == Status.IDLE,
        "may_run": request.user.role >= Role.ADMINISTRATOR,
        # Users confirm exactly the numbers that were shown to them.
        "candidates": sum(each["candidates"] for each in found.answer.get("rules", ())),
        "goes": sum(each["removed"] for each in found.answer.get("rules", ())),
        "held": str(found.answer.get("note", "")).startswith("held"),
    }


def _submitted(question: Question, request: ApiRequest) -> Redirect:
    return Redirect("/request?" + urlencode({"id": requested(question, request, request.parameters)["id"]}))


PAGE: Final = ConsolePage("/request", "Request", Parameters, _values)
JOBS: Final = tuple(
    ConsolePage(each.page, each.summary, each.parameters, partial(_submitted, each), each.role, method="POST")
    for each in all_questions()
    if each.job and isinstance(each.page, str)
)
