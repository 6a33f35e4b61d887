"""Columns of tables, and columns of the paths at which the tables lie: one and the same column, under two names.

A job that writes files by their path tells of the path's columns, one that reads the table of the table's. No relation
says that the two are one: it follows from the table's location and the column's name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from navlin.model.keys import RelationType, column_id, path_column_id
from navlin.query.answer import Direction
from navlin.query.contract import Graph
from navlin.query.hops import Arc, Thing
from navlin.query.knowledge import Knowledge
from navlin.query.locations import TABLE_TYPES, Locations


@dataclass(slots=True)
class ColumnLocations:
    """Learns which columns are one into the graph as the walk comes by."""

    known: Knowledge
    locations: Locations

    def learn(self, ids: Iterable[str], near: int, direction: Direction) -> None:
        """Finds the other names of these columns."""
        columns = [
            thing
            for thing in map(self.known.graph.things.__getitem__, ids)
            if thing.type == "FIELD" and thing.parent and thing.own_name
        ]
        if not columns:
            return
        self.known.load(column.parent for column in columns)
        parents = dict.fromkeys(each.parent for each in columns if each.parent in self.known.graph.things)
        self.locations.learn(each for each in parents if self.known.graph.things[each].physical)
        self.locations.of_tables(parents, {}, near, direction)
        pairs = list(pairs_of(columns, self.known.graph))
        self.known.load(each for pair in pairs for each in pair[:2])
        things = self.known.graph.things
        for table_column, path_column, arc in pairs:
            if table_column in things and path_column in things:
                self.locations.add(one_column(things[table_column], things[path_column], arc))

    def of_columns(
        self, ids: Iterable[str], arrivals: dict[str, None], near: int, direction: Direction
    ) -> list[str]:
        """The columns of paths that the tables' columns among ``ids`` are: they are walked through.

        One of a column that is not drawn joins the arrivals if something flows through it: it stands for itself.
        """
        things = self.known.graph.things
        columns = [each for each in ids if things[each].type == "FIELD" and not things[each].physical]
        return self.locations.walked_through(columns, arrivals, near, direction)


def pairs_of(columns: Iterable[Thing], graph: Graph) -> Iterator[tuple[str, str, Arc]]:
    """The ids of a table's column and of a path's that are one, with the LOGICAL_PHYSICAL relation that makes them so.

    Whether there is such a column remains to be seen.
    """
    for column in columns:
        for other_id, arc in graph.aliases.get(column.parent, {}).items():
            other = graph.things.get(other_id)
            if other is None:
                continue
            if column.physical and other.type in TABLE_TYPES and other.own_name:
                database = other.name.removesuffix(f".{other.own_name}")
                yield column_id(other.source_id, database, other.own_name, column.own_name), column.id, arc
            elif other.physical and not column.physical:
                yield column.id, path_column_id(other_id, column.own_name), arc


def one_column(table_column: Thing, path_column: Thing, because: Arc) -> Arc:
    """That the two are one, as certain as that the table lies at the path."""
    return Arc(RelationType.LOGICAL_PHYSICAL, table_column, path_column, inferred=because.inferred)
