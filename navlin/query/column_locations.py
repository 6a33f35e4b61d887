"""Columns of tables and columns of the paths that store them: the same columns under two names.

A job that writes files by path names the columns of the path; a job that reads the table names the columns of the
table. No relation states that they are the same, but this follows from the table's location and the column's name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from navlin.index.graph.entity import TABLE_TYPES, StoredEntity
from navlin.index.graph.graph import end_of
from navlin.index.graph.relation import StoredRelation
from navlin.model.keys import RelationType, column_id, path_column_id
from navlin.query.contract import Walked


def pairs_of(columns: Iterable[StoredEntity], walked: Walked) -> Iterator[tuple[str, str, StoredRelation]]:
    """Yield (id of a table's column, id of the same column of a path, the LOGICAL_PHYSICAL relation that implies this).

    The index may lack one of the columns, because the id is computed.
    """
    for column in columns:
        for other_id, relation in walked.aliases.get(column.parent_id, {}).items():
            other = walked.entities.get(other_id)
            if other is None:
                continue
            if column.physical and other.type in TABLE_TYPES and other.own_name:
                database = other.name.removesuffix(f".{other.own_name}")
                same = column_id(other.source_id, database, other.own_name, column.own_name)
                yield same, column.id, relation
            elif other.physical and not column.physical:
                yield column.id, path_column_id(other_id, column.own_name), relation


def one_column(
    table_column: StoredEntity, path_column: StoredEntity, because: StoredRelation
) -> StoredRelation:
    """Return the relation between a column's two names, as certain as the table's location."""
    ends = end_of(table_column), end_of(path_column)
    return StoredRelation("", RelationType.LOGICAL_PHYSICAL, *ends, inferred=because.inferred)
