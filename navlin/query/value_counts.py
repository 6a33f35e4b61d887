"""How many of what a query finds have which values, by one field or by several within each other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from navlin.index.counting import MOST_BUCKETS, UNITS, Counted, Counts, Level, TooManyRanges, count
from navlin.index.fields import INTS, LONGS
from navlin.index.query_text import printed
from navlin.index.searching import MOST_S
from navlin.index.solr import Solr
from navlin.query.scanner import QueryError
from navlin.query.search import core_for, countable, counted_field, explained, parsed_query
from navlin.query.syntax import parse

MOST_LEVELS: Final = 3
VALUES: Final = 25
MOST_VALUES: Final = 10_000
_NUMBERS: Final = frozenset({*LONGS, *INTS, "deleteTime", "purgedExecutions"})
_WIDTH: Final = re.compile(r"[1-9]\d{0,17}")


@dataclass(frozen=True, slots=True)
class ValueCounts:
    """Counts of what a query finds, by ``fields`` (as they were asked for)."""

    core: str
    query: str
    fields: tuple[str, ...]
    values: int
    counted: Counted

    @property
    def cut(self) -> bool:
        """Whether values are left out anywhere."""
        return any(more != 0 for more in _cuts(self.counted.counts))

    def to_json(self) -> dict[str, Any]:
        """core, query, by, total, values, exact (false: on several shards, a value may be missing that belongs among those
        shown), truncated, counts (value, null for none; count, counts), more (how many values are left out; null if nobody
        knows)."""
        return {
            "core": self.core,
            "query": self.query,
            "by": list(self.fields),
            "total": self.counted.total,
            "values": self.values,
            "exact": self.counted.exact,
            "truncated": self.cut,
            **_json(self.counted.counts),
        }

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of `rows`."""
        return (*self.fields, "count", "truncated")

    def rows(self) -> Iterator[dict[str, Any]]:
        """A row for each value of the last field within those of the others; where values are left out, one that says so."""
        yield from _rows(self.counted.counts, self.fields, {})


def count_values(
    solr: Solr,
    query: str,
    by: Sequence[str],
    *,
    filters: Sequence[str] = (),
    values: int = VALUES,
    most_s: float = MOST_S,
) -> ValueCounts:
    """Counts what matches ``query`` and every filter ``by`` up to three fields: ``FIELD``, ``FIELD:year``, ``:month`` or
    ``:day`` of a date, or ``FIELD:WIDTH`` of a number; each may be several, parted by commas. Of each field at most
    ``values`` values are shown within one of the field before. Raises `QueryError`."""
    names = tuple(each.strip() for text in by for each in text.split(","))
    if not 1 <= len(names) <= MOST_LEVELS:
        raise QueryError(f"count by one to {MOST_LEVELS} fields")
    if not 1 <= values <= MOST_VALUES or (values + 1) ** len(names) > MOST_BUCKETS:
        most = min(MOST_VALUES, int(MOST_BUCKETS ** (1 / len(names))) - 1)
        raise QueryError(f"by {len(names)} fields, from 1 to {most:,} values of each are shown")
    levels = [_level(solr, name) for name in names]
    parsed = parsed_query(query)
    core = core_for(parsed)
    with explained(parsed, most_s):
        try:
            found = count(
                solr, core, parsed.query, [parse(each).query for each in filters], levels, values, most_s
            )
        except TooManyRanges as error:
            raise QueryError(str(error)) from error
    return ValueCounts(core, printed(parsed.query), names, values, found)


def _level(solr: Solr, text: str) -> Level:
    name, _, step = text.partition(":")
    level = Level(countable(counted_field(solr, name)), step.strip())
    if not level.step:
        return level
    if level.is_date:
        if level.step not in UNITS:
            raise QueryError(f"dates are counted by {', '.join(UNITS)}, as in {name}:month")
    elif level.field in _NUMBERS or level.field.startswith(("cpl_", "cpd_")):
        if not _WIDTH.fullmatch(level.step):
            raise QueryError(f"numbers are counted in ranges of a whole number, as in {name}:1000000")
    else:
        raise QueryError(f"{name} has neither dates nor numbers: count it by its values")
    return level


def _cuts(counts: Counts) -> Iterator[int | None]:
    yield counts.more
    for each in counts.counts:
        if each.below is not None:
            yield from _cuts(each.below)


def _json(counts: Counts) -> dict[str, Any]:
    return {
        "counts": [
            {
                "value": each.value,
                "count": each.count,
                **(_json(each.below) if each.below is not None else {}),
            }
            for each in counts.counts
        ],
        "more": counts.more,
    }


def _rows(counts: Counts, fields: Sequence[str], above: dict[str, Any]) -> Iterator[dict[str, Any]]:
    name = fields[0]
    for each in counts.counts:
        here = {**above, name: each.value}
        if each.below is None:
            yield {**here, "count": each.count}
        else:
            yield from _rows(each.below, fields[1:], here)
    if counts.more != 0:
        how_many = "" if counts.more is None else f"{counts.more} "
        yield {**above, "truncated": f"{how_many}more values of {name}"}
