"""``/show``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from navlin.access.roles import Role
from navlin.api.endpoint import Asked, Endpoint
from navlin.api.own.naming import entity_id
from navlin.query.show import Shown, show
from navlin.render import show_view


@dataclass(frozen=True, slots=True)
class Parameters:
    """Parameters like those of ``navlin show``."""

    entity: Annotated[str, "db.table, db.table.column, a path, or an id."]


def _answer(asked: Asked) -> Shown:
    return show(asked.solr, entity_id(asked.solr, asked.parameters.entity))


ENDPOINT = Endpoint(
    "GET",
    "/show",
    Role.LINEAGE_VIEWER,
    "Everything that is known of one entity.",
    Parameters,
    _answer,
    returns=Shown.to_json.__doc__ or "",
    form=Shown.to_json,
    view=show_view,
)
