"""Searching entities and relations as Navigator's users did."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from navlin.index.fields import ELEMENTS, KNOWN, LINKER_FIELDS, PIPELINE_FIELDS, RELATIONS, USER_FIELDS
from navlin.index.presented import presented
from navlin.index.query_fields import ANY_TEXT, CONSTANTS, REWRITTEN
from navlin.index.solr import Solr, SolrError, SolrUnavailable
from navlin.model.keys import RelationType
from navlin.query.spelling import CASELESS, field_named
from navlin.query.syntax import Parsed, QueryError, parse

PAGE_ROWS: Final = 10_000
"""How many documents one request fetches; a larger limit is several requests."""
MAX_LIMIT: Final = 500_000
"""Navigator's own limit of a page."""
FACET_VALUES: Final = 100

RELATION_ONLY: Final = frozenset(
    "endpoint1Ids endpoint2Ids endpoint1Type endpoint2Type endpoint1SourceType endpoint2SourceType endpoint1SourceId"
    " endpoint2SourceId endpoint1Name endpoint2Name claimedIds unlinked unlinkedReason unlinkedSince rule"
    " userSpecified propagatable namespace".split()
)
"""Fields that only relations have: a query that names one is about relations."""
RELATION_TYPES: Final = frozenset(RelationType)
_NUMBER_ERROR = re.compile(
    r"Invalid (?:Number|Date String|boolean)[^:]*:\s*'?(?P<value>[^'\"]+?)'?(?: for field \S+)?\s*$", re.I
)
_UNDEFINED = re.compile(r"undefined field:?\s*\"?(?P<name>[^\"\s]+)\"?", re.I)
_CLASS_NAME = re.compile(r"\b(?:[a-z]\w*\.){2,}(?P<name>[A-Z]\w*)(?::\s*)?")


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """What a search found: documents as they are indexed, under the index's names of the fields."""

    core: str
    query: str
    """As it was sent to Solr."""
    total: int
    offset: int
    limit: int
    documents: tuple[Mapping[str, Any], ...]
    facets: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """field → value → how many of all that matched."""

    @property
    def truncated(self) -> bool:
        """Whether there is more than is shown."""
        return self.offset + len(self.documents) < self.total

    def to_json(self) -> dict[str, Any]:
        """core, query, total, offset, limit, truncated, results (a list of documents), facets."""
        return {
            "core": self.core,
            "query": self.query,
            "total": self.total,
            "offset": self.offset,
            "limit": self.limit,
            "truncated": self.truncated,
            "results": [dict(document) for document in self.documents],
            "facets": {name: dict(counts) for name, counts in self.facets.items()},
        }


def search(
    solr: Solr,
    query: str,
    *,
    limit: int = 25,
    offset: int = 0,
    core: str = "",
    filters: Sequence[str] = (),
    sort: str = "",
    facets: Sequence[str] = (),
    fields: str = "*",
) -> SearchAnswer:
    """Documents that match ``query`` and every filter, best match first unless ``sort`` ("created desc") says otherwise.

    ``core`` is nav_elements unless the query is about relations. ``filters`` may bear tags (``{!tag=type} type:TABLE``);
    ``facets`` are fields, of which the values of all that matched are counted. Raises `QueryError` for a query that
    is wrong.
    """
    if not 0 <= limit <= MAX_LIMIT or offset < 0:
        raise QueryError(f"a page has from 0 to {MAX_LIMIT} results and starts at 0 or later")
    parsed = parse(query)
    parsed_filters = [parse(text, parameter_prefix=f"nf{number}_") for number, text in enumerate(filters)]
    chosen = core or core_for(parsed)
    params: dict[str, Any] = {
        "q": parsed.text,
        "fq": [each.text for each in parsed_filters],
        "fl": fields,
        "df": ANY_TEXT,
        "sort": _sort(sort),
    }
    for each in (parsed, *parsed_filters):
        params.update(each.params)
    facet_names = [_countable(field_named(name)) for name in facets]
    if facet_names:
        params.update(
            {"facet": "true", "facet.field": facet_names, "facet.mincount": 1, "facet.limit": FACET_VALUES}
        )
    try:
        documents, total, counts = _fetch(solr, chosen, params, limit, offset)
    except SolrUnavailable:
        raise
    except SolrError as error:
        if error.status != 400 and "Determinizing automaton" not in error.message:
            raise
        raise explain(error.message, query, parsed) from error
    named = {name: counts.get(name, {}) for name in facet_names}
    if fields == "*":
        documents = presented(solr, chosen, documents)
    return SearchAnswer(chosen, parsed.text, total, offset, limit, tuple(documents), named)


def core_for(parsed: Parsed) -> str:
    """The core that a query is about: relations if it names their fields or asks for nothing but their types."""
    if RELATION_ONLY & parsed.fields.keys():
        return RELATIONS
    return RELATIONS if parsed.types and parsed.types <= RELATION_TYPES else ELEMENTS


def explain(message: str, query: str, parsed: Parsed) -> QueryError:
    """Solr's refusal of a query in one sentence, with the place in what was typed where that can be told."""
    if undefined := _UNDEFINED.search(message):
        name = undefined["name"]
        near = difflib.get_close_matches(name, _field_names(), n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        return QueryError(f"there is no field {name}{hint}", parsed.fields.get(name, query.find(name)))
    if wrong := _NUMBER_ERROR.search(message):
        value = wrong["value"]
        return QueryError(
            f"{value!r} is no value of a field of numbers, dates or truth values", query.find(value)
        )
    if "too many" in message.lower() and "clauses" in message.lower():
        return QueryError("the query has too many words; {!terms f=FIELD}a,b,c takes any number of values")
    if "Determinizing automaton" in message:
        return QueryError("a word with wildcards is too long")
    plain = _CLASS_NAME.sub("", message).strip()
    return QueryError(f"Solr does not understand the query: {plain.partition(chr(10))[0][:300]}")


def _field_names() -> list[str]:
    own = "identity type sourceType sourceId packageName metaClassName queryText granted serves".split()
    return sorted(
        {*own, *KNOWN, *PIPELINE_FIELDS, *LINKER_FIELDS, *USER_FIELDS, *RELATION_ONLY, *CASELESS, *CONSTANTS}
    )


def _countable(name: str) -> str:
    if name in REWRITTEN:
        raise QueryError(f"{name} follows from type and sourceType: count or sort by these")
    return name


def _sort(sort: str) -> str:
    orders = []
    for order in filter(None, (part.strip() for part in sort.split(","))):
        name, _, direction = order.partition(" ")
        direction = direction.strip().lower() or "asc"
        if direction not in ("asc", "desc"):
            raise QueryError(f"results are sorted as in 'lastModified desc', not as in {order!r}")
        orders.append(f"{_countable(field_named(name))} {direction}")
    if not any(order.startswith("identity ") for order in orders):
        # A total order, so that no document is on two pages or on none.
        orders = [*(orders or ["score desc"]), "identity asc"]
    return ",".join(orders)


def _fetch(
    solr: Solr, core: str, params: Mapping[str, Any], limit: int, offset: int
) -> tuple[list[dict[str, Any]], int, dict[str, dict[str, int]]]:
    rows = min(limit, PAGE_ROWS)
    where: dict[str, Any] = {"cursorMark": "*"} if not offset and limit > PAGE_ROWS else {"start": offset}
    answer = solr.select(core, {**params, **where, "rows": rows})
    documents: list[dict[str, Any]] = answer["response"]["docs"]
    total = int(answer["response"]["numFound"])
    counts = {
        name: dict(zip(flat[::2], flat[1::2], strict=True))
        for name, flat in answer.get("facet_counts", {}).get("facet_fields", {}).items()
    }
    bare = {name: value for name, value in params.items() if not name.startswith("facet")}
    while len(documents) < min(limit, total - offset):
        where = (
            {"cursorMark": answer["nextCursorMark"]}
            if "cursorMark" in where
            else {"start": offset + len(documents)}
        )
        answer = solr.select(core, {**bare, **where, "rows": min(PAGE_ROWS, limit - len(documents))})
        if not answer["response"]["docs"]:
            break
        documents.extend(answer["response"]["docs"])
    return documents, total, counts
