"""Hive's lineage: what the LineageLogger hook writes into a log, one JSON record a statement, in every form it has had.

HiveServer2 (or the Hive CLI) writes it through log4j to a file of its own, or among what other loggers say, so a record may
stand behind a log line's prefix, and the first releases indented it over several lines. Navigator's hosts had it in
``/var/log/hive/lineage``. The hook tells of queries, CREATE TABLE AS SELECT and views that succeeded.

Columns and tables are claims on a metastore's. The targets of a query that writes nothing are labels of its result.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from extractors._files import MAX_LINE_BYTES, FileSplit, Line
from extractors._hive_log import records_among
from extractors._hive_record import to_statement
from extractors._line_logs import LineLogs
from extractors._lineage_graph import NotARecord
from extractors._operations import Catalog, Engine, Operations
from extractors._redact import sample
from navlin.model.extractor import PUSH, extractor, keeps_positions
from navlin.model.records import Record, Reject, Split
from navlin.model.source import HIVE, Estate, Source

HIVE_ENGINE = Engine(HIVE, "hv_query", "hv_query_part", "hv_query_execution")
_RECORD_START = b'{"version":'


@extractor("hive_events", source_type=HIVE, mode=PUSH, version=2)
@dataclass(frozen=True, slots=True)
class HiveEvents(LineLogs):
    """Follows the lineage files of one or more Hive services on this host.

    ``directory`` may be several, and globs. ``metastore`` is the address of the metastore whose tables the records
    name, ``yarn`` that of the YARN that ran their jobs, needed where several are configured.
    """

    source: Source
    estate: Estate
    # Each file has a position of its own, and is known by what is in it wherever it lies.
    directory: str | tuple[str, ...] = keeps_positions("/var/log/hive/lineage")
    pattern: str = keeps_positions("*")
    metastore: str = ""
    yarn: str = ""
    max_line_bytes: int = MAX_LINE_BYTES

    def read(self, split: Split) -> Iterator[Record]:
        assert isinstance(split, FileSplit)
        catalog = Catalog(self.estate.serving(HIVE, self.metastore))
        operations = Operations(self.source, self.estate, HIVE_ENGINE, catalog, yarn=self.yarn)
        yield from self._read(
            split,
            lambda found, path: _records(found, path, operations, split),
            lambda file: records_among(file, max_bytes=self.max_line_bytes),
        )


def _records(found: Line, path: str, operations: Operations, split: FileSplit) -> Iterator[Record]:
    try:
        statement = to_statement(
            found.text, path, found.offset, written_ms=split.written_ms, latest_ms=split.latest_ms
        )
    except NotARecord as broken:
        yield Reject(path, str(broken), found.offset, sample(found.text))
        # A record cut short by a full disk is followed by the next one on the same line.
        glued = found.text.rfind(_RECORD_START)
        if glued > 0:
            yield from _records(Line(found.offset, found.text[glued:]), path, operations, split)
        return
    yield from operations.records(statement)
