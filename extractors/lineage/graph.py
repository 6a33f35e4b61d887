"""The structure shared by Impala's and Hive's lineage records: one JSON object with a graph of vertices and edges.

    {"queryText", "hash", "user", "timestamp",
     "edges": [{"sources": [2], "targets": [0], "edgeType": "PROJECTION", "expression"}],
     "vertices": [{"id": 2, "vertexType": "COLUMN", "vertexId": "db.table.column"}]}

A record without an essential part raises `NotALineageRecord`. If an edge or vertex is broken, the rest of the statement is
kept. All problems of a record are reported as one `Reject`, except invalid times, which are reported separately.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import orjson

from extractors.lineage.statement_records import EdgeType, RecordEdge, StatementGap, Vertex
from navlin.model.records import Reject
from navlin.model.redaction import bounded, sample

KEYS = re.compile(rb'"(?:queryText|vertexType|edgeType)"\s*:')
"""Keys that only lineage records have."""
_DATABASE = re.compile(r"\w+\Z")
_TABLE = re.compile(r"(?! )(?!.* [-/] )[^().,'\"+*=<>\n\r\t]+(?<! )\Z")
"""Hive accepts almost any character in a table's name (hive.support.special.characters.tablename)."""
_MAX_REASONS = 10


class NotALineageRecord(ValueError):
    """The text is not a lineage record. The message is the reason."""


def parse(text: bytes) -> dict[str, Any]:
    """Return the record's object. Raises `NotALineageRecord`."""
    try:
        record = orjson.loads(text)
    except orjson.JSONDecodeError as refused:
        try:
            record = _leniently(text.decode(errors="replace"))
        except (ValueError, RecursionError):
            raise NotALineageRecord(f"the line is not JSON: {refused}") from None
    if not isinstance(record, dict):
        raise NotALineageRecord(f"the line is not a JSON object but a {type(record).__name__}")
    return record


def _leniently(text: str) -> Any:
    """Parse JSON with the standard library's lenient parser, which accepts raw control characters and lone surrogates.
    Lone surrogates become U+FFFD.
    """
    value = json.loads(text, strict=False)
    if "\\ud" not in text.lower():
        return value
    written = json.dumps(value, ensure_ascii=False).encode("utf-16-le", "surrogatepass")
    return json.loads(written.decode("utf-16-le", "replace"), strict=False)


def sample_of(text: bytes) -> str:
    """Return the beginning of an unreadable text if it is part of a record; otherwise "", because other text must not
    be shown.
    """
    return sample(text) if KEYS.search(text) else ""


def query_text(record: Mapping[str, Any]) -> str:
    """Return the statement. Raises `NotALineageRecord` if there is none."""
    text = record.get("queryText")
    if not isinstance(text, str) or not text:
        raise NotALineageRecord("the record has no queryText")
    return text


def text_of(record: Mapping[str, Any], name: str) -> str:
    """Return a string field of the record, bounded; "" if it is missing."""
    value = record.get(name)
    return bounded(value) if isinstance(value, str) else ""


def principal(user: str) -> str:
    """Shorten ``impala/host@REALM`` to ``impala``."""
    return re.split(r"[/@]", user, maxsplit=1)[0] or user


def digest(text: str) -> str:
    """Return an identifier for a statement whose record has no hash."""
    return hashlib.md5(text.encode(errors="surrogatepass"), usedforsecurity=False).hexdigest()


# -- Vertices ---------------------------------------------------------------------------------------------------------


def objects(value: Any, what: str, problems: list[str]) -> list[dict[str, Any]]:
    """Return the elements of a list of edges or vertices. Each element is an object, or a string that holds one
    (Impala, late 2015). Append broken elements to ``problems``.
    """
    if value is None:
        return []
    if not isinstance(value, list):
        problems.append(f"{what} are not a list")
        return []
    found = []
    for place, element in enumerate(value):
        if isinstance(element, str):
            try:
                element = _leniently(element)
            except (ValueError, RecursionError):
                element = None
        if isinstance(element, dict):
            found.append(element)
        else:
            problems.append(f"{what}[{place}] is not an object")
    return found


def vertices_of(
    record: Mapping[str, Any],
    problems: list[str],
    to_vertex: Callable[[str, Mapping[str, Any]], Vertex],
) -> dict[str, Vertex]:
    """Return id → vertex. Ids are converted to strings, so 2 and "2" are the same. ``to_vertex`` creates a vertex from
    its vertexId and its JSON object. Problems are appended to ``problems``: a vertex without id or vertexId, or an id
    with two meanings.
    """
    vertices: dict[str, Vertex] = {}
    ambiguous: set[str] = set()
    for element in objects(record.get("vertices"), "vertices", problems):
        number, name = element.get("id"), element.get("vertexId")
        if not _is_id(number) or not isinstance(name, str) or not name:
            problems.append("a vertex has no id or no vertexId")
            continue
        vertex = to_vertex(name, element)
        if vertices.setdefault(str(number), vertex) != vertex:
            ambiguous.add(str(number))
    for number in ambiguous:
        problems.append(f"vertex {number:.40} occurs twice, with two meanings")
        del vertices[number]
    return vertices


def vertex_by_name(name: str, element: Mapping[str, Any]) -> Vertex:
    """Parse ``db.table.column[.nested…]``, or ``db.table`` of type TABLE. Anything else is a label of a result."""
    database, _, rest = name.partition(".")
    table, _, rest = rest.partition(".")
    column = rest.partition(".")[0]
    named = _DATABASE.match(database) and _TABLE.match(table)
    if not named or not (column or element.get("vertexType") == "TABLE"):
        return Vertex(name)
    return Vertex(name, database, table, column)


# -- Edges ------------------------------------------------------------------------------------------------------------


def edges_of(
    elements: Iterable[Mapping[str, Any]],
    vertices: Mapping[str, Vertex],
    problems: list[str],
    *,
    labels: bool,
) -> tuple[RecordEdge, ...]:
    """Return the edges in ``elements``, except those of an unknown type and those without any known end.

    With ``labels``, targets are labels, not columns. `RecordEdge.missing` is PART if some ends are unknown, otherwise SOURCE
    if a source is not a column of a table. Edges of an unknown type or with unknown ends are appended to ``problems``,
    numbered by their index in ``elements``.
    """
    edges = []
    for place, element in enumerate(elements):
        try:
            kind = EdgeType(str(element.get("edgeType")))
        except ValueError:
            problems.append(f"edge {place} has no known edgeType")
            continue
        sources, no_sources = _ends(element.get("sources"), vertices)
        targets, no_targets = _ends(element.get("targets"), vertices)
        if no_sources or no_targets:
            problems.append(f"edge {place} has ends without a vertex")
        if not sources and not targets:
            continue
        if labels:
            targets = tuple(Vertex(vertex.name) for vertex in targets)
        # The record names a source that is not a column, but no claim can be made for it.
        nameless = not all(vertex.table for vertex in sources)
        missing = StatementGap.PART if no_sources or no_targets else StatementGap.SOURCE if nameless else None
        edges.append(RecordEdge(kind, sources, targets, missing, text_of(element, "expression")))
    return tuple(edges)


def _ends(value: Any, vertices: Mapping[str, Vertex]) -> tuple[tuple[Vertex, ...], bool]:
    """Return the known vertices among an edge's sources or targets, and whether some are unknown or ``value`` is not a
    list.
    """
    if not isinstance(value, list):
        return (), True
    found = [vertices[str(number)] for number in value if _is_id(number) and str(number) in vertices]
    return tuple(found), len(found) < len(value)


def _is_id(number: Any) -> bool:
    return isinstance(number, int | str) and not isinstance(number, bool)


# -- Broken parts -----------------------------------------------------------------------------------------------------


def rejects_of(problems: Iterable[str], text: bytes, path: str, offset: int) -> tuple[Reject, ...]:
    """Return the problems of a record as one `Reject`; empty if there are none."""
    reasons = list(dict.fromkeys(problems))
    if not reasons:
        return ()
    more = f" and {len(reasons) - _MAX_REASONS} more" if len(reasons) > _MAX_REASONS else ""
    reason = "a part of the record is broken: " + "; ".join(reasons[:_MAX_REASONS]) + more
    return (Reject(path, reason, offset, sample(text)),)


def odd_times(problems: Iterable[str], text: bytes, path: str, offset: int) -> tuple[Reject, ...]:
    """Return the problems with invalid times in a record as one `Reject`; empty if there are none."""
    reasons = "; ".join(dict.fromkeys(problems))
    return (Reject(path, f"invalid time in the record: {reasons}", offset, sample(text)),) if reasons else ()
