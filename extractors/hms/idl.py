"""The part of the Hive metastore's Thrift interface that navlin uses: structures, field ids and calls.

Names and field ids are those of the public ``hive_metastore.thrift``; the ids are the same from Hive 1.1 to 4. Fields
that are not declared here are skipped on reading.
"""

from __future__ import annotations

from extractors.hms.thrift import I16, I32, I64, Call, Struct, at, refusal, struct

MetaException = refusal("MetaException")
NoSuchObjectException = refusal("NoSuchObjectException")
InvalidOperationException = refusal("InvalidOperationException")
UnknownDBException = refusal("UnknownDBException")


@struct
class FieldSchema(Struct):
    name: str | None = at(1)
    type: str | None = at(2)
    comment: str | None = at(3)


@struct
class Order(Struct):
    col: str | None = at(1)
    order: I32 = at(2)
    """1 for ascending, 0 for descending."""


@struct
class SerDeInfo(Struct):
    name: str | None = at(1)
    serializationLib: str | None = at(2)
    parameters: dict[str, str] | None = at(3)


@struct
class StorageDescriptor(Struct):
    cols: list[FieldSchema] | None = at(1)
    location: str | None = at(2)
    inputFormat: str | None = at(3)
    outputFormat: str | None = at(4)
    compressed: bool | None = at(5)
    numBuckets: I32 = at(6)
    serdeInfo: SerDeInfo | None = at(7)
    bucketCols: list[str] | None = at(8)
    sortCols: list[Order] | None = at(9)
    parameters: dict[str, str] | None = at(10)


@struct
class Database(Struct):
    name: str | None = at(1)
    description: str | None = at(2)
    locationUri: str | None = at(3)
    parameters: dict[str, str] | None = at(4)
    ownerName: str | None = at(6)
    catalogName: str | None = at(8)


@struct
class Table(Struct):
    tableName: str | None = at(1)
    dbName: str | None = at(2)
    owner: str | None = at(3)
    createTime: I32 = at(4)
    """Creation time in seconds since 1970, like ``lastAccessTime``."""
    lastAccessTime: I32 = at(5)
    sd: StorageDescriptor | None = at(7)
    partitionKeys: list[FieldSchema] | None = at(8)
    parameters: dict[str, str] | None = at(9)
    viewOriginalText: str | None = at(10)
    viewExpandedText: str | None = at(11)
    tableType: str | None = at(12)
    temporary: bool | None = at(14)
    catName: str | None = at(17)


@struct
class Partition(Struct):
    values: list[str] | None = at(1)
    dbName: str | None = at(2)
    tableName: str | None = at(3)
    createTime: I32 = at(4)
    lastAccessTime: I32 = at(5)
    sd: StorageDescriptor | None = at(6)
    parameters: dict[str, str] | None = at(7)
    catName: str | None = at(9)


@struct
class ClientCapabilities(Struct):
    values: list[I32] | None = at(1)


INSERT_ONLY_TABLES = 2
"""Capability without which Hive 3 and later refuse to show an insert-only table, and any batch that contains one."""


@struct
class GetTablesRequest(Struct):
    dbName: str | None = at(1)
    tblNames: list[str] | None = at(2)
    capabilities: ClientCapabilities | None = at(3)
    catName: str | None = at(4)


@struct
class GetTablesResult(Struct):
    tables: list[Table] | None = at(1)


@struct
class GetCatalogsResponse(Struct):
    names: list[str] | None = at(1)


@struct
class CurrentNotificationEventId(Struct):
    eventId: I64 = at(1)


@struct
class NotificationEventRequest(Struct):
    lastEvent: I64 = at(1)
    maxEvents: I32 = at(2)


@struct
class NotificationEvent(Struct):
    eventId: I64 = at(1)
    eventTime: I32 = at(2)
    """Seconds since 1970."""
    eventType: str | None = at(3)
    dbName: str | None = at(4)
    tableName: str | None = at(5)
    message: str | None = at(6)
    messageFormat: str | None = at(7)
    catName: str | None = at(8)


@struct
class NotificationEventResponse(Struct):
    events: list[NotificationEvent] | None = at(1)


GET_ALL_DATABASES = Call("get_all_databases", (), list[str], throws=(MetaException,))
GET_DATABASES = Call("get_databases", (str,), list[str], throws=(MetaException,))
GET_CATALOGS = Call("get_catalogs", (), GetCatalogsResponse, throws=(MetaException,))
GET_DATABASE = Call("get_database", (str,), Database, throws=(NoSuchObjectException, MetaException))
GET_ALL_TABLES = Call("get_all_tables", (str,), list[str], throws=(MetaException,))
GET_TABLES = Call(
    "get_table_objects_by_name",
    (str, list[str]),
    list[Table],
    throws=(MetaException, InvalidOperationException, UnknownDBException),
)
GET_TABLES_REQ = Call(
    "get_table_objects_by_name_req",
    (GetTablesRequest,),
    GetTablesResult,
    throws=(MetaException, InvalidOperationException, UnknownDBException),
)
GET_PARTITION_NAMES = Call(
    "get_partition_names", (str, str, I16), list[str], throws=(NoSuchObjectException, MetaException)
)
GET_PARTITIONS_BY_NAMES = Call(
    "get_partitions_by_names",
    (str, str, list[str]),
    list[Partition],
    throws=(MetaException, NoSuchObjectException),
)
GET_CURRENT_EVENT_ID = Call("get_current_notificationEventId", (), CurrentNotificationEventId)
GET_NEXT_EVENTS = Call("get_next_notification", (NotificationEventRequest,), NotificationEventResponse)
