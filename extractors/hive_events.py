"""Extractor for Hive's lineage: the JSON records, one per statement, that the LineageLogger hook writes to a log, in
every format so far.

HiveServer2 (or the Hive CLI) writes the records through log4j, either to a separate file or among the lines of other
loggers. A record may therefore follow the prefix of a log line. The first releases indented a record over several
lines. Navigator's hosts had the file in ``/var/log/hive/lineage``. The hook
(``org.apache.hadoop.hive.ql.hooks.LineageLogger``, Hive 1.1 and later) records queries, CREATE TABLE AS SELECT and
views that succeeded.

Hive writes a statement's start time in seconds and its duration in milliseconds. It writes no query id, and only the
jobs that MapReduce ran. Test consoles leave out user, times and jobs; the earliest releases leave out duration and
database.

Columns and tables are claims on columns and tables of a metastore. If a query writes nothing or writes to a directory,
the targets are labels of its result. But if it writes to both a directory and a table, Hive names the table's columns
as targets, and only the tables of that record are valid.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from extractors.lineage.file_split import FileSplit
from extractors.lineage.followed_files import MAX_LINE_BYTES, FollowedFile, Line
from extractors.lineage.graph import (
    KEYS,
    NotALineageRecord,
    digest,
    edges_of,
    objects,
    odd_times,
    parse,
    principal,
    query_text,
    rejects_of,
    sample_of,
    text_of,
    vertex_by_name,
    vertices_of,
)
from extractors.lineage.line_logs import LineLogs, parted
from extractors.lineage.open_record import OpenRecord
from extractors.lineage.record_times import RecordTimes
from extractors.lineage.statement_records import (
    Catalog,
    EdgeType,
    EngineTypes,
    RecordEdge,
    StatementGap,
    StatementRecord,
    StatementRecords,
    Vertex,
)
from extractors.lineage.statements import StatementEffect, in_order, kind_of, view_columns
from navlin.model.extractor import PUSH, extractor, keeps_positions
from navlin.model.records import Record, Reject, Split
from navlin.model.redaction import sample
from navlin.model.source import HIVE, Estate, Source

HIVE_ENGINE = EngineTypes(HIVE, "hv_query", "hv_query_part", "hv_query_execution")
_RECORD_START = re.compile(rb'\{"version":')
_STATISTICS = "compute_stats("
"""Expression with which Hive computes statistics of the written columns, for its own optimizer. No data flows, and the
targets are often wrong.
"""
_JOB = re.compile(r"(?:job|application)_\d{1,20}_\d{1,10}\Z")


@extractor("hive_events", source_type=HIVE, mode=PUSH, version=4)
@dataclass(frozen=True, slots=True)
class HiveEvents(LineLogs):
    """Follows the lineage files of one or more Hive services on this host.

    ``directory`` may list several directories and globs. ``metastore`` is the address of the metastore whose tables
    the records name; ``yarn`` is the address of the YARN that ran the jobs. Each is needed if several are configured.
    """

    source: Source
    estate: Estate
    # Each file has its own position and is recognized by its content, wherever it is.
    directory: str | tuple[str, ...] = keeps_positions("/var/log/hive/lineage")
    pattern: str = keeps_positions("*")
    metastore: str = ""
    yarn: str = ""
    max_line_bytes: int = MAX_LINE_BYTES

    def read(self, split: Split) -> Iterator[Record]:
        assert isinstance(split, FileSplit)
        catalog = Catalog(self.estate.serving(HIVE, self.metastore))
        statements = StatementRecords(self.source, self.estate, HIVE_ENGINE, catalog, yarn=self.yarn)
        yield from self._read(
            split,
            lambda found, path: _records(found, path, statements, split),
            lambda file: records_among(file, max_bytes=self.max_line_bytes),
        )


def _records(found: Line, path: str, statements: StatementRecords, split: FileSplit) -> Iterator[Record]:
    try:
        statement = to_statement(
            found.text, path, found.offset, written_ms=split.written_ms, latest_ms=split.latest_ms
        )
    except NotALineageRecord as broken:
        pieces = parted(found.text, _RECORD_START)
        for _, piece in pieces:
            # Other output of the log may follow the record.
            end = piece.rfind(b"}") + 1 or len(piece)
            yield from _records(Line(found.offset, piece[:end]), path, statements, split)
        if not pieces:
            yield Reject(path, str(broken), found.offset, sample_of(found.text))
        return
    yield from statements.of(statement)


# -- The records among the lines of a log --------------------------------------------------------------------------------
# A record begins at the first brace after the logger's name or `LINEAGE:`, or at a brace at the beginning of a line.
# The output of other loggers is skipped. An indented record ends with the line at which its braces balance.

_START = re.compile(
    rb"""(?:^[\s,]*|LineageLogger(?:(?!LineageLogger)[^{])*+(?:\{[^{}"]*+\}[^{]*+)?|LINEAGE:\s*)(?=\{(?:\s*"|\s*$))"""
    rb"""|^[^{"'`]{0,200}\b(?:INFO|DEBUG|TRACE) +(?=\{"version":"1\.\d","(?:user|engine)":)"""
)
"""Text before a record. Between the logger's name and the brace, layouts put a thread, a source location, further
braces, or nothing. If a layout leaves out the name, the level precedes the record. A comma separates the events of
log4j's JSON.
"""
_QUOTED_KEYS = re.compile(rb'\\"(?:queryText|vertexType|edgeType)\\"\s*:')
"""`KEYS` of a record embedded as a string in another JSON record."""
_GOES_ON = re.compile(rb"[\s{}\[\]\"]")
"""Beginning of a line that continues an indented record."""
_CUT_OFF = "the record has no end"


def _rejected(record: OpenRecord, path: str, why: str = _CUT_OFF) -> Reject:
    known = any(KEYS.search(line) for line in record.lines)
    return Reject(path, why, record.offset, sample(record.lines[0]) if known else "")


def _message(record: OpenRecord, path: str) -> Line | Reject | None:
    """Return the record in a log4j event written by JsonLayout. Return None for an event of another logger."""
    try:
        event = parse(record.text)
    except NotALineageRecord:
        event = {}
    logger, message = event.get("loggerName"), event.get("message")
    if isinstance(logger, str) and "LineageLogger" not in logger:
        return None
    if isinstance(message, str) and KEYS.search(text := message.encode()):
        return Line(record.offset, text)
    return Reject(path, "JSON of a log event, but without a message", record.offset, sample(record.lines[0]))


def records_among(file: FollowedFile, *, max_bytes: int) -> Iterator[Line | Reject]:
    """Yield the text of each further record of a followed file, with the offset of its first line.

    An incomplete record is left to a later read, or becomes a `Reject` if the file has been quiet for long.
    """
    record: OpenRecord | None = None
    while True:
        for line in file.lines():
            if isinstance(line, Reject):
                yield line
                record = None
                continue
            # After a crash, unwritten blocks read as NULs.
            text = line.text.strip(b"\0\r")
            start = _START.search(text)
            if start is not None and not (record is not None and text[:1].isspace()):
                if record is not None:
                    yield _rejected(record, file.path)
                text = text[start.end() :]
                record = OpenRecord.beginning(line.offset, text)
            elif record is not None and (_GOES_ON.match(text) or not text):
                record.add(text)
            elif record is not None:
                yield _rejected(record, file.path)
                record = None
            elif KEYS.search(text) or (b"LineageLogger" in text and _QUOTED_KEYS.search(text)):
                yield Reject(file.path, "a record without its beginning", line.offset, sample(text))
            if record is None:
                continue
            if record.depth <= 0 or (len(record.lines) == 1 and text.endswith(b"}")):
                whole = record.text
                if KEYS.search(whole):  # other loggers may write JSON as well
                    yield Line(record.offset, whole)
                elif _QUOTED_KEYS.search(whole) and (message := _message(record, file.path)) is not None:
                    yield message
                record = None
            elif record.size_bytes > max_bytes:
                yield _rejected(record, file.path, f"the record is longer than {max_bytes} bytes")
                record = None
        if record is None or file.at_end:
            break
    if record is not None:
        if file.quiet:
            yield _rejected(record, file.path)
        else:
            file.leave(record.offset)


# -- A record → a statement ----------------------------------------------------------------------------------------------


def to_statement(text: bytes, path: str, offset: int, *, written_ms: int, latest_ms: int) -> StatementRecord:
    """Convert a record to a statement. ``path`` and ``offset`` are the location of the record, for rejects of its
    parts.

    ``written_ms`` (epoch ms) is used if the record has no time. Times too far after ``latest_ms`` are rejected
    (`RecordTimes`). Raises `NotALineageRecord`.
    """
    record = parse(text)
    query = query_text(record)
    kind = kind_of(query)
    problems: list[str] = []
    vertices = vertices_of(record, problems, vertex_by_name)
    elements = [
        element
        for element in objects(record.get("edges"), "edges", problems)
        if not str(element.get("expression", "")).startswith(_STATISTICS)
    ]
    edges = edges_of(elements, vertices, problems, labels=kind.effect.labels)
    if kind.name == "CREATEVIEW" and (columns := view_columns(query)):
        edges = tuple(_of_view(edges, columns, query, whole=not problems))
    if kind.effect is StatementEffect.SHOWS:  # some releases record an EXPLAIN as if it had run
        edges = ()
    if kind.effect is StatementEffect.WRITES_BOTH:
        edges = tuple(_between_tables(edges))
    times = RecordTimes(latest_ms)
    started_ms, ended_ms = times.span(record)
    user, text_hash, engine = (text_of(record, name) for name in ("user", "hash", "engine"))
    return StatementRecord(
        text=query,
        run=f"{text_hash or digest(query)}:{_run(record, started_ms)}:{user}:{_brief(record, 'duration')}",
        as_of_ms=ended_ms or started_ms or written_ms,
        edges=tuple(map(_transforming, edges)),
        kind=kind,
        text_hash=text_hash,
        execution={
            "started": started_ms,
            "ended": ended_ms,
            "principal": principal(user),
            "computeEngine": engine.lower(),
            # The hook runs only after success.
            "status": "SUCCEEDED",
        },
        jobs=_jobs(record),
        rejects=rejects_of(problems, text, path, offset),
        odd_times=odd_times(times.problems, text, path, offset),
    )


def _of_view(
    edges: Sequence[RecordEdge], columns: Sequence[str], query: str, *, whole: bool
) -> Iterator[RecordEdge]:
    """Yield the edges of a view that names its columns, with these columns as targets. If the record does not show
    which column is meant, the view as a whole is the target.

    ``whole`` is true if no part of the record is broken.
    """
    view = _tables(vertex for edge in edges for vertex in edge.targets)
    projected = [edge for edge in edges if edge.type is EdgeType.PROJECTION]
    if not view:
        yield from edges
        return
    places = _places(edges, len(columns), query) if len(view) == 1 else None
    if places is None and len(view) == len(projected) == 1 and whole:
        places = [range(len(columns))]
    if places is None:
        yield from (replace(edge, targets=view, missing=edge.missing or StatementGap.VIEW) for edge in edges)
        return
    named = tuple(replace(view[0], name=f"{view[0].name}.{column}", column=column) for column in columns)
    next_of = iter(places)
    for edge in edges:
        projects = edge.type is EdgeType.PROJECTION
        yield replace(edge, targets=tuple(named[place] for place in next(next_of)) if projects else named)


def _places(edges: Sequence[RecordEdge], columns: int, query: str) -> list[Sequence[int]] | None:
    """Return the positions of each projection's targets in the view; None if the record does not show them.

    Hive names the targets as in the query or as in the view, and confuses them if a name occurs in both. Targets are
    therefore identified by their order. Projections from the same source with the same expression share one edge. In
    that case, the order comes from a predicate, which lists all targets, or from the text.
    """
    projected = [edge.targets for edge in edges if edge.type is EdgeType.PROJECTION]
    listed = [target.column.lower() for targets in projected for target in targets]
    if len(listed) != columns or not all(projected):
        return None
    if all(len(targets) == 1 for targets in projected[:-1]):
        following = iter(range(columns))
        return [[next(following) for _ in targets] for targets in projected]
    predicates = [edge.targets for edge in edges if edge.type is EdgeType.PREDICATE]
    orders = [[target.column.lower() for target in targets] for targets in predicates]
    order = next((each for each in orders if sorted(each) == sorted(listed)), in_order(query, listed))
    if len({*order}) != columns:
        return None
    found = [[order.index(target.column.lower()) for target in targets] for targets in projected]
    # Hive lists projections in the order of their first targets, and targets in order. Any other order is not
    # understood.
    return [*found] if found == sorted(map(sorted, found)) else None


def _between_tables(edges: Iterable[RecordEdge]) -> Iterator[RecordEdge]:
    """Yield edges between whole tables instead of columns."""
    targets = _tables(vertex for edge in edges for vertex in edge.targets)
    read: tuple[Vertex, ...] = ()
    for kind in (EdgeType.PROJECTION, EdgeType.PREDICATE):
        named = _tables(vertex for edge in edges if edge.type is kind for vertex in edge.sources)
        if sources := tuple(vertex for vertex in named if vertex not in read):
            yield RecordEdge(kind, sources, targets, StatementGap.DIRECTORY)
        read += sources


def _tables(vertices: Iterable[Vertex]) -> tuple[Vertex, ...]:
    named = (Vertex(vertex.table_name, vertex.database, vertex.table) for vertex in vertices if vertex.table)
    return tuple(dict.fromkeys(named))


def _transforming(edge: RecordEdge) -> RecordEdge:
    """Return the edge with its transformation, if known. Hive gives an expression if it is more than the column
    itself. For a script or for rows alone, Hive gives no expression.
    """
    if edge.type is not EdgeType.PROJECTION or not edge.sources:
        return edge
    if edge.expression:
        return replace(edge, transformation="TRANSFORMATION")
    alone = len(edge.sources) == 1 and bool(edge.sources[0].column)
    return replace(edge, transformation="IDENTITY") if alone else edge


def _run(record: Mapping[str, Any], started_ms: int | None) -> str:
    """Return the start of the run, which distinguishes it from other runs. If it is not a valid time, return it as
    written in the record.
    """
    return _brief(record, "timestamp") if started_ms is None else str(started_ms)


def _brief(record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    return "" if value is None else f"{value!s:.40}"


def _jobs(record: Mapping[str, Any]) -> tuple[str, ...]:
    jobs = record.get("jobIds")
    named = jobs if isinstance(jobs, list) else ()
    return tuple(dict.fromkeys(job for job in named if isinstance(job, str) and _JOB.match(job)))
