"""Data freshness: the last read and last complete listing of each source, and errors since then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import orjson

from navlin.index.graph.sources import KnownSource, known_sources
from navlin.index.journal.overview import blocked_run
from navlin.index.journal.runs import Status, last_run
from navlin.index.schema.fields import RUNS, date_ms, solr_date
from navlin.index.solr.solr import Solr

RUNS_LOOKED_AT: Final = 1_000
"""Maximum number of a source's runs that are searched for the last complete listing."""
NOTED_EVERY_MS: Final = 3_600_000
"""A poll that found nothing new writes nothing else, so its time is recorded once an hour."""


@dataclass(frozen=True, slots=True)
class SourceFreshness:
    """Freshness of one configured source. Times are epoch ms; 0 for never, or not among the last runs.

    ``read_ms`` is the start of the last finished run, or the last poll without news, which is recorded once an hour;
    ``whole_ms`` is the start of the last run that listed the whole source, and ``error`` the error of the last run.
    ``blocked_run`` is the id of the run whose deletions await review. ``rejects`` counts the unreadable records.
    """

    source: KnownSource
    read_ms: int
    whole_ms: int
    status: str
    error: str
    blocked_run: str
    rejects: int

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object: id, name, type, lastReading, lastCompleteReading (null if not known), status, error,
        heldRun, rejects."""
        return {
            "id": self.source.id,
            "name": self.source.name,
            "type": self.source.type,
            "lastReading": solr_date(self.read_ms) if self.read_ms else None,
            "lastCompleteReading": solr_date(self.whole_ms) if self.whole_ms else None,
            "status": self.status,
            "error": self.error or None,
            "heldRun": self.blocked_run or None,
            "rejects": self.rejects,
        }


def freshness_of_sources(solr: Solr) -> tuple[SourceFreshness, ...]:
    """Return the freshness of every source in the index that was ever configured."""
    return tuple(freshness_of(solr, source) for source in known_sources(solr) if not source.placeholder)


def freshness_of(solr: Solr, source: KnownSource) -> SourceFreshness:
    last = last_run(solr, source.id)
    good = last_run(solr, source.id, Status.FINISHED, Status.HELD)
    counted = solr.select(
        RUNS,
        {
            "q": "*:*",
            "fq": ["kind:reject", f"{{!term f=sourceId}}{source.id}"],
            "rows": 0,
            "json.facet": orjson.dumps({"count": "sum(count)"}).decode(),
        },
    )
    return SourceFreshness(
        source,
        max(good.started_ms if good else 0, idle_ms(solr, source.id)),
        _whole_ms(solr, source.id),
        last.status.value if last else "never",
        last.error if last else "",
        blocked_run(solr, source.id),
        int(counted["facets"].get("count", 0)),
    )


def _whole_ms(solr: Solr, source_id: str) -> int:
    ended = f"status:({Status.FINISHED} OR {Status.HELD})"
    filters, sort = ["kind:run", f"{{!term f=sourceId}}{source_id}"], "iteration desc"
    runs, _ = solr.page(RUNS, ended, "started,body", filters=filters, sort=sort, rows=RUNS_LOOKED_AT)
    for run in runs:
        if orjson.loads(run["body"])["counts"].get("complete_listings"):
            return date_ms(run["started"])
    return 0


def note_idle(solr: Solr, source_id: str, at_ms: int) -> None:
    """Record that a poll of a source at this time (epoch ms) found nothing new."""
    document = {"identity": _idle_id(source_id), "kind": "idle", "sourceId": source_id}
    solr.add_all(RUNS, [{**document, "started": solr_date(at_ms)}])


def idle_ms(solr: Solr, source_id: str) -> int:
    """Return the last recorded time of a poll without news, committed or not, epoch ms; 0 if there is none."""
    found = solr.get(RUNS, [_idle_id(source_id)], "started")
    return max((date_ms(each["started"]) for each in found), default=0)


def _idle_id(source_id: str) -> str:
    return f"idle:{source_id}"
