"""A record of Hive's LineageLogger → a `Statement` (``org.apache.hadoop.hive.ql.hooks.LineageLogger``, Hive 1.1 and later).

Hive writes the time in seconds at which a statement began and how long it took in milliseconds, no id of the query, and of
its jobs those that MapReduce ran. Test consoles leave out user, times and jobs, the earliest releases duration and database.

What a query writes to a directory has labels for targets, unless it writes to a table as well: then Hive names the table's
columns, and of such a record only the tables hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from extractors._lineage_graph import (
    digest,
    edges_of,
    objects,
    odd_times,
    parse,
    principal,
    query_text,
    rejects_of,
    text_of,
    vertex_by_name,
    vertices_of,
)
from extractors._operations import Edge, EdgeType, Statement, Vertex
from extractors._record_times import RecordTimes
from extractors._statements import Effect, kind_of

STATISTICS = "compute_stats("
"""What Hive computes of columns that it writes, for its own optimizer: no data flows, and the targets are often wrong."""
_JOB = re.compile(r"(?:job|application)_\d{1,20}_\d{1,10}\Z")


def to_statement(text: bytes, path: str, offset: int, *, written_ms: int, latest_ms: int) -> Statement:
    """What a record says; ``path`` and ``offset`` are its place, for what of it is broken.

    ``written_ms`` (epoch ms) stands in where it has no time; none of its times is behind ``latest_ms``. Raises
    `NotARecord`.
    """
    record = parse(text)
    query = query_text(record)
    kind = kind_of(query)
    problems: list[str] = []
    vertices = vertices_of(record, problems, vertex_by_name)
    elements = [
        element
        for element in objects(record.get("edges"), "edges", problems)
        if not str(element.get("expression", "")).startswith(STATISTICS)
    ]
    edges = edges_of(elements, vertices, problems, labels=kind.effect.labels)
    if kind.effect is Effect.SHOWS:  # releases that write down what they explain as if it were done
        edges = ()
    if kind.effect is Effect.WRITES_BOTH:
        edges = tuple(_between_tables(edges))
    times = RecordTimes(latest_ms)
    started_ms, ended_ms = times.span(record)
    user, text_hash, engine = (text_of(record, name) for name in ("user", "hash", "engine"))
    return Statement(
        text=query,
        run=f"{text_hash or digest(query)}:{_run(record, started_ms)}:{user}:{_told(record, 'duration')}",
        as_of_ms=ended_ms or started_ms or written_ms,
        edges=tuple(map(_transforming, edges)),
        kind=kind,
        text_hash=text_hash,
        execution={
            "started": started_ms,
            "ended": ended_ms,
            "principal": principal(user),
            "computeEngine": engine.lower(),
            # The hook runs after what has succeeded, and it alone.
            "status": "SUCCEEDED",
        },
        jobs=_jobs(record),
        rejects=rejects_of(problems, text, path, offset),
        odd_times=odd_times(times.problems, text, path, offset),
    )


def _between_tables(edges: Iterable[Edge]) -> Iterator[Edge]:
    """The same between tables alone."""
    targets = _tables(vertex for edge in edges for vertex in edge.targets)
    read: tuple[Vertex, ...] = ()
    for kind in (EdgeType.PROJECTION, EdgeType.PREDICATE):
        named = _tables(vertex for edge in edges if edge.type is kind for vertex in edge.sources)
        if sources := tuple(vertex for vertex in named if vertex not in read):
            yield Edge(kind, sources, targets, incomplete=True)
        read += sources


def _tables(vertices: Iterable[Vertex]) -> tuple[Vertex, ...]:
    named = (Vertex(vertex.table_name, vertex.database, vertex.table) for vertex in vertices if vertex.table)
    return tuple(dict.fromkeys(named))


def _transforming(edge: Edge) -> Edge:
    """Hive gives an expression where it is more than the column itself; of a script or of rows alone it gives none."""
    if edge.type is not EdgeType.PROJECTION or not edge.sources:
        return edge
    if edge.expression:
        return replace(edge, transformation="TRANSFORMATION")
    alone = len(edge.sources) == 1 and bool(edge.sources[0].column)
    return replace(edge, transformation="IDENTITY") if alone else edge


def _run(record: Mapping[str, Any], started_ms: int | None) -> str:
    """What the record says of a run's beginning, whether that is a time or not."""
    return _told(record, "timestamp") if started_ms is None else str(started_ms)


def _told(record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    return "" if value is None else f"{value!s:.40}"


def _jobs(record: Mapping[str, Any]) -> tuple[str, ...]:
    jobs = record.get("jobIds")
    named = jobs if isinstance(jobs, list) else ()
    return tuple(dict.fromkeys(job for job in named if isinstance(job, str) and _JOB.match(job)))
