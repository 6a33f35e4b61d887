"""Changes to an entity: created, first seen, recreated, renamed, and flagged deleted.

User edits have their own history (`navlin.query.edits`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from navlin.index.graph.entity import TABLE_TYPES, StoredEntity
from navlin.index.graph.filters import RelationFilter
from navlin.index.graph.graph import Graph
from navlin.index.graph.relation import BOTH, End, Side
from navlin.model.keys import RelationType

MOST_RENAMES: Final = 100
_OF_OPERATIONS: Final[dict[Side, RelationFilter]] = {
    1: RelationFilter((RelationType.DATA_FLOW,), deleted=False, ep2_types=("OPERATION",)),
    2: RelationFilter((RelationType.DATA_FLOW,), deleted=False, ep1_types=("OPERATION",)),
}


class What(StrEnum):
    CREATED = "created"
    FIRST_SEEN = "first seen"
    CREATED_ANEW = "recreated"
    RENAMED_FROM = "renamed from"
    RENAMED_TO = "renamed to"
    DELETED = "flagged deleted"


@dataclass(frozen=True, slots=True)
class Change:
    """A change at ``when_ms`` (epoch ms). ``other`` is the table under its other name, before or after a rename."""

    when_ms: int
    what: What
    other: End | None = None


def changes(graph: Graph, entity: StoredEntity) -> list[Change]:
    """Return all known changes to an entity, newest first. The entity must have been read with all its fields."""
    times = [
        (entity.created_ms, What.CREATED),
        (entity.first_seen_ms, What.FIRST_SEEN),
        *((each, What.CREATED_ANEW) for each in entity.recreated_ms),
        (entity.deleted_ms, What.DELETED),
    ]
    found = [Change(when_ms, what) for when_ms, what in times if when_ms]
    found.extend(_renames(graph, entity))
    return sorted(found, key=lambda each: each.when_ms, reverse=True)


def _renames(graph: Graph, table: StoredEntity) -> Iterator[Change]:
    """Yield the renames of a table, which the table's own source states as operations."""
    if table.type not in TABLE_TYPES:
        return
    for side in BOTH:
        far: Side = 2 if side == 1 else 1
        where = replace(_OF_OPERATIONS[side], writers=(table.source_id,))
        near, _ = graph.latest_relations([table.id], side, where, MOST_RENAMES)
        operations = {each.end(far).id: each.as_of_ms for each in near}
        if not operations:
            continue
        where = RelationFilter((RelationType.DATA_FLOW,), deleted=False, writers=(table.source_id,))
        for each in graph.latest_relations(operations, side, where, MOST_RENAMES)[0]:
            if (other := each.end(far)).id != table.id:
                what = What.RENAMED_TO if side == 1 else What.RENAMED_FROM
                yield Change(operations[each.end(side).id], what, other)
