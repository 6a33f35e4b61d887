"""An export that keeps a server up to date: each time what changed since the last, and everything the first time.

How far it came is in the index itself, under the export's name. Whatever cuts it off, the next one goes on there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from navlin.export.batches import Place
from navlin.export.connection import Connection
from navlin.export.target import Refused
from navlin.export.writing import Exported, Progress, Question, send
from navlin.index.exports import ExportPosition, load_export, save_export
from navlin.index.leases import lease
from navlin.index.removals import UnknownRun
from navlin.index.solr import Solr


def follow(
    solr: Solr,
    name: str,
    question: Question,
    connection: Connection,
    *,
    now_ms: Callable[[], int],
    refused: Callable[[Refused], None],
    progress: Progress,
    full: bool = False,
) -> Exported:
    """Sends what changed since the last time; everything the first time, with ``full``, if something else is asked for than
    then, or if the index does not know any more what changed since. Raises as `send`, and `Leased` if another process is
    at it."""
    with lease(solr, f"export:{name}"):
        kept = load_export(solr, name)
        if full or kept.asked != question.digest:
            pending = {} if full else kept.pending
            kept = ExportPosition(name, asked=question.digest, pending=pending, error=kept.error)
        # What was refused is not sent again before it changes, and is missing there until everything is.
        refused_before = kept.refused
        positions = _InIndex(solr, kept)
        since = replace(question, selection=replace(question.selection, since_run=kept.until))
        try:
            done = send(solr, since, connection, positions, refused, progress)
        except UnknownRun:
            refused_before = 0
            done = send(solr, question, connection, positions, refused, progress)
        refusals = refused_before + done.refusals
        ended = ExportPosition(name, done.until, question.digest, now_ms(), refusals)
        save_export(solr, ended)
        return done


class _InIndex:
    """The positions of one export, in the index."""

    def __init__(self, solr: Solr, kept: ExportPosition) -> None:
        self._solr, self._kept = solr, kept

    def load(self, question: Question) -> dict[str, Any] | None:
        """How far an export of the same question came."""
        pending = dict(self._kept.pending)
        return pending if pending.get("question") == question.digest else None

    def save(self, question: Question, place: Place, until: str, size_bytes: int = 0) -> None:
        """Keeps it."""
        pending = {"question": question.digest, "place": asdict(place), "until": until}
        save_export(self._solr, replace(self._kept, pending=pending))

    def clear(self) -> None:
        """What is done is kept along with its run, all at once."""
