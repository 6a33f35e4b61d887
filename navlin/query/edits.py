"""The edit history of one entity: user, field, old and new value, and time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from navlin.index.graph.graph import Graph
from navlin.index.journal.edits import Edit, edits_of
from navlin.index.solr.solr import Solr


@dataclass(frozen=True, slots=True)
class History:
    """The newest edits of one entity, newest first; ``total`` is the number of all its edits."""

    entity: str
    name: str
    total: int
    edits: tuple[Edit, ...]

    def to_json(self) -> dict[str, Any]:
        """id, name, total, edits (entity, name, who, when, changes: field, old, new)."""
        return {
            "id": self.entity,
            "name": self.name,
            "total": self.total,
            "edits": [edit.to_json() for edit in self.edits],
        }


def history(solr: Solr, entity: str, *, limit: int, offset: int = 0) -> History:
    """Return the edits of the entity with this id."""
    edits, total = edits_of(solr, entity, max(0, limit), max(0, offset))
    found = Graph(solr).entities_now([entity]).get(entity)
    return History(entity, found.name if found else entity, total, tuple(edits))
