"""Writes SQLFlow's lineage model as the JSON of current releases. Objects are nested in servers, databases and schemas;
ids are strings.

Hive, Impala and Spark have no schemas in that sense, so their tables are directly below the database.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, Final

import orjson

from navlin.export.sqlflow.model import (
    ColumnRelation,
    Coordinate,
    DbObject,
    ObjectColumn,
    ObjectKind,
    Process,
    RelationEnd,
    TableEnd,
    TableRelation,
)
from navlin.export.sqlflow.spool import Placed

_LISTS: Final = {ObjectKind.TABLE: "tables", ObjectKind.VIEW: "views"}
OTHERS: Final = "others"
"""Key of the list with all other objects: paths and result sets."""
NO_SCHEMA: Final = "DEFAULT"
"""SQLFlow's name for the database of objects without a database."""


def json_of(placed: Iterable[Placed], relations: Iterable[str], processes: Iterable[str]) -> Iterator[str]:
    """Yield the document, piece by piece. ``placed`` are sorted by server and schema; ``relations`` and ``processes``
    are JSON texts from `json_relation` and `json_process`."""
    yield '{"dbobjs":{"servers":['
    for number, (server, objects) in enumerate(groupby(placed, key=lambda each: (each.server, each.vendor))):
        yield f"{',' if number else ''}{_server(*server)}"
        for at, (schema, of_schema) in enumerate(groupby(objects, key=lambda each: each.object.schema)):
            yield f'{"," if at else ""}{{"name":{_text(schema or NO_SCHEMA)}'
            for kinds, of_kinds in groupby(of_schema, key=lambda each: _LISTS.get(each.object.kind, OTHERS)):
                yield f',"{kinds}":['
                yield from _listed(_text(_object(each.object)) for each in of_kinds)
                yield "]"
            yield "}"
        yield "]}"
    yield ']},"relationships":['
    yield from _listed(relations)
    yield '],"processes":['
    yield from _listed(processes)
    yield '],"errors":[]}\n'


def json_process(element: Process) -> str:
    return _text(
        {
            "id": str(element.id),
            "name": element.name,
            "type": element.type,
            "coordinates": _coordinates(element.coordinate),
        }
    )


def json_relation(element: ColumnRelation | TableRelation) -> str:
    """Return a relation between columns, or between objects and processes, as JSON text."""
    if isinstance(element, TableRelation):
        ends = {
            "target": _table_end("target", element.target),
            "sources": [_table_end("source", element.source)],
        }
        return _text({"id": str(element.id), "type": element.type, **ends})
    return _text(
        {
            "id": str(element.id),
            "type": element.type,
            "effectType": element.effect,
            "target": _end(element.target),
            "sources": [_end(each) for each in element.sources],
            **({"processId": str(element.process)} if element.process else {}),
        }
    )


def _server(name: str, vendor: str) -> str:
    head = {"name": name, "dbVendor": vendor, "supportsCatalogs": True, "supportsSchemas": False}
    return f'{_text(head)[:-1]},"databases":['


def _object(element: DbObject) -> dict[str, Any]:
    found = {
        "id": str(element.id),
        "schema": element.schema,
        "name": element.name,
        "displayName": element.name,
        "type": element.type,
        "subType": element.sub_type,
        "uri": element.uri,
        "processIds": [str(each) for each in element.processes],
        "columns": [_column(each) for each in element.columns],
        "coordinates": _coordinates(element.coordinate),
    }
    return {name: value for name, value in found.items() if value}


def _column(column: ObjectColumn) -> dict[str, Any]:
    found = {"id": str(column.id), "name": column.name, "coordinates": _coordinates(column.coordinate)}
    return {**found, **({"source": column.source} if column.source else {})}


def _end(end: RelationEnd) -> dict[str, Any]:
    found = {
        "id": str(end.id),
        "column": end.column,
        "parentId": str(end.parent_id),
        "parentName": end.parent_name,
        "coordinates": _coordinates(end.coordinate),
        "source": end.source,
        "clauseType": end.clause,
    }
    return {name: value for name, value in found.items() if value}


def _table_end(side: str, end: TableEnd) -> dict[str, str]:
    return {"id": str(end.id), f"{side}Id": str(end.of_id), f"{side}Name": end.of_name}


def _coordinates(coordinate: Coordinate) -> list[dict[str, Any]]:
    return [{"x": place.line, "y": place.column, "hashCode": place.text} for place in coordinate]


def _listed(texts: Iterable[str]) -> Iterator[str]:
    for number, text in enumerate(texts):
        yield f"{',' if number else ''}{text}"


def _text(value: Any) -> str:
    return orjson.dumps(value).decode()
