"""``/relations``, ``/relations/paging`` and ``/relations/{id}``: reading relations."""

from __future__ import annotations

from typing import Any

from navlin.access.roles import Role
from navlin.api.answers import Problem
from navlin.api.endpoint import Asked, Endpoint
from navlin.api.navigator.asking import list_endpoint, page_endpoint
from navlin.api.navigator.entities import OneParameters
from navlin.api.navigator.relation_form import relation_json
from navlin.index.graph.graph import Graph
from navlin.index.graph.relation import WHOLE
from navlin.index.schema.fields import RELATIONS


def _one(asked: Asked) -> dict[str, Any]:
    identity = asked.parameters.id
    relation = Graph(asked.solr).relations_now([identity], WHOLE).get(identity)
    if relation is None:
        raise Problem(404, f"there is no relation {identity}")
    return relation_json(relation.as_presented)


LIST = list_endpoint("relations", RELATIONS, lambda solr: relation_json)
PAGE = page_endpoint("relations", RELATIONS, lambda solr: relation_json)
ONE = Endpoint(
    "GET", "/relations/{id}", Role.LINEAGE_VIEWER, "One relation.", OneParameters, _one, lenient=True
)
