"""Bring the linker's own relations in the index in line with the wanted ones."""

from __future__ import annotations

from collections.abc import Mapping

from linker.linking import Linking
from linker.resolve_endpoints import reasons_of
from navlin.index.graph.relation import WHOLE, StoredRelation
from navlin.index.write.rewriting import WRITE_BATCH
from navlin.model.batches import in_batches

Relations = Mapping[str, StoredRelation]
"""Relation id → relation."""


def replace_relations(linking: Linking, stored: Relations, wanted: Relations) -> tuple[set[str], int]:
    """Remove stored relations that are not wanted, and write new and changed ones, linked or unlinked depending on
    their ends.

    Return the ids of the relations to check again, because of a change or a conflict, and the number of changes.
    """
    graph, stamp = linking.graph, linking.stamp
    surplus = {identity: stored[identity].version for identity in stored.keys() - wanted.keys()}
    removed = len(surplus) - len(linking.changes.remove_relations(surplus, stamp))
    reasons = reasons_of(linking, wanted.values())
    due = [
        identity
        for identity, relation in wanted.items()
        if (old := stored.get(identity)) is None
        or not relation.same_edge(old)
        or old.unlinked != (reasons[identity] is not None)
    ]
    written = 0
    for batch in in_batches(due, WRITE_BATCH):
        now = graph.relations_now(batch, WHOLE)
        outcome = linking.changes.add_relations(
            wanted[each].in_place_of(now.get(each), stamp).linked(reasons[each], stamp) for each in batch
        )
        written += sum(outcome.values())
    return {*surplus, *due}, written + removed
