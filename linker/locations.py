"""Locations of tables and partitions, and the tables that contain a path."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from navlin.index.filters import EntityFilter, RelationFilter
from navlin.index.graph import Graph
from navlin.index.relation import BOTH, LINKER_TREE, End, Side, StoredRelation
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

    A path whose id does not follow from its name is skipped (the name is not UTF-8, or is truncated because it is
    longer than the index keeps): its location is unknown.
    """
    return (path for side in BOTH if (path := path_end(relation, side)))


def path_end(relation: StoredRelation, side: Side) -> End | None:
    """Return one end of a relation if it is a path whose id follows from its name, else None."""
    end = relation.end(side)
    return end if end.type in PATHS and identify(end.source_id, end.name) == end.id else None


class Located(NamedTuple):
    """Directory id → relations stating that tables or partitions are located there: existing tables in ``live``,
    dropped ones in ``past``."""

    live: dict[str, list[StoredRelation]]
    past: dict[str, list[StoredRelation]]


def locations_above(graph: Graph, paths: Iterable[End]) -> Located:
    """Return the locations at these paths and at all directories that contain them.

    A table's own source knows the location best: if that source has ever stated one, hints from other sources (an
    engine that met the table in a query) do not count, even after the table is dropped.
    """
    directories = {identify(path.source_id, up) for path in paths for up in upward(path.name)}
    stated = list(graph.relations(LIVE_LOCATIONS, of=sorted(directories), sides=(2,)))
    stated_by_owner = _stated_by_owner(graph, {each.ep1.id for each in stated if not each.first_hand})
    dropped = graph.present({each.ep1.id for each in stated}, EntityFilter(deleted=True))
    located = Located({}, {})
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


def wanted_relations(path: End, located: Located) -> dict[str, StoredRelation]:
    """Return the relations that the linker should have to one path, by id: LOGICAL_PHYSICAL from every table or
    partition at the longest location that contains the path. There are none if the path is itself a location, because
    the extractors have stated those relations.

    A dropped table keeps the flows through its location until an existing table contains the path.
    """
    for locations in located:
        for location in upward(path.name):
            stated = locations.get(identify(path.source_id, location))
            if stated:
                return _from_each(stated, path, location) if location != path.name else {}
    return {}


def _from_each(stated: Iterable[StoredRelation], path: End, location: str) -> dict[str, StoredRelation]:
    # If several relations locate the same table, the one with the smallest id names it, so that every pass gives the
    # same.
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
