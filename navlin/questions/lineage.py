"""``lineage``: the flows around one entity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from navlin.query.bounds import MOST_HOPS
from navlin.questions.declare.parameters import Typed
from navlin.questions.declare.question import CSV, JSON_LINES, Lines, Question, QuestionRequest
from navlin.questions.declare.shared import Entity

if TYPE_CHECKING:
    from navlin.query.answer import Lineage
    from navlin.query.options import WalkOptions


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
    csv: Annotated[bool, "Nodes and column edges with statements and expressions, as CSV."] = False
    jsonl: Annotated[bool, "Nodes and column edges with statements and expressions, as JSON lines."] = False


def _ask(request: QuestionRequest) -> Lineage | Lines:
    from navlin.query.answer import Direction
    from navlin.query.options import WalkOptions
    from navlin.query.starts import lineage_named

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
    if given.csv or given.jsonl:
        return _table(request, options)
    return lineage_named(request.solr, given.entity, options)


def _table(request: QuestionRequest, options: WalkOptions) -> Lines:
    from navlin.query.lineage_table import COLUMNS, lineage_table
    from navlin.query.whole_result import json_lines, table_lines

    given: Parameters = request.parameters
    rows = lineage_table(request.solr, given.entity, options)
    return Lines(table_lines(COLUMNS, rows), CSV) if given.csv else Lines(json_lines(rows), JSON_LINES)


QUESTION = Question(
    name="lineage",
    summary="Where an entity comes from and where it goes.",
    about="""
    Where ENTITY comes from and where it goes.

    ENTITY is db.table, db.table.column, a path, or an id. A database stands for its tables, PATH/* for all below a
    directory, and tag:NAME for all with this tag. At most 400 nodes are shown; truncation is reported.

    --csv and --jsonl have a row for each node and for each edge between tables and between columns: the statement, the
    expression, the engine, and whether the edge is recorded, inferred, parsed or incomplete.
    """,
    examples=(
        "navlin lineage sales.orders",
        "navlin lineage sales.orders.amount --columns --direction upstream",
        "navlin lineage hdfs://ns1/data/orders --operations --depth 2",
        "navlin lineage sales.orders --csv > lineage.csv",
        "navlin lineage tag:PII --direction downstream",
    ),
    parameters=Parameters,
    ask=_ask,
    answers="navlin.query.answer:Lineage",
    view="navlin.render.graph:lineage_view",
    walks=True,
    page="/lineage",
)
