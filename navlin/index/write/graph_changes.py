"""Changes of the stored graph: entities and relations that are changed, flagged or removed as values.

Extracted records are written by `navlin.index.write.writing`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from navlin.index.graph import relation as relation_fields
from navlin.index.graph.entity import StoredEntity
from navlin.index.graph.graph import IDS_A_QUERY, Graph
from navlin.index.graph.relation import StoredRelation
from navlin.index.journal.inheritance_due import CARRYING, note_due
from navlin.index.journal.removals import record_removal
from navlin.index.schema.fields import ELEMENTS, RELATIONS
from navlin.index.schema.stamp import Stamp
from navlin.index.solr.solr import Solr
from navlin.index.write.rewriting import ATTEMPTS, WRITE_BATCH, TooManyConflicts, flag_deleted, rewrite
from navlin.model.batches import in_batches


@dataclass(frozen=True, slots=True)
class GraphChanges:
    """Changes of the entities and relations of one Solr. They are visible after `commit`."""

    solr: Solr

    def change_entities(
        self, ids: Iterable[str], change: Callable[[StoredEntity], StoredEntity | None]
    ) -> int:
        """Read each entity whole, let ``change`` alter it (None leaves it unchanged), and write it back; return the
        number written. ``change`` is called again after a concurrent write."""

        def rewritten(document: dict[str, Any]) -> dict[str, Any] | None:
            new = change(StoredEntity.of(document))
            return None if new is None else dict(new.document)

        return sum(1 for _ in rewrite(self.solr, ELEMENTS, ids, rewritten))

    def change_relations(
        self,
        ids: Collection[str],
        change: Callable[[Sequence[StoredRelation]], Iterable[StoredRelation]],
    ) -> int:
        """Read these relations whole, write the relations that ``change`` returns, and return the number written. If
        relations were written concurrently, ``change`` is called again for these."""
        todo, written = list(ids), 0
        for _ in range(ATTEMPTS):
            if not todo:
                return written
            outcome = self.add_relations(
                change([*Graph(self.solr).relations_now(todo, relation_fields.WHOLE).values()])
            )
            written += len(outcome) - len(todo := [each for each, applied in outcome.items() if not applied])
        raise TooManyConflicts(
            f"{len(todo)} relations kept changing during {ATTEMPTS} attempts to write them"
        )

    def add_relations(self, relations: Iterable[StoredRelation]) -> dict[str, bool]:
        """Write each relation if the index still has the version that was read; return id → whether the relation was
        written."""
        outcome: dict[str, bool] = {}
        for batch in in_batches(relations, WRITE_BATCH):
            answer = self.solr.add_all(RELATIONS, [relation.document for relation in batch])
            outcome.update(dict.fromkeys(answer.applied, True))
            outcome.update(dict.fromkeys(answer.conflicts, False))
        return outcome

    def flag_entities(self, gone: Mapping[str, int], stamp: Stamp) -> int:
        """Flag entities deleted and return their number. ``gone`` maps ids to the time of the deletion (epoch ms).
        Entities already flagged, or with a newer record, are unchanged."""
        return self._flag(ELEMENTS, gone, stamp)

    def flag_relations(self, gone: Mapping[str, int], stamp: Stamp) -> int:
        """Flag relations deleted, as `flag_entities` does entities."""
        return self._flag(RELATIONS, gone, stamp)

    def restore_entities(self, entities: Iterable[StoredEntity]) -> None:
        """Write back entities that were read whole and then removed, unless they exist again."""
        self.solr.add_all(ELEMENTS, [{**entity.document, "_version_": -1} for entity in entities])

    def remove_entities(self, versions: Mapping[str, int], stamp: Stamp) -> set[str]:
        """Remove the entities (id → ``_version_``) that have not changed since that version, and return the ids of all
        others, which have changed or are gone. Leave a removal record."""
        return self._remove(ELEMENTS, versions, stamp)

    def remove_relations(self, versions: Mapping[str, int], stamp: Stamp) -> set[str]:
        """Remove relations, as `remove_entities` does entities. Record that tag inheritance through these relations
        must be computed again."""
        removed = Graph(self.solr).relations_now(versions, relation_fields.ENDS)
        ends = {end.id for each in removed.values() if each.type in CARRYING for end in (each.ep1, each.ep2)}
        due = note_due(self.solr, ids=ends) if ends else ""
        stayed = self._remove(RELATIONS, versions, stamp)
        if due:
            note_due(self.solr, ids=ends, again=due)
        return stayed

    def commit(self, *, soft: bool = True, entities: bool = True, relations: bool = True) -> None:
        """Make written data visible; a hard commit also makes it durable."""
        for core, wanted in ((ELEMENTS, entities), (RELATIONS, relations)):
            if wanted:
                self.solr.commit(core, soft=soft)

    def _flag(self, core: str, gone: Mapping[str, int], stamp: Stamp) -> int:
        flagged = rewrite(
            self.solr, core, gone, lambda each: flag_deleted(each, stamp, gone[each["identity"]])
        )
        return sum(1 for _ in flagged)

    def _remove(self, core: str, versions: Mapping[str, int], stamp: Stamp) -> set[str]:
        stayed: set[str] = set()
        for batch in in_batches(versions, IDS_A_QUERY):
            # Record first: after an interrupted removal, readers of the record can see that some documents still exist.
            # In the reverse order, removed documents could lack a record.
            record_removal(self.solr, core, batch, stamp)
            stayed.update(self.solr.delete_versions(core, {each: versions[each] for each in batch}))
        return stayed
