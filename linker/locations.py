"""Locations of tables and partitions, and the tables that contain a path."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from navlin.index.graph.filters import EntityFilter, RelationFilter
from navlin.index.graph.graph import Graph
from navlin.index.graph.relation import BOTH, LINKER_TREE, End, Side, StoredRelation
from navlin.model.identity import identify
from navlin.model.keys import RelationType, surely_of_table
from navlin.model.tree import upward

RULE = "add_locations"
FLOWS = (RelationType.DATA_FLOW, RelationType.CONTROL_FLOW)
PATHS = ("DIRECTORY", "FILE")
LOCATIONS = RelationFilter(
    types=(RelationType.LOGICAL_PHYSICAL,), ep1_types=("TABLE", "PARTITION"), ep2_types=PATHS, rule=""
)
"""Present and past locations of tables and partitions, as extractors state them."""
LIVE_LOCATIONS = replace(LOCATIONS, deleted=False)
ADDED = RelationFilter(types=(RelationType.LOGICAL_PHYSICAL,), rule=RULE)
PATH_FLOWS = RelationFilter(types=FLOWS, end_types=PATHS)
_FLOWS_AT = {
    1: RelationFilter(types=FLOWS, deleted=False, ep1_types=PATHS),
    2: RelationFilter(types=FLOWS, deleted=False, ep2_types=PATHS),
}


def path_ends(relation: StoredRelation) -> Iterator[End]:
    """Return an iterator over the ends of a relation that are paths.

    A path is skipped if its id cannot be derived from its name, because then its location is unknown. Such a name is
    not UTF-8, or was truncated to the index's limit.
    """
    return (path for side in BOTH if (path := path_end(relation, side)))


def path_end(relation: StoredRelation, side: Side) -> End | None:
    """Return one end of a relation if it is a path whose id can be derived from its name, else None."""
    end = relation.end(side)
    return end if end.type in PATHS and identify(end.source_id, end.name) == end.id else None


class StatedLocations(NamedTuple):
    """Locations by table status. Each mapping is directory id → relations that state the location of a table or
    partition; ``live`` is for existing tables, ``past`` for dropped ones.
    """

    live: dict[str, list[StoredRelation]]
    past: dict[str, list[StoredRelation]]


def locations_above(graph: Graph, paths: Iterable[End]) -> StatedLocations:
    """Return the locations at these paths and at all directories that contain them.

    A table's own source knows the location best. If that source has ever stated one, hints from other sources, such as
    an engine that saw the table in a query, do not count, even after the table is dropped.
    """
    directories = {identify(path.source_id, up) for path in paths for up in upward(path.name)}
    stated = list(graph.relations(LIVE_LOCATIONS, of=sorted(directories), sides=(2,)))
    stated_by_owner = _stated_by_owner(graph, {each.ep1.id for each in stated if not each.first_hand})
    dropped = graph.present({each.ep1.id for each in stated}, EntityFilter(deleted=True))
    located = StatedLocations({}, {})
    for relation in stated:
        if relation.first_hand or relation.ep1.id not in stated_by_owner:
            by_directory = located.past if relation.ep1.id in dropped else located.live
            by_directory.setdefault(relation.ep2.id, []).append(relation)
    return located


def _stated_by_owner(graph: Graph, table_ids: Iterable[str]) -> set[str]:
    """Return the ids of those tables and partitions whose own source has ever stated a location."""
    stated = graph.relations(LOCATIONS, of=sorted(table_ids), sides=(1,))
    return {relation.ep1.id for relation in stated if relation.first_hand}


def locations_of(graph: Graph, table_ids: Iterable[str]) -> Iterator[StoredRelation]:
    """Return the relations that state locations of these tables and partitions, from any source."""
    return graph.relations(LIVE_LOCATIONS, of=table_ids, sides=(1,))


def wanted_relations(path: End, located: StatedLocations) -> dict[str, StoredRelation]:
    """Return id → relation for the relations that the linker should add to one path. There is one LOGICAL_PHYSICAL
    relation from every table or partition at the longest location that contains the path. There are none if the path
    is itself a location, because the extractors have already stated those relations.

    Flows through the location of a dropped table belong to that table until an existing table contains the path.
    """
    for locations in located:
        for location in upward(path.name):
            stated = locations.get(identify(path.source_id, location))
            if stated:
                return _from_each(stated, path, location) if location != path.name else {}
    return {}


def _from_each(stated: Iterable[StoredRelation], path: End, location: str) -> dict[str, StoredRelation]:
    # If several relations locate the same table, take its end from the relation with the smallest id, so that every
    # pass gives the same result.
    by_table = {each.ep1.id: each.ep1 for each in sorted(stated, key=lambda each: each.id, reverse=True)}
    added = (
        StoredRelation.by_rule(
            RULE,
            RelationType.LOGICAL_PHYSICAL,
            table,
            path,
            LINKER_TREE,
            inferred=not surely_of_table(location, path.name),
        )
        for table in by_table.values()
    )
    return {relation.id: relation for relation in added}


def flows_below(graph: Graph, directories: Iterable[End]) -> Iterator[End]:
    """Yield the paths at and below these directories that have flows, possibly repeatedly."""
    by_source: dict[str, list[str]] = {}
    for source_id, path in _outermost(directories):
        by_source.setdefault(source_id, []).append(path)
    for source_id, paths in by_source.items():
        for side in BOTH:
            for relation in graph.relations_below(side, source_id, paths, _FLOWS_AT[side]):
                if end := path_end(relation, side):
                    yield end


def _outermost(directories: Iterable[End]) -> list[tuple[str, str]]:
    """Return (source id, path) of the directories that no other given directory contains."""
    places = {(directory.source_id, directory.name) for directory in directories}
    return [
        (source_id, path)
        for source_id, path in sorted(places)
        if not any((source_id, up) in places for up in upward(path) if up != path)
    ]
