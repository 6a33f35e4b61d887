"""``purges``: purges that run or wait, and the history of those that ended."""

from __future__ import annotations

from dataclasses import dataclass

from navlin.access.roles import Role
from navlin.query.bounds import LIMIT
from navlin.questions.declare.question import Question, asks
from navlin.questions.declare.shared import Limit, Offset


@dataclass(frozen=True, slots=True)
class Parameters:
    limit: Limit = LIMIT
    offset: Offset = 0


QUESTION = Question(
    name="purges",
    summary="Running and waiting purges, and the history.",
    about="""
    Running, waiting and interrupted purges, and the history, newest first: start, date, user, and the number of removals by
    rule. Purges that did not finish are kept for a day.
    """,
    examples=("navlin purges", "navlin purges --limit 1 --json"),
    parameters=Parameters,
    ask=asks("navlin.query.purges:purges"),
    answers="navlin.query.purges:Purges",
    view="navlin.render.pages:purges_view",
    role=Role.ADMINISTRATOR,
    page="/purges",
)
