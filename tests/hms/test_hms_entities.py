"""Tables as a metastore returns them: broken tables, unusual tables, and tables of metastore releases that the tests
cannot start.
"""

from __future__ import annotations

import json

import pytest

from extractors.hms.entities import HmsReading, columns_of, to_table, usable_location
from extractors.hms.events import TableName
from extractors.hms.idl import FieldSchema, Order, SerDeInfo, StorageDescriptor, Table
from extractors.hms.spark_schema import spark_columns
from navlin.model.keys import EntityType, table_key
from navlin.model.records import Entity, Record, Reject, Relation
from navlin.model.source import HIVE, Estate, Source

SOURCE = Source("s", HIVE, "HIVE", "cluster")
READING = HmsReading(SOURCE, Estate("cluster", (SOURCE,)), "hdfs://ns1", 5, "thrift://hms:9083")
NAME = TableName("sales", "orders")


def records_of(table: Table) -> list[Record]:
    return list(to_table(READING, table, NAME, renamed_from=None))


def only_entity(table: Table) -> Entity:
    (entity,) = (
        one for one in records_of(table) if isinstance(one, Entity) and one.key.type is not EntityType.FIELD
    )
    return entity


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(Table(), id="nothing at all"),
        pytest.param(Table(tableName="orders", sd=StorageDescriptor()), id="an empty descriptor"),
        pytest.param(Table(parameters={"transient_lastDdlTime": "soon"}), id="a time that is none"),
    ],
)
def test_an_incomplete_table_still_yields_an_entity(broken: Table) -> None:
    records = records_of(broken)

    assert [type(record) for record in records] == [Entity]
    assert only_entity(broken).key == table_key(SOURCE, "sales", "orders")


def test_columns_without_names_are_rejected_by_position() -> None:
    named, first, second, column = records_of(
        Table(sd=StorageDescriptor(cols=[FieldSchema(), FieldSchema(name=""), FieldSchema("id", "int")]))
    )

    assert isinstance(named, Entity)
    assert [each.reason for each in (first, second) if isinstance(each, Reject)] == [
        "its column 1 has no name",
        "its column 2 has no name",
    ]
    assert isinstance(column, Entity)
    assert column.attributes["columnIndex"] == 2


def test_an_invalid_location_rejects_only_the_location() -> None:
    records = records_of(
        Table(sd=StorageDescriptor(location="hdfs://[broken", cols=[FieldSchema("id", "int")]))
    )

    assert [type(record) for record in records] == [Entity, Reject, Entity]


def test_a_column_without_a_type_keeps_its_name() -> None:
    *_, column = records_of(Table(sd=StorageDescriptor(cols=[FieldSchema("id")])))

    assert isinstance(column, Entity)
    assert column.key.name == "id"


def test_ten_thousand_columns_are_ten_thousand_entities() -> None:
    columns = [FieldSchema(f"c{i}", "int") for i in range(10_000)]

    assert len(records_of(Table(sd=StorageDescriptor(cols=columns)))) == 10_001


def test_a_partition_key_that_is_also_a_column_counts_once() -> None:
    ds = FieldSchema("DS", "string")

    assert columns_of(
        Table(sd=StorageDescriptor(cols=[ds]), partitionKeys=[FieldSchema("ds", "string")])
    ) == [ds]


def test_formats_and_sort_orders_are_reported() -> None:
    descriptor = StorageDescriptor(
        inputFormat="in",
        outputFormat="out",
        compressed=True,
        serdeInfo=SerDeInfo("s", "lib", {"field.delim": ","}),
        bucketCols=["id"],
        sortCols=[Order("id", 1), Order("day", 0)],
    )
    attributes = only_entity(
        Table(
            sd=descriptor,
            partitionKeys=[FieldSchema("ds", "string")],
            createTime=7,
            temporary=True,
            lastAccessTime=3,
        )
    ).attributes

    assert attributes == {
        "inputFormat": "in",
        "outputFormat": "out",
        "compressed": True,
        "serDeName": "s",
        "serDeLibName": "lib",
        "serdeProps": {"field.delim": ","},
        "clusteredByColNames": ["id"],
        "sortByColNames": ["id ASC", "day DESC"],
        "partitionColNames": ["ds"],
        "created": 7000,
        "temporary": True,
    }


def test_an_external_avro_schema_is_recorded() -> None:
    table = Table(parameters={"avro.schema.url": "hdfs://ns1/schemas/orders.avsc"})

    assert only_entity(table).attributes["avroSchemaUrl"] == "hdfs://ns1/schemas/orders.avsc"


def test_bucket_credentials_are_removed_from_the_location() -> None:
    table = Table(sd=StorageDescriptor(location="s3a://KEY:sEcReT/x@bucket/orders"))

    (relation,) = (record for record in records_of(table) if isinstance(record, Relation))

    assert relation.ep2.source.name == "s3://bucket"
    assert relation.ep2.file_system_path == "/orders"
    assert "sEcReT" not in repr(records_of(table))


def test_an_overlong_comment_is_truncated_with_a_marker() -> None:
    table = Table(sd=StorageDescriptor(cols=[FieldSchema("id", "int", "x" * (2 << 20))]))

    *_, column = records_of(table)

    assert isinstance(column, Entity)
    assert len(column.attributes["originalDescription"]) <= 1 << 20
    assert "cut" in column.attributes["originalDescription"][-20:]


@pytest.mark.parametrize(
    ("table", "location"),
    [
        (Table(sd=StorageDescriptor(location="hdfs://a/b")), "hdfs://a/b"),
        (Table(sd=StorageDescriptor(location="hdfs://a/b"), tableType="VIRTUAL_VIEW"), None),
        (Table(sd=StorageDescriptor(location="hdfs://a/b"), tableType="MATERIALIZED_VIEW"), "hdfs://a/b"),
        (
            Table(
                sd=StorageDescriptor(location="a"), parameters={"storage_handler": "x.HBaseStorageHandler"}
            ),
            None,
        ),
        (Table(sd=StorageDescriptor(location="a"), parameters={"spark.sql.sources.provider": "jdbc"}), None),
        (
            Table(
                sd=StorageDescriptor(location="x-__PLACEHOLDER__"),
                parameters={"spark.sql.sources.provider": "csv"},
            ),
            None,
        ),
        (Table(), None),
    ],
)
def test_a_location_counts_only_if_files_are_stored_there(table: Table, location: str | None) -> None:
    assert usable_location(table) == location


@pytest.mark.parametrize(
    ("spark", "hive"),
    [
        ("long", "bigint"),
        ("decimal(10,2)", "decimal(10,2)"),
        ({"type": "map", "keyType": "string", "valueType": "short"}, "map<string,smallint>"),
        ({"type": "array", "elementType": {"type": "array", "elementType": "byte"}}, "array<array<tinyint>>"),
        (
            {"type": "struct", "fields": [{"name": "a", "type": "integer"}, {"name": "B", "type": "date"}]},
            "struct<a:int,B:date>",
        ),
        ({"type": "udt", "class": "x", "sqlType": "string"}, "string"),
    ],
)
def test_spark_types_are_converted_to_hive_types(spark: object, hive: str) -> None:
    schema = json.dumps({"type": "struct", "fields": [{"name": "c", "type": spark}]})

    assert spark_columns({"spark.sql.sources.schema": schema}) == [FieldSchema("c", hive)]


def test_a_spark_varchar_is_read_from_its_metadata() -> None:
    field = {"name": "c", "type": "string", "metadata": {"__CHAR_VARCHAR_TYPE_STRING": "varchar(9)"}}
    schema = json.dumps({"type": "struct", "fields": [field]})

    assert spark_columns({"spark.sql.sources.schema": schema}) == [FieldSchema("c", "varchar(9)")]


@pytest.mark.parametrize("parts", ["2", "4000000000", "9" * 5_000, "many"])
def test_an_impossible_number_of_schema_parts_is_an_error(parts: str) -> None:
    with pytest.raises(
        ValueError, match=r"spark\.sql\.sources\.schema\.(part\.\d of .* is missing|numParts is not a number)"
    ):
        spark_columns({"spark.sql.sources.schema.numParts": parts, "spark.sql.sources.schema.part.0": "{"})


@pytest.mark.parametrize("torn", ["{", "[]", "null", '{"fields": [{}]}', '{"fields": 7}'])
def test_an_invalid_spark_schema_is_an_error(torn: str) -> None:
    with pytest.raises(ValueError, match=r"spark\.sql\.sources\.schema"):
        spark_columns({"spark.sql.sources.schema": torn})
