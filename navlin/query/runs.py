"""Run records: times, status and counts."""

from __future__ import annotations

from collections.abc import Sequence

from navlin.index.journal.runs import RunRecord, Status, recent_runs
from navlin.index.solr.solr import Solr
from navlin.query.bounds import LIMIT
from navlin.query.page import Page, source_ids_of, sources_by_id


def runs(
    solr: Solr, *, source: str = "", status: Sequence[Status] = (), limit: int = LIMIT, offset: int = 0
) -> Page[RunRecord]:
    """Return the run records of the source with this name ("" for all sources), with one of these statuses if any are
    given, newest first. A run that found nothing to read leaves no record. Raises `UnknownSource`."""
    found, total = recent_runs(solr, source, status, limit, offset)
    if not total:
        # A source that never reached the index may nevertheless have runs.
        source_ids_of(sources_by_id(solr), source)
    return Page(found, total, offset, limit)
