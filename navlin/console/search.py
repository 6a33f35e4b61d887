"""``/search``: a search box for Navigator's syntax and for plain words, filters with counts, 25 results per page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final
from urllib.parse import urlencode

from navlin.access.roles import Role
from navlin.api.endpoint import ApiRequest
from navlin.console.page import ConsolePage
from navlin.console.pages import address
from navlin.console.results import FoundItem, results_of
from navlin.index.graph.sources import known_sources
from navlin.index.schema.fields import RELATIONS
from navlin.index.solr.solr_query import phrase
from navlin.model.source import LOCAL
from navlin.query.finding import find_for_people, with_statements
from navlin.query.meant import FOLDED
from navlin.query.saved import searches_of
from navlin.query.scanner import QueryError
from navlin.query.search import SearchAnswer
from navlin.render.field_words import engine_words, type_words

RESULTS_A_PAGE: Final = 25
PAGES_LINKED: Final = 400
"""Maximum page number. Solr has to collect all results before a page, so later results are only in the download."""
VALUES_LISTED: Final = 12
MORE_VALUES_LISTED: Final = 100
LOCAL_FILES: Final = "Local files"
COUNTED: Final[Mapping[str, str]] = {
    "sourceType": "Source type",
    "type": "Type",
    "sourceId": "Source",
    "owner": "Owner",
    "tags": "Tags",
    "inheritedTag": "Inherited tags",
    "deleted": "Deleted",
}
"""Field → label, for the fields with counts and a filter."""
_DATES: Final[Mapping[str, str]] = {"created": "Created", "lastModified": "Last modified"}
SORTED: Final[Mapping[str, str]] = {
    "": "relevance",
    "originalName asc": "name",
    "lastModified desc": "recently modified",
    "created desc": "recently created",
}
COMPARED: Final = ("=", ">=", "<=", ">", "<")


@dataclass(frozen=True, slots=True)
class Parameters:
    """The search, its filters, order and page."""

    query: Annotated[str, "Solr's syntax, or plain words."] = ""
    sourceType: Annotated[tuple[str, ...], "Only these."] = ()  # the field's name
    type: Annotated[tuple[str, ...], "Only these."] = ()
    sourceId: Annotated[tuple[str, ...], "Only these."] = ()
    owner: Annotated[tuple[str, ...], "Only these."] = ()
    tags: Annotated[tuple[str, ...], "Only these."] = ()
    inheritedTag: Annotated[tuple[str, ...], "Only these."] = ()
    deleted: Annotated[tuple[str, ...], "Only these."] = ()
    created: Annotated[tuple[str, ...], "First and last day."] = ()
    lastModified: Annotated[tuple[str, ...], "First and last day."] = ()
    property: Annotated[str, "A managed property, NAMESPACE.NAME."] = ""
    compared: Annotated[str, "Operator of the comparison."] = "="
    value: Annotated[str, "With what."] = ""
    sort: Annotated[str, "FIELD asc or FIELD desc."] = ""
    page: Annotated[int, "Which page.", range(1, PAGES_LINKED + 1)] = 1


@dataclass(frozen=True, slots=True)
class Choice:
    """A value of a filter: its label, its count, and whether it is chosen."""

    value: str
    words: str
    count: int
    chosen: bool


@dataclass(frozen=True, slots=True)
class Filter:
    """A field and its values, most frequent first; ``more`` are the values that are shown on demand."""

    name: str
    title: str
    choices: tuple[Choice, ...]
    more: tuple[Choice, ...] = ()


def _values(request: ApiRequest) -> Mapping[str, Any]:
    given: Parameters = request.parameters
    names = {
        each.id: f"{each.name} (not configured)" if each.placeholder else each.name
        for each in known_sources(request.solr)
    }
    wanted = list(_filters(given))
    values: dict[str, Any] = {
        "given": given,
        "counted": COUNTED,
        "dates": {name: (title, _both(getattr(given, name))) for name, title in _DATES.items()},
        "sorted": SORTED,
        "compared": COMPARED,
        "narrowed": len(wanted),
        "saved": searches_of(
            request.solr, request.user.name, administrator=request.user.role is Role.ADMINISTRATOR
        ).searches,
        "as_one": _as_one(given.query, wanted),
        "download": urlencode([("query", given.query or "*"), *(("filter", each) for each in wanted)]),
    }
    try:
        answer = find_for_people(
            request.solr,
            given.query or "*",
            limit=RESULTS_A_PAGE,
            offset=(given.page - 1) * RESULTS_A_PAGE,
            filters=wanted,
            sort=given.sort if given.sort in SORTED else "",
            facets=[f"{{!ex={name}}}{name}" for name in COUNTED],
        )
    except QueryError as error:
        return {
            **values,
            "error": _placed(given.query, error),
            "answer": None,
            "filters": list(_chosen_alone(given, names)),
        }
    pages = min(PAGES_LINKED, -(-answer.total // RESULTS_A_PAGE))
    return {
        **values,
        "error": None,
        "answer": answer,
        "relations": answer.core == RELATIONS,
        "results": list[FoundItem](results_of(with_statements(request.solr, answer), names)),
        "first": answer.offset + 1,
        "last": answer.offset + len(answer.documents),
        "pages": pages,
        "before": address(given, page=given.page - 1) if given.page > 1 else "",
        "after": address(given, page=given.page + 1) if given.page < pages else "",
        "filters": list(_counted(given, answer, names)),
        "folded": list(_folded(given, answer.folded)),
        "full": [answer.query, *wanted],
    }


def _folded(given: Parameters, folded: Mapping[str, int] | None) -> Iterator[tuple[str, str]]:
    """Yield (text, query string) for each kind of entity that is left out of the results. The text has the number of
    entities if they were counted. The query string searches for that kind."""
    for kind, (one, several) in FOLDED.items():
        place = address(given, type=(kind,), page=1)
        if folded is None:
            yield several, place
        elif count := folded.get(kind):
            yield f"{count:,} {several if count != 1 else one}", place


def _filters(given: Parameters) -> Iterator[str]:
    """Yield the chosen filters. A field's filter has a tag, so that the counts of the same field can ignore the
    filter."""
    for name in COUNTED:
        if chosen := getattr(given, name):
            yield f"{{!tag={name}}}{name}:({' OR '.join(map(phrase, chosen))})"
    for name in _DATES:
        start, end = _both(getattr(given, name))
        if start or end:
            yield f"{name}:[{start or '*'} TO {end or '*'}]"
    if given.property and given.value:
        yield f"{given.property}:{_comparison(given.compared, given.value)}"


def _as_one(query: str, filters: Sequence[str]) -> str:
    """Return the search and its filters as one query, which can be saved."""
    plain = [each.partition("}")[2] if each.startswith("{!tag=") else each for each in filters]
    if not plain:
        return query
    return " AND ".join([f"({query})"] * bool(query.strip()) + plain)


def _comparison(compared: str, value: str) -> str:
    quoted = phrase(value)
    match compared:
        case ">=":
            return f"[{quoted} TO *]"
        case ">":
            return f"{{{quoted} TO *}}"
        case "<=":
            return f"[* TO {quoted}]"
        case "<":
            return f"{{* TO {quoted}}}"
    return quoted


def _both(days: tuple[str, ...]) -> tuple[str, str]:
    start, end, *_ = (*days, "", "")
    return start, end


def _placed(query: str, error: QueryError) -> Mapping[str, str]:
    """Return the message, and the query in three pieces: before the error's position, at it, after it."""
    at = error.position if 0 <= error.position <= len(query) else len(query)
    return {
        "message": error.message,
        "before": query[:at],
        "at": query[at : at + 1],
        "after": query[at + 1 :],
    }


def _counted(given: Parameters, answer: SearchAnswer, names: Mapping[str, str]) -> Iterator[Filter]:
    for name, title in COUNTED.items():
        chosen = getattr(given, name)
        counts = dict.fromkeys(chosen, 0) | dict(answer.facets.get(name, {}))
        there = sorted(
            ((count, value) for value, count in counts.items() if count or value in chosen), reverse=True
        )
        first = [pair for number, pair in enumerate(there) if number < VALUES_LISTED or pair[1] in chosen]
        more = [pair for pair in there if pair not in first][:MORE_VALUES_LISTED]
        yield Filter(
            name,
            title,
            *(
                tuple(
                    Choice(value, _value_words(name, value, names), count, value in chosen)
                    for count, value in some
                )
                for some in (first, more)
            ),
        )


def _value_words(field: str, value: str, names: Mapping[str, str]) -> str:
    """Return a value of a filter in words. ``names`` are the names of sources by id."""
    if field == "sourceType":
        return LOCAL_FILES if value == LOCAL else engine_words(value)
    if field == "sourceId":
        name = names.get(value, value)
        return LOCAL_FILES if name.startswith("file:") else name
    return type_words(value) if field == "type" else value


def _chosen_alone(given: Parameters, names: Mapping[str, str]) -> Iterator[Filter]:
    for name, title in COUNTED.items():
        choices = (Choice(value, _value_words(name, value, names), 0, True) for value in getattr(given, name))
        yield Filter(name, title, tuple(choices))


PAGE = ConsolePage("/search", "Search", Parameters, _values, menu="Search")
