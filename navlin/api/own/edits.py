"""``/edits``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from navlin.access.roles import Role
from navlin.api.endpoint import Asked, Endpoint
from navlin.api.own.naming import entity_id
from navlin.query.bounds import MOST, MOST_OFFSET
from navlin.query.edits import History, history
from navlin.render import history_view


@dataclass(frozen=True, slots=True)
class Parameters:
    """Parameters like the options of ``navlin edits``."""

    entity: Annotated[str, "db.table, db.table.column, a path, or an id."]
    limit: Annotated[int, "How many edits at most, the newest first.", range(1, MOST + 1)] = 25
    offset: Annotated[int, "How many of the newest to pass over.", range(MOST_OFFSET + 1)] = 0


def _answer(asked: Asked) -> History:
    given: Parameters = asked.parameters
    entity = entity_id(asked.solr, given.entity)
    return history(asked.solr, entity, limit=given.limit, offset=given.offset)


ENDPOINT = Endpoint(
    "GET",
    "/edits",
    Role.LINEAGE_VIEWER,
    "Who changed what people wrote of one entity.",
    Parameters,
    _answer,
    returns=History.to_json.__doc__ or "",
    form=History.to_json,
    view=history_view,
)
