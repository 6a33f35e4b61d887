"""How up to date the index is: when each source was last read, when last whole, and what went wrong since."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import orjson

from navlin.index.fields import RUNS, date_ms, solr_date
from navlin.index.idle import idle_ms
from navlin.index.overview import held_run
from navlin.index.runs import Status, last_run
from navlin.index.solr import Solr
from navlin.index.sources import KnownSource, known_sources

RUNS_LOOKED_AT: Final = 1_000
"""Among so many runs of a source its last complete listing is looked for."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One configured source. Times are epoch ms; 0 for never, or not among the last runs.

    ``read_ms`` is when the last run that finished began, or when it was last found that there is nothing new, which is
    noted once an hour; ``whole_ms`` when the last that listed the whole source did, and
    ``error`` what the last run failed with. ``held`` is the id of the run whose loss waits for a person. ``rejects`` are
    the records that did not read.
    """

    source: KnownSource
    read_ms: int
    whole_ms: int
    status: str
    error: str
    held: str
    rejects: int

    def to_json(self) -> dict[str, Any]:
        """id, name, type, lastReading, lastCompleteReading (null if not known), status, error, heldRun, rejects."""
        return {
            "id": self.source.id,
            "name": self.source.name,
            "type": self.source.type,
            "lastReading": solr_date(self.read_ms) if self.read_ms else None,
            "lastCompleteReading": solr_date(self.whole_ms) if self.whole_ms else None,
            "status": self.status,
            "error": self.error or None,
            "heldRun": self.held or None,
            "rejects": self.rejects,
        }


def readings(solr: Solr) -> tuple[Reading, ...]:
    """Every source that was ever configured and that the index holds."""
    return tuple(reading(solr, source) for source in known_sources(solr) if not source.granted)


def reading(solr: Solr, source: KnownSource) -> Reading:
    """Looks up when one source was last read, and with which result."""
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
    return Reading(
        source,
        max(good.started_ms if good else 0, idle_ms(solr, source.id)),
        _whole_ms(solr, source.id),
        last.status.value if last else "never",
        last.error if last else "",
        held_run(solr, source.id),
        int(counted["facets"].get("count", 0)),
    )


def _whole_ms(solr: Solr, source_id: str) -> int:
    runs = {
        "q": f"status:({Status.FINISHED} OR {Status.HELD})",
        "fq": ["kind:run", f"{{!term f=sourceId}}{source_id}"],
        "sort": "iteration desc",
        "rows": RUNS_LOOKED_AT,
        "fl": "started,body",
    }
    for run in solr.select(RUNS, runs)["response"]["docs"]:
        if orjson.loads(run["body"])["counts"].get("complete_listings"):
            return date_ms(run["started"])
    return 0
