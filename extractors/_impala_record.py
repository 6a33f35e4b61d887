"""One line of Impala's lineage log → a `Statement`. Pure; every form since 2.2 (``common/thrift/LineageGraph.thrift``).

    2.2         queryText, hash, user, timestamp, edges, vertices{id, vertexType, vertexId}; its first builds count in ms
    late 2015   each element of edges and vertices is a text that holds the object
    2.7         + endTime
    3.1         + queryId
    3.3         + vertices[].metadata{tableName, tableCreateTime}; a target's vertexId shrinks to its column
    4.3         + metadata.tableType
    5.0         + operationType; UPDATE and MERGE name their targets in full again

What the record cannot do without (a text, a time) raises `NotARecord`; an edge or vertex that is broken becomes a `Reject`
of the statement, and the rest of it stands.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson

from extractors._operations import Edge, EdgeType, Statement, Vertex
from extractors._redact import bounded, clean, sample, without_credentials
from extractors._statements import created_table, kind_of
from navlin.model.keys import split_location
from navlin.model.records import Reject

SECONDS_BELOW = 100_000_000_000
"""A time below this is in seconds (until the year 5138), above it in milliseconds (since 1973)."""
_LATEST_MS = 253_402_300_800_000
_PLAIN_NAME = re.compile(r"[^\s().,'\"+*/-]+\Z")
_NOT_YET = -1
"""``tableCreateTime`` of a view that the statement itself creates."""
_MAX_REASONS = 10


class NotARecord(ValueError):
    """The line is no lineage record; the text says why."""


def to_statement(line: bytes, path: str, offset: int) -> Statement:
    """What a line says. ``path`` and ``offset`` are its place, for what of it is broken."""
    record = _parsed(line)
    text = record.get("queryText")
    if not isinstance(text, str) or not text:
        raise NotARecord("the record has no queryText")
    ended_ms = to_ms(record.get("endTime"))
    started_ms = to_ms(record.get("timestamp"))
    as_of_ms = ended_ms or started_ms
    if as_of_ms is None:
        raise NotARecord("the record has neither endTime nor timestamp")
    kind = _text(record, "operationType").upper() or kind_of(text)
    problems: list[str] = []
    vertices = _vertices(record.get("vertices"), problems)
    edges = _edges(record.get("edges"), vertices, kind, as_of_ms, problems)
    user, text_hash, query_id = (_text(record, name) for name in ("user", "hash", "queryId"))
    return Statement(
        text=text,
        # Before 3.1 a run has no id. 0:0 is what a planner writes that never ran the query.
        run=query_id
        if query_id and query_id != "0:0"
        else f"{text_hash or _digest(text)}:{as_of_ms if started_ms is None else started_ms}:{user}",
        as_of_ms=as_of_ms,
        edges=edges,
        kind=kind,
        text_hash=text_hash,
        location=_location(record, text, edges, problems),
        operation={"tableLocation": clean(_text(record, "tableLocation"))},
        execution={
            "started": started_ms,
            "ended": ended_ms,
            "principal": principal(user),
            "queryId": query_id,
            # A query that was cancelled after rows were fetched is recorded like one that was not.
            "status": "" if kind == "SELECT" else "SUCCEEDED",
        },
        rejects=_rejects(problems, line, path, offset),
    )


def to_ms(value: Any) -> int | None:
    """Epoch seconds or milliseconds, as a number or its text → milliseconds. −1, 0 and what is no time: None."""
    try:
        number = int(value) if not isinstance(value, bool) else 0
    except (TypeError, ValueError, OverflowError):
        return None
    if number <= 0:
        return None
    milliseconds = number * 1000 if number < SECONDS_BELOW else number
    return milliseconds if milliseconds < _LATEST_MS else None


def principal(user: str) -> str:
    """``impala/host@REALM`` → ``impala``."""
    return re.split(r"[/@]", user, maxsplit=1)[0] or user


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError as refused:
        try:
            record = _leniently(line.decode(errors="replace"))
        except (ValueError, RecursionError):
            raise NotARecord(f"the line is not JSON: {refused}") from None
    if not isinstance(record, dict):
        raise NotARecord(f"the line holds no JSON object but a {type(record).__name__}")
    return record


def _leniently(text: str) -> Any:
    """JSON as the standard library takes it, with raw control characters and half surrogate pairs; these become U+FFFD."""
    value = json.loads(text, strict=False)
    if "\\ud" not in text.lower():
        return value
    written = json.dumps(value, ensure_ascii=False).encode("utf-16-le", "surrogatepass")
    return json.loads(written.decode("utf-16-le", "replace"), strict=False)


def _text(record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    return bounded(value) if isinstance(value, str) else ""


def _digest(text: str) -> str:
    return hashlib.md5(text.encode(errors="surrogatepass"), usedforsecurity=False).hexdigest()


# -- vertices -------------------------------------------------------------------------------------------------------


def _objects(value: Any, what: str, problems: list[str]) -> list[dict[str, Any]]:
    """The elements of edges or vertices, each an object or (late 2015) a text that holds one."""
    if value is None:
        return []
    if not isinstance(value, list):
        problems.append(f"{what} are no list")
        return []
    objects = []
    for place, element in enumerate(value):
        if isinstance(element, str):
            try:
                element = _leniently(element)
            except (ValueError, RecursionError):
                element = None
        if isinstance(element, dict):
            objects.append(element)
        else:
            problems.append(f"{what}[{place}] is no object")
    return objects


def _vertices(value: Any, problems: list[str]) -> dict[Any, Vertex]:
    vertices: dict[Any, Vertex] = {}
    ambiguous: set[Any] = set()
    for element in _objects(value, "vertices", problems):
        number, name = element.get("id"), element.get("vertexId")
        if not isinstance(number, int | str) or not isinstance(name, str) or not name:
            problems.append("a vertex has no id or no vertexId")
            continue
        vertex = _vertex(name, element.get("metadata"), whole=element.get("vertexType") == "TABLE")
        if vertices.setdefault(number, vertex) != vertex:
            ambiguous.add(number)
    for number in ambiguous:
        problems.append(f"vertex {number!r:.40} is there twice and says two things")
        del vertices[number]
    return vertices


def _vertex(name: str, metadata: Any, *, whole: bool) -> Vertex:
    about: Mapping[str, Any] = metadata if isinstance(metadata, dict) else {}
    of_table = about.get("tableName")
    database, dot, table = of_table.partition(".") if isinstance(of_table, str) else ("", "", "")
    if not (dot and database and table):
        return _vertex_by_name(name, whole=whole)
    created = about.get("tableCreateTime")
    kind = about.get("tableType")
    prefix = f"{database}.{table}."
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
        _NOT_YET if created == -1 else to_ms(created),
    )


def _vertex_by_name(name: str, *, whole: bool) -> Vertex:
    """Before metadata: ``db.table.column[.nested…]``. Anything else is a label of a result."""
    database, _, rest = name.partition(".")
    table, _, rest = rest.partition(".")
    column = rest.partition(".")[0]
    if not (_PLAIN_NAME.match(database) and _PLAIN_NAME.match(table)) or not (column or whole):
        return Vertex(name)
    return Vertex(name, database, table, column)


# -- edges ----------------------------------------------------------------------------------------------------------


def _edges(
    value: Any, vertices: Mapping[Any, Vertex], kind_of_statement: str, as_of_ms: int, problems: list[str]
) -> tuple[Edge, ...]:
    edges = []
    for place, element in enumerate(_objects(value, "edges", problems)):
        try:
            kind = EdgeType(str(element.get("edgeType")))
        except ValueError:
            problems.append(f"edge {place} has no edgeType that is known")
            continue
        sources, no_sources = _ends(element.get("sources"), vertices, created_ms=None)
        targets, no_targets = _ends(element.get("targets"), vertices, created_ms=as_of_ms)
        if no_sources or no_targets:
            problems.append(f"edge {place} has ends without a vertex")
        if not sources and not targets:
            continue
        if kind_of_statement == "SELECT":
            targets = tuple(Vertex(vertex.name) for vertex in targets)
        # A source that is nobody's column is named by the record, but cannot be claimed.
        nameless = not all(vertex.table for vertex in sources)
        edges.append(Edge(kind, sources, targets, incomplete=no_sources or no_targets or nameless))
    return tuple(edges)


def _ends(
    value: Any, vertices: Mapping[Any, Vertex], *, created_ms: int | None
) -> tuple[tuple[Vertex, ...], bool]:
    """The vertices that an edge names, and whether it names some that are not there.

    ``created_ms`` is what a table counts as created at that does not know it yet.
    """
    if not isinstance(value, list):
        return (), value is not None
    found = []
    for number in value:
        if isinstance(number, int | str) and (vertex := vertices.get(number)) is not None:
            not_yet = vertex.created_ms == _NOT_YET
            found.append(replace(vertex, created_ms=created_ms) if not_yet else vertex)
    return tuple(found), len(found) < len(value)


# -- the rest -------------------------------------------------------------------------------------------------------


def _location(
    record: Mapping[str, Any], text: str, edges: tuple[Edge, ...], problems: list[str]
) -> tuple[str, str, str] | None:
    """The table that is created at ``tableLocation``: the one target, or the one that the text names with its database."""
    uri = without_credentials(_text(record, "tableLocation"))
    if not uri:
        return None
    try:
        split_location(uri)
    except ValueError:  # its text may repeat a password
        problems.append("tableLocation is no URI")
        return None
    targets = {(vertex.database, vertex.table) for edge in edges for vertex in edge.targets if vertex.table}
    named = created_table(text) if not targets else targets.pop() if len(targets) == 1 else None
    return (*named, uri) if named else None


def _rejects(problems: list[str], line: bytes, path: str, offset: int) -> tuple[Reject, ...]:
    if not problems:
        return ()
    reasons = list(dict.fromkeys(problems))
    more = f" and {len(reasons) - _MAX_REASONS} more" if len(reasons) > _MAX_REASONS else ""
    reason = "a part of the record is broken: " + "; ".join(reasons[:_MAX_REASONS]) + more
    return (Reject(path, reason, offset, sample(line)),)
