"""Typed values from the documents of entities and relations, for exports to other data models.

Entities must have been read with `navlin.index.graph.entity.WHOLE`, relations with `EXPORTED`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from navlin.index.graph.entity import StoredEntity
from navlin.index.graph.relation import TYPED, StoredRelation
from navlin.index.schema.fields import MANAGED_PREFIXES, USER_PROPERTY, date_ms

EXPORTED: Final = f"{TYPED},tp_tableCreateTime,tp_tableType"
"""The fields of a relation that an export needs, including those about the table at one end."""
_WITH: Final = re.compile(r"(?:\s++|--[^\n]*+\n|/\*.*?\*/)*+with\b", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Words:
    """User metadata of an entity, from users or the entity's source. ``properties`` maps keys to values; a key with a
    namespace is ``namespace.key``. ``edited``: whether a user has edited the entity since the run from which changes
    are exported; a field that is empty now may then have been cleared."""

    name: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    properties: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    inherited_tags: tuple[str, ...] = ()
    edited: bool = False


@dataclass(frozen=True, slots=True)
class Storage:
    """Storage of a table. ``location`` is a URI as the metastore has it; ``sort_columns`` are like ``name ASC``."""

    location: str = ""
    input_format: str = ""
    output_format: str = ""
    compressed: bool = False
    serde_name: str = ""
    serde_library: str = ""
    serde_parameters: Mapping[str, str] = field(default_factory=dict)
    bucket_columns: tuple[str, ...] = ()
    sort_columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Details:
    """Details of a database, table, view or path. Times are epoch ms, 0 if unknown.

    ``kind`` is the metastore's tableType, ``text`` the SQL of a view; ``permissions`` are as ``ls`` prints them,
    without the file type.
    """

    owner: str = ""
    group: str = ""
    comment: str = ""
    created_ms: int = 0
    modified_ms: int = 0
    accessed_ms: int = 0
    parameters: Mapping[str, str] = field(default_factory=dict)
    kind: str = ""
    temporary: bool = False
    text: str = ""
    storage: Storage = field(default_factory=Storage)
    partition_columns: tuple[str, ...] = ()
    permissions: str = ""
    size_bytes: int | None = None
    replication: int | None = None


@dataclass(frozen=True, slots=True)
class ColumnDetails:
    """Details of a column; ``index`` counts from 0, partition keys last, None if unknown."""

    type: str = ""
    comment: str = ""
    index: int | None = None


@dataclass(frozen=True, slots=True)
class StatementDetails:
    """Details of an operation. ``engine`` is IMPALA, HIVE, SPARK …; ``type`` the operationType; ``text`` the whole
    text. ``with_clause``: whether the text begins with WITH."""

    engine: str = ""
    type: str = ""
    text: str = ""
    with_clause: bool = False
    incomplete: bool = False
    incomplete_reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ExecutionDetails:
    """Details of one execution. Times are epoch ms, 0 if unknown. ``query_id`` is the engine's own id, ``application``
    the id of the Spark or YARN application that the engine reports, and ``execution_id`` the number of the execution in
    that application."""

    name: str = ""
    started_ms: int = 0
    ended_ms: int = 0
    as_of_ms: int = 0
    principal: str = ""
    status: str = ""
    query_id: str = ""
    application: str = ""
    compute_engine: str = ""
    error: str = ""
    execution_id: str = ""


@dataclass(frozen=True, slots=True)
class PartDetails:
    """Details of a sub-operation. ``edge_type`` is PROJECTION or PREDICATE, ``transformation`` IDENTITY,
    TRANSFORMATION, AGGREGATION …, "" if unknown. ``opaque``: whether code that was not analysed computes the
    sub-operation."""

    edge_type: str = ""
    expression: str = ""
    transformation: str = ""
    opaque: bool = False
    incomplete: bool = False
    inferred: bool = False


def words(entity: StoredEntity) -> Words:
    """Return the user metadata of an entity."""
    written = entity.words
    properties = {
        key.removeprefix(prefix): _texts(value)
        for key, value in sorted(written.items())
        if (prefix := next((each for each in (USER_PROPERTY, *MANAGED_PREFIXES) if key.startswith(each)), ""))
    }
    name, description = (_text(written.get(each)) for each in ("name", "description"))
    return Words(name, description, entity.tags, properties, entity.inherited_tags)


def details(entity: StoredEntity) -> Details:
    """Return the details of a database, table, view, path or other dataset."""
    get = entity.document.get
    return Details(
        owner=entity.owner,
        group=_text(get("group")),
        comment=_text(get("originalDescription")),
        created_ms=_ms(entity, "created"),
        modified_ms=_ms(entity, "lastModified"),
        accessed_ms=_ms(entity, "lastAccessed"),
        parameters=_mapping(get("params")),
        kind=_text(get("tableType")),
        temporary=_text(get("tp_temporary")) == "true",
        text=entity.text,
        storage=Storage(
            # A path entity's ``path`` is the path itself, not a storage location.
            "" if entity.physical else entity.path,
            _text(get("inputFormat")),
            _text(get("outputFormat")),
            bool(get("compressed")),
            _text(get("serDeName")),
            _text(get("serDeLibName")),
            _mapping(get("serdeProps")),
            _texts(get("clusteredByColNames")),
            _texts(get("sortByColNames")),
        ),
        partition_columns=_texts(get("partitionColNames")),
        permissions=_text(get("permissions")),
        size_bytes=get("size"),
        replication=get("replication"),
    )


def column_details(entity: StoredEntity) -> ColumnDetails:
    get = entity.document.get
    return ColumnDetails(_text(get("dataType")), _text(get("originalDescription")), entity.column_index)


def statement_details(entity: StoredEntity) -> StatementDetails:
    get = entity.document.get
    engine = _text(get("engineType")) or entity.source_type
    return StatementDetails(
        engine.upper(),
        _text(get("operationType")),
        entity.text,
        _WITH.match(entity.text) is not None,
        entity.incomplete,
        entity.incomplete_reasons,
    )


def execution_details(entity: StoredEntity) -> ExecutionDetails:
    get = entity.document.get
    return ExecutionDetails(
        entity.own_name,
        entity.started_ms,
        _ms(entity, "ended"),
        entity.as_of_ms,
        entity.principal,
        _text(get("status")),
        _text(get("tp_queryId")),
        _text(get("jobId")),
        _text(get("tp_computeEngine")),
        _text(get("tp_errorMessage")),
        _text(get("tp_executionId")),
    )


def part_details(entity: StoredEntity) -> PartDetails:
    get = entity.document.get
    return PartDetails(
        _text(get("tp_edgeType")),
        _text(get("tp_expression")),
        _text(get("tp_transformation")),
        bool(get("opaque")),
        entity.incomplete,
        bool(get("inferred")),
    )


def table_created_ms(relation: StoredRelation) -> int:
    """Return the creation time that the engine recorded for the table at a flow's end (epoch ms); 0 if not recorded."""
    stated = _text(relation.document.get("tp_tableCreateTime"))
    return int(stated) if stated.isdecimal() else 0


def _ms(entity: StoredEntity, name: str) -> int:
    value = entity.document.get(name)
    return date_ms(value) if value else 0


def _text(value: Any) -> str:
    first = next(iter(value), "") if isinstance(value, list | tuple) else value
    return "" if first is None else str(first)


def _texts(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    return tuple(map(str, value)) if isinstance(value, list | tuple) else (str(value),)


def _mapping(value: Any) -> dict[str, str]:
    try:
        read = json.loads(value or "{}")
    except ValueError:  # the JSON was cut at the index's limit for texts
        return {}
    return {str(key): str(each) for key, each in read.items()} if isinstance(read, dict) else {}
