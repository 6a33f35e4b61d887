"""``/relations``, ``/relations/paging`` and ``/relations/{id}``: reading relations."""

from __future__ import annotations

from typing import Any

from navlin.access.roles import Role
from navlin.api.answers import HttpError
from navlin.api.endpoint import ApiRequest, Endpoint
from navlin.api.navigator.asking import list_endpoint, page_endpoint
from navlin.api.navigator.entities import OneParameters
from navlin.api.navigator.relation_form import relation_json
from navlin.index.graph.graph import Graph
from navlin.index.graph.relation import WHOLE
from navlin.index.schema.fields import RELATIONS


def _one(request: ApiRequest) -> dict[str, Any]:
    identity = request.parameters.id
    relation = Graph(request.solr).relations_now([identity], WHOLE).get(identity)
    if relation is None:
        raise HttpError(404, f"there is no relation {identity}")
    return relation_json(relation.as_presented)


LIST = list_endpoint("relations", RELATIONS, lambda solr: relation_json)
PAGE = page_endpoint("relations", RELATIONS, lambda solr: relation_json)
ONE = Endpoint(
    "GET", "/relations/{id}", Role.LINEAGE_VIEWER, "Get a relation.", OneParameters, _one, lenient=True
)
