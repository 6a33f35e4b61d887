"""Navigator's questions as navlin's: what a query without one means, which sources are listed, and how a page is sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import orjson

from navlin.api.answers import Problem
from navlin.index.solr import Solr
from navlin.query.scanner import QueryError
from navlin.query.search import SearchAnswer, search, search_pages
from navlin.query.syntax import parse

EVERYTHING: Final = "*"
DEFAULT_LIMIT: Final = 100
"""Of a list without a limit, as Navigator had it; enough for the sources of an estate, which clients ask for so."""
ELEMENTS: Final = "nav_elements"
RELATIONS: Final = "nav_relation"
LISTED_SOURCES: Final = "-(+type:SOURCE +(granted:true sourceType:LOCAL))"
"""Leaves out sources that were only ever named, and the one for files of the machine: clients expect one of HDFS."""
_ASKED_FOR: Final = frozenset({"identity", "granted"})


def pages(
    solr: Solr, query: str | None, core: str, limit: int, mark: str | None = None
) -> Iterator[tuple[list[Mapping[str, Any]], str]]:
    """What matches, page by page, with the cursor mark after each. Raises `Problem` (400) with the first page."""
    text = query or EVERYTHING
    try:
        filters = (LISTED_SOURCES,) if core == ELEMENTS and _lists_sources(text) else ()
        yield from search_pages(solr, text, limit=limit, mark=mark or "*", core=core, filters=filters)
    except QueryError as error:
        raise Problem(400, str(error)) from error


def found(
    solr: Solr,
    query: str | None,
    core: str,
    limit: int,
    offset: int,
    *,
    sort: str = "identity asc",
    **more: Any,
) -> SearchAnswer:
    """What matches, at most ``limit`` after the first ``offset``. ``more`` goes to `navlin.query.search.search`. Raises
    `Problem` (400)."""
    text = query or EVERYTHING
    try:
        filters = [*more.pop("filters", ())]
        if core == ELEMENTS and _lists_sources(text):
            filters.append(LISTED_SOURCES)
        # Hue asks from the column before the first.
        return search(
            solr, text, core=core, limit=limit, offset=max(0, offset), sort=sort, filters=filters, **more
        )
    except QueryError as error:
        raise Problem(400, str(error)) from error


def _lists_sources(query: str) -> bool:
    return _ASKED_FOR.isdisjoint(parse(query).fields)


def sent_as_page(
    of_pages: Iterator[tuple[list[Mapping[str, Any]], str]],
    key: str,
    form: Callable[[Mapping[str, Any]], Any],
) -> Iterator[bytes]:
    """The text of ``{key: [all], "cursorMark": the last}``, piece by piece."""
    mark = ""
    for number, (documents, after) in enumerate(of_pages):
        head = b"," if number and documents else b"" if number else b'{"%b":[' % key.encode()
        yield head + _joined(documents, form)
        mark = after
    yield b'],"cursorMark":' + orjson.dumps(mark) + b"}"


def _joined(documents: list[Mapping[str, Any]], form: Callable[[Mapping[str, Any]], Any]) -> bytes:
    return orjson.dumps([form(document) for document in documents])[1:-1]
