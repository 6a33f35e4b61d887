"""Lineage walk from one entity to everything it was made from and everything made from it.

The walk goes hop by hop over the indexed ids of the ends of relations. It passes through hidden entities (deleted ones,
operations, the locations of tables); `navlin.query.contract` makes the edges. Depth counts shown hops, so the same
depth reaches further if operations are hidden.

The rules are Navigator's. Tables show only operations with an output. A location leads to its table, and a table does
not lead to its location (but a flow through a table's location flows through the table). Executions are shown only
around an operation or an execution where the walk starts. Relations flagged deleted do not count.
"""

from __future__ import annotations

import gc
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Final, TypeVar

from navlin.index.graph.entity import PATH_TYPES, StoredEntity
from navlin.index.graph.filters import RelationFilter
from navlin.index.graph.graph import Graph, entity_of
from navlin.index.graph.relation import End, Side, StoredRelation
from navlin.index.graph.remembered import ROUNDS, answered
from navlin.index.solr.solr import Solr
from navlin.model.keys import RelationType
from navlin.model.refusal import Refusal
from navlin.query.answer import CutNode, CutReason, Direction, Edge, Lineage
from navlin.query.column_locations import one_column, pairs_of
from navlin.query.columns import with_columns, with_tables
from navlin.query.contract import Walked, Way, contract, direct
from navlin.query.locations import ReadLocations, locations_of, tables_around, tables_at
from navlin.query.names import walk_start
from navlin.query.options import PASSED_TYPES, WalkOptions
from navlin.query.reading import LOGICAL_TYPES, WalkReader
from navlin.query.statement_names import with_statement_names
from navlin.query.whole_tables import whole_table_flows

EXECUTIONS_SHOWN: Final = 10
RUN_FOR_DRAWN: Final = 100
"""Maximum number of executions drawn for one YARN application, because a Spark job may have had thousands."""

_RUNS: Final = RelationFilter((RelationType.INSTANCE_OF,), deleted=False)
_T = TypeVar("_T")
_RUN_FOR: Final = RelationFilter((RelationType.LOGICAL_PHYSICAL,), deleted=False)


class UnknownEntity(Refusal):
    """Nothing in the index has this id."""

    status = 404


def lineage(solr: Solr, start: str, options: WalkOptions | None = None) -> Lineage:
    """Return the lineage of the entity with the id ``start``. Raises `UnknownEntity`."""
    return in_time(solr, options or WalkOptions(), lambda graph, left: lineage_of(graph, start, left))


def in_time(solr: Solr, options: WalkOptions, ask: Callable[[Graph, WalkOptions], _T]) -> _T:
    """Return what ``ask`` makes of a graph, as `answered` does, and of the options with the time that is left."""
    began_s = time.monotonic()

    def asked(graph: Graph) -> _T:
        # A graph that changes meanwhile is walked again, and then most of it is in memory.
        left_s = max(options.max_s - (time.monotonic() - began_s), options.max_s / ROUNDS)
        return ask(graph, replace(options, max_s=left_s))

    return answered(solr, asked)


def lineage_of(graph: Graph, start: str, options: WalkOptions) -> Lineage:
    """Return the lineage as read from ``graph``. Raises `UnknownEntity`."""
    with _UNCOLLECTED:
        return with_statement_names(graph, _walked(graph, start, options)[0])


def lineage_with_dependencies(
    graph: Graph, start: str, options: WalkOptions
) -> tuple[Lineage, frozenset[str]]:
    """Return the lineage as read from ``graph``, and the ids of all entities read for it. The lineage stays valid until
    one of these entities changes, or a part, a flow or a location of such an entity. Raises `UnknownEntity`."""
    return _walked(graph, start, options)


def lineage_of_name(solr: Solr, name: str, options: WalkOptions) -> Lineage:
    """Return the lineage of the entity that ``name`` means. Raises `UnknownName`, `AmbiguousName`."""
    return in_time(
        solr,
        options,
        lambda graph, left: lineage_of(graph, walk_start(graph, name, unlinked=options.unlinked), left),
    )


def _walked(graph: Graph, start: str, options: WalkOptions) -> tuple[Lineage, frozenset[str]]:
    with _UNCOLLECTED, closing(WalkReader(graph, options)) as reader:
        walk = _Walk(start, options, reader)
        answer = walk.run()
        return answer, frozenset(reader.requested | walk.dependencies)


class Uncollected:
    """Disable Python's cycle collector while any walk is running. A walk makes tens of thousands of tuples and no
    cycles, and looking for cycles took a third of the time. Walks in several threads may overlap."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._walks = 0
        self._collects = False

    def __enter__(self) -> None:
        with self._lock:
            if not self._walks:
                self._collects = gc.isenabled()
                gc.disable()
            self._walks += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._walks -= 1
            if not self._walks and self._collects:
                gc.enable()
            elif self._collects:
                # Under load some walk may always be running, so collect the young generation now.
                gc.collect(0)


_UNCOLLECTED: Final = Uncollected()


@dataclass(slots=True)
class _Side:
    direction: Direction
    level: int = 0
    current: list[str] = field(default_factory=list)
    seen: set[tuple[str, bool]] = field(default_factory=set)
    """(id, whether the entity was reached as the location of a shown table)"""
    reading: Future[None] | None = None
    """The running read of the next level; None if there is none."""


State = tuple[str, bool]


@dataclass(slots=True)
class _Walk:
    """One walk. ``shown`` are nodes in the order of their distance, ``beyond`` maps nodes that are not shown to the
    reason. ``unlinked`` are flows that were not followed because one end is unknown."""

    start: str
    options: WalkOptions
    reader: WalkReader
    walked: Walked = field(default_factory=Walked)
    shown: dict[str, None] = field(default_factory=dict)
    without_place: int = 0
    """Number of shown nodes that do not count towards the limit."""
    beyond: dict[str, CutReason] = field(default_factory=dict)
    extra: list[Edge] = field(default_factory=list)
    executions: list[str] = field(default_factory=list)
    without_output: set[str] = field(default_factory=set)
    """Operations that are not shown because they made nothing."""
    cuts: dict[tuple[str, Direction, CutReason], None] = field(default_factory=dict)
    unlinked: dict[tuple[str, str, str], StoredRelation] = field(default_factory=dict)
    dependencies: set[str] = field(default_factory=set)
    """Ids at which the walk was stopped and that the reader did not request."""
    began_s: float = field(default_factory=time.monotonic)
    named_by: dict[str, tuple[str, Side]] = field(default_factory=dict)
    """Id of an operation without a name yet → (id of the relation that contains the name, side of the end with the
    name)."""

    @property
    def entities(self) -> dict[str, StoredEntity]:
        return self.walked.entities

    def run(self) -> Lineage:
        self._begin()
        wanted = self.options.direction
        directions = (Direction.UPSTREAM, Direction.DOWNSTREAM) if wanted is Direction.BOTH else (wanted,)
        sides = [_Side(direction, current=list(self.walked.starts)) for direction in directions]
        for side in sides:
            side.seen.update((each, False) for each in self.walked.starts)
            self._learn_columns(side.current, side.direction)
            self._begin_level(side)
        while any(side.current for side in sides):
            # Take turns, so that one side does not use up all nodes that may be shown. Solr reads the next level of one
            # side while the other advances.
            for side in sides:
                if side.reading is not None:
                    side.reading.result()
                    self._advance(side)
                    self._begin_level(side)
        return self._answer()

    # -- The start -----------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        entity = self.reader.entities([self.start]).get(self.start)
        if entity is None:
            entity = entity_of(self._named_only())
            self.walked.placeholders.add(self.start)
        self.entities[entity.id] = entity
        self._start_at(entity.id)
        if entity.type == "OPERATION":
            self._show_executions(entity)
        elif entity.type == "OPERATION_EXECUTION":
            self._show_operations([entity.id])
        elif entity.type == "PARTITION" and entity.parent_id:
            self._load([entity.parent_id])
            if entity.parent_id in self.entities:
                self._start_at(entity.parent_id)
        self._begin_further()
        if entity.physical:
            self._learn_locations([entity.id], Direction.DOWNSTREAM)
            alone = entity.id not in self.walked.aliases and entity.id not in self.walked.placeholders
            if entity.type in PATH_TYPES and alone:
                self._take(tables_around(self.reader, self.walked, entity))
            for relation in self.walked.aliases.get(entity.id, {}).values():
                self._show_logical(relation)
        elif entity.type in ("OPERATION", "OPERATION_EXECUTION"):
            self._show_run_for(entity)

    def _begin_further(self) -> None:
        known = self._load(self.options.starts)
        for each in self.options.starts:
            if each in known:
                self._start_at(each)
        self._learn_locations(list(known), Direction.DOWNSTREAM)

    def _named_only(self) -> End:
        """Return the start entity as a relation names it, because with ``unlinked`` a walk may start at a placeholder.
        Raises `UnknownEntity`."""
        for direction in (Direction.DOWNSTREAM, Direction.UPSTREAM) if self.options.unlinked else ():
            for relation in self.reader.flows([self.start], direction).relations:
                return relation.end(direction.near)
        raise UnknownEntity(f"nothing in the index has the id {self.start}")

    def _start_at(self, identity: str) -> None:
        self.walked.starts[identity] = self.shown[identity] = None

    def _show_executions(self, operation: StoredEntity) -> None:
        graph = self.reader.graph
        most = self.options.max_nodes if self.options.all_executions else EXECUTIONS_SHOWN
        relations, count = graph.latest_relations([operation.id], 1, _RUNS, most)
        known = self._load(relation.ep2.id for relation in relations)
        for relation in relations:
            if relation.ep2.id in known:
                self.executions.append(relation.ep2.id)
                self.extra.append(direct(relation))
        if count > len(relations):
            self.cuts[(operation.id, Direction.DOWNSTREAM, CutReason.EXECUTIONS)] = None

    def _show_operations(self, executions: list[str]) -> None:
        found = self.reader.operations(executions)
        self._cut(found.cut)
        known = self._load(relation.ep1.id for relation in found.relations)
        for relation in found.relations:
            if relation.ep1.id in known:
                self._start_at(relation.ep1.id)
                self.extra.append(direct(relation))

    def _show_run_for(self, physical: StoredEntity) -> None:
        """Show the executions that ran as this entity, or as one of its executions. Also show the operations of these
        executions, because data flows through the operations."""
        latest, count = self.reader.graph.latest_relations(
            [physical.id, *self.executions], 2, _RUN_FOR, RUN_FOR_DRAWN
        )
        relations = [each for each in latest if self.options.unlinked or not each.unlinked]
        known = self._load(each.ep1.id for each in relations)
        relations = [each for each in relations if each.ep1.id in known and self._shown(each.ep1.id)]
        for each in relations:
            self._show_logical(each)
        executions = [each.ep1.id for each in relations if each.ep1.type == "OPERATION_EXECUTION"]
        if executions:
            self._show_operations(executions)
        if count > RUN_FOR_DRAWN:
            self.cuts[(physical.id, Direction.BOTH, CutReason.EXECUTIONS)] = None

    def _show_logical(self, relation: StoredRelation) -> None:
        if self._shown(relation.ep1.id) and not self._stopped(relation.ep1.id):
            self._start_at(relation.ep1.id)
            self.extra.append(direct(relation))

    # -- One level -----------------------------------------------------------------------------------------------------

    def _advance(self, side: _Side) -> None:
        """Advance from the shown nodes of one level, through hidden nodes, to the shown nodes of the next level.

        The level after the last is walked as well, to find out where there is more.
        """
        past_depth = self._past_depth(side)
        going_on = [each for each in side.current if not past_depth or each in self.options.go_on]
        ending = [each for each in side.current if past_depth and each not in self.options.go_on]
        side.current = []
        side.level += 1
        for each in self._reached(side, going_on):
            if each in self.shown or self._takes_no_place(each) or self._room() > 0:
                if each not in self.shown and self._takes_no_place(each):
                    self.without_place += 1
                self.shown[each] = None
                side.current.append(each)
            else:
                self.beyond.setdefault(each, CutReason.NODES)
        self._load(side.current)
        for each in self._reached(side, ending):
            self.beyond.setdefault(each, CutReason.DEPTH)

    def _reached(self, side: _Side, nodes: list[str]) -> list[str]:
        """Return the shown nodes that are one shown hop away."""
        pending: list[State] = [(each, False) for each in nodes]
        reached: dict[str, None] = {}
        while pending:
            if len(side.seen) > self.options.max_walked:
                self.cuts[(pending[0][0], side.direction, CutReason.WALKED)] = None
                break
            if time.monotonic() - self.began_s >= self.options.max_s:
                self.cuts.update(((each, side.direction, CutReason.TIME), None) for each in nodes)
                break
            arrived = self._expand(side, pending)
            pending = []
            for state in arrived:
                if state[1] or not self._shown(state[0]):
                    pending.append(state)
                else:
                    reached[state[0]] = None
        return list(reached)

    def _room(self) -> int:
        """Return the number of nodes that may still be shown."""
        return self.options.max_nodes + self.without_place - len(self.shown)

    def _takes_no_place(self, identity: str) -> bool:
        return self.options.readers and self.entities[identity].type in PASSED_TYPES

    def _past_depth(self, side: _Side) -> bool:
        return self.options.depth is not None and side.level >= self.options.depth

    def _begin_level(self, side: _Side) -> None:
        last = self._past_depth(side) and not self.options.go_on
        room = 0 if last else self._room()
        going_on = bool(side.current)
        side.reading = self.reader.begin_level(side.current, side.direction, room) if going_on else None

    def _expand(self, side: _Side, states: list[State]) -> list[State]:
        """Return the states that are one hop away, without those seen before."""
        ids, direction = [each for each, _ in states], side.direction
        flows = self._followed(self._flows(ids, direction))
        self._meet(flows, direction)
        arrivals: dict[str, None] = {}
        entities, add_flow, stops = self.entities, self.walked.add_flow, bool(self.options.stops)
        upstream = direction.far == 1
        for relation in flows:
            far = relation.ep1 if upstream else relation.ep2
            identity = far.id
            if identity in entities or self._known(far):
                if not (stops and self._stopped(identity)):
                    add_flow(relation)
                    arrivals[identity] = None
            else:
                self.unlinked[relation.key] = relation
        if self.options.operations and not self.options.readers and direction is Direction.DOWNSTREAM:
            self._find_outputs(arrivals)
        here = [self.entities[each] for each in ids]
        tables = [each for each in here if each.type in LOGICAL_TYPES]
        columns = [each for each in here if each.type == "FIELD" and not each.physical]
        self._learn_locations_of(tables, direction)
        own_locations = [
            *self._through_locations(tables, arrivals, direction),
            *self._through_locations(columns, arrivals, direction),
        ]
        # If the tables of a shown path are hidden, the flow continues through them.
        for each in here:
            if each.physical and each.id not in self.walked.located:
                aliases = self.walked.aliases.get(each.id, {})
                arrivals.update((table, None) for table in aliases if not self._shown(table))
        return self._arrive(side, arrivals, own_locations)

    def _followed(self, flows: Iterable[StoredRelation]) -> list[StoredRelation]:
        followed = []
        for relation in flows:
            if relation.unlinked and not self.options.unlinked:
                self.unlinked[relation.key] = relation
            else:
                followed.append(relation)
        return followed

    def _meet(self, flows: Iterable[StoredRelation], direction: Direction) -> None:
        """Load the entities at the far ends of flows. For hidden operations, the data in the relation are enough."""
        ends: dict[str, None] = {}
        side, entities = direction.far, self.entities
        loaded, named = self.options.operations, not self.options.unlinked
        for relation in flows:
            near, end = (relation.ep2, relation.ep1) if side == 1 else (relation.ep1, relation.ep2)
            identity = end.id
            if loaded or end.type not in PASSED_TYPES:
                ends[identity] = None
            elif near.type in PASSED_TYPES:
                # An operation leads to another; such relations are read without the names of their ends.
                if identity not in entities:
                    entities[identity] = entity_of(end)
                    ends[identity] = None
            elif identity not in entities:
                entities[identity] = entity_of(end)
                if named:
                    self.named_by[identity] = relation.id, side
            elif named and identity not in self.named_by and entities[identity].name == identity:
                self.named_by[identity] = relation.id, side
        entities.update(self.reader.met(ends))

    def _arrive(self, side: _Side, arrivals: Iterable[str], own_locations: Iterable[str]) -> list[State]:
        arrivals = list(arrivals)
        self._learn_locations(arrivals, side.direction)
        states: dict[State, None] = {}
        for each in arrivals:
            if each in self.walked.located and each not in self.walked.starts:
                tables = self.walked.aliases.get(each, {})
                states.update(((table, False), None) for table in tables if self._shown(table))
            else:
                states[(each, False)] = None
        states.update(((each, True), None) for each in own_locations)
        fresh = [state for state in states if state not in side.seen and not self._stopped(state[0])]
        side.seen.update(fresh)
        return fresh

    def _shown(self, identity: str) -> bool:
        """Whether a known entity is to be shown, if there is room."""
        if identity in self.walked.starts:
            return True
        entity = self.entities[identity]
        if entity.deleted and not self.options.deleted:
            return False
        if entity.type in PASSED_TYPES:
            return self.options.operations and identity not in self.without_output
        return identity not in self.walked.located and entity.type != "PARTITION"

    def _stopped(self, identity: str) -> bool:
        """Whether the walk ends before this entity, because of `WalkOptions.stops`."""
        if not self.options.stops or identity in self.walked.starts:
            return False
        entity = self.entities.get(identity)
        # A sub-operation is not loaded; its own id is among the stops.
        above = entity.parent_id if entity is not None and entity.type == "FIELD" else ""
        if self.options.stops.isdisjoint((identity, above)):
            return False
        self.dependencies.update(filter(None, (identity, above)))
        return True

    # -- Adding entities read ------------------------------------------------------------------------------------------

    def _load(self, ids: Iterable[str]) -> dict[str, StoredEntity]:
        found = self.reader.entities(ids)
        self.entities.update(found)
        return found

    def _known(self, end: End) -> bool:
        """Whether an end is known. If unlinked relations are walked, an unknown end becomes a placeholder, and counts
        as known."""
        if end.id not in self.entities and self.options.unlinked:
            self.entities[end.id] = entity_of(end)
            self.walked.placeholders.add(end.id)
        return end.id in self.entities

    def _cut(self, cuts: Iterable[tuple[str, Direction]]) -> None:
        self.cuts.update(((identity, direction, CutReason.FAN_OUT), None) for identity, direction in cuts)

    def _take(self, located: ReadLocations) -> None:
        self.entities.update(located.entities)
        self.walked.looked_up.update(located.looked_up)
        self._cut(located.cut)
        for end in located.ends:
            self._known(end)
        for relation in located.relations:
            if self._known(relation.ep2):
                self._add_location(relation)

    def _add_location(self, relation: StoredRelation) -> None:
        if not (self._stopped(relation.ep1.id) or self._stopped(relation.ep2.id)):
            self.walked.add_alias(relation)
        if relation.ep2.id not in self.walked.starts and self._shown(relation.ep1.id):
            self.walked.located.add(relation.ep2.id)

    # -- Locations -----------------------------------------------------------------------------------------------------

    def _learn_locations(self, ids: list[str], direction: Direction) -> None:
        paths = [each for each in ids if self.entities[each].type in PATH_TYPES]
        self._take(tables_at(self.reader, self.walked, paths))
        self._learn_columns(ids, direction)

    def _learn_locations_of(self, tables: list[StoredEntity], direction: Direction) -> None:
        if tables:
            for located in locations_of(self.reader, self.walked, tables, direction):
                self._take(located)

    def _learn_columns(self, ids: Iterable[str], direction: Direction) -> None:
        """Find the other names of columns. The other name of a table's column is at the table's location; the other
        name of a path's column is in the table stored at the path."""
        entities = map(self.entities.__getitem__, ids)
        columns = [each for each in entities if each.type == "FIELD" and each.parent_id and each.own_name]
        if not columns:
            return
        self._load(each.parent_id for each in columns)
        ids_of_parents = dict.fromkeys(each.parent_id for each in columns)
        parents = [self.entities[each] for each in ids_of_parents if each in self.entities]
        paths = [each.id for each in parents if each.physical]
        self._take(tables_at(self.reader, self.walked, paths))
        self._learn_locations_of([each for each in parents if each.type in LOGICAL_TYPES], direction)
        pairs = list(pairs_of(columns, self.walked))
        self._load(each for pair in pairs for each in pair[:2])
        for table_column, path_column, relation in pairs:
            if table_column in self.entities and path_column in self.entities:
                ends = self.entities[table_column], self.entities[path_column]
                self._add_location(one_column(*ends, relation))

    def _through_locations(
        self, logical: Iterable[StoredEntity], arrivals: dict[str, None], direction: Direction
    ) -> list[str]:
        """Return the locations of these tables or columns, where the walk continues. If something flows through a path
        of a hidden table or column, the path joins the arrivals instead, because nothing else represents it."""
        own: dict[str, None] = {}
        for each in logical:
            aliases = self.walked.aliases.get(each.id, {})
            paths = [path for path in aliases if path not in self.walked.starts]
            if not self._shown(each.id):
                flows = self._read_flows(paths, direction)
                flowing = {relation.end(direction.near).id for relation in flows}
                arrivals.update((path, None) for path in paths if path in flowing)
                paths = [path for path in paths if path not in flowing]
            own.update(dict.fromkeys(paths))
        return list(own)

    # -- Flows -----------------------------------------------------------------------------------------------------

    def _read_flows(self, ids: Iterable[str], direction: Direction) -> list[StoredRelation]:
        found = self.reader.flows(ids, direction)
        self._cut(found.cut)
        return found.relations

    def _flows(self, ids: list[str], direction: Direction) -> list[StoredRelation]:
        flows = self._read_flows(ids, direction)
        columns = [self.entities[each] for each in ids if self.entities[each].type == "FIELD"]
        if not columns:
            return flows
        whole = whole_table_flows(self.reader, self.walked, columns, direction)
        self._cut(whole.cut)
        return [*flows, *whole.relations]

    def _find_outputs(self, arrivals: Iterable[str]) -> None:
        """Find the operations without an output, which are not shown around tables. An output that was never extracted
        counts as an output."""
        operations = [each for each in arrivals if self.entities[each].type in PASSED_TYPES]
        with_output = {each.ep1.id for each in self._read_flows(operations, Direction.DOWNSTREAM)}
        self.without_output.update(each for each in operations if each not in with_output)

    # -- The answer ------------------------------------------------------------------------------------------------------

    def _answer(self) -> Lineage:
        beyond = {each: why for each, why in self.beyond.items() if each not in self.shown}
        ways: list[Way] = []
        for way in contract(self.walked, self.shown, beyond):
            if way.source in self.shown and way.target in self.shown:
                ways.append(way)
            elif way.source in self.shown:
                self.cuts[(way.source, Direction.DOWNSTREAM, beyond[way.target])] = None
            elif way.target in self.shown:
                self.cuts[(way.target, Direction.UPSTREAM, beyond[way.source])] = None
        # A cut may be at an entity that was read only for a column, and is not loaded yet.
        self._load(each for each, _, _ in self.cuts if each not in self.entities)
        self._name_operations(
            [*(each for way in ways for each in way.between()), *(cut[0] for cut in self.cuts)]
        )
        edges: dict[tuple[str, str, str], Edge]
        edges = {(way.type, way.source, way.target): way.edge(self.walked) for way in ways}
        for edge in self.extra:
            edges.setdefault((edge.type, edge.source, edge.target), edge)
        nodes = [*self.shown, *(each for each in self.executions if each not in self.shown)]
        ends = ((relation.ep1.id, relation.ep2.id) for relation in self.unlinked.values())
        unlinked = Counter(end for pair in ends for end in set(pair))
        answer = Lineage(
            self.start,
            self.options.direction,
            tuple(self.walked.node(each, unlinked[each]) for each in nodes),
            tuple(edges.values()),
            tuple(CutNode(each, self._name_of(each), way, why) for each, way, why in self.cuts),
            len(self.unlinked),
            tuple(each for each in self.options.starts if each in self.walked.starts),
        )
        if any(node.type == "FIELD" for node in answer.nodes):
            return with_tables(self.reader, answer)
        return with_columns(self.reader, self.walked, answer) if self.options.columns else answer

    def _name_of(self, identity: str) -> str:
        return self.entities[identity].name if identity in self.entities else identity

    def _name_operations(self, ids: Iterable[str]) -> None:
        """Add the names of operations that are known only as ends of relations. Only the few names that are needed are
        read."""
        unnamed = {each: self.named_by[each] for each in ids if each in self.named_by}
        names = self.reader.graph.names_of_ends(relation for relation, _ in unnamed.values())
        for each, end in unnamed.items():
            if end in names:
                known = self.entities[each]
                named = End(each, names[end], known.type, known.source_type, known.source_id)
                self.entities[each] = entity_of(named)
