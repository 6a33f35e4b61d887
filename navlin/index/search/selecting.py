"""Queries like those of Solr's own ``select``, for tools that were made for Navigator. Each query is built from input
that `navlin.query` has parsed and checked, and is sent to one core. The response has Solr's format, and is sent page by
page.

User input reaches Solr only as escaped words, numbers and dates. Counts are requested from Solr under navlin's own
keys, and returned under the client's keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import orjson

from navlin.index.graph.presentation import presented
from navlin.index.schema.fields import MANAGED_PREFIXES
from navlin.index.schema.stored_form import DERIVED
from navlin.index.search.print_query import facet_to_solr, to_solr
from navlin.index.search.query_fields import field_names
from navlin.index.search.query_tree import Query
from navlin.index.search.searching import MOST_S, STREAMED_ROWS, SolrQuery, in_time, params
from navlin.index.solr.solr import Solr

HIDDEN: Final = frozenset("_version_ digest treePath writer asOf sourceWords".split())
"""Fields that only the index uses."""
PROPERTIES: Final = ("up_", "tp_", *MANAGED_PREFIXES)
"""Prefixes of the names of properties."""
_KEPT: Final = frozenset({"identity", "score"})

Documents = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class LabelledCount:
    """A count to request, and the client's label for it."""

    label: str
    what: Any


@dataclass(frozen=True, slots=True)
class Ranges:
    """Ranges of a numeric or date field; a date may be relative to NOW."""

    field: str
    start: str
    end: str
    gap: str


@dataclass(frozen=True, slots=True)
class ShownField:
    """A field to show as ``name``: the first of ``fields`` that a document has. With ``all_so``, ``fields`` are
    prefixes, and all fields with one of these prefixes are shown under their own names."""

    name: str
    fields: tuple[str, ...]
    all_so: bool = False


@dataclass(frozen=True, slots=True)
class Select:
    """A select request to Solr. ``mark`` is a cursor mark, "" without one; an empty ``shown`` shows all fields.
    ``fields``, ``queries``, ``pivots`` (tuples of fields), ``ranges`` and ``stats`` are counted over all matches;
    ``options`` are those of Solr's facets, under Solr's names, for all fields or as ``f.FIELD.…``."""

    query: Query
    filters: Sequence[Query] = ()
    sort: Sequence[tuple[str, str]] = ()
    start: int = 0
    rows: int = 10
    mark: str = ""
    shown: Sequence[ShownField] = ()
    fields: Sequence[LabelledCount] = ()
    queries: Sequence[LabelledCount] = ()
    pivots: Sequence[LabelledCount] = ()
    ranges: Sequence[LabelledCount] = ()
    stats: Sequence[LabelledCount] = ()
    counts: bool = False
    options: Mapping[str, str] = field(default_factory=dict)


def is_shown(name: str) -> bool:
    """Whether a field may be shown to users."""
    return name not in HIDDEN and (name in _NAMES or name.startswith(PROPERTIES))


_NAMES: Final = frozenset(field_names()) | _KEPT


def select(solr: Solr, core: str, question: Select, most_s: float = MOST_S) -> Iterator[bytes]:
    """Yield the response as JSON in Solr's format, piece by piece. Raises `SolrError` with status 400 on the first
    piece if Solr refuses the request, and `TookTooLong` on the piece that took too long."""
    base = {
        **params(SolrQuery(question.query, question.filters, question.sort, fields=_fetched(question))),
        "timeAllowed": round(most_s * 1000),
        "omitHeader": "false",
    }
    # For distant pages, a cursor mark is faster than an offset.
    mark = question.mark or ("*" if not question.start and question.rows > STREAMED_ROWS else "")
    left, start = question.rows, question.start
    first = True
    answer: dict[str, Any] = {}
    tail: dict[str, Any] = {}
    while first or left:
        rows = min(left, STREAMED_ROWS)
        where = {"cursorMark": mark} if mark else {"start": start}
        more = _counted(question) if first else {}
        answer = in_time(solr.select(core, {**base, **more, **where, "rows": rows}))
        found = answer["response"]["docs"]
        documents = [_shown(question, each) for each in _whole(solr, core, question, found)]
        if first:
            yield _head(question, answer)
        # Strip the brackets, because the pages form one list.
        yield (b"," if documents and not first else b"") + orjson.dumps(documents)[1:-1]
        if first:
            tail = _tail(question, answer)
        first, left, start = False, left - len(documents), start + len(documents)
        mark = answer.get("nextCursorMark", "")
        if len(documents) < rows:
            break
    if question.mark:
        tail["nextCursorMark"] = answer["nextCursorMark"]
    # Append the fields that follow the documents, and close the object.
    yield b"]}" + (b"," + orjson.dumps(tail)[1:] if tail else b"}")


# -- Documents -------------------------------------------------------------------------------------------------------------


def _fetched(question: Select) -> str:
    """Return the fields to request from Solr: all if ``shown`` is empty, or if a wanted field is a prefix or is derived
    from others."""
    shown = question.shown
    if not shown or any(each.all_so or not DERIVED.isdisjoint(each.fields) for each in shown):
        return "*,score" if any("score" in each.fields for each in shown) else "*"
    return ",".join(dict.fromkeys(name for each in shown for name in each.fields))


def _whole(solr: Solr, core: str, question: Select, documents: Documents) -> Documents:
    return presented(solr, core, documents) if _fetched(question).startswith("*") else documents


def _shown(question: Select, document: Mapping[str, Any]) -> dict[str, Any]:
    visible = {name: value for name, value in document.items() if name not in HIDDEN}
    if not question.shown:
        return visible
    shown: dict[str, Any] = {}
    for each in question.shown:
        if each.all_so:
            shown |= {name: value for name, value in visible.items() if name.startswith(each.fields)}
        elif there := next((name for name in each.fields if name in visible), None):
            shown[each.name] = visible[there]
    return shown


# -- Counts ----------------------------------------------------------------------------------------------------------------


def _counted(question: Select) -> dict[str, Any]:
    counted: dict[str, Any] = {}
    if question.counts:
        counted = {
            "facet": "true",
            "facet.field": [
                facet_to_solr(replace(each.what, key=f"k{number}"))
                for number, each in enumerate(question.fields)
            ],
            "facet.query": [
                to_solr(replace(each.what, key=f"k{number}")) for number, each in enumerate(question.queries)
            ],
            "facet.pivot": _keyed([",".join(each.what) for each in question.pivots]),
            "facet.range": _keyed([each.what.field for each in question.ranges]),
            **question.options,
        }
        for each in question.ranges:
            of_field = f"f.{each.what.field}.facet.range"
            counted |= {f"{of_field}.{name}": getattr(each.what, name) for name in ("start", "end", "gap")}
    if question.stats:
        counted |= {"stats": "true", "stats.field": _keyed([each.what for each in question.stats])}
    return counted


def _keyed(fields: Sequence[str]) -> list[str]:
    return [f"{{!key=k{number}}}{each}" for number, each in enumerate(fields)]


def _head(question: Select, answer: Mapping[str, Any]) -> bytes:
    header = {"status": 0, "QTime": int(answer["responseHeader"].get("QTime", 0))}
    found = {"numFound": answer["response"]["numFound"], "start": question.start}
    return (
        b'{"responseHeader":'
        + orjson.dumps(header)
        + b',"response":'
        + orjson.dumps(found)[:-1]
        + b',"docs":['
    )


def _tail(question: Select, answer: Mapping[str, Any]) -> dict[str, Any]:
    tail: dict[str, Any] = {}
    if question.counts:
        counts = answer["facet_counts"]
        tail["facet_counts"] = {
            "facet_queries": _labelled(question.queries, counts["facet_queries"]),
            "facet_fields": _labelled(question.fields, counts["facet_fields"]),
            "facet_ranges": _labelled(question.ranges, counts.get("facet_ranges", {})),
            "facet_intervals": {},
            "facet_heatmaps": {},
        }
        if question.pivots:
            pivots = _labelled(question.pivots, counts["facet_pivot"])
            tail["facet_counts"]["facet_pivot"] = {
                label: _named(entries, label.split(",")) for label, entries in pivots.items()
            }
    if question.stats:
        tail["stats"] = {"stats_fields": _labelled(question.stats, answer["stats"]["stats_fields"])}
    return tail


def _labelled(named: Sequence[LabelledCount], found: Mapping[str, Any]) -> dict[str, Any]:
    return {each.label: found[f"k{number}"] for number, each in enumerate(named)}


def _named(entries: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the entries of a pivot with its fields under the requested names."""
    return [
        {
            **entry,
            "field": names[0].strip(),
            **({"pivot": _named(entry["pivot"], names[1:])} if "pivot" in entry else {}),
        }
        for entry in entries
    ]
