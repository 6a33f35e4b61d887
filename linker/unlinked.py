"""What is unlinked, by reason and age: for ``navlin status``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import orjson

from linker.resolve_endpoints import WAITING
from navlin.index.fields import RELATIONS, date_ms, solr_date
from navlin.index.solr import Solr

HOUR_MS: Final = 3_600_000
AGES_MS: Final = {"hour": HOUR_MS, "day": 24 * HOUR_MS, "week": 7 * 24 * HOUR_MS}
"""Younger than each of these; what is older than the last is ``older``."""
NOT_LOOKED_AT: Final = "not looked at yet"
REASONS_SHOWN: Final = 100


@dataclass(frozen=True, slots=True)
class Unlinked:
    """The relations that are unlinked for one reason. ``ages`` counts them by the youngest of `AGES_MS` that they fit,
    and ``older``; those that the linker has not looked at yet have no age."""

    reason: str
    count: int
    oldest_ms: int
    ages: dict[str, int]


def count_unlinked(solr: Solr) -> int:
    """How many relations that are not withdrawn wait for an end."""
    return solr.count(RELATIONS, WAITING, "deleted:false")


def unlinked_by_reason(solr: Solr, now_ms: int) -> tuple[Unlinked, ...]:
    """The relations that are unlinked, most frequent reason first."""
    bounds = [solr_date(now_ms - age_ms) for age_ms in AGES_MS.values()]
    inner: dict[str, Any] = {"oldest": "min(unlinkedSince)"}
    upper = "*"
    for name, lower in zip((*AGES_MS, "older"), (*bounds, "*"), strict=True):
        inner[name] = {"type": "query", "q": f"unlinkedSince:[{lower} TO {upper}}}"}
        upper = lower
    facet = {
        "type": "terms",
        "field": "unlinkedReason",
        "limit": REASONS_SHOWN,
        "missing": True,
        "facet": inner,
    }
    answer = solr.select(
        RELATIONS,
        {
            "q": WAITING,
            "fq": "deleted:false",
            "rows": 0,
            "json.facet": orjson.dumps({"reasons": facet}).decode(),
        },
    )
    reasons = answer["facets"].get("reasons", {})
    found = [_unlinked(bucket["val"], bucket) for bucket in reasons.get("buckets", ())]
    if reasons.get("missing", {}).get("count"):
        found.append(_unlinked(NOT_LOOKED_AT, reasons["missing"]))
    return tuple(found)


def _unlinked(reason: str, bucket: dict[str, Any]) -> Unlinked:
    ages = {name: int(bucket[name]["count"]) for name in (*AGES_MS, "older") if name in bucket}
    oldest = bucket.get("oldest")
    return Unlinked(reason, int(bucket["count"]), date_ms(oldest) if isinstance(oldest, str) else 0, ages)
