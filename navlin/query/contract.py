"""Find the flows between shown nodes, including flows through hidden nodes. Hidden nodes are contracted instead of cut
out."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from navlin.index.graph.entity import StoredEntity
from navlin.index.graph.relation import StoredRelation
from navlin.model.keys import RelationType
from navlin.query.answer import Edge, Node


@dataclass(slots=True)
class Walked:
    """The part of the graph that a walk has seen.

    ``placeholders`` are the entities that only relations name. ``aliases`` maps the id of each end of a
    LOGICAL_PHYSICAL relation to (id of the other end → relation); a table and its location are the same data, as are
    their columns of the same name. ``located`` are the paths that represent a table that may be shown. Such a path is
    never shown itself, and a flow into the path is a flow into the table. ``starts`` are the nodes where the walk
    began, ``looked_up`` the paths whose tables have been looked up.
    """

    starts: dict[str, None] = field(default_factory=dict)
    entities: dict[str, StoredEntity] = field(default_factory=dict)
    placeholders: set[str] = field(default_factory=set)
    flows: dict[tuple[str, str, str], StoredRelation] = field(default_factory=dict)
    aliases: dict[str, dict[str, StoredRelation]] = field(default_factory=dict)
    located: set[str] = field(default_factory=set)
    looked_up: set[str] = field(default_factory=set)
    _hops: dict[str, Node] = field(default_factory=dict)

    def add_flow(self, relation: StoredRelation) -> None:
        """Add a flow, merged with a known flow of the same key."""
        key = relation.key
        known = self.flows.setdefault(key, relation)
        if known is not relation:
            self.flows[key] = known.merged(relation)

    def add_alias(self, relation: StoredRelation) -> None:
        """Add a LOGICAL_PHYSICAL relation at both ends."""
        self.aliases.setdefault(relation.ep1.id, {})[relation.ep2.id] = relation
        self.aliases.setdefault(relation.ep2.id, {})[relation.ep1.id] = relation

    def node(self, identity: str, unlinked: int = 0) -> Node:
        return Node.of(self.entities[identity], placeholder=identity in self.placeholders, unlinked=unlinked)

    def hop(self, identity: str) -> Node:
        """Return a hidden entity as a hop of an edge. Its name must be known by now."""
        hop = self._hops.get(identity)
        if hop is None:
            entity = self.entities[identity]
            unseen = identity in self.placeholders
            hop = Node(entity.id, entity.name, entity.type, deleted=entity.deleted, placeholder=unseen)
            self._hops[identity] = hop
        return hop


class SearchStep(NamedTuple):
    """A step of a search. ``own_location`` is True at a location of the shown table where the search began. From there,
    only flows are followed."""

    at: str
    relation: StoredRelation | None = None
    before: SearchStep | None = None
    flowed: bool = False
    own_location: bool = False


class Way(NamedTuple):
    """A shortest path from one node to another."""

    source: str
    target: str
    type: RelationType
    last: SearchStep

    def between(self) -> Iterator[str]:
        """Yield the ids of the entities that the path passes through, from its end to its beginning."""
        step = self.last.before
        while step is not None and step.relation is not None:
            yield step.at
            step = step.before

    def edge(self, walked: Walked) -> Edge:
        """Return the displayed edge for this path."""
        inferred = incomplete = parsed = False
        step: SearchStep | None = self.last
        while step is not None and (relation := step.relation) is not None:
            inferred = inferred or relation.inferred
            incomplete = incomplete or relation.incomplete
            parsed = parsed or relation.parsed
            step = step.before
        via = tuple(map(walked.hop, self.between()))[::-1]
        return Edge(self.source, self.target, self.type, via, inferred, incomplete, parsed)


def contract(walked: Walked, shown: Collection[str], stops: Collection[str] = ()) -> Iterator[Way]:
    """Yield the paths between ``shown`` nodes, and the paths from and to ``stops``, which are nodes that could be shown
    but are left out.

    A path is a CONTROL_FLOW only if every path between the two nodes contains a CONTROL_FLOW.
    """
    sources = dict.fromkeys([*shown, *stops])
    ends = sources.keys()
    flows = walked.flows.values()
    of_control = RelationType.CONTROL_FLOW.value
    data = _by_source(flow for flow in flows if flow.type != of_control)
    steered = len(flows) > sum(map(len, data.values()))
    every = _by_source(flows) if steered else data
    for source in sources:
        reached = _reach(walked, ends, data, source)
        for target, step in reached.items():
            yield Way(source, target, RelationType.DATA_FLOW, step)
        if steered:
            for target, step in _reach(walked, ends, every, source).items():
                if target not in reached:
                    yield Way(source, target, RelationType.CONTROL_FLOW, step)


Onward = dict[str, list[tuple[str, StoredRelation]]]
"""Id of an entity → (id of the entity that it flows to, relation)."""


def _by_source(flows: Iterable[StoredRelation]) -> Onward:
    by_source: Onward = {}
    for flow in flows:
        by_source.setdefault(flow.ep1.id, []).append((flow.ep2.id, flow))
    return by_source


def _reach(walked: Walked, ends: Set[str], flows: Onward, source: str) -> dict[str, SearchStep]:
    """Return each end that ``source`` flows to → the last step of a shortest path."""
    reached: dict[str, SearchStep] = {}
    aliases_of, located, entities = walked.aliases, walked.located, walked.entities
    if source not in flows and source not in aliases_of:
        return reached
    seen = {(source, False)}
    queue = deque([SearchStep(source)])
    while queue:
        step = queue.popleft()
        at = step.at
        # A flow leads to another entity; an alias is another name of the same data.
        if step.own_location or at not in located or at == source or not entities[at].physical:
            for other, relation in flows.get(at, ()):
                if other in ends:
                    if other not in reached:
                        reached[other] = SearchStep(other, relation, step, True)
                elif (other, False) not in seen:
                    seen.add((other, False))
                    queue.append(SearchStep(other, relation, step, True))
        if not step.own_location and (aliases := aliases_of.get(at)):
            own = at in ends and not entities[at].physical
            for other, relation in aliases.items():
                if other in ends:
                    if step.flowed and other not in reached:
                        reached[other] = SearchStep(other, relation, step, True, own)
                elif (other, own) not in seen:
                    seen.add((other, own))
                    queue.append(SearchStep(other, relation, step, step.flowed, own))
    return reached


def direct(relation: StoredRelation) -> Edge:
    """Return the edge for a relation that is shown without contraction."""
    marks = (relation.inferred, relation.incomplete, relation.parsed)
    return Edge(relation.ep1.id, relation.ep2.id, relation.type, (), *marks)
