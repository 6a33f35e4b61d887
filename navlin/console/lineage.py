"""``/lineage``: the lineage diagram. The page is sent without the lineage, which the page's script then requests. Users
may request a list instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

from navlin.api.answers import HttpError
from navlin.api.endpoint import ApiRequest
from navlin.console.page import ConsolePage
from navlin.query.answer import Direction
from navlin.query.bounds import MOST_HOPS
from navlin.query.data_flows import between_data
from navlin.query.options import WalkOptions
from navlin.query.starts import lineage_named
from navlin.render.field_words import CALLED

ALL: Final = "all"
_DEPTHS: Final = (
    ("1", "one hop"),
    ("2", "2 hops"),
    ("3", "3 hops"),
    ("5", "5 hops"),
    ("10", "10 hops"),
    (ALL, "all"),
)
_SWITCHES: Final = (
    ("operations", "Operations", "Show the queries and jobs between tables"),
    (
        "deleted",
        "Deleted",
        "Show deleted entities (struck through). Paths through them are shown either way.",
    ),
    ("control_flow", "Control flow", "Also show filters and joins (control flow)"),
    ("unlinked", "Missing entities", "Show placeholders: entities referenced by a job but never extracted"),
    ("all_executions", "All executions", "Show all executions of each operation, not only the latest"),
    ("databases", "Databases", "A box around the tables of a database"),
    ("all_columns", "All columns", "Open the columns of all tables; columns without known lineage are grey"),
)


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of the view that the server needs; the script reads the other ones from the URL."""

    entity: Annotated[str, "db.table, db.table.column, a path, or an id."] = ""
    direction: Annotated[Direction, "Direction."] = Direction.BOTH
    depth: Annotated[str, "Number of hops in each direction, or all."] = "1"
    operations: Annotated[bool, "Show the queries and jobs between tables."] = False
    deleted: Annotated[bool, "Show deleted entities."] = False
    control_flow: Annotated[bool, "Also show filters and joins (control flow)."] = False
    unlinked: Annotated[bool, "Show placeholders: entities referenced by a job but never extracted."] = False
    all_executions: Annotated[bool, "All executions of an operation."] = False
    databases: Annotated[bool, "Boxes of databases."] = False
    all_columns: Annotated[bool, "The columns of all tables."] = False
    form: Annotated[str, "list: a table of edges instead of the diagram."] = ""


def _values(request: ApiRequest) -> Mapping[str, Any]:
    given: Parameters = request.parameters
    values = {
        "asked": {name: getattr(given, name) for name in Parameters.__slots__},
        "depths": _DEPTHS,
        "switches": _SWITCHES,
        "called": dict(CALLED),
        "as_list": given.form == "list",
        "lineage": None,
        "nodes": {},
        "has_pages": bool(given.entity),
    }
    if not values["as_list"] or not given.entity:
        return values
    answer = between_data(lineage_named(request.solr, given.entity, _options(given)))
    nodes = {node.id: node for node in answer.nodes}
    # A placeholder has no pages other than this one.
    return {**values, "lineage": answer, "nodes": nodes, "has_pages": not nodes[answer.start].placeholder}


def _options(given: Parameters) -> WalkOptions:
    return WalkOptions(
        given.direction,
        _hops(given.depth),
        operations=given.operations,
        deleted=given.deleted,
        control_flow=given.control_flow,
        unlinked=given.unlinked,
        all_executions=given.all_executions,
    )


def _hops(depth: str) -> int | None:
    if depth == ALL:
        return None
    if not depth.isdecimal() or not 1 <= int(depth) <= MOST_HOPS:
        raise HttpError(400, f"depth must be all, or from 1 to {MOST_HOPS:,}")
    return int(depth)


PAGE = ConsolePage("/lineage", "Lineage", Parameters, _values, menu="Lineage", walks=True)
