"""The columns that Delta's UPDATE and DELETE change, as printed by the commands.

``UpdateCommand Delta[version=0, path], `db`.`t`, serde, [id#1, (v#2 + 1)], (id#1 > 3)`` is above the relation of the
table itself. It has an expression for each column of the table, in order, followed by the condition. ``DeleteCommand
…, (id#1 > 3)`` has only the condition.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from extractors.spark.columns.expressions import ReferenceFinder, flow_of
from extractors.spark.columns.flow import CONSTANT, CUT_OFF, OperatorColumn, PlanColumn
from extractors.spark.columns.lists import attribute, elements, split
from extractors.spark.columns.plans import Plans
from extractors.spark.columns.relations import RowSet
from extractors.spark.plan.reads import PlanEnd
from extractors.spark.plan.text import Operator

_ID: Final = re.compile(r"#\d")
UPDATE: Final = "UpdateCommand"
DELETE: Final = "DeleteCommand"


def command_columns(operator: Operator, end: PlanEnd, plans: Plans) -> dict[str, OperatorColumn] | None:
    """Return name → flow for the columns of the table ``end`` that the command changes; None if the command does not print
    all columns."""
    below = operator.inner or operator.inputs
    if len(below) != 1:
        return None
    table = plans.relation(below[0])
    if table.columns is None:
        return None
    # The input is the relation of this table, but its plan text might lack the path.
    own = {
        each.id: OperatorColumn(plans.sources.bit(PlanColumn(end, each.name)), expression=each.name)
        for each in table.columns
    }
    reader = plans.reader(replace(table, flows={**table.flows, **own}))
    arguments = list(split(operator.arguments))
    if operator.name == DELETE:
        # Everything after the table is the condition. It cannot be split, because a literal may contain a comma.
        first = next((at for at, each in enumerate(arguments) if _ID.search(each)), len(arguments))
        return _deleted(table, ", ".join(arguments[first:]), reader)
    return _updated(table, arguments, reader)


def _deleted(table: RowSet, condition: str, reader: ReferenceFinder) -> dict[str, OperatorColumn]:
    """Return name → flow for the columns of a DELETE. No values flow, because the condition only decides which rows
    remain.
    """
    found = reader.condition(condition)
    flow = OperatorColumn(0, found.all, CONSTANT.kind, found.uncertainty, literal=True)
    return {column.name: flow for column in table.columns or ()}


def _updated(
    table: RowSet, arguments: list[str], reader: ReferenceFinder
) -> dict[str, OperatorColumn] | None:
    place = next((at for at in range(len(arguments) - 1, -1, -1) if arguments[at].startswith("[")), -1)
    values = elements(arguments[place]) if place >= 0 else elements("")
    columns = table.columns or ()
    if not values.whole or len(values.texts) != len(columns):
        return None
    condition = reader.condition(", ".join(arguments[place + 1 :]))
    flows: dict[str, OperatorColumn] = {}
    for column, value in zip(columns, values.texts, strict=True):
        if attribute(value) == column:
            continue
        flow = flow_of(value, reader)[0]
        cut = CUT_OFF.uncertainty if " more fields" in value else 0
        control, uncertainty = flow.control | condition.all, flow.uncertainty | condition.uncertainty | cut
        flows[column.name] = replace(flow, control=control, uncertainty=uncertainty)
    return flows
