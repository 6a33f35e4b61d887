"""Convert a metastore's objects to entities and relations, without any calls."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from extractors.hms.events import (
    VIEW_TYPES,
    TableName,
    TableRenamed,
    fleeting_parameter,
)
from extractors.hms.idl import Database, FieldSchema, Partition, StorageDescriptor, Table
from extractors.hms.names import partition_values
from extractors.hms.spark_schema import SCHEMA, hides_columns, spark_columns
from extractors.lineage.operations import Execution, Flow, Operation
from navlin.model.keys import (
    EntityType,
    Key,
    RelationType,
    column_key,
    database_key,
    execution_key,
    is_location,
    location_key,
    operation_key,
    partition_key,
    table_key,
)
from navlin.model.records import Entity, Record, Reject, Relation
from navlin.model.redaction import bounded, redact
from navlin.model.source import Estate, Source

_COLUMNS_ELSEWHERE = (f"{SCHEMA}.", SCHEMA)
_PLACEHOLDER = "-__PLACEHOLDER__"
_FILE_HANDLERS = re.compile(r"iceberg|delta|hudi", re.IGNORECASE)
_USER_AND_PASSWORD = re.compile(r"://[^/@:]*:[^/@]*@")
_PROVIDERS_WITHOUT_FILES = frozenset({"jdbc", "org.apache.spark.sql.jdbc", "kafka"})


@dataclass(frozen=True, slots=True)
class HmsReading:
    """Source and time of the objects that are being read, for all records created from them. ``place`` names the
    metastore in rejects.
    """

    source: Source
    estate: Estate
    default_fs: str
    as_of_ms: int
    place: str


def to_database(reading: HmsReading, database: Database, name: str) -> Iterator[Record]:
    """Yield the records of a database and its location."""
    key = database_key(reading.source, database.name or name)
    parameters = database.parameters or {}
    location = _location(database.locationUri)
    attributes = {
        "owner": database.ownerName,
        "originalDescription": _text(database.description),
        "fileSystemPath": location,
        "params": _properties(parameters),
    }
    yield Entity(key, reading.as_of_ms, _known(attributes))
    yield from _stored_at(reading, key, location)


def to_table(
    reading: HmsReading, table: Table, name: TableName, *, renamed_from: TableName | None
) -> Iterator[Record]:
    """Yield the records of a table or view, its columns, and its location. Parts that a broken table lacks are left
    out.
    """
    parameters = table.parameters or {}
    descriptor = table.sd or StorageDescriptor()
    partition_keys = table.partitionKeys or []
    view = table.tableType in VIEW_TYPES
    kind = EntityType.VIEW if view else EntityType.TABLE
    # Use the database's name from the request, because a broken table may have another spelling or none.
    key = table_key(reading.source, name.database, table.tableName or name.table, kind)
    location = _location(usable_location(table))
    attributes = {
        "owner": table.owner,
        "created": _ms(table.createTime),
        "tableType": table.tableType,
        "temporary": table.temporary or None,
        "originalDescription": _text(parameters.get("comment")),
        "fileSystemPath": location,
        **_storage(descriptor),
        "partitionColNames": _names(partition_keys),
        "clusteredByColNames": descriptor.bucketCols,
        "sortByColNames": _sort_order(descriptor),
        "params": _properties(parameters),
        "avroSchemaUrl": _text(_avro_schema_url(parameters, descriptor)),
        "queryText": _text(table.viewExpandedText or table.viewOriginalText) if view else None,
    }
    yield Entity(
        key,
        reading.as_of_ms,
        _known(attributes),
        _fleeting(parameters, table.lastAccessTime),
        renamed_from=_identity(reading.source, renamed_from),
    )
    yield from _stored_at(reading, key, location)
    try:
        columns = columns_of(table)
    except ValueError as error:
        # The columns of the table that are in the index are excluded from coverage, because they are unread, not
        # deleted.
        yield Reject(f"{reading.place} {name}", str(error), tree_path=key.tree_path)
        columns = partition_keys
    yield from _columns(reading, key, columns, renamed_from)


def columns_of(table: Table) -> list[FieldSchema]:
    """Return the columns in order, partition keys last. Raises ValueError if Spark stores the columns in parameters
    that cannot be parsed.
    """
    columns = (table.sd.cols if table.sd else None) or []
    if hides_columns(columns):
        columns = spark_columns(table.parameters or {}) or columns
    if not table.partitionKeys:
        return columns
    known = {(column.name or "").upper() for column in columns}
    return [*columns, *(key for key in table.partitionKeys if (key.name or "").upper() not in known)]


def usable_location(table: Table) -> str | None:
    """Return the location of the table's files. Return None for views, and for Kudu, HBase or JDBC tables, whose
    location is made up.
    """
    parameters = table.parameters or {}
    descriptor = table.sd or StorageDescriptor()
    if table.tableType == "VIRTUAL_VIEW":
        return None
    handler = parameters.get("storage_handler")
    if handler and not _FILE_HANDLERS.search(handler):
        return None
    location = descriptor.location
    provider = parameters.get("spark.sql.sources.provider")
    if provider:
        if provider.lower() in _PROVIDERS_WITHOUT_FILES:
            return None
        # If Hive cannot read the table, Spark stores the table's real location with the SerDe.
        serde = (descriptor.serdeInfo.parameters if descriptor.serdeInfo else None) or {}
        location = next((value for key, value in serde.items() if key.lower() == "path"), location)
    return None if location and location.endswith(_PLACEHOLDER) else location


def to_partition(
    reading: HmsReading, table: Key, name: str, partition: Partition, *, renamed_from: TableName | None
) -> Iterator[Record]:
    """Yield the records of a partition and its location. ``name`` is the partition's name in the metastore."""
    key = partition_key(table, name)
    parameters = partition.parameters or {}
    descriptor = partition.sd or StorageDescriptor()
    location = _location(descriptor.location)
    keys, values = partition_values(name)
    attributes = {
        "created": _ms(partition.createTime),
        "fileSystemPath": location,
        **_storage(descriptor),
        "partitionColNames": keys,
        "partitionColValues": values,
        "params": _properties(parameters),
    }
    before = table_key(reading.source, *renamed_from) if renamed_from else None
    yield Entity(
        key,
        reading.as_of_ms,
        _known(attributes),
        _fleeting(parameters, partition.lastAccessTime),
        renamed_from=partition_key(before, name).identity if before else "",
    )
    yield from _stored_at(reading, key, location)


def to_rename(source: Source, rename: TableRenamed) -> Iterator[Record]:
    """Convert a rename that the metastore reported to an operation: old table → ALTER … RENAME → new table."""
    kind, word = (EntityType.VIEW, "VIEW") if rename.view else (EntityType.TABLE, "TABLE")
    before = table_key(source, *rename.before, kind)
    after = table_key(source, *rename.after, kind)
    text = f"ALTER {word} {rename.before} RENAME TO {rename.after}"
    operation = operation_key(source, text, (before.identity, after.identity))
    names = {"inputs": [str(rename.before)], "outputs": [str(rename.after)]}
    # Event ids start again if the metastore's database is replaced, but times do not.
    execution = execution_key(operation, f"event {rename.event_id} at {rename.time_ms}")
    when = {"started": rename.time_ms, "ended": rename.time_ms}
    yield from Operation(
        operation,
        rename.time_ms,
        {"queryText": text, "operationType": f"ALTER{word}_RENAME", **names},
        Execution(execution, rename.time_ms, {**names, **when}),
        ages=False,
        inputs=(Flow(before),),
        outputs=(Flow(after),),
        covers=True,
        nested=True,
    ).records()


def _columns(
    reading: HmsReading, table: Key, columns: Sequence[FieldSchema], renamed_from: TableName | None
) -> Iterator[Record]:
    before = table_key(reading.source, *renamed_from) if renamed_from else None
    as_of_ms = reading.as_of_ms
    for index, column in enumerate(columns):
        if not column.name:
            yield Reject(f"{reading.place} {table.tree_path}", f"its column {index + 1} has no name")
            continue
        attributes: dict[str, Any] = {"dataType": bounded(column.type or ""), "columnIndex": index}
        if column.comment:
            attributes["originalDescription"] = bounded(column.comment)
        renamed = column_key(before, column.name).identity if before else ""
        yield Entity(column_key(table, column.name), as_of_ms, attributes, renamed_from=renamed)


def _stored_at(reading: HmsReading, key: Key, location: str | None) -> Iterator[Record]:
    if not location:
        return
    # The credentials for a bucket are not part of its name.
    bare = _USER_AND_PASSWORD.sub("://", location)
    if not is_location(bare):
        place = f"{reading.place} {key.tree_path}"
        yield Reject(place, "its location is not a URI", sample=bounded(location, 200))
        return
    directory = location_key(reading.estate, bare, reading.default_fs)
    yield Relation(RelationType.LOGICAL_PHYSICAL, key, directory, key.tree_path, reading.as_of_ms)


def _storage(descriptor: StorageDescriptor) -> dict[str, Any]:
    serde = descriptor.serdeInfo
    return {
        "inputFormat": descriptor.inputFormat,
        "outputFormat": descriptor.outputFormat,
        "compressed": descriptor.compressed,
        "serDeName": serde.name if serde else None,
        "serDeLibName": serde.serializationLib if serde else None,
        "serdeProps": _properties(serde.parameters or {}) if serde else None,
    }


def _sort_order(descriptor: StorageDescriptor) -> list[str]:
    return [f"{order.col} {'ASC' if order.order == 1 else 'DESC'}" for order in descriptor.sortCols or ()]


def _avro_schema_url(parameters: Mapping[str, str], descriptor: StorageDescriptor) -> str | None:
    serde = (descriptor.serdeInfo.parameters if descriptor.serdeInfo else None) or {}
    return parameters.get("avro.schema.url") or serde.get("avro.schema.url")


def _properties(parameters: Mapping[str, str]) -> dict[str, str] | None:
    """Return parameters sorted by name, without statistics, times and Spark's schema."""
    kept = {
        key: value or ""
        for key, value in sorted(parameters.items())
        if not fleeting_parameter(key) and not key.startswith(_COLUMNS_ELSEWHERE)
    }
    return kept or None


def _fleeting(parameters: Mapping[str, str], last_access_s: int | None) -> dict[str, Any]:
    """Return times and statistics. A change of these alone does not count as a change of the object."""
    touched_s = parameters.get("transient_lastDdlTime") or parameters.get("last_modified_time")
    if touched_s and len(touched_s) > MAX_DIGITS:
        touched_s = None
    volatile: dict[str, Any] = {
        "lastModified": _ms(int(touched_s)) if touched_s and touched_s.isdecimal() else None,
        "lastModifiedBy": parameters.get("last_modified_by"),
        "lastAccessed": _ms(last_access_s),
    }
    statistics = {key: value for key, value in parameters.items() if key in _SHOWN_STATISTICS}
    return _known({**volatile, **statistics})


MAX_DIGITS = 1_000
"""Maximum number of digits in a time, because Python does not parse numbers with more than a few thousand digits."""
_SHOWN_STATISTICS = frozenset({"numRows", "rawDataSize", "totalSize", "numFiles"})


def _identity(source: Source, name: TableName | None) -> str:
    return table_key(source, *name).identity if name else ""


def _names(columns: Sequence[FieldSchema]) -> list[str]:
    return [column.name for column in columns if column.name]


def _known(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value for name, value in attributes.items() if value is not None and value != [] and value != ""
    }


def _ms(seconds: int | None) -> int | None:
    return seconds * 1000 if seconds and seconds > 0 else None


def _text(text: str | None) -> str | None:
    return bounded(text) if text else None


def _location(text: str | None) -> str | None:
    # The location is bounded and redacted, because it becomes part of the path's identity.
    return bounded(redact(text)) if text else None
