"""Flows between a column and operations, or views, that touch the column's table through unknown columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from navlin.index.graph.entity import TABLE_TYPES, StoredEntity
from navlin.index.graph.filters import EntityFilter
from navlin.index.graph.graph import end_of
from navlin.index.graph.relation import StoredRelation
from navlin.query.answer import Direction
from navlin.query.contract import Walked
from navlin.query.reading import Relations, WalkReader

PARTS: Final = EntityFilter(("SUB_OPERATION",), deleted=False)


def whole_table_flows(
    reader: WalkReader, walked: Walked, columns: Sequence[StoredEntity], direction: Direction
) -> Relations:
    """Return the flows of operations without known columns, and of views with partly unknown columns. Such an operation
    may touch every column of its tables, and of the tables' locations.

    An operation with some known columns may touch any of the other columns if it is incomplete.
    """
    of_table: dict[str, list[StoredEntity]] = {}
    for column in columns:
        where = walked.aliases.get(column.parent_id, {}) if not column.physical else {}
        for table in filter(None, (column.parent_id, *where)):
            of_table.setdefault(table, []).append(column)
    flows = reader.flows(of_table, direction)
    far = [relation.end(direction.far) for relation in flows.relations]
    operations = {end.id for end in far if end.type == "OPERATION"}
    with_parts = reader.graph.parents_among(operations, PARTS)
    outputs = reader.flows(with_parts, Direction.DOWNSTREAM)
    incomplete = {relation.ep1.id for relation in outputs.relations if relation.incomplete}
    stated = _parts_at(reader, columns, direction) if incomplete else set()
    whole: list[StoredRelation] = []
    for relation, end in zip(flows.relations, far, strict=True):
        touched = of_table[relation.end(direction.near).id]
        if end.type in TABLE_TYPES and relation.incomplete:
            whole.extend(_past_known_columns(reader, relation, touched, direction))
        if end.id not in operations or (end.id in with_parts and end.id not in incomplete):
            continue
        uncertain = relation._replace(incomplete=relation.incomplete or end.id in incomplete)
        whole.extend(
            _at(uncertain, column, direction) for column in touched if (column.id, end.id) not in stated
        )
    return Relations(whole, [*flows.cut, *outputs.cut])


def _past_known_columns(
    reader: WalkReader, flow: StoredRelation, columns: Sequence[StoredEntity], direction: Direction
) -> Iterator[StoredRelation]:
    """Expand a flow between a table and a view into one flow for each column whose sources (or targets) are unknown.
    This is for views with partly unknown columns: the linker parsed their text, and there is no operation."""
    known = reader.flows([each.id for each in columns], direction).relations
    far = reader.entities(each.end(direction.far).id for each in known)
    stated = {
        each.end(direction.near).id
        for each in known
        if (end := far.get(each.end(direction.far).id)) is not None and end.type == "FIELD"
        if direction is Direction.UPSTREAM or end.parent_id == flow.ep2.id
    }
    return (_at(flow, column, direction) for column in columns if column.id not in stated)


def _parts_at(
    reader: WalkReader, columns: Sequence[StoredEntity], direction: Direction
) -> set[tuple[str, str]]:
    """Return (column id, operation id) for each of these columns that a sub-operation names."""
    pairs = [
        (relation.end(direction.near).id, relation.end(direction.far).id)
        for relation in reader.flows([each.id for each in columns], direction).relations
        if relation.end(direction.far).type == "SUB_OPERATION"
    ]
    parts = reader.entities(part for _, part in pairs)
    return {(column, parts[part].parent_id) for column, part in pairs if part in parts}


def _at(relation: StoredRelation, column: StoredEntity, direction: Direction) -> StoredRelation:
    end = end_of(column)
    return relation._replace(ep1=end) if direction.near == 1 else relation._replace(ep2=end)
