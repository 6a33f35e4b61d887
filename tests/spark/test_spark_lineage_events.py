"""Cloudera's Spark lineage log, through `plan` and `read`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from extractors.spark import SparkLineageEvents
from navlin.model.keys import EntityType, RelationType, application_key, location_key, table_key
from navlin.model.records import Entity
from navlin.model.source import HDFS, HIVE, SPARK, YARN, Estate, Source, source_id
from tests.support.record_edges import Read, flow, read_all

Json = dict[str, Any]

SPARK_1 = Source(source_id("c", "SPARK-1"), SPARK, "SPARK-1", "c", claimable=False)
HIVE_1 = Source(source_id("c", "HIVE-1"), HIVE, "HIVE-1", "c", ("thrift://hms:9083",))
HIVE_2 = Source(source_id("c", "HIVE-2"), HIVE, "HIVE-2", "c", ("thrift://other:9083",))
HDFS_1 = Source(source_id("c", "HDFS-1"), HDFS, "HDFS-1", "c", ("hdfs://ns1",))
YARN_1 = Source(source_id("c", "YARN-1"), YARN, "YARN-1", "c", ("http://rm:8088",))
ESTATE = Estate("c", (SPARK_1, HIVE_1, HIVE_2, HDFS_1, YARN_1))
APPLICATION, ENDED_MS = "application_1700000000000_0042", 1_700_000_100_000


def table(name: str, metastore: str = "thrift://hms:9083") -> Json:
    return {
        "source": name,
        "fields": ["id"],
        "dataSourceType": "HIVE",
        "dataSourceFormat": "UNKNOWN",
        "hiveMetastoreLocation": metastore,
    }


def path(uri: str, kind: str = "HDFS") -> Json:
    return {"source": uri, "dataSourceType": kind, "dataSourceFormat": "PARQUET"}


def record(inputs: list[Json], outputs: list[Json], **changes: Any) -> Json:
    return {
        "version": "1.0",
        "applicationID": APPLICATION,
        "yarnApplicationId": APPLICATION,
        "user": "ana",
        "timestamp": ENDED_MS,
        "duration": 4_000,
        "errorCode": "00",
        "ended": False,
        "inputs": inputs,
        "outputs": outputs,
        **changes,
    }


END = {
    "version": "1.0",
    "applicationID": APPLICATION,
    "yarnApplicationId": APPLICATION,
    "user": "ana",
    "ended": True,
}


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Read]:
    def read_lines(*lines: Json | str, **settings: Any) -> Read:
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        log = tmp_path / f"spark_lineage_log_{APPLICATION}-7f3a.log"
        log.write_text("".join(text + "\n" for text in texts))
        return Read(read_all(SparkLineageEvents(SPARK_1, ESTATE, str(tmp_path), **settings)))

    return read_lines


def flows(got: Read) -> set[str]:
    return {flow(each) for each in got.relations if each.type is RelationType.DATA_FLOW}


def test_a_query_reads_and_writes_tables_and_paths(read: Callable[..., Read]) -> None:
    got = read(record([table("sales.orders"), path("hdfs://ns1/in/day=1")], [table("sales.totals")]), END)
    assert flows(got) == {
        "DATA_FLOW sales.orders -> operation",
        "DATA_FLOW /in -> operation",
        "DATA_FLOW operation -> sales.totals",
    }
    assert {each.ep1.identity for each in got.relations} >= {
        table_key(HIVE_1, "sales", "orders").identity,
        location_key(ESTATE, "hdfs://ns1/in").identity,
    }
    payload = got.execution.attributes
    assert (payload["started"], payload["ended"]) == (ENDED_MS - 4_000, ENDED_MS)
    assert (payload["principal"], payload["status"]) == ("ana", "SUCCEEDED")
    assert got.rejects == []


@pytest.mark.parametrize("ends", [[path("hdfs://[::1")], 7, True, {"source": "sales.orders"}, "sales.orders"])
def test_malformed_ends_are_ignored_and_the_other_records_are_read(
    read: Callable[..., Read], ends: object
) -> None:
    broken = record([table("sales.orders")], [], timestamp=ENDED_MS + 1) | {"outputs": ends}
    got = read(broken, record([table("sales.orders")], [table("sales.totals")]))
    assert flows(got) >= {"DATA_FLOW operation -> sales.totals"}


def test_an_execution_is_linked_to_its_yarn_application(read: Callable[..., Read]) -> None:
    got = read(record([table("sales.orders")], [table("sales.totals")]))
    [ran_as] = [each for each in got.relations if each.type is RelationType.LOGICAL_PHYSICAL]
    assert ran_as.ep1 == got.execution.key
    assert ran_as.ep2.identity == application_key(YARN_1, APPLICATION).identity


def test_runs_of_one_job_are_one_operation(read: Callable[..., Read]) -> None:
    def of(number: int, **changes: Any) -> Json:
        identity = f"application_1700000000000_{number:04d}"
        payload = {"applicationID": identity, "yarnApplicationId": identity, "timestamp": ENDED_MS + number}
        return record([table("a.a")], [table("b.b")], **{**payload, **changes})

    def operations(*records: Json) -> list[Entity]:
        return list({each.key.identity: each for each in read(*records).operations}.values())

    [operation] = operations(of(1), of(2))
    assert operation.key.name == "b.b"
    named = operations(of(1, applicationID="daily totals"), of(2, applicationID="daily totals"), of(3))
    assert [each.key.name for each in named] == ["daily totals", "b.b"]
    assert len(read(of(1), of(2)).of(EntityType.OPERATION_EXECUTION)) == 2


def test_a_record_refers_to_the_metastore_it_names(read: Callable[..., Read]) -> None:
    got = read(record([table("a.a", "thrift://other:9083")], [table("b.b", "thrift://other:9083")]))
    assert {each.ep1.source for each in got.relations if each.ep1.type is EntityType.TABLE} == {HIVE_2}


@pytest.mark.parametrize(
    ("uri", "kind", "shown"),
    [
        ("hdfs://ns1/a/b", "HDFS", "/a/b"),
        ("/a/b", "HDFS", "/a/b"),
        ("file:/a/b", "LOCAL", "/a/b"),
        ("/a/b", "LOCAL", "/a/b"),
        ("s3a://bucket/a", "S3", "/a"),
    ],
)
def test_paths_resolve_to_the_entity_of_their_file_system(
    read: Callable[..., Read], uri: str, kind: str, shown: str
) -> None:
    got = read(record([path(uri, kind)], [table("b.b")]), default_fs="hdfs://ns1")
    [source] = [each.ep1 for each in got.relations if each.ep1.type is EntityType.DIRECTORY]
    assert (source.file_system_path, source.source.type) == (shown, kind)


def test_a_plan_with_aggregates_is_incomplete(read: Callable[..., Read]) -> None:
    assert read(record([table("a.a")], [table("b.b")], errorCode="01")).operation.attributes["incomplete"]


def test_a_failed_query_has_no_flow(read: Callable[..., Read]) -> None:
    got = read(record([table("a.a")], [table("b.b")], errorCode="99", message="out of memory"))
    assert flows(got) == set()
    assert (got.execution.attributes["status"], got.execution.attributes["errorMessage"]) == (
        "FAILED",
        "out of memory",
    )


def test_a_source_that_is_neither_table_nor_path_is_an_unknown_input(read: Callable[..., Read]) -> None:
    got = read(record([{"source": "kudu master 7", "dataSourceType": "UNKNOWN"}], [table("b.b")]))
    assert got.operation.attributes["unknownInputs"] == ["kudu master 7"]
    assert got.operation.attributes["incomplete"]


@pytest.mark.parametrize("broken", [[7], [{"dataSourceType": "HIVE"}], {"source": "a.a"}, "a.a"])
def test_unreadable_inputs_make_an_operation_incomplete(read: Callable[..., Read], broken: Any) -> None:
    got = read(record([], [table("b.b")]) | {"inputs": broken})
    assert got.operation.attributes["incomplete"]
    assert got.operation.attributes["unknownInputs"]


def test_an_output_that_is_neither_table_nor_path_makes_the_operation_incomplete(
    read: Callable[..., Read],
) -> None:
    jdbc = {"source": "jdbc:mysql://h/db.t", "dataSourceType": "UNKNOWN"}
    got = read(record([table("a.a")], [table("b.b"), jdbc]))
    assert got.operation.attributes["incomplete"]
    assert got.operation.attributes["incompleteReasons"] == [
        "navlin did not find in the plan what is written"
    ]
    assert "DATA_FLOW operation -> b.b" in flows(got)


def test_records_after_a_truncated_one_are_read(read: Callable[..., Read]) -> None:
    half = json.dumps(record([table("a.a")], [table("b.b")]))[:90]
    first = json.dumps(record([table("a.c")], [table("b.d")]))
    second = json.dumps(record([table("a.e")], [table("b.f")]) | {"applicationID": "another"})
    got = read(half + first + second)
    assert [each.offset for each in got.rejects] == [0]
    assert flows(got) == {
        *("DATA_FLOW a.c -> operation", "DATA_FLOW operation -> b.d"),
        *("DATA_FLOW a.e -> operation", "DATA_FLOW operation -> b.f"),
    }


@pytest.mark.parametrize(
    "broken",
    ["{", "\0\0\0", "[]", json.dumps({"ended": False}), json.dumps(record([], []) | {"timestamp": None})],
)
def test_an_unreadable_line_is_rejected_and_the_rest_is_read(read: Callable[..., Read], broken: str) -> None:
    got = read(broken, record([table("a.a")], [table("b.b")]))
    assert len(got.rejects) == 1
    assert len(got.operations) == 1
