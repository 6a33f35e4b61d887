"""An incremental export that keeps a server up to date: everything the first time, then the changes since the last
export.

The position is stored in the index, under the name of the export. After an interruption the next export continues from
that position, unless everything is to be sent again, or the target takes everything as one document.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from navlin.export.batches import StagePosition
from navlin.export.connection import ServerConnection
from navlin.export.target import RefusedRecord
from navlin.export.writing import Exported, ExportQuestion, Progress, send
from navlin.index.journal.export_positions import ExportPosition, export_identity, load_export, save_export
from navlin.index.journal.leases import Lease, lease
from navlin.index.journal.removals import UnknownRun
from navlin.index.solr.solr import Solr


def follow(
    solr: Solr,
    name: str,
    question: ExportQuestion,
    connection: ServerConnection,
    *,
    now_ms: Callable[[], int],
    refused: Callable[[RefusedRecord], None],
    progress: Progress,
    full: bool = False,
) -> Exported:
    """Send the changes since the last export. Send everything the first time, with ``full``, if ``question`` differs
    from that of the last export, or if the index no longer has the changes since the last export. Raises the errors of
    `send`, `Leased` if another process runs this export, and `LeaseLost` if another process has continued it.

    The result counts the refusals of this call only. The stored position counts all since the last full transfer, even
    of records that were accepted later."""
    with lease(solr, export_identity(name)) as own_lease:
        kept = load_export(solr, name)
        if full or kept.asked != question.digest:
            pending = {} if full else kept.pending
            new = ExportPosition(name, asked=question.digest, pending=pending, error=kept.error)
            kept = replace(new, version=kept.version)
        # Refused records are not sent again until they change or everything is sent again. Until then, the server lacks
        # these records, so the earlier refusals still count.
        refused_before = kept.refused
        positions = _InIndex(solr, own_lease, kept)

        def counted(one: RefusedRecord) -> None:
            positions.refusals += 1
            refused(one)

        since = replace(question, selection=replace(question.selection, since_run=kept.until))
        try:
            done = send(solr, since, connection, positions, counted, progress)
        except UnknownRun:
            refused_before = 0
            done = send(solr, question, connection, positions, counted, progress)
        refusals = refused_before + positions.refusals
        positions.store(ExportPosition(name, done.until, question.digest, now_ms(), refusals))
        return done


class _InIndex:
    """The position of one export, stored in the index. ``refusals`` is the number of refusals since this export began,
    including those before an interruption."""

    def __init__(self, solr: Solr, own_lease: Lease, kept: ExportPosition) -> None:
        self._solr, self._own_lease, self._kept = solr, own_lease, kept
        self.refusals = 0

    def load(self, question: ExportQuestion) -> dict[str, Any] | None:
        """Return the position of an unfinished export of the same question; None if there is none."""
        pending = dict(self._kept.pending)
        fits = pending.get("question") == question.digest
        self.refusals = pending.get("refused", 0) if fits else 0
        return pending if fits else None

    def save(self, question: ExportQuestion, place: StagePosition, until: str, size_bytes: int = 0) -> None:
        pending = {
            "question": question.digest,
            "place": asdict(place),
            "until": until,
            "refused": self.refusals,
        }
        self.store(replace(self._kept, pending=pending))

    def store(self, position: ExportPosition) -> None:
        """Replace the stored position. Raises `LeaseLost`."""
        self._own_lease.check()
        self._kept = save_export(self._solr, replace(position, version=self._kept.version))

    def clear(self) -> None:
        """Do nothing, because saving the finished export clears the position."""
