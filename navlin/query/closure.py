"""Closure of an entity's data: the walk that inheritance is based on.

`navlin inherited` shows the closure on request; the stored inherited tags (`navlin.index.people.inheritance`) come from the
same walk.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from navlin.index.graph.filters import EntityFilter
from navlin.index.graph.graph import Graph
from navlin.index.graph.remembered import answered
from navlin.index.people.inheritance import with_property
from navlin.index.schema.fields import NOT_INHERITED
from navlin.index.solr.solr import Solr
from navlin.model.keys import RelationType
from navlin.query.answer import Direction, Edge, Lineage, Node
from navlin.query.lineage import lineage_with_dependencies
from navlin.query.options import WalkOptions

EVERY: Final = "*"
"""Value of ``notInherited`` that ends the inheritance of all words."""
NODES: Final = 5_000
"""Maximum number of nodes followed from an entity with a word."""
MARKS: Final = ("inferred", "parsed", "incomplete")
_PARTS: Final = EntityFilter(("SUB_OPERATION",))
_MOST_PARTS: Final = 100_000
Way = tuple[Edge, ...]


class Closure(NamedTuple):
    """The entities that carry an entity's data. ``walked`` is the walk, ``ways`` maps the id of each node reached to
    its path, ``dependencies`` is as in `lineage_with_dependencies`."""

    walked: Lineage
    ways: Mapping[str, Way]
    dependencies: frozenset[str]

    @property
    def ids(self) -> frozenset[str]:
        """Ids of the entities reached, without the start."""
        return frozenset(self.ways) - {self.walked.start}


@dataclass(frozen=True, slots=True)
class Stops:
    """The entities at which users ended inheritance: word in lower case → ids."""

    by_word: Mapping[str, frozenset[str]]

    @classmethod
    def read(cls, solr: Solr) -> Stops:
        """Read all stops in the index, including those of deleted entities."""
        graph = Graph(solr)
        by_word: dict[str, set[str]] = {}
        operations: dict[str, list[str]] = {}
        for entity in with_property(solr, NOT_INHERITED):
            said = str(entity.annotations.get(NOT_INHERITED, "")).casefold()
            words = [word for each in said.split(",") if (word := each.strip())]
            for word in words:
                by_word.setdefault(word, set()).add(entity.id)
            if entity.type == "OPERATION":
                operations[entity.id] = words
        parts, _ = graph.children(operations, _PARTS, _MOST_PARTS)
        # A stop on a job applies to its sub-operations, which a walk knows only by their ids.
        for part in parts:
            for word in operations[part.parent_id]:
                by_word[word].add(part.id)
        return cls({word: frozenset(ids) for word, ids in by_word.items()})

    def of(self, word: str) -> frozenset[str]:
        """Return the ids at which the inheritance of one word ends."""
        none = frozenset[str]()
        return self.by_word.get(EVERY, none) | self.by_word.get(word.casefold(), none)


def closure_of(solr: Solr, start: str, stops: frozenset[str], *, control_flow: bool = False) -> Closure:
    """Return the entities that carry the data of the entity with the id ``start``, up to ``stops``; with
    ``control_flow``, also entities that the data only controls. Raises `UnknownEntity`."""
    return answered(solr, lambda graph: closure_in(graph, start, stops, control_flow=control_flow))


def closure_in(graph: Graph, start: str, stops: frozenset[str], *, control_flow: bool = False) -> Closure:
    """Return the closure as `closure_of` does, as read from ``graph``."""
    # Stored tags depend on the walk, so its end must not depend on the load of the machine.
    options = WalkOptions(
        Direction.DOWNSTREAM, control_flow=control_flow, max_nodes=NODES, max_s=math.inf, stops=stops
    )
    walked, dependencies = lineage_with_dependencies(graph, start, options)
    return Closure(walked, _ways(walked, start), dependencies)


def ids_of(edge: Edge) -> Iterator[str]:
    """Yield the ids of the entities that an edge passes through, and of its target."""
    yield from (hop.id for hop in edge.via)
    yield edge.target


def steps_of(nodes: Mapping[str, Node], way: Collection[Edge]) -> Iterator[Node]:
    """Yield the steps of a path: its ends and the hops between."""
    for edge in way:
        yield _step(nodes[edge.source])
        yield from edge.via
    for edge in list(way)[-1:]:
        yield _step(nodes[edge.target])


def _step(node: Node) -> Node:
    return replace(node, parent="", label="")


def _ways(walked: Lineage, start: str) -> dict[str, Way]:
    """Return node id → path, for each node that data flows to: the most certain path and, among equally certain ones,
    the shortest. The path of ``start`` is empty."""
    tables = {node.parent for node in walked.nodes if node.id == start and node.type == "PARTITION"}
    onward: dict[str, list[Edge]] = {}
    for edge in walked.edges:
        if edge.type in (RelationType.DATA_FLOW, RelationType.CONTROL_FLOW):
            if edge.source in tables:
                # Readers of the table also read the partition.
                edge = replace(edge, source=start)
            onward.setdefault(edge.source, []).append(edge)
        elif edge.type == RelationType.LOGICAL_PHYSICAL and edge.target == start:
            # The table stored at a path is the same data.
            onward.setdefault(start, []).append(replace(edge, source=start, target=edge.source))
    ways: dict[str, Way] = {}
    number = 0
    waiting: list[tuple[int, int, int, int, str, Way]] = [(0, 0, 0, number, start, ())]
    while waiting:
        decided, uncertain, length, _, at, way = heapq.heappop(waiting)
        if at in ways:
            continue
        ways[at] = way
        for edge in onward.get(at, ()):
            if edge.target not in ways:
                number += 1
                steers = edge.type == RelationType.CONTROL_FLOW
                marked = sum(getattr(edge, mark) for mark in MARKS)
                cost = (decided + steers, uncertain + marked, length + 1, number)
                heapq.heappush(waiting, (*cost, edge.target, (*way, edge)))
    return ways
