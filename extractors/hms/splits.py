from __future__ import annotations

from dataclasses import dataclass

from extractors.hms.events import TableName, TableRenamed
from navlin.model.records import Split, first_of

Renamed = tuple[tuple[TableName, TableName], ...]
"""Renamed tables, as (current name, previous name)."""


@dataclass(frozen=True, slots=True)
class DatabaseSplit(Split):
    """Databases to read, without their tables."""

    databases: tuple[str, ...]
    as_of_ms: int

    @property
    def name(self) -> str:
        return f"databases {first_of(self.databases)}"


@dataclass(frozen=True, slots=True)
class TableSplit(Split):
    """Tables to read with their columns. Reading them yields further splits for the partitions of the tables in
    ``list_partitions``, or of all tables if that is None. ``touched`` is true if events named the tables; each table
    then covers everything directly below it.
    """

    tables: tuple[TableName, ...]
    as_of_ms: int
    touched: bool = False
    list_partitions: tuple[TableName, ...] | None = None
    renamed: Renamed = ()

    @property
    def name(self) -> str:
        return f"tables {first_of(self.tables)}"


@dataclass(frozen=True, slots=True)
class PartitionListSplit(Split):
    """Tables whose partitions are all to be listed. If a table has few partitions, they are read at once, otherwise in
    further splits.
    """

    tables: tuple[TableName, ...]
    as_of_ms: int
    touched: bool = False
    renamed: Renamed = ()

    @property
    def name(self) -> str:
        return f"partitions of {first_of(self.tables)}"


@dataclass(frozen=True, slots=True)
class PartitionSplit(Split):
    """Some partitions of one table to read."""

    table: TableName
    partitions: tuple[str, ...]
    as_of_ms: int
    touched: bool = False
    renamed: Renamed = ()

    @property
    def name(self) -> str:
        return f"partitions of {self.table}: {first_of(self.partitions)}"


@dataclass(frozen=True, slots=True)
class RenameSplit(Split):
    """Renames that events reported. Reading them requires no call to the metastore."""

    renames: tuple[TableRenamed, ...]

    @property
    def name(self) -> str:
        return f"renames of {first_of([each.before for each in self.renames])}"
