"""Remove results of an older read that a newer read of the same records does not confirm.

Missing from the newer read does not mean deleted, but that the result never existed. Such results are therefore
removed, not flagged deleted: operations all of whose executions were reread and now belong to other operations, with
everything attached to them; sub-operations that a reread operation does not have any more; and placeholders to which
nothing else refers. A single execution that was not reread keeps its operation.

The whole set is determined before the first removal. The order of removal is such that the pass after an interruption
finds the rest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from linker.add_locations import locate
from linker.linking import Linking
from linker.locations import path_ends
from linker.purge_rules import parts_of
from navlin.index.graph.entity import PURGE, VERSION, WHOLE, StoredEntity
from navlin.index.graph.filters import EntityFilter, RelationFilter
from navlin.index.graph.relation import BOTH, ENDS, StoredRelation
from navlin.index.people.user_entities import adopt_annotations
from navlin.index.schema.envelope import Envelope
from navlin.index.write.rewriting import WRITE_BATCH
from navlin.index.write.writing import write_implied
from navlin.model.batches import in_batches
from navlin.model.gaps import READ_BY_OLDER
from navlin.model.keys import RelationType

_INSTANCES = RelationFilter(types=(RelationType.INSTANCE_OF,))
_CONTAINS = RelationFilter(types=(RelationType.PARENT_CHILD,))
_STATED = RelationFilter(but_types=(RelationType.PARENT_CHILD,), rule="")
Relations = dict[str, StoredRelation]
"""Relation id → relation."""


def remove_superseded(
    linking: Linking,
    executions: Iterable[Envelope],
    read_ids: Collection[str],
    entity_ids: Iterable[str],
    relation_ids: Iterable[str],
) -> int:
    """Remove operations that lost all executions, the given sub-operations and relations, and placeholders that only
    these needed. Return the number of removed entities and relations.

    ``executions`` and the operations ``read_ids`` were read again. These operations stay, even without executions.
    ``entity_ids`` and ``relation_ids`` are the sub-operations and relations that these operations no longer have.
    """
    graph = linking.graph
    reassigned, left = _reassigned(linking, executions)
    entities = _without_executions(
        linking, {each: left[each] for each in left.keys() - set(read_ids)}, reassigned
    )
    entities |= graph.entities_now(entity_ids, VERSION)
    relations = {each.id: each for each in graph.relations(of=sorted(entities))}
    for batch in in_batches(relation_ids, WRITE_BATCH):
        relations |= graph.relations_now(batch)
    relations = {identity: each for identity, each in relations.items() if identity not in reassigned}

    ends = {end.id for each in relations.values() for end in (each.ep1, each.ep2)} - entities.keys()
    placeholders, contained = _placeholders(linking, ends, relations)
    relations |= {
        each.id: each for each in graph.relations(of=sorted(placeholders)) if each.id not in contained
    }
    removed = _remove_entities(linking, placeholders.values()) + _remove_relations(linking, contained)
    removed += _remove_relations(linking, relations)
    linking.changes.commit()
    locate(linking, {path for each in relations.values() for path in path_ends(each)})
    removed += _remove_entities(linking, entities.values()) + _remove_relations(linking, reassigned)
    linking.changes.commit()
    return removed


def mark_unread_incomplete(linking: Linking, source_id: str, read_ids: Collection[str]) -> int:
    """Mark a source's operations that were not read again as read by an older version. Return the number of changed
    operations.
    """
    where = EntityFilter(("OPERATION",), sources=(source_id,), deleted=False)
    unread = [
        each.id for each in linking.graph.entities(where) if each.id not in read_ids and not each.placeholder
    ]
    return linking.changes.change_entities(
        unread, lambda operation: operation.with_incomplete_reason(READ_BY_OLDER, linking.run_id)
    )


def _reassigned(linking: Linking, executions: Iterable[Envelope]) -> tuple[Relations, dict[str, str]]:
    """Move executions to the operations to which they belong now. Return two mappings: relation id → relation of an
    execution to its previous operation; and id of a previous operation → id of an operation that replaces it.
    """
    graph = linking.graph
    reassigned: Relations = {}
    left: dict[str, str] = {}
    for batch in in_batches(executions, WRITE_BATCH):
        by_id = {each.identity: each for each in batch}
        instances = graph.relations(_INSTANCES, of=by_id, sides=(2,), fields=ENDS)
        stale = [each for each in instances if each.ep1.id != by_id[each.ep2.id].parent_id]
        now = graph.entities_now({each.ep2.id for each in stale}, PURGE)
        for each in stale:
            execution = by_id[each.ep2.id]
            if each.ep2.id in now and now[each.ep2.id].as_of_ms <= execution.as_of:
                write_implied(linking.solr, [execution], linking.stamp)
                reassigned[each.id], left[each.ep1.id] = each, execution.parent_id
    return reassigned, left


def _without_executions(
    linking: Linking, left: dict[str, str], reassigned: Relations
) -> dict[str, StoredEntity]:
    """Return id → entity for the operations without any remaining execution and for their sub-operations. User-written
    fields are copied to the replacement, whose own values stay; tags are merged. An operation from which purge removed
    executions is left out, because no other document records those executions.
    """
    graph = linking.graph
    instances = graph.relations(_INSTANCES, of=sorted(left), sides=(1,), fields=ENDS)
    kept = {each.ep1.id for each in instances if each.id not in reassigned}
    there = graph.entities_now(sorted(left.keys() - kept), WHOLE)
    empty = {identity: each for identity, each in there.items() if not each.last_run.count}
    for identity in empty:
        adopt_annotations(linking.solr, identity, left[identity])
    return empty | {each.id: each for each in parts_of(graph, sorted(empty), VERSION)}


def _placeholders(
    linking: Linking, ids: Collection[str], going: Relations
) -> tuple[dict[str, StoredEntity], Relations]:
    """Return two mappings: id → placeholder to remove; and id → relation to a placeholder's parent.

    A placeholder is removed if no relation refers to it except removed ones (``going``) and those of the linker's
    rules, and if it contains no entity that stays. Placeholders with user-written fields or a last read are excluded.
    """
    graph = linking.graph
    found: dict[str, StoredEntity] = {}
    contained: Relations = {}
    while ids:
        there = graph.entities_now(sorted(ids), WHOLE)
        placeholders = {
            each.id: each
            for each in there.values()
            if each.placeholder and not each.annotations and not any(each.last_read)
        }
        named = {
            end
            for side in BOTH
            for each in graph.relations(_STATED, of=sorted(placeholders), sides=(side,), fields=ENDS)
            if each.id not in going
            for end in (each.ep1.id, each.ep2.id)
        }
        children = graph.relations(_CONTAINS, of=sorted(placeholders), sides=(1,), fields=ENDS)
        named |= {each.ep1.id for each in children if each.id not in contained}
        found |= (
            unnamed := {identity: each for identity, each in placeholders.items() if identity not in named}
        )
        gone = [*unnamed, *(set(ids) - there.keys())]
        parents = {each.id: each for each in graph.relations(_CONTAINS, of=gone, sides=(2,), fields=ENDS)}
        contained |= parents
        ids = {each.ep1.id for each in parents.values()}
    return found | _empty_sources(linking, found.values()), contained


def _empty_sources(linking: Linking, going: Collection[StoredEntity]) -> dict[str, StoredEntity]:
    """Return id → source for the placeholder sources that contain no other entities."""
    if not going:
        return {}
    left = linking.graph.entities_by_source(EntityFilter())
    for each in going:
        left[each.source_id] -= 1
    only_itself = sorted({each.source_id for each in going if left[each.source_id] <= 1})
    sources = linking.graph.entities_now(only_itself, WHOLE)
    return {identity: each for identity, each in sources.items() if each.placeholder}


def _remove_entities(linking: Linking, entities: Iterable[StoredEntity]) -> int:
    versions = {each.id: each.version for each in entities}
    return len(versions) - len(linking.changes.remove_entities(versions, linking.stamp))


def _remove_relations(linking: Linking, relations: Relations) -> int:
    versions = {identity: each.version for identity, each in relations.items()}
    return len(versions) - len(linking.changes.remove_relations(versions, linking.stamp))
