"""The read models of tables, paths, columns, statements, executions and parts of statements, for pages and exports.

The entities must have been read with `navlin.index.graph.entity.WHOLE`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from navlin.index.graph.entity import StoredEntity, first_text, json_object
from navlin.index.schema.fields import USER_PREFIXES

_WITH: Final = re.compile(r"(?:\s++|--[^\n]*+\n|/\*.*?\*/)*+with\b", re.IGNORECASE | re.DOTALL)
_FORMAT: Final = re.compile(
    r"(parquet|orc(?=\.)|avro|json|csv|kudu|hbase|jdbc|iceberg|rcfile|sequencefile|text(?=input))",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Annotations:
    """User metadata of an entity, from users or the entity's source. ``properties`` maps keys to values; a key with a
    namespace is ``namespace.key``. ``edited``: whether a user has edited the entity since the run from which changes
    are exported; a field that is empty now may then have been cleared."""

    name: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    properties: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    inherited_tags: tuple[str, ...] = ()
    edited: bool = False

    @classmethod
    def of(cls, entity: StoredEntity, *, edited: bool = False) -> Annotations:
        written = entity.annotations
        properties = {
            key.removeprefix(prefix): _texts(value)
            for key, value in sorted(written.items())
            if (prefix := next((each for each in USER_PREFIXES if key.startswith(each)), ""))
        }
        name, description = (first_text(written.get(each)) for each in ("name", "description"))
        return cls(name, description, entity.tags, properties, entity.inherited_tags, edited)


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
    without the file type. ``file_format`` is the format of a table's files: Spark's provider name, else derived from the
    names of the Hive classes; "" if unknown, and for entities other than tables.
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
    file_format: str = ""

    @classmethod
    def of(cls, entity: StoredEntity) -> Details:
        get = entity.document.get
        return cls(
            owner=entity.owner,
            group=first_text(get("group")),
            comment=entity.comment,
            created_ms=entity.created_ms,
            modified_ms=entity.time_ms("lastModified"),
            accessed_ms=entity.time_ms("lastAccessed"),
            parameters=_plain(entity.parameters),
            kind=first_text(get("tableType")),
            temporary=first_text(get("tp_temporary")) == "true",
            text=entity.text,
            storage=Storage(
                # A path entity's ``path`` is the path itself, not a storage location.
                "" if entity.physical else entity.path,
                first_text(get("inputFormat")),
                first_text(get("outputFormat")),
                bool(get("compressed")),
                first_text(get("serDeName")),
                first_text(get("serDeLibName")),
                _plain(json_object(get("serdeProps"))),
                _texts(get("clusteredByColNames")),
                _texts(get("sortByColNames")),
            ),
            partition_columns=_texts(get("partitionColNames")),
            permissions=first_text(get("permissions")),
            size_bytes=get("size"),
            replication=get("replication"),
            file_format=_file_format(entity) if entity.type == "TABLE" else "",
        )


@dataclass(frozen=True, slots=True)
class ColumnDetails:
    """Details of a column; ``index`` counts from 0, partition keys last, None if unknown."""

    type: str = ""
    comment: str = ""
    index: int | None = None

    @classmethod
    def of(cls, entity: StoredEntity) -> ColumnDetails:
        return cls(first_text(entity.document.get("dataType")), entity.comment, entity.column_index)


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

    @classmethod
    def of(cls, entity: StoredEntity) -> StatementDetails:
        return cls(
            (entity.engine or entity.source_type).upper(),
            entity.operation_type,
            entity.text,
            _WITH.match(entity.text) is not None,
            entity.incomplete,
            entity.incomplete_reasons,
        )


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

    @classmethod
    def of(cls, entity: StoredEntity) -> ExecutionDetails:
        get = entity.document.get
        return cls(
            entity.own_name,
            entity.started_ms,
            entity.ended_ms,
            entity.as_of_ms,
            entity.principal,
            entity.status,
            first_text(get("tp_queryId")),
            entity.application,
            first_text(get("tp_computeEngine")),
            first_text(get("tp_errorMessage")),
            first_text(get("tp_executionId")),
        )


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

    @classmethod
    def of(cls, entity: StoredEntity) -> PartDetails:
        get = entity.document.get
        return cls(
            first_text(get("tp_edgeType")),
            entity.expression,
            first_text(get("tp_transformation")),
            bool(get("opaque")),
            entity.incomplete,
            bool(get("inferred")),
        )


def _file_format(table: StoredEntity) -> str:
    get = table.document.get
    provider = table.parameters.get("spark.sql.sources.provider") or get("fileFormat")
    if provider:
        return str(provider).lower()
    found = _FORMAT.search(f"{get('serDeLibName', '')} {get('inputFormat', '')}")
    return found[1].lower() if found else ""


def _texts(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    return tuple(map(str, value)) if isinstance(value, list | tuple) else (str(value),)


def _plain(values: Mapping[str, Any]) -> dict[str, str]:
    return {str(key): str(each) for key, each in values.items()}
