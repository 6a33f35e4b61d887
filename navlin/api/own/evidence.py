"""``/evidence``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from navlin.access.roles import Role
from navlin.api.answers import Problem
from navlin.api.endpoint import Asked, Endpoint
from navlin.api.own.naming import entity_id
from navlin.query.evidence import Evidence, evidence
from navlin.query.options import MAX_NODES, MAX_WALKED


@dataclass(frozen=True, slots=True)
class Parameters:
    """As the options of ``navlin evidence``."""

    entity: Annotated[str, "db.table, db.table.column, a path, or an id."]
    max_nodes: Annotated[int, "How many tables, paths and operations are looked at."] = MAX_NODES


def _answer(asked: Asked) -> dict[str, Any]:
    given: Parameters = asked.parameters
    if not 1 <= given.max_nodes <= MAX_WALKED:
        raise Problem(400, f"max_nodes must be from 1 to {MAX_WALKED}")
    start = entity_id(asked.solr, given.entity)
    return evidence(asked.solr, start, asked.service.now_ms(), max_nodes=given.max_nodes).to_json()


ENDPOINT = Endpoint(
    "GET",
    "/evidence",
    Role.LINEAGE_VIEWER,
    "Where an entity comes from, as a document for an auditor.",
    Parameters,
    _answer,
    returns=Evidence.to_json.__doc__ or "",
)
