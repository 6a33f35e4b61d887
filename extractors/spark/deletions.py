"""Handle Hudi's DELETE. Its command names no table; the execution that carries it out saves the rows to delete."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from extractors.spark.application import SqlExecution
from extractors.spark.columns.flow import FlowKind
from extractors.spark.columns.written import ColumnFlow, WrittenColumns
from extractors.spark.plan.reading import PlanReading
from extractors.spark.plan.reads import EndKind, PlanEnd

_COMMAND: Final = "DeleteHoodieTableCommand"
_OWN: Final = "_hoodie_"
_KEY: Final = "_hoodie_record_key"


def with_deletion(members: list[SqlExecution]) -> list[SqlExecution]:
    """Give a DELETE command its table and columns, and remove the write of the execution that carries it out."""
    for place, each in enumerate(members):
        plan = each.started.plan if each.started else None
        if plan is None or not plan.writes or plan.writes[0].command != _COMMAND or plan.writes[0].end:
            continue
        for below, other in enumerate(members):
            carried = other.started.plan if other is not each and other.started else None
            table = _table(carried) if carried else None
            if carried is None or table is None:
                continue
            write = replace(plan.writes[0], end=table, path=_path(carried))
            columns = _deleted(carried.columns[0])
            changed = list(members)
            changed[place] = _with(each, replace(plan, writes=(write,), columns=(columns,)))
            changed[below] = _with(other, replace(carried, writes=(), columns=()))
            return changed
    return members


def _with(execution: SqlExecution, plan: PlanReading) -> SqlExecution:
    return (
        replace(execution, started=replace(execution.started, plan=plan)) if execution.started else execution
    )


def _table(plan: PlanReading) -> PlanEnd | None:
    """Return the table whose record keys a plan saves; None unless there is exactly one."""
    if [write.command for write in plan.writes] != ["SaveIntoDataSourceCommand"]:
        return None
    ends = {source.end for flow in plan.columns[0].flows if flow.output == _KEY for source in flow.data}
    return ends.pop() if len(ends) == 1 else None


def _path(plan: PlanReading) -> str:
    end = plan.writes[0].end
    return end.name if end is not None and end.kind is EndKind.PATH else ""


def _deleted(saved: WrittenColumns) -> WrittenColumns:
    """Return the columns of a DELETE. No values flow; the conditions that select the rows are control flow."""
    control = tuple(dict.fromkeys(each for flow in saved.flows for each in flow.control))
    flows = (
        ColumnFlow(flow.output, (), control, FlowKind.TRANSFORMATION, "", incomplete=flow.incomplete)
        for flow in saved.flows
        if not flow.output.startswith(_OWN)
    )
    return WrittenColumns(tuple(flows), saved.reasons)
