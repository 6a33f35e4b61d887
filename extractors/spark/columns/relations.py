"""The output of an operator, as the next one receives it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from extractors.spark.columns.flow import UNKNOWN, Doubt, Flow
from extractors.spark.columns.lists import Attribute
from extractors.spark.plan.reads import End

MAX_BELOW: Final = 24
"""Limit for aggregate steps, one above the other, through which an argument is searched."""


@dataclass(frozen=True, slots=True)
class Hidden:
    """Columns of a table whose list was cut: their ids are consecutive."""

    first: int
    last: int
    ends: tuple[End, ...]


@dataclass(frozen=True, slots=True)
class Relation:
    """Rows with columns. ``columns`` is their order, None if unknown; ``rows`` are the sources that decide which rows there
    are, ``doubt`` the doubts about all columns because of them.

    ``below`` is the input of an aggregate: its later steps name their arguments as its first step had them.
    ``filters`` are the sources of the first step's FILTERs, by the function's text: the last step does not repeat them.
    ``functions`` are those of a step that is not the last one, in their order.
    ``needed`` are columns that are handed on only because an operator above names them: Spark prunes the others.
    ``first`` are the columns as a union's first query alone gives them, if a marker column distinguishes its inputs.
    """

    columns: tuple[Attribute, ...] | None
    flows: Mapping[int, Flow]
    names: Mapping[int, str]
    rows: int = 0
    doubt: int = Doubt.NONE
    below: Relation | None = None
    filters: Mapping[str, int] = field(default_factory=dict)
    functions: tuple[Flow, ...] = ()
    hidden: tuple[Hidden, ...] = ()
    needed: frozenset[int] = frozenset()
    first: Mapping[int, Flow] = field(default_factory=dict)

    def find(self, number: int) -> tuple[Flow, str] | None:
        """A column and its name, by its id; None if unknown."""
        at: Relation | None = self
        for _ in range(MAX_BELOW):
            if at is None:
                return None
            flow = at.flows.get(number)
            if flow is not None:
                return flow, at.names.get(number, "")
            at = at.below
        return None

    def first_query(self) -> Mapping[int, Flow]:
        """The columns of the nearest union whose inputs a marker distinguishes, as given by its first query."""
        at: Relation | None = self
        for _ in range(MAX_BELOW):
            if at is None:
                break
            if at.first:
                return at.first
            at = at.below
        return {}

    def in_order(self) -> list[Flow] | None:
        return None if self.columns is None else [self.flows.get(each.id, UNKNOWN) for each in self.columns]

    def all_needed(self) -> Relation:
        """A copy in which each column is needed by an operator above."""
        return replace(self, needed=frozenset(each.id for each in self.columns or ()))

    def with_rows(self, rows: int, doubt: int = Doubt.NONE) -> Relation:
        """A copy with further sources that decide which rows there are."""
        if rows | self.rows == self.rows and doubt | self.doubt == self.doubt:
            return self
        return replace(self, rows=self.rows | rows, doubt=self.doubt | doubt)

    def with_columns(self, columns: tuple[Attribute, ...], missing: Flow) -> Relation:
        """A copy in the order in which the consumer lists its input; columns not known yet are ``missing``."""
        if columns == self.columns:
            return self
        names = {each.id: each.name for each in columns}
        unknown = {each: missing for each in names if each not in self.flows}
        flows = {**self.flows, **unknown} if unknown else self.flows
        return replace(self, columns=columns, flows=flows, names={**self.names, **names})


def made(
    columns: tuple[Attribute, ...] | None, flows: Mapping[int, Flow], names: Mapping[int, str], over: Relation
) -> Relation:
    """New columns over the rows of another relation."""
    return Relation(
        columns,
        flows,
        names,
        over.rows,
        over.doubt,
        over.below,
        over.filters,
        hidden=over.hidden,
        first=over.first,
    )


NO_ROWS: Final = Relation((), {}, {})
