"""``impact``: what breaks if an entity is dropped or changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from navlin.query.bounds import FOLLOWED, MAX_WALKED, MOST_WALK_S, WALK_S
from navlin.questions.declare.question import Lines, Question, QuestionRequest
from navlin.questions.declare.shared import Csv, Entity

if TYPE_CHECKING:
    from navlin.query.impact import Impact


@dataclass(frozen=True, slots=True)
class Parameters:
    entity: Entity
    max_nodes: Annotated[int, "Maximum number of tables and paths to follow.", range(1, MAX_WALKED + 1)] = (
        FOLLOWED
    )
    max_seconds: Annotated[int, "Maximum number of seconds of the walk.", range(1, MOST_WALK_S + 1)] = WALK_S
    csv: Csv = False


def _ask(request: QuestionRequest) -> Impact | Lines:
    from navlin.model.spreadsheet import csv_lines
    from navlin.query.impact import COLUMNS, impact

    given: Parameters = request.parameters
    answer = impact(request.solr, request.entity_id(), max_nodes=given.max_nodes, max_s=given.max_seconds)
    return Lines(csv_lines(COLUMNS, answer.rows())) if given.csv else answer


QUESTION = Question(
    name="impact",
    summary="What breaks if an entity is dropped or changed, by owner.",
    about="""
    What breaks if ENTITY is dropped or changed, by owner.

    Downstream tables, views, paths, columns and operations, each with its last known execution, the user, and the number
    of recorded executions. Entities that only control flow reaches (filter and join conditions) are listed separately. The
    owner of an operation is the user who ran it last. Truncation is reported.
    """,
    examples=(
        "navlin impact sales.orders",
        "navlin impact sales.orders.amount --csv > impact.csv",
        "navlin impact hdfs://ns1/data/orders --max-nodes 20000 --json",
    ),
    parameters=Parameters,
    ask=_ask,
    answers="navlin.query.impact:Impact",
    view="navlin.render.impact:impact_view",
    walks=True,
    page="/impact",
)
