"""What an entity or relation says of itself, as values: for who passes the graph on in another model.

An entity must have been read whole (`navlin.index.entity.WHOLE`), a relation with `EXPORTED`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from navlin.index.entity import StoredEntity
from navlin.index.fields import MANAGED_PREFIXES, USER_PROPERTY, date_ms
from navlin.index.relation import TYPED, StoredRelation

EXPORTED: Final = f"{TYPED},tp_tableCreateTime,tp_tableType"
"""The fields of a relation, with what it says of the table at its end."""
_WITH: Final = re.compile(r"(?:\s++|--[^\n]*+\n|/\*.*?\*/)*+with\b", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Words:
    """What people, or their source, wrote of an entity. ``properties`` bear their own keys, those of a namespace as
    ``namespace.key``. ``edited``: somebody wrote since the run from which changes are read, and may have taken away what is
    empty now."""

    name: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    properties: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    inherited_tags: tuple[str, ...] = ()
    edited: bool = False


@dataclass(frozen=True, slots=True)
class Storage:
    """How a table is stored. ``location`` is a URI as the metastore has it; ``sort_columns`` are ``name ASC``."""

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
    """What a database, table, view or path says of itself. Times are epoch ms, 0 if not known.

    ``kind`` is the metastore's tableType; ``text`` a view's; ``permissions`` are as ``ls`` prints them, without the type.
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
    """A column; ``index`` counts from 0, partition keys last, None if that is not known."""

    type: str = ""
    comment: str = ""
    index: int | None = None


@dataclass(frozen=True, slots=True)
class StatementDetails:
    """An operation. ``engine`` is IMPALA, HIVE, SPARK …; ``type`` the operationType; ``text`` the whole text.
    ``with_clause``: the text begins with WITH."""

    engine: str = ""
    type: str = ""
    text: str = ""
    with_clause: bool = False
    incomplete: bool = False
    incomplete_reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ExecutionDetails:
    """One run. Times are epoch ms, 0 if not known. ``query_id`` is the engine's own id; ``application`` the Spark or YARN
    application it says it ran in, and ``execution_id`` the number that it has there."""

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
    """A sub-operation. ``edge_type`` is PROJECTION or PREDICATE, ``transformation`` IDENTITY, TRANSFORMATION, AGGREGATION
    …, "" if that is not known. ``opaque``: code computes it that nobody looked into."""

    edge_type: str = ""
    expression: str = ""
    transformation: str = ""
    opaque: bool = False
    incomplete: bool = False
    inferred: bool = False


def words(entity: StoredEntity) -> Words:
    """What people wrote of an entity."""
    written = entity.words
    properties = {
        key.removeprefix(prefix): _texts(value)
        for key, value in sorted(written.items())
        if (prefix := next((each for each in (USER_PROPERTY, *MANAGED_PREFIXES) if key.startswith(each)), ""))
    }
    name, description = (_text(written.get(each)) for each in ("name", "description"))
    return Words(name, description, entity.tags, properties, entity.inherited_tags)


def details(entity: StoredEntity) -> Details:
    """What a database, table, view, path or other dataset says of itself."""
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
            # Of a path it is the path itself.
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
    """What a column says of itself."""
    get = entity.document.get
    return ColumnDetails(_text(get("dataType")), _text(get("originalDescription")), entity.column_index)


def statement_details(entity: StoredEntity) -> StatementDetails:
    """What an operation says of itself."""
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
    """What an execution says of itself."""
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
    """What a sub-operation says of itself."""
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
    """When the table at a flow's end had been created, as the engine recorded it (epoch ms); 0 if it did not."""
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
    except ValueError:  # its text was cut, because it is longer than the index keeps
        return {}
    return {str(key): str(each) for key, each in read.items()} if isinstance(read, dict) else {}
