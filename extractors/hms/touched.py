"""Merge the objects touched by the events of one round, so that each object is read once, in its current state."""

from __future__ import annotations

from dataclasses import dataclass, field

from extractors.hms.events import (
    Change,
    DatabaseChanged,
    PartitionsChanged,
    TableAltered,
    TableCreated,
    TableDropped,
    TableName,
    TableRenamed,
)

MANY_PARTITIONS = 1_000
"""Number of touched partitions of a table beyond which all its partitions are listed, because that costs less than
naming each.
"""


@dataclass(slots=True)
class TouchedTable:
    """The parts of one table to read again. ``partitions`` maps names of partitions to whether they still exist."""

    itself: bool = False
    all_partitions: bool = False
    partitions: dict[str, bool] = field(default_factory=dict)


@dataclass(slots=True)
class TouchedObjects:
    """Touched objects, collected by `add`.

    ``gone_databases`` and ``gone_tables`` were dropped or renamed in this round. Everything below them is gone, except
    the objects to read again. ``databases`` and ``tables`` are to be read. ``renamed_from`` maps a table's name to its
    name before this round.
    """

    databases: set[str] = field(default_factory=set)
    tables: dict[TableName, TouchedTable] = field(default_factory=dict)
    gone_databases: set[str] = field(default_factory=set)
    gone_tables: set[TableName] = field(default_factory=set)
    renames: list[TableRenamed] = field(default_factory=list)
    renamed_from: dict[TableName, TableName] = field(default_factory=dict)

    def add(self, change: Change) -> None:
        match change:
            case DatabaseChanged(database, dropped=True):
                self.databases.discard(database)
                self.gone_databases.add(database)
                for table in [table for table in self.tables if table.database == database]:
                    self._drop(table)
            case DatabaseChanged(database):
                self.databases.add(database)
            case TableCreated(table):
                self.renamed_from.pop(table, None)
                self.tables[table] = TouchedTable(itself=True, all_partitions=True)
            case TableAltered(table):
                self._touched(table).itself = True
            case TableDropped(table):
                self._drop(table)
            case TableRenamed(before, after):
                origin = self.renamed_from.get(before, before)
                self._drop(before)
                self.renames.append(change)
                self.tables[after] = TouchedTable(itself=True, all_partitions=True)
                if origin != after:
                    self.renamed_from[after] = origin
            case PartitionsChanged(table, names, dropped):
                self._add_partitions(self._touched(table), names, dropped=dropped)

    def _drop(self, table: TableName) -> None:
        self.tables.pop(table, None)
        self.renamed_from.pop(table, None)
        self.gone_tables.add(table)

    def _touched(self, table: TableName) -> TouchedTable:
        return self.tables.setdefault(table, TouchedTable())

    def _add_partitions(self, table: TouchedTable, names: tuple[str, ...] | None, *, dropped: bool) -> None:
        if table.all_partitions:
            return
        if names is not None:
            table.partitions.update(dict.fromkeys(names, not dropped))
        if names is None or len(table.partitions) > MANY_PARTITIONS:
            table.all_partitions = True
            table.partitions.clear()
