"""``/entities``, ``/entities/paging`` and ``/entities/{id}``: reading entities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from navlin.access.roles import Role
from navlin.api.answers import HttpError
from navlin.api.endpoint import ApiRequest, Endpoint
from navlin.api.navigator.asking import list_endpoint, page_endpoint
from navlin.api.navigator.entity_form import EntityForm
from navlin.index.graph.entity import WHOLE
from navlin.index.graph.graph import Graph
from navlin.index.schema.fields import ELEMENTS


@dataclass(frozen=True, slots=True)
class OneParameters:
    """Selects one entity or relation."""

    id: Annotated[str, "Its identity."]


def _one(request: ApiRequest) -> dict[str, Any]:
    identity = request.parameters.id
    entity = Graph(request.solr).entities_now([identity], WHOLE).get(identity)
    if entity is None:
        raise HttpError(404, f"there is no entity {identity}")
    return EntityForm(request.solr)(entity.as_presented)


LIST = list_endpoint("entities", ELEMENTS, EntityForm)
PAGE = page_endpoint("entities", ELEMENTS, EntityForm)
ONE = Endpoint(
    "GET",
    "/entities/{id}",
    Role.LINEAGE_VIEWER,
    "Get an entity.",
    OneParameters,
    _one,
    lenient=True,
)
