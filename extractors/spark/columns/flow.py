"""The flow of one column: the columns of tables and paths from which it is computed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from extractors.spark.incomplete import Incomplete
from extractors.spark.plan.reads import End


class Kind(StrEnum):
    IDENTITY = "IDENTITY"
    TRANSFORMATION = "TRANSFORMATION"
    AGGREGATION = "AGGREGATION"


_RANK: Final = {kind: rank for rank, kind in enumerate(Kind)}


def strongest(kinds: Iterable[Kind]) -> Kind:
    return max(kinds, key=_RANK.__getitem__, default=Kind.IDENTITY)


class Doubt:
    """Doubts about a column, as bits. INFERRED: the flow is derived from other parts of the plan. OPAQUE: a program is
    between the column and its sources. INCOMPLETE: something is missing; the higher bits give the reason, if known.
    """

    NONE: Final = 0
    INFERRED: Final = 1
    OPAQUE: Final = 2
    INCOMPLETE: Final = 4
    CUT: Final = 8
    PROGRAM: Final = 16
    OPERATOR: Final = 32
    INPUT: Final = 64
    PATHS: Final = 128
    MISSING: Final = INCOMPLETE | CUT | PROGRAM | OPERATOR | INPUT | PATHS


REASONS: Final = (
    (Doubt.CUT, Incomplete.FIELDS_CUT),
    (Doubt.PROGRAM, Incomplete.PROGRAM),
    (Doubt.OPERATOR, Incomplete.UNKNOWN_OPERATOR),
    (Doubt.INPUT, Incomplete.UNKNOWN_INPUT),
    (Doubt.PATHS, Incomplete.PATHS_CUT),
)


def reasons_of(doubt: int) -> tuple[Incomplete, ...]:
    """Return the reasons why a column's flow is incomplete; () if it is complete."""
    if not doubt & Doubt.INCOMPLETE:
        return ()
    return tuple(reason for bit, reason in REASONS if doubt & bit) or (Incomplete.UNKNOWN_COLUMN,)


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """A column that a plan reads."""

    end: End
    name: str


MAX_SOURCES: Final = 20_000


class TooMuch(Exception):
    """A plan has too many columns to follow."""


class Sources:
    """All columns that a plan reads. Each column is a bit, so that a set of columns is an integer."""

    def __init__(self, *, changes_rows: bool = False, driver_rows: bool = False) -> None:
        self.changes_rows = changes_rows
        """Whether the plan changes existing rows; see `extractors.spark.columns.changes`."""
        self.driver_rows = driver_rows
        """Whether the plan's local rows may come from a program; see `extractors.spark.plan.local_rows`."""
        self._bits: dict[SourceColumn, int] = {}
        self._columns: list[SourceColumn] = []

    def bit(self, column: SourceColumn) -> int:
        """Return the set that contains only this column. Raises `TooMuch`."""
        place = self._bits.get(column)
        if place is None:
            place = self._bits[column] = len(self._columns)
            self._columns.append(column)
            if place >= MAX_SOURCES:
                raise TooMuch
        return 1 << place

    def columns(self, bits: int) -> Iterator[SourceColumn]:
        while bits:
            lowest = bits & -bits
            yield self._columns[lowest.bit_length() - 1]
            bits ^= lowest


@dataclass(frozen=True, slots=True)
class Flow:
    """One column of an operator. ``data`` and ``control`` are sets of columns in `Sources`."""

    data: int = 0
    control: int = 0
    kind: Kind = Kind.IDENTITY
    doubt: int = Doubt.NONE
    expression: str = ""
    fields: tuple[tuple[str, Flow], ...] = ()
    """(name, flow) of each field of a struct that the plan itself builds."""
    kept: int = 0
    """In a row change, the source columns of the same name whose values are copied unchanged. Nothing flows if they
    belong to the changed table itself.
    """
    literal: bool = False
    """Whether the column certainly takes no value from another column, because it is a literal, a count of rows, a
    rank or a random number.
    """

    @property
    def unexplained(self) -> bool:
        """Whether the column has neither a source nor a doubt and is not known to be a literal. In that case,
        something was overlooked.
        """
        return not (self.data or self.kept or self.doubt or self.literal)


UNKNOWN: Final = Flow(kind=Kind.TRANSFORMATION, doubt=Doubt.INCOMPLETE)
CUT_OFF: Final = Flow(kind=Kind.TRANSFORMATION, doubt=Doubt.INCOMPLETE | Doubt.CUT)
FROM_PROGRAM: Final = Flow(kind=Kind.TRANSFORMATION, doubt=Doubt.INCOMPLETE | Doubt.PROGRAM)
BY_UNKNOWN_OPERATOR: Final = Flow(kind=Kind.TRANSFORMATION, doubt=Doubt.INCOMPLETE | Doubt.OPERATOR)
CONSTANT: Final = Flow(kind=Kind.TRANSFORMATION, literal=True)


def merged(flows: Iterable[Flow]) -> Flow:
    """Return the merged flow of one column that takes values from several flows, as in a union or in two writes of one
    table.
    """
    flows = list(flows)
    if len(flows) == 1:
        return flows[0]
    data = control = doubt = kept = 0
    for flow in flows:
        data |= flow.data
        kept |= flow.kept
        control |= flow.control
        doubt |= Doubt.INCOMPLETE if flow.unexplained else flow.doubt
    expressions = dict.fromkeys(flow.expression for flow in flows if flow.expression)
    kind, literal = strongest(flow.kind for flow in flows), all(flow.literal for flow in flows)
    return Flow(data, control, kind, doubt, next(iter(expressions), ""), kept=kept, literal=literal)
