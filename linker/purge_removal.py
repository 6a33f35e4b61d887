"""Remove each kind of entity, by id and version. Entities that have changed meanwhile stay.

Everything here may be interrupted at any point and called again with the same `RemovalBatch`. Entities that are already gone
count as removed; entities written since then count as come back.

Entities are removed before their relations. In the opposite order, an entity that comes back in between would have
lost its relations for good, because nothing would write them again. In this order, an interrupted batch leaves
relations without an end; the batch, which was recorded first, names the missing entities.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from linker.add_locations import locate
from linker.last_reads import leave_reads, leave_reads_above
from linker.linking import Linking
from linker.locations import path_ends
from linker.purge_rules import operations_executed_since, operations_with_output, parts_of
from linker.resolve_endpoints import UnlinkedReason, unlink
from navlin.index.graph.entity import (
    LAST_RUN,
    PURGE,
    VERSION,
    WHOLE,
    LastRead,
    PurgedExecutions,
    StoredEntity,
)
from navlin.index.graph.filters import RelationFilter
from navlin.index.graph.relation import BOTH, ENDS, End, StoredRelation
from navlin.index.journal.purged_runs import remember_executions, remember_incomplete
from navlin.index.write.rewriting import WRITE_BATCH
from navlin.model.batches import in_batches
from navlin.model.keys import RelationType

_CONTAINS: Final = RelationFilter(types=(RelationType.PARENT_CHILD,))
_INSTANCES: Final = RelationFilter(types=(RelationType.INSTANCE_OF,))


@dataclass(frozen=True, slots=True)
class RemovalBatch:
    """The next removals, as plain JSON, recorded before the first removal.

    ``versions`` are the entities to remove, ``kept`` those that stay but lose their content; both map ids to the
    ``_version_`` that was read. ``executions`` and ``operations`` hold the execution summaries for the operations.
    ``paths`` are the paths whose flows are removed, each as (id, path, type, source id, source type).
    """

    versions: Mapping[str, int]
    kept: Mapping[str, int] = field(default_factory=dict)
    executions: Mapping[str, tuple[str, int, str]] = field(default_factory=dict)
    """Execution id → (operation id, time of the execution (epoch ms), user)."""
    operations: Mapping[str, tuple[int, int, str]] = field(default_factory=dict)
    """Operation id → the summary before this batch: (number of executions, last execution (epoch ms), user of the last
    execution).
    """
    paths: tuple[tuple[str, str, str, str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class RemovalResult:
    """Result of a batch. ``came_back`` holds the ids of entities that were kept because they were written meanwhile."""

    entities: int
    relations: int
    unlinked: int
    came_back: tuple[str, ...]


Entities = Sequence[StoredEntity]
Prepare = Callable[[Linking, Entities, Entities], RemovalBatch]
"""(linking, entities to remove, entities that stay) → batch. Changes nothing."""
Remove = Callable[[Linking, RemovalBatch, int, Callable[[RemovalBatch], None]], RemovalResult]
"""(linking, batch, threshold in epoch ms, callback that records an extended batch) → result."""


def _remove_entities(linking: Linking, versions: Mapping[str, int]) -> tuple[list[str], tuple[str, ...]]:
    """Remove entities that have not changed since they were read. Return the removed ids, and the ids of entities that
    came back.
    """
    stayed = linking.changes.remove_entities(versions, linking.stamp)
    came_back = linking.graph.present_now(sorted(stayed)) if stayed else set()
    return [each for each in versions if each not in came_back], tuple(sorted(came_back))


def _remove_relations(linking: Linking, relations: Iterable[StoredRelation]) -> int:
    removed = 0
    for batch in in_batches(relations, WRITE_BATCH):
        versions = {relation.id: relation.version for relation in batch}
        removed += len(versions) - len(linking.changes.remove_relations(versions, linking.stamp))
    return removed


def _versions(entities: Iterable[StoredEntity]) -> dict[str, int]:
    return {entity.id: entity.version for entity in entities}


# -- Directories and files -----------------------------------------------------------------------------------------------


def prepare_directories(_: Linking, going: Entities, staying: Entities) -> RemovalBatch:
    """Prepare a batch of directories. Directories that stay lose their content as well."""
    return RemovalBatch(_versions(going), kept=_versions(staying))


def prepare_files(_: Linking, going: Entities, __: Entities) -> RemovalBatch:
    """Prepare a batch of files, which needs only the versions."""
    return RemovalBatch(_versions(going))


def remove_paths(
    linking: Linking, batch: RemovalBatch, _: int, __: Callable[[RemovalBatch], None]
) -> RemovalResult:
    """Remove files and directories with their PARENT_CHILD relations, and unlink other relations to them. Record last
    reads of the removed paths on the remaining ancestors.
    """
    graph = linking.graph
    leave_reads_above(linking, batch.versions)
    gone, came_back = _remove_entities(linking, batch.versions)
    now = _versions(graph.entities_now(batch.kept, VERSION).values())
    emptied = [each for each, version in batch.kept.items() if now.get(each) == version]
    relations = _remove_relations(linking, graph.relations(_CONTAINS, of=emptied, sides=(1,), fields=ENDS))
    for side in BOTH:
        contained = graph.relations(_CONTAINS, of=gone, sides=(side,), fields=ENDS)
        relations += _remove_relations(linking, contained)
    unlinked = unlink(linking, gone, UnlinkedReason.PURGED, but_types=_CONTAINS.types)
    came_back += tuple(sorted(batch.kept.keys() - set(emptied)))
    return RemovalResult(len(gone), relations, unlinked, came_back)


# -- Executions ----------------------------------------------------------------------------------------------------------


def prepare_executions(linking: Linking, going: Entities, _: Entities) -> RemovalBatch:
    """Prepare a batch of executions. Collect the operation of each execution, and the execution summary of each
    operation.
    """
    by_id = {execution.id: execution for execution in going}
    instances = linking.graph.relations(_INSTANCES, of=by_id, sides=(2,), fields=ENDS)
    executions = {
        each.ep2.id: (each.ep1.id, by_id[each.ep2.id].executed_ms, by_id[each.ep2.id].principal)
        for each in instances
    }
    operation_ids = {operation for operation, _, _ in executions.values()}
    operations = {
        operation.id: (operation.last_run.count, operation.last_run.last_ms, operation.last_run.principal)
        for operation in linking.graph.entities_now(operation_ids, LAST_RUN).values()
    }
    return RemovalBatch(_versions(going), executions=executions, operations=operations)


def remove_executions(
    linking: Linking, batch: RemovalBatch, _: int, __: Callable[[RemovalBatch], None]
) -> RemovalResult:
    """Record a summary of the executions on their operations and the last reads on the operations' inputs. Then remove
    the executions with all their relations.
    """
    graph = linking.graph
    there = graph.entities_now(batch.versions, PURGE)
    changed = {each for each, now in there.items() if now.version != batch.versions[each]}
    _keep(linking, batch, without=changed)
    remember_executions(linking.solr, there.values())
    leave_reads(linking, _last_of_each(batch))
    going = {each: version for each, version in batch.versions.items() if each not in changed}
    gone, came_back = _remove_entities(linking, going)
    if came_back:
        _keep(linking, batch, without=changed | set(came_back))
    relations = {relation.id: relation for relation in graph.relations(of=gone, fields=ENDS)}
    removed = _remove_relations(linking, relations.values())
    unlinked = unlink(linking, gone, UnlinkedReason.PURGED) if removed < len(relations) else 0
    return RemovalResult(len(gone), removed, unlinked, tuple(sorted(changed.union(came_back))))


def _last_of_each(batch: RemovalBatch) -> dict[str, LastRead]:
    """Return operation id → time and user of the last removed execution. An execution that came back meanwhile counts
    as well, because it did run.
    """
    last: dict[str, LastRead] = {}
    for operation, executed_ms, principal in batch.executions.values():
        last[operation] = last.get(operation, LastRead()).or_later(LastRead(executed_ms, principal))
    return last


def _keep(linking: Linking, batch: RemovalBatch, *, without: Collection[str]) -> None:
    kept = {operation: PurgedExecutions(*last) for operation, last in batch.operations.items()}
    for execution, (operation, executed_ms, principal) in sorted(batch.executions.items()):
        if operation in kept and execution not in without:
            last = kept[operation]
            later = executed_ms > last.last_ms
            kept[operation] = PurgedExecutions(
                last.count + 1,
                executed_ms if later else last.last_ms,
                principal if later else last.principal,
            )
    run_id = linking.run_id
    linking.changes.change_entities(kept, lambda each: each.with_last_run(kept[each.id], run_id))


# -- Operations ----------------------------------------------------------------------------------------------------------


def prepare_operations(_: Linking, going: Entities, __: Entities) -> RemovalBatch:
    """Prepare a batch of operations. Sub-operations and relations are looked up after the removal, because none can be
    added then.
    """
    return RemovalBatch(_versions(going))


def remove_operations(
    linking: Linking, batch: RemovalBatch, before_ms: int, record: Callable[[RemovalBatch], None]
) -> RemovalResult:
    """Remove operations with their sub-operations and all their relations.

    An operation is restored if an execution appears after the removal, because the arrival of an execution does not
    change its operation's document. If an operation has no known execution, its own record counts as the last read.
    """
    graph = linking.graph
    whole = graph.entities_now(batch.versions, WHOLE)
    remember_incomplete(linking.solr, whole.values())
    last = {each.id: LastRead(each.last_run.last_ms, each.last_run.principal) for each in whole.values()}
    leave_reads(linking, last, by_record=True)
    gone, came_back = _remove_entities(linking, batch.versions)
    linking.changes.commit(relations=False)
    needed = operations_with_output(graph, gone) | operations_executed_since(graph, gone, before_ms)
    linking.changes.restore_entities(whole[each] for each in sorted(needed) if each in whole)
    gone = [each for each in gone if each not in needed]

    parts = _versions(parts_of(graph, gone, VERSION))
    ids = [*gone, *parts]
    relations = {relation.id: relation for relation in graph.relations(of=ids)}
    paths = {path for relation in relations.values() for path in path_ends(relation)}
    paths.update(End(*path[:3], source_type=path[4], source_id=path[3]) for path in batch.paths)
    if paths:
        record(RemovalBatch(batch.versions, paths=tuple(map(_recorded, paths))))
    linking.changes.remove_entities(parts, linking.stamp)
    removed = _remove_relations(linking, relations.values())
    unlinked = unlink(linking, ids, UnlinkedReason.PURGED) if removed < len(relations) else 0
    linking.changes.commit(entities=False)
    # A path without a remaining flow belongs to no table, so the linker's relation to it is removed as well.
    locate(linking, paths)
    return RemovalResult(len(gone), removed, unlinked, tuple(sorted(chain(came_back, needed))))


def _recorded(path: End) -> tuple[str, str, str, str, str]:
    return (path.id, path.name, path.type, path.source_id, path.source_type)
