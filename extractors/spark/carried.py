"""Columns of a command whose rows another execution computes, and columns of a row change."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from extractors.spark.application import SqlExecution, Started
from extractors.spark.columns.flow import FlowKind, PlanColumn
from extractors.spark.columns.replacing import replaced
from extractors.spark.columns.written import ColumnFlow, WrittenColumns, unknown_columns
from extractors.spark.incomplete import Incomplete
from extractors.spark.plan.names import without_partitions
from extractors.spark.plan.reads import MATERIALIZED, EndKind, PlanEnd
from extractors.spark.plan.writes import Write
from navlin.model.keys import split_location

SOURCE_KEPT: Final = "MERGE operation - materialize source"
"""Suffix of Delta's description of the execution that materializes the source of a MERGE."""
_UNKNOWN: Final = ColumnFlow("", (), (), FlowKind.TRANSFORMATION, "", incomplete=True)
BOOKKEEPING: Final = frozenset({"__is_cdc", "_change_type"})
"""Columns that Delta adds to changed rows, for its change data feed."""


def carried_columns(write: Write, execution: SqlExecution, members: list[SqlExecution]) -> WrittenColumns:
    """Return the columns that an execution below a command computes for the command.

    Several executions may run below a command, and most of them only look something up. The execution that computes
    the rows can be recognized by its output: columns that the command's own plan mentions or, for a row change, all
    columns of the table, including the assigned ones.
    """
    results = [
        (each.started, each.started.plan.result)
        for each in members
        if each.id > execution.id and each.started and each.started.plan.result
    ]
    plan = execution.started.plan if execution.started else None
    if plan is None:
        return unknown_columns(Incomplete.NO_COLUMNS)
    if write.changes_rows:
        changing = [
            result
            for _, result in results
            if plan.assigned <= {flow.output for flow in result.flows} and plan.assigned
        ]
        # A change data feed packs rows into arrays, which mix all columns.
        packed = any(flow.output in BOOKKEEPING for result in changing[-1:] for flow in result.flows)
        if not changing or packed:
            return unknown_columns(Incomplete.NO_COLUMNS)
        kept = [each for each in results if each[0].description.endswith(SOURCE_KEPT)]
        return _joined(changing[-1], kept)
    matching = [result for started, result in results if started.plan.defines.keys() & plan.mentions]
    if not matching:
        named = execution.started.description if execution.started else ""
        matching = [result for started, result in results if started.description == named]
    if len(matching) != 1:
        return unknown_columns(Incomplete.NO_COLUMNS)
    if plan.aggregates and not any(flow.data or flow.incomplete for flow in matching[0].flows):
        # The query was answered from the table's statistics, so the rows are literals.
        return unknown_columns(Incomplete.UNKNOWN_COLUMN)
    return matching[0]


def _joined(columns: WrittenColumns, kept: list[tuple[Started, WrittenColumns]]) -> WrittenColumns:
    """Replace the columns of a MERGE's materialized rows with the columns of the source from which the rows were made."""
    made: dict[str, ColumnFlow] = {}
    reasons = dict.fromkeys(columns.reasons)
    for started, result in kept:
        by_name = {flow.output: flow for flow in result.flows}
        made |= by_name
        # The columns of a view have ids that do not occur in the executed plan.
        made |= {f"{name}#{number}": by_name[name] for number, name in started.plan.defines.items()}
        reasons |= dict.fromkeys(result.reasons)

    def meaning(column: PlanColumn) -> ColumnFlow | None:
        if column.end != MATERIALIZED:
            return None
        return made.get(column.name) or made.get(column.name.rpartition("#")[0]) or _UNKNOWN

    flows = tuple(replaced(flow, meaning) for flow in columns.flows)
    if any(each.incomplete for each in flows) and not reasons:
        reasons[Incomplete.PROGRAM] = None
    return WrittenColumns(flows, tuple(reasons))


def changed_columns(write: Write, end: PlanEnd, columns: WrittenColumns) -> WrittenColumns:
    """Return the columns that a row change modifies. Values that a row keeps do not flow."""
    flows = []
    for flow in columns.flows:
        own = PlanColumn(end, flow.output)
        given = [each for each in flow.kept if not _is_same(each, own, write)]
        data = tuple(dict.fromkeys((*flow.data, *given)))
        untouched = flow.kept and not data and flow.kind is FlowKind.IDENTITY
        if not (untouched and write.keeps_rows):
            control = tuple(each for each in flow.control if each not in data)
            flows.append(replace(flow, data=data, control=control, kept=()))
    return replace(columns, flows=tuple(flows))


def _is_same(one: PlanColumn, other: PlanColumn, write: Write) -> bool:
    if one.name.lower() != other.name.lower():
        return False
    if one.end == other.end:
        return True
    path = without_partitions(write.path) if write.path else other.end.name
    return one.end.kind is EndKind.PATH and split_location(one.end.name)[2] == split_location(path)[2]
