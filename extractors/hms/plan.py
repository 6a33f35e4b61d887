"""Decide what to read from a metastore: everything, or the objects touched according to its notification log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from extractors.hms.client import MetastoreConnection, MetastoreRefused
from extractors.hms.continuity import EVENT_DIGEST, digest_of
from extractors.hms.events import TableName, TableRenamed, parse_event
from extractors.hms.fetch import Missed, one_by_one
from extractors.hms.idl import NotificationEvent
from extractors.hms.splits import (
    DatabaseSplit,
    PartitionListSplit,
    PartitionSplit,
    Renamed,
    RenameSplit,
    TableSplit,
)
from extractors.hms.touched import TouchedObjects
from navlin.model.batches import in_batches
from navlin.model.keys import (
    EXECUTIONS,
    OPERATIONS,
    PARTITIONS,
    Key,
    database_key,
    partition_key,
    table_key,
)
from navlin.model.plan import Plan
from navlin.model.records import Covered, Depth, Position, Split
from navlin.model.source import Source
from navlin.model.tree import ROOT, below, tree_path

EVENT_ID = "event id"
"""Key of the position that holds the id of the last followed event. Everything listed is at least as new."""
COMPLETE_MS = "complete_ms"
"""Key of the position that holds the time of the last complete plan, in epoch ms."""
EVENTS_A_CALL = 500
DATABASES_A_SPLIT = 100
TABLES_A_SPLIT = 500
"""Number of tables in one split, which give some ten thousand records. Each split opens a connection, and the first
call on a connection costs a metastore some 15 ms. Smaller splits would spend more of their time on that.
"""
TABLES_A_LISTING = 20
"""Number of tables whose partitions one split lists."""


class LogBroken(Exception):
    """Events after the last followed one are missing from the notification log."""


@dataclass(frozen=True, slots=True)
class TableFilters:
    """Filters for databases and tables: globs that ignore case. A glob for tables matches ``db.table`` if it contains
    a dot, otherwise the table's name in any database.
    """

    databases: tuple[str, ...] = ("*",)
    exclude_databases: tuple[str, ...] = ()
    tables: tuple[str, ...] = ("*",)
    exclude_tables: tuple[str, ...] = ()

    def take_database(self, database: str) -> bool:
        return _matches(database, self.databases) and not _matches(database, self.exclude_databases)

    def take(self, name: TableName) -> bool:
        return self.take_database(name.database) and self._take_table(name)

    def _take_table(self, name: TableName) -> bool:
        if self.tables == ("*",) and not self.exclude_tables:
            return True
        return _table_matches(name, self.tables) and not _table_matches(name, self.exclude_tables)


def _matches(name: str, globs: Sequence[str]) -> bool:
    folded = name.lower()
    return any(fnmatchcase(folded, glob.lower()) for glob in globs)


def _table_matches(name: TableName, globs: Sequence[str]) -> bool:
    return any(_matches(str(name) if "." in glob else name.table, (glob,)) for glob in globs)


@dataclass(frozen=True, slots=True)
class HmsPlanning:
    """Source and settings of a plan, and the size of its splits."""

    source: Source
    filters: TableFilters
    partitions: bool
    partition_batch_size: int
    now_ms: int


def read_log(
    metastore: MetastoreConnection, last: int, current: int, catalog: str
) -> tuple[TouchedObjects, NotificationEvent | None]:
    """Return the objects of the catalog touched after event ``last``, at least up to event ``current``, and the last
    event read (None if ``current`` is not after ``last``).

    Raises `LogBroken` if an id is missing or occurs twice, because ids are consecutive.
    """
    touched, event = TouchedObjects(), None
    for event in _events(metastore, last, current):
        change = parse_event(event, catalog)
        if change is not None:
            touched.add(change)
    return touched, event


def at_event(event: NotificationEvent | None, event_id: int) -> tuple[Position, Position]:
    """Return the two positions to save after an event: its id, and its digest, which shows later whether the metastore
    was restored. If the log does not have the event, ``event`` is None, and only ``event_id`` is known.
    """
    if event is None:
        return Position(EVENT_ID, event_id), Position(EVENT_DIGEST, None)
    return Position(EVENT_ID, event.eventId), Position(EVENT_DIGEST, digest_of(event))


def _events(metastore: MetastoreConnection, last: int, current: int) -> Iterator[NotificationEvent]:
    while last < current:
        page = metastore.events(last, EVENTS_A_CALL)
        if not page:
            raise LogBroken(f"events {last + 1} to {current} are no longer in the notification log")
        for event in page:
            if event.eventId != last + 1:
                raise LogBroken(f"event ids are not consecutive: after {last} comes {event.eventId}")
            last += 1
            yield event


def plan_incremental(planning: HmsPlanning, touched: TouchedObjects, positions: tuple[Position, ...]) -> Plan:
    """Return a plan to read touched objects. Dropped objects are covered, but not read."""
    splits = (*_rename_splits(planning, touched), *_touched_splits(planning, touched))
    moves = tuple(_moves(planning, touched))
    return Plan(splits, positions, tuple(_dropped(planning, touched)), moves=moves)


def plan_complete(
    planning: HmsPlanning,
    metastore: MetastoreConnection,
    touched: TouchedObjects,
    at: tuple[Position, ...],
    note: str,
) -> Plan:
    """Return a plan to list everything that the filters include. From ``touched``, only renames are used, because a
    listing does not show them. A database whose tables cannot be listed is not covered. If the metastore lists no
    database at all, nothing is covered. Raises `MetastoreRefused` if the tables of no database can be listed.
    """
    positions = (*at, Position(COMPLETE_MS, planning.now_ms))
    splits: list[Split] = list(_rename_splits(planning, touched))
    names = metastore.databases()
    if not names:
        note += "; the metastore lists no database, not even its default one: nothing is considered deleted"
        return Plan(tuple(splits), positions, (), note)
    taken = [name.lower() for name in names if planning.filters.take_database(name)]
    left_out = [tree_path(OPERATIONS), tree_path(EXECUTIONS)]
    left_out += [
        database_key(planning.source, name).tree_path for name in names if name.lower() not in set(taken)
    ]
    tables: list[TableName] = []
    missed: list[Missed] = []
    for database, listed_tables in one_by_one(metastore, taken, metastore.table_names):
        if isinstance(listed_tables, Missed):
            left_out.append(database_key(planning.source, database).tree_path)
            missed.append(listed_tables)
            continue
        for table in listed_tables:
            name = TableName(database, table.lower())
            key = table_key(planning.source, *name)
            if not planning.filters.take(name):
                left_out.append(key.tree_path)
                continue
            tables.append(name)
            if not planning.partitions:
                left_out.append(below(key.tree_path, PARTITIONS))
    if missed and len(missed) == len(taken):
        raise MetastoreRefused(f"the tables of no database can be listed: {missed[0].reason}")
    if missed:
        more = f" and of {len(missed) - 1} more databases" if len(missed) > 1 else ""
        note += f"; until the next full listing the tables of {missed[0].name}{more} are not listed: {missed[0].reason}"
    as_of_ms = planning.now_ms
    splits += (DatabaseSplit(some, as_of_ms) for some in in_batches(taken, DATABASES_A_SPLIT))
    for some in in_batches(tables, TABLES_A_SPLIT):
        listed = None if planning.partitions else ()
        splits.append(TableSplit(some, as_of_ms, list_partitions=listed, renamed=_renamed(some, touched)))
    covers = Covered(ROOT, as_of_ms, except_paths=tuple(left_out))
    return Plan(tuple(splits), positions, (covers,), note, moves=tuple(_moves(planning, touched)))


def _touched_splits(planning: HmsPlanning, touched: TouchedObjects) -> Iterator[Split]:
    as_of_ms, takes = planning.now_ms, planning.filters.take
    databases = sorted(filter(planning.filters.take_database, touched.databases))
    for names in in_batches(databases, DATABASES_A_SPLIT):
        yield DatabaseSplit(names, as_of_ms)
    tables = {name: table for name, table in sorted(touched.tables.items()) if takes(name)}
    whole = {name for name, table in tables.items() if table.all_partitions and planning.partitions}
    for some in in_batches([name for name, table in tables.items() if table.itself], TABLES_A_SPLIT):
        listed = tuple(name for name in some if name in whole)
        yield TableSplit(some, as_of_ms, True, listed, _renamed(some, touched))
    if not planning.partitions:
        return
    only_partitions = [name for name in whole if not tables[name].itself]
    for some in in_batches(sorted(only_partitions), TABLES_A_LISTING):
        yield PartitionListSplit(some, as_of_ms, True)
    for name, table in tables.items():
        there = [partition for partition, is_there in table.partitions.items() if is_there]
        for partitions in in_batches(there, planning.partition_batch_size):
            yield PartitionSplit(name, partitions, as_of_ms, True)


def _dropped(planning: HmsPlanning, touched: TouchedObjects) -> Iterator[Covered]:
    for key in _dropped_keys(planning, touched):
        yield Covered(key.tree_path, planning.now_ms, Depth.ALL, reported=True)


def _dropped_keys(planning: HmsPlanning, touched: TouchedObjects) -> Iterator[Key]:
    source, filters = planning.source, planning.filters
    for database in sorted(filter(filters.take_database, touched.gone_databases)):
        yield database_key(source, database)
    for name in sorted(filter(filters.take, touched.gone_tables)):
        yield table_key(source, *name)
    for name, table in sorted(touched.tables.items()):
        if planning.partitions and filters.take(name):
            key = table_key(source, *name)
            yield from (partition_key(key, one) for one, is_there in table.partitions.items() if not is_there)


def _rename_splits(planning: HmsPlanning, touched: TouchedObjects) -> Iterator[RenameSplit]:
    def concerns(rename: TableRenamed) -> bool:
        return planning.filters.take(rename.before) or planning.filters.take(rename.after)

    renames = tuple(filter(concerns, touched.renames))
    if renames:
        yield RenameSplit(renames)


def _moves(planning: HmsPlanning, touched: TouchedObjects) -> Iterator[tuple[str, str]]:
    for rename in touched.renames:
        if planning.filters.take(rename.before) or planning.filters.take(rename.after):
            before, after = (table_key(planning.source, *name) for name in (rename.before, rename.after))
            yield before.tree_path, after.tree_path


def _renamed(names: Sequence[TableName], touched: TouchedObjects) -> Renamed:
    return tuple((name, touched.renamed_from[name]) for name in names if name in touched.renamed_from)
