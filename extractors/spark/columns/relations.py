"""The output of an operator, as the next operator receives it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from extractors.spark.columns.flow import UNKNOWN, OperatorColumn, Uncertainty
from extractors.spark.columns.lists import Attribute
from extractors.spark.plan.reads import PlanEnd

MAX_BELOW: Final = 24
"""Maximum number of consecutive aggregate steps in which an argument is looked up."""


@dataclass(frozen=True, slots=True)
class Hidden:
    """Columns that were cut off the list of a table's columns. Their ids are consecutive."""

    first: int
    last: int
    ends: tuple[PlanEnd, ...]


@dataclass(frozen=True, slots=True)
class RowSet:
    """Rows with columns. ``columns`` are the columns in order, None if unknown. ``flows`` and ``names`` map column ids
    to flows and names. ``rows`` are the sources that determine which rows exist; ``uncertainty`` holds uncertainties
    about all columns for that reason.

    ``below`` is the input of an aggregate. It is needed because later steps name the arguments as in the first step.
    ``filters`` maps the text of a function to the sources of its FILTER, which only the first step prints.
    ``functions`` are the flows of the functions, in order, of a step that is not the last one. ``needed`` are the
    columns that are passed on only because an operator above names them; Spark prunes all other columns. ``first``
    maps column ids to the flows from only the first query of a union, if a marker column distinguishes the inputs of
    the union.
    """

    columns: tuple[Attribute, ...] | None
    flows: Mapping[int, OperatorColumn]
    names: Mapping[int, str]
    rows: int = 0
    uncertainty: int = Uncertainty.NONE
    below: RowSet | None = None
    filters: Mapping[str, int] = field(default_factory=dict)
    functions: tuple[OperatorColumn, ...] = ()
    hidden: tuple[Hidden, ...] = ()
    needed: frozenset[int] = frozenset()
    first: Mapping[int, OperatorColumn] = field(default_factory=dict)

    def find(self, number: int) -> tuple[OperatorColumn, str] | None:
        """Return (flow, name) of the column with this id; None if it is unknown."""
        at: RowSet | None = self
        for _ in range(MAX_BELOW):
            if at is None:
                return None
            flow = at.flows.get(number)
            if flow is not None:
                return flow, at.names.get(number, "")
            at = at.below
        return None

    def first_query(self) -> Mapping[int, OperatorColumn]:
        """Return ``first`` of the nearest union with a marker column that distinguishes its inputs; empty if there is
        no such union.
        """
        at: RowSet | None = self
        for _ in range(MAX_BELOW):
            if at is None:
                break
            if at.first:
                return at.first
            at = at.below
        return {}

    def in_order(self) -> list[OperatorColumn] | None:
        return None if self.columns is None else [self.flows.get(each.id, UNKNOWN) for each in self.columns]

    def all_needed(self) -> RowSet:
        """Return a copy in which every column counts as needed by an operator above."""
        return replace(self, needed=frozenset(each.id for each in self.columns or ()))

    def with_rows(self, rows: int, uncertainty: int = Uncertainty.NONE) -> RowSet:
        """Return a copy with further sources that determine which rows exist."""
        if rows | self.rows == self.rows and uncertainty | self.uncertainty == self.uncertainty:
            return self
        return replace(self, rows=self.rows | rows, uncertainty=self.uncertainty | uncertainty)

    def with_columns(self, columns: tuple[Attribute, ...], missing: OperatorColumn) -> RowSet:
        """Return a copy with the columns in the order in which the consumer lists its input. Columns that are not
        known yet get the flow ``missing``.
        """
        if columns == self.columns:
            return self
        names = {each.id: each.name for each in columns}
        unknown = {each: missing for each in names if each not in self.flows}
        flows = {**self.flows, **unknown} if unknown else self.flows
        return replace(self, columns=columns, flows=flows, names={**self.names, **names})


def made(
    columns: tuple[Attribute, ...] | None,
    flows: Mapping[int, OperatorColumn],
    names: Mapping[int, str],
    over: RowSet,
) -> RowSet:
    """Return a relation with new columns over the rows of another relation."""
    return RowSet(
        columns,
        flows,
        names,
        over.rows,
        over.uncertainty,
        over.below,
        over.filters,
        hidden=over.hidden,
        first=over.first,
    )


NO_ROWS: Final = RowSet((), {}, {})
