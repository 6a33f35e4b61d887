"""``incomplete``: operations with unknown inputs, outputs or columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from navlin.questions.declare.question import ListPage, Question, QuestionRequest, asks
from navlin.questions.declare.shared import OfReason


def _counts(request: QuestionRequest) -> Mapping[str, Any]:
    from navlin.index.graph.incomplete import incomplete_counts

    return {"counts": incomplete_counts(request.solr)}


QUESTION = Question(
    name="incomplete",
    summary="Operations with missing lineage.",
    about="Operations that miss inputs, outputs or columns, each with the reasons.",
    examples=("navlin incomplete", "navlin incomplete --source SPARK-1 --json"),
    parameters=OfReason,
    ask=asks("navlin.query.incomplete:incomplete"),
    answers="navlin.query.incomplete:IncompleteOperation",
    view="navlin.render.pages:incomplete_view",
    page=ListPage("Incomplete operations", menu="Data gaps/Incomplete", beside=_counts),
)
