"""Lineage of views, parsed from their text if no engine recorded it.

An engine's record of the view's creation takes precedence. In that case the linker adds nothing to the view, and
removes the relations that it added earlier. Otherwise it adds relations from the tables that the text reads. If the
index knows the columns of a table, it also adds relations to each column of the view: DATA_FLOW from source columns,
and CONTROL_FLOW from columns that only control values or rows, such as those in filter and join conditions. These
relations lead directly from table to view and from column to column, because no operation ran, and are marked
``parsed``. If a text cannot be resolved, the reason is written to the view (``unparsedReason``).

As with `add_locations`, the result depends only on the current index: on views, tables, columns and records. Relations
that no longer hold are removed, and relinking everything gives the same result.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from functools import partial

from linker.linking import Linking, LinkingTask
from linker.own_relations import replace_relations
from linker.views import RULE, ViewLineage, lineage_of, tree_path_of, view_id_in
from navlin.index.graph.entity import TABLE_TYPES, VIEW, StoredEntity
from navlin.index.graph.filters import EntityFilter, IdRange, RelationFilter
from navlin.index.graph.graph import Graph
from navlin.index.graph.relation import ENDS, StoredRelation
from navlin.index.write.rewriting import ATTEMPTS, TooManyConflicts
from navlin.model.batches import in_batches
from navlin.model.keys import RelationType
from navlin.sql.bounded import SqlReader

VIEWS_A_BATCH = 50
IDS_A_BATCH = 1_000
FEW_VIEWS = 500
"""Number of views that can be parsed in the time that starting a separate parser for each range would take."""
ADDED = RelationFilter(rule=RULE)
VIEWS = EntityFilter(types=("VIEW",))
_TABLES = tuple(sorted(TABLE_TYPES))
_ADDED_TO_TABLES = replace(ADDED, ep1_types=_TABLES)
_BY_ENGINES = RelationFilter(types=(RelationType.DATA_FLOW,), ep1_types=("OPERATION",), ep2_types=_TABLES)
_TABLES_AND_COLUMNS = EntityFilter(types=(*_TABLES, "FIELD"))


def resolve_views(linking: Linking) -> int:
    """Add lineage from the text to views that no engine recorded. Return the number of changed documents."""
    if linking.everything:
        # The first pass covers all existing views, the second those that no longer exist.
        few = linking.graph.count_entities(VIEWS) <= FEW_VIEWS
        ranges = (IdRange("*", "*"),) if few else linking.ranges
        changed = sum(linking.each_range(partial(_views_range, linking.for_task), ranges))
        return changed + sum(linking.each_range(partial(_added_range, linking.for_task), ranges))
    return resolve(linking, _concerned(linking))


def resolve(linking: Linking, view_ids: Iterable[str]) -> int:
    """Update the linker's relations to these views to match the index. Return the number of changed documents.
    ``view_ids`` may include other entities and former views.

    Changes are committed and checked again, until nothing changes: another run may have changed a table in between,
    and of two concurrent runs, the one that reads later sees the changes of both.
    """
    changed = 0
    with SqlReader() as reader:
        for batch in in_batches(dict.fromkeys(view_ids), VIEWS_A_BATCH):
            todo: Collection[str] = batch
            for _ in range(ATTEMPTS):
                todo, written = _resolve_once(linking, reader, todo)
                changed += written
                if not todo:
                    break
                linking.changes.commit(entities=False)
            else:
                raise TooManyConflicts(
                    f"the lineage of {len(todo)} views kept changing during {ATTEMPTS} attempts to write it"
                )
    return changed


def _resolve_once(linking: Linking, reader: SqlReader, ids: Collection[str]) -> tuple[set[str], int]:
    """Return the ids of the views to check again, because of a change or a conflict, and the number of documents
    written or removed.
    """
    graph = linking.graph
    # Read stored relations first: they reflect an older state than the views and records read next.
    stored = {relation.id: relation for relation in _added_to(graph, ids)}
    views = {view.id: view for view in graph.entities(VIEWS, ids=ids, fields=VIEW)}
    recorded = _recorded_by_engines(graph, views)
    lineage = lineage_of(graph, reader, [view for view in views.values() if view.id not in recorded])
    lineage.update(dict.fromkeys(recorded, ViewLineage()))
    wanted = {each: relation for one in lineage.values() for each, relation in one.relations.items()}
    changed_ids, changed = replace_relations(linking, stored, wanted)
    again = {view_id_in(stored.get(each) or wanted[each]) for each in changed_ids}
    return again, changed + _write_reasons(linking, views.values(), lineage)


def _added_to(graph: Graph, view_ids: Iterable[str]) -> Iterator[StoredRelation]:
    for batch in in_batches(view_ids, VIEWS_A_BATCH):
        yield from graph.relations(replace(ADDED, tree_paths=tuple(map(tree_path_of, batch))))


def _recorded_by_engines(graph: Graph, view_ids: Collection[str]) -> set[str]:
    """Return the ids of the views that an operation created, according to an engine's record. Operations recorded by a
    metastore are ignored, because they are renames and give no lineage.
    """
    operations = graph.relations(replace(_BY_ENGINES, deleted=False), of=view_ids, sides=(2,), fields=ENDS)
    return {relation.ep2.id for relation in operations if relation.writer != relation.ep2.source_id}


def _write_reasons(linking: Linking, views: Iterable[StoredEntity], lineage: dict[str, ViewLineage]) -> int:
    due = {view.id for view in views if lineage[view.id].reason != view.unparsed_reason}
    written = linking.changes.change_entities(
        due, lambda view: view.with_unparsed_reason(lineage[view.id].reason)
    )
    if written:
        linking.changes.commit(relations=False)
    return written


# -- Views affected by a run ---------------------------------------------------------------------------------------------


def _concerned(linking: Linking) -> Iterator[str]:
    """Yield the ids of views whose lineage may change because of a run's writes. These are the written views, views
    with written columns, views in engines' records, and views that read written tables or columns. The search starts
    from the writes or from all views, whichever are fewer.
    """
    graph = linking.graph
    views, added = graph.count_entities(VIEWS), graph.count_relations(_ADDED_TO_TABLES)
    if not views and not added:
        return
    written = replace(_TABLES_AND_COLUMNS, runs=linking.runs)
    if graph.count_entities(written) > views + added:
        yield from (view.id for view in graph.entities(VIEWS))
        yield from map(view_id_in, graph.relations(_ADDED_TO_TABLES, fields=ENDS))
        return
    for batch in in_batches(graph.entities(written), IDS_A_BATCH):
        ids = {entity.parent_id or entity.id for entity in batch}
        yield from graph.present(ids, VIEWS)
        yield from map(view_id_in, graph.relations(_ADDED_TO_TABLES, of=sorted(ids), fields=ENDS))
    yield from _made_by_engines(linking, views)


def _made_by_engines(linking: Linking, views: int) -> Iterator[str]:
    """Yield the ids of views in engines' records that were written or withdrawn."""
    graph = linking.graph
    written = replace(_BY_ENGINES, runs=linking.runs)
    if graph.count_relations(written) > views:
        for batch in in_batches(graph.entities(VIEWS), IDS_A_BATCH):
            ids = [view.id for view in batch]
            yield from (each.ep2.id for each in graph.relations(written, of=ids, sides=(2,), fields=ENDS))
        return
    for relations in in_batches(graph.relations(written, fields=ENDS), IDS_A_BATCH):
        yield from graph.present({relation.ep2.id for relation in relations}, VIEWS)


# -- Everything ----------------------------------------------------------------------------------------------------------


def _views_range(task: LinkingTask, ids: IdRange) -> int:
    with task.linking() as linking:
        return resolve(linking, (view.id for view in linking.graph.entities(replace(VIEWS, ids=ids))))


def _added_range(task: LinkingTask, ids: IdRange) -> int:
    with task.linking() as linking:
        added = set(map(view_id_in, linking.graph.relations(replace(ADDED, ids=ids), fields=ENDS)))
        return resolve(linking, sorted(added - linking.graph.present(added, VIEWS)))
