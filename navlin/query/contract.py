"""What is not drawn is contracted, not cut: flows between drawn nodes, through everything that was walked between them."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace

from navlin.model.keys import RelationType
from navlin.query.answer import Edge, Hop, Node
from navlin.query.hops import Arc, Thing


@dataclass(slots=True)
class Graph:
    """All that a walk has seen.

    ``aliases`` are LOGICAL_PHYSICAL relations, kept at both their ends: a table and its location are one and the same
    data, and so are their columns of one name. ``located`` are the paths that stand for a table that may be drawn: such
    a path is never drawn itself, and what flows into it flows into the table.
    """

    things: dict[str, Thing] = field(default_factory=dict)
    flows: dict[tuple[str, str, str], Arc] = field(default_factory=dict)
    aliases: dict[str, dict[str, Arc]] = field(default_factory=dict)
    located: set[str] = field(default_factory=set)

    def add_flow(self, arc: Arc) -> None:
        """Keeps a flow; stated twice, it is one."""
        known = self.flows.get(arc.key)
        self.flows[arc.key] = arc if known is None else known.merged(arc)

    def add_alias(self, arc: Arc) -> None:
        """Keeps a LOGICAL_PHYSICAL relation."""
        self.aliases.setdefault(arc.ep1.id, {})[arc.ep2.id] = arc
        self.aliases.setdefault(arc.ep2.id, {})[arc.ep1.id] = arc


@dataclass(frozen=True, slots=True)
class _Step:
    """A way from the node where a search began."""

    at: str
    arc: Arc | None = None
    before: _Step | None = None
    flowed: bool = False
    own_location: bool = False
    """This is a location of the drawn table where the search began: only what flows from it counts."""


def contract(graph: Graph, drawn: Collection[str], stops: Collection[str] = ()) -> Iterator[Edge]:
    """The edges between ``drawn`` nodes; also those from and to ``stops``, which may be drawn and are not.

    An edge is CONTROL_FLOW only if every way from the one to the other leads through a CONTROL_FLOW.
    """
    ends = set(drawn) | set(stops)
    data: dict[str, list[Arc]] = {}
    every: dict[str, list[Arc]] = {}
    for arc in graph.flows.values():
        every.setdefault(arc.ep1.id, []).append(arc)
        if arc.type != RelationType.CONTROL_FLOW:
            data.setdefault(arc.ep1.id, []).append(arc)
    steered = len(graph.flows) > sum(map(len, data.values()))
    for source in [*drawn, *(each for each in stops if each not in drawn)]:
        reached = _reach(graph, ends, data, source)
        yield from (_edge(graph, source, step, RelationType.DATA_FLOW) for step in reached.values())
        if steered:
            for target, step in _reach(graph, ends, every, source).items():
                if target not in reached:
                    yield _edge(graph, source, step, RelationType.CONTROL_FLOW)


def _reach(graph: Graph, ends: set[str], flows: dict[str, list[Arc]], source: str) -> dict[str, _Step]:
    """Each end that ``source`` flows to, by a shortest way."""
    reached: dict[str, _Step] = {}
    seen = {(source, False)}
    queue = deque([_Step(source)])
    while queue:
        for step in _steps(graph, ends, flows, queue.popleft(), source):
            if step.at in ends:
                if step.flowed:
                    reached.setdefault(step.at, step)
            elif (step.at, step.own_location) not in seen:
                seen.add((step.at, step.own_location))
                queue.append(step)
    return reached


def _steps(
    graph: Graph, ends: set[str], flows: dict[str, list[Arc]], step: _Step, source: str
) -> Iterator[_Step]:
    physical = graph.things[step.at].physical
    stands_for_table = physical and step.at in graph.located and step.at != source
    if step.own_location or not stands_for_table:
        for arc in flows.get(step.at, ()):
            yield _Step(arc.ep2.id, arc, step, flowed=True)
    if not step.own_location:
        for other, arc in graph.aliases.get(step.at, {}).items():
            own = not physical and step.at in ends
            yield _Step(other, arc, step, flowed=step.flowed, own_location=own)


def _edge(graph: Graph, source: str, step: _Step, relation_type: str) -> Edge:
    hops: list[Hop] = []
    arcs: list[Arc] = []
    at: _Step | None = step
    while at is not None and at.arc is not None:
        arcs.append(at.arc)
        at = at.before
        if at is not None and at.arc is not None:
            hops.append(hop_of(graph.things[at.at]))
    return Edge(
        source,
        step.at,
        relation_type,
        tuple(reversed(hops)),
        inferred=any(arc.inferred for arc in arcs),
        incomplete=any(arc.incomplete for arc in arcs),
        parsed=any(arc.parsed for arc in arcs),
    )


def hop_of(thing: Thing) -> Hop:
    """A thing that an edge passes through."""
    return Hop(thing.id, thing.name, thing.type, thing.deleted, thing.placeholder)


def direct(arc: Arc) -> Edge:
    """A relation that is drawn as it stands."""
    edge = Edge(arc.ep1.id, arc.ep2.id, arc.type)
    return replace(edge, inferred=arc.inferred, incomplete=arc.incomplete, parsed=arc.parsed)


def node_of(thing: Thing, unlinked: int = 0) -> Node:
    """A thing as it is drawn."""
    return Node(
        thing.id,
        thing.name,
        thing.type,
        thing.source_type,
        thing.source_id,
        thing.deleted,
        thing.placeholder,
        thing.granted,
        thing.parent,
        unlinked,
    )
