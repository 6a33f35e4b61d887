"""Find the outputs of a run: the targets of its commands under their full names, which only all its executions
together show.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Final

from extractors.spark.application import SqlExecution
from extractors.spark.plan.names import SESSION_CATALOG, without_partitions
from extractors.spark.plan.reads import EndKind, PlanEnd, path_end
from extractors.spark.plan.writes import CREATE_AS_SELECT, Write
from navlin.model.keys import split_location


def outputs_of(
    writes: list[tuple[SqlExecution, Write]], catalogs: Callable[[str], frozenset[str]]
) -> tuple[tuple[PlanEnd, ...], tuple[tuple[PlanEnd, str], ...], dict[tuple[int, PlanEnd | None], PlanEnd]]:
    """Return the outputs; (table, path of its files) pairs; and (execution id, target as printed) → output."""
    ends = {
        (execution.id, write.end): _end(execution, write, writes, catalogs) for execution, write in writes
    }
    stored: dict[tuple[PlanEnd, str], None] = {}
    for execution, write in writes:
        end = ends[execution.id, write.end]
        if end is not None and end.kind is not EndKind.PATH and write.path:
            stored[end, without_partitions(write.path)] = None
    # A statement that creates a table may leave the writing to a separate execution, which only knows the path.
    creators = {execution.id for execution, write in writes if write.operation == CREATE_AS_SELECT}
    created = {
        end
        for execution, write in writes
        if write.operation == CREATE_AS_SELECT and (end := ends[execution.id, write.end])
    }
    written_as: dict[tuple[int, PlanEnd | None], PlanEnd] = {}
    for (number, named), end in ends.items():
        if end is None:
            continue
        written_as[number, named] = end
        if end.kind is EndKind.PATH and len(created) == 1 and number not in creators:
            table = next(iter(created))
            stored[table, end.name] = None
            written_as[number, named] = table
    outputs = tuple(_qualified(dict.fromkeys(written_as.values())))
    return outputs, tuple(stored), {key: _as_output(end, outputs) for key, end in written_as.items()}


def _end(
    execution: SqlExecution,
    write: Write,
    writes: list[tuple[SqlExecution, Write]],
    catalogs: Callable[[str], frozenset[str]],
) -> PlanEnd | None:
    """Return the target of a command under its full name; None if it is uncertain.

    Some commands print only part of the name. The database may be missing, if it is the session's current one
    (`saveAsTable`), or the catalogue (CREATE TABLE … AS prints only the catalogue's class). While a table is being
    created, the whole name may be missing. The missing parts are taken from other executions of the run, catalogue
    events and the application's settings. If these do not show them, only the path is certain.
    """
    end = write.end
    creating = [
        each for _, each in writes if each.operation == CREATE_AS_SELECT and each.end and each is not write
    ]
    if end is None:
        # A table that is being created is written by an execution that does not name it.
        if (
            not write.moves_data
            or write.operation == CREATE_AS_SELECT
            or len({each.end for each in creating}) != 1
        ):
            return None
        above = next(each for each in writes if each[1] is creating[0])
        return _end(*above, writes, catalogs)
    if end.kind is EndKind.JDBC and write.catalog:
        same = [catalogs(each.catalog) for _, each in writes if each.end == end and each.catalog]
        names = {name for found in same if len(found) == 1 for name in found}
        return replace(end, database=names.pop()) if len(names) == 1 else None
    if end.kind not in (EndKind.TABLE, EndKind.VIEW):
        return end
    if write.catalog:
        return _in_catalog(end, write.catalog, catalogs(write.catalog), writes)
    for owner, each in writes:
        if each in creating and each.catalog and each.end == end:
            return _end(owner, each, writes, catalogs)
    if end.database:
        return end
    named = {
        other.end for _, other in writes if other.end and other.end.name == end.name and other.end.database
    }
    if not named:
        changed = (name.rpartition(".") for name in execution.changed)
        named = {replace(end, database=database) for database, _, name in changed if name == end.name}
    if len(named) == 1:
        return next(iter(named))
    return path_end(write.path) if write.path else None


_SESSION: Final = re.compile(r"(?:Session|Delta|Unity)Catalog|V2SessionCatalog\(spark_catalog\)")
"""Catalogues that replace Spark's own catalogue, whatever the settings are."""


def _in_catalog(
    end: PlanEnd, catalog: str, names: frozenset[str], writes: list[tuple[SqlExecution, Write]]
) -> PlanEnd | None:
    """Return a table whose catalogue is printed only as a class. The table is named as in another execution or,
    failing that, placed in the only catalogue of this class. Return None if both are uncertain.
    """
    whole = {
        other.end
        for _, other in writes
        if other.end and other.end != end and other.end.readable.endswith(f".{end.readable}")
    }
    if len(whole) == 1:
        return next(iter(whole))
    if len(names) != 1 and not (not names and _SESSION.search(catalog)):
        return None
    name = next(iter(names), SESSION_CATALOG)
    return end if name == SESSION_CATALOG else replace(end, database=f"{name}.{end.database}".rstrip("."))


def _as_output(end: PlanEnd, outputs: tuple[PlanEnd, ...]) -> PlanEnd:
    """Return the output for a target. The output may be named with its file system although the target is not."""
    if end in outputs:
        return end
    path = split_location(end.name)[2]
    return next((each for each in outputs if split_location(each.name)[2] == path), end)


def _qualified(ends: Iterable[PlanEnd]) -> Iterator[PlanEnd]:
    """Yield the targets, except paths without a file system that also occur with one. A directory command and the
    execution below it print both forms.
    """
    ends = list(ends)
    full = {
        split_location(end.name)[2]
        for end in ends
        if end.kind is EndKind.PATH and not end.name.startswith("/")
    }
    for end in ends:
        if not (
            end.kind is EndKind.PATH and end.name.startswith("/") and split_location(end.name)[2] in full
        ):
            yield end
