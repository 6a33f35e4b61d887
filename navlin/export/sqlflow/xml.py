"""Writes SQLFlow's lineage model as the XML of reference 1.2."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final
from xml.sax.saxutils import quoteattr

from navlin.export.sqlflow.model import (
    ColumnRelation,
    Coordinate,
    DbObject,
    Element,
    ObjectColumn,
    ObjectKind,
    Process,
    RelationEnd,
    TableEnd,
    TableRelation,
)

HEAD: Final = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<dlineage>\n'
FOOT: Final = "</dlineage>\n"
_NO_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML forbids, even escaped."""
_ODD: Final = re.compile("[^ !#-%'-;=?-~]")
"""Characters that may need escaping. They are rare in names."""
_INSTEAD: Final = "\N{REPLACEMENT CHARACTER}"


def xml_element(element: Element) -> str:
    """Return one element with its children, indented, with a line break at the end. Elements are written between `HEAD`
    and `FOOT`."""
    match element:
        case Process():
            return _line(
                "process",
                id=element.id,
                name=element.name,
                type=element.type,
                coordinate=_at(element.coordinate),
            )
        case DbObject():
            return _element(
                element.kind, _object_attributes(element), [_column(each) for each in element.columns]
            )
        case ColumnRelation():
            attributes = {"id": element.id, "type": element.type, "effectType": element.effect}
            ends = [_end("target", element.target), *(_end("source", each) for each in element.sources)]
            return _element("relation", attributes, ends)
        case TableRelation():
            ends = [_table_end("target", element.target), _table_end("source", element.source)]
            return _element("relation", {"id": element.id, "type": element.type}, ends)


def _object_attributes(element: DbObject) -> dict[str, object]:
    attributes: dict[str, object] = {
        "id": element.id,
        "database": element.database,
        "schema": element.schema,
        "name": element.name,
        "alias": element.alias,
        "uri": element.uri,
        "type": element.type,
        "subType": element.sub_type,
        # The reference has no processIds for a path, but without them, the process that writes the path could not be
        # found.
        "processIds": " ".join(map(str, element.processes)),
        "coordinate": _at(element.coordinate),
    }
    if element.kind is ObjectKind.RESULTSET:
        del attributes["processIds"]
    return attributes


def _column(column: ObjectColumn) -> str:
    return _line(
        "column", id=column.id, name=column.name, coordinate=_at(column.coordinate), source=column.source
    )


def _end(tag: str, end: RelationEnd) -> str:
    return _line(
        tag,
        id=end.id,
        column=end.column,
        parent_id=end.parent_id,
        parent_name=end.parent_name,
        coordinate=_at(end.coordinate),
        source=end.source,
        clauseType=end.clause,
    )


def _table_end(tag: str, end: TableEnd) -> str:
    return _line(tag, **{"id": end.id, f"{tag}_id": end.of_id, f"{tag}_name": end.of_name})


@lru_cache(maxsize=1_024)
def _at(coordinate: Coordinate) -> str:
    return ",".join(f"[{place.line},{place.column},{place.text}]" for place in coordinate)


def _element(tag: str, attributes: dict[str, object], children: Iterable[str]) -> str:
    within = "".join(f"  {child}" for child in children)
    line = _line(tag, **attributes)
    return f"{line[:-3]}>\n{within}  </{tag}>\n" if within else line


def _line(tag: str, **attributes: object) -> str:
    written = "".join(f" {name}={_quoted(value)}" for name, value in attributes.items() if value != "")
    return f"  <{tag}{written}/>\n"


def _quoted(value: object) -> str:
    text = str(value)
    if _ODD.search(text) is None:
        return f'"{text}"'
    return quoteattr(_NO_XML.sub(_INSTEAD, text))
