"""Endpoints of questions, made from their declarations (`navlin.questions`)."""

from __future__ import annotations

from functools import partial
from typing import Any

from navlin.api.bodies import SMALL_BYTES
from navlin.api.endpoint import ApiRequest, Endpoint
from navlin.api.own.requests import ACCEPTED, submit
from navlin.index.journal.requests import Job
from navlin.questions.declare.question import Question, to_json


def endpoint_of(question: Question) -> Endpoint:
    return Endpoint(
        question.method,
        question.path,
        question.role,
        question.summary,
        question.parameters,
        partial(_answer, question),
        ACCEPTED if question.job else 200,
        returns=question.returns,
        form=to_json,
        view=question.load_view(),
        most_bytes=question.most_bytes or SMALL_BYTES,
        walks=question.walks,
        writes=question.method != "GET",
    )


def _answer(question: Question, request: ApiRequest) -> Any:
    if question.job:
        return requested(question, request, request.parameters)
    return question.ask(request.question(request.parameters))


def requested(question: Question, request: ApiRequest, parameters: Any) -> dict[str, Any]:
    """Submit a job, and return it in the form of ``/requests/{id}``. Raises `HttpError` if no daemon runs."""
    return submit(request, Job(question.name), question.ask(request.question(parameters)))
