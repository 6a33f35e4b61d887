"""Reads of the index for one walk: each entity, and the relations at each end, are read only once, and in few
requests."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, TypeVar

from navlin.index.graph.entity import NODE, PATH_TYPES, TABLE_TYPES, StoredEntity
from navlin.index.graph.filters import EntityFilter
from navlin.index.graph.graph import Graph, entity_of
from navlin.index.graph.neighbours import Wanted
from navlin.index.graph.relation import FLOWING, IDENTIFIED, NAMED, WALKED, End, Side, StoredRelation
from navlin.model.batches import in_batches
from navlin.model.keys import RelationType
from navlin.query.answer import Direction
from navlin.query.options import PASSED_TYPES, WalkOptions

_T = TypeVar("_T")
_R = TypeVar("_R")
LOGICAL_TYPES: Final = frozenset({*TABLE_TYPES, "PARTITION"})
MAX_LOCATIONS: Final = 10_000
"""Maximum number of locations read for one table."""
NARROW: Final = 8
"""Maximum number of nodes on a level of a chain."""
CHAIN: Final = 8
"""Number of narrow levels in a row after which further levels are read together. Read one by one, a chain of thousands
of tables would take as many round trips."""
HOPS_AHEAD: Final = 256
RELATIONS_AHEAD: Final = 4_000
IDS_AHEAD: Final = 500
"""Maximum number of ids whose relations are read in one request ahead of the walk."""
_LIVE: Final = EntityFilter(deleted=False)


class Relations(NamedTuple):
    """Relations, and (id, direction) for each id that has more relations than were read."""

    relations: list[StoredRelation]
    cut: Sequence[tuple[str, Direction]] = ()


@dataclass(slots=True)
class _ReadRelations:
    """Relations of certain types at one side: id at that side → relations. ``cut`` are the ids that have more relations
    than were read."""

    relations: dict[str, Sequence[StoredRelation]] = field(default_factory=dict)
    cut: set[str] = field(default_factory=set)


@dataclass(slots=True)
class WalkReader:
    """Reader of the index for one walk, which remembers the results. Must be closed."""

    graph: Graph
    options: WalkOptions
    _read: dict[tuple[Side, tuple[str, ...]], _ReadRelations] = field(default_factory=dict)
    _entities: dict[str, StoredEntity | None] = field(default_factory=dict)
    _sketched: dict[str, StoredEntity] = field(default_factory=dict)
    """Tables known to exist and not to be deleted; nothing else but their type is known."""
    _narrow: dict[Direction, int] = field(default_factory=dict)
    """Number of narrow levels read in a row; negative if it is not worth looking ahead again soon."""
    _thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(2))
    _levels: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(2))
    """Threads that read one level in each direction. Both may read the same data, which is harmless."""

    def flows(self, ids: Iterable[str], direction: Direction) -> Relations:
        """Return the flows from these ids in one direction, including unlinked ones. The ends of the flows have names
        if the walk includes unlinked flows."""
        wanted = list(dict.fromkeys(ids))
        read = self._at(self._flows_from(wanted, direction))
        relations = [relation for each in wanted for relation in read.relations[each]]
        return Relations(relations, [(each, direction) for each in sorted(read.cut.intersection(wanted))])

    def all_flows(self, ids: Mapping[Direction, Iterable[str]]) -> list[StoredRelation]:
        """Return the flows from the ids of each direction, without remembering them; unlinked ones only if the walk
        includes them."""
        sought = [self._flows_from(list(dict.fromkeys(each)), direction) for direction, each in ids.items()]
        found = self._side_by_side(
            lambda each: self.graph.neighbours([each], self._fields([each], FLOWING))[0], sought
        )
        relations = (
            relation
            for each, of_each in zip(sought, found, strict=True)
            for one in each.ids
            for relation in of_each.relations.get(one, ())
        )
        return [relation for relation in relations if self.options.unlinked or not relation.unlinked]

    def all_children(
        self, parents: Sequence[tuple[Collection[str], EntityFilter]], limit: int
    ) -> list[tuple[list[StoredEntity], bool]]:
        """Return the matching children of each set of parents, at most ``limit`` per set, and whether there are more."""
        return self._side_by_side(lambda each: self.graph.children(*each, limit), parents)

    def locations(self, ids: Iterable[str]) -> Relations:
        """Return the LOGICAL_PHYSICAL relations that lead from these ids; unlinked ones only if the walk includes
        them."""
        return self._related(_locations_of(list(dict.fromkeys(ids))))

    def located(self, ids: Iterable[str]) -> Relations:
        """Return the LOGICAL_PHYSICAL relations that lead to these ids; unlinked ones only if the walk includes
        them."""
        return self._related(self._located_at(list(dict.fromkeys(ids))))

    def operations(self, ids: Iterable[str]) -> Relations:
        """Return the INSTANCE_OF relations of these executions; unlinked ones only if the walk includes them."""
        wanted = list(dict.fromkeys(ids))
        return self._related(Wanted(wanted, 2, (RelationType.INSTANCE_OF,), self.options.max_fan_out))

    def entities(self, ids: Iterable[str]) -> dict[str, StoredEntity]:
        """Return id → entity, for those of the ids that are in the index."""
        wanted = list(dict.fromkeys(ids))
        missing = [each for each in wanted if each not in self._entities]
        if missing:
            found: Mapping[str, StoredEntity] = self.graph.entities_of(missing, NODE)
            self._entities.update((each, found.get(each)) for each in missing)
        return {each: entity for each in wanted if (entity := self._entities[each]) is not None}

    def met(self, ids: Iterable[str]) -> dict[str, StoredEntity]:
        """Return id → entity, for those of the ids that are in the index. A table on a level too large to be shown whole
        may have only its id and type; it is not deleted. `entities` reads everything."""
        wanted = list(dict.fromkeys(ids))
        sketched = [each for each in wanted if each in self._sketched and each not in self._entities]
        found = self.entities(each for each in wanted if each not in self._sketched or each in self._entities)
        return {**found, **{each: self._sketched[each] for each in sketched}}

    def begin_level(self, ids: Sequence[str], direction: Direction, room: int) -> Future[None]:
        """Start reading the data that a walk needs between these shown nodes and the next shown nodes, in few requests.
        If there is ``room`` to show all next nodes, read their relations, too. Further data are read on demand, as are all
        data if the graph has them at hand."""
        if self.graph.at_hand:
            nothing: Future[None] = Future()
            nothing.set_result(None)
            return nothing
        return self._levels.submit(self._read_level, ids, direction, room)

    @property
    def requested(self) -> set[str]:
        """Ids requested from the index, for entities and for relations."""
        return {
            *self._entities,
            *self._sketched,
            *(each for read in self._read.values() for each in read.relations),
        }

    def close(self) -> None:
        """Wait for the reads in progress."""
        self._levels.shutdown()
        self._thread.shutdown()

    # -- Inside --------------------------------------------------------------------------------------------------------

    def _read_level(self, ids: Sequence[str], direction: Direction, room: int) -> None:
        if self._narrow.get(direction, 0) >= CHAIN:
            self._read_ahead(ids, direction)
        tables = [each for each in ids if self._type_of(each) in LOGICAL_TYPES]
        self._remember([self._flows_from(ids, direction), _locations_of(tables)])
        met = self._ends(ids, direction)
        if not self.options.operations:
            passed = [end.id for end in met.values() if end.type in PASSED_TYPES]
            # The names of these operations come from the flows that lead to them.
            self._remember([self._flows_from(passed, direction)], FLOWING)
            met |= self._ends(passed, direction)
            met = {each: end for each, end in met.items() if end.type not in PASSED_TYPES}
        if len(met) > NARROW:
            self._narrow[direction] = 0
        elif not self._has_read(met, direction):
            self._narrow[direction] = self._narrow.get(direction, 0) + 1
        beyond = [self._located_at([end.id for end in met.values() if end.type in PATH_TYPES])]
        if len(met) <= room:
            beyond.append(self._flows_from(list(met), direction))
            beyond.append(_locations_of([end.id for end in met.values() if end.type in LOGICAL_TYPES]))
        entities = self._thread.submit(self._meet, met, sketched=len(met) > room)
        self._remember(beyond)
        entities.result()

    def _read_ahead(self, ids: Sequence[str], direction: Direction) -> None:
        """Read the relations and entities of a chain that begins at these ids. Nothing is remembered that might be cut
        only because of the number of ids read together."""
        types = self.options.flow_types
        likely = self.graph.likely_ahead(ids, direction.near, types, HOPS_AHEAD, RELATIONS_AHEAD)
        # A level whose relations are remembered is not counted, so the next level that is not leads here again.
        self._narrow[direction] = CHAIN - 1 if len(likely) > CHAIN else -HOPS_AHEAD
        for batch in in_batches(sorted(likely), IDS_AHEAD):
            if not self._remember([self._flows_from(batch, direction)], whole=True):
                self._narrow[direction] = -HOPS_AHEAD
                return
            ends = self._ends(batch, direction)
            wanted = {e.id: e for e in ends.values() if self.options.operations or e.type not in PASSED_TYPES}
            self.entities(wanted)
            tables = [each for each, end in wanted.items() if end.type in LOGICAL_TYPES]
            paths = [each for each, end in wanted.items() if end.type in PATH_TYPES]
            self._remember([_locations_of(tables), self._located_at(paths)], whole=True)

    def _meet(self, ends: Mapping[str, End], *, sketched: bool) -> None:
        """Read the entities at these ends. ``sketched``: few of them will be shown."""
        if sketched:
            tables = [each for each, end in ends.items() if end.type in TABLE_TYPES]
            new = [each for each in tables if each not in self._entities and each not in self._sketched]
            live = self.graph.present(new, _LIVE)
            self._sketched.update((each, entity_of(ends[each])) for each in new if each in live)
        self.entities(each for each in ends if each not in self._sketched)

    def _has_read(self, ids: Iterable[str], direction: Direction) -> bool:
        read = self._read.get((direction.near, self.options.flow_types), _ReadRelations())
        return all(one in read.relations for one in ids)

    def _side_by_side(self, read: Callable[[_T], _R], wanted: Sequence[_T]) -> list[_R]:
        others = self._thread.map(read, wanted[1:])
        return [*map(read, wanted[:1]), *others]

    def _fields(self, wanted: Sequence[Wanted], of_flows: str) -> str:
        if self.options.unlinked:
            return NAMED
        return of_flows if all(each.types == self.options.flow_types for each in wanted) else WALKED

    def _flows_from(self, ids: Collection[str], direction: Direction) -> Wanted:
        return Wanted(ids, direction.near, self.options.flow_types, self.options.max_fan_out)

    def _located_at(self, ids: Collection[str]) -> Wanted:
        return Wanted(ids, 2, (RelationType.LOGICAL_PHYSICAL,), self.options.max_fan_out)

    def _ends(self, ids: Iterable[str], direction: Direction) -> dict[str, End]:
        relations = self.flows(ids, direction).relations
        return {(end := relation.end(direction.far)).id: end for relation in relations}

    def _type_of(self, identity: str) -> str:
        entity = self._entities.get(identity)
        return entity.type if entity is not None else ""

    def _related(self, wanted: Wanted) -> Relations:
        read = self._at(wanted)
        cut = [(each, Direction.BOTH) for each in sorted(read.cut.intersection(wanted.ids))]
        return Relations(self._followed(read, wanted.ids), cut)

    def _at(self, wanted: Wanted) -> _ReadRelations:
        self._remember([wanted])
        return self._read[wanted.side, wanted.types]

    def _remember(self, wanted: Sequence[Wanted], of_flows: str = IDENTIFIED, *, whole: bool = False) -> bool:
        """Read those wanted relations that were not read before. ``of_flows`` are the fields to read if only flows are
        wanted. With ``whole``, remember nothing and return False if the relations of any id are cut."""
        reads = [self._read.setdefault((each.side, each.types), _ReadRelations()) for each in wanted]
        new = [
            (read, replace(each, ids=missing))
            for read, each in zip(reads, wanted, strict=True)
            if (missing := [one for one in each.ids if one not in read.relations])
        ]
        if not new:
            return True
        wanted = [each for _, each in new]
        found = self.graph.neighbours(wanted, self._fields(wanted, of_flows))
        if whole and any(each.cut for each in found):
            return False
        for (read, each), relations in zip(new, found, strict=True):
            read.cut.update(relations.cut)
            read.relations.update((one, relations.relations.get(one, ())) for one in each.ids)
        return True

    def _followed(self, read: _ReadRelations, ids: Iterable[str]) -> list[StoredRelation]:
        """Return the relations of these ids, in the order of the index. Unlinked ones are left out unless the walk
        includes them."""
        groups = [found for each in ids if (found := read.relations[each])]
        groups.sort(key=lambda found: found[0].id)
        relations = (relation for found in groups for relation in found)
        return [relation for relation in relations if self.options.unlinked or not relation.unlinked]


def _locations_of(ids: Collection[str]) -> Wanted:
    return Wanted(ids, 1, (RelationType.LOGICAL_PHYSICAL,), MAX_LOCATIONS)
