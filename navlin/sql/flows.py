"""Source columns of values.

Each value has sets of source columns. A set is computed once for each output column of a query, however often the query
is referenced, so the cost of a chain of common table expressions depends on its length, not on its expansion.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from navlin.sql.reading import Name, SourceColumn

Sources = frozenset[SourceColumn]
NONE: Sources = frozenset()


class ExpansionTooLarge(Exception):
    """The text expands to more columns or sources than the limits allow."""


@dataclass(frozen=True, slots=True)
class ValueSources:
    """Sources of a value. ``data`` are the columns that the value is computed from, ``control`` the columns that only
    affect it. ``complete`` is False if some source is unknown. ``counts`` is True if the value counts rows, without
    using a column (``count(*)``)."""

    data: Sources = NONE
    control: Sources = NONE
    complete: bool = True
    counts: bool = False


NOTHING = ValueSources()
UNKNOWN = ValueSources(complete=False)


def merged(flows: Iterable[ValueSources]) -> ValueSources:
    """Return the flow of a value that is computed from values with these flows."""
    flows = [each for each in flows if each is not NOTHING]
    if len(flows) <= 1:
        return flows[0] if flows else NOTHING
    return ValueSources(
        NONE.union(*(each.data for each in flows)),
        NONE.union(*(each.control for each in flows)),
        all(each.complete for each in flows),
        any(each.counts for each in flows),
    )


def deciding(flow: ValueSources) -> ValueSources:
    """Return the same flow, reclassified as control flow."""
    return ValueSources(NONE, flow.data | flow.control, flow.complete)


@dataclass(frozen=True, slots=True)
class Out:
    """An output column; ``name`` is "" if the query gives it none."""

    name: str
    flow: ValueSources


@dataclass(frozen=True, slots=True)
class QueryResult:
    """Result of a query. ``outs`` are the output columns, ``rows`` the flow that selects the rows, ``tables`` the tables
    whose rows the query returns or counts, ``deciding_tables`` the tables that only select rows.

    ``open`` are tables with unknown columns; their columns are in the output under their own names. ``partial`` is True
    if there are further columns, whose names are unknown; ``unresolved_star`` is the flow from which all of them come,
    or None if that is unknown as well.
    """

    outs: tuple[Out, ...] = ()
    rows: ValueSources = NOTHING
    tables: frozenset[Name] = frozenset()
    deciding_tables: frozenset[Name] = frozenset()
    open: tuple[Name, ...] = ()
    partial: bool = False
    unresolved_star: ValueSources | None = None

    @property
    def whole(self) -> bool:
        """Whether all output columns and their order are known."""
        return not self.open and not self.partial


def named(result: QueryResult, names: Sequence[str]) -> QueryResult:
    """Return a copy with new names for the first columns; later columns keep their names."""
    if not names:
        return result
    if not result.whole:
        unresolved_star = None if result.outs else result.unresolved_star
        return replace(result, outs=(), open=(), partial=True, unresolved_star=unresolved_star)
    outs = (Out(name, out.flow) for name, out in zip(names, result.outs, strict=False))
    return replace(result, outs=(*outs, *result.outs[len(names) :]))


def united(one: QueryResult, other: QueryResult, *, by_name: bool) -> QueryResult:
    """Return the union of two results. Columns are matched by position, or by name."""
    rows = merged((one.rows, other.rows))
    tables = one.tables | other.tables
    looked_at = one.deciding_tables | other.deciding_tables
    whole = one.whole and other.whole and (by_name or len(one.outs) == len(other.outs))
    if by_name:
        theirs = {out.name.lower(): out for out in other.outs}
        outs = [Out(out.name, merged((out.flow, theirs.pop(out.name.lower(), out).flow))) for out in one.outs]
        outs.extend(theirs.values())
    else:
        pairs = zip(one.outs, other.outs, strict=False)
        outs = [Out(mine.name, merged((mine.flow, other_.flow))) for mine, other_ in pairs]
    if not whole:
        # After a star over an unknown table no position is certain, but the first query's columns may be known.
        outs = [Out(out.name, merged((out.flow, UNKNOWN))) for out in one.outs] if one.whole else []
    return QueryResult(tuple(outs), rows, tables, looked_at, partial=not one.whole)
