"""``rejects``: input that could not be read."""

from __future__ import annotations

from dataclasses import dataclass

from navlin.query.bounds import LIMIT
from navlin.questions.declare.question import ListPage, Question, asks
from navlin.questions.declare.shared import Limit, Offset, Source


@dataclass(frozen=True, slots=True)
class Parameters:
    source: Source = ""
    limit: Limit = LIMIT
    offset: Offset = 0


QUESTION = Question(
    name="rejects",
    summary="Records that could not be parsed.",
    about="""
    Lines, records and files that could not be read, with place and reason, most recently seen first. Everything around
    them was read. A repeated reject is listed once, with the time when it was last seen.
    """,
    examples=("navlin rejects", "navlin rejects --source IMPALA-1 --json"),
    parameters=Parameters,
    ask=asks("navlin.query.rejects:rejects"),
    answers="navlin.index.journal.rejects:Rejected",
    view="navlin.render.pages:rejects_view",
    page=ListPage("Rejected records", menu="Data gaps/Rejected records"),
)
