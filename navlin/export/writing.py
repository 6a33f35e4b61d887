"""An export to a file or to a server: batch by batch, saving its position, so that an interrupted export can be resumed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import orjson

from navlin.export.batches import Batch, Place, read
from navlin.export.choosing import Selection
from navlin.export.connection import Connection
from navlin.export.target import Refused, Target
from navlin.export.values import Dataset, Operation, Removed, Renamed, Run
from navlin.files import replace_content
from navlin.index.removals import newest_run
from navlin.index.solr import Solr

_KINDS: Mapping[type[Any], str] = {
    Dataset: "datasets",
    Operation: "operations",
    Run: "executions",
    Renamed: "renames",
    Removed: "removed",
}


@dataclass(slots=True)
class Exported:
    """The result of an export. ``until`` is the run from which the next one may continue; ``refusals`` counts the
    records that a server refused."""

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
        """Counts of datasets, operations, executions, renames, removed; records (lines), sent (accepted by a server),
        refused (not accepted), until (the run for the next ``--since``), resumed (whether it continued an earlier one)."""
        return {
            **self.counts,
            "records": self.records,
            "sent": self.sent,
            "refused": self.refusals,
            "until": self.until,
            "resumed": self.resumed,
        }


@dataclass(frozen=True, slots=True)
class Question:
    """A selection of the graph with a target and its options."""

    target: Target
    selection: Selection
    options: Any

    def batches(self, solr: Solr, after: Place | None = None) -> Iterator[Batch]:
        return read(solr, self.selection, after)

    def records(self, batches: Iterator[Batch]) -> Iterator[bytes]:
        """All records in their frame, for a reader that takes them as they come."""
        return self.target.frame.around(self.unframed(batches))

    def unframed(self, batches: Iterator[Batch]) -> Iterator[bytes]:
        """Yields the records of batches, as they come: of each batch by itself, unless all are one document."""
        if self.target.whole:
            yield from self.target.records((item for batch in batches for item in batch.items), self.options)
        else:
            for batch in batches:
                yield from self.target.records(batch.items, self.options)

    @property
    def digest(self) -> str:
        """A hash that distinguishes it from other questions."""
        asked = {"target": self.target.name, "of": asdict(self.selection), "options": asdict(self.options)}
        return hashlib.sha256(orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]


class Keeps(Protocol):
    """Storage of an export's position."""

    def load(self, question: Question) -> dict[str, Any] | None: ...
    def save(self, question: Question, place: Place, until: str, size_bytes: int = 0) -> None: ...
    def clear(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Positions:
    """The position of an export, in a file. A finished export removes the file."""

    file: Path

    def load(self, question: Question) -> dict[str, Any] | None:
        """The position of an interrupted export of the same question; None if there is none."""
        try:
            found: dict[str, Any] = orjson.loads(self.file.read_bytes())
        except (FileNotFoundError, orjson.JSONDecodeError):
            return None
        return found if found.get("question") == question.digest else None

    def save(self, question: Question, place: Place, until: str, size_bytes: int = 0) -> None:
        """Saves the position, whole or not at all."""
        kept = {"question": question.digest, "place": asdict(place), "until": until, "bytes": size_bytes}
        replace_content(self.file, orjson.dumps(kept))

    def clear(self) -> None:
        """Removes the position: the export is finished."""
        self.file.unlink(missing_ok=True)


Progress = Callable[[Exported], None]


def write_file(
    solr: Solr, question: Question, file: Path, positions: Positions, progress: Progress
) -> Exported:
    """Writes all records to a file, replacing its content, or resumes an interrupted export. ``progress`` is called
    after each batch. Raises as `navlin.export.batches.read`, and OSError."""
    done, kept = _begun(solr, question, positions)
    with file.open("r+b" if kept is not None and file.exists() else "wb") as out:
        place = None
        if kept is not None and file.stat().st_size >= kept["bytes"]:
            place = Place(**kept["place"])
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
    question: Question,
    connection: Connection,
    positions: Keeps | None,
    refused: Callable[[Refused], None],
    progress: Progress,
) -> Exported:
    """Sends all records to the target's server, or resumes an interrupted export, if ``positions`` are kept. Raises as
    `navlin.export.batches.read`, `Unavailable` and `NotAllowed`."""
    assert question.target.send is not None
    done, kept = _begun(solr, question, positions)
    for batch in question.batches(solr, Place(**kept["place"]) if kept else None):
        records = list(question.unframed(iter([batch])))
        done.records += len(records)
        for outcome in question.target.send(connection, records, question.options):
            if isinstance(outcome, Refused):
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


def _begun(solr: Solr, question: Question, positions: Keeps | None) -> tuple[Exported, dict[str, Any] | None]:
    kept = positions.load(question) if positions is not None and not question.target.whole else None
    # Taken before anything is read: changes made meanwhile come again with the next export.
    until = kept["until"] if kept else newest_run(solr)
    return Exported(until=until, resumed=kept is not None), kept


def _counted(batches: Iterator[Batch], done: Exported, progress: Progress) -> Iterator[Batch]:
    for batch in batches:
        yield batch
        done.add(batch)
        progress(done)
