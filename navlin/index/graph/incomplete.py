"""Operations and views with missing information: counts, reasons and lists."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from navlin.index.graph.entity import StoredEntity
from navlin.index.schema.fields import ELEMENTS
from navlin.index.solr import solr_query as q
from navlin.index.solr.solr import Solr

NO_REASON: Final = "no reason given"
SHOWN_REASONS: Final = 20
_INCOMPLETE: Final = f"+type:OPERATION +(incomplete:true {q.present('incompleteReasons')})"
"""Query for operations that are flagged incomplete or have a reason. Older versions recorded reasons without the
flag."""


@dataclass(frozen=True, slots=True)
class Unparsed:
    """Number of views with no or incomplete lineage, for one reason."""

    reason: str
    views: int


def unparsed_counts(solr: Solr) -> tuple[Unparsed, ...]:
    """Count the live views for which neither an engine nor the view's text gives complete lineage, by reason, most
    frequent first."""
    return tuple(Unparsed(*each) for each in _by_reason(solr, "type:VIEW", "unparsedReason") if each[0])


@dataclass(frozen=True, slots=True)
class IncompleteOperations:
    """Number of operations with missing information, for one reason; an operation may have several."""

    reason: str
    operations: int


def incomplete_counts(solr: Solr) -> tuple[IncompleteOperations, ...]:
    """Count the live operations that lack inputs, outputs or columns, most frequent reason first."""
    found = _by_reason(solr, _INCOMPLETE, "incompleteReasons", missing=True)
    return tuple(IncompleteOperations(reason or NO_REASON, count) for reason, count in found)


def incomplete_operations(
    solr: Solr, sources: Collection[str], reason: str, limit: int, offset: int
) -> tuple[tuple[StoredEntity, ...], int]:
    """Return live incomplete operations, by id, and their total number. ``sources`` are ids, ``reason`` is that of an
    `IncompleteOperations`; if empty, all sources or reasons count."""
    filters = ["deleted:false", *([q.terms("sourceId", sources)] if sources else [])]
    if reason:
        filters.append(
            q.absent("incompleteReasons") if reason == NO_REASON else q.term("incompleteReasons", reason)
        )
    sort = "identity asc"
    found, total = solr.page(ELEMENTS, _INCOMPLETE, filters=filters, sort=sort, rows=limit, start=offset)
    return tuple(map(StoredEntity.of, found)), total


def _by_reason(solr: Solr, query: str, field: str, *, missing: bool = False) -> list[tuple[str, int]]:
    """Return (reason, number of live elements) for the `SHOWN_REASONS` most frequent values of a field with reasons;
    the reason is "" for elements without one."""
    params = {
        "q": query,
        "fq": "deleted:false",
        "rows": 0,
        "facet": "true",
        "facet.field": field,
        "facet.mincount": 1,
        "facet.limit": SHOWN_REASONS,
        "facet.missing": "true" if missing else "false",
    }
    flat = solr.select(ELEMENTS, params)["facet_counts"]["facet_fields"][field]
    return [(reason or "", count) for reason, count in zip(flat[::2], flat[1::2], strict=True) if count]
