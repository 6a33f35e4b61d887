"""Look up, by name, databases, tables and partitions that a listing missed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from extractors.hms.client import MetastoreConnection, MetastoreRefused
from extractors.hms.idl import NoSuchObjectException, UnknownDBException
from navlin.model.keys import PARTITIONS
from navlin.model.tree import components

_T = TypeVar("_T")


class _Table(NamedTuple):
    database: str
    name: str


def places_there(metastore: MetastoreConnection, paths: Sequence[str], batch: int) -> Iterator[str]:
    """Yield the tree paths among ``paths`` whose database, table or partition still exists. Columns are never yielded:
    if their table was listed, all of its columns were read, so a column missing there no longer exists.
    """
    databases: dict[str, str] = {}
    tables: dict[_Table, str] = {}
    partitions: dict[_Table, dict[str, str]] = defaultdict(dict)
    for path in paths:
        match components(path):
            case [database]:
                databases[database.lower()] = path
            case [database, table]:
                tables[_Table(database.lower(), table.lower())] = path
            case [database, table, part, name] if part == PARTITIONS:
                partitions[_Table(database.lower(), table.lower())][name] = path
    for name, path in databases.items():
        if _unless_unknown(partial(metastore.database, name)):
            yield path
    for database in {table.database for table in tables}:
        names = [table.name for table in tables if table.database == database]
        for first in range(0, len(names), batch):
            some = names[first : first + batch]
            for found in _unless_unknown(partial(metastore.tables, database, some)) or ():
                yield tables[_Table(database, (found.tableName or "").lower())]
    for (database, name), wanted in partitions.items():
        # The table is looked up first, because some metastores respond with an internal error if it is missing.
        if not _unless_unknown(partial(metastore.tables, database, [name])):
            continue
        listed = set(metastore.partition_names(database, name))
        yield from (path for partition, path in wanted.items() if partition in listed)


def _unless_unknown(call: Callable[[], _T]) -> _T | None:
    """Return the result of a call; None if the requested object does not exist. Other refusals are raised, because
    they prove nothing about the object.
    """
    try:
        return call()
    except MetastoreRefused as refused:
        if isinstance(refused.__cause__, NoSuchObjectException | UnknownDBException):
            return None
        raise
