"""``/search``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from navlin.access.roles import Role
from navlin.api.answers import Problem
from navlin.api.endpoint import Asked, Endpoint
from navlin.query.scanner import QueryError
from navlin.query.search import MAX_LIMIT, MAX_OFFSET, SearchAnswer, search
from navlin.render import search_view


@dataclass(frozen=True, slots=True)
class Parameters:
    """As the options of ``navlin search``."""

    query: Annotated[str, "Solr's syntax, as users of Navigator typed it."]
    limit: Annotated[int, "How many results at most.", range(MAX_LIMIT + 1)] = 25
    offset: Annotated[int, "How many of the first to pass over.", range(MAX_OFFSET + 1)] = 0
    sort: Annotated[str, "FIELD asc or FIELD desc; the best match first without it."] = ""
    filter: Annotated[tuple[str, ...], "What must match as well. Repeatable."] = ()
    facet: Annotated[tuple[str, ...], "Count the values of a field. Repeatable."] = ()


def _answer(asked: Asked) -> SearchAnswer:
    given: Parameters = asked.parameters
    try:
        return search(
            asked.solr,
            given.query,
            limit=given.limit,
            offset=given.offset,
            sort=given.sort,
            filters=given.filter,
            facets=given.facet,
        )
    except QueryError as error:
        raise Problem(400, str(error)) from error


ENDPOINT = Endpoint(
    "GET",
    "/search",
    Role.LINEAGE_VIEWER,
    "Search entities and relations.",
    Parameters,
    _answer,
    returns=SearchAnswer.to_json.__doc__ or "",
    form=SearchAnswer.to_json,
    view=search_view,
)
