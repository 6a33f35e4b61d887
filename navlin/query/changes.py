"""What became of an entity: when it was created, first seen, created anew, renamed, and flagged deleted.

What people write on it has a history of its own (`navlin.query.edits`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from navlin.index.entity import StoredEntity
from navlin.index.filters import RelationFilter
from navlin.index.graph import Graph
from navlin.index.relation import BOTH, End, Side, StoredRelation
from navlin.model.keys import RelationType

MOST_RENAMES: Final = 100
_OF_OPERATIONS: Final[dict[Side, RelationFilter]] = {
    1: RelationFilter((RelationType.DATA_FLOW,), deleted=False, ep2_types=("OPERATION",)),
    2: RelationFilter((RelationType.DATA_FLOW,), deleted=False, ep1_types=("OPERATION",)),
}


class What(StrEnum):
    """What happened."""

    CREATED = "created"
    FIRST_SEEN = "first seen"
    CREATED_ANEW = "dropped and created anew"
    RENAMED_FROM = "renamed from"
    RENAMED_TO = "renamed to"
    DELETED = "flagged deleted"


@dataclass(frozen=True, slots=True)
class Change:
    """One of them, at ``when_ms`` (epoch ms). ``other`` is what it was called before or after."""

    when_ms: int
    what: What
    other: End | None = None


def changes(graph: Graph, entity: StoredEntity) -> list[Change]:
    """All that is known of an entity that was read whole, the newest first."""
    times = [
        (entity.created_ms, What.CREATED),
        (entity.first_seen_ms, What.FIRST_SEEN),
        *((each, What.CREATED_ANEW) for each in entity.recreated_ms),
        (entity.deleted_ms, What.DELETED),
    ]
    found = [Change(when_ms, what) for when_ms, what in times if when_ms]
    found.extend(_renames(graph, entity))
    return sorted(found, key=lambda each: each.when_ms, reverse=True)


def _renames(graph: Graph, entity: StoredEntity) -> Iterator[Change]:
    """By the operations that its own source states for them."""
    for side in BOTH:
        what = What.RENAMED_TO if side == 1 else What.RENAMED_FROM
        near, _ = graph.latest_relations([entity.id], side, _OF_OPERATIONS[side], MOST_RENAMES)
        own = [each for each in near if each.writer == entity.source_id]
        others = _others(graph, own, side)
        for each in own:
            for other in others.get(each.end(_far(side)).id, ()):
                if other.id != entity.id:
                    yield Change(each.as_of_ms, what, other)


def _others(graph: Graph, near: list[StoredRelation], side: Side) -> dict[str, list[End]]:
    """By the operation of each of these what it leads to on its other side."""
    found: dict[str, list[End]] = {}
    operations = [each.end(_far(side)).id for each in near]
    if not operations:
        return found
    # Seen from the operation, what comes after it has the operation as its first end.
    where = RelationFilter((RelationType.DATA_FLOW,), deleted=False)
    for each in graph.latest_relations(operations, side, where, MOST_RENAMES)[0]:
        found.setdefault(each.end(side).id, []).append(each.end(_far(side)))
    return found


def _far(side: Side) -> Side:
    return 2 if side == 1 else 1
