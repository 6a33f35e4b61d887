"""Files that navlin's publisher for Sqoop writes, one for each job that a Hive or HCatalog table takes part in.

    {"operation": "import", "user": "etl", "url": "jdbc:postgresql://db/shop", "storeTable": "orders",
     "storeQuery": null, "hiveDB": "mart", "hiveTable": "orders", "startTime": 1795729150003,
     "endTime": 1795729165863, "options": {"db.column.list": "ID,NAME", "db.where.clause": "ID > 0"}}

Sqoop calls the publisher after the job and before it loads the data into Hive, also if that fails then. So the flow into
the table is ``inferred``. For a query, ``storeTable`` is the Hive table's name. A job's configuration does not name the
Hive table at all; see `extractors.yarn.sqoop_job`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final

from extractors.lineage.followed_files import MAX_LINE_BYTES, Line
from extractors.lineage.graph import NotALineageRecord, parse, text_of
from extractors.lineage.line_logs import LineLogs
from extractors.lineage.record_times import RecordTimes
from extractors.yarn.engines import EngineJob, YarnReading
from extractors.yarn.sqoop_columns import Queries
from extractors.yarn.sqoop_job import SqoopJob, TransferKind, to_published
from extractors.yarn.sqoop_records import Run, records_of
from navlin.model.extractor import PUSH, extractor, keeps_positions
from navlin.model.records import Record, Reject, Split
from navlin.model.redaction import bounded, redact, sample
from navlin.model.source import SQOOP, Estate, Source

_KINDS: Final = {"import": TransferKind.IMPORT, "export": TransferKind.EXPORT}
_NO_DATA: Final = "createHiveTable"
"""An operation that creates a Hive table like that of a database, without rows."""
MAX_NAME_BYTES: Final = 1_000


@extractor("sqoop_publications", source_type=SQOOP, mode=PUSH, version=1)
@dataclass(frozen=True, slots=True)
class SqoopPublications(LineLogs):
    """Follow the files that navlin's publisher for Sqoop writes on this host.

    ``directory`` may list several directories and globs. ``metastore`` is the address of the metastore with the Hive
    tables, needed if several are configured.
    """

    source: Source
    estate: Estate
    # Each file has its own position and is recognized by its content, wherever it is.
    directory: str | tuple[str, ...] = keeps_positions("/var/lib/navlin/sqoop")
    pattern: str = keeps_positions("sqoop-*.json")
    metastore: str = ""
    max_line_bytes: int = MAX_LINE_BYTES

    def read(self, split: Split) -> Iterator[Record]:
        reading = YarnReading(self.source, self.estate, self.metastore)
        with closing(Queries()) as queries:

            def records(line: Line, path: str) -> Iterator[Record]:
                yield from _records(line, path, reading, queries, getattr(split, "latest_ms", 0))

            yield from self._read(split, records)


def _records(
    line: Line, path: str, reading: YarnReading, queries: Queries, latest_ms: int
) -> Iterator[Record]:
    # After a crash, unwritten blocks read as NULs.
    text = line.text.strip(b"\0 \t\r")
    if not text:
        return
    try:
        record = parse(text)
        times = RecordTimes(latest_ms)
        started_ms, ended_ms = times.read(record, "startTime"), times.read(record, "endTime")
        run = _to_run(record, text, started_ms, ended_ms)
    except NotALineageRecord as broken:
        shown = sample(text) if b'"storeTable"' in text else ""
        yield Reject(path, str(broken), line.offset, shown)
        return
    for problem in times.problems:
        yield Reject(path, f"a time is impossible, and left out: {problem}", line.offset, sample(text))
    if run is not None:
        yield from records_of(reading, run, queries)


def _to_run(
    record: Mapping[str, Any], text: bytes, started_ms: int | None, ended_ms: int | None
) -> Run | None:
    """Return the run that a file tells of; None if it moved no data. Raises `NotALineageRecord`."""
    operation = text_of(record, "operation")
    if operation == _NO_DATA:
        return None
    if operation not in _KINDS:
        raise NotALineageRecord("the record has no operation that moves data")
    as_of_ms = ended_ms or started_ms
    if as_of_ms is None:
        raise NotALineageRecord("the record has neither endTime nor startTime")
    options = record.get("options")
    named = {name: value for name, value in record.items() if isinstance(value, str)}
    job: SqoopJob = to_published(_KINDS[operation], named, options if isinstance(options, dict) else {})
    if job.hive is None:
        raise NotALineageRecord("the record does not name a Hive table in a form that navlin can read")
    ran = EngineJob(
        application="",
        run=hashlib.blake2b(text, digest_size=16).hexdigest(),
        user=bounded(redact(named.get("user", "")), MAX_NAME_BYTES),
        name="",
        status="SUCCEEDED",
        succeeded=True,
        started_ms=started_ms or 0,
        ended_ms=ended_ms or 0,
        as_of_ms=as_of_ms,
        told={},
    )
    return Run(ran, job)
