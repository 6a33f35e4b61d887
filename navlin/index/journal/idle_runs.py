"""Time of a source's last poll that found nothing new. A poll without news writes nothing else, so its time is recorded
here, once an hour."""

from __future__ import annotations

from typing import Final

from navlin.index.schema.fields import RUNS, date_ms, solr_date
from navlin.index.solr.solr import Solr

NOTED_EVERY_MS: Final = 3_600_000


def note_idle(solr: Solr, source_id: str, at_ms: int) -> None:
    """Record that a poll of a source at this time (epoch ms) found nothing new."""
    document = {"identity": _identity(source_id), "kind": "idle", "sourceId": source_id}
    solr.add_all(RUNS, [{**document, "started": solr_date(at_ms)}])


def idle_ms(solr: Solr, source_id: str) -> int:
    """Return the last recorded time of a poll without news, committed or not, epoch ms; 0 if there is none."""
    found = solr.get(RUNS, [_identity(source_id)], "started")
    return max((date_ms(each["started"]) for each in found), default=0)


def _identity(source_id: str) -> str:
    return f"idle:{source_id}"
