"""Endpoints of questions, made from their declarations (`navlin.questions`)."""

from __future__ import annotations

from functools import partial
from typing import Any

from navlin.api.bodies import SMALL_BYTES
from navlin.api.endpoint import Asked, Endpoint
from navlin.api.own.requests import ACCEPTED, request
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


def _answer(question: Question, asked: Asked) -> Any:
    if question.job:
        return requested(question, asked, asked.parameters)
    return question.ask(asked.question(asked.parameters))


def requested(question: Question, asked: Asked, parameters: Any) -> dict[str, Any]:
    """Submit a job, and return it in the form of ``/requests/{id}``. Raises `Problem` if no daemon runs."""
    return request(asked, Job(question.name), question.ask(asked.question(parameters)))
