"""The flow of one column: the columns of tables and paths from which it is computed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from extractors.spark.incomplete import Incomplete
from extractors.spark.plan.reads import PlanEnd


class FlowKind(StrEnum):
    IDENTITY = "IDENTITY"
    TRANSFORMATION = "TRANSFORMATION"
    AGGREGATION = "AGGREGATION"


_RANK: Final = {kind: rank for rank, kind in enumerate(FlowKind)}


def strongest(kinds: Iterable[FlowKind]) -> FlowKind:
    return max(kinds, key=_RANK.__getitem__, default=FlowKind.IDENTITY)


class Uncertainty:
    """Uncertainties about a column, as bits. INFERRED: the flow is derived from other parts of the plan. OPAQUE: a
    program is between the column and its sources. INCOMPLETE: something is missing; the higher bits give the reason, if
    known.
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
    (Uncertainty.CUT, Incomplete.FIELDS_CUT),
    (Uncertainty.PROGRAM, Incomplete.PROGRAM),
    (Uncertainty.OPERATOR, Incomplete.UNKNOWN_OPERATOR),
    (Uncertainty.INPUT, Incomplete.UNKNOWN_INPUT),
    (Uncertainty.PATHS, Incomplete.PATHS_CUT),
)


def reasons_of(uncertainty: int) -> tuple[Incomplete, ...]:
    """Return the reasons why a column's flow is incomplete; () if it is complete."""
    if not uncertainty & Uncertainty.INCOMPLETE:
        return ()
    return tuple(reason for bit, reason in REASONS if uncertainty & bit) or (Incomplete.UNKNOWN_COLUMN,)


@dataclass(frozen=True, slots=True)
class PlanColumn:
    """A column that a plan reads."""

    end: PlanEnd
    name: str


MAX_SOURCES: Final = 20_000


class TooManyColumns(Exception):
    """A plan has too many columns to follow."""


class Sources:
    """All columns that a plan reads. Each column is a bit, so that a set of columns is an integer."""

    def __init__(self, *, changes_rows: bool = False, driver_rows: bool = False) -> None:
        self.changes_rows = changes_rows
        """Whether the plan changes existing rows; see `extractors.spark.columns.changes`."""
        self.driver_rows = driver_rows
        """Whether the plan's local rows may come from a program; see `extractors.spark.plan.local_rows`."""
        self._bits: dict[PlanColumn, int] = {}
        self._columns: list[PlanColumn] = []

    def bit(self, column: PlanColumn) -> int:
        """Return the set that contains only this column. Raises `TooManyColumns`."""
        place = self._bits.get(column)
        if place is None:
            place = self._bits[column] = len(self._columns)
            self._columns.append(column)
            if place >= MAX_SOURCES:
                raise TooManyColumns
        return 1 << place

    def columns(self, bits: int) -> Iterator[PlanColumn]:
        while bits:
            lowest = bits & -bits
            yield self._columns[lowest.bit_length() - 1]
            bits ^= lowest


@dataclass(frozen=True, slots=True)
class OperatorColumn:
    """One column of an operator. ``data`` and ``control`` are sets of columns in `Sources`."""

    data: int = 0
    control: int = 0
    kind: FlowKind = FlowKind.IDENTITY
    uncertainty: int = Uncertainty.NONE
    expression: str = ""
    fields: tuple[tuple[str, OperatorColumn], ...] = ()
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
        """Whether the column has neither a source nor an uncertainty and is not known to be a literal. In that case,
        something was overlooked.
        """
        return not (self.data or self.kept or self.uncertainty or self.literal)


UNKNOWN: Final = OperatorColumn(kind=FlowKind.TRANSFORMATION, uncertainty=Uncertainty.INCOMPLETE)
CUT_OFF: Final = OperatorColumn(
    kind=FlowKind.TRANSFORMATION, uncertainty=Uncertainty.INCOMPLETE | Uncertainty.CUT
)
FROM_PROGRAM: Final = OperatorColumn(
    kind=FlowKind.TRANSFORMATION, uncertainty=Uncertainty.INCOMPLETE | Uncertainty.PROGRAM
)
BY_UNKNOWN_OPERATOR: Final = OperatorColumn(
    kind=FlowKind.TRANSFORMATION, uncertainty=Uncertainty.INCOMPLETE | Uncertainty.OPERATOR
)
CONSTANT: Final = OperatorColumn(kind=FlowKind.TRANSFORMATION, literal=True)


def merged(flows: Iterable[OperatorColumn]) -> OperatorColumn:
    """Return the merged flow of one column that takes values from several flows, as in a union or in two writes of one
    table.
    """
    flows = list(flows)
    if len(flows) == 1:
        return flows[0]
    data = control = uncertainty = kept = 0
    for flow in flows:
        data |= flow.data
        kept |= flow.kept
        control |= flow.control
        uncertainty |= Uncertainty.INCOMPLETE if flow.unexplained else flow.uncertainty
    expressions = dict.fromkeys(flow.expression for flow in flows if flow.expression)
    kind, literal = strongest(flow.kind for flow in flows), all(flow.literal for flow in flows)
    return OperatorColumn(
        data, control, kind, uncertainty, next(iter(expressions), ""), kept=kept, literal=literal
    )
