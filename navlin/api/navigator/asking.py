"""Navigator's lists as searches: queries without a text, the listed sources, and pages in Navigator's form."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

import orjson

from navlin.access.roles import Role
from navlin.api.answers import HttpError
from navlin.api.bodies import QUERY_BYTES
from navlin.api.endpoint import ApiRequest, Endpoint
from navlin.index.schema.fields import ELEMENTS
from navlin.index.search.query_tree import (
    Clause,
    ClauseGroup,
    FieldValue,
    FunctionRange,
    Node,
    Phrase,
    SearchTerm,
)
from navlin.index.solr.solr import Solr
from navlin.query.search import SearchAnswer, parsed_query, search, search_pages
from navlin.query.syntax import Parsed

EVERYTHING: Final = "*"
DEFAULT_LIMIT: Final = 100
"""Default limit, as in Navigator, whose clients list the sources without giving a limit."""
MOST_AT_ONCE: Final = 10_000
"""Maximum length of a list that is sent in one piece."""
LISTED_SOURCES: Final = "-(+type:SOURCE +(granted:true sourceType:LOCAL))"
"""Filter that excludes sources known only from references, and the source of local files, because clients expect a
single HDFS source."""
_OWN_NAME: Final = "originalName"
_ASKED_FOR: Final = frozenset({"identity", "granted"})

Form = Callable[[Mapping[str, Any]], Any]
"""Function that returns the JSON of a document."""
Forms = Callable[[Solr], Form]
"""Function that returns the `Form` for one response."""
Page = tuple[list[Mapping[str, Any]], str]


@dataclass(frozen=True, slots=True)
class ListParameters:
    query: Annotated[str, "Query in Solr's syntax (default: everything)."] = EVERYTHING
    limit: Annotated[int, "Maximum number of results."] = DEFAULT_LIMIT
    offset: Annotated[int, "Number of results to skip."] = 0


@dataclass(frozen=True, slots=True)
class PageParameters:
    query: Annotated[str, "Query in Solr's syntax (default: everything)."] = EVERYTHING
    limit: Annotated[int, "Maximum number of results; a page with fewer is the last."] = DEFAULT_LIMIT
    cursorMark: Annotated[str, "* for the first page, then the cursorMark of the previous page."] = "*"


def list_endpoint(resource: str, core: str, forms: Forms) -> Endpoint:
    """Return the endpoint ``/entities`` or ``/relations``: an array of the matches, sorted by identity."""

    def answer(request: ApiRequest) -> list[Any] | Iterator[bytes]:
        given: ListParameters = request.parameters
        if given.offset < 0:
            raise HttpError(400, "offset must be 0 or more")
        if given.limit > MOST_AT_ONCE:
            return _array(_long_list(request.solr, given, core), forms(request.solr))
        answered = _listed(request.solr, given, core)
        return list(map(forms(request.solr), answered.documents))

    summary = f"Search {resource}."
    return Endpoint("GET", f"/{resource}", Role.LINEAGE_VIEWER, summary, ListParameters, answer, lenient=True)


def page_endpoint(resource: str, core: str, forms: Forms) -> Endpoint:
    """Return the endpoint ``/entities/paging`` or ``/relations/paging``: a page of matches, sorted by identity, and the
    next cursor mark."""

    def answer(request: ApiRequest) -> Iterator[bytes]:
        given: PageParameters = request.parameters
        pages = _pages(request.solr, given.query, core, given.limit, given.cursorMark)
        return _sent(pages, resource, forms(request.solr))

    summary = f"Search {resource} page by page, in order of identity."
    return Endpoint(
        "POST",
        f"/{resource}/paging",
        Role.LINEAGE_VIEWER,
        summary,
        PageParameters,
        answer,
        lenient=True,
        most_bytes=QUERY_BYTES,
    )


def _listed(solr: Solr, given: ListParameters, core: str) -> SearchAnswer:
    """Return the matches, sorted by identity. Clients look up one entity by name here, and fail if there are two. So if
    some entities have exactly this name, entities whose names only contain it are left out."""
    whole = _of_whole_names(parsed_query(given.query)) if core == ELEMENTS else None
    page = core, given.limit, given.offset
    if whole is not None and (answered := found(solr, whole, *page, sort="identity asc")).total:
        return answered
    return found(solr, given.query, *page, sort="identity asc")


def _long_list(solr: Solr, given: ListParameters, core: str) -> Iterator[Sequence[Mapping[str, Any]]]:
    """Yield the matches of `_listed` in batches, because all of them together may be gigabytes."""
    whole = _of_whole_names(parsed_query(given.query)) if core == ELEMENTS else None
    query = whole if whole is not None and found(solr, whole, core, 0, 0).total else given.query
    if not given.offset:
        yield from (documents for documents, _ in _pages(solr, query, core, given.limit, "*"))
        return
    offset, left = given.offset, given.limit
    while left:
        rows = min(left, MOST_AT_ONCE)
        documents = found(solr, query, core, rows, offset, sort="identity asc").documents
        yield documents
        offset, left = offset + rows, left - rows if len(documents) == rows else 0


def _array(pages: Iterable[Sequence[Mapping[str, Any]]], form: Form) -> Iterator[bytes]:
    """Yield the text of a JSON array of all documents, in pieces."""
    head = b"["
    for documents in pages:
        if documents:
            yield head + orjson.dumps([form(document) for document in documents])[1:-1]
            head = b","
    yield b"]" if head == b"," else b"[]"


def _of_whole_names(parsed: Parsed) -> Parsed | None:
    """Return the query with each required ``originalName`` matched as a whole name, case-sensitively; None if the query
    requires no name. In the original query, a name is also matched by one of its parts: ``orders`` finds
    ``big_orders``."""
    names = {_name_in(node) for node in _required(parsed.query.clauses)} - {None}
    if not names:
        return None
    whole = [Clause(FunctionRange(_OWN_NAME, name, name), sign="+") for name in sorted(filter(None, names))]
    asked = Clause(ClauseGroup(parsed.query.clauses), sign="+")
    return replace(parsed, query=replace(parsed.query, clauses=(asked, *whole)))


def _required(clauses: tuple[Clause, ...]) -> Iterator[Node]:
    joined = all(each.operator == "AND" for each in clauses[1:])
    for each in clauses:
        if each.sign == "+" or (joined and not each.sign):
            if isinstance(each.node, ClauseGroup):
                yield from _required(each.node.clauses)
            else:
                yield each.node


def _name_in(node: Node) -> str | None:
    match node:
        case FieldValue(field=field, value=SearchTerm() as word) if field == _OWN_NAME:
            return word.text
        case FieldValue(field=field, value=Phrase(text=text, distance="")) if field == _OWN_NAME:
            return text
    return None


def found(solr: Solr, query: str | Parsed, core: str, limit: int, offset: int, **more: Any) -> SearchAnswer:
    """Search for up to ``limit`` matches after the first ``offset``. ``more`` goes to `navlin.query.search.search`.
    Raises `QueryError`."""
    parsed = parsed_query(query)
    filters = [*more.pop("filters", ()), *_shown(parsed, core)]
    # Hue may send a negative offset.
    return search(solr, parsed, core=core, limit=limit, offset=max(0, offset), filters=filters, **more)


def _pages(solr: Solr, query: str | Parsed, core: str, limit: int, mark: str) -> Iterator[Page]:
    parsed = parsed_query(query)
    yield from search_pages(solr, parsed, limit=limit, mark=mark, core=core, filters=_shown(parsed, core))


def _shown(parsed: Parsed, core: str) -> list[str]:
    """Return the filter on sources; none if the query is by id or by ``granted``."""
    return [LISTED_SOURCES] if core == ELEMENTS and _ASKED_FOR.isdisjoint(parsed.fields) else []


def _sent(pages: Iterator[Page], key: str, form: Form) -> Iterator[bytes]:
    """Yield the text of ``{key: [all documents], "cursorMark": the last mark}``, in pieces."""
    mark = ""
    for number, (documents, after) in enumerate(pages):
        head = b"," if number and documents else b"" if number else b'{"%b":[' % key.encode()
        yield head + orjson.dumps([form(document) for document in documents])[1:-1]
        mark = after
    yield b'],"cursorMark":' + orjson.dumps(mark) + b"}"
