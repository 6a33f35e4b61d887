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
    Lines, records and files that could not be read, each with its place and the reason, the last seen first.
    Everything next to them was read. A reject that is seen again counts once, with the time when it was seen last.
    """,
    examples=("navlin rejects", "navlin rejects --source IMPALA-1 --json"),
    parameters=Parameters,
    ask=asks("navlin.query.rejects:rejects"),
    answers="navlin.index.journal.rejects:Rejected",
    view="navlin.render.pages:rejects_view",
    page=ListPage("Rejected records", menu="Data gaps/Rejected records"),
)
