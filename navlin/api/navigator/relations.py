"""``/relations``, ``/relations/paging`` and ``/relations/{id}``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from navlin.access.roles import Role
from navlin.api.answers import Problem
from navlin.api.endpoint import Asked, Endpoint
from navlin.api.navigator.asking import RELATIONS, found, pages, sent_as_page
from navlin.api.navigator.entities import ListParameters, OneParameters, PageParameters
from navlin.api.navigator.relation_form import relation_json
from navlin.index.graph import Graph
from navlin.index.relation import WHOLE


def _list(asked: Asked) -> list[dict[str, Any]]:
    given: ListParameters = asked.parameters
    answer = found(asked.solr, given.query, RELATIONS, given.limit, given.offset)
    return [relation_json(document) for document in answer.documents]


def _page(asked: Asked) -> Iterator[bytes]:
    given: PageParameters = asked.parameters
    documents = pages(asked.solr, given.query, RELATIONS, given.limit, given.cursorMark)
    return sent_as_page(documents, "relations", relation_json)


def _one(asked: Asked) -> dict[str, Any]:
    identity = asked.parameters.id
    for relation in Graph(asked.solr).relations_now([identity], WHOLE).values():
        return relation_json(relation.document)
    raise Problem(404, f"there is no relation {identity}")


LIST = Endpoint(
    "GET", "/relations", Role.LINEAGE_VIEWER, "Relations that match.", ListParameters, _list, lenient=True
)
PAGE = Endpoint(
    "POST",
    "/relations/paging",
    Role.LINEAGE_VIEWER,
    "Relations that match, by identity, a page.",
    PageParameters,
    _page,
    lenient=True,
)
ONE = Endpoint(
    "GET", "/relations/{id}", Role.LINEAGE_VIEWER, "One relation.", OneParameters, _one, lenient=True
)
