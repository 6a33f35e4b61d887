"""DataHub proposals for datasets: names, and the aspects of tables, views and paths."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from navlin.export.datahub.aspects import type_of
from navlin.export.values import DatasetName, ExportedColumn, ExportedDataset, Item, Renamed
from navlin.index.graph.details import Annotations, ColumnDetails, Details
from tests.support.datahub_proposals import HIVE_ORDERS, aspects, proposals, urns
from tests.support.exported import (
    AT_MS,
    CLAIMED,
    LOCAL,
    SPARK,
    bucket,
    column,
    database,
    dataset,
    described,
    operation,
    part,
)


# -- Names ----------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "options", "urn"),
    [
        (dataset("sales.orders"), {}, HIVE_ORDERS),
        (
            dataset("sales.orders"),
            {"platform_instance": "cm", "env": "dev"},
            "urn:li:dataset:(urn:li:dataPlatform:hive,cm.sales.orders,DEV)",
        ),
        (dataset("Sales.Orders"), {}, "urn:li:dataset:(urn:li:dataPlatform:hive,Sales.Orders,PROD)"),
        (dataset("Sales.Orders"), {"lowercase": True}, HIVE_ORDERS),
        (dataset("/Landing/a"), {}, "urn:li:dataset:(urn:li:dataPlatform:hdfs,ns1/Landing/a,PROD)"),
        (
            dataset("/Landing/a"),
            {"lowercase": True},
            "urn:li:dataset:(urn:li:dataPlatform:hdfs,ns1/Landing/a,PROD)",
        ),
        (
            dataset("/a"),
            {"storage_instance": "dc1", "platform_instance": "cm"},
            "urn:li:dataset:(urn:li:dataPlatform:hdfs,dc1.ns1/a,PROD)",
        ),
        (dataset("/k/v", source=bucket("s3", "b")), {}, "urn:li:dataset:(urn:li:dataPlatform:s3,b/k/v,PROD)"),
        (dataset("/k", source=bucket("gs", "b")), {}, "urn:li:dataset:(urn:li:dataPlatform:gcs,b/k,PROD)"),
        (
            dataset("/k", source=bucket("abfss", "c@account.dfs.core.windows.net")),
            {},
            "urn:li:dataset:(urn:li:dataPlatform:adls,c/k,PROD)",
        ),
        (dataset("/k", source=bucket("dbfs", "x")), {}, "urn:li:dataset:(urn:li:dataPlatform:dbfs,/k,PROD)"),
        (dataset("/tmp/x", source=LOCAL), {}, "urn:li:dataset:(urn:li:dataPlatform:file,/tmp/x,PROD)"),
        (
            dataset("/a, (b)"),
            {},
            "urn:li:dataset:(urn:li:dataPlatform:hdfs,ns1/a%2C %28b%29,PROD)",
        ),
        (
            DatasetName("1", "DATASET", bucket("kafka", "broker:9092"), "clicks"),
            {},
            "urn:li:dataset:(urn:li:dataPlatform:kafka,clicks,PROD)",
        ),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_a_dataset_is_named_as_by_datahubs_own_ingestion(
    name: DatasetName, options: dict[str, Any], urn: str
) -> None:
    assert urns([ExportedDataset(name, deleted=True)], **options) == [urn]


def test_a_database_has_datahubs_key() -> None:
    gone = ExportedDataset(database("sales"), deleted=True)

    assert urns([gone]) == ["urn:li:container:9181afd2cfaa40ad8036c0560f250dbb"]
    assert urns([gone], platform_instance="cm") == ["urn:li:container:0dcaf7ea588461e1e49c6cf3c799622a"]


def test_an_operation_is_a_job_in_the_flow_of_its_source() -> None:
    made = [
        replace(
            operation("q", "INSERT", reads=["a.s"], writes=["a.t"], engine=engine), id="0a1b", source=source
        )
        for engine, source in (
            ("HIVE", replace(SPARK, name="hive")),
            ("IMPALA", replace(SPARK, name="imp,ala")),
            ("SPARK", SPARK),
        )
    ]

    assert urns(made) == [
        "urn:li:dataFlow:(hive,hive,PROD)",
        "urn:li:dataJob:(urn:li:dataFlow:(hive,hive,PROD),0a1b)",
        "urn:li:dataFlow:(impala,imp%2Cala,PROD)",
        "urn:li:dataJob:(urn:li:dataFlow:(impala,imp%2Cala,PROD),0a1b)",
        "urn:li:dataFlow:(spark,spark,PROD)",
        "urn:li:dataJob:(urn:li:dataFlow:(spark,spark,PROD),0a1b)",
    ]


# -- Datasets -------------------------------------------------------------------------------------------------------------
def test_a_table_has_all_its_aspects() -> None:
    name = dataset("sales.orders")
    table = ExportedDataset(
        name,
        Details(
            "etl",
            comment="all orders",
            created_ms=AT_MS,
            modified_ms=AT_MS + 1,
            parameters={"k": "v"},
            kind="EXTERNAL_TABLE",
            partition_columns=("day",),
        ),
        Annotations("Bestellungen", tags=("pii",), properties={"team": ("x", "y")}),
        (
            ExportedColumn(
                column("sales.orders.amount"),
                ColumnDetails("decimal(10,2)", "money"),
                Annotations("Sum", "in euros", ("gold",)),
            ),
            ExportedColumn(
                column("sales.orders.day"), ColumnDetails("date"), Annotations(), partition_key=True
            ),
        ),
    )
    found = aspects([table])

    assert {urn for urn, _ in found} == {HIVE_ORDERS}
    properties = found[HIVE_ORDERS, "datasetProperties"]
    assert properties.pop("customProperties") == {
        "k": "v",
        "tableType": "EXTERNAL_TABLE",
        "partitionColNames": "day",
        "team": "x, y",
        "navlin.identity": name.id,
        "navlin.source": "hms",
    }
    assert properties == {
        "name": "Bestellungen",
        "qualifiedName": "sales.orders",
        "description": "all orders",
        "created": {"time": AT_MS},
        "lastModified": {"time": AT_MS + 1},
    }
    schema = found[HIVE_ORDERS, "schemaMetadata"]
    assert schema["platform"] == "urn:li:dataPlatform:hive"
    assert schema["fields"] == [
        {
            "fieldPath": "amount",
            "nullable": True,
            "type": {"type": {"com.linkedin.schema.NumberType": {}}},
            "nativeDataType": "decimal(10,2)",
            "recursive": False,
            "isPartitioningKey": False,
            "description": "in euros",
            "label": "Sum",
            "globalTags": {"tags": [{"tag": "urn:li:tag:gold"}]},
        },
        {
            "fieldPath": "day",
            "nullable": True,
            "type": {"type": {"com.linkedin.schema.DateType": {}}},
            "nativeDataType": "date",
            "recursive": False,
            "isPartitioningKey": True,
        },
    ]
    assert found[HIVE_ORDERS, "subTypes"] == {"typeNames": ["Table"]}
    assert found[HIVE_ORDERS, "container"] == {
        "container": "urn:li:container:9181afd2cfaa40ad8036c0560f250dbb"
    }
    assert found[HIVE_ORDERS, "ownership"]["owners"][0]["owner"] == "urn:li:corpuser:etl"
    assert found[HIVE_ORDERS, "globalTags"] == {"tags": [{"tag": "urn:li:tag:pii"}]}
    assert found[HIVE_ORDERS, "dataPlatformInstance"] == {"platform": "urn:li:dataPlatform:hive"}
    assert found[HIVE_ORDERS, "status"] == {"removed": False}


TYPES = {
    "Boolean": "boolean",
    "Number": "tinyint smallint int integer bigint float double decimal decimal(10,2) long short byte real numeric",
    "String": "string varchar(20) char(3) STRING",
    "Bytes": "binary",
    "Date": "date",
    "Time": "timestamp interval timestamp_ntz",
    "Array": "array<int>",
    "Map": "map<string,int>",
    "Record": "struct<a:int,b:string>",
    "Union": "uniontype<int,string>",
    "Null": "void geometry ?",
}


def test_every_column_type_is_mapped() -> None:
    assert {kind: [type_of(each) for each in natives.split()] for kind, natives in TYPES.items()} == {
        kind: [kind] * len(natives.split()) for kind, natives in TYPES.items()
    }
    assert type_of("") == "Null"


def test_a_view_has_its_text_and_a_path_neither_container_nor_schema() -> None:
    view = described(dataset("a.v", "VIEW"), details=Details(text="select 1", kind="MATERIALIZED_VIEW"))
    found = aspects([view, described(dataset("/x"), details=Details("hdfs"))])
    of_view, of_path = dict.fromkeys(urn for urn, _ in found)

    assert found[of_view, "viewProperties"] == {
        "materialized": True,
        "viewLogic": "select 1",
        "viewLanguage": "SQL",
    }
    assert {name for urn, name in found if urn == of_path} == {
        "datasetProperties",
        "subTypes",
        "dataPlatformInstance",
        "ownership",
        "status",
    }
    assert found[of_path, "subTypes"] == {"typeNames": ["Folder"]}


def test_a_table_of_an_unconfigured_metastore_has_no_container() -> None:
    names = {name for _, name in aspects([described(dataset("a.t", source=CLAIMED))])}

    assert "container" not in names and "datasetProperties" in names


def test_a_deleted_entity_gets_only_a_removed_status() -> None:
    items: list[Item] = [
        described(dataset("a.t"), [("x", "int")], deleted=True, details=Details("etl")),
        described(database("a"), deleted=True),
        operation("insert", "INSERT", reads=["a.s"], writes=["a.t"], deleted=True),
    ]

    assert [(each["aspectName"], each["aspect"]["json"]) for each in proposals(items)] == [
        ("status", {"removed": True})
    ] * 3


def test_a_renamed_table_is_removed_under_its_old_name() -> None:
    renamed = Renamed(dataset("sales.old"), dataset("sales.orders"), time_ms=AT_MS)

    assert [
        (each["entityUrn"], each["aspectName"], each["aspect"]["json"]) for each in proposals([renamed])
    ] == [("urn:li:dataset:(urn:li:dataPlatform:hive,sales.old,PROD)", "status", {"removed": True})]


def test_options_leave_out_descriptions_owners_and_tags() -> None:
    table = described(
        dataset("a.t"), [("x", "int")], details=Details("etl"), annotations=Annotations(tags=("pii",))
    )
    insert = operation("insert", "INSERT", part(["a.t.x"], ["a.s.x"]))

    assert {name for _, name in aspects([table, insert], describe=False)} == {
        "dataFlowInfo",
        "dataJobInfo",
        "dataJobInputOutput",
        "status",
    }
    assert {name for _, name in aspects([table])} - {
        name for _, name in aspects([table], owners=False, tags=False)
    } == {
        "ownership",
        "globalTags",
    }
