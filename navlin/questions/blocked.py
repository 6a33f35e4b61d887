"""``blocked``: deletions that wait for a person's decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from navlin.query.bounds import LIMIT
from navlin.questions.declare.parameters import Typed
from navlin.questions.declare.question import ListPage, Question, asks
from navlin.questions.declare.shared import Limit, Offset


@dataclass(frozen=True, slots=True)
class Parameters:
    source: Annotated[str, "The name of a source.", Typed(first=True)]
    limit: Limit = LIMIT
    offset: Offset = 0


QUESTION = Question(
    name="blocked",
    summary="Deletions of a source that are awaiting review.",
    about="""
    Places that are missing from the last full listing of SOURCE, if so many are missing that the run is on hold and nothing
    was flagged deleted. `navlin status` names such sources; `navlin extract SOURCE --accept-loss RUN` confirms exactly
    these deletions.
    """,
    examples=("navlin blocked HIVE-1", "navlin blocked HIVE-1 --limit 1000 --json"),
    parameters=Parameters,
    ask=asks("navlin.query.blocked_deletions:blocked_deletions"),
    answers="navlin.query.blocked_deletions:BlockedDeletions",
    view="navlin.render.pages:blocked_view",
    page=ListPage(
        "Deletions awaiting review", path="/held", beside=lambda request: {"may_run": request.administrator}
    ),
)
