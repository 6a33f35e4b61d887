"""What ``navlin status`` asks of the index: how far each source is, what would not read, what stays unlinked and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import orjson

from navlin.index.fields import ELEMENTS, RELATIONS, RUNS, solr_date
from navlin.index.runs import Status, last_run
from navlin.index.solr import Solr
from navlin.index.state import count_held

AGES_MS: Final = (("under an hour", 3_600_000), ("under a day", 86_400_000), ("under a week", 604_800_000))
OLDER: Final = "a week or more"
UNKNOWN_REASON: Final = "not looked for yet"
NO_REASON: Final = "no reason given"
SHOWN_REJECTS: Final = 20
SHOWN_POSITIONS: Final = 100
SHOWN_REASONS: Final = 20


@dataclass(frozen=True, slots=True)
class Rejected:
    """Something that would not read: where, why, how often."""

    place: str
    offset: int
    reason: str
    count: int
    sample: str


@dataclass(frozen=True, slots=True)
class SourceOverview:
    """One source. ``positions`` has the first of them by key, ``position_count`` says how many there are."""

    entities: int
    relations: int
    position_count: int
    positions: dict[str, Any]
    reject_count: int
    rejects: tuple[Rejected, ...]


@dataclass(frozen=True, slots=True)
class Unlinked:
    """How many relations wait for an end, of one reason and one age."""

    reason: str
    age: str
    relations: int


def source_overview(solr: Solr, source_id: str) -> SourceOverview:
    """How one source stands in the index, by its id."""
    positions = _runs(solr, source_id, "position", SHOWN_POSITIONS, "key asc")
    rejects = _runs(solr, source_id, "reject", SHOWN_REJECTS, "started desc")
    counted = solr.select(
        RUNS,
        {
            "q": "*:*",
            "fq": ["kind:reject", _term("sourceId", source_id)],
            "rows": 0,
            "json.facet": orjson.dumps({"count": "sum(count)"}).decode(),
        },
    )
    return SourceOverview(
        count_held(solr, ELEMENTS, source_id, live=True),
        solr.count(RELATIONS, "*:*", "deleted:false", _term("writer", source_id)),
        positions["numFound"],
        {document["key"]: orjson.loads(document["body"]) for document in positions["docs"]},
        int(counted["facets"].get("count", 0)),
        tuple(
            Rejected(
                document.get("place", ""),
                document.get("offset", -1),
                document.get("reason", ""),
                document.get("count", 1),
                orjson.loads(document["body"]).get("sample", ""),
            )
            for document in rejects["docs"]
        ),
    )


def held_run(solr: Solr, source_id: str) -> str:
    """The id of the run whose loss waits for a person; "" if there is none.

    Increments go on beside it. Only a complete listing that was believed ends that.
    """
    held = last_run(solr, source_id, Status.HELD)
    if held is None:
        return ""
    since = {
        "q": f"iteration:{{{held.iteration} TO *]",
        "fq": ["kind:run", _term("sourceId", source_id), f"status:{Status.FINISHED}"],
        "sort": "iteration desc",
        "rows": 1_000,
        "fl": "body",
    }
    later = solr.select(RUNS, since)["response"]["docs"]
    believed = any(orjson.loads(run["body"])["counts"].get("complete_listings") for run in later)
    return "" if believed else held.run_id


def unlinked_relations(solr: Solr, now_ms: int) -> tuple[Unlinked, ...]:
    """Relations that wait for an end, by reason and by age, youngest first within a reason."""
    since = 0
    buckets: dict[str, str] = {}
    for age, until in AGES_MS:
        buckets[age] = f'unlinkedSince:{{"{solr_date(now_ms - until)}" TO "{solr_date(now_ms - since)}"]'
        since = until
    buckets[OLDER] = f'unlinkedSince:[* TO "{solr_date(now_ms - since)}"]'
    # A relation that the linker has not seen bears no date yet: it is as young as can be.
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
        Unlinked(reason, age, bucket[age]["count"])
        for reason, bucket in reasons
        for age in buckets
        if bucket.get(age, {}).get("count")
    )


@dataclass(frozen=True, slots=True)
class Unparsed:
    """How many views have no lineage, or not all, for one reason."""

    reason: str
    views: int


def unparsed_views(solr: Solr) -> tuple[Unparsed, ...]:
    """The live views whose lineage is not known, or not all of it, neither by an engine nor by their text; the most frequent
    reason first."""
    return tuple(Unparsed(*each) for each in _by_reason(solr, "type:VIEW", "unparsedReason") if each[0])


@dataclass(frozen=True, slots=True)
class IncompleteOperations:
    """How many operations there are of which something is not known, for one reason; one operation may have several."""

    reason: str
    operations: int


def incomplete_operations(solr: Solr) -> tuple[IncompleteOperations, ...]:
    """The live operations that miss inputs, outputs or columns, most frequent reason first."""
    found = _by_reason(solr, "type:OPERATION AND incomplete:true", "incompleteReasons", missing=True)
    return tuple(IncompleteOperations(reason or NO_REASON, count) for reason, count in found)


def _by_reason(solr: Solr, query: str, field: str, *, missing: bool = False) -> list[tuple[str, int]]:
    """Live elements counted by a field that gives a reason; "" stands for those without one."""
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


def _runs(solr: Solr, source_id: str, kind: str, rows: int, sort: str) -> dict[str, Any]:
    filters = [f"kind:{kind}", _term("sourceId", source_id)]
    answer = solr.select(RUNS, {"q": "*:*", "fq": filters, "rows": rows, "sort": sort})
    response: dict[str, Any] = answer["response"]
    return response


def _term(field: str, value: str) -> str:
    return f"{{!term f={field}}}{value}"
