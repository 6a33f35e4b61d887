"""Tables and their locations: the same data under two names.

A location leads to its table, so a flow into a path is a flow into the table stored there. A table leads to its locations
only to find the flows through them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from navlin.index.graph.entity import StoredEntity
from navlin.index.graph.filters import RelationFilter
from navlin.index.graph.graph import end_of
from navlin.index.graph.relation import End, StoredRelation
from navlin.model.identity import identify
from navlin.model.keys import surely_of_table
from navlin.model.tree import upward
from navlin.query.answer import Direction
from navlin.query.contract import Walked
from navlin.query.reading import LOGICAL_TYPES, MAX_LOCATIONS, Relations, WalkReader


class ReadLocations(NamedTuple):
    """Locations read, for the walk to add. ``relations`` are LOGICAL_PHYSICAL relations from a table, or from a
    partition at which the walk began. ``ends`` are ends of flows through partitions. ``cut`` are the ids that have more
    relations than were read, each with the direction. ``looked_up`` are paths whose tables are now known."""

    relations: Sequence[StoredRelation] = ()
    entities: Mapping[str, StoredEntity] = {}
    ends: Sequence[End] = ()
    cut: Sequence[tuple[str, Direction]] = ()
    looked_up: Collection[str] = ()


def locations_of(
    reader: WalkReader, walked: Walked, tables: Sequence[StoredEntity], direction: Direction
) -> Iterator[ReadLocations]:
    """Yield the locations of tables, and the locations of the tables' partitions that have flows in this direction.
    Each result must be added to the walk before the next is read."""
    found = reader.locations(table.id for table in tables)
    stated = {each.ep1.id for each in found.relations if each.first_hand}
    locations = [each for each in found.relations if each.first_hand or each.ep1.id not in stated]
    others = [each for each in locations if each.ep2.id not in walked.starts]
    yield ReadLocations(others, reader.entities(each.ep2.id for each in locations), cut=found.cut)
    directories: dict[str, list[StoredEntity]] = {table.id: [] for table in tables if table.partitioned}
    for each in locations:
        if each.ep1.id in directories and each.ep2.id in walked.entities:
            directories[each.ep1.id].append(walked.entities[each.ep2.id])
    if directories:
        partitioned = [(table, directories[table.id]) for table in tables if table.partitioned]
        paths = _paths_of_partitions(reader, partitioned, direction)
        flows = reader.flows(paths, direction)
        yield ReadLocations(
            entities=reader.entities(paths),
            ends=[relation.end(direction.near) for relation in flows.relations],
            cut=flows.cut,
        )
        yield tables_at(reader, walked, [each for each in paths if each in walked.entities])


def _paths_of_partitions(
    reader: WalkReader, tables: Sequence[tuple[StoredEntity, Sequence[StoredEntity]]], direction: Direction
) -> list[str]:
    """Return the ids of partition paths with flows in this direction. A table may have a hundred thousand partitions,
    so the requests are for flows below the table's directories, and for partitions outside these directories."""
    flows = RelationFilter(reader.options.flow_types, deleted=False)
    files = ("FILE", "DIRECTORY")
    flows = replace(flows, ep1_types=files) if direction.near == 1 else replace(flows, ep2_types=files)
    below = [directory for _, directories in tables for directory in directories]
    return [
        *reader.graph.ends_below(direction.near, below, flows, MAX_LOCATIONS),
        *reader.graph.partitions_outside(tables, MAX_LOCATIONS),
    ]


def tables_at(reader: WalkReader, walked: Walked, paths: Iterable[str]) -> ReadLocations:
    """Return the tables located at these paths; paths that were looked up before are left out."""
    new = [each for each in paths if each not in walked.looked_up]
    if not new:
        return ReadLocations()
    found = reader.located(new)
    return _of_tables(reader, walked, _without_outdated_hints(reader, found))._replace(looked_up=new)


def tables_around(reader: WalkReader, walked: Walked, path: StoredEntity) -> ReadLocations:
    """Return the tables whose location contains a path that no relation connects to a table. Most files of a table have
    no such relation, because no data flows through them by path. The longest location counts."""
    above = {identify(path.source_id, up): up for up in upward(path.name) if up != path.name}
    found = reader.located(above)
    stated = _without_outdated_hints(reader, found)
    tables = reader.entities(each.ep1.id for each in stated.relations)
    standing = [
        each
        for each in stated.relations
        if (table := tables.get(each.ep1.id)) and (reader.options.deleted or not table.deleted)
    ]
    if not standing:
        return ReadLocations(cut=stated.cut)
    location = max((above[each.ep2.id] for each in standing), key=len)
    certain = surely_of_table(location, path.name)
    nearest = [
        each._replace(ep2=end_of(path), inferred=not certain)
        for each in standing
        if above[each.ep2.id] == location
    ]
    return _of_tables(reader, walked, Relations(nearest, stated.cut))


def _of_tables(reader: WalkReader, walked: Walked, found: Relations) -> ReadLocations:
    """Return the locations, with each partition replaced by its table, except a partition at which the walk began."""
    entities = reader.entities(each.ep1.id for each in found.relations)
    partitions = [each for each in entities.values() if each.type == "PARTITION" and each.parent_id]
    entities |= reader.entities(each.parent_id for each in partitions)
    relations = []
    for each in found.relations:
        logical = entities.get(each.ep1.id) or walked.entities.get(each.ep1.id)
        if logical is not None and logical.type == "PARTITION" and logical.id not in walked.starts:
            logical = entities.get(logical.parent_id) or walked.entities.get(logical.parent_id)
        if logical is not None and logical.type in LOGICAL_TYPES:
            relations.append(each._replace(ep1=end_of(logical)))
    return ReadLocations(relations, entities, cut=found.cut)


def _without_outdated_hints(reader: WalkReader, found: Relations) -> Relations:
    """Drop the location that another source states for a table, if the table's own source states one, because the own
    source knows best."""
    hinted = {each.ep1.id for each in found.relations if not each.first_hand}
    if not hinted:
        return found
    at_tables = reader.locations(hinted)
    stated = {each.ep1.id for each in at_tables.relations if each.first_hand}
    kept = [each for each in found.relations if each.first_hand or each.ep1.id not in stated]
    return Relations(kept, [*found.cut, *at_tables.cut])
