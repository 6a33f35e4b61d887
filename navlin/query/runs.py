"""Run records: times, status and counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from navlin.index.runs import RunRecord, Status, recent_runs
from navlin.index.solr import Solr
from navlin.query.page import LIMIT, Page, checked, source_ids_of, sources_by_id


def runs(
    solr: Solr, *, source: str = "", status: Sequence[Status] = (), limit: int = LIMIT, offset: int = 0
) -> Page[RunRecord]:
    """Return the run records of the source with this name, with these statuses, newest first. A run that found nothing
    to read leaves no record. Raises `UnknownSource` and `BadPage`."""
    checked(limit, offset)
    found, total = recent_runs(solr, source, status, limit, offset)
    if not total:
        # A source that never reached the index may nevertheless have runs.
        source_ids_of(sources_by_id(solr), source)
    return Page(found, total, offset, limit)


def run_json(run: RunRecord) -> dict[str, Any]:
    """run_id, source, status, started_ms, ended_ms (epoch ms; null while it runs), note, error, counts, failures."""
    return {
        "run_id": run.run_id,
        "source": run.source,
        "status": run.status.value,
        "started_ms": run.started_ms,
        "ended_ms": run.ended_ms or None,
        "note": run.note,
        "error": run.error,
        "counts": {**asdict(run.counts)},
        "failures": list(run.failures),
    }
