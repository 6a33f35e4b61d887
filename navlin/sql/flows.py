"""Which columns a value is made of.

Values carry sets of source columns; a set is made once for each output column of a query, however often the query is
referred to, so that chains of common table expressions cost what they are long, not what they unfold to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from navlin.sql.reading import Name, SourceColumn

Sources = frozenset[SourceColumn]
NONE: Sources = frozenset()


class TooMuch(Exception):
    """The text unfolds to more than is worth holding."""


@dataclass(frozen=True, slots=True)
class Flow:
    """What a value is made of. ``counts``: of rows, no column among them (``count(*)``)."""

    data: Sources = NONE
    control: Sources = NONE
    complete: bool = True
    counts: bool = False


NOTHING = Flow()
UNKNOWN = Flow(complete=False)


def merged(flows: Iterable[Flow]) -> Flow:
    """The flow of a value that is made of several."""
    flows = [each for each in flows if each is not NOTHING]
    if len(flows) <= 1:
        return flows[0] if flows else NOTHING
    return Flow(
        NONE.union(*(each.data for each in flows)),
        NONE.union(*(each.control for each in flows)),
        all(each.complete for each in flows),
        any(each.counts for each in flows),
    )


def deciding(flow: Flow) -> Flow:
    """The same as something that only decides."""
    return Flow(NONE, flow.data | flow.control, flow.complete)


@dataclass(frozen=True, slots=True)
class Out:
    """An output column; ``name`` is "" where the query gives it none."""

    name: str
    flow: Flow


@dataclass(frozen=True, slots=True)
class Result:
    """What a query makes: its columns, what decides its rows, the tables it reads and those that only decide.

    ``open`` are tables of unknown columns all of which are among the output under their own names, ``partial``:
    there are further columns of which nothing is known, but that they all come of ``whatever``.
    """

    outs: tuple[Out, ...] = ()
    rows: Flow = NOTHING
    tables: frozenset[Name] = frozenset()
    deciding_tables: frozenset[Name] = frozenset()
    open: tuple[Name, ...] = ()
    partial: bool = False
    whatever: Flow | None = None

    @property
    def whole(self) -> bool:
        """Whether all output columns are known, and in which order."""
        return not self.open and not self.partial


def named(result: Result, names: Sequence[str]) -> Result:
    """The same with other names for its first columns: those behind them keep theirs."""
    if not names:
        return result
    if not result.whole:
        whatever = None if result.outs else result.whatever
        return replace(result, outs=(), open=(), partial=True, whatever=whatever)
    outs = (Out(name, out.flow) for name, out in zip(names, result.outs, strict=False))
    return replace(result, outs=(*outs, *result.outs[len(names) :]))


def united(one: Result, other: Result, *, by_name: bool) -> Result:
    """A union: columns meet by position, or by name."""
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
        # Behind a star over an unknown table no position is certain, but those before the union are.
        outs = [Out(out.name, merged((out.flow, UNKNOWN))) for out in one.outs] if one.whole else []
    return Result(tuple(outs), rows, tables, looked_at, partial=not one.whole)
