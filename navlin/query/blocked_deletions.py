"""The entities that a blocked run would flag deleted, for whoever reviews the run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from navlin.index.graph.entity import StoredEntity
from navlin.index.journal.blocked_deletions import blocked_places, count_below, entities_at
from navlin.index.journal.overview import blocked_run
from navlin.index.journal.runs import RunRecord, Status, last_run
from navlin.index.solr.solr import Solr
from navlin.query.bounds import LIMIT
from navlin.query.page import Page, source_ids_of, sources_by_id


@dataclass(frozen=True, slots=True)
class BlockedPlace:
    """A path in the source's own tree where the listing found nothing. ``entities`` counts the entities at and below
    the path; ``entity`` is the entity at the path itself, if any."""

    path: str
    entities: int
    entity: StoredEntity | None

    def to_json(self) -> dict[str, Any]:
        """JSON keys: path, entities (number at and below the path), entity (id, name, type of the entity at the path
        itself; else null)."""
        here = self.entity
        return {
            "path": self.path,
            "entities": self.entities,
            "entity": {"id": here.id, "name": here.name, "type": here.type} if here else None,
        }


@dataclass(frozen=True, slots=True)
class BlockedDeletions:
    """A blocked run, and some of the paths at which it would flag entities deleted. ``run`` is None, and the list is
    empty, if nothing is blocked."""

    run: RunRecord | None
    listed: Page[BlockedPlace]

    def to_json(self) -> dict[str, Any]:
        """run_id, started_ms (epoch ms), note (null if nothing waits), total, offset, limit, truncated, results (path,
        entities: how many are there and below it, entity: id, name and type of what is at the place itself, or null)."""
        run = self.run
        return {
            "run_id": run.run_id if run else None,
            "started_ms": run.started_ms if run else None,
            "note": run.note if run else None,
            **self.listed.to_json(),
        }


def blocked_deletions(solr: Solr, *, source: str, limit: int = LIMIT, offset: int = 0) -> BlockedDeletions:
    """Return the blocked deletions of the source with this name. Raises `UnknownSource`."""
    for source_id in source_ids_of(sources_by_id(solr), source):
        run = last_run(solr, source_id, Status.HELD)
        if run is not None and blocked_run(solr, source_id) == run.run_id:
            every = blocked_places(solr, source_id, run.run_id)
            paths = every[offset : offset + limit]
            there = entities_at(solr, source_id, paths)
            places = tuple(
                BlockedPlace(each, count_below(solr, source_id, each), there.get(each)) for each in paths
            )
            return BlockedDeletions(run, Page(places, len(every), offset, limit))
    return BlockedDeletions(None, Page((), 0, offset, limit))
