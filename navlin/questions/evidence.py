"""``evidence``: the origin of an entity, as one document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from navlin.query.bounds import MAX_NODES, MAX_WALKED, MOST_WALK_S, WALK_S
from navlin.questions.declare.question import HTML, Lines, Question, QuestionRequest
from navlin.questions.declare.shared import Entity

if TYPE_CHECKING:
    from navlin.query.evidence import Evidence


@dataclass(frozen=True, slots=True)
class Parameters:
    entity: Entity
    max_nodes: Annotated[
        int, "Maximum number of tables, paths and operations to examine.", range(1, MAX_WALKED + 1)
    ] = MAX_NODES
    max_seconds: Annotated[int, "Maximum number of seconds of the walk.", range(1, MOST_WALK_S + 1)] = WALK_S
    html: Annotated[bool, "The complete document as a page for printing."] = False


def _ask(request: QuestionRequest) -> Evidence | Lines:
    from navlin.query.evidence import evidence

    given: Parameters = request.parameters
    identity, seconds = request.entity_id(), given.max_seconds
    answer = evidence(request.solr, identity, request.now_ms, max_nodes=given.max_nodes, max_s=seconds)
    if not given.html:
        return answer
    from navlin.render.evidence import evidence_html

    return Lines(iter([evidence_html(answer).encode("utf-8", "replace"), b"\n"]), HTML)


QUESTION = Question(
    name="evidence",
    summary="Where an entity comes from, as a document for an auditor.",
    about="""
    Where ENTITY comes from, as one document.

    The complete upstream with statements, executions, times and users; parts that are inferred, parsed, unresolved,
    incomplete or truncated; the last reading of each source, and its errors; business metadata.
    """,
    examples=(
        "navlin evidence sales.report.revenue",
        "navlin evidence sales.report.revenue --html > revenue.html",
        "navlin evidence sales.report --max-nodes 5000 --json",
    ),
    parameters=Parameters,
    ask=_ask,
    answers="navlin.query.evidence:Evidence",
    view="navlin.render.evidence:evidence_view",
    walks=True,
    page="/evidence",
)
