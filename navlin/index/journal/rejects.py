"""Rejects in the core ``nav_runs``: unreadable records, each with its place, the reason, and the last run that saw
it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Final

import orjson

from navlin.index.journal.purged_runs import remember_rejects
from navlin.index.schema.fields import RUNS, cut, date_ms, solr_date
from navlin.index.solr import solr_query as q
from navlin.index.solr.solr import Solr
from navlin.model.batches import in_batches
from navlin.model.identity import identify
from navlin.model.raw_names import shown
from navlin.model.records import Reject
from navlin.model.redaction import redact

SAMPLE_CHARS: Final = 500
_A_BATCH: Final = 1_000


@dataclass(frozen=True, slots=True)
class Rejected:
    """An unreadable record: place, reason, count. ``offset`` is -1 if the place has none; ``seen_ms`` is the time at
    which it was last seen (epoch ms)."""

    source: str
    place: str
    offset: int
    reason: str
    count: int
    sample: str
    seen_ms: int

    @property
    def where(self) -> str:
        """The place, with the offset if it has one."""
        return f"{self.place}:{self.offset}" if self.offset >= 0 else self.place

    def to_json(self) -> dict[str, Any]:
        """JSON keys: source, place, offset (null if the place has none), reason, count, sample, seen_ms (epoch ms)."""
        return {**asdict(self), "offset": self.offset if self.offset >= 0 else None}


def rejected(
    solr: Solr, limit: int, offset: int = 0, *, source: str = "", source_id: str = ""
) -> tuple[tuple[Rejected, ...], int]:
    """Return the rejects of the source with this name or id, or of all sources, last seen first, and their total
    number."""
    wanted = {"source": source, "sourceId": source_id}
    filters = ["kind:reject", *(q.term(field, value) for field, value in wanted.items() if value)]
    sort = "started desc,identity asc"
    documents, total = solr.page(RUNS, "*:*", filters=filters, sort=sort, rows=limit, start=offset)
    found = tuple(
        Rejected(
            document.get("source", ""),
            document.get("place", ""),
            document.get("offset", -1),
            document.get("reason", ""),
            document.get("count", 1),
            orjson.loads(document["body"]).get("sample", ""),
            date_ms(document["started"]),
        )
        for document in documents
    )
    return found, total


def reject_count(solr: Solr, source_id: str) -> int:
    """Count the unreadable records of a source. One reject may represent several records."""
    params = {
        "q": "*:*",
        "fq": ["kind:reject", q.term("sourceId", source_id)],
        "rows": 0,
        "json.facet": orjson.dumps({"count": "sum(count)"}).decode(),
    }
    return int(solr.select(RUNS, params)["facets"].get("count", 0))


def save_rejects(
    solr: Solr, source: str, source_id: str, run: str, now_ms: int, rejects: Iterable[Reject]
) -> int:
    """Save unreadable records, identified by place, offset and reason, so that a repeated record is stored only once.
    Return the number of records saved."""
    documents = reject_documents(source, source_id, run, now_ms, rejects)
    if documents:
        solr.add_all(RUNS, documents)
    return len(documents)


def reject_documents(
    source: str, source_id: str, run: str, now_ms: int, rejects: Iterable[Reject]
) -> list[dict[str, Any]]:
    """Return a redacted document for each distinct reject."""
    documents = {
        identity: {
            "identity": identity,
            "kind": "reject",
            "source": source,
            "sourceId": source_id,
            "runId": run,
            "started": solr_date(now_ms),
            "place": cut(redact(shown(reject.place)), 2_000),
            "offset": reject.offset,
            "count": reject.count,
            "reason": cut(redact(shown(reject.reason)), 2_000),
            "body": orjson.dumps({"sample": cut(redact(reject.sample), SAMPLE_CHARS)}).decode(),
        }
        for reject in rejects
        for identity in ["reject:" + identify(source_id, reject.place, str(reject.offset), reject.reason)]
    }
    return list(documents.values())


def old_rejects(solr: Solr, before_ms: int) -> int:
    """Count the rejects last seen before a time (epoch ms)."""
    return solr.count(RUNS, _seen_before(before_ms), "kind:reject")


def expire_rejects(solr: Solr, before_ms: int) -> int:
    """Remove the rejects last seen before a time (epoch ms), and return their number. Rejects seen again meanwhile
    stay. The last time of each source's removed rejects is remembered."""
    removed = 0
    found = solr.cursor(
        RUNS, _seen_before(before_ms), "identity,sourceId,started,_version_", filters=["kind:reject"]
    )
    for batch in in_batches(found, _A_BATCH):
        seen_ms: dict[str, int] = {}
        for each in batch:
            source_id = each["sourceId"]
            seen_ms[source_id] = max(seen_ms.get(source_id, 0), date_ms(each["started"]))
        for source_id, last_ms in seen_ms.items():
            remember_rejects(solr, source_id, last_ms)
        versions = {each["identity"]: int(each["_version_"]) for each in batch}
        removed += len(versions) - len(solr.delete_versions(RUNS, versions))
    return removed


def _seen_before(before_ms: int) -> str:
    return q.in_range("started", "*", solr_date(before_ms))
