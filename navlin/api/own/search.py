"""``/search``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from navlin.access.roles import Role
from navlin.api.answers import Problem
from navlin.api.endpoint import Asked, Endpoint
from navlin.api.own.naming import query_of
from navlin.index.solr import Solr
from navlin.query.finding import find_for_people
from navlin.query.scanner import QueryError
from navlin.query.search import MAX_LIMIT, MAX_OFFSET, SearchAnswer
from navlin.query.whole_result import json_lines, table_lines, whole_result
from navlin.questions.declare.question import CSV, JSON_LINES, Lines
from navlin.render import search_view


@dataclass(frozen=True, slots=True)
class Parameters:
    """Parameters like the options of ``navlin search``."""

    query: Annotated[str, "A name, words, or Solr's syntax as users of Navigator typed it."] = ""
    saved: Annotated[str, "In place of the query: the saved search NAME, or OWNER/NAME."] = ""
    limit: Annotated[int, "How many results at most.", range(MAX_LIMIT + 1)] = 25
    offset: Annotated[int, "How many of the first to pass over.", range(MAX_OFFSET + 1)] = 0
    sort: Annotated[str, "FIELD asc or FIELD desc; the best match first without it."] = ""
    filter: Annotated[tuple[str, ...], "What must match as well. Repeatable."] = ()
    facet: Annotated[tuple[str, ...], "Count the values of a field. Repeatable."] = ()
    csv: Annotated[bool, "The whole result as CSV."] = False
    jsonl: Annotated[bool, "The whole result as JSON lines."] = False
    field: Annotated[tuple[str, ...], "Of the whole result only these fields. Repeatable."] = ()


def _answer(asked: Asked) -> SearchAnswer | Lines:
    given: Parameters = asked.parameters
    if given.csv and given.jsonl:
        raise Problem(400, "csv or jsonl, not both")
    query = query_of(asked, given.query, given.saved)
    try:
        if given.csv or given.jsonl:
            return _whole(asked.solr, query, given)
        return find_for_people(
            asked.solr,
            query,
            limit=given.limit,
            offset=given.offset,
            sort=given.sort,
            filters=given.filter,
            facets=given.facet,
        )
    except QueryError as error:
        raise Problem(400, str(error)) from error


def _whole(solr: Solr, query: str, given: Parameters) -> Lines:
    columns, documents = whole_result(solr, query, given.filter, given.field)
    lines = table_lines(columns, documents) if given.csv else json_lines(documents)
    return Lines(_refused(lines), CSV if given.csv else JSON_LINES)


def _refused(lines: Iterator[bytes]) -> Iterator[bytes]:
    try:
        yield from lines
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
