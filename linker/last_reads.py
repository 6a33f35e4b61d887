"""Keep the time and user of the last read when executions are purged, by recording them on the entities that were
read.

The last read is stored in the document of the table or path, and survives re-extraction, renames and a restore. An
entity that was read may be missing from the index. A read of a column counts for the table; a read of a deleted path
is recorded on the nearest existing directory, as a read of something below it. An entity is written only if the new
read is later than the recorded one, so a table that was read a million times is written only a few times.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from linker.linking import Linking
from linker.locations import FLOWS
from linker.purge_rules import parts_of
from navlin.index.graph.entity import CORE, LAST_READ, OPERATION_TYPES, PATH_TYPES, TABLE_TYPES, LastRead
from navlin.index.graph.filters import RelationFilter
from navlin.index.graph.graph import Graph
from navlin.index.graph.relation import StoredRelation
from navlin.index.journal.purges import remember_lost_reads
from navlin.index.usage.last_reads import nearest_directories, paths_there
from navlin.index.usage.readers import metastores, same_table

_READ_BY: Final = RelationFilter(types=FLOWS, deleted=False, ep2_types=("OPERATION", "SUB_OPERATION"))


def leave_reads(linking: Linking, read: Mapping[str, LastRead], *, by_record: bool = False) -> None:
    """Record the last read on all inputs of operations. ``read`` maps operation ids to the last read among the purged
    data. With ``by_record``, the record of a flow also counts as a read, at the time of the record.
    """
    ends: dict[tuple[str, str, str], LastRead] = {}
    for operation, flow in _inputs(linking.graph, read, columns=by_record):
        if flow.ep1.type in OPERATION_TYPES:
            continue
        last = read[operation]
        if by_record:
            last = last._replace(ms=max(last.ms, flow.as_of_ms))
        end = flow.ep1.id, flow.ep1.name, flow.ep1.type
        ends[end] = ends.get(end, LastRead()).or_later(last)
    _leave(linking, ends)


def leave_reads_above(linking: Linking, paths: Iterable[str]) -> None:
    """Move the last reads of files and directories that are about to be removed to the nearest remaining ancestors.
    ``paths`` are entity ids.
    """
    entities = linking.graph.entities_now(paths, LAST_READ)
    going = {
        each.path: _beneath(each.last_read) for each in entities.values() if each.path and any(each.last_read)
    }
    _leave_above(linking, going, but=entities.keys())


def _beneath(read: LastRead) -> LastRead:
    return LastRead(below_ms=max(read.ms, read.below_ms))


def _inputs(
    graph: Graph, operations: Iterable[str], *, columns: bool
) -> Iterator[tuple[str, StoredRelation]]:
    """Yield (operation id, flow) for each flow into an operation. With ``columns``, column flows are included for all
    operations. Otherwise they are included only for operations without a flow from a table or path, because they would
    concern the same tables.
    """
    ids = list(operations)
    with_flows = set()
    for flow in graph.relations(_READ_BY, of=ids, sides=(2,)):
        with_flows.add(flow.ep2.id)
        yield flow.ep2.id, flow
    of_part = {
        part.id: part.parent_id
        for part in parts_of(graph, [each for each in ids if columns or each not in with_flows])
    }
    for flow in graph.relations(_READ_BY, of=of_part, sides=(2,)):
        yield of_part[flow.ep2.id], flow


def _leave(linking: Linking, ends: Mapping[tuple[str, str, str], LastRead]) -> None:
    """Record reads on entities. ``ends`` maps the (id, name, type) of each input to the last read."""
    graph = linking.graph
    known = graph.entities_now({identity for identity, _, _ in ends}, CORE)
    left: dict[str, LastRead] = {}
    tables: dict[tuple[str, str], LastRead] = {}
    paths: dict[str, LastRead] = {}

    def note(identity: str, read: LastRead) -> None:
        left[identity] = left.get(identity, LastRead()).or_later(read)

    for (identity, name, kind), read in ends.items():
        entity = known.get(identity)
        if entity is not None and kind != "FIELD":
            note(identity, read)
        if kind in PATH_TYPES or name.startswith("/") or "://" in name:
            if entity is None or kind == "FIELD":
                path = (
                    name
                    if kind != "FIELD"
                    else entity.path
                    if entity is not None
                    else name.rpartition(".")[0]
                )
                paths[path] = paths.get(path, LastRead()).or_later(read)
        elif kind in ("FIELD", "PARTITION") or (entity is None and kind in TABLE_TYPES):
            named = _table(name)
            tables[named] = tables.get(named, LastRead()).or_later(read)
    known_metastores = metastores(linking.solr) if tables else ()
    for (database, table), read in tables.items():
        for identity in same_table(database, table, known_metastores):
            note(identity, read)
    there = paths_there(graph, paths)
    for path, entities in there.items():
        for entity in entities:
            note(entity.id, paths[path])
    linking.changes.change_entities(left, lambda each: each.with_last_read(left[each.id]))
    _leave_above(linking, {path: _beneath(read) for path, read in paths.items() if path not in there})


def _table(name: str) -> tuple[str, str]:
    database, table, *_ = [*name.split(".", 2), ""]
    return database, table


def _leave_above(linking: Linking, paths: Mapping[str, LastRead], but: Iterable[str] = ()) -> None:
    if not paths:
        return
    graph = linking.graph
    above = nearest_directories(graph, paths.keys(), set(but))
    left: dict[str, LastRead] = {}
    for path, directories in above.items():
        for each in directories:
            left[each.id] = left.get(each.id, LastRead()).or_later(paths[path])
    lost_ms = max((read.below_ms for path, read in paths.items() if path not in above), default=-1)
    remember_lost_reads(linking.solr, lost_ms + 1)
    linking.changes.change_entities(left, lambda each: each.with_last_read(left[each.id]))
