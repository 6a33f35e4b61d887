"""What a walk reads of the index: every entity, and the flows at every end, once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from navlin.index.entity import StoredEntity
from navlin.index.filters import RelationFilter
from navlin.index.graph import Graph
from navlin.index.neighbours import Neighbours
from navlin.index.relation import NAMED, WALKED, Side, StoredRelation
from navlin.model.keys import RelationType
from navlin.query.answer import Direction
from navlin.query.options import Options


class Relations(NamedTuple):
    """Relations, and the ids that have more of them, in which direction, than were read."""

    relations: list[StoredRelation]
    cut: Sequence[tuple[str, Direction]] = ()


@dataclass(slots=True)
class Reader:
    """Reads the index for one walk."""

    graph: Graph
    options: Options
    _flows: dict[tuple[str, Direction], Sequence[StoredRelation]] = field(default_factory=dict)
    _cut: set[tuple[str, Direction]] = field(default_factory=set)
    _entities: dict[str, StoredEntity | None] = field(default_factory=dict)

    def flows(self, ids: Iterable[str], direction: Direction) -> Relations:
        """The flows from these ids in one direction, unlinked ones too. Their ends are named if unlinked ones are walked."""
        wanted = list(dict.fromkeys(ids))
        missing = [each for each in wanted if (each, direction) not in self._flows]
        if missing:
            found = self._flows_at(missing, direction.near)
            self._flows.update(((each, direction), found.relations.get(each, ())) for each in missing)
            self._cut.update((each, direction) for each in found.cut)
        return Relations(
            [relation for each in wanted for relation in self._flows[each, direction]],
            sorted(self._cut.intersection((each, direction) for each in wanted)),
        )

    def all_flows(self, ids: Iterable[str], side: Side) -> list[StoredRelation]:
        """The flows of which these ids are that end, not remembered; unlinked ones only where they are asked for."""
        return self._asked(self._flows_at(ids, side))

    def related(self, ids: Iterable[str], side: Side, relation_type: RelationType, fan_out: int) -> Relations:
        """Relations of another type than flows; unlinked ones only where they are asked for."""
        found = self.graph.neighbours(ids, side, RelationFilter((relation_type,), deleted=False), fan_out)
        return Relations(self._asked(found), [(each, Direction.BOTH) for each in sorted(found.cut)])

    def entities(self, ids: Iterable[str]) -> dict[str, StoredEntity]:
        """Those of these entities that are indexed, by id."""
        wanted = list(dict.fromkeys(ids))
        missing = [each for each in wanted if each not in self._entities]
        if missing:
            self._entities.update(dict.fromkeys(missing))
            self._entities.update(self.graph.entities_of(missing))
        return {each: entity for each in wanted if (entity := self._entities[each]) is not None}

    def _flows_at(self, ids: Iterable[str], side: Side) -> Neighbours:
        where = RelationFilter(self.options.flow_types, deleted=False)
        fields = NAMED if self.options.unlinked else WALKED
        return self.graph.neighbours(ids, side, where, self.options.max_fan_out, fields)

    def _asked(self, found: Neighbours) -> list[StoredRelation]:
        relations = (relation for each in found.relations.values() for relation in each)
        return [relation for relation in relations if self.options.unlinked or not relation.unlinked]
