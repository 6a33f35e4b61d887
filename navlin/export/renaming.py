"""Combines the renames that metastores reported, from the first name of a table to its last name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from navlin.export.values import DatasetName, ExportedOperation, Renamed
from navlin.index.graph.filters import EntityFilter
from navlin.index.graph.graph import Graph

_COLUMNS = ("FIELD",)


def renames(graph: Graph, operations: Iterable[ExportedOperation]) -> dict[str, Renamed]:
    """Return the id of a table under its first name → rename. A rename is left out unless the table is flagged deleted
    under its first name and not under its last name."""
    steps = [
        (operation.latest.details.started_ms, operation.inputs[0], operation.outputs[0])
        for operation in operations
        if operation.latest is not None and len(operation.inputs) == len(operation.outputs) == 1
    ]
    steps.sort(key=lambda step: step[0])
    last: dict[str, tuple[DatasetName, DatasetName, int, bool, bool]] = {}
    for time_ms, before, after in steps:
        begins = last.pop(before.dataset.id, None)
        origin, was_gone = (begins[0], begins[3]) if begins is not None else (before.dataset, before.deleted)
        last[after.dataset.id] = (origin, after.dataset, time_ms, was_gone, after.deleted)
    found = {
        origin.id: (origin, after, time_ms)
        for origin, after, time_ms, was_gone, is_gone in last.values()
        if was_gone and not is_gone and origin.id != after.id
    }
    columns: dict[str, list[str]] = defaultdict(list)
    if found:
        for column in graph.entities(EntityFilter(_COLUMNS, parents=tuple(found))):
            columns[column.parent_id].append(column.own_name)
    return {
        each: Renamed(origin, after, tuple(sorted(columns[each])), time_ms)
        for each, (origin, after, time_ms) in found.items()
    }
