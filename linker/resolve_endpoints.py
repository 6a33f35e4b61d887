"""Link relations whose claimed ends are in the index, and unlink all other relations.

A relation contains the ids of its ends from the start. It is ``unlinked`` until every id that it claims is in the
index. An entity that is flagged deleted counts as present: a relation to it is linked, and the query decides whether
to show it. An unlinked relation has a reason (`UnlinkedReason`) with a time. Ids are never guessed, so there is never more
than one candidate.

Links are looked for in both directions: new relations look for their ends, and arrived entities look for relations
that wait for them. Each lookup starts from whichever side is smaller, after the commit of the data it queries. If two
runs overlap, the one that commits later sees the writes of both.

A new relation is already written as linked or unlinked (`marked`), so that it is written only once if its ends exist.
That state is determined before the commit, so the next pass checks unlinked relations again, as well as relations that
may have lost an end meanwhile.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import StrEnum
from functools import partial

from linker.linking import Linking, LinkingTask
from navlin.index.graph.filters import EntityFilter, IdRange, RelationFilter
from navlin.index.graph.graph import IDS_A_QUERY
from navlin.index.graph.relation import BOTH, ENDS, StoredRelation
from navlin.index.graph.sources import KnownSource, known_sources
from navlin.index.journal.removals import removed_entities
from navlin.index.schema.envelope import Envelope
from navlin.index.write.documents import Document
from navlin.index.write.rewriting import WRITE_BATCH
from navlin.model.batches import in_batches

WAITING = RelationFilter(unlinked=True)
_UNLINKED = b'"unlinked":true'
"""Part of a relation's JSON if the relation claims an end in a configured source."""
FEW_ARRIVALS = 1_000
"""Maximum number of entities in one query. Below this number, it is not worth counting whether fewer relations are
waiting.
"""
FEW_REMOVALS = 1_000
"""Maximum number of removed entities to look up among the ends of the runs' relations; beyond it, all relations with a
claimed end are checked."""

Reasons = Mapping[str, str | None]
"""Relation id → reason why the relation is unlinked; None if it is linked."""


class UnlinkedReason(StrEnum):
    """Reason why a relation is unlinked. If an end has not arrived yet, the reason names the source that has not
    reported the end: "not in HIVE-1 yet" (`not_yet`).
    """

    PURGED = "purged"
    """The end existed, was flagged deleted for a long time, and was purged."""
    FORGOTTEN = "forgotten"
    """The end's source, or the relevant part of that source, is not configured any more, and its data were removed."""
    NOT_READ = "its source has not been read yet"
    NO_AUTHORITY = "no such authority"
    """No source serves the claimed system, and the end is not a placeholder."""


_LASTING = frozenset({UnlinkedReason.PURGED, UnlinkedReason.FORGOTTEN})
"""Reasons that stay until the end exists again, because a later pass cannot distinguish a removed end from one that
never existed.
"""


def not_yet(source_name: str) -> str:
    """Return the reason for an end that its source has not reported."""
    return f"not in {source_name} yet"


def resolve_endpoints(linking: Linking) -> int:
    """Link relations where possible, and set the reason on all other relations. Return the number of changed
    relations.
    """
    if linking.everything:
        return sum(linking.each_range(partial(_resolve_range, linking.for_task), linking.ranges))
    stamped = linking.graph.relations(RelationFilter(unlinked=True, runs=linking.runs))
    changed = resolve(linking, stamped) + resolve(linking, _bereft(linking))
    if changed > WRITE_BATCH:
        # Otherwise all these relations would be checked twice: on their own, and as relations waiting for the run's
        # entities.
        linking.changes.commit(entities=False)
    return changed + resolve(linking, _waiting_for_arrivals(linking))


def marked(linking: Linking, new: Iterable[Envelope]) -> dict[str, Document]:
    """Return id → document for the new relations that claim an end in a configured source. Each document is already
    linked or unlinked according to the current index.
    """
    claiming = (each for each in new if _UNLINKED in each.document)
    relations = (StoredRelation.of({"identity": each.identity, **each.fields()}) for each in claiming)
    waiting = [relation for relation in relations if relation.unlinked]
    reasons = reasons_of(linking, waiting) if waiting else {}
    return {each.id: dict(each.linked(reasons[each.id], linking.stamp).document) for each in waiting}


def resolve(linking: Linking, relations: Iterable[StoredRelation]) -> int:
    """Link or unlink the relations whose stored state is wrong. Return the number of changed relations."""
    changed = 0
    for batch in in_batches(relations, WRITE_BATCH):
        by_id = {relation.id: relation for relation in batch}
        reasons = reasons_of(linking, by_id.values())
        due = [each for each, relation in by_id.items() if not _is_so(relation, reasons[each])]
        changed += _write(linking, due, reasons)
    return changed


def reasons_of(linking: Linking, relations: Collection[StoredRelation]) -> Reasons:
    """Return relation id → reason to unlink the relation, or None to link it."""
    wanted = {relation.id: _wanted_ends(relation) for relation in relations}
    there = linking.graph.present({end for ends in wanted.values() for end in ends})
    missing = {identity: [end for end in ends if end not in there] for identity, ends in wanted.items()}
    sources = {source.id: source for source in known_sources(linking.solr)} if any(missing.values()) else {}
    return {relation.id: _reason(relation, missing[relation.id], sources) for relation in relations}


def unlink(
    linking: Linking, gone_ids: Iterable[str], reason: UnlinkedReason, but_types: tuple[str, ...] = ()
) -> int:
    """Unlink every relation with one of these removed entities as an end, except relations of ``but_types``. Return
    the number of unlinked relations. Relations of an entity that has come back meanwhile stay linked.
    """
    unlinked = 0
    where = RelationFilter(but_types=but_types, but_reason=reason)
    # A run may have written a relation while the end existed, and stopped before its commit.
    linking.changes.commit(entities=False)
    for batch in in_batches(gone_ids, IDS_A_QUERY):
        still_gone = set(batch) - linking.graph.present_now(batch)
        found = {
            relation.id for relation in linking.graph.relations(where, of=sorted(still_gone), fields=ENDS)
        }
        for ids in in_batches(sorted(found), WRITE_BATCH):
            unlinked += linking.changes.change_relations(
                ids, lambda relations: [each.linked(reason, linking.stamp) for each in relations]
            )
    return unlinked


def _write(linking: Linking, ids: Collection[str], reasons: Reasons) -> int:
    known: list[Reasons] = [reasons]

    def change(relations: Collection[StoredRelation]) -> Iterator[StoredRelation]:
        # A relation that was written in between may have other ends to look for.
        due = known.pop() if known else reasons_of(linking, relations)
        for relation in relations:
            if not _is_so(relation, due[relation.id]):
                yield relation.linked(due[relation.id], linking.stamp)

    return linking.changes.change_relations(ids, change)


def _is_so(relation: StoredRelation, reason: str | None) -> bool:
    return relation.unlinked == (reason is not None) and relation.unlinked_reason == (reason or "")


def _wanted_ends(relation: StoredRelation) -> tuple[str, ...]:
    if relation.unlinked_reason in _LASTING:
        # The removed entity may be an end in the writer's own source, for which there is no claim.
        return tuple(sorted({relation.ep1.id, relation.ep2.id}))
    return relation.claims


def _reason(
    relation: StoredRelation, missing: Collection[str], sources: Mapping[str, KnownSource]
) -> str | None:
    if not missing:
        return None
    if relation.unlinked_reason in _LASTING:
        return relation.unlinked_reason
    ends = [relation.end(side) for side in BOTH if relation.end(side).id in missing]
    return ", ".join(sorted({_reason_of_source(sources.get(end.source_id)) for end in ends}))


def _reason_of_source(source: KnownSource | None) -> str:
    if source is None:
        return UnlinkedReason.NOT_READ
    return UnlinkedReason.NO_AUTHORITY if source.placeholder else not_yet(source.name)


def _bereft(linking: Linking) -> Iterator[StoredRelation]:
    """Yield the runs' relations that may have lost an end between their check and the commit. These are the relations
    of entities removed meanwhile or, if many were removed, all relations that claim an end.
    """
    if linking.since_ms is None:
        return
    removed = removed_entities(linking.solr, linking.since_ms, FEW_REMOVALS)
    if removed is None:
        yield from linking.graph.relations(RelationFilter(claims_or_waits=True, runs=linking.runs))
    elif removed:
        yield from linking.graph.relations(RelationFilter(runs=linking.runs), of=removed)


def _waiting_for_arrivals(linking: Linking) -> Iterator[StoredRelation]:
    """Yield the unlinked relations whose ends may be among the runs' entities. The search starts from the arrived
    entities or, if these are fewer, from the unlinked relations to the same sources. Up to `FEW_ARRIVALS` entities are
    queried without counting.
    """
    graph = linking.graph
    arrived = EntityFilter(runs=linking.runs)
    by_source = graph.entities_by_source(arrived)
    sources = tuple(by_source)
    waiting = [
        RelationFilter(unlinked=True, ep1_sources=sources),
        RelationFilter(unlinked=True, ep2_sources=sources),
    ]
    arrivals = sum(by_source.values())
    if arrivals > FEW_ARRIVALS and sum(map(graph.count_relations, waiting)) <= arrivals:
        for where in waiting:
            yield from graph.relations(where)
        return
    for batch in in_batches(graph.entities(arrived), IDS_A_QUERY):
        yield from graph.relations(WAITING, of=[entity.id for entity in batch])
        for entity in batch:
            if entity.type == "SOURCE":
                yield from _waiting_for_source(linking, entity.id)


def _waiting_for_source(linking: Linking, source_id: str) -> Iterator[StoredRelation]:
    """Yield unlinked relations to or from entities of a new or renamed source whose stored reason does not contain the
    source's current name.
    """
    name = next((source.name for source in known_sources(linking.solr) if source.id == source_id), "")
    for where in (
        RelationFilter(unlinked=True, but_reason=not_yet(name), ep1_sources=(source_id,)),
        RelationFilter(unlinked=True, but_reason=not_yet(name), ep2_sources=(source_id,)),
    ):
        yield from linking.graph.relations(where)


def _resolve_range(task: LinkingTask, ids: IdRange) -> int:
    with task.linking() as linking:
        relations = linking.graph.relations(RelationFilter(claims_or_waits=True, ids=ids))
        return resolve(linking, relations)
