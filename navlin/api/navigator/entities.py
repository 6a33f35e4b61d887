"""``/entities``, ``/entities/paging`` and ``/entities/{id}``: reading."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any

from navlin.access.roles import Role
from navlin.api.answers import Problem
from navlin.api.endpoint import Asked, Endpoint
from navlin.api.navigator.asking import DEFAULT_LIMIT, ELEMENTS, EVERYTHING, found, pages, sent_as_page
from navlin.api.navigator.entity_form import entities_json, entity_json
from navlin.index.entity import WHOLE
from navlin.index.graph import Graph


@dataclass(frozen=True, slots=True)
class ListParameters:
    """Of a list."""

    query: Annotated[str, "Solr's syntax; everything without it."] = EVERYTHING
    limit: Annotated[int, "How many at most."] = DEFAULT_LIMIT
    offset: Annotated[int, "How many of the first to pass over."] = 0


@dataclass(frozen=True, slots=True)
class PageParameters:
    """Of a page."""

    query: Annotated[str, "Solr's syntax; everything without it."] = EVERYTHING
    limit: Annotated[int, "How many at most; a page with fewer is the last."] = DEFAULT_LIMIT
    cursorMark: Annotated[str, "* for the first page, then what the page before answered."] = "*"


@dataclass(frozen=True, slots=True)
class OneParameters:
    """Of one entity."""

    id: Annotated[str, "Its identity."]


def _list(asked: Asked) -> list[dict[str, Any]]:
    given: ListParameters = asked.parameters
    answer = found(asked.solr, given.query, ELEMENTS, given.limit, given.offset)
    return entities_json(answer.documents)


def _page(asked: Asked) -> Iterator[bytes]:
    given: PageParameters = asked.parameters
    documents = pages(asked.solr, given.query, ELEMENTS, given.limit, given.cursorMark)
    return sent_as_page(documents, "entities", entity_json)


def _one(asked: Asked) -> dict[str, Any]:
    identity = asked.parameters.id
    now = Graph(asked.solr).entities_now([identity], WHOLE)
    for entity in islice(now.values(), 1):
        return entity_json(entity.as_presented)
    raise Problem(404, f"there is no entity {identity}")


LIST = Endpoint(
    "GET", "/entities", Role.LINEAGE_VIEWER, "Entities that match.", ListParameters, _list, lenient=True
)
PAGE = Endpoint(
    "POST",
    "/entities/paging",
    Role.LINEAGE_VIEWER,
    "Entities that match, by identity, a page.",
    PageParameters,
    _page,
    lenient=True,
)
ONE = Endpoint(
    "GET",
    "/entities/{id}",
    Role.LINEAGE_VIEWER,
    "One entity, as it is now.",
    OneParameters,
    _one,
    lenient=True,
)
