"""The few calls by which tests change what a real Hive metastore holds."""

from __future__ import annotations

from types import NoneType

from extractors.hms import idl
from extractors.hms.client import Address, Connection
from extractors.hms.thrift import Call, refusal
from navlin.demo import metastore

AlreadyExists = refusal("AlreadyExistsException")
_REFUSALS = (idl.InvalidOperationException, idl.MetaException)

CREATE_DATABASE = Call("create_database", (idl.Database,), NoneType, throws=(AlreadyExists, *_REFUSALS))
DROP_DATABASE = Call(
    "drop_database", (str, bool, bool), NoneType, throws=(idl.NoSuchObjectException, *_REFUSALS)
)
CREATE_TABLE = Call("create_table", (idl.Table,), NoneType, throws=(AlreadyExists, *_REFUSALS))
ALTER_TABLE = Call("alter_table", (str, str, idl.Table), NoneType, throws=_REFUSALS)
DROP_TABLE = Call(
    "drop_table", (str, str, bool), NoneType, throws=(idl.NoSuchObjectException, idl.MetaException)
)
ADD_PARTITION = Call("add_partition", (idl.Partition,), idl.Partition, throws=(*_REFUSALS, AlreadyExists))
ALTER_PARTITION = Call("alter_partition", (str, str, idl.Partition), NoneType, throws=_REFUSALS)
DROP_PARTITION = Call(
    "drop_partition",
    (str, str, list[str], bool),
    bool,
    throws=(idl.NoSuchObjectException, idl.MetaException),
)


class Metastore(metastore.Metastore):
    """A real metastore, and connections to it."""

    @property
    def address(self) -> Address:
        """Where it answers, for a client that does not wait long."""
        return Address((self.uri,), connect_timeout_s=5, call_timeout_s=60)

    def client(self) -> Connection:
        """A connection of one's own."""
        return Connection(self.address)


def table(
    database: str,
    name: str,
    columns: dict[str, str] | None = None,
    *,
    partitioned_by: dict[str, str] | None = None,
    location: str | None = None,
    parameters: dict[str, str] | None = None,
    kind: str = "EXTERNAL_TABLE",
    view_text: str | None = None,
) -> idl.Table:
    """A table to be created: columns as name → type."""
    descriptor = idl.StorageDescriptor(
        cols=_columns(columns if columns is not None else {"id": "int", "name": "string"}),
        location=location,
        inputFormat="org.apache.hadoop.mapred.TextInputFormat",
        outputFormat="org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat",
        compressed=False,
        numBuckets=-1,
        serdeInfo=idl.SerDeInfo(name, "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe", {}),
        bucketCols=[],
        sortCols=[],
        parameters={},
    )
    external = {"EXTERNAL": "TRUE"} if kind == "EXTERNAL_TABLE" else {}
    return idl.Table(
        tableName=name,
        dbName=database,
        owner="tester",
        createTime=1_700_000_000,
        sd=descriptor,
        partitionKeys=_columns(partitioned_by or {}),
        parameters={**external, **(parameters or {})},
        tableType=kind,
        viewOriginalText=view_text,
        viewExpandedText=view_text,
    )


def partition(of: idl.Table, *values: str, location: str | None = None) -> idl.Partition:
    """A partition to be added."""
    return idl.Partition(
        values=list(values),
        dbName=of.dbName,
        tableName=of.tableName,
        sd=idl.StorageDescriptor(
            cols=of.sd.cols if of.sd else [],
            location=location,
            serdeInfo=idl.SerDeInfo("", "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe", {}),
        ),
        parameters={},
    )


def _columns(types: dict[str, str]) -> list[idl.FieldSchema]:
    return [idl.FieldSchema(name, kind, None) for name, kind in types.items()]
