"""What a walk has met so far: entities, flows, the places where it was cut; and whether a thing is drawn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from navlin.query.answer import Direction, Reason
from navlin.query.contract import Graph
from navlin.query.hops import Arc, Hops, Thing
from navlin.query.options import Options

OPERATION_TYPES: Final = frozenset({"OPERATION", "SUB_OPERATION"})


@dataclass(slots=True)
class Knowledge:
    """Asks the index, and for each thing once."""

    hops: Hops
    options: Options
    graph: Graph = field(default_factory=Graph)
    starts: dict[str, None] = field(default_factory=dict)
    """Where the walk began: these are drawn whatever they are."""
    without_output: set[str] = field(default_factory=set)
    """Operations that are not drawn, for they made nothing."""
    cuts: dict[tuple[str, Direction, Reason], None] = field(default_factory=dict)
    unlinked: dict[tuple[str, str, str], Arc] = field(default_factory=dict)
    """Relations that were not followed because an end of theirs is not known."""
    _fetched: dict[tuple[str, int], Sequence[Arc]] = field(default_factory=dict)
    _absent: set[str] = field(default_factory=set)

    def shown(self, identity: str) -> bool:
        """Whether a thing that was met is drawn, if there is room."""
        if identity in self.starts:
            return True
        thing = self.graph.things[identity]
        if thing.deleted and not self.options.deleted:
            return False
        if thing.type in OPERATION_TYPES:
            return self.options.operations and identity not in self.without_output
        return identity not in self.graph.located and thing.type != "PARTITION"

    # -- Relations -----------------------------------------------------------------------------------------------------

    def flows(self, ids: Iterable[str], near: int, direction: Direction) -> list[Arc]:
        """The flows of which these ids are the end ``near``, unlinked ones too."""
        ids = list(dict.fromkeys(ids))
        missing = [each for each in ids if (each, near) not in self._fetched]
        if missing:
            found = self.hops.relations(missing, near, self.options.flow_types, self.options.max_fan_out)
            for each in missing:
                self._fetched[(each, near)] = found.arcs.get(each, ())
            for each in sorted(found.cut):
                self.cuts[(each, direction, Reason.FAN_OUT)] = None
        return [arc for each in ids for arc in self._fetched[(each, near)]]

    def relations(self, ids: Iterable[str], near: int, relation_type: str, fan_out: int) -> list[Arc]:
        """Relations of another type than flows; unlinked ones only where they are asked for."""
        found = self.hops.relations(ids, near, (relation_type,), fan_out)
        for each in sorted(found.cut):
            self.cuts[(each, Direction.BOTH, Reason.FAN_OUT)] = None
        arcs = [arc for arcs in found.arcs.values() for arc in arcs]
        return [arc for arc in arcs if self.options.unlinked or not arc.unlinked]

    # -- Entities ------------------------------------------------------------------------------------------------------

    def know(self, thing: Thing) -> None:
        """Takes in an entity."""
        self.graph.things[thing.id] = thing

    def load(self, ids: Iterable[str]) -> None:
        """Takes in those of these entities that are indexed."""
        wanted = [
            each for each in dict.fromkeys(ids) if each not in self.graph.things and each not in self._absent
        ]
        known = self.hops.entities(wanted) if wanted else {}
        self.graph.things.update(known)
        self._absent.update(each for each in wanted if each not in known)

    def meet(self, ends: Iterable[Thing]) -> None:
        """Loads what is at the other end of flows. Operations that are not drawn need no more than their relation says."""
        ends = list(ends)
        if not self.options.operations:
            self.graph.things.update(
                (end.id, end)
                for end in ends
                if end.type in OPERATION_TYPES and end.id not in self.graph.things
            )
        self.load(end.id for end in ends)

    def adopt_placeholder(self, end: Thing) -> bool:
        """What was only ever named is drawn when unlinked relations are walked."""
        if self.options.unlinked:
            self.know(replace(end, placeholder=True))
        return self.options.unlinked
