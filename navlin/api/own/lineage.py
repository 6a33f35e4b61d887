"""``/lineage``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from navlin.access.roles import Role
from navlin.api.endpoint import Asked, Endpoint
from navlin.api.own.naming import walked_id
from navlin.query.answer import Direction, Lineage
from navlin.query.lineage import lineage
from navlin.query.options import Options
from navlin.render import lineage_view


@dataclass(frozen=True, slots=True)
class Parameters:
    """Parameters like the options of ``navlin lineage``."""

    entity: Annotated[str, "db.table, db.table.column, a path, or an id."]
    direction: Annotated[Direction, "Where to go."] = Direction.BOTH
    depth: Annotated[
        int | None, "How many shown hops in each direction; all without it.", range(1, 1_001)
    ] = None
    columns: Annotated[bool, "Columns inside tables."] = False
    operations: Annotated[bool, "The statements and jobs in between."] = False
    deleted: Annotated[bool, "What is flagged deleted; it is walked through without this too."] = False
    control_flow: Annotated[bool, "Also what only steers: predicates, joins."] = False
    unlinked: Annotated[bool, "Also what was named and never captured."] = False
    all_executions: Annotated[bool, "Of an operation all executions, not only the latest."] = False
    go_on: Annotated[tuple[str, ...], "Ids of nodes at which to go one hop further than the depth."] = ()


def _answer(asked: Asked) -> Lineage:
    given: Parameters = asked.parameters
    options = Options(
        given.direction,
        given.depth,
        given.columns,
        given.operations,
        given.deleted,
        given.control_flow,
        unlinked=given.unlinked,
        all_executions=given.all_executions,
        go_on=frozenset(given.go_on),
    )
    return lineage(asked.solr, walked_id(asked.solr, given.entity, unlinked=given.unlinked), options)


ENDPOINT = Endpoint(
    "GET",
    "/lineage",
    Role.LINEAGE_VIEWER,
    "Where an entity comes from and where it goes.",
    Parameters,
    _answer,
    returns=Lineage.to_json.__doc__ or "",
    form=Lineage.to_json,
    view=lineage_view,
    walks=True,
)
