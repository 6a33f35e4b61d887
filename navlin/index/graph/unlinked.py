"""Unlinked relations: counts by age and reason, and lists."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from navlin.index.graph.graph import Graph
from navlin.index.graph.memory import PartKind
from navlin.index.graph.relation import TYPED, StoredRelation
from navlin.index.schema.fields import RELATIONS, solr_date
from navlin.index.solr import solr_query as q
from navlin.index.solr.solr import Solr

AGES_MS: Final = (("under an hour", 3_600_000), ("under a day", 86_400_000), ("under a week", 604_800_000))
OLDER: Final = "a week or more"
UNKNOWN_REASON: Final = "not looked for yet"
_WHY: Final = PartKind(RELATIONS, "endpoint1Ids,endpoint2Ids", (), True, "why", versioned=False)


@dataclass(frozen=True, slots=True)
class UnlinkedCount:
    """Number of relations that wait for an end, for one reason and one age."""

    reason: str
    age: str
    relations: int


def unlinked_counts(solr: Solr, now_ms: int) -> tuple[UnlinkedCount, ...]:
    """Count the relations that wait for an end, by reason and by age, youngest first within a reason."""
    since = 0
    buckets: dict[str, str] = {}
    for age, until in AGES_MS:
        buckets[age] = f'unlinkedSince:{{"{solr_date(now_ms - until)}" TO "{solr_date(now_ms - since)}"]'
        since = until
    buckets[OLDER] = f'unlinkedSince:[* TO "{solr_date(now_ms - since)}"]'
    # A relation that the linker has not seen has no date yet, and counts as youngest.
    youngest = AGES_MS[0][0]
    buckets[youngest] = (
        f'({buckets[youngest]} OR unlinkedSince:["{solr_date(now_ms)}" TO *] OR (*:* -unlinkedSince:*))'
    )
    by_age = {age: {"type": "query", "q": query} for age, query in buckets.items()}
    facet = {
        "reasons": {
            "type": "terms",
            "field": "unlinkedReason",
            "limit": 100,
            "missing": True,
            "facet": by_age,
        }
    }
    answer = solr.select(
        RELATIONS,
        {
            "q": "unlinked:true",
            "fq": "deleted:false",
            "rows": 0,
            "json.facet": orjson.dumps(facet).decode(),
        },
    )
    found = answer["facets"].get("reasons", {})
    reasons = [(bucket["val"], bucket) for bucket in found.get("buckets", [])]
    reasons.append((UNKNOWN_REASON, found.get("missing", {})))
    return tuple(
        UnlinkedCount(reason, age, bucket[age]["count"])
        for reason, bucket in reasons
        for age in buckets
        if bucket.get(age, {}).get("count")
    )


def why_unlinked(graph: Graph, ids: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return id → reason and date of the first unlinked relation of an entity, for entities that have one. The date is as
    Solr writes it; both may be empty."""

    def read(ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        first = {each: graph.unlinked_relations(each, 1)[0] for each in ids}
        return {each: (of[0].unlinked_reason, of[0].unlinked_since) for each, of in first.items() if of}

    return {each: (reason, since) for each, (reason, since) in graph.of_each(_WHY, ids, read).items()}


def unlinked_relations(
    solr: Solr, writers: Collection[str], reason: str, limit: int, offset: int
) -> tuple[tuple[StoredRelation, ...], int]:
    """Return live relations that wait for an end, youngest first, and their total number. ``writers`` are ids of the
    sources that state the relations, ``reason`` is that of an `UnlinkedCount`; if empty, all sources or reasons count."""
    filters = ["deleted:false", *([q.terms("writer", writers)] if writers else [])]
    if reason:
        filters.append(
            q.absent("unlinkedReason") if reason == UNKNOWN_REASON else q.term("unlinkedReason", reason)
        )
    # A relation without a date is the youngest, as in `unlinked_counts`.
    sort = "if(exists(unlinkedSince),1,0) asc,unlinkedSince desc,identity asc"
    found, total = solr.page(
        RELATIONS, "unlinked:true", TYPED, filters=filters, sort=sort, rows=limit, start=offset
    )
    return tuple(map(StoredRelation.of, found)), total
