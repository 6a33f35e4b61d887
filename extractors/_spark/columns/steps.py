"""One operator and what it is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from extractors._spark.columns.expressions import Found, Reader, SubqueryOf, lacks
from extractors._spark.columns.flow import UNKNOWN, Doubt, Flow, Kind, Sources
from extractors._spark.columns.lists import Attribute, Elements, attributes, elements, expressions, split
from extractors._spark.columns.relations import NO_ROWS, Relation
from extractors._spark.plan.text import Field, Operator

_NONE: Final = Field("", -1)
MIN_RUN: Final = 5
"""Columns that must stand beside each other before they count as a run."""


@dataclass(frozen=True, slots=True)
class Step:
    """One operator: its block's fields, what its inputs hand on, and the columns that its consumer lists (None: it lists
    none)."""

    operator: Operator
    name: str
    fields: Mapping[str, Field]
    inputs: tuple[Relation, ...]
    inner: tuple[Relation, ...]
    wanted: tuple[Attribute, ...] | None
    sources: Sources
    subquery: SubqueryOf
    outer: Relation | None = None

    @property
    def input(self) -> Relation:
        """Its only input, or all of them side by side."""
        if len(self.inputs) == 1:
            return self.inputs[0]
        return beside(self.inputs)

    def reader(self, relation: Relation | None = None) -> Reader:
        return Reader(self.input if relation is None else relation, self.sources, self.subquery, self.outer)

    def text(self, name: str) -> str:
        return self.fields.get(name, _NONE).text

    def listed(self, name: str) -> Elements:
        found = self.fields.get(name, _NONE)
        return elements(found.text, found.count)

    def columns(self, name: str) -> tuple[Attribute, ...] | None:
        """A list of columns; () where the field is not there."""
        found = self.fields.get(name)
        if found is None:
            return ()
        return attributes(found.text, found.count) if found.text != "[]" else ()

    def expressions(self, name: str) -> Elements:
        found = self.fields.get(name, _NONE)
        return expressions(found.text, found.count, self.wanted or ())

    @property
    def arguments(self) -> list[str]:
        return list(split(self.text("Arguments")))

    def result(self, relation: Relation, missing: Flow = UNKNOWN) -> Relation:
        return relation if self.wanted is None else relation.with_columns(self.wanted, missing)


def beside(relations: Sequence[Relation]) -> Relation:
    """The columns of several relations, one row of each at a time."""
    if not relations:
        return NO_ROWS
    flows: dict[int, Flow] = {}
    names: dict[int, str] = {}
    rows = doubt = 0
    filters: dict[str, int] = {}
    columns: tuple[Attribute, ...] | None = ()
    for each in reversed(relations):
        flows |= each.flows
        names |= each.names
        filters |= each.filters
        rows |= each.rows
        doubt |= each.doubt
    for each in relations:
        columns = None if columns is None or each.columns is None else columns + each.columns
    hidden = tuple(each for relation in relations for each in relation.hidden)
    return Relation(columns, flows, names, rows, doubt, relations[0].below, filters, hidden=hidden)


def opaque(relation: Relation, found: Found | None = None) -> Flow:
    """A column that a program made of all columns there are, or of those that it was given."""
    data, control, doubt = 0, 0, Doubt.OPAQUE
    if found is not None and found.ids:
        return Flow(found.data, found.control, Kind.TRANSFORMATION, found.doubt | Doubt.OPAQUE)
    given = (
        [relation.flows[each.id] for each in relation.columns if each.id in relation.flows]
        if (relation.columns is not None)
        else list(relation.flows.values())
    )
    for flow in given:
        data |= flow.data
        control |= flow.control
        doubt |= flow.doubt & Doubt.INCOMPLETE
    return Flow(data, control, Kind.TRANSFORMATION, doubt)


def completed(step: Step, texts: Sequence[str], founds: Sequence[Found], flows: list[Flow]) -> list[Flow]:
    """The flows of a list's expressions, where arguments were cut off within them.

    If it happened to one only, what it lost may be known: the input's columns that nothing else names, if they are as many,
    or the rest of a run of the input's columns, if it reaches to the last one. Of several, nobody can tell.
    """
    cut = [position for position, text in enumerate(texts) if lacks(text)]
    if not cut:
        return flows
    found = _lost(step, texts, founds, cut[0]) if len(cut) == 1 else None
    for position in cut:
        flow = flows[position]
        lost, doubt = found if found else (0, Doubt.INCOMPLETE)
        flows[position] = replace(flow, data=flow.data | lost, doubt=flow.doubt | doubt)
    return flows


def _lost(step: Step, texts: Sequence[str], founds: Sequence[Found], position: int) -> tuple[int, int] | None:
    given = step.input.columns
    if given is None:
        return None
    count = lacks(texts[position])
    named = frozenset().union(*(found.ids for found in founds))
    lost = [column.id for column in given if column.id not in named]
    if len(lost) != count:
        # Columns that are there for the sake of a filter below.
        lost = [number for number in lost if not step.input.flows.get(number, UNKNOWN).data & step.input.rows]
    if len(lost) != count:
        places = [place for place, column in enumerate(given) if column.id in founds[position].ids]
        run = len(places) > MIN_RUN and places[-1] - places[0] + 1 == len(places)
        if not run or places[-1] + 1 + count != len(given):
            return None
        lost = [column.id for column in given[places[-1] + 1 :]]
    data = 0
    for number in lost:
        data |= step.input.flows.get(number, UNKNOWN).data
    return data, Doubt.INFERRED
