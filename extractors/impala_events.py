"""Impala's lineage log: one JSON record a statement, in every form it has had since Impala 2.2.

Written by each coordinator to ``--lineage_event_log_dir`` as ``impala_lineage_log_1.0-<epoch ms>``, a new file every 5,000
records. Impala writes the record of a statement that succeeded, and of a query of which rows were fetched.

Columns and tables are claims on a metastore's. The targets of a query that writes nothing are labels of its result.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from extractors._files import MAX_LINE_BYTES, FileSplit, Line
from extractors._impala_record import to_statement
from extractors._line_logs import LineLogs
from extractors._lineage_graph import NotARecord
from extractors._operations import Catalog, Engine, Operations
from extractors._redact import sample
from navlin.model.extractor import PUSH, extractor, keeps_positions
from navlin.model.records import Record, Reject, Split
from navlin.model.source import HIVE, IMPALA, Estate, Source

IMPALA_ENGINE = Engine(IMPALA, "impala_operation", "impala_sub_operation", "impala_operation_execution")
_RECORD_START = b'{"queryText":'


@extractor("impala_events", source_type=IMPALA, mode=PUSH, version=2)
@dataclass(frozen=True, slots=True)
class ImpalaEvents(LineLogs):
    """Follows the lineage files of one or more coordinators on this host.

    ``directory`` may be several, and globs. ``metastore`` is the address of the metastore whose tables the records
    name, needed where several are configured; ``default_fs`` completes table locations that name no host.
    """

    source: Source
    estate: Estate
    # Each file has a position of its own, and is known by what is in it wherever it lies.
    directory: str | tuple[str, ...] = keeps_positions("/var/log/impalad/lineage")
    pattern: str = keeps_positions("impala_lineage_log_1.0-*")
    metastore: str = ""
    default_fs: str = ""
    max_line_bytes: int = MAX_LINE_BYTES

    def read(self, split: Split) -> Iterator[Record]:
        catalog = Catalog(self.estate.serving(HIVE, self.metastore))
        operations = Operations(self.source, self.estate, IMPALA_ENGINE, catalog, self.default_fs)
        assert isinstance(split, FileSplit)
        latest_ms = split.latest_ms
        yield from self._read(split, lambda line, path: _records(line, path, operations, latest_ms))


def _records(line: Line, path: str, operations: Operations, latest_ms: int) -> Iterator[Record]:
    # After a crash the blocks that were not written read as NULs, before or behind what was.
    text = line.text.strip(b"\0 \t\r")
    if not text:
        if line.text.strip(b" \t\r"):
            yield Reject(path, "nothing but NUL bytes: the host went down while it was written", line.offset)
        return
    try:
        statement = to_statement(text, path, line.offset, latest_ms=latest_ms)
    except NotARecord as broken:
        yield Reject(path, str(broken), line.offset, sample(text))
        # A record cut short by a full disk is followed by the next one on the same line.
        glued = text.rfind(_RECORD_START)
        if glued > 0:
            whole = Line(line.offset + line.text.index(text) + glued, text[glued:])
            yield from _records(whole, path, operations, latest_ms)
        return
    yield from operations.records(statement)
