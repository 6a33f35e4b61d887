"""Lineage answers: nodes, edges, and the places where the walk was cut."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from navlin.index.entity import StoredEntity
from navlin.index.relation import Side


class Direction(StrEnum):
    """Direction of a walk: upstream, downstream, or both."""

    UPSTREAM = "upstream"
    DOWNSTREAM = "downstream"
    BOTH = "both"

    @property
    def near(self) -> Side:
        """The end of a flow from which a walk in this direction comes."""
        return 2 if self is Direction.UPSTREAM else 1

    @property
    def far(self) -> Side:
        """The end to which it goes."""
        return 1 if self is Direction.UPSTREAM else 2


class Reason(StrEnum):
    """Reason for an answer to end at a node although there is more."""

    DEPTH = "depth"
    """The requested number of shown hops is reached."""
    NODES = "nodes"
    """The limit of shown nodes is reached."""
    FAN_OUT = "fan_out"
    """The node has more relations than are followed from one node."""
    WALKED = "walked"
    """The limit of visited nodes, shown or not, is reached."""
    COLUMNS = "columns"
    """The limit of shown columns is reached."""
    EXECUTIONS = "executions"
    """Only the latest executions of an operation are shown."""

    @property
    def words(self) -> str:
        """The reason as a sentence for people."""
        return _WORDS[self]


_WORDS: Final = {
    Reason.DEPTH: "more lies beyond the depth that was asked for",
    Reason.NODES: "as many nodes are shown as may be",
    Reason.FAN_OUT: "it has more relations than are followed from one node",
    Reason.WALKED: "as many nodes were looked at as may be",
    Reason.COLUMNS: "as many columns are shown as may be",
    Reason.EXECUTIONS: "only its latest executions are shown",
}


@dataclass(frozen=True, slots=True)
class Node:
    """A shown entity, or a ``placeholder`` that only relations name."""

    id: str
    name: str
    """``db.table.column``, a path, or an operation's text on one line."""
    type: str
    source_type: str = ""
    source_id: str = ""
    deleted: bool = False
    placeholder: bool = False
    granted: bool = False
    parent: str = ""
    """The node that contains it: a column's table, a sub-operation's operation."""
    unlinked: int = 0
    """Number of relations that end here and whose other end is unknown; not followed unless requested."""
    column_index: int | None = None
    """Position of a column in its table, counted from 0; None if unknown."""
    label: str = ""
    """Display name of a statement, or of the statement of a part (`navlin.query.statement_names`)."""

    @property
    def title(self) -> str:
        """The name shown to people."""
        return self.label or self.name

    @classmethod
    def of(cls, entity: StoredEntity, *, placeholder: bool = False, unlinked: int = 0) -> Node:
        """Return the node of an entity."""
        return cls(
            entity.id,
            entity.name,
            entity.type,
            entity.source_type,
            entity.source_id,
            entity.deleted,
            placeholder,
            entity.granted,
            entity.parent_id,
            unlinked,
            entity.column_index,
        )

    def to_json(self) -> dict[str, Any]:
        """id, name, type, sourceType, sourceId, deleted, placeholder, granted, parent (null for none), unlinked,
        columnIndex (of a column, if known; else null), label (the name for people)."""
        return {
            "id": self.id,
            "name": self.name,
            "type": self.type,
            "sourceType": self.source_type,
            "sourceId": self.source_id,
            "deleted": self.deleted,
            "placeholder": self.placeholder,
            "granted": self.granted,
            "parent": self.parent or None,
            "unlinked": self.unlinked,
            "columnIndex": self.column_index,
            "label": self.title,
        }


@dataclass(frozen=True, slots=True)
class Hop:
    """An entity on the way of an edge that is not shown itself."""

    id: str
    name: str
    type: str
    deleted: bool = False
    placeholder: bool = False
    label: str = ""
    """As in `Node`."""
    parent: str = ""
    """The statement of a part, if its display name is known."""

    @property
    def title(self) -> str:
        """The name shown to people."""
        return self.label or self.name

    def to_json(self) -> dict[str, Any]:
        """id, name, type, deleted, placeholder, label (the name for people), parent (the id of a part's statement)."""
        return {
            "id": self.id,
            "name": self.name,
            "type": self.type,
            "deleted": self.deleted,
            "placeholder": self.placeholder,
            "label": self.title,
            "parent": self.parent or None,
        }


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge from one node to another. ``via`` is one shortest way through hidden entities; there may be others.

    For LOGICAL_PHYSICAL ``source`` is the logical end, for INSTANCE_OF the operation.
    """

    source: str
    target: str
    type: str
    via: tuple[Hop, ...] = ()
    inferred: bool = False
    incomplete: bool = False
    parsed: bool = False

    def to_json(self) -> dict[str, Any]:
        """source, target, type, via (a list of hops, in the direction of the flow), inferred, incomplete, parsed."""
        return {
            "source": self.source,
            "target": self.target,
            "type": self.type,
            "via": [hop.to_json() for hop in self.via],
            "inferred": self.inferred,
            "incomplete": self.incomplete,
            "parsed": self.parsed,
        }


@dataclass(frozen=True, slots=True)
class Cut:
    """A node beyond which there is more than the answer shows."""

    id: str
    name: str
    direction: Direction
    reason: Reason

    def to_json(self) -> dict[str, Any]:
        """id, name, direction, reason."""
        return {
            "id": self.id,
            "name": self.name,
            "direction": self.direction.value,
            "reason": self.reason.value,
        }


@dataclass(frozen=True, slots=True)
class Lineage:
    """A piece of the graph around one entity. Nodes are ordered by distance from it, the start first."""

    start: str
    direction: Direction
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    truncated_at: tuple[Cut, ...] = ()
    unlinked: int = 0
    """Number of relations met but not followed because one end is unknown."""

    @property
    def truncated(self) -> bool:
        """Whether there is more than is shown."""
        return bool(self.truncated_at)

    def node(self, node_id: str) -> Node:
        """The node with this id; raises KeyError for one that is not shown."""
        for node in self.nodes:
            if node.id == node_id:
                return node
        raise KeyError(node_id)

    def to_json(self) -> dict[str, Any]:
        """start (an id), direction, nodes, edges, truncated, truncatedAt, unlinked.

        Stable: fields are added, never changed.
        """
        return {
            "start": self.start,
            "direction": self.direction.value,
            "nodes": [node.to_json() for node in self.nodes],
            "edges": [edge.to_json() for edge in self.edges],
            "truncated": self.truncated,
            "truncatedAt": [cut.to_json() for cut in self.truncated_at],
            "unlinked": self.unlinked,
        }
