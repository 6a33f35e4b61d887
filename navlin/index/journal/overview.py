"""State of one source in the index: its entities and relations, positions, rejects, and the run whose deletions await
review."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import orjson

from navlin.index.graph.state import count_stored
from navlin.index.journal.rejects import Rejected, reject_count, rejected
from navlin.index.journal.runs import BACKING_OFF, Status, last_run
from navlin.index.journal.saved_values import loads
from navlin.index.schema.fields import ELEMENTS, RELATIONS, RUNS
from navlin.index.solr import solr_query as q
from navlin.index.solr.solr import Solr
from navlin.model.raw_names import raw, shown, texts_by

SHOWN_REJECTS: Final = 20
SHOWN_POSITIONS: Final = 100


@dataclass(frozen=True, slots=True)
class SourceOverview:
    """State of one source: the numbers of its live entities, live relations and unlinked live relations. ``positions``
    maps the first keys, in order, to their saved states; ``position_count`` is the total. ``held_back`` maps the first
    files or other parts that failed and will be retried to their saved states; ``held_back_count`` is their total."""

    entities: int
    relations: int
    unlinked: int
    position_count: int
    positions: dict[str, Any]
    held_back_count: int
    held_back: dict[str, Any]
    reject_count: int
    rejects: tuple[Rejected, ...]


def source_overview(solr: Solr, source_id: str) -> SourceOverview:
    failed = q.starting("key", BACKING_OFF)
    position_count, positions = _positions(solr, source_id, f"*:* AND NOT {failed}")
    held_back_count, held_back = _positions(solr, source_id, failed)
    return SourceOverview(
        count_stored(solr, ELEMENTS, source_id, live=True),
        solr.count(RELATIONS, "*:*", "deleted:false", q.term("writer", source_id)),
        solr.count(RELATIONS, "unlinked:true", "deleted:false", q.term("writer", source_id)),
        position_count,
        positions,
        held_back_count,
        {key.removeprefix(BACKING_OFF): value for key, value in held_back.items()},
        reject_count(solr, source_id),
        rejected(solr, SHOWN_REJECTS, source_id=source_id)[0],
    )


def _positions(solr: Solr, source_id: str, which: str) -> tuple[int, dict[str, Any]]:
    """Return the number of positions that match a clause, and key → saved state of the first ones, by key, in readable
    form."""
    filters = ["kind:position", q.term("sourceId", source_id)]
    found, total = solr.page(RUNS, which, filters=filters, sort="key asc", rows=SHOWN_POSITIONS)
    return total, {shown(raw(each["key"])): texts_by(shown, loads(each["body"])) for each in found}


def blocked_run(solr: Solr, source_id: str) -> str:
    """Return the id of the run whose deletions await review; "" if there is none.

    Incremental runs continue meanwhile. Only a later finished run with a complete listing ends this state.
    """
    blocked = last_run(solr, source_id, Status.HELD)
    if blocked is None:
        return ""
    since, sort = f"iteration:{{{blocked.iteration} TO *]", "iteration desc"
    filters = ["kind:run", q.term("sourceId", source_id), f"status:{Status.FINISHED}"]
    later, _ = solr.page(RUNS, since, "body", filters=filters, sort=sort, rows=1_000)
    believed = any(orjson.loads(run["body"])["counts"].get("complete_listings") for run in later)
    return "" if believed else blocked.run_id
