"""``lineage``: the flows around one entity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from navlin.query.bounds import MOST_HOPS
from navlin.questions.declare.parameters import Typed
from navlin.questions.declare.question import Question, QuestionRequest
from navlin.questions.declare.shared import Entity

if TYPE_CHECKING:
    from navlin.query.answer import Lineage


@dataclass(frozen=True, slots=True)
class Parameters:
    entity: Entity
    direction: Annotated[Literal["upstream", "downstream", "both"], "Direction."] = "both"
    depth: Annotated[
        int | None, "Number of hops in each direction (default: all).", range(1, MOST_HOPS + 1)
    ] = None
    columns: Annotated[bool, "Show the columns of tables."] = False
    operations: Annotated[bool, "Show the queries and jobs between tables."] = False
    deleted: Annotated[bool, "Show deleted entities. Paths through them are shown either way."] = False
    control_flow: Annotated[bool, "Also show filters and joins (control flow)."] = False
    unlinked: Annotated[bool, "Show placeholders: entities referenced by a job but never extracted."] = False
    all_executions: Annotated[bool, "Show all executions of each operation, not only the latest."] = False
    go_on: Annotated[
        tuple[str, ...],
        "Id of a node to expand one level beyond the depth. Repeatable.",
        Typed("ID"),
    ] = ()


def _ask(request: QuestionRequest) -> Lineage:
    from navlin.query.answer import Direction
    from navlin.query.lineage import lineage_of_name
    from navlin.query.options import WalkOptions

    given: Parameters = request.parameters
    options = WalkOptions(
        Direction(given.direction),
        given.depth,
        given.columns,
        given.operations,
        given.deleted,
        given.control_flow,
        unlinked=given.unlinked,
        all_executions=given.all_executions,
        go_on=frozenset(given.go_on),
    )
    return lineage_of_name(request.solr, given.entity, options)


QUESTION = Question(
    name="lineage",
    summary="Where an entity comes from and where it goes.",
    about="""
    Where ENTITY comes from and where it goes.

    ENTITY is db.table, db.table.column, a path, or an id. At most 400 nodes are shown; truncation is reported.
    """,
    examples=(
        "navlin lineage sales.orders",
        "navlin lineage sales.orders.amount --columns --direction upstream",
        "navlin lineage hdfs://ns1/data/orders --operations --depth 2",
    ),
    parameters=Parameters,
    ask=_ask,
    answers="navlin.query.answer:Lineage",
    view="navlin.render.graph:lineage_view",
    walks=True,
    page="/lineage",
)
