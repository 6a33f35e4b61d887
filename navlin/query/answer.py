"""What a question about lineage is answered with."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from navlin.index.entity import StoredEntity
from navlin.index.relation import Side


class Direction(StrEnum):
    """Where a walk goes: to what something was made from, to what was made of it, or both."""

    UPSTREAM = "upstream"
    DOWNSTREAM = "downstream"
    BOTH = "both"

    @property
    def near(self) -> Side:
        """The end of a flow from which a walk upstream or downstream comes."""
        return 2 if self is Direction.UPSTREAM else 1

    @property
    def far(self) -> Side:
        """The end to which it goes."""
        return 1 if self is Direction.UPSTREAM else 2


class Reason(StrEnum):
    """Why an answer ends at a node though there is more."""

    DEPTH = "depth"
    """As many shown hops as were asked for."""
    NODES = "nodes"
    """As many nodes as may be shown."""
    FAN_OUT = "fan_out"
    """The node has more relations than are followed from one."""
    WALKED = "walked"
    """As many nodes as may be looked at, shown or not."""
    COLUMNS = "columns"
    """As many columns as may be shown."""
    EXECUTIONS = "executions"
    """Only the latest executions of an operation are shown."""

    @property
    def words(self) -> str:
        """It in a sentence for people."""
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
    """An entity that is shown, or one that was only ever named (``placeholder``)."""

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
    """How many relations end here whose other end is not known; they are not followed unless asked for."""
    column_index: int | None = None
    """Where a column stands among its table's, counted from 0; None if that is not known."""
    label: str = ""
    """Of a statement, or a part of one, the statement's name for people (`navlin.query.statement_names`)."""

    @property
    def title(self) -> str:
        """The name that people are shown."""
        return self.label or self.name

    @classmethod
    def of(cls, entity: StoredEntity, *, placeholder: bool = False, unlinked: int = 0) -> Node:
        """An entity as it is shown."""
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
        columnIndex (of a column, as far as it is known; else null), label (the name for people)."""
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
    """An entity through which an edge passes, and which is not shown."""

    id: str
    name: str
    type: str
    deleted: bool = False
    placeholder: bool = False
    label: str = ""
    """As of a node."""
    parent: str = ""
    """The statement of a part of one, where its name for people is known."""

    @property
    def title(self) -> str:
        """The name that people are shown."""
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
    """How one node flows to another. ``via`` is one shortest way through what is not shown; there may be others.

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
    """A place where there is more than the answer shows."""

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
    """A piece of the graph around one entity. Nodes come in the order of their distance from it, the start first."""

    start: str
    direction: Direction
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    truncated_at: tuple[Cut, ...] = ()
    unlinked: int = 0
    """How many relations were met and not followed because an end of theirs is not known."""

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
