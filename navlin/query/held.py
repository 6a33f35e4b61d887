"""The loss for which a run is held: the entities that the run would flag deleted, for the person who decides."""

from __future__ import annotations

from dataclasses import dataclass

from navlin.index.entity import StoredEntity
from navlin.index.held import count_below, entities_at, held_places
from navlin.index.overview import held_run
from navlin.index.runs import RunRecord, Status, last_run
from navlin.index.solr import Solr
from navlin.query.page import LIMIT, Page, checked, source_ids_of, sources_by_id


@dataclass(frozen=True, slots=True)
class HeldPlace:
    """A path in the source's own tree where the listing found nothing. ``entities`` counts the entities at and below
    the path; ``entity`` is the entity at the path itself, if any."""

    path: str
    entities: int
    entity: StoredEntity | None


@dataclass(frozen=True, slots=True)
class HeldLoss:
    """The held run, and a page of the paths that the run would flag deleted."""

    run: RunRecord
    places: Page[HeldPlace]


def held_loss(solr: Solr, source: str, *, limit: int = LIMIT, offset: int = 0) -> HeldLoss | None:
    """Return the loss that awaits a decision for the source with this name; None if there is none. Raises
    `UnknownSource` and `BadPage`."""
    checked(limit, offset)
    for source_id in source_ids_of(sources_by_id(solr), source):
        run = last_run(solr, source_id, Status.HELD)
        if run is not None and held_run(solr, source_id) == run.run_id:
            every = held_places(solr, source_id, run.run_id)
            paths = every[offset : offset + limit]
            there = entities_at(solr, source_id, paths)
            places = tuple(
                HeldPlace(each, count_below(solr, source_id, each), there.get(each)) for each in paths
            )
            return HeldLoss(run, Page(places, len(every), offset, limit))
    return None
