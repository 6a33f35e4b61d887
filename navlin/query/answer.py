"""Results of lineage walks: nodes, edges, and the nodes at which the walk was cut."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from navlin.index.graph.entity import StoredEntity
from navlin.index.graph.relation import Side


class Direction(StrEnum):
    UPSTREAM = "upstream"
    DOWNSTREAM = "downstream"
    BOTH = "both"

    @property
    def near(self) -> Side:
        """The end of a flow from which a walk in this direction starts."""
        return 2 if self is Direction.UPSTREAM else 1

    @property
    def far(self) -> Side:
        """The end of a flow to which a walk in this direction leads."""
        return 1 if self is Direction.UPSTREAM else 2


class CutReason(StrEnum):
    """Reason for ending a walk at a node although more entities follow."""

    DEPTH = "depth"
    """The requested number of shown hops is reached."""
    NODES = "nodes"
    """The limit of shown nodes is reached."""
    FAN_OUT = "fan_out"
    """The node has more relations than are followed from one node."""
    WALKED = "walked"
    """The limit of visited nodes, shown or not, is reached."""
    TIME = "time"
    """The time for the walk has passed."""
    COLUMNS = "columns"
    """The limit of shown columns is reached."""
    EXECUTIONS = "executions"
    """Only the latest executions of an operation are shown."""
    STARTS = "starts"
    """Only some of the entities of a database, a directory or a tag are starts of the walk."""

    @property
    def words(self) -> str:
        """Description of the reason for people."""
        return _WORDS[self]


_WORDS: Final = {
    CutReason.DEPTH: "more beyond the selected depth",
    CutReason.NODES: "node limit reached",
    CutReason.FAN_OUT: "too many relations to follow from this node",
    CutReason.WALKED: "search limit reached",
    CutReason.TIME: "time limit reached, so anything further is not counted",
    CutReason.COLUMNS: "column limit reached",
    CutReason.EXECUTIONS: "only its latest executions are shown",
    CutReason.STARTS: "only the first entities are shown",
}


@dataclass(frozen=True, slots=True)
class Node:
    """A shown entity. A ``placeholder`` is known only because relations name it."""

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
    """Id of the containing node: a column's table, a sub-operation's operation."""
    unlinked: int = 0
    """Number of relations of this node with an unknown other end. They are followed only on request."""
    column_index: int | None = None
    """Position of a column in its table, counted from 0; None if unknown."""
    label: str = ""
    """Display name of a statement, or of the statement that a sub-operation belongs to
    (`navlin.query.statement_names`)."""

    @property
    def title(self) -> str:
        """The name shown to people."""
        return self.label or self.name

    @classmethod
    def of(cls, entity: StoredEntity, *, placeholder: bool = False, unlinked: int = 0) -> Node:
        return cls(
            entity.id,
            entity.name,
            entity.type,
            entity.source_type,
            entity.source_id,
            entity.deleted,
            placeholder,
            entity.placeholder,
            entity.parent_id,
            unlinked,
            entity.column_index,
        )

    def labelled(self, label: str, parent: str) -> Node:
        """Return a copy with this label and parent. Faster than `dataclasses.replace`, because a lineage has thousands of
        hops."""
        return Node(
            self.id,
            self.name,
            self.type,
            self.source_type,
            self.source_id,
            self.deleted,
            self.placeholder,
            self.granted,
            parent,
            self.unlinked,
            self.column_index,
            label,
        )

    def to_json(self) -> dict[str, Any]:
        """JSON keys: id, name, type, sourceType, sourceId, deleted, placeholder, granted, parent (null for none),
        unlinked, columnIndex (of a column, if known; else null), label (the name for people)."""
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

    def to_hop_json(self) -> dict[str, Any]:
        """JSON keys of a hop: id, name, type, deleted, placeholder, label (the name for people), parent (id of a
        sub-operation's statement)."""
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
    """An edge from one node to another. ``via`` is one shortest path through hidden entities, the hops; there may be
    others. A hop's ``parent`` is the statement of a sub-operation, if the statement's display name is known.

    For LOGICAL_PHYSICAL, ``source`` is the logical end; for INSTANCE_OF, the operation.
    """

    source: str
    target: str
    type: str
    via: tuple[Node, ...] = ()
    inferred: bool = False
    incomplete: bool = False
    parsed: bool = False

    def to_json(self) -> dict[str, Any]:
        """JSON keys: source, target, type, via (a list of hops, in the direction of the flow), inferred, incomplete,
        parsed."""
        return {
            "source": self.source,
            "target": self.target,
            "type": self.type,
            "via": [hop.to_hop_json() for hop in self.via],
            "inferred": self.inferred,
            "incomplete": self.incomplete,
            "parsed": self.parsed,
        }


@dataclass(frozen=True, slots=True)
class CutNode:
    """A node beyond which there is more than is shown."""

    id: str
    name: str
    direction: Direction
    reason: CutReason

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "name": self.name,
            "direction": self.direction.value,
            "reason": self.reason.value,
        }


@dataclass(frozen=True, slots=True)
class Lineage:
    """The part of the graph around one entity. Nodes are ordered by distance from the start, which comes first."""

    start: str
    direction: Direction
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    truncated_at: tuple[CutNode, ...] = ()
    unlinked: int = 0
    """Number of relations met but not followed because one end is unknown."""
    starts: tuple[str, ...] = ()
    """Ids of further nodes at which the walk started."""

    @property
    def truncated(self) -> bool:
        """Whether there is more than is shown."""
        return bool(self.truncated_at)

    def node(self, node_id: str) -> Node:
        """Return the node with this id. Raises KeyError if it is not shown."""
        for node in self.nodes:
            if node.id == node_id:
                return node
        raise KeyError(node_id)

    def to_json(self) -> dict[str, Any]:
        """start (an id), direction, nodes, edges, truncated, truncatedAt, unlinked, starts (ids of further nodes at which
        the lineage starts: the tables of a database, the paths below a directory, or the entities with a tag).

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
            "starts": list(self.starts),
        }
