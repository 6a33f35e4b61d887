"""Relate each path that has flows to the table whose location contains the path.

Metastores state the locations of tables and partitions, whereas engines name paths. A path that is an end of a flow
and is deeper than a location gets LOGICAL_PHYSICAL(table or partition, path) from each table or partition at the
longest location that contains it, compared by component and within one file system. Locations of existing tables come
first. The relation is ``inferred`` if any component of the path below the location is not of the form ``k=v``. The ends
of flows are never rewritten, because lineage queries follow these relations.

A path that is itself a location gets no relation, because its extractor states one. A path whose name was cut off, or
is not UTF-8, is skipped.

The relations depend on the live flows, the locations and the state of their tables (`locations_above`), not on the
order of events. If a location moves to another table, or the last
flow of a path is deleted, relations that no longer hold are removed, not flagged: a flag would depend on the order of
events, and relinking everything could not give the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain

from linker.linking import Linking, LinkingTask
from linker.locations import (
    ADDED,
    FLOWS,
    LOCATIONS,
    PATH_FLOWS,
    flows_below,
    locations_above,
    locations_of,
    path_end,
    path_ends,
    wanted_relations,
)
from linker.own_relations import replace_relations
from navlin.index.graph.filters import EntityFilter, IdRange, RelationFilter
from navlin.index.graph.relation import End, StoredRelation
from navlin.index.write.rewriting import ATTEMPTS, TooManyConflicts
from navlin.model.batches import in_batches

PATHS_A_BATCH = 500
_LIVE_FLOWS = RelationFilter(types=FLOWS, deleted=False)
_LIVE_PATH_FLOWS = replace(PATH_FLOWS, deleted=False)


def add_locations(linking: Linking) -> int:
    """Add, correct and remove the relations between tables and paths. Return the number of changes."""
    if linking.everything:
        # The first pass covers every path that has flows, the second the paths that no longer have any.
        changed = sum(linking.each_range(partial(_flows_range, linking.for_task), linking.ranges))
        return changed + sum(linking.each_range(partial(_added_range, linking.for_task), linking.ranges))
    flows = linking.graph.relations(replace(PATH_FLOWS, runs=linking.runs))
    changed = locate(linking, chain.from_iterable(map(path_ends, flows)))
    return changed + locate(linking, _concerned(linking))


def locate(linking: Linking, paths: Iterable[End]) -> int:
    """Update the linker's relations to these paths to match the index. Return the number of changed relations.

    Changes are committed and checked again until nothing changes, at most `ATTEMPTS` times, because another run may have
    moved a location in between: of two concurrent runs, the one that reads later sees the changes of both. Raises
    `TooManyConflicts`.
    """
    changed = 0
    for batch in in_batches(_without_repetition(paths), PATHS_A_BATCH):
        todo = {path.id: path for path in batch}
        for _ in range(ATTEMPTS):
            again, written = _locate_once(linking, todo)
            changed += written
            if not again:
                break
            linking.changes.commit(entities=False)
            todo = {identity: path for identity, path in todo.items() if identity in again}
        else:
            raise TooManyConflicts(
                f"the locations of {len(todo)} paths kept changing during {ATTEMPTS} attempts to write them"
            )
    return changed


def _without_repetition(paths: Iterable[End]) -> Iterator[End]:
    """Yield the paths, skipping most repetitions. Flows of the same path are usually adjacent."""
    seen: dict[str, str] = {}
    for path in paths:
        if seen.get(path.id) != path.type:
            if len(seen) >= 100_000:
                seen.clear()
            seen[path.id] = path.type
            yield path


def _locate_once(linking: Linking, paths: dict[str, End]) -> tuple[set[str], int]:
    """Return the ids of the paths to check again, and the number of relations written or removed. A path is checked
    again if it has a change or a conflict.
    """
    graph = linking.graph
    # Read stored relations first: they reflect an older state than the locations and flows read next.
    stored = {relation.id: relation for relation in graph.relations(ADDED, of=paths, sides=(2,))}
    types = {relation.ep2.id: relation.ep2.type for relation in stored.values()}
    located = locations_above(graph, paths.values())
    wanted: dict[str, StoredRelation] = {}
    for path in paths.values():
        # FILE is more precise, so it stays even if another record only says that this is a path.
        known = path._replace(type="FILE") if types.get(path.id) == "FILE" else path
        wanted.update(wanted_relations(known, located))
    concerned = {relation.ep2.id for relation in chain(stored.values(), wanted.values())}
    flowing = graph.ends_among(sorted(concerned), _LIVE_FLOWS)
    wanted = {identity: relation for identity, relation in wanted.items() if relation.ep2.id in flowing}
    changed_ids, changed = replace_relations(linking, stored, wanted)
    return {(stored.get(each) or wanted[each]).ep2.id for each in changed_ids}, changed


# -- Paths affected by a run ---------------------------------------------------------------------------------------------


def _concerned(linking: Linking) -> Iterator[End]:
    """Yield the paths that may now belong to another table because of this run's writes. These writes are new and
    withdrawn locations, and dropped and restored tables and partitions. The search starts from these writes or from
    all flows of paths, whichever are fewer.
    """
    graph = linking.graph
    locations = replace(LOCATIONS, runs=linking.runs)
    tables = EntityFilter(types=("TABLE", "PARTITION"), runs=linking.runs)
    written = graph.count_relations(locations) + graph.count_entities(tables)
    flows = graph.count_relations(_LIVE_PATH_FLOWS) if written else 0
    if written > flows > 0:
        yield from chain.from_iterable(map(path_ends, graph.relations(_LIVE_PATH_FLOWS)))
    elif written and flows:
        for stated in in_batches(graph.relations(locations), PATHS_A_BATCH):
            # Locations from other sources no longer count once the table's own source states one.
            tables_stated = sorted({relation.ep1.id for relation in stated})
            yield from _lying_in(linking, chain(stated, locations_of(graph, tables_stated)))
        for entities in in_batches(graph.entities(tables), PATHS_A_BATCH):
            yield from _lying_in(linking, locations_of(graph, [entity.id for entity in entities]))


def _lying_in(linking: Linking, locations: Iterable[StoredRelation]) -> Iterator[End]:
    directories = [path for relation in locations if (path := path_end(relation, 2))]
    return flows_below(linking.graph, directories)


# -- Everything ----------------------------------------------------------------------------------------------------------


def _flows_range(task: LinkingTask, ids: IdRange) -> int:
    return _locate_range(task, replace(_LIVE_PATH_FLOWS, ids=ids), path_ends)


def _added_range(task: LinkingTask, ids: IdRange) -> int:
    return _locate_range(task, replace(ADDED, ids=ids), _physical_end)


def _physical_end(relation: StoredRelation) -> Iterator[End]:
    path = path_end(relation, 2)
    return iter(() if path is None else (path,))


def _locate_range(
    task: LinkingTask, where: RelationFilter, paths: Callable[[StoredRelation], Iterator[End]]
) -> int:
    with task.linking() as linking:
        relations = linking.graph.relations(where)
        return locate(linking, chain.from_iterable(map(paths, relations)))
