"""``/evidence``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from navlin.access.roles import Role
from navlin.api.endpoint import Asked, Endpoint
from navlin.api.own.naming import entity_id
from navlin.query.evidence import Evidence, evidence
from navlin.query.options import MAX_NODES, MAX_WALKED
from navlin.render.evidence import evidence_view


@dataclass(frozen=True, slots=True)
class Parameters:
    """Parameters like the options of ``navlin evidence``."""

    entity: Annotated[str, "db.table, db.table.column, a path, or an id."]
    max_nodes: Annotated[
        int, "How many tables, paths and operations are looked at.", range(1, MAX_WALKED + 1)
    ] = MAX_NODES


def _answer(asked: Asked) -> Evidence:
    given: Parameters = asked.parameters
    start = entity_id(asked.solr, given.entity)
    return evidence(asked.solr, start, asked.service.now_ms(), max_nodes=given.max_nodes)


ENDPOINT = Endpoint(
    "GET",
    "/evidence",
    Role.LINEAGE_VIEWER,
    "Where an entity comes from, as a document for an auditor.",
    Parameters,
    _answer,
    returns=Evidence.to_json.__doc__ or "",
    form=Evidence.to_json,
    view=evidence_view,
    walks=True,
)
