"""Updates inherited tags after linking, edits and removals, but only for the entities that may have changed.

The update runs after the linker's rules, but is not a rule itself. It uses the same graph walk as `navlin inherited`,
so that both give the same result. If the walk from a tagged entity has changed, the entity's tags are followed again;
then all entities that these tags reached before or reach now are updated.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain
from threading import Lock, Thread
from typing import Final

import structlog

from navlin.index.admin.name_filling import fill_names, names_filled
from navlin.index.graph.entity import ANNOTATED, StoredEntity
from navlin.index.graph.filters import EntityFilter, RelationFilter
from navlin.index.graph.graph import Graph
from navlin.index.graph.relation import WALKED
from navlin.index.journal.inheritance_due import (
    CARRYING,
    Due,
    count_due,
    is_computed,
    note_computed,
    read_due,
    remove_due,
)
from navlin.index.journal.leases import Leased, lease
from navlin.index.people.inheritance import (
    IDS_A_BATCH,
    NOTHING,
    StoredClosure,
    TagGroup,
    any_closure,
    apply_inherited,
    dependencies_of,
    depending_on,
    inheriting,
    origins,
    reached_among,
    save_closures,
    stored_closures,
    tagged_entities,
)
from navlin.index.schema.fields import ELEMENTS, RELATIONS, RUNS
from navlin.index.solr.solr import Solr, SolrAddress, SolrError
from navlin.model.batches import in_batches
from navlin.model.keys import EntityType
from navlin.query.closure import Stops, closure_of
from navlin.query.lineage import UnknownEntity

log = structlog.stdlib.get_logger(__name__)

LEASE: Final = "inheritance"
WALKS: Final = 4
"""Number of walks in parallel. A walk waits for Solr most of the time."""
ORIGINS_A_BATCH: Final = 4 * WALKS
_PARTS: Final = EntityFilter(("SUB_OPERATION",))
_MOST_PARTS: Final = 100_000
_WALKED: Final = EntityFilter(
    tuple(
        each
        for each in EntityType
        if each not in (EntityType.OPERATION_EXECUTION, EntityType.SOURCE, EntityType.DATABASE)
    )
)
REPORT_EVERY: Final = 1_000
"""Number of entities between two progress reports of a long pass."""
PAUSE_POLLS: Final = 30
"""Number of polls to skip after a failed pass."""
_ONE_PASS: Final = Lock()
"""Prevents two passes in one process, which would both hold the lease, because the lease belongs to the process."""
Progress = Callable[[int, int], None]
"""Progress callback: (entities followed so far, total)."""


def keep_inherited(
    solr: Solr,
    *,
    stop: Callable[[], bool] = lambda: False,
    progress: Progress = lambda done, every: None,
) -> int:
    """Update the inherited tags that are due, and return the number of entities whose inherited tags changed. First
    backfill the name-search field in documents of an earlier navlin (`fill_names`).

    ``stop`` is checked between batches of entities; if it returns True, the remaining work stays due. Do nothing, and
    return 0, if another pass is running.
    """
    try:
        with _ONE_PASS, lease(solr, LEASE) as own_lease:
            changed = 0
            fill_names(solr, stop)
            while not stop():
                own_lease.check()
                solr.commit(RUNS, soft=True)
                whole, due = not is_computed(solr), read_due(solr)
                if not whole and not due:
                    break
                # Commit only after the notes were read, because the changes that made work due were written before the
                # notes.
                for core in (ELEMENTS, RELATIONS):
                    solr.commit(core, soft=True)
                keeping = _Keeping(solr, stop, progress)
                changed += keeping.keep(due, everything=whole or any(each.everything for each in due))
                if keeping.stopped:
                    break
                own_lease.check()
                solr.commit(ELEMENTS, soft=False)
                if whole:
                    note_computed(solr)
                remove_due(solr, due)
                solr.commit(RUNS, soft=False)
            return changed
    except Leased:
        return 0


class Inheriting:
    """Updates inherited tags in a thread of the daemon, soon after work is due."""

    def __init__(self, address: SolrAddress, stop: Callable[[], bool]) -> None:
        """``stop`` is passed on to `keep_inherited`."""
        self._solr, self._stop = Solr(address), stop
        self._computed = False
        self._pass: Thread | None = None
        self._pause = 0

    def poll(self) -> None:
        """Start a pass if work is due and no pass is running. If the index does not respond, the next call tries
        again."""
        self._pause = max(self._pause - 1, 0)
        if self.at_it or self._pause:
            return
        try:
            self._computed = self._computed or (is_computed(self._solr) and names_filled(self._solr))
            if self._computed and not count_due(self._solr):
                return
        except SolrError as error:
            log.debug("pending updates of inherited tags not read", error=str(error))
            return
        self._pass = Thread(target=self._keep, name="inheriting")
        self._pass.start()

    @property
    def at_it(self) -> bool:
        """Whether a pass is running."""
        return self._pass is not None and self._pass.is_alive()

    def _report(self, done: int, every: int) -> None:
        if done // REPORT_EVERY > (done - ORIGINS_A_BATCH) // REPORT_EVERY:
            log.info("inherited tags partly updated", done=done, of=every)

    def _keep(self) -> None:
        try:
            if changed := keep_inherited(self._solr, stop=self._stop, progress=self._report):
                log.info("inherited tags updated", entities=changed)
        except SolrError as error:
            # The work stays due, so wait before retrying.
            self._pause = PAUSE_POLLS
            log.error("inherited tags not updated: they will be retried", error=str(error))
        except Exception:
            self._pause = PAUSE_POLLS
            log.exception("inherited tags not updated")


class _Keeping:
    def __init__(self, solr: Solr, stop: Callable[[], bool], progress: Progress) -> None:
        self._solr, self._graph = solr, Graph(solr)
        self._stop, self._progress = stop, progress
        self._stops = Stops({})
        self.stopped = False

    def keep(self, due: Sequence[Due], *, everything: bool) -> int:
        """Update inherited tags for the due work, or for ``everything``. Return the number of changed entities."""
        changed = 0
        concerned, reached = self._concerned(due) if not everything else (self._all(), set[str]())
        if concerned:
            self._stops = Stops.read(self._solr)
        done = 0
        for batch in in_batches(sorted(concerned), ORIGINS_A_BATCH):
            if self._stop():
                self.stopped = True
                return changed
            changed += self._follow(batch, anew=everything)
            done += len(batch)
            self._progress(done, len(concerned))
        # Entities that were rewritten, or have lost their own tags, may lack inherited tags.
        changed += apply_inherited(self._solr, sorted(reached), {})
        return changed + (apply_inherited(self._solr, inheriting(self._solr), {}) if everything else 0)

    def _all(self) -> set[str]:
        return {*(each.id for each in tagged_entities(self._solr)), *origins(self._solr)}

    def _concerned(self, due: Sequence[Due]) -> tuple[set[str], set[str]]:
        """Return two sets of ids: the entities whose tags must be propagated again, and the changed entities that
        currently inherit a tag."""
        runs = tuple(dict.fromkeys(run for each in due for run in each.runs))
        ids = dict.fromkeys(identity for each in due for identity in each.ids)
        concerned, reached = set[str](), set[str]()
        if runs:
            concerned.update(each.id for each in tagged_entities(self._solr, runs=runs))
        noted = self._with_parts(ids)
        for batch in in_batches(noted, IDS_A_BATCH):
            concerned.update(each.id for each in tagged_entities(self._solr, ids=batch))
        # If no tag reaches any entity, there is nothing else to do.
        if any_closure(self._solr):
            for batch in in_batches(chain(noted, self._stamped_by(runs)), IDS_A_BATCH):
                concerned |= depending_on(self._solr, batch)
                reached |= reached_among(self._solr, batch)
        return concerned, reached

    def _with_parts(self, ids: Collection[str]) -> list[str]:
        """Return ``ids``, and the ids of the sub-operations of all operations in ``ids``, because a change to an
        operation affects its sub-operations."""
        entities = self._graph.entities_of(ids).values()
        operations = [each.id for each in entities if each.type == EntityType.OPERATION]
        parts, _ = self._graph.children(operations, _PARTS, _MOST_PARTS)
        return [*ids, *(each.id for each in parts)]

    def _stamped_by(self, runs: tuple[str, ...]) -> Iterator[str]:
        """Yield the ids affected by writes or deletions in some runs: entities, their parents, and the ends of
        relations."""
        if not runs:
            return
        for entity in self._graph.entities(replace(_WALKED, runs=runs)):
            yield entity.id
            if entity.parent_id:
                yield entity.parent_id
        relations = self._graph.relations(RelationFilter(CARRYING, runs=runs), fields=WALKED)
        for batch in in_batches(relations, IDS_A_BATCH):
            ends = [end for each in batch for end in (each.ep1, each.ep2)]
            yield from (end.id for end in ends)
            # A walk treats the location of a partition as the location of its table.
            partitions = self._graph.entities_of(end.id for end in ends if end.type == EntityType.PARTITION)
            yield from (each.parent_id for each in partitions.values() if each.parent_id)

    def _follow(self, ids: Sequence[str], *, anew: bool) -> int:
        """Follow the tags of these entities, and update each entity that the tags newly reach or no longer reach; with
        ``anew``, each entity that they reached before or reach now. Return the number of changed entities."""
        entities = self._graph.entities_of(ids, ANNOTATED)
        before = stored_closures(self._solr, ids)
        with ThreadPoolExecutor(WALKS, "inheriting") as walks:
            closures = walks.map(
                self._closure_of, map(entities.get, ids), (before.get(each, NOTHING) for each in ids)
            )
            after = dict(zip(ids, closures, strict=True))
        differing = set[str]()
        for each, reached in after.items():
            old = before.get(each, NOTHING)
            differing |= old.ids | reached.ids if anew else old.unlike(reached)
        # The reached entities are updated first, so that after an interruption the next pass finds the same
        # differences.
        changed = apply_inherited(self._solr, sorted(differing), after)
        save_closures(self._solr, after)
        return changed

    def _closure_of(self, entity: StoredEntity | None, before: StoredClosure) -> StoredClosure:
        tags = entity.tags if entity is not None and not entity.deleted else ()
        if entity is None or not tags:
            return NOTHING
        by_stops: dict[frozenset[str], set[str]] = {}
        for tag in tags:
            by_stops.setdefault(self._stops.of(tag), set()).add(tag)
        try:
            reached = [(tags, closure_of(self._solr, entity.id, stops)) for stops, tags in by_stops.items()]
        except UnknownEntity:
            return NOTHING
        except SolrError:
            raise
        except Exception:
            # An entity whose lineage cannot be read must not block all others. For the tags that it still has, the old
            # closure is kept until that lineage changes again.
            log.exception("tags of an entity not propagated", entity=entity.id)
            present = frozenset(tags)
            kept = frozenset(
                TagGroup(left, each.ids) for each in before.groups if (left := each.tags & present)
            )
            return StoredClosure(kept, dependencies_of(self._solr, entity.id))
        groups = frozenset(TagGroup(frozenset(tags), each.ids) for tags, each in reached)
        return StoredClosure(groups, frozenset[str]().union(*(each.dependencies for _, each in reached)))
