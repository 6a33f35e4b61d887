"""One operator with its inputs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from extractors.spark.columns.expressions import FoundReferences, ReferenceFinder, SubqueryOf, lacks
from extractors.spark.columns.flow import CUT_OFF, UNKNOWN, FlowKind, OperatorColumn, Sources, Uncertainty
from extractors.spark.columns.lists import Attribute, Elements, attributes, elements, expressions, split
from extractors.spark.columns.relations import NO_ROWS, RowSet
from extractors.spark.plan.text import BlockField, Operator

_NONE: Final = BlockField("", -1)


@dataclass(frozen=True, slots=True)
class OperatorStep:
    """One operator: the fields of its block, and the outputs of its inputs. ``wanted`` are the columns that the
    consumer lists as its input, or None if it lists none.
    """

    operator: Operator
    name: str
    fields: Mapping[str, BlockField]
    inputs: tuple[RowSet, ...]
    inner: tuple[RowSet, ...]
    wanted: tuple[Attribute, ...] | None
    sources: Sources
    subquery: SubqueryOf
    outer: RowSet | None = None

    @property
    def input(self) -> RowSet:
        """Output of the operator's only input, or of all its inputs side by side."""
        if len(self.inputs) == 1:
            return self.inputs[0]
        return beside(self.inputs)

    def reader(self, relation: RowSet | None = None) -> ReferenceFinder:
        return ReferenceFinder(
            self.input if relation is None else relation, self.sources, self.subquery, self.outer
        )

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
    def unknown(self) -> OperatorColumn:
        """Flow of a column whose sources the operator does not show."""
        return CUT_OFF if " more fields" in self.operator.block else UNKNOWN

    def result(self, relation: RowSet, missing: OperatorColumn | None = None) -> RowSet:
        """Return the relation with the columns in the order in which the consumer lists them. Columns that are not
        known yet get the flow ``missing``.
        """
        missing = missing or self.unknown
        return relation if self.wanted is None else relation.with_columns(self.wanted, missing)


def beside(relations: Sequence[RowSet]) -> RowSet:
    """Return one relation with the columns of several relations, side by side."""
    if not relations:
        return NO_ROWS
    flows: dict[int, OperatorColumn] = {}
    names: dict[int, str] = {}
    rows = uncertainty = 0
    filters: dict[str, int] = {}
    columns: tuple[Attribute, ...] | None = ()
    for each in reversed(relations):
        flows |= each.flows
        names |= each.names
        filters |= each.filters
        rows |= each.rows
        uncertainty |= each.uncertainty
    for each in relations:
        columns = None if columns is None or each.columns is None else columns + each.columns
    hidden = tuple(each for relation in relations for each in relation.hidden)
    needed = frozenset[int]().union(*(each.needed for each in relations))
    return RowSet(
        columns, flows, names, rows, uncertainty, relations[0].below, filters, hidden=hidden, needed=needed
    )


def opaque(relation: RowSet, found: FoundReferences | None = None) -> OperatorColumn:
    """Return the flow of a column that a program computes. Its sources are the references in ``found``, or all columns
    if there are none.
    """
    data, control, uncertainty = 0, 0, Uncertainty.OPAQUE
    if found is not None and found.ids:
        return OperatorColumn(
            found.data, found.control, FlowKind.TRANSFORMATION, found.uncertainty | Uncertainty.OPAQUE
        )
    given = (
        [relation.flows[each.id] for each in relation.columns if each.id in relation.flows]
        if (relation.columns is not None)
        else list(relation.flows.values())
    )
    for flow in given:
        data |= flow.data
        control |= flow.control
        uncertainty |= flow.uncertainty & Uncertainty.MISSING
    if relation.columns is None:
        uncertainty |= Uncertainty.INCOMPLETE
    return OperatorColumn(data, control, FlowKind.TRANSFORMATION, uncertainty)


def completed(
    step: OperatorStep,
    texts: Sequence[str],
    founds: Sequence[FoundReferences],
    flows: list[OperatorColumn],
    passed: Collection[int] = (),
) -> list[OperatorColumn]:
    """Complete the flows of the expressions in a list if arguments were cut off within them.

    If only one expression was cut, it must have contained the columns that Spark passes to this operator and that
    nothing else in the operator names. If several were cut, it is unknown which of them contained a column. ``passed``
    are columns that the operator names outside the list.
    """
    cut = [position for position, text in enumerate(texts) if lacks(text)]
    for position in cut:
        flow = flows[position]
        lost, uncertainty = 0, Uncertainty.INCOMPLETE | Uncertainty.CUT
        if len(cut) == 1:
            lost, uncertainty = _lost(step.input, lacks(texts[position]), founds, position, passed)
        flows[position] = replace(flow, data=flow.data | lost, uncertainty=flow.uncertainty | uncertainty)
    return flows


def _lost(
    given: RowSet, count: int, founds: Sequence[FoundReferences], position: int, passed: Collection[int]
) -> tuple[int, int]:
    """Return the sources of the columns that were certainly cut off, and the uncertainty about them.

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
        return data, Uncertainty.INFERRED
    return data, CUT_OFF.uncertainty | (Uncertainty.INFERRED if lost else Uncertainty.NONE)
