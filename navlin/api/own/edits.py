"""``/edits``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from navlin.access.roles import Role
from navlin.api.endpoint import Asked, Endpoint
from navlin.api.own.naming import entity_id
from navlin.query.edits import History, history


@dataclass(frozen=True, slots=True)
class Parameters:
    """As the options of ``navlin edits``."""

    entity: Annotated[str, "db.table, db.table.column, a path, or an id."]
    limit: Annotated[int, "How many edits at most, the newest first."] = 25
    offset: Annotated[int, "How many of the newest to pass over."] = 0


def _answer(asked: Asked) -> dict[str, Any]:
    given: Parameters = asked.parameters
    entity = entity_id(asked.solr, given.entity)
    return history(asked.solr, entity, limit=given.limit, offset=given.offset).to_json()


ENDPOINT = Endpoint(
    "GET",
    "/edits",
    Role.LINEAGE_VIEWER,
    "Who changed what people wrote of one entity.",
    Parameters,
    _answer,
    returns=History.to_json.__doc__ or "",
)
