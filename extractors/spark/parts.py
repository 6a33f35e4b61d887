"""Create the sub-operations of an operation: one per written column, and one for control flow that all columns share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from extractors.lineage.operations import Flow, SubOperation
from extractors.spark.columns.flow import FlowKind, PlanColumn
from extractors.spark.columns.written import ColumnFlow
from extractors.spark.effect import OutputColumns, RunEffect
from extractors.spark.plan.reads import EndKind, PlanEnd
from navlin.model.keys import (
    Key,
    RelationType,
    column_key,
    dataset_column_key,
    path_column_key,
    sub_operation_key,
)
from navlin.model.records import Attributes
from navlin.model.redaction import bounded

MAX_EXPRESSION_BYTES: Final = 4 << 10
MAX_NAMES: Final = 1_000
MAX_CONTROLS: Final = 2_000
"""Maximum number of control relations of one write. Beyond it, control relations common to all written columns are
stated only once.
"""


def only_control(effect: RunEffect) -> frozenset[PlanEnd]:
    """Return the inputs that are only control flow, because they certainly provide no values for written columns."""
    flows = [flow for output in effect.columns for flow in output.flows]
    if not flows or not effect.columns_complete or any(_counts(flow) for flow in flows):
        return frozenset()
    data = {source.end for flow in flows for source in flow.data}
    return frozenset(source.end for flow in flows for source in flow.control) - data


def _counts(flow: ColumnFlow) -> bool:
    """Whether a column depends on whole rows, like a count, or is computed by a program."""
    return flow.opaque or (flow.kind is FlowKind.AGGREGATION and not flow.data)


def parts_of(operation: Key, effect: RunEffect, key_of: Callable[[PlanEnd], Key]) -> Iterator[SubOperation]:
    """Yield the sub-operations of all columns that an operation writes."""
    parts = _Parts(operation, key_of)
    for output in effect.columns:
        yield from parts.of(output)


class _Parts:
    """Creates sub-operations. Each key is created only once, because the same columns flow into many other columns."""

    def __init__(self, operation: Key, key_of: Callable[[PlanEnd], Key]) -> None:
        self._operation = operation
        self._key_of = key_of
        self._ends: dict[PlanEnd, Key] = {}
        self._columns: dict[PlanColumn, Key] = {}

    def _column(self, column: PlanColumn) -> Key:
        key = self._columns.get(column)
        if key is None:
            end = column.end
            above = self._ends.get(end)
            if above is None:
                above = self._ends[end] = self._key_of(end)
            match end.kind:
                # No source lists the columns of paths and topics, so the names of these columns keep their case.
                case EndKind.PATH | EndKind.TOPIC:
                    key = path_column_key(above, column.name)
                case EndKind.JDBC | EndKind.QUERY:
                    key = dataset_column_key(above, column.name)
                case _:
                    key = column_key(above, column.name)
            self._columns[column] = key
        return key

    def of(self, output: OutputColumns) -> Iterator[SubOperation]:
        common = _common(output.flows)
        for flow in output.flows:
            yield self._of_column(output.end, flow, common)
        if common:
            yield self._predicate(output, common)

    def _of_column(self, end: PlanEnd, flow: ColumnFlow, common: frozenset[PlanColumn]) -> SubOperation:
        written = self._column(PlanColumn(end, flow.output))
        control = [each for each in flow.control if each not in common]
        flags: Attributes = {name: True for name in ("inferred", "parsed") if getattr(flow, name)}
        return SubOperation(
            sub_operation_key(self._operation, written.identity, name=bounded(flow.output, 1000)),
            {
                **_shared("PROJECTION", (*flow.data, *control), [f"{end.readable}.{flow.output}"]),
                # The text of a query does not show whether a column passes unchanged.
                "transformation": None if flow.parsed and flow.kind is FlowKind.IDENTITY else flow.kind.value,
                "expression": bounded(flow.expression, MAX_EXPRESSION_BYTES),
                "inferred": flow.inferred or None,
                "parsed": flow.parsed or None,
                "opaque": flow.opaque or None,
                "incomplete": flow.incomplete or None,
            },
            [
                *self._flows(flow.data, RelationType.DATA_FLOW, flags),
                *self._flows(control, RelationType.CONTROL_FLOW, flags),
            ],
            [Flow(written, flags)],
        )

    def _predicate(self, output: OutputColumns, common: frozenset[PlanColumn]) -> SubOperation:
        part = f"predicate {self._key_of(output.end).identity}"
        columns = sorted(common, key=lambda each: (each.end.readable, each.name))
        outputs = [f"{output.end.readable}.{flow.output}" for flow in output.flows]
        return SubOperation(
            sub_operation_key(self._operation, part, name="predicate"),
            _shared("PREDICATE", columns, outputs),
            self._flows(columns, RelationType.CONTROL_FLOW),
            [Flow(self._column(PlanColumn(output.end, flow.output))) for flow in output.flows],
        )

    def _flows(
        self, sources: Iterable[PlanColumn], kind: RelationType, flags: Attributes | None = None
    ) -> list[Flow]:
        # Keyed by identity, because the name of a column may be spelled in two ways.
        keys = {key.identity: key for key in map(self._column, sources)}
        return [Flow(key, flags or {}, kind) for key in keys.values()]


def _shared(edge_type: str, sources: Iterable[PlanColumn], outputs: list[str]) -> dict[str, Any]:
    inputs = dict.fromkeys(f"{each.end.readable}.{each.name}" for each in sources)
    return {
        "internalType": "spark_sub_operation",
        "engineType": "SPARK",
        "edgeType": edge_type,
        "inputs": [bounded(name) for name in list(inputs)[:MAX_NAMES]],
        "outputs": [bounded(name) for name in outputs[:MAX_NAMES]],
    }


def _common(flows: tuple[ColumnFlow, ...]) -> frozenset[PlanColumn]:
    """Return the columns that control all written columns, if stating them for each would exceed `MAX_CONTROLS`."""
    if sum(len(flow.control) for flow in flows) <= MAX_CONTROLS:
        return frozenset()
    control = frozenset().union(*(flow.control for flow in flows))
    everywhere = frozenset.intersection(*(frozenset((*flow.control, *flow.data)) for flow in flows))
    return control & everywhere
