"""Reads splits in a Spark task. All results are rows with the schema of the envelope."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any, Final

import orjson
import pyarrow as pa

from navlin.index.journal.saved_values import dumps, loads
from navlin.index.schema.envelope import Envelope
from navlin.index.schema.envelope_schema import ENVELOPE_SCHEMA
from navlin.index.schema.fields import odd_dates
from navlin.index.write.documents import entity_envelope, placeholder_envelopes, relation_envelope
from navlin.index.write.listing import listing_envelopes, odd_dates_of
from navlin.model.extractor import Extractor
from navlin.model.raw_names import raw, shown, stored
from navlin.model.records import Covered, Depth, Entity, Listing, Position, Record, Reject, Relation, Split
from navlin.model.redaction.literals import masking, without_quoted
from navlin.pipeline.failing import in_words
from navlin.pipeline.masking_literals import without_literals_in

ROWS_IN_BATCH: Final = 2_000
BYTES_IN_BATCH: Final = 8 << 20
BYTES_IN_FILE: Final = 64 << 20
REJECTS_KEPT: Final = 100
"""Maximum number of rejects to keep for each place in a split, and of invalid dates in a split. A final reject counts
the rest."""

NO_DATE: Final = "invalid date: "

POSITION, COVERED, REJECT, WITHDRAWN = "#position", "#covered", "#reject", "#withdrawn"
SPLIT, FAILURE, COUNT = "#split", "#failure", "#count"
"""Kinds of control rows. A control row has the kind in its column ``core``."""


@dataclass(frozen=True, slots=True)
class ReadSummary:
    """Summary of a round of reads for the driver: the content of the control rows, and the number of documents."""

    documents: int = 0
    positions: tuple[Position, ...] = ()
    covers: tuple[Covered, ...] = ()
    rejects: tuple[Reject, ...] = ()
    withdrawn: tuple[str, ...] = ()
    splits: tuple[Split, ...] = ()
    failures: dict[str, str] = field(default_factory=dict)

    def __add__(self, other: ReadSummary) -> ReadSummary:
        return ReadSummary(
            self.documents + other.documents,
            self.positions + other.positions,
            self.covers + other.covers,
            self.rejects + other.rejects,
            self.withdrawn + other.withdrawn,
            other.splits,
            self.failures | other.failures,
        )


def read_splits(extractor: Extractor) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that a Spark task maps over batches of pickled splits (one binary column)."""

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for pickled in batch.column(0).to_pylist():
                yield from in_record_batches(_read_split(extractor, pickle.loads(pickled)))  # noqa: S301 (pickled by the driver)

    return read


def read_into_files(extractor: Extractor, splits: Iterable[Split], folder: Path) -> Iterator[Path]:
    """Read splits as a task does, and write the rows to Parquet files of about `BYTES_IN_FILE` in ``folder``. Yield the
    path of each file when it is complete. At least one file is written."""
    import pyarrow.parquet as pq  # only needed on a cluster

    batches = (batch for split in splits for batch in in_record_batches(_read_split(extractor, split)))
    for number in count():
        file = folder / f"part-{number:05d}.parquet"
        size_bytes = 0
        with pq.ParquetWriter(file, ENVELOPE_SCHEMA) as writer:
            for batch in batches:
                writer.write_batch(batch)
                size_bytes += batch.nbytes
                if size_bytes >= BYTES_IN_FILE:
                    break
        yield file
        if size_bytes < BYTES_IN_FILE:
            return


def summarize(rows: Iterable[Any]) -> ReadSummary:
    """Summarize a round of reads from the control rows."""
    documents = 0
    positions, covers, rejects, withdrawn, splits, failures = [], [], [], [], [], {}
    for row in rows:
        match row["core"]:
            case "#count":
                documents += row["as_of"]
            case "#position":
                positions.append(Position(raw(row["identity"]), loads(row["document"])))
            case "#covered":
                depth, except_paths, reported, matching, proved = orjson.loads(row["document"])
                covers.append(
                    Covered(
                        row["tree_path"],
                        row["as_of"],
                        Depth(depth),
                        tuple(except_paths),
                        reported,
                        matching,
                        proved,
                    )
                )
            case "#reject":
                rejects.append(Reject(**orjson.loads(row["document"])))
            case "#withdrawn":
                withdrawn.append(row["tree_path"])
            case "#split":
                splits.append(pickle.loads(row["document"]))  # noqa: S301 (pickled by a task)
            case "#failure":
                failures[raw(row["identity"])] = bytes(row["document"]).decode()
    return ReadSummary(
        documents,
        tuple(positions),
        tuple(covers),
        tuple(rejects),
        tuple(withdrawn),
        tuple(splits),
        failures,
    )


def in_record_batches(envelopes: Iterable[Envelope | pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Group envelopes into Arrow batches, bounded in rows and in bytes, and yield the batches. Existing batches pass
    unchanged."""
    rows: list[Envelope] = []
    size_bytes = 0
    for envelope in envelopes:
        if isinstance(envelope, pa.RecordBatch):
            yield envelope
            continue
        rows.append(envelope)
        size_bytes += len(envelope.document)
        if len(rows) >= ROWS_IN_BATCH or size_bytes >= BYTES_IN_BATCH:
            yield _record_batch(rows)
            rows, size_bytes = [], 0
    if rows:
        yield _record_batch(rows)


def _record_batch(rows: list[Envelope]) -> pa.RecordBatch:
    columns = [
        pa.array(column, schema_field.type)
        for column, schema_field in zip(zip(*rows, strict=True), ENVELOPE_SCHEMA, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=ENVELOPE_SCHEMA)


def _read_split(extractor: Extractor, split: Split) -> Iterator[Envelope | pa.RecordBatch]:
    """Yield documents and rejects as they are read, then the other control rows. Positions, coverage and further splits
    are yielded only if the split was read completely."""
    writer_id = extractor.source.id
    own: list[Envelope] = []
    rejected: Counter[str] = Counter()
    withdrawn: set[str] = set()
    placeholders: set[str] = set()
    documents = 0
    dates: list[Reject] = []
    masks = extractor.estate.masks_literals
    try:
        for record in _read(extractor, split):
            match record:
                case Entity():
                    documents += 1
                    yield entity_envelope(record)
                    for odd in odd_dates({**record.volatile, **record.attributes}):
                        dates.append(Reject(record.key.tree_path, NO_DATE + odd))
                case Listing():
                    for path, odd, count in odd_dates_of(record):
                        dates.append(Reject(path, NO_DATE + odd, count=count))
                    for batch in listing_envelopes(record):
                        documents += batch.num_rows
                        yield batch
                case Relation():
                    documents += 1
                    yield relation_envelope(record, writer_id)
                    for end in (record.ep1, record.ep2):
                        if not end.source.configured and end.identity not in placeholders:
                            placeholders.add(end.identity)
                            for envelope in placeholder_envelopes(end, record.as_of_ms):
                                documents += 1
                                yield envelope
                case Reject():
                    rejected[record.place] += 1
                    if rejected[record.place] <= REJECTS_KEPT:
                        yield _control(REJECT, document=orjson.dumps(_reject_fields(record)))
                    if record.tree_path:
                        withdrawn.add(record.tree_path)
                case _:
                    own.append(_control_record(record))
    except Exception as error:  # a failed split yields a failure row, so that other splits continue
        words = without_quoted(in_words(error)) if masks else in_words(error)
        message = words.encode("utf-8", "replace")
        yield _control(FAILURE, identity=stored(split.name), document=message[:4_000])
    else:
        yield from own
    for place, count in rejected.items():
        if count > REJECTS_KEPT:
            more = count - REJECTS_KEPT
            rest = Reject(place, f"{more} more records of this place could not be read", count=more)
            yield _control(REJECT, document=orjson.dumps(_reject_fields(rest)))
    for reject in dates[:REJECTS_KEPT]:  # only the dates are rejected, not the entities
        said = replace(reject, reason=without_quoted(reject.reason)) if masks else reject
        yield _control(REJECT, document=orjson.dumps(_reject_fields(said)))
    if more := sum(reject.count for reject in dates[REJECTS_KEPT:]):
        rest = Reject(split.name, f"{more} more invalid dates", count=more)
        yield _control(REJECT, document=orjson.dumps(_reject_fields(rest)))
    for path in withdrawn:  # includes the paths of rejects that were only counted
        yield _control(WITHDRAWN, tree_path=path)
    yield _control(COUNT, as_of=documents)


def _read(extractor: Extractor, split: Split) -> Iterator[Record]:
    if not extractor.estate.masks_literals:
        yield from extractor.read(split)
        return
    with masking(True):
        for record in extractor.read(split):
            yield without_literals_in(record)


def _control_record(record: Record) -> Envelope:
    match record:
        case Position():
            return _control(POSITION, identity=stored(record.key), document=dumps(record.value))
        case Covered():
            about = [record.depth, list(record.except_paths), record.reported, record.matching, record.proved]
            return _control(
                COVERED, tree_path=record.path, as_of=record.as_of_ms, document=orjson.dumps(about)
            )
        case Split():
            return _control(SPLIT, identity=stored(record.name), document=pickle.dumps(record))
    raise TypeError(f"an extractor yielded {type(record).__name__}, which is not a record")


def _reject_fields(reject: Reject) -> dict[str, Any]:
    return {name: _clean(getattr(reject, name)) for name in Reject.__slots__}


def _clean(value: Any) -> Any:
    return shown(value) if isinstance(value, str) else value


def _control(
    core: str, *, identity: str = "", tree_path: str = "", as_of: int = 0, document: bytes = b""
) -> Envelope:
    return Envelope(core, identity, tree_path=tree_path, as_of=as_of, document=document)
