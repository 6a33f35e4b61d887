"""Changes of tag inheritance that still have to be computed. Every writer of tags, flows or locations leaves a note of
possible changes, which is removed only when all results are durable.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import uuid4

import orjson

from navlin.index.schema.fields import RUNS
from navlin.index.solr import solr_query as q
from navlin.index.solr.solr import Solr
from navlin.model.keys import RelationType

NOTES_AT_ONCE: Final = 500
CARRYING: Final = (RelationType.DATA_FLOW, RelationType.LOGICAL_PHYSICAL)
"""Types of the relations along which entities inherit tags."""
_DUE: Final = "reach due"
_STATE: Final = "reach state"


@dataclass(frozen=True, slots=True)
class Due:
    """A note of possible changes: to the entities with these ids (which may be ends of relations), to everything that
    these runs stamped, or to everything."""

    id: str
    version: int
    ids: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    everything: bool = False


def note_due(
    solr: Solr,
    *,
    ids: Collection[str] = (),
    runs: Sequence[str] = (),
    everything: bool = False,
    again: str = "",
) -> str:
    """Leave a note of possible changes, and return its id. The note can be found after the next commit of ``nav_runs``.

    A writer of entities leaves the note before the change, so that a crash cannot lose it, and leaves it ``again`` with
    the same id after the change, because a note that was processed in between was processed too early.
    """
    identity = again or f"{_DUE}:{runs[0] if runs else uuid4()}"
    body = {"ids": sorted(ids), "runs": list(runs), "everything": everything}
    solr.add_all(RUNS, [{"identity": identity, "kind": _DUE, "body": orjson.dumps(body).decode()}])
    return identity


def read_due(solr: Solr) -> list[Due]:
    """Return at most `NOTES_AT_ONCE` pending notes."""
    due, sort = q.term("kind", _DUE), "identity asc"
    documents, _ = solr.page(RUNS, due, "identity", sort=sort, rows=NOTES_AT_ONCE)
    found = [each["identity"] for each in documents]
    return [
        Due(
            each["identity"],
            int(each["_version_"]),
            tuple(body["ids"]),
            tuple(body["runs"]),
            body["everything"],
        )
        for each in (solr.get(RUNS, found) if found else ())
        for body in [orjson.loads(each["body"])]
    ]


def count_due(solr: Solr) -> int:
    return solr.count(RUNS, q.term("kind", _DUE))


def remove_due(solr: Solr, done: Iterable[Due]) -> None:
    """Remove notes, except those renewed since they were read."""
    solr.delete_versions(RUNS, {each.id: each.version for each in done})


def is_computed(solr: Solr) -> bool:
    """Whether inheritance was ever computed completely; false for the index of an earlier version."""
    return bool(solr.get(RUNS, [_STATE], "identity"))


def note_computed(solr: Solr) -> None:
    solr.add_all(RUNS, [{"identity": _STATE, "kind": _STATE}])
