"""Convert notification events of a Hive metastore to changes. The objects are read afterwards, in their current state.

There are three message formats: ``json-0.2`` (Hive 2 and later), which has the objects as Thrift JSON, keyed by field
id; plain JSON that only names database and table (Hive 1, CDH 5); and ``gzip(json-2.0)``, base64 of gzipped JSON (Hive
4, HDP). If a message cannot be read, the event's own columns are enough.
"""

from __future__ import annotations

import base64
import gzip
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from extractors.hms.idl import NotificationEvent
from extractors.hms.names import partition_name

Message = Mapping[str, Any]
"""The parsed message of a notification. A missing key means unknown."""

DEFAULT_CATALOG = "hive"
STATISTICS = frozenset(
    "numRows rawDataSize totalSize numFiles numPartitions numFilesErasureCoded COLUMN_STATS_ACCURATE"
    " STATS_GENERATED STATS_GENERATED_VIA_STATS_TASK DO_NOT_UPDATE_STATS".split()
)
"""Names of parameters that are statistics. Spark's begin with `SPARK_STATISTICS`."""
SPARK_STATISTICS = "spark.sql.statistics."
TOUCHED_AT = frozenset({"transient_lastDdlTime", "last_modified_time", "last_modified_by"})
"""Parameters that change whenever anything else changes."""
VIEW_TYPES = frozenset({"VIRTUAL_VIEW", "MATERIALIZED_VIEW"})


class TableName(NamedTuple):
    """A table's database and name, in lower case as a metastore stores them. Events may use other letter case."""

    database: str
    table: str

    def __str__(self) -> str:
        return f"{self.database}.{self.table}"


@dataclass(frozen=True, slots=True)
class DatabaseChanged:
    database: str
    dropped: bool = False


@dataclass(frozen=True, slots=True)
class TableCreated:
    table: TableName


@dataclass(frozen=True, slots=True)
class TableAltered:
    table: TableName


@dataclass(frozen=True, slots=True)
class TableDropped:
    table: TableName


@dataclass(frozen=True, slots=True)
class TableRenamed:
    before: TableName
    after: TableName
    event_id: int
    time_ms: int
    view: bool = False


@dataclass(frozen=True, slots=True)
class PartitionsChanged:
    """Added, altered or dropped partitions of a table. ``names`` is None if the message does not name the partitions."""

    table: TableName
    names: tuple[str, ...] | None
    dropped: bool = False


Change = DatabaseChanged | TableCreated | TableAltered | TableDropped | TableRenamed | PartitionsChanged


def parse_event(event: NotificationEvent, catalog: str = DEFAULT_CATALOG) -> Change | None:
    """Return the change that an event reports; None for an event that navlin ignores. Ignored events concern other
    catalogs, functions, transactions or statistics, or change nothing but statistics and times.
    """
    if (event.catName or DEFAULT_CATALOG).lower() != catalog.lower():
        return None
    database, table = (event.dbName or "").lower(), (event.tableName or "").lower()
    name = TableName(database, table)
    match event.eventType:
        case "CREATE_DATABASE" | "ALTER_DATABASE":
            return DatabaseChanged(database)
        case "DROP_DATABASE":
            return DatabaseChanged(database, dropped=True)
        case "CREATE_TABLE":
            return TableCreated(name)
        case "DROP_TABLE":
            return TableDropped(name)
        case "ALTER_TABLE":
            return _altered(event, name)
        case "ADD_PARTITION":
            return PartitionsChanged(name, _partitions(parse_message(event)))
        case "DROP_PARTITION":
            return PartitionsChanged(name, _partitions(parse_message(event)), dropped=True)
        case "ALTER_PARTITION":
            message = parse_message(event)
            before, after = (
                _plain_object(message, "partitionObjBefore"),
                _plain_object(message, "partitionObjAfter"),
            )
            if before and after and _lasting(before, _PARTITION) == _lasting(after, _PARTITION):
                return None
            return PartitionsChanged(name, _partitions(message))
        case "ALTER_PARTITIONS":
            # Hive 4.1 and later send one event for many partitions, with only their current state.
            return PartitionsChanged(name, _partitions(parse_message(event)))
    return None


def parse_message(event: NotificationEvent) -> Message:
    """Return the message of an event in any format; empty if it cannot be read."""
    text = event.message or ""
    try:
        if (event.messageFormat or "").startswith("gzip"):
            parsed = orjson.loads(gzip.decompress(base64.b64decode(text)))
        else:
            parsed = orjson.loads(text)
    except (ValueError, OSError, EOFError, zlib.error):  # JSON and base64 raise ValueErrors
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _altered(event: NotificationEvent, after_name: TableName) -> Change | None:
    message = parse_message(event)
    before, after = _plain_object(message, "tableObjBefore"), _plain_object(message, "tableObjAfter")
    # The event's own columns have the new name, the message has the old one. Sentry's format has both.
    before_name = TableName(
        str(before.get(_DB_NAME) or message.get("db") or after_name.database).lower(),
        str(
            before.get(_TABLE_NAME) or message.get("oldTableName") or message.get("table") or after_name.table
        ).lower(),
    )
    if before_name != after_name:
        view = after.get(_TABLE_TYPE) in VIEW_TYPES
        return TableRenamed(before_name, after_name, event.eventId or 0, (event.eventTime or 0) * 1000, view)
    if before and after and _lasting(before, _TABLE) == _lasting(after, _TABLE):
        return None
    return TableAltered(after_name)


def _partitions(message: Message) -> tuple[str, ...] | None:
    """Return the names of the partitions in a message; None if the message does not name them. A message maps the
    partition keys of each partition to values, in the order of the keys.
    """
    values = message.get("partitions") or ([message["keyValues"]] if message.get("keyValues") else None)
    keys, rows = message.get("partitionKeys"), message.get("partitionValues")
    if isinstance(keys, list) and isinstance(rows, list) and all(isinstance(row, list) for row in rows):
        values = [dict(zip(keys, row, strict=False)) for row in rows]
    if not isinstance(values, list) or not all(isinstance(one, dict) and one for one in values):
        return None
    return tuple(partition_name(one.keys(), one.values()) for one in values)


# -- Objects as Thrift JSON --------------------------------------------------------------------------------------------

# Field ids of Table.
_TABLE_NAME, _DB_NAME, _TABLE_TYPE = "1", "2", "12"


class _Shape(NamedTuple):
    parameters: str
    fleeting: tuple[str, ...]


# Last access and privileges; since Hive 3 also the write id, statistics, the client's access, and the metastore's
# number for the table.
_TABLE = _Shape(
    "9", (_TABLE_NAME, _DB_NAME, "5", "13", "19", "20", "21", "22", "23", "24", "25", "26", "27", "28")
)
# Names, last access, privileges; since Hive 3 also the write id and statistics.
_PARTITION = _Shape("7", ("2", "3", "5", "8", "10", "11", "12", "13"))


def _plain_object(message: Message, name: str) -> dict[str, Any]:
    """Return an object in a message as field id → plain value; empty if it is absent."""
    text = message.get(f"{name}Json") or message.get(name)
    try:
        parsed = orjson.loads(text) if isinstance(text, str) else text
    except orjson.JSONDecodeError:
        return {}
    plain = _plain({"rec": parsed}) if isinstance(parsed, dict) else None
    return plain if isinstance(plain, dict) else {}


def _plain(tagged: Any) -> Any:
    """Remove the type tags from a value of TJSONProtocol such as ``{"rec": {"1": {"str": "x"}}}``. Empty and false
    fields, and zeros, are left out, because the same object arrives with and without its default values.
    """
    if not isinstance(tagged, dict) or len(tagged) != 1:
        return tagged
    ((tag, value),) = tagged.items()
    match tag, value:
        case "rec", dict():
            fields = {field: _plain(inner) for field, inner in value.items()}
            return {field: inner for field, inner in fields.items() if inner}
        case "lst" | "set", [str() as kind, _, *items]:
            return [_plain({kind: item}) for item in items]
        case "map", [str(), str(), _, dict() as items]:
            return items
        case "tf", _:
            return bool(value)
    return value


def _lasting(plain: Mapping[str, Any], shape: _Shape) -> dict[str, Any]:
    """Return an object without the parts that change all the time: statistics, times and privileges."""
    kept = {field: value for field, value in plain.items() if field not in shape.fleeting}
    parameters = kept.pop(shape.parameters, None)
    if not isinstance(parameters, dict):
        return kept
    lasting = {name: value for name, value in parameters.items() if not fleeting_parameter(name)}
    return kept | {shape.parameters: lasting} if lasting else kept


def fleeting_parameter(name: str) -> bool:
    """Whether a table's or partition's parameter is a statistic or a time of change."""
    return name in STATISTICS or name in TOUCHED_AT or name.startswith(SPARK_STATISTICS)
