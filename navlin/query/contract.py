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

    def add_flow(self, relation: StoredRelation) -> None:
        """Add a flow, merged with a known flow of the same key."""
        key = relation.key
        known = self.flows.get(key)
        self.flows[key] = relation if known is None else known.merged(relation)

    def add_alias(self, relation: StoredRelation) -> None:
        """Add a LOGICAL_PHYSICAL relation at both ends."""
        self.aliases.setdefault(relation.ep1.id, {})[relation.ep2.id] = relation
        self.aliases.setdefault(relation.ep2.id, {})[relation.ep1.id] = relation

    def node(self, identity: str, unlinked: int = 0) -> Node:
        return Node.of(self.entities[identity], placeholder=identity in self.placeholders, unlinked=unlinked)

    def hop(self, identity: str) -> Node:
        entity = self.entities[identity]
        unseen = identity in self.placeholders
        return Node(entity.id, entity.name, entity.type, deleted=entity.deleted, placeholder=unseen)


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

    def between(self) -> list[str]:
        """Return the ids of the entities that the path passes through, in the direction of the flow."""
        ids = [step.at for step in self._steps()][1:]
        return ids[::-1]

    def edge(self, walked: Walked) -> Edge:
        """Return the displayed edge for this path."""
        relations = [step.relation for step in self._steps() if step.relation is not None]
        return Edge(
            self.source,
            self.target,
            self.type,
            tuple(walked.hop(each) for each in self.between()),
            inferred=any(relation.inferred for relation in relations),
            incomplete=any(relation.incomplete for relation in relations),
            parsed=any(relation.parsed for relation in relations),
        )

    def _steps(self) -> Iterator[SearchStep]:
        step: SearchStep | None = self.last
        while step is not None and step.relation is not None:
            yield step
            step = step.before


def contract(walked: Walked, shown: Collection[str], stops: Collection[str] = ()) -> Iterator[Way]:
    """Yield the paths between ``shown`` nodes, and the paths from and to ``stops``, which are nodes that could be shown
    but are left out.

    A path is a CONTROL_FLOW only if every path between the two nodes contains a CONTROL_FLOW.
    """
    sources = dict.fromkeys([*shown, *stops])
    ends = sources.keys()
    flows = walked.flows.values()
    data = _by_source(flow for flow in flows if flow.type != RelationType.CONTROL_FLOW)
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


def _by_source(flows: Iterable[StoredRelation]) -> dict[str, list[StoredRelation]]:
    by_source: dict[str, list[StoredRelation]] = {}
    for flow in flows:
        by_source.setdefault(flow.ep1.id, []).append(flow)
    return by_source


def _reach(
    walked: Walked, ends: Set[str], flows: dict[str, list[StoredRelation]], source: str
) -> dict[str, SearchStep]:
    """Return each end that ``source`` flows to → the last step of a shortest path."""
    reached: dict[str, SearchStep] = {}
    if source not in flows and source not in walked.aliases:
        return reached
    seen = {(source, False)}
    queue = deque([SearchStep(source)])
    while queue:
        step = queue.popleft()
        at, entities = step.at, walked.entities
        # A flow leads to another entity; an alias is another name of the same data.
        if step.own_location or at not in walked.located or at == source or not entities[at].physical:
            for relation in flows.get(at, ()):
                other = relation.ep2.id
                if other in ends:
                    if other not in reached:
                        reached[other] = SearchStep(other, relation, step, True)
                elif (other, False) not in seen:
                    seen.add((other, False))
                    queue.append(SearchStep(other, relation, step, True))
        if not step.own_location and (aliases := walked.aliases.get(at)):
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
