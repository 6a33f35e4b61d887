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
    max_nodes: Annotated[int, "How many tables and paths are followed.", range(1, MAX_WALKED + 1)] = FOLLOWED
    max_seconds: Annotated[int, "How many seconds the walk may take.", range(1, MOST_WALK_S + 1)] = WALK_S
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

    Tables, views, paths, columns and operations downstream; each with its last known execution, by whom, and how many
    executions are known. Entities that carry data of ENTITY are apart from those that only control flow reaches (filter
    and join conditions). The owner of an operation is whoever ran it last. Places where there is more are named.
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
