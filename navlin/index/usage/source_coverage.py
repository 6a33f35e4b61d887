"""Coverage of engines: the start of their recorded executions, and the state of their sources."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import orjson

from navlin.index.journal.freshness import SourceFreshness, freshness_of_sources
from navlin.index.journal.purged_runs import PurgedRuns, purged_runs
from navlin.index.journal.runs import BACKING_OFF
from navlin.index.schema.fields import ELEMENTS, LAST_DATE_MS, RUNS, date_ms, solr_date
from navlin.index.solr import solr_query as q
from navlin.index.solr.solr import Solr
from navlin.model.image_positions import ENTRIES

WEEK_MS: Final = 604_800_000


@dataclass(frozen=True, slots=True)
class SourceCoverage:
    """A configured source and the coverage of its records. ``since_ms`` is the start of the source's first recorded
    execution (epoch ms; 0: it records none). ``rejects`` counts the records that could not be read in the requested
    period. ``silent_ms`` are the beginnings of the weeks in that period in which no execution started; purged
    executions count. ``incomplete_ms`` is the time of the last incomplete operation that a purge removed (epoch ms; 0:
    none), ``rejected_ms`` the last time of the rejects that a purge removed (0: none). ``entries`` is the setting
    ``entries`` of an extractor for files, "" for other extractors; ``backing_off`` counts the parts of the source, such
    as files of an engine, that cannot be read now."""

    freshness: SourceFreshness
    since_ms: int
    rejects: int
    silent_ms: tuple[int, ...]
    incomplete_ms: int
    rejected_ms: int
    entries: str
    backing_off: int


def coverage_of_sources(solr: Solr, since_ms: int, now_ms: int) -> tuple[SourceCoverage, ...]:
    """Return the coverage of every configured source. Rejects and silent weeks are counted from ``since_ms`` on."""
    return tuple(_coverage(solr, freshness, since_ms, now_ms) for freshness in freshness_of_sources(solr))


def _coverage(solr: Solr, freshness: SourceFreshness, since_ms: int, now_ms: int) -> SourceCoverage:
    of_source = q.term("sourceId", freshness.source.id)
    executions = _first(solr, of_source, "type:OPERATION_EXECUTION", "started")
    # Include purged executions. Purges of earlier versions left only a note on operations.
    removed = purged_runs(solr, freshness.source.id)
    purged = _first(solr, of_source, "type:OPERATION", "lastExecuted")
    rejects = q.in_range("started", solr_date(since_ms))
    return SourceCoverage(
        freshness,
        min(filter(None, (executions, purged, removed.first_ms)), default=0),
        solr.count(RUNS, "kind:reject", of_source, rejects),
        _silent(solr, of_source, since_ms, now_ms, removed),
        removed.incomplete_ms,
        removed.rejected_ms,
        entries_of(solr, freshness.source.id),
        solr.count(RUNS, "kind:position", of_source, q.starting("key", BACKING_OFF)),
    )


def _first(solr: Solr, of_source: str, kind: str, field: str) -> int:
    facet = orjson.dumps({"first": f"min({field})"}).decode()
    answer = solr.select(ELEMENTS, {"q": kind, "fq": [of_source], "rows": 0, "json.facet": facet})
    first: Any = answer["facets"].get("first", 0)
    return date_ms(first) if isinstance(first, str) else int(first or 0)


def _silent(solr: Solr, of_source: str, since_ms: int, now_ms: int, removed: PurgedRuns) -> tuple[int, ...]:
    """Return the beginnings of the weeks in which no execution started. Weeks are counted back from now; the first week
    also includes the remainder."""
    weeks = max(1, (now_ms - since_ms) // WEEK_MS)
    bounds = [since_ms, *(now_ms - week * WEEK_MS for week in range(weeks - 1, 0, -1))]
    weeks_ms = list(pairwise([*bounds, LAST_DATE_MS]))
    facets = {
        f"week{number}": {"type": "query", "q": q.in_range("started", solr_date(first), solr_date(before))}
        for number, (first, before) in enumerate(weeks_ms)
    }
    asked = {"q": "type:OPERATION_EXECUTION", "fq": [of_source], "rows": 0}
    answer = solr.select(ELEMENTS, {**asked, "json.facet": orjson.dumps(facets).decode()})["facets"]
    return tuple(
        first
        for number, (first, before) in enumerate(weeks_ms)
        if not answer.get(f"week{number}", {}).get("count") and not removed.any_between(first, before)
    )


def entries_of(solr: Solr, source_id: str) -> str:
    """Return the setting ``entries`` with which a file system was last read; "" if none was saved."""
    filters = [q.term("sourceId", source_id), q.term("key", ENTRIES)]
    found, _ = solr.page(RUNS, "kind:position", "body", filters=filters, rows=1)
    return str(orjson.loads(found[0]["body"])) if found else ""
