"""Extractor for Impala's lineage log: one JSON record per statement, in every format since Impala 2.2.

Each coordinator writes the log to ``--lineage_event_log_dir`` as ``impala_lineage_log_1.0-<epoch ms>``, with a new file
every 5,000 records. Impala records a statement that succeeded, and a query whose rows were fetched.

Columns and tables are claims on columns and tables of a metastore. The targets of a query that writes nothing are
labels of its result.

The formats of a record (``common/thrift/LineageGraph.thrift``):

    2.2         queryText, hash, user, timestamp, edges, vertices{id, vertexType, vertexId}; its first builds count in ms
    late 2015   each element of edges and vertices is a string that holds the object
    2.7         + endTime
    3.1         + queryId
    3.3         + vertices[].metadata{tableName, tableCreateTime}; a target's vertexId shrinks to its column
    4.3         + metadata.tableType
    5.0         + operationType, UNKNOWN for a union; UPDATE and MERGE name their targets in full again

A record without an essential part (text, time) raises `NotALineageRecord`. Broken edges and vertices become a `Reject`
of the statement, and the rest is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from extractors.lineage.file_split import FileSplit
from extractors.lineage.followed_files import MAX_LINE_BYTES, Line
from extractors.lineage.graph import (
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
from extractors.lineage.record_times import RecordTimes
from extractors.lineage.statement_records import (
    Catalog,
    EngineTypes,
    RecordEdge,
    StatementRecord,
    StatementRecords,
    Vertex,
)
from extractors.lineage.statements import StatementEffect, StatementKind, created_table, kind_named, kind_of
from navlin.model.extractor import PUSH, extractor, keeps_positions
from navlin.model.keys import is_location, wrong_default_fs
from navlin.model.records import Record, Reject, Split
from navlin.model.redaction import without_credentials
from navlin.model.source import HIVE, IMPALA, Estate, Source

IMPALA_ENGINE = EngineTypes(IMPALA, "impala_operation", "impala_sub_operation", "impala_operation_execution")
_START = re.compile(rb'\{"queryText":')
_METADATA_TABLES = frozenset(
    "entries files data_files delete_files history metadata_log_entries snapshots refs manifests partitions all_data_files"
    " all_delete_files all_files all_manifests all_entries position_deletes".split()
)
"""Names of Iceberg's metadata tables (org.apache.iceberg.MetadataTableType)."""
_NOT_YET = -1
"""Value of ``tableCreateTime`` for a view that the statement itself creates."""


@extractor("impala_events", source_type=IMPALA, mode=PUSH, version=3)
@dataclass(frozen=True, slots=True)
class ImpalaEvents(LineLogs):
    """Follows the lineage files of one or more coordinators on this host.

    ``directory`` may list several directories and globs. ``metastore`` is the address of the metastore whose tables
    the records name, needed if several are configured. ``default_fs`` completes table locations that name no host.
    """

    source: Source
    estate: Estate
    # Each file has its own position and is recognized by its content, wherever it is.
    directory: str | tuple[str, ...] = keeps_positions("/var/log/impalad/lineage")
    pattern: str = keeps_positions("impala_lineage_log_1.0-*")
    metastore: str = ""
    default_fs: str = ""
    max_line_bytes: int = MAX_LINE_BYTES

    def problems(self) -> Iterator[tuple[str, str]]:
        yield from wrong_default_fs(self.default_fs)

    def read(self, split: Split) -> Iterator[Record]:
        catalog = Catalog(self.estate.serving(HIVE, self.metastore))
        statements = StatementRecords(self.source, self.estate, IMPALA_ENGINE, catalog, self.default_fs)
        assert isinstance(split, FileSplit)
        latest_ms = split.latest_ms
        yield from self._read(split, lambda line, path: _records(line, path, statements, latest_ms))


def _records(line: Line, path: str, statements: StatementRecords, latest_ms: int) -> Iterator[Record]:
    # After a crash, unwritten blocks read as NULs.
    text = line.text.strip(b"\0 \t\r")
    if not text:
        return
    try:
        statement = to_statement(text, path, line.offset, latest_ms=latest_ms)
    except NotALineageRecord as broken:
        offset = line.offset + line.text.index(text)
        pieces = parted(text, _START)
        for at, piece in pieces:
            yield from _records(Line(offset + at, piece), path, statements, latest_ms)
        if not pieces:
            yield Reject(path, str(broken), line.offset, sample_of(text))
        return
    yield from statements.of(statement)


# -- A line → a statement ------------------------------------------------------------------------------------------------


def to_statement(line: bytes, path: str, offset: int, *, latest_ms: int) -> StatementRecord:
    """Convert a line to a statement. ``path`` and ``offset`` are the location of the line, for rejects of its parts.
    Times too far after ``latest_ms`` are rejected (`RecordTimes`). Raises `NotALineageRecord`.
    """
    record = parse(line)
    text = query_text(record)
    times = RecordTimes(latest_ms)
    ended_ms, started_ms = times.read(record, "endTime"), times.read(record, "timestamp")
    if ended_ms is not None and started_ms is not None and ended_ms < started_ms:
        times.problems.append(f"endTime {record['endTime']!r:.40} is before timestamp")
        ended_ms = None
    as_of_ms = ended_ms or started_ms
    if as_of_ms is None:
        reasons = ": " + "; ".join(times.problems) if times.problems else ""
        raise NotALineageRecord(f"the record has neither endTime nor timestamp{reasons}")
    kind = _kind(text_of(record, "operationType").upper(), text)
    problems: list[str] = []
    vertices = vertices_of(record, problems, partial(_vertex, times))
    elements = objects(record.get("edges"), "edges", problems)
    edges = tuple(
        replace(
            edge,
            sources=_known_since(edge.sources, None),
            targets=_known_since(edge.targets, as_of_ms),
        )
        for edge in edges_of(elements, vertices, problems, labels=kind.effect.labels)
    )
    if kind.effect is StatementEffect.SHOWS:
        edges = ()
    user, text_hash, query_id = (text_of(record, name) for name in ("user", "hash", "queryId"))
    return StatementRecord(
        text=text,
        # Before Impala 3.1 a run has no id. A planner that never ran the query writes 0:0.
        run=query_id
        if query_id and query_id != "0:0"
        else f"{text_hash or digest(text)}:{as_of_ms if started_ms is None else started_ms}:{user}",
        as_of_ms=as_of_ms,
        edges=edges,
        kind=kind,
        text_hash=text_hash,
        location=_location(record, text, edges, problems),
        operation={"tableLocation": text_of(record, "tableLocation")},
        execution={
            "started": started_ms,
            "ended": ended_ms,
            "principal": principal(user),
            "queryId": query_id,
            # A query cancelled after rows were fetched is recorded like a completed one.
            "status": "" if kind.effect is StatementEffect.READS else "SUCCEEDED",
        },
        rejects=rejects_of(problems, line, path, offset),
        odd_times=odd_times(times.problems, line, path, offset),
    )


def _kind(declared: str, text: str) -> StatementKind:
    """Return the declared kind, or the kind of the text if none is declared or it is UNKNOWN (a union in Impala 5.0)."""
    return kind_of(text) if declared in ("", "UNKNOWN") else kind_named(declared)


def _vertex(times: RecordTimes, name: str, element: Mapping[str, Any]) -> Vertex:
    metadata = element.get("metadata")
    about: Mapping[str, Any] = metadata if isinstance(metadata, dict) else {}
    of_table = about.get("tableName")
    database, dot, table = of_table.partition(".") if isinstance(of_table, str) else ("", "", "")
    if not (dot and database and table):
        return vertex_by_name(name, element)
    created = about.get("tableCreateTime")
    kind = about.get("tableType")
    prefix = f"{database}.{table}."
    base, _, metadata_table = table.rpartition(".")
    if base and metadata_table.lower() in _METADATA_TABLES:
        # No metastore has the columns of a metadata table, so the base table as a whole is the source. The vertexId
        # may leave out the name of the metadata table.
        column = name.removeprefix(prefix).removeprefix(f"{database}.{base}.")
        return Vertex(f"{prefix}{column}", database, base)
    if name[: len(prefix)].lower() == prefix.lower():
        column, full = name[len(prefix) :].partition(".")[0], name
    else:
        column, full = name, prefix + name
    return Vertex(
        full,
        database,
        table,
        column,
        kind if isinstance(kind, str) else "",
        _NOT_YET if created == _NOT_YET else times.read(about, "tableCreateTime") if created else None,
    )


def _known_since(vertices: tuple[Vertex, ...], created_ms: int | None) -> tuple[Vertex, ...]:
    """Set ``created_ms`` on vertices whose own creation time is `_NOT_YET`."""
    return tuple(
        replace(vertex, created_ms=created_ms) if vertex.created_ms == _NOT_YET else vertex
        for vertex in vertices
    )


def _location(
    record: Mapping[str, Any], text: str, edges: tuple[RecordEdge, ...], problems: list[str]
) -> tuple[str, str, str] | None:
    """Return (database, table, URI) of the table created at ``tableLocation``. The table is the only target, or the
    table that the text names with its database. Return None if there is no such table.
    """
    uri = without_credentials(text_of(record, "tableLocation"))
    if not uri:
        return None
    if not is_location(uri):  # its text may repeat a password
        problems.append("tableLocation is not a URI")
        return None
    targets = {(vertex.database, vertex.table) for edge in edges for vertex in edge.targets if vertex.table}
    named = created_table(text) if not targets else targets.pop() if len(targets) == 1 else None
    return (*named, uri) if named else None
