"""Exports to a file or to a server, batch by batch. The position is saved after each batch, so that an interrupted
export can be resumed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import orjson

from navlin.export.batches import Batch, StagePosition, read
from navlin.export.choosing import Selection
from navlin.export.connection import ServerConnection
from navlin.export.target import RefusedRecord, Target
from navlin.export.values import ExportedDataset, ExportedOperation, ExportedRun, Renamed
from navlin.files import replace_content
from navlin.index.journal.removals import Removal, newest_run
from navlin.index.solr.solr import Solr

_KINDS: Mapping[type[Any], str] = {
    ExportedDataset: "datasets",
    ExportedOperation: "operations",
    ExportedRun: "executions",
    Renamed: "renames",
    Removal: "removed",
}


@dataclass(slots=True)
class Exported:
    """The result of an export. ``until`` is the id of the run from which the next export may continue; ``refusals`` is
    the number of records that a server refused."""

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_KINDS.values(), 0))
    records: int = 0
    sent: int = 0
    refusals: int = 0
    until: str = ""
    resumed: bool = False

    def add(self, batch: Batch) -> None:
        for item in batch.items:
            self.counts[_KINDS[type(item)]] += 1

    def to_json(self) -> dict[str, Any]:
        """Return the counts of datasets, operations, executions, renames, removed; records (lines), sent (accepted by a
        server), refused (not accepted), until (the run for the next ``--since``), resumed (whether it continued an
        earlier one)."""
        return {
            **self.counts,
            "records": self.records,
            "sent": self.sent,
            "refused": self.refusals,
            "until": self.until,
            "resumed": self.resumed,
        }


@dataclass(frozen=True, slots=True)
class ExportQuestion:
    """A selection of items to export, with the target and its options."""

    target: Target
    selection: Selection
    options: Any

    def batches(self, solr: Solr, after: StagePosition | None = None) -> Iterator[Batch]:
        return read(solr, self.selection, after)

    def records(self, batches: Iterator[Batch]) -> Iterator[bytes]:
        """Yield all records with their frame, as one stream."""
        return self.target.frame.around(self.unframed(batches))

    def unframed(self, batches: Iterator[Batch]) -> Iterator[bytes]:
        """Yield the records of batches as they arrive. The target converts each batch separately, unless all records
        form one document."""
        if self.target.whole:
            yield from self.target.records((item for batch in batches for item in batch.items), self.options)
        else:
            for batch in batches:
                yield from self.target.records(batch.items, self.options)

    @property
    def digest(self) -> str:
        """A hash that distinguishes this question from others."""
        asked = {"target": self.target.name, "of": asdict(self.selection), "options": asdict(self.options)}
        return hashlib.sha256(orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]


class Keeps(Protocol):
    """Storage for the position of an export."""

    def load(self, question: ExportQuestion) -> dict[str, Any] | None: ...
    def save(
        self, question: ExportQuestion, place: StagePosition, until: str, size_bytes: int = 0
    ) -> None: ...
    def clear(self) -> None: ...


@dataclass(frozen=True, slots=True)
class PositionFile:
    """Storage for the position of an export in a file, which is removed when the export has finished."""

    file: Path

    def load(self, question: ExportQuestion) -> dict[str, Any] | None:
        """Return the position of an interrupted export of the same question; None if there is none."""
        try:
            found: dict[str, Any] = orjson.loads(self.file.read_bytes())
        except (FileNotFoundError, orjson.JSONDecodeError):
            return None
        return found if found.get("question") == question.digest else None

    def save(self, question: ExportQuestion, place: StagePosition, until: str, size_bytes: int = 0) -> None:
        """Save the position atomically."""
        kept = {"question": question.digest, "place": asdict(place), "until": until, "bytes": size_bytes}
        replace_content(self.file, orjson.dumps(kept))

    def clear(self) -> None:
        """Remove the file, because the export is finished."""
        self.file.unlink(missing_ok=True)


Progress = Callable[[Exported], None]


def write_file(
    solr: Solr, question: ExportQuestion, file: Path, positions: PositionFile, progress: Progress
) -> Exported:
    """Write all records to a file, replacing its content, or resume an interrupted export. ``progress`` is called after
    each batch. Raises OSError and the errors of `navlin.export.batches.read`."""
    done, kept = _begun(solr, question, positions)
    with file.open("r+b" if kept is not None and file.exists() else "wb") as out:
        place = None
        if kept is not None and file.stat().st_size >= kept["bytes"]:
            place = StagePosition(**kept["place"])
            out.truncate(kept["bytes"])
            out.seek(kept["bytes"])
        else:
            out.truncate(0)
            done.resumed = False
        frame = question.target.frame
        if question.target.whole:
            for record in question.unframed(_counted(question.batches(solr), done, progress)):
                done.records += 1
                out.write(record)
        else:
            if place is None:
                out.write(frame.begin)
            for batch in question.batches(solr, place):
                for record in question.unframed(iter([batch])):
                    done.records += 1
                    out.write(frame.between + record if out.tell() > len(frame.begin) else record)
                out.flush()
                os.fsync(out.fileno())
                positions.save(question, batch.place, done.until, out.tell())
                done.add(batch)
                progress(done)
            out.write(frame.end)
    positions.clear()
    return done


def send(
    solr: Solr,
    question: ExportQuestion,
    connection: ServerConnection,
    positions: Keeps | None,
    refused: Callable[[RefusedRecord], None],
    progress: Progress,
) -> Exported:
    """Send all records to the target's server; with ``positions``, resume an interrupted export. Raises the errors of
    `navlin.export.batches.read`, `Unavailable` and `NotAllowed`."""
    assert question.target.send is not None
    done, kept = _begun(solr, question, positions)
    for batch in question.batches(solr, StagePosition(**kept["place"]) if kept else None):
        records = list(question.unframed(iter([batch])))
        done.records += len(records)
        for outcome in question.target.send(connection, records, question.options):
            if isinstance(outcome, RefusedRecord):
                done.refusals += 1
                refused(outcome)
            else:
                done.sent += outcome
        if positions is not None:
            positions.save(question, batch.place, done.until)
        done.add(batch)
        progress(done)
    if positions is not None:
        positions.clear()
    return done


def _begun(
    solr: Solr, question: ExportQuestion, positions: Keeps | None
) -> tuple[Exported, dict[str, Any] | None]:
    kept = positions.load(question) if positions is not None and not question.target.whole else None
    # Determine the newest run before anything is read, so that changes made meanwhile are included in the next export.
    until = kept["until"] if kept else newest_run(solr)
    return Exported(until=until, resumed=kept is not None), kept


def _counted(batches: Iterator[Batch], done: Exported, progress: Progress) -> Iterator[Batch]:
    for batch in batches:
        yield batch
        done.add(batch)
        progress(done)
