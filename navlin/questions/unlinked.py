"""``unlinked``: relations with an end that is not in the index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from navlin.questions.declare.question import ListPage, Question, QuestionRequest, asks
from navlin.questions.declare.shared import OfReason


def _counts(request: QuestionRequest) -> Mapping[str, Any]:
    from navlin.index.graph.unlinked import unlinked_counts

    return {"counts": unlinked_counts(request.solr, request.now_ms)}


QUESTION = Question(
    name="unlinked",
    summary="Relations with an end that is not in the index, and why.",
    about="""
    Relations with an end that is not in the index, with the reason: first those that the linker has not checked yet, then
    newest first.
    """,
    examples=(
        "navlin unlinked",
        "navlin unlinked --source IMPALA-1 --limit 1000 --json",
        "navlin unlinked --reason 'not looked for yet'",
    ),
    parameters=OfReason,
    ask=asks("navlin.query.unlinked:unlinked"),
    answers="navlin.query.unlinked:UnlinkedRelation",
    view="navlin.render.pages:unlinked_view",
    page=ListPage("Unresolved relations", menu="Data gaps/Unresolved", beside=_counts),
)
