"""The walk: from one entity to all that it was made from and all that was made of it.

It goes hop by hop over the indexed ids of relations' ends. What is not drawn (deleted entities, operations, the locations
of tables) is walked through all the same; `navlin.query.contract` makes the edges. Depth counts drawn hops, so hiding
operations makes the same depth reach further.

The rules are Navigator's: tables show only operations with an output; a location leads to its table and not the other way
round (but what flows through a table's location flows through the table); executions are drawn only around an operation
or an execution from which one starts; relations flagged deleted do not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from navlin.index.solr import Solr
from navlin.model.keys import RelationType
from navlin.query.answer import Cut, Direction, Edge, Lineage, Reason
from navlin.query.column_locations import ColumnLocations
from navlin.query.columns import with_columns, with_tables
from navlin.query.contract import contract, direct, node_of
from navlin.query.hops import PATH_TYPES, Arc, Hops, Thing
from navlin.query.knowledge import OPERATION_TYPES, Knowledge
from navlin.query.locations import TABLE_TYPES, Locations
from navlin.query.options import Options

EXECUTIONS_DRAWN: Final = 10
RUN_FOR_DRAWN: Final = 100
"""Of what one application of YARN was run for: a job of Spark's may have had thousands of executions."""


class UnknownEntity(LookupError):
    """Nothing in the index has this id."""


def lineage(solr: Solr, start: str, options: Options | None = None) -> Lineage:
    """The lineage of the entity with the id ``start``. Raises `UnknownEntity`."""
    known = Knowledge(Hops(solr), options or Options())
    locations = Locations(known)
    return _Walk(start, known, locations, ColumnLocations(known, locations)).run()


@dataclass(slots=True)
class _Side:
    """One direction of a walk, level by level."""

    direction: Direction
    level: int = 0
    current: list[str] = field(default_factory=list)
    seen: set[tuple[str, bool]] = field(default_factory=set)
    """(id, whether it was reached as the location of a drawn table)"""

    @property
    def near(self) -> int:
        return 2 if self.direction is Direction.UPSTREAM else 1

    @property
    def far(self) -> int:
        return 3 - self.near


State = tuple[str, bool]


@dataclass(slots=True)
class _Walk:
    start: str
    known: Knowledge
    locations: Locations
    column_locations: ColumnLocations
    drawn: dict[str, None] = field(default_factory=dict)
    beyond: dict[str, Reason] = field(default_factory=dict)
    extra: list[Edge] = field(default_factory=list)
    executions: list[str] = field(default_factory=list)

    @property
    def things(self) -> dict[str, Thing]:
        return self.known.graph.things

    def run(self) -> Lineage:
        self._begin()
        wanted = self.known.options.direction
        directions = (Direction.UPSTREAM, Direction.DOWNSTREAM) if wanted is Direction.BOTH else (wanted,)
        sides = [_Side(direction, current=list(self.known.starts)) for direction in directions]
        for side in sides:
            side.seen.update((each, False) for each in self.known.starts)
            self.column_locations.learn(side.current, side.near, side.direction)
        while any(side.current for side in sides):
            # By turns, so that one side does not take all the nodes that may be drawn.
            for side in sides:
                if side.current:
                    self._advance(side)
        return self._answer()

    # -- Where it begins -----------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        thing = self.known.hops.entities([self.start]).get(self.start) or self._named_only()
        self.known.know(thing)
        self._start_at(thing.id)
        if thing.type == "OPERATION":
            self._draw_executions(thing)
        elif thing.type == "OPERATION_EXECUTION":
            self._draw_operations([thing.id])
        elif thing.type == "PARTITION" and thing.parent:
            self.known.load([thing.parent])
            if thing.parent in self.things:
                self._start_at(thing.parent)
        if thing.physical:
            self._learn_locations([thing.id], 1, Direction.DOWNSTREAM)
            if (
                thing.type in PATH_TYPES
                and thing.id not in self.known.graph.aliases
                and not thing.placeholder
            ):
                self.locations.learn_containing(thing)
            for arc in self.known.graph.aliases.get(thing.id, {}).values():
                self._draw_logical(arc)
        elif thing.type in ("OPERATION", "OPERATION_EXECUTION"):
            self._draw_run_for(thing)

    def _named_only(self) -> Thing:
        """The start as relations name it: with ``unlinked``, one may start at what was never captured."""
        for side in (1, 2) if self.known.options.unlinked else ():
            for arcs in self.known.hops.relations(
                [self.start], side, self.known.options.flow_types, 1
            ).arcs.values():
                return replace(arcs[0].end(side), placeholder=True)
        raise UnknownEntity(f"nothing in the index has the id {self.start}")

    def _start_at(self, identity: str) -> None:
        self.known.starts[identity] = self.drawn[identity] = None

    def _draw_executions(self, operation: Thing) -> None:
        arcs, count = self.known.hops.latest(operation.id, 1, RelationType.INSTANCE_OF, EXECUTIONS_DRAWN)
        known = self.known.hops.entities(arc.ep2.id for arc in arcs)
        for arc in arcs:
            if arc.ep2.id in known:
                self.known.know(known[arc.ep2.id])
                self.executions.append(arc.ep2.id)
                self.extra.append(direct(arc))
        if count > len(arcs):
            self.known.cuts[(operation.id, Direction.DOWNSTREAM, Reason.EXECUTIONS)] = None

    def _draw_operations(self, executions: list[str]) -> None:
        found = self.known.relations(executions, 2, RelationType.INSTANCE_OF, self.known.options.max_fan_out)
        known = self.known.hops.entities(arc.ep1.id for arc in found)
        for arc in found:
            if arc.ep1.id in known:
                self.known.know(known[arc.ep1.id])
                self._start_at(arc.ep1.id)
                self.extra.append(direct(arc))

    def _draw_run_for(self, physical: Thing) -> None:
        """What was run as this; of executions the operations too, for those are what data flows through."""
        arcs, count = self.known.hops.latest(physical.id, 2, RelationType.LOGICAL_PHYSICAL, RUN_FOR_DRAWN)
        arcs = [arc for arc in arcs if self.known.options.unlinked or not arc.unlinked]
        self.known.load(arc.ep1.id for arc in arcs)
        arcs = [arc for arc in arcs if arc.ep1.id in self.things and self.known.shown(arc.ep1.id)]
        for arc in arcs:
            self._draw_logical(arc)
        executions = [arc.ep1.id for arc in arcs if arc.ep1.type == "OPERATION_EXECUTION"]
        if executions:
            self._draw_operations(executions)
        if count > RUN_FOR_DRAWN:
            self.known.cuts[(physical.id, Direction.BOTH, Reason.EXECUTIONS)] = None

    def _draw_logical(self, arc: Arc) -> None:
        if self.known.shown(arc.ep1.id):
            self._start_at(arc.ep1.id)
            self.extra.append(direct(arc))

    # -- One level -----------------------------------------------------------------------------------------------------

    def _advance(self, side: _Side) -> None:
        """From the drawn nodes of one level, through all that is not drawn, to those of the next.

        The level past the last is walked as well, to know where there is more.
        """
        past_depth = self.known.options.depth is not None and side.level >= self.known.options.depth
        pending: list[State] = [(each, False) for each in side.current]
        reached: dict[str, None] = {}
        while pending:
            if len(side.seen) > self.known.options.max_walked:
                self.known.cuts[(pending[0][0], side.direction, Reason.WALKED)] = None
                break
            arrived = self._expand(side, pending)
            pending = [state for state in arrived if state[1] or not self.known.shown(state[0])]
            reached.update((each, None) for each, own in arrived if not own and self.known.shown(each))
        side.current = []
        side.level += 1
        for each in reached:
            if past_depth:
                self.beyond.setdefault(each, Reason.DEPTH)
            elif each in self.drawn or len(self.drawn) < self.known.options.max_nodes:
                self.drawn[each] = None
                side.current.append(each)
            else:
                self.beyond.setdefault(each, Reason.NODES)

    def _expand(self, side: _Side, states: list[State]) -> list[State]:
        """The states that one hop leads to, those seen before left out."""
        ids = [each for each, _ in states]
        arcs = self._followed(self._flows(ids, side))
        self.known.meet(arc.end(side.far) for arc in arcs)
        arrivals: dict[str, None] = {}
        for arc in arcs:
            far = arc.end(side.far)
            if far.id not in self.things and not self.known.adopt_placeholder(far):
                self.known.unlinked[arc.key] = arc
                continue
            self.known.graph.add_flow(arc)
            arrivals[far.id] = None
        if self.known.options.operations and side.direction is Direction.DOWNSTREAM:
            self._find_outputs(arrivals)
        own_locations = [
            *self.locations.of_tables(ids, arrivals, side.near, side.direction),
            *self.column_locations.of_columns(ids, arrivals, side.near, side.direction),
        ]
        # A drawn path whose tables are not drawn: the flow goes on through them.
        for each in ids:
            if self.things[each].physical and each not in self.known.graph.located:
                arrivals.update(
                    dict.fromkeys(
                        t for t in self.known.graph.aliases.get(each, {}) if not self.known.shown(t)
                    )
                )
        return self._arrive(side, arrivals, own_locations)

    def _followed(self, arcs: Iterable[Arc]) -> list[Arc]:
        followed = []
        for arc in arcs:
            if arc.unlinked and not self.known.options.unlinked:
                self.known.unlinked[arc.key] = arc
            else:
                followed.append(arc)
        return followed

    def _arrive(self, side: _Side, arrivals: Iterable[str], own_locations: Iterable[str]) -> list[State]:
        arrivals = list(arrivals)
        self._learn_locations(arrivals, side.near, side.direction)
        states: dict[State, None] = {}
        for each in arrivals:
            if each in self.known.graph.located and each not in self.known.starts:
                tables = self.known.graph.aliases.get(each, {})
                states.update(((table, False), None) for table in tables if self.known.shown(table))
            else:
                states[(each, False)] = None
        states.update(((each, True), None) for each in own_locations)
        fresh = [state for state in states if state not in side.seen]
        side.seen.update(fresh)
        return fresh

    def _learn_locations(self, ids: list[str], near: int, direction: Direction) -> None:
        self.locations.learn(each for each in ids if self.things[each].type in PATH_TYPES)
        self.column_locations.learn(ids, near, direction)

    # -- Flows -----------------------------------------------------------------------------------------------------

    def _flows(self, ids: list[str], side: _Side) -> list[Arc]:
        arcs = self.known.flows(ids, side.near, side.direction)
        columns = [each for each in ids if self.things[each].type == "FIELD"]
        return [*arcs, *self._whole_table_flows(columns, side)] if columns else arcs

    def _whole_table_flows(self, columns: list[str], side: _Side) -> list[Arc]:
        """Operations of whose columns nothing is known touch every column of their tables, and of where those lie.

        One that knows some of its columns touches, for all that is known, the others.
        """
        of_table: dict[str, list[Thing]] = {}
        for each in columns:
            column = self.things[each]
            where = self.known.graph.aliases.get(column.parent, {}) if not column.physical else {}
            for table in filter(None, (column.parent, *where)):
                of_table.setdefault(table, []).append(column)
        arcs = self.known.flows(of_table, side.near, side.direction)
        operations = {arc.end(side.far).id for arc in arcs if arc.end(side.far).type == "OPERATION"}
        with_parts = self.known.hops.with_parts(operations)
        incomplete = {
            arc.ep1.id for arc in self.known.flows(with_parts, 1, Direction.DOWNSTREAM) if arc.incomplete
        }
        told = self._parts_at(columns, side) if incomplete else set()
        whole: list[Arc] = []
        for arc in arcs:
            operation = arc.end(side.far).id
            if arc.end(side.far).type in TABLE_TYPES and arc.incomplete:
                whole.extend(self._past_known_columns(arc, of_table[arc.end(side.near).id], side))
            if operation not in operations or (operation in with_parts and operation not in incomplete):
                continue
            for column in of_table[arc.end(side.near).id]:
                if (column.id, operation) not in told:
                    told_whole = replace(arc, incomplete=arc.incomplete or operation in incomplete)
                    whole.append(
                        replace(told_whole, ep1=column) if side.near == 1 else replace(told_whole, ep2=column)
                    )
        return whole

    def _past_known_columns(self, arc: Arc, columns: list[Thing], side: _Side) -> Iterator[Arc]:
        """A flow between a table and a view not all of whose columns are known (no operation made it, the linker read its
        text), as one of those columns of which it is not known what they are made of, or made into."""
        known = self.known.flows([each.id for each in columns], side.near, side.direction)
        far = self.known.hops.entities(each.end(side.far).id for each in known)
        told = {
            each.end(side.near).id
            for each in known
            if (end := far.get(each.end(side.far).id)) is not None and end.type == "FIELD"
            if side.near == 2 or end.parent == arc.ep2.id
        }
        for column in columns:
            if column.id not in told:
                yield replace(arc, ep1=column) if side.near == 1 else replace(arc, ep2=column)

    def _parts_at(self, columns: list[str], side: _Side) -> set[tuple[str, str]]:
        """Which of these columns which operations tell of, as (column, operation)."""
        pairs = [
            (arc.end(side.near).id, arc.end(side.far).id)
            for arc in self.known.flows(columns, side.near, side.direction)
            if arc.end(side.far).type == "SUB_OPERATION"
        ]
        parts = self.known.hops.entities(part for _, part in pairs)
        return {(column, parts[part].parent) for column, part in pairs if part in parts}

    def _find_outputs(self, arrivals: Iterable[str]) -> None:
        """Around tables only operations with an output are drawn, be it one that nobody captured."""
        operations = [each for each in arrivals if self.things[each].type in OPERATION_TYPES]
        with_output = {arc.ep1.id for arc in self.known.flows(operations, 1, Direction.DOWNSTREAM)}
        self.known.without_output.update(each for each in operations if each not in with_output)

    # -- The answer ------------------------------------------------------------------------------------------------------

    def _answer(self) -> Lineage:
        edges: dict[tuple[str, str, str], Edge] = {}
        beyond = {each: why for each, why in self.beyond.items() if each not in self.drawn}
        for edge in contract(self.known.graph, self.drawn, beyond):
            if edge.source in beyond or edge.target in beyond:
                self._cut_at(edge, beyond)
            else:
                edges[(edge.type, edge.source, edge.target)] = edge
        for edge in self.extra:
            edges.setdefault((edge.type, edge.source, edge.target), edge)
        nodes = [*self.drawn, *(each for each in self.executions if each not in self.drawn)]
        answer = Lineage(
            self.start,
            self.known.options.direction,
            tuple(node_of(self.things[each], self._unlinked_at(each)) for each in nodes),
            tuple(edges.values()),
            (),
            len(self.known.unlinked),
        )
        cuts = [Cut(each, self.things[each].name, way, why) for each, way, why in self.known.cuts]
        answer = replace(answer, truncated_at=tuple(cuts))
        if any(node.type == "FIELD" for node in answer.nodes):
            return with_tables(self.known.hops, answer)
        return (
            with_columns(self.known.hops, self.known.graph, answer, self.known.options)
            if self.known.options.columns
            else answer
        )

    def _cut_at(self, edge: Edge, beyond: dict[str, Reason]) -> None:
        if edge.source in self.drawn:
            self.known.cuts[(edge.source, Direction.DOWNSTREAM, beyond[edge.target])] = None
        elif edge.target in self.drawn:
            self.known.cuts[(edge.target, Direction.UPSTREAM, beyond[edge.source])] = None

    def _unlinked_at(self, identity: str) -> int:
        return sum(identity in (arc.ep1.id, arc.ep2.id) for arc in self.known.unlinked.values())
