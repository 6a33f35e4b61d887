"""One operator with its inputs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from extractors.spark.columns.expressions import Found, Reader, SubqueryOf, lacks
from extractors.spark.columns.flow import CUT_OFF, UNKNOWN, Doubt, Flow, Kind, Sources
from extractors.spark.columns.lists import Attribute, Elements, attributes, elements, expressions, split
from extractors.spark.columns.relations import NO_ROWS, Relation
from extractors.spark.plan.text import Field, Operator

_NONE: Final = Field("", -1)


@dataclass(frozen=True, slots=True)
class Step:
    """One operator: the fields of its block, and the outputs of its inputs. ``wanted`` are the columns that the
    consumer lists as its input, or None if it lists none.
    """

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
        """Output of the operator's only input, or of all its inputs side by side."""
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
        """Return the columns in a field's list. Return () if the field is missing, and None if the list cannot be
        split.
        """
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

    @property
    def unknown(self) -> Flow:
        """Flow of a column whose sources the operator does not show."""
        return CUT_OFF if " more fields" in self.operator.block else UNKNOWN

    def result(self, relation: Relation, missing: Flow | None = None) -> Relation:
        """Return the relation with the columns in the order in which the consumer lists them. Columns that are not
        known yet get the flow ``missing``.
        """
        missing = missing or self.unknown
        return relation if self.wanted is None else relation.with_columns(self.wanted, missing)


def beside(relations: Sequence[Relation]) -> Relation:
    """Return one relation with the columns of several relations, side by side."""
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
    needed = frozenset[int]().union(*(each.needed for each in relations))
    return Relation(
        columns, flows, names, rows, doubt, relations[0].below, filters, hidden=hidden, needed=needed
    )


def opaque(relation: Relation, found: Found | None = None) -> Flow:
    """Return the flow of a column that a program computes. Its sources are the references in ``found``, or all columns
    if there are none.
    """
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
        doubt |= flow.doubt & Doubt.MISSING
    if relation.columns is None:
        doubt |= Doubt.INCOMPLETE
    return Flow(data, control, Kind.TRANSFORMATION, doubt)


def completed(
    step: Step,
    texts: Sequence[str],
    founds: Sequence[Found],
    flows: list[Flow],
    passed: Collection[int] = (),
) -> list[Flow]:
    """Complete the flows of the expressions in a list if arguments were cut off within them.

    If only one expression was cut, it must have contained the columns that Spark passes to this operator and that
    nothing else in the operator names. If several were cut, it is unknown which of them contained a column. ``passed``
    are columns that the operator names outside the list.
    """
    cut = [position for position, text in enumerate(texts) if lacks(text)]
    for position in cut:
        flow = flows[position]
        lost, doubt = 0, Doubt.INCOMPLETE | Doubt.CUT
        if len(cut) == 1:
            lost, doubt = _lost(step.input, lacks(texts[position]), founds, position, passed)
        flows[position] = replace(flow, data=flow.data | lost, doubt=flow.doubt | doubt)
    return flows


def _lost(
    given: Relation, count: int, founds: Sequence[Found], position: int, passed: Collection[int]
) -> tuple[int, int]:
    """Return the sources of the columns that were certainly cut off, and the doubt about them.

    The sources are complete if exactly ``count`` columns were certainly cut off, or if no other column can have been
    cut off. Other candidates are columns that only a filter below needs, and columns that occur elsewhere in the
    operator.
    """
    own = founds[position].ids
    others = frozenset(passed).union(*(found.ids for at, found in enumerate(founds) if at != position)) - own
    unnamed = [column.id for column in given.columns or () if column.id not in own | others]
    lost = [number for number in unnamed if number in given.needed]
    data = 0
    for number in lost:
        data |= given.flows.get(number, UNKNOWN).data
    possible = len(unnamed) > len(lost) or others or given.columns is None
    if lost and (len(lost) == count or not possible):
        return data, Doubt.INFERRED
    return data, CUT_OFF.doubt | (Doubt.INFERRED if lost else Doubt.NONE)
