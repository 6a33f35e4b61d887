"""Read the splits of a metastore: fetch objects and convert them to records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from extractors.hms.client import MetastoreConnection, MetastoreRefused
from extractors.hms.entities import HmsReading, to_database, to_partition, to_table
from extractors.hms.events import TableName
from extractors.hms.fetch import VANISHED, Missed, columns_in, fetch, one_by_one
from extractors.hms.idl import Partition, Table
from extractors.hms.names import partition_values
from extractors.hms.plan import TABLES_A_LISTING
from extractors.hms.splits import DatabaseSplit, PartitionListSplit, PartitionSplit, TableSplit
from navlin.model.keys import PARTITIONS, database_key, partition_key, table_key
from navlin.model.records import Covered, Depth, Record, Reject
from navlin.model.tree import below


@dataclass(frozen=True, slots=True)
class BatchSizes:
    """Maximum number of objects to request in one call."""

    tables: int
    partitions: int


def read_databases(
    metastore: MetastoreConnection, reading: HmsReading, split: DatabaseSplit
) -> Iterator[Record]:
    for name, found in one_by_one(metastore, split.databases, metastore.database):
        if isinstance(found, Missed):
            path = database_key(reading.source, name).tree_path
            reason = f"{VANISHED} ({found.reason})" if found.kind is MetastoreRefused else found.reason
            yield Reject(f"{reading.place} {name}", reason, tree_path=path)
        else:
            yield from to_database(reading, found, name)


def read_tables(
    metastore: MetastoreConnection, reading: HmsReading, split: TableSplit, sizes: BatchSizes
) -> Iterator[Record]:
    renamed = dict(split.renamed)
    partitioned: list[TableName] = []
    for database, names in _by_database(split.tables):
        fetched = fetch(
            metastore,
            lambda some, database=database: metastore.ask_tables(database, some),  # type: ignore[misc]
            _table_name,
            names,
            sizes.tables,
            columns_in,
        )
        for found in fetched:
            if isinstance(found, Missed):
                yield _missed_table(reading, TableName(database, found.name), found.reason)
                continue
            name, table = TableName(database, found[0]), found[1]
            if split.touched:
                path = table_key(reading.source, *name).tree_path
                yield Covered(path, reading.as_of_ms, Depth.CHILDREN, reported=True)
            yield from to_table(reading, table, name, renamed_from=renamed.get(name))
            if table.partitionKeys and (split.list_partitions is None or name in split.list_partitions):
                partitioned.append(name)
    for at in range(0, len(partitioned), TABLES_A_LISTING):
        some = tuple(partitioned[at : at + TABLES_A_LISTING])
        before = tuple((name, renamed[name]) for name in some if name in renamed)
        yield PartitionListSplit(some, reading.as_of_ms, split.touched, before)


def read_partition_lists(
    metastore: MetastoreConnection, reading: HmsReading, split: PartitionListSplit, sizes: BatchSizes
) -> Iterator[Record]:
    renamed = dict(split.renamed)
    for table, names in one_by_one(metastore, split.tables, lambda each: metastore.partition_names(*each)):
        key = table_key(reading.source, *table)
        path = below(key.tree_path, PARTITIONS)
        if isinstance(names, Missed):
            reason = f"its partitions cannot be listed: {names.reason}"
            yield Reject(f"{reading.place} {table}", reason, tree_path=path)
            continue
        if split.touched:
            yield Covered(path, reading.as_of_ms, reported=True)
        before = ((table, renamed[table]),) if table in renamed else ()
        parts = [
            PartitionSplit(table, tuple(names[at : at + sizes.partitions]), reading.as_of_ms, renamed=before)
            for at in range(0, len(names), sizes.partitions)
        ]
        if len(parts) == 1:
            yield from read_partitions(metastore, reading, parts[0], sizes)
        else:
            yield from parts


def read_partitions(
    metastore: MetastoreConnection, reading: HmsReading, split: PartitionSplit, sizes: BatchSizes
) -> Iterator[Record]:
    key = table_key(reading.source, *split.table)
    before = dict(split.renamed).get(split.table)
    by_values = {partition_values(name)[1]: name for name in split.partitions}
    fetched = fetch(
        metastore,
        lambda some: metastore.ask_partitions(*split.table, some),
        lambda partition: _partition_name(partition, by_values),
        split.partitions,
        sizes.partitions,
    )
    for found in fetched:
        if isinstance(found, Missed):
            path = partition_key(key, found.name).tree_path
            yield Reject(f"{reading.place} {split.table} {found.name}", found.reason, tree_path=path)
            continue
        name, partition = found
        if split.touched:
            yield Covered(partition_key(key, name).tree_path, reading.as_of_ms, reported=True)
        yield from to_partition(reading, key, name, partition, renamed_from=before)


def _table_name(table: Table) -> str:
    return (table.tableName or "").lower()


def _partition_name(partition: Partition, by_values: dict[tuple[str, ...], str]) -> str:
    return by_values.get(tuple(partition.values or ()), "")


def _missed_table(reading: HmsReading, name: TableName, reason: str) -> Reject:
    path = table_key(reading.source, *name).tree_path
    return Reject(f"{reading.place} {name}", reason, tree_path=path)


def _by_database(names: Sequence[TableName]) -> Iterator[tuple[str, list[str]]]:
    """Yield (database, names of its tables) for each database."""
    tables: dict[str, list[str]] = {}
    for name in names:
        tables.setdefault(name.database, []).append(name.table)
    yield from tables.items()
