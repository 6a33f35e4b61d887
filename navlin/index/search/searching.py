"""Search. A user's query, as parsed by `navlin.query`, is sent to one core, and the response is read page by page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from navlin.index.graph import entity as entity_fields
from navlin.index.graph.presentation import presented
from navlin.index.search.print_query import facet_to_solr, to_solr
from navlin.index.search.query_fields import ANY_TEXT, CASELESS, value_of
from navlin.index.search.query_tree import Clause, ClauseGroup, Facet, Query
from navlin.index.solr.solr import Solr

PAGE_ROWS: Final = 10_000
"""Number of documents per request; a larger limit needs several requests."""
STREAMED_ROWS: Final = 2_000
"""Maximum number of documents held in memory while a result is streamed."""
FACET_VALUES: Final = 100
MOST_COUNTED_BESIDE: Final = 10_000
"""Maximum number of results for which the matches of ``SolrQuery.beside`` are counted, too. For more results, that
count would take as long as the search, and would not be needed."""
_SPECIAL: Final = re.compile(r"(\W)")
MOST_S: Final = 60.0
"""Time limit for one request, because a few wildcards may scan all names in the index."""


@dataclass(frozen=True, slots=True)
class SolrQuery:
    """A query and its options. ``sort`` is a list of (field, "asc" or "desc"), best match first if empty; ``preferred``
    are clauses that raise scores but match nothing by themselves. ``beside`` is another query with the same filters,
    whose matches are only counted by type, and only if this query has at most `MOST_COUNTED_BESIDE` results."""

    query: Query
    filters: Sequence[Query] = ()
    sort: Sequence[tuple[str, str]] = ()
    facets: Sequence[Facet] = ()
    fields: str = "*"
    facet_prefix: str = ""
    highlighted: Sequence[str] = ()
    preferred: tuple[Clause, ...] = ()
    beside: Query | None = None

    @property
    def ranked(self) -> Query:
        """The query with the preferred clauses."""
        if not self.preferred:
            return self.query
        return replace(
            self.query, clauses=(Clause(ClauseGroup(self.query.clauses), sign="+"), *self.preferred)
        )


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Documents, the total number of matches, and for each facet the counts of its values over all matches."""

    documents: tuple[Mapping[str, Any], ...]
    total: int
    facets: Mapping[str, Mapping[str, int]]
    highlights: Mapping[str, Mapping[str, Sequence[str]]]
    """identity → field → snippets of the field's text, for the first page"""
    beside: Mapping[str, int] | None
    """type → number of matches of the query ``beside``; None if they were not counted."""


class TookTooLong(Exception):
    """Solr did not find all documents within the time limit."""


def find(
    solr: Solr, core: str, query: SolrQuery, limit: int, offset: int, most_s: float = MOST_S
) -> SearchResult:
    """Return at most ``limit`` documents from ``offset`` on. Raises `SolrError` with status 400 for an invalid query,
    and `TookTooLong`."""
    every = {**params(query), "timeAllowed": round(most_s * 1000), "omitHeader": "false"}
    rows = min(limit, PAGE_ROWS)
    where: dict[str, Any] = {"cursorMark": "*"} if not offset and limit > PAGE_ROWS else {"start": offset}
    extra = {**_facet_params(query), **_highlight_params(query)}
    answer = in_time(solr.select(core, {**every, **extra, **where, "rows": rows}))
    highlights = answer.get("highlighting", {})
    documents: list[dict[str, Any]] = answer["response"]["docs"]
    total = int(answer["response"]["numFound"])
    counts = answer["facet_counts"]["facet_fields"] if query.facets else {}
    while len(documents) < min(limit, total - offset):
        where = (
            {"cursorMark": answer["nextCursorMark"]}
            if "cursorMark" in where
            else {"start": offset + len(documents)}
        )
        answer = in_time(
            solr.select(core, {**every, **where, "rows": min(PAGE_ROWS, limit - len(documents))})
        )
        if not answer["response"]["docs"]:
            break
        documents.extend(answer["response"]["docs"])
    facets = {name: dict(zip(flat[::2], flat[1::2], strict=True)) for name, flat in counts.items()}
    if query.fields == entity_fields.WHOLE:
        documents = presented(solr, core, documents)
    counted = {each.name: facets.get(each.name, {}) for each in query.facets}
    beside: dict[str, int] | None = {}
    if query.beside is not None:
        counts_too = total <= MOST_COUNTED_BESIDE
        beside = _types_of(solr, core, query.beside, query.filters, most_s) if counts_too else None
    return SearchResult(tuple(documents), total, counted, highlights, beside)


def pages(
    solr: Solr, core: str, query: SolrQuery, limit: int, mark: str, most_s: float = MOST_S
) -> Iterator[tuple[list[Mapping[str, Any]], str]]:
    """Yield (documents, cursor mark after them) page by page, ordered by identity: at most ``limit`` documents after
    the cursor mark ``mark`` ("*" for the beginning), and at least one page. Raises as `find`."""
    every = {
        **params(query),
        "sort": "identity asc",
        "timeAllowed": round(most_s * 1000),
        "omitHeader": "false",
    }
    left = limit
    while True:
        rows = min(left, STREAMED_ROWS)
        answer = in_time(solr.select(core, {**every, "cursorMark": mark, "rows": rows}))
        documents = presented(solr, core, answer["response"]["docs"])
        mark, left = answer["nextCursorMark"], left - len(documents)
        yield list(documents), mark
        if len(documents) < rows or not left:
            return


def in_time(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the response; raise `TookTooLong` if it is partial."""
    # Callers would take a partial response for the whole.
    if answer["responseHeader"].get("partialResults"):
        raise TookTooLong
    return answer


def params(query: SolrQuery) -> dict[str, Any]:
    """Return the parameters that find the documents, in a total order."""
    orders = list(query.sort)
    if all(name != "identity" for name, _ in orders):
        # A total order, so that every document is on exactly one page.
        orders = [*(orders or [("score", "desc")]), ("identity", "asc")]
    return {
        "q": to_solr(query.ranked),
        "fq": [to_solr(each) for each in query.filters],
        "fl": query.fields,
        "df": ANY_TEXT,
        "sort": ",".join(f"{name} {direction}" for name, direction in orders),
    }


def _facet_params(query: SolrQuery) -> dict[str, Any]:
    if not query.facets:
        return {}
    return {
        "facet": "true",
        "facet.field": [facet_to_solr(each) for each in query.facets],
        "facet.mincount": 1,
        "facet.limit": FACET_VALUES,
        **{
            name: value
            for each in query.facets
            if query.facet_prefix
            for name, value in beginning(each.field, query.facet_prefix).items()
        },
    }


def _types_of(solr: Solr, core: str, query: Query, filters: Sequence[Query], most_s: float) -> dict[str, int]:
    question = SolrQuery(query, filters, facets=[Facet("type")])
    return {**find(solr, core, question, 0, 0, most_s).facets["type"]}


def _highlight_params(query: SolrQuery) -> dict[str, Any]:
    if not query.highlighted:
        return {}
    return {
        "hl": "true",
        "hl.q": to_solr(query.query),
        "hl.method": "unified",
        "hl.fl": ",".join(query.highlighted),
        "hl.requireFieldMatch": "true",
    }


def beginning(field: str, prefix: str) -> dict[str, str]:
    """Return the parameters that count only values of a field with this prefix. Case is ignored for caseless fields,
    because the values counted keep their original case."""
    if field in CASELESS:
        escaped = _SPECIAL.sub(r"\\\1", prefix)
        return {f"f.{field}.facet.matches": f"(?is){escaped}.*"}
    return {f"f.{field}.facet.prefix": value_of(field, prefix)}
