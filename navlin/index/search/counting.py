"""Counts by the values of fields, possibly nested, over all matches of a query.

Each shard counts separately. If all levels have few values, every shard returns all of them, and the sums are exact.
Otherwise each shard returns its most frequent values, many more than are shown, and then counts those that other shards
returned (``refine``). The counts shown on the first level are then correct, but a value that is not frequent on any
single shard may be missing. With one shard everything is exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import orjson

from navlin.index.search.print_query import DATE_FIELDS, to_solr
from navlin.index.search.query_fields import ANY_TEXT
from navlin.index.search.query_tree import Query
from navlin.index.search.searching import MOST_S, in_time
from navlin.index.solr import solr_query as q
from navlin.index.solr.solr import Solr

MOST_BUCKETS: Final = 100_000
"""Maximum number of buckets in one response of Solr, over all levels."""
MOST_RANGES: Final = 1_000
"""Maximum number of ranges on one level."""
OVERREQUEST: Final = 1_000
_LAST: Final = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
UNITS: Final = {"year": "+1YEAR", "month": "+1MONTH", "day": "+1DAY"}


@dataclass(frozen=True, slots=True)
class Level:
    """A level of counting. It counts each value of a field, or ranges of values if ``step`` is set. ``step`` is year,
    month or day for a date, else a whole number; numeric ranges begin at multiples of ``step``."""

    field: str
    step: str = ""

    @property
    def is_date(self) -> bool:
        """Whether ``field`` is a date field."""
        return self.field in DATE_FIELDS or self.field.startswith("cpt_")


@dataclass(frozen=True, slots=True)
class Count:
    """Number of matches with one value, or in the range that begins with ``value``. ``value`` is None for matches
    without a value. ``below`` holds the counts of the next level."""

    value: str | int | float | bool | None
    count: int
    below: Counts | None = None


@dataclass(frozen=True, slots=True)
class Counts:
    """The most frequent values of one field, or all ranges in order. ``more`` is the number of values left out, None if
    unknown."""

    counts: tuple[Count, ...]
    more: int | None = 0


@dataclass(frozen=True, slots=True)
class CountResult:
    """Total number of matches, and their counts by value. ``exact``: whether no value can be missing."""

    total: int
    counts: Counts
    exact: bool


class TooManyRanges(ValueError):
    """A level would have too many ranges; the message says how many."""


@dataclass(slots=True)
class _RequestedLevel:
    """A level of the request. For ranges, ``start`` and ``end`` are the bounds. ``limit`` is the maximum number of
    values, or -1 for all. ``buckets`` is the number of buckets to expect."""

    level: Level
    start: Any = None
    end: Any = None
    limit: int = -1
    buckets: int = field(default=1)


def count(
    solr: Solr,
    core: str,
    query: Query,
    filters: Sequence[Query],
    levels: Sequence[Level],
    values: int,
    most_s: float = MOST_S,
) -> CountResult:
    """Count the matches; each level shows at most ``values`` values per value of the level above. Raises `SolrError`
    with status 400 for a field that cannot be counted, `TooManyRanges`, and `TookTooLong`."""
    params = {
        "q": to_solr(query),
        "fq": [to_solr(each) for each in filters],
        "df": ANY_TEXT,
        "rows": 0,
        "timeAllowed": round(most_s * 1000),
        "omitHeader": "false",
    }
    first = in_time(solr.select(core, {**params, "json.facet": _json(_extent(levels))}))
    total = int(first["response"]["numFound"])
    if not total:
        return CountResult(0, Counts(()), exact=True)
    every = [_asked(number, level, first["facets"]) for number, level in enumerate(levels)]
    whole = _product(each.buckets for each in every) <= MOST_BUCKETS
    for each in every:
        each.limit = -1 if whole else values + 1
    answer = in_time(solr.select(core, {**params, "json.facet": _json(_facets(every))}))
    exact = whole or len(solr.shards(core)) == 1
    return CountResult(total, _counts(answer["facets"], every, values, whole=whole), exact)


def _json(facets: Mapping[str, Any]) -> str:
    return orjson.dumps(facets).decode()


def _product(numbers: Iterator[int]) -> int:
    product = 1
    for each in numbers:
        product *= each
    return product


# -- Extent of the values --------------------------------------------------------------------------------------------------


def _extent(levels: Sequence[Level]) -> dict[str, str]:
    asked_for: dict[str, str] = {}
    for number, level in enumerate(levels):
        if level.step:
            asked_for |= {f"min{number}": f"min({level.field})", f"max{number}": f"max({level.field})"}
        else:
            asked_for[f"unique{number}"] = f"unique({level.field})"
    return asked_for


def _asked(number: int, level: Level, found: Mapping[str, Any]) -> _RequestedLevel:
    if not level.step:
        return _RequestedLevel(level, buckets=int(found.get(f"unique{number}") or 0) + 1)
    low, high = found.get(f"min{number}"), found.get(f"max{number}")
    if low is None or high is None:
        return _RequestedLevel(level)
    if not level.is_date:
        width = int(level.step)
        start, over = int(low // width) * width, (int(high // width) + 1) * width
        return _few(_RequestedLevel(level, start, over, buckets=(over - start) // width))
    first, last = _begin(_date(low), level.step), _begin(_date(high), level.step)
    ranges = {
        "year": last.year - first.year,
        "month": (last.year - first.year) * 12 + last.month - first.month,
        "day": (last - first).days,
    }
    end = _after(last, level.step)
    return _few(_RequestedLevel(level, _solr(first), _solr(end), buckets=ranges[level.step] + 1))


def _few(level: _RequestedLevel) -> _RequestedLevel:
    if level.buckets > MOST_RANGES:
        raise TooManyRanges(
            f"{level.level.field} would have {level.buckets:,} ranges, and at most {MOST_RANGES:,} are"
            " counted: use wider ones"
        )
    return level


def _date(value: Any) -> datetime:
    if isinstance(value, str):
        return datetime.fromisoformat(value)
    return datetime.fromtimestamp(value / 1000, UTC)


def _begin(moment: datetime, unit: str) -> datetime:
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    return day.replace(month=1, day=1) if unit == "year" else day.replace(day=1) if unit == "month" else day


def _after(begin: datetime, unit: str) -> datetime:
    try:
        if unit == "day":
            return begin + timedelta(days=1)
        if unit == "year" or begin.month == 12:
            return begin.replace(year=begin.year + 1, month=1)
        return begin.replace(month=begin.month + 1)
    except (ValueError, OverflowError):
        # The last possible day is commonly used for "for ever"; Solr rounds the last range up.
        return _LAST


def _solr(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


# -- Request and response ----------------------------------------------------------------------------------------------


def _facets(levels: Sequence[_RequestedLevel]) -> dict[str, Any]:
    if not levels:
        return {}
    here, below = levels[0], _facets(levels[1:])
    name = here.level.field
    if not here.level.step:
        terms = {"type": "terms", "field": name, "limit": here.limit, "missing": True, "facet": below}
        if here.limit >= 0:
            terms |= {"refine": True, "overrequest": OVERREQUEST}
        return {"values": terms}
    missing = {"type": "query", "q": q.absent(q.literal(name)), "facet": below}
    if here.start is None:
        return {"missing": missing}
    gap = UNITS[here.level.step] if here.level.is_date else int(here.level.step)
    ranges = {"type": "range", "field": name, "start": here.start, "end": here.end, "gap": gap}
    return {"values": {**ranges, "mincount": 1, "facet": below}, "missing": missing}


def _counts(
    answer: Mapping[str, Any], levels: Sequence[_RequestedLevel], values: int, *, whole: bool
) -> Counts:
    here, below = levels[0], levels[1:]
    found = answer.get("values", {})
    counts = [
        Count(
            _value(here.level, bucket["val"]),
            int(bucket["count"]),
            _counts(bucket, below, values, whole=whole) if below else None,
        )
        for bucket in found.get("buckets", ())
        if bucket["count"]
    ]
    more: int | None = 0
    if not here.level.step and len(counts) > values:
        more = len(counts) - values if whole else None
        counts = counts[:values]
    missing = found.get("missing") or answer.get("missing") or {}
    if missing.get("count"):
        nested = _counts(missing, below, values, whole=whole) if below else None
        counts.append(Count(None, int(missing["count"]), nested))
    return Counts(tuple(counts), more)


_DATE_CHARS: Final = {"year": 4, "month": 7, "day": 10}


def _value(level: Level, value: Any) -> Any:
    if level.step and level.is_date:
        return str(value)[: _DATE_CHARS[level.step]]
    return value
