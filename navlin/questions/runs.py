"""``runs``: runs of sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from navlin.query.bounds import LIMIT
from navlin.questions.declare.question import ListPage, Question, QuestionRequest, asks
from navlin.questions.declare.shared import Limit, Offset, Source

Recorded = Literal["running", "finished", "held", "failed"]
"""Statuses of run records. Runs with any other `navlin.index.journal.runs.Status` leave no record."""


@dataclass(frozen=True, slots=True)
class Parameters:
    source: Source = ""
    status: Annotated[tuple[Recorded, ...], "Only runs with this status. Repeatable."] = ()
    limit: Limit = LIMIT
    offset: Offset = 0


def _kept(_asked: QuestionRequest) -> Mapping[str, Any]:
    from navlin.index.journal.runs import RUNS_KEPT

    return {"kept": RUNS_KEPT}


QUESTION = Question(
    name="runs",
    summary="Runs of sources, with time, duration and result.",
    about="""
    The runs of sources, newest first: what they read, their result, and why one failed or is on hold. A run that found
    nothing new leaves no record. The last 20,000 of each source are kept.
    """,
    examples=(
        "navlin runs",
        "navlin runs --source HIVE-1 --status failed --status held",
        "navlin runs --limit 1000 --json | jq '.results[] | {source, started_ms, status}'",
    ),
    parameters=Parameters,
    ask=asks("navlin.query.runs:runs"),
    answers="navlin.index.journal.runs:RunRecord",
    view="navlin.render.pages:runs_view",
    page=ListPage("Runs", menu="Runs", beside=_kept),
)
