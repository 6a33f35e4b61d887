"""``/entities``, ``/entities/paging`` and ``/entities/{id}``: reading entities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from navlin.access.roles import Role
from navlin.api.answers import Problem
from navlin.api.endpoint import Asked, Endpoint
from navlin.api.navigator.asking import list_endpoint, page_endpoint
from navlin.api.navigator.entity_form import EntityForm
from navlin.index.graph.entity import WHOLE
from navlin.index.graph.graph import Graph
from navlin.index.schema.fields import ELEMENTS


@dataclass(frozen=True, slots=True)
class OneParameters:
    """Selects one entity or relation."""

    id: Annotated[str, "Its identity."]


def _one(asked: Asked) -> dict[str, Any]:
    identity = asked.parameters.id
    entity = Graph(asked.solr).entities_now([identity], WHOLE).get(identity)
    if entity is None:
        raise Problem(404, f"there is no entity {identity}")
    return EntityForm(asked.solr)(entity.as_presented)


LIST = list_endpoint("entities", ELEMENTS, EntityForm)
PAGE = page_endpoint("entities", ELEMENTS, EntityForm)
ONE = Endpoint(
    "GET",
    "/entities/{id}",
    Role.LINEAGE_VIEWER,
    "One entity, as it is now.",
    OneParameters,
    _one,
    lenient=True,
)
