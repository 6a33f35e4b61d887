"""Counts of a query's results by the values of one field, or of several nested fields."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from navlin.index.schema.fields import INTS, LONGS
from navlin.index.search.counting import MOST_BUCKETS, UNITS, CountResult, Counts, Level, TooManyRanges, count
from navlin.index.search.print_query import printed
from navlin.index.search.query_tree import Query
from navlin.index.search.searching import MOST_S
from navlin.index.solr.solr import Solr
from navlin.query.bounds import MOST_VALUES, VALUES
from navlin.query.meant import FOLDED, meant
from navlin.query.scanner import QueryError
from navlin.query.search import core_for, countable, counted_field, explained
from navlin.query.syntax import parse_beside

MOST_LEVELS: Final = 3
_NUMBERS: Final = frozenset({*LONGS, *INTS, "deleteTime", "purgedExecutions"})
_WIDTH: Final = re.compile(r"[1-9]\d{0,17}")


@dataclass(frozen=True, slots=True)
class ValueCounts:
    """Counts of a query's results, by ``fields`` (as requested)."""

    core: str
    query: str
    fields: tuple[str, ...]
    values: int
    counted: CountResult
    folded: Mapping[str, int] = field(default_factory=dict)
    """Type → number of matches that are not counted, as in `navlin.query.search.SearchAnswer`."""

    @property
    def cut(self) -> bool:
        """Whether values are left out at any level."""
        return any(more != 0 for more in _cuts(self.counted.counts))

    def to_json(self) -> dict[str, Any]:
        """core, query, by, total, values, exact (false: on several shards, a value may be missing that belongs among
        those shown), truncated, counts (value, null for none; count, counts), more (the number of values left out; null
        if unknown), folded (as in a search: by type, the number of parts of statements, executions and partitions that
        are not counted; they are counted if the query, a filter or ``by`` names the type)."""
        return {
            "core": self.core,
            "query": self.query,
            "by": list(self.fields),
            "total": self.counted.total,
            "values": self.values,
            "exact": self.counted.exact,
            "truncated": self.cut,
            **_json(self.counted.counts),
            "folded": dict(self.folded),
        }

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of `rows`."""
        return (*self.fields, "count", "truncated")

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a row for each value of the last field within the values of the other fields, and a row wherever values
        are left out."""
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
    """Count the results of `navlin.query.finding.find_for_people` ``by`` up to three fields: ``FIELD``, ``FIELD:year``,
    ``:month`` or ``:day`` of a date, or ``FIELD:WIDTH`` of a number. One text may contain several, separated by commas.
    At most ``values`` values of each field are shown within a value of the field before. Raises `QueryError`."""
    names = tuple(each.strip() for text in by for each in text.split(","))
    if not 1 <= len(names) <= MOST_LEVELS:
        raise QueryError(f"count by one to {MOST_LEVELS} fields")
    if not 1 <= values <= MOST_VALUES or (values + 1) ** len(names) > MOST_BUCKETS:
        most = min(MOST_VALUES, int(MOST_BUCKETS ** (1 / len(names))) - 1)
        raise QueryError(f"values must be from 1 to {most:,} with {len(names)} fields")
    levels = [_level(solr, name) for name in names]
    read = parse_beside(None, filters)
    understood = meant(solr, query, read)
    if "type" in (level.field for level in levels):
        understood = replace(understood, folding=None)
    core = core_for(understood.parsed)

    def counts(asked: Query, levels: Sequence[Level], values: int) -> CountResult:
        with explained(understood.parsed, most_s):
            try:
                return count(solr, core, asked, [each.query for each in read], levels, values, most_s)
            except TooManyRanges as error:
                raise QueryError(str(error)) from error

    found, folded = counts(understood.asked(), levels, values), {}
    if understood.folding is not None:
        types = counts(understood.asked(folded=True), [Level("type")], len(FOLDED)).counts.counts
        folded = {str(each.value): each.count for each in types}
        if folded and not found.total:
            found, folded = counts(replace(understood, folding=None).asked(), levels, values), {}
    if understood.error and not found.total:
        raise understood.error
    return ValueCounts(core, printed(understood.parsed.query), names, values, found, folded)


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
            raise QueryError(f"the width of ranges must be a whole number, as in {name}:1000000")
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
