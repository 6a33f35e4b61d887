"""Tables and where they lie: one and the same data, under two names.

A location leads to its table, so what flows into a path flows into the table that lies there. A table leads to its
locations only to find what flows through them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from navlin.model.identity import identify
from navlin.model.keys import RelationType, surely_of_table
from navlin.model.tree import upward
from navlin.query.answer import Direction
from navlin.query.hops import Arc, Thing
from navlin.query.knowledge import Knowledge

MAX_LOCATIONS: Final = 10_000
"""How many locations of one table are looked at."""
TABLE_TYPES: Final = frozenset({"TABLE", "VIEW"})


@dataclass(slots=True)
class Locations:
    """Learns LOGICAL_PHYSICAL relations into the graph as the walk comes by."""

    known: Knowledge
    asked: set[str] = field(default_factory=set)
    """Paths of which it is known what lies there."""

    def of_tables(
        self, ids: Iterable[str], arrivals: dict[str, None], near: int, direction: Direction
    ) -> list[str]:
        """The locations of the tables among ``ids``: they are walked through.

        One of a table that is not drawn joins the arrivals if something flows through it by its path: it stands for itself.
        """
        tables = [each for each in ids if self.known.graph.things[each].type in (*TABLE_TYPES, "PARTITION")]
        if not tables:
            return []
        found = self.known.relations(tables, 1, RelationType.LOGICAL_PHYSICAL, MAX_LOCATIONS)
        spoken_for = {arc.ep1.id for arc in found if arc.first_hand}
        found = [arc for arc in found if arc.first_hand or arc.ep1.id not in spoken_for]
        self.known.load(arc.ep2.id for arc in found)
        for arc in found:
            known = arc.ep2.id in self.known.graph.things or self.known.adopt_placeholder(arc.ep2)
            if known and arc.ep2.id not in self.known.starts:
                self.add(arc)
        self._learn_partitions(tables, found, near, direction)
        return self.walked_through(tables, arrivals, near, direction)

    def walked_through(
        self, logical: Iterable[str], arrivals: dict[str, None], near: int, direction: Direction
    ) -> list[str]:
        """Where these tables or columns physically are. What is not drawn leaves the drawing to the place where it lies."""
        own: dict[str, None] = {}
        for each_logical in logical:
            aliases = self.known.graph.aliases.get(each_logical, {})
            paths = dict.fromkeys(each for each in aliases if each not in self.known.starts)
            if not self.known.shown(each_logical):
                flowing = {arc.end(near).id for arc in self.known.flows(paths, near, direction)}
                arrivals.update((each, None) for each in paths if each in flowing)
                paths = {each: None for each in paths if each not in flowing}
            own.update(paths)
        return list(own)

    def add(self, arc: Arc) -> None:
        """Keeps that a table, or a table's column, lies somewhere."""
        self.known.graph.add_alias(arc)
        if arc.ep2.id not in self.known.starts and self.known.shown(arc.ep1.id):
            self.known.graph.located.add(arc.ep2.id)

    def _learn_partitions(
        self, tables: Iterable[str], locations: Iterable[Arc], near: int, direction: Direction
    ) -> None:
        """Finds the locations of partitions that data flows through. A table may have a hundred thousand partitions,
        so what is asked for is flows below the table's location, and partitions that lie outside of it."""
        directories: dict[str, list[Thing]] = {}
        for arc in locations:
            directories.setdefault(arc.ep1.id, []).append(self.known.graph.things.get(arc.ep2.id, arc.ep2))
        partitioned = [
            self.known.graph.things[each] for each in tables if self.known.graph.things[each].partitioned
        ]
        if not partitioned:
            return
        of_table = {table.id: directories.get(table.id, []) for table in partitioned}
        below = [_below(near, directory) for each in of_table.values() for directory in each]
        flows = [
            f"type:({' OR '.join(self.known.options.flow_types)})",
            f"endpoint{near}Type:(FILE OR DIRECTORY)",
        ]
        paths = self.known.hops.ends_matching(below, flows, near, MAX_LOCATIONS)
        elsewhere = [_partitions_outside(table, of_table[table.id]) for table in partitioned]
        partitions = [f"type:{RelationType.LOGICAL_PHYSICAL}", "endpoint1Type:PARTITION"]
        paths += self.known.hops.ends_matching(elsewhere, partitions, 2, MAX_LOCATIONS)
        self.known.load(paths)
        for arc in self.known.flows(paths, near, direction):
            if arc.end(near).id not in self.known.graph.things:
                self.known.adopt_placeholder(arc.end(near))
        self.learn(each for each in paths if each in self.known.graph.things)

    def learn(self, paths: Iterable[str]) -> None:
        """Finds out of which tables these paths are locations."""
        unknown = [each for each in paths if each not in self.asked]
        if not unknown:
            return
        self.asked.update(unknown)
        found = self.known.relations(
            unknown, 2, RelationType.LOGICAL_PHYSICAL, self.known.options.max_fan_out
        )
        self._add_locations(self._without_outdated_hints(found))

    def _add_locations(self, found: Iterable[Arc]) -> None:
        found = list(found)
        self.known.load(arc.ep1.id for arc in found)
        partitions = [
            self.known.graph.things[arc.ep1.id] for arc in found if arc.ep1.id in self.known.graph.things
        ]
        self.known.load(thing.parent for thing in partitions if thing.type == "PARTITION" and thing.parent)
        for arc in found:
            logical = self.known.graph.things.get(arc.ep1.id)
            if logical is not None and logical.type == "PARTITION" and logical.id not in self.known.starts:
                logical = self.known.graph.things.get(logical.parent)
            if logical is not None and logical.type in (*TABLE_TYPES, "PARTITION"):
                self.add(replace(arc, ep1=logical))

    def learn_containing(self, path: Thing) -> None:
        """Finds out in which table's location a path lies of which no relation says so: one that no data flows through
        by its path, as most files of a table. The longest location counts."""
        above = {identify(path.source_id, up): up for up in upward(path.name) if up != path.name}
        found = self.known.relations(above, 2, RelationType.LOGICAL_PHYSICAL, self.known.options.max_fan_out)
        found = self._without_outdated_hints(found)
        self.known.load(arc.ep1.id for arc in found)
        standing = [arc for arc in found if self._stands(arc.ep1.id)]
        if not standing:
            return
        location = max((above[arc.ep2.id] for arc in standing), key=len)
        certain = surely_of_table(location, path.name)
        self._add_locations(
            replace(arc, ep2=path, inferred=not certain) for arc in standing if above[arc.ep2.id] == location
        )

    def _stands(self, table_id: str) -> bool:
        thing = self.known.graph.things.get(table_id)
        return thing is not None and (not thing.deleted or self.known.options.deleted)

    def _without_outdated_hints(self, found: list[Arc]) -> list[Arc]:
        """A table's own source knows best where it lies: where it says so, what others say does not count."""
        hinted = {arc.ep1.id for arc in found if not arc.first_hand}
        if not hinted:
            return found
        said = self.known.relations(hinted, 1, RelationType.LOGICAL_PHYSICAL, MAX_LOCATIONS)
        spoken_for = {arc.ep1.id for arc in said if arc.first_hand}
        return [arc for arc in found if arc.first_hand or arc.ep1.id not in spoken_for]


def _below(side: int, directory: Thing) -> str:
    name = re.sub(r"(\W)", r"\\\1", directory.name.rstrip("/"), flags=re.ASCII)
    return f"(+endpoint{side}SourceId:{directory.source_id} +endpoint{side}Name:{name}\\/*)"


def _partitions_outside(table: Thing, directories: Iterable[Thing]) -> str:
    name = re.sub(r"(\W)", r"\\\1", table.name, flags=re.ASCII)
    inside = " ".join(f"-{_below(2, directory)}" for directory in directories)
    return f"(+endpoint1SourceId:{table.source_id} +endpoint1Name:{name}.* {inside})"
