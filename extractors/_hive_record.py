"""A record of Hive's LineageLogger → a `Statement` (``org.apache.hadoop.hive.ql.hooks.LineageLogger``, Hive 1.1 and later).

Hive writes the time in seconds at which a statement began and how long it took in milliseconds, no id of the query, and of
its jobs those that MapReduce ran. Test consoles leave out user, times and jobs, the earliest releases duration and database.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from extractors._lineage_graph import (
    digest,
    edges_of,
    objects,
    parse,
    principal,
    query_text,
    rejects_of,
    text_of,
    to_ms,
    vertex_by_name,
    vertices_of,
)
from extractors._operations import Edge, EdgeType, Statement
from extractors._statements import kind_of

STATISTICS = "compute_stats("
"""What Hive computes of columns that it writes, for its own optimizer: no data flows, and the targets are often wrong."""
MAX_DURATION_MS = 400 * 86_400_000
_JOB = re.compile(r"(?:job|application)_\d{1,20}_\d{1,10}\Z")


def to_statement(text: bytes, path: str, offset: int, *, written_ms: int) -> Statement:
    """What a record says; ``path`` and ``offset`` are its place, for what of it is broken.

    ``written_ms`` (epoch ms) stands in where it has no time. Raises `NotARecord`.
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
    edges = edges_of(elements, vertices, problems, selects=kind == "SELECT")
    started_ms = to_ms(record.get("timestamp"))
    duration_ms = _duration_ms(record)
    ended_ms = started_ms + duration_ms if started_ms is not None and duration_ms is not None else None
    user, text_hash, engine = (text_of(record, name) for name in ("user", "hash", "engine"))
    return Statement(
        text=query,
        run=f"{text_hash or digest(query)}:{_told(started_ms)}:{user}:{_told(duration_ms)}",
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
    )


def _transforming(edge: Edge) -> Edge:
    """Hive gives an expression where it is more than the column itself; of a script or of rows alone it gives none."""
    if edge.type is not EdgeType.PROJECTION or not edge.sources:
        return edge
    if edge.expression:
        return replace(edge, transformation="TRANSFORMATION")
    alone = len(edge.sources) == 1 and bool(edge.sources[0].column)
    return replace(edge, transformation="IDENTITY") if alone else edge


def _duration_ms(record: Mapping[str, Any]) -> int | None:
    duration = record.get("duration")
    if isinstance(duration, bool) or not isinstance(duration, int) or not 0 <= duration < MAX_DURATION_MS:
        return None
    return duration


def _told(number: int | None) -> str:
    return "" if number is None else str(number)


def _jobs(record: Mapping[str, Any]) -> tuple[str, ...]:
    jobs = record.get("jobIds")
    named = jobs if isinstance(jobs, list) else ()
    return tuple(dict.fromkeys(job for job in named if isinstance(job, str) and _JOB.match(job)))
