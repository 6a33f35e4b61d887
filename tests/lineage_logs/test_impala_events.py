"""Impala's lineage log in each of its historical formats, through `plan` and `read`."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors.impala_events import ImpalaEvents
from extractors.lineage.planned_files import QUIET_MS
from navlin.model.extractor import EXTRACTORS, PUSH
from navlin.model.keys import EntityType, RelationType, column_key, operation_key, path_key, table_key
from navlin.model.plan import Plan, Positions
from navlin.model.records import Covered, Position
from navlin.model.redaction import MASK
from navlin.model.source import HDFS, HIVE, IMPALA, Estate, Source, source_id
from tests.support.record_edges import TABLE_LEVEL, Read, name, read_all
from tests.support.stored import stored

Json = dict[str, Any]

IMPALA_1 = Source(source_id("c", "IMPALA-1"), IMPALA, "IMPALA-1", "c")
HIVE_1 = Source(source_id("c", "HIVE-1"), HIVE, "HIVE-1", "c", ("thrift://hms:9083",))
HDFS_1 = Source(source_id("c", "HDFS-1"), HDFS, "HDFS-1", "c", ("hdfs://nn:8020",))
ESTATE = Estate("c", (IMPALA_1, HIVE_1, HDFS_1))

STARTED, ENDED, CREATED = 1_700_000_000, 1_700_000_042, 1_690_000_000
TEXT = (
    "insert into sales.totals select region, sum(amount) from sales.orders where year = 2026 group by region"
)


def extractor(directory: Path | str, estate: Estate = ESTATE, **settings: Any) -> ImpalaEvents:
    return ImpalaEvents(IMPALA_1, estate, str(directory), **settings)


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Read]:
    def read_lines(*lines: Json | bytes, **settings: Any) -> Read:
        data = b"".join(
            (line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines
        )
        (tmp_path / "impala_lineage_log_1.0-1700000000000").write_bytes(data)
        return Read(read_all(extractor(tmp_path, **settings)))

    return read_lines


# -- Eras -------------------------------------------------------------------------------------------------------------


def of_5_0() -> Json:
    def vertex(number: int, column: str, table: str) -> Json:
        about = {"tableName": table, "tableType": "hive", "tableCreateTime": CREATED}
        return {"id": number, "vertexType": "COLUMN", "vertexId": column, "metadata": about}

    return {
        "queryText": TEXT,
        "operationType": "INSERT",
        "queryId": "a14d0e6cd2f7bd1c:3b0b9b1e00000000",
        "hash": "0123456789abcdef0123456789abcdef",
        "user": "ana",
        "timestamp": STARTED,
        "endTime": ENDED,
        "edges": [
            {"sources": [1], "targets": [0], "edgeType": "PROJECTION"},
            {"sources": [3], "targets": [2], "edgeType": "PROJECTION"},
            {"sources": [1, 4], "targets": [0, 2], "edgeType": "PREDICATE"},
        ],
        "vertices": [
            vertex(0, "region", "sales.totals"),
            vertex(1, "sales.orders.region", "sales.orders"),
            vertex(2, "total", "sales.totals"),
            vertex(3, "sales.orders.amount", "sales.orders"),
            vertex(4, "sales.orders.year", "sales.orders"),
        ],
    }


def of_5_0_in_full() -> Json:
    record = of_5_0()
    record["vertices"][0]["vertexId"] = "sales.totals.region"
    record["vertices"][2]["vertexId"] = "sales.totals.total"
    return record


def of_4_3() -> Json:
    record = of_5_0()
    del record["operationType"]
    return record


def of_3_3() -> Json:
    record = of_4_3()
    for vertex in record["vertices"]:
        del vertex["metadata"]["tableType"]
    return record


def of_3_1() -> Json:
    record = of_3_3()
    for vertex in record["vertices"]:
        table = vertex.pop("metadata")["tableName"]
        vertex["vertexId"] = f"{table}.{vertex['vertexId'].rsplit('.')[-1]}"
    return record


def of_2_7() -> Json:
    record = of_3_1()
    del record["queryId"]
    return record


def of_late_2015() -> Json:
    record = of_2_2()
    record["edges"] = [json.dumps(edge) for edge in record["edges"]]
    record["vertices"] = [json.dumps(vertex) for vertex in record["vertices"]]
    return record


def of_2_2() -> Json:
    record = of_2_7()
    del record["endTime"]
    return record


def of_the_first_build() -> Json:
    record = of_2_2()
    record["timestamp"] = STARTED * 1000
    return record


ERAS = [of_5_0, of_5_0_in_full, of_4_3, of_3_3, of_3_1, of_2_7, of_late_2015, of_2_2, of_the_first_build]


@pytest.mark.parametrize("era", ERAS)
def test_every_record_version_gives_the_same_tables_and_columns(
    read: Callable[..., Read], era: Callable[[], Json]
) -> None:
    got = read(era())
    assert got.tables == {"DATA_FLOW sales.orders -> operation", "DATA_FLOW operation -> sales.totals"}
    assert got.columns == {
        "PROJECTION sales.orders.region -> sales.totals.region",
        "PROJECTION sales.orders.amount -> sales.totals.total",
        "PREDICATE sales.orders.region, sales.orders.year -> sales.totals.region, sales.totals.total",
    }
    assert got.rejects == []


@pytest.mark.parametrize("era", ERAS)
def test_every_record_version_gives_the_same_operation_with_times_in_ms(
    read: Callable[..., Read], era: Callable[[], Json]
) -> None:
    record = era()
    got = read(record)
    ended = ENDED * 1000 if "endTime" in record else None
    assert got.operation.key.identity == read(of_5_0()).operation.key.identity
    assert got.operation.attributes["operationType"] == "INSERT"
    assert got.execution.attributes["started"] == STARTED * 1000
    assert got.execution.attributes["ended"] == ended
    assert got.times_ms == {ended or STARTED * 1000}


def test_executions_are_distinguished_by_query_id_or_else_time_and_user(read: Callable[..., Read]) -> None:
    def executions(*records: Json) -> int:
        return len({entity.key.identity for entity in read(*records).of(EntityType.OPERATION_EXECUTION)})

    assert executions(of_5_0(), of_5_0()) == 1
    assert executions(of_5_0(), of_5_0() | {"queryId": "a14d0e6cd2f7bd1c:3b0b9b1e00000001"}) == 2
    assert executions(of_2_2(), of_2_2()) == 1
    assert executions(of_2_2(), of_2_2() | {"timestamp": STARTED + 1}) == 2
    assert executions(of_2_2(), of_2_2() | {"user": "ben"}) == 2


def test_a_planners_zero_query_id_does_not_identify_a_run(read: Callable[..., Read]) -> None:
    planned = of_5_0() | {"queryId": "0:0"}
    got = read(planned, planned | {"queryText": "select 1", "hash": "f" * 32})
    assert len({entity.key.identity for entity in got.of(EntityType.OPERATION_EXECUTION)}) == 2


# -- The result of each record ----------------------------------------------------------------------------------------


def test_an_operation_has_its_attributes_and_key(read: Callable[..., Read]) -> None:
    operation = read(of_5_0()).operation
    assert operation.attributes == {
        "internalType": "impala_operation",
        "queryText": TEXT,
        "queryHash": "0123456789abcdef0123456789abcdef",
        "engineType": "IMPALA",
        "operationType": "INSERT",
        "inputs": ["sales.orders"],
        "outputs": ["sales.totals"],
        "tableLocation": "",
    }
    ends = tuple(table_key(HIVE_1, "sales", table).identity for table in ("totals", "orders"))
    assert operation.key == operation_key(IMPALA_1, TEXT, ends)
    assert not operation.ages


def test_an_execution_has_user_and_times_and_its_own_branch(read: Callable[..., Read]) -> None:
    got = read(of_5_0() | {"user": "impala/host.example@REALM"})
    assert got.execution.attributes == {
        "internalType": "impala_operation_execution",
        "engineType": "IMPALA",
        "operationType": "INSERT",
        "inputs": ["sales.orders"],
        "outputs": ["sales.totals"],
        "started": STARTED * 1000,
        "ended": ENDED * 1000,
        "principal": "impala",
        "queryId": "a14d0e6cd2f7bd1c:3b0b9b1e00000000",
        "status": "SUCCEEDED",
    }
    assert got.execution.ages
    assert got.execution.key.parent == got.operation.key
    assert not got.execution.key.tree_path.startswith(got.operation.key.tree_path)


def test_a_sub_operation_keeps_its_edge(read: Callable[..., Read]) -> None:
    got = read(of_5_0())
    (part,) = [
        part for part in got.of(EntityType.SUB_OPERATION) if part.attributes["edgeType"] == "PREDICATE"
    ]
    assert part.attributes["inputs"] == ["sales.orders.region", "sales.orders.year"]
    assert part.attributes["outputs"] == ["sales.totals.region", "sales.totals.total"]
    assert part.attributes["internalType"] == "impala_sub_operation"
    assert part.key.name == "sales.totals.region, sales.totals.total"
    assert part.key.parent == got.operation.key


def test_claimed_columns_have_the_metastores_identities(
    read: Callable[..., Read],
) -> None:
    claimed = {relation.ep1.identity for relation in read(of_5_0()).relations}
    assert column_key(table_key(HIVE_1, "SALES", "Orders"), "AMOUNT").identity in claimed


def test_a_record_covers_its_operation_with_everything_below(
    read: Callable[..., Read],
) -> None:
    got = read(of_5_0())
    path = got.operation.key.tree_path
    assert got.covers == [Covered(path, ENDED * 1000, reported=True)]
    assert all(relation.tree_path.startswith(path + "/") for relation in got.relations)
    assert len({relation.tree_path for relation in got.relations}) == len(got.relations)


def test_the_creation_time_of_a_table_is_on_its_relation(read: Callable[..., Read]) -> None:
    got = read(of_5_0())
    tables = [r for r in got.relations if EntityType.OPERATION in (r.ep1.type, r.ep2.type)]
    expected = {"tableCreateTime": CREATED * 1000, "tableType": "hive"}
    assert [relation.attributes for relation in tables] == [expected, expected]


def test_the_same_text_over_another_database_is_another_operation(
    read: Callable[..., Read],
) -> None:
    other = json.loads(json.dumps(of_5_0()).replace("sales.", "archive."))
    got = read(of_5_0(), other | {"queryText": TEXT})
    assert len({operation.key.identity for operation in got.of(EntityType.OPERATION)}) == 2


def test_a_setting_chooses_between_two_metastores(
    read: Callable[..., Read],
) -> None:
    other = Source(source_id("c", "HIVE-2"), HIVE, "HIVE-2", "c", ("thrift://other:9083",))
    estate = Estate("c", (*ESTATE.sources, other))
    claimed = {
        r.ep1.source.name for r in read(of_5_0(), estate=estate, metastore="thrift://other:9083").relations
    }
    assert claimed == {"HIVE-2", "IMPALA-1"}


# -- Quirks -----------------------------------------------------------------------------------------------------------


def select() -> Json:
    record = of_5_0() | {"queryText": "select sum(o.amount) from sales.orders o", "operationType": "SELECT"}
    record["edges"] = [{"sources": [3], "targets": [0], "edgeType": "PROJECTION"}]
    record["vertices"] = [
        {"id": 0, "vertexType": "COLUMN", "vertexId": "sum(o.x.amount)"},
        of_5_0()["vertices"][3],
    ]
    return record


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("label", ["sum(o.x.amount)", "a.b.c", "x"])
def test_targets_of_a_select_are_labels(read: Callable[..., Read], label: str, declared: bool) -> None:
    record = select()
    record["vertices"][0]["vertexId"] = label
    if not declared:
        del record["operationType"]
    got = read(record)
    assert got.tables == {"DATA_FLOW sales.orders -> operation"}
    assert got.columns == {"PROJECTION sales.orders.amount -> "}
    (part,) = got.of(EntityType.SUB_OPERATION)
    assert part.attributes["outputs"] == [label]
    assert got.operation.ages
    assert part.ages
    assert all(relation.ages for relation in got.relations)
    assert got.execution.attributes["status"] == ""


def test_a_ddl_without_edges_is_an_operation_and_an_execution(read: Callable[..., Read]) -> None:
    ddl = {"queryText": "create table sales.t (a int)", "timestamp": STARTED, "edges": [], "vertices": []}
    got = read(ddl)
    assert [entity.key.type for entity in got.entities] == [
        EntityType.OPERATION,
        EntityType.OPERATION_EXECUTION,
    ]
    assert got.operation.attributes["operationType"] == "CREATETABLE"
    assert got.relations == []


def test_a_literal_is_a_target_without_source(read: Callable[..., Read]) -> None:
    record = of_5_0()
    record["edges"] = [{"sources": [], "targets": [0], "edgeType": "PROJECTION"}]
    got = read(record)
    assert got.columns == {"PROJECTION  -> sales.totals.region"}
    assert got.tables == {"DATA_FLOW operation -> sales.totals"}


def test_a_duplicate_edge_counts_once(read: Callable[..., Read]) -> None:
    record = of_5_0()
    record["edges"] += record["edges"]
    assert read(record).records == read(of_5_0()).records


def test_a_known_creation_time_applies_to_all_vertices_of_the_table(
    read: Callable[..., Read],
) -> None:
    record = of_5_0()
    del record["vertices"][1]["metadata"]
    assert {
        r.attributes.get("tableCreateTime") for r in read(record).relations if r.ep2.type in TABLE_LEVEL
    } == {CREATED * 1000}


def test_a_vertex_may_spell_its_table_in_another_case(read: Callable[..., Read]) -> None:
    record = of_5_0()
    record["vertices"][1]["vertexId"] = "SALES.Orders.region"
    assert read(record).columns == read(of_5_0()).columns


def update() -> Json:
    record = of_5_0_in_full() | {"queryText": "update sales.totals set total = 0 where total < 0"}
    record |= {"operationType": "UPDATE"}
    record["edges"] = [
        {"sources": [], "targets": [2], "edgeType": "PROJECTION"},
        {"sources": [2], "targets": [0, 2], "edgeType": "PREDICATE"},
    ]
    return record


def test_an_update_of_a_column_by_itself_keeps_both_directions(read: Callable[..., Read]) -> None:
    got = read(update())
    assert got.columns == {
        "PROJECTION  -> sales.totals.total",
        "PREDICATE sales.totals.total -> sales.totals.region, sales.totals.total",
    }
    assert got.tables == {"CONTROL_FLOW sales.totals -> operation", "DATA_FLOW operation -> sales.totals"}


def test_an_insert_from_the_table_itself_keeps_both_directions(read: Callable[..., Read]) -> None:
    record = json.loads(json.dumps(of_5_0()).replace("sales.orders", "sales.totals"))
    assert read(record).tables == {
        "DATA_FLOW sales.totals -> operation",
        "DATA_FLOW operation -> sales.totals",
    }


def test_a_table_only_in_predicates_is_a_control_flow(read: Callable[..., Read]) -> None:
    record = of_5_0()
    record["vertices"][4]["vertexId"] = "sales.years.year"
    record["vertices"][4]["metadata"] = {"tableName": "sales.years", "tableCreateTime": CREATED}
    assert read(record).tables == {
        "DATA_FLOW sales.orders -> operation",
        "CONTROL_FLOW sales.years -> operation",
        "DATA_FLOW operation -> sales.totals",
    }


def test_a_predicate_before_a_projection_leaves_the_table_a_data_flow(read: Callable[..., Read]) -> None:
    record = of_5_0()
    record["edges"].reverse()
    assert "DATA_FLOW sales.orders -> operation" in read(record).tables


@pytest.mark.parametrize("metadata", [True, False])
def test_two_nested_fields_of_one_column_are_one_relation(read: Callable[..., Read], metadata: bool) -> None:
    record = of_5_0() if metadata else of_2_2()
    record["vertices"][1]["vertexId"] = "sales.orders.items.item.price"
    record["vertices"][3]["vertexId"] = "sales.orders.items.item.count"
    record["edges"] = [{"sources": [1, 3], "targets": [0], "edgeType": "PROJECTION"}]
    got = read(record)
    assert got.columns == {"PROJECTION sales.orders.items -> sales.totals.region"}
    (part,) = got.of(EntityType.SUB_OPERATION)
    assert part.attributes["inputs"] == ["sales.orders.items.item.count", "sales.orders.items.item.price"]


def test_a_table_name_with_a_dot_is_taken_from_the_metadata(read: Callable[..., Read]) -> None:
    record = of_5_0()
    record["vertices"][1] |= {"vertexId": "sales.odd.name.col", "metadata": {"tableName": "sales.odd.name"}}
    assert "PROJECTION sales.odd.name.col -> sales.totals.region" in read(record).columns


@pytest.mark.parametrize("name", ["sales.ice.committed_at", "sales.ice.SNAPSHOTS.committed_at"])
def test_an_iceberg_metadata_table_is_its_table(read: Callable[..., Read], name: str) -> None:
    record = of_5_0() | {"queryText": "select committed_at from sales.ice.snapshots"}
    record["vertices"][1] |= {
        "vertexId": name,
        "metadata": {"tableName": "sales.ice.SNAPSHOTS"},
    }
    got = read(record)
    assert "DATA_FLOW sales.ice -> operation" in got.tables
    assert not [each for each in got.columns if "committed_at" in each and "sales.ice.committed_at" in each]


def view() -> Json:
    record = of_5_0() | {"queryText": "create view sales.totals as select …", "operationType": "CREATEVIEW"}
    for place in (0, 2):
        record["vertices"][place]["metadata"] |= {"tableCreateTime": -1, "tableType": "view"}
    return record


def test_a_view_being_created_has_the_records_time(read: Callable[..., Read]) -> None:
    got = read(view())
    (output,) = [r for r in got.relations if r.ep1 == got.operation.key]
    assert output.attributes == {"tableCreateTime": ENDED * 1000, "tableType": "view"}
    assert output.ep2.type is EntityType.VIEW
    assert output.ep2.identity == table_key(HIVE_1, "sales", "totals").identity


def test_a_source_with_unknown_creation_has_no_time(read: Callable[..., Read]) -> None:
    record = of_5_0()
    for place in (1, 3, 4):
        record["vertices"][place]["metadata"]["tableCreateTime"] = -1
    got = read(record)
    (relation,) = [r for r in got.relations if r.ep2 == got.operation.key]
    assert relation.attributes == {"tableType": "hive"}


@pytest.mark.parametrize(
    ("uri", "path"),
    [("hdfs://nn:8020/data/Totals", "/data/Totals"), ("/data/Totals/", "/data/Totals")],
)
def test_the_location_of_a_created_table_is_a_hint(read: Callable[..., Read], uri: str, path: str) -> None:
    got = read(of_5_0() | {"tableLocation": uri}, default_fs="hdfs://nn:8020")
    (relation,) = [r for r in got.relations if r.type is RelationType.LOGICAL_PHYSICAL]
    assert name(relation.ep1) == "sales.totals"
    assert relation.ep2 == path_key(HDFS_1, path)
    assert relation.attributes == {"hint": True}
    assert relation.tree_path.startswith(got.operation.key.tree_path + "/")


@pytest.mark.parametrize(
    ("text", "hinted"),
    [
        ("create external table sales.ext (a int) location '/data/ext'", "sales.ext"),
        ("/* x */ CREATE TABLE IF NOT EXISTS `sales` . `ext` (a int)", "sales.ext"),
        ("create external table ext (a int) location '/data/ext'", None),
    ],
)
def test_the_location_hint_of_a_ddl_needs_a_qualified_table_name(
    read: Callable[..., Read], text: str, hinted: str | None
) -> None:
    got = read({"queryText": text, "timestamp": STARTED, "tableLocation": "hdfs://nn:8020/data/ext"})
    assert [name(r.ep1) for r in got.relations] == ([hinted] if hinted else [])
    assert got.operation.attributes["tableLocation"] == "hdfs://nn:8020/data/ext"


def test_secrets_are_masked_without_changing_the_operations_identity(read: Callable[..., Read]) -> None:
    text = "create table t tblproperties ('fs.s3a.secret.key'='hunter2') as select 1"
    got = read(
        of_5_0() | {"queryText": text, "tableLocation": "s3a://key:hunter2@bucket/x"}, b"password='hunter2'"
    )
    assert "hunter2" not in stored(got.records)
    assert "s3://bucket" in str(got.relations)
    assert MASK in stored([got.operation])
    other = read(of_5_0() | {"queryText": text.replace("hunter2", "other")})
    assert other.operation.key.identity != got.operation.key.identity


def test_a_long_text_is_truncated_and_identified_by_all_of_it(read: Callable[..., Read]) -> None:
    long = of_5_0() | {"queryText": TEXT + " -- " + "x" * (2 << 20)}
    got = read(long, long | {"queryText": long["queryText"] + "y"})
    first, second = got.of(EntityType.OPERATION)
    assert len(first.attributes["queryText"]) <= 1 << 20
    assert first.attributes["queryText"].endswith("[cut]")
    assert len(first.key.name) <= 2_000
    assert first.key.identity != second.key.identity


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("SELECT 1", "SELECT"),
        ("(select 1) union (select 2)", "SELECT"),
        ("-- insert into\n  /* upsert */ select 1", "SELECT"),
        ("with a as (select 1), b (x, y) as (select ')' from a) select * from b", "SELECT"),
        ("with a as (select 1) insert into t select * from a", "INSERT"),
        (
            "WITH a AS (select /* ( */ 1)\ninsert /* +shuffle */ overwrite t select * from a",
            "INSERT_OVERWRITE",
        ),
        ("insert into table t values (1)", "INSERT"),
        ("upsert into t select 1", "UPSERT"),
        ("update t set a = 1", "UPDATE"),
        ("delete from t where a = 1", "DELETE"),
        ("merge into t using s on t.a = s.a when matched then delete", "MERGE"),
        ("create table t as select 1", "CREATETABLE_AS_SELECT"),
        (
            "create external table t stored as parquet as (with a as (select 1) select 1)",
            "CREATETABLE_AS_SELECT",
        ),
        ("create table t (a int comment 'as select') stored as parquet", "CREATETABLE"),
        ("create or replace view v as select 1", "CREATEVIEW"),
        ("alter view v as select 1", "ALTERVIEW_AS"),
        ("compute stats t", ""),
        ("with", ""),
    ],
)
def test_the_operation_type_is_derived_from_the_text(read: Callable[..., Read], text: str, kind: str) -> None:
    record = {"queryText": text, "timestamp": STARTED, "edges": [], "vertices": []}
    assert read(record).operation.attributes["operationType"] == kind


def test_unknown_keys_and_any_key_order_are_accepted(read: Callable[..., Read]) -> None:
    record = of_5_0() | {"somethingNew": {"a": [1]}}
    assert read(dict(reversed(record.items()))).columns == read(of_5_0()).columns


# -- Broken records ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        pytest.param(b'{"queryText":"select 1', "the line is not JSON", id="half a record"),
        pytest.param(b"[1]", "not a JSON object but a list", id="no object"),
        pytest.param(b'"x"', "not a JSON object but a str", id="a text"),
        pytest.param(b"{}", "no queryText", id="an empty object"),
        pytest.param(b'{"queryText":"select 1"}', "neither endTime nor timestamp", id="no time"),
        pytest.param(
            b'{"queryText":"select 1","timestamp":true}', "neither endTime", id="no number for a time"
        ),
        pytest.param(
            b'{"queryText":"select 1","timestamp":1e400}', "neither endTime", id="a time without end"
        ),
        pytest.param(
            b'{"queryText":"select 1","timestamp":999999999999999999}', "neither", id="a time past all years"
        ),
        pytest.param(b"[" * 100_000, "the line is not JSON", id="nested without end"),
        pytest.param(b"\0" * 4096, "NUL bytes", id="zeros after a crash"),
    ],
)
def test_an_invalid_line_is_rejected_with_its_offset_and_skipped(
    read: Callable[..., Read], line: bytes, reason: str
) -> None:
    got = read(of_5_0(), line, of_2_2())
    (reject,) = got.rejects
    assert reason in reject.reason
    assert reject.offset == len(json.dumps(of_5_0())) + 1
    assert reject.place.endswith("impala_lineage_log_1.0-1700000000000")
    assert len(reject.sample) <= 200
    assert len(got.of(EntityType.OPERATION)) == 2


def test_blank_lines_are_ignored(read: Callable[..., Read]) -> None:
    assert read(b"", b"  \r").records == []


def test_nul_bytes_before_a_record_are_skipped(read: Callable[..., Read]) -> None:
    got = read(b"\0" * 512 + json.dumps(of_5_0()).encode())
    (reject,) = got.rejects
    assert reject.reason.startswith("512 NUL bytes skipped")
    assert got.operation.attributes["queryText"] == TEXT


def test_records_after_a_truncated_one_on_its_line_are_read(read: Callable[..., Read]) -> None:
    first, second = (
        json.dumps(of_5_0() | {"queryId": each}, separators=(",", ":")).encode() for each in ("a:1", "a:2")
    )
    got = read(b'{"queryText":"select 1 fr' + first + second)
    assert [each.offset for each in got.rejects] == [0]
    assert {each.attributes["queryText"] for each in got.operations} == {TEXT}
    assert len(got.of(EntityType.OPERATION_EXECUTION)) == 2


def test_raw_control_characters_in_a_text_are_accepted(read: Callable[..., Read]) -> None:
    line = json.dumps(of_5_0() | {"queryText": "select 1@"}).encode().replace(b"@", b"\x01\t")
    assert read(line).operation.attributes["queryText"] == "select 1\x01\t"


def test_bytes_that_are_not_utf_8_are_replaced(read: Callable[..., Read]) -> None:
    line = json.dumps(of_5_0() | {"queryText": "select '@'"}).encode().replace(b"@", b"\xff")
    assert read(line).operation.attributes["queryText"] == "select '\ufffd'"


def test_a_lone_surrogate_is_replaced(read: Callable[..., Read]) -> None:
    line = json.dumps(of_5_0() | {"queryText": "select '@'"}).encode().replace(b"@", b"\\ud83d")
    assert read(line).operation.attributes["queryText"] == "select '\ufffd'"


@pytest.mark.parametrize("era", [of_5_0, of_late_2015])
def test_a_lone_surrogate_in_a_name_is_replaced(read: Callable[..., Read], era: Callable[[], Json]) -> None:
    line = json.dumps(era()).replace("region", "\\ud83d" if era is of_5_0 else "\\\\ud83d").encode()
    names = [name(relation.ep1) for relation in read(line).relations]
    assert "sales.orders.\ufffd" in names
    assert all(text.encode() for text in names)


def _without_vertex(record: Json) -> None:
    del record["vertices"][4]


def _vertex_twice(record: Json) -> None:
    record["vertices"].append(record["vertices"][4] | {"vertexId": "sales.orders.other"})


def _vertex_without_name(record: Json) -> None:
    del record["vertices"][4]["vertexId"]


def _vertex_no_object(record: Json) -> None:
    record["vertices"][4] = "{half"


@pytest.mark.parametrize("damage", [_without_vertex, _vertex_twice, _vertex_without_name, _vertex_no_object])
def test_an_edge_with_a_missing_vertex_keeps_the_others_and_is_incomplete(
    read: Callable[..., Read], damage: Callable[[Json], None]
) -> None:
    record = of_5_0()
    damage(record)
    got = read(record)
    assert got.columns == {
        "PROJECTION sales.orders.region -> sales.totals.region",
        "PROJECTION sales.orders.amount -> sales.totals.total",
        "PREDICATE sales.orders.region -> sales.totals.region, sales.totals.total",
    }
    assert got.operation.attributes["incomplete"]
    incomplete = [part for part in got.of(EntityType.SUB_OPERATION) if "incomplete" in part.attributes]
    assert [part.attributes["edgeType"] for part in incomplete] == ["PREDICATE"]
    (output,) = [r for r in got.relations if r.ep1 == got.operation.key]
    assert output.attributes["incomplete"]
    (reject,) = got.rejects
    assert "without a vertex" in reject.reason
    assert reject.tree_path == got.operation.key.tree_path
    assert got.covers == []


def test_an_edge_of_an_unknown_type_is_rejected_and_the_others_kept(read: Callable[..., Read]) -> None:
    record = of_5_0()
    record["edges"][0]["edgeType"] = "MAGIC"
    got = read(record)
    assert len(got.columns) == 2
    assert "no known edgeType" in got.rejects[0].reason


def test_identical_duplicate_vertices_count_once(read: Callable[..., Read]) -> None:
    record = of_5_0()
    record["vertices"] += record["vertices"]
    got = read(record)
    assert got.rejects == []
    assert got.columns == read(of_5_0()).columns


def test_a_source_that_is_not_a_column_makes_the_operation_incomplete(
    read: Callable[..., Read],
) -> None:
    record = of_2_2()
    record["vertices"][1]["vertexId"] = "region"
    got = read(record)
    assert got.rejects == []
    assert got.operation.attributes["incomplete"]
    assert "PROJECTION  -> sales.totals.region" in got.columns


def test_an_invalid_location_is_rejected_and_the_rest_kept(read: Callable[..., Read]) -> None:
    got = read(of_5_0() | {"tableLocation": "hdfs://[nn/x"})
    assert "tableLocation" in got.rejects[0].reason
    assert len(got.columns) == 3


def test_a_line_over_the_limit_is_rejected(read: Callable[..., Read]) -> None:
    got = read(of_5_0() | {"queryText": "x" * 5_000}, of_5_0(), max_line_bytes=4_096)
    assert "longer than 4096 bytes" in got.rejects[0].reason
    assert got.operation.attributes["queryText"] == TEXT


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | st.just("a.b.c"),
    lambda children: (
        st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=3), children, max_size=3)
    ),
    max_leaves=5,
)
WHOLE = [era() for era in ERAS] + [
    select(),
    update(),
    view(),
    of_5_0() | {"tableLocation": "hdfs://nn:8020/x"},
]


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A record of any era with some keys removed, values of other types, and changed bytes."""
    record = copy.deepcopy(draw(st.sampled_from(WHOLE)))
    for _ in range(draw(st.integers(0, 4))):
        inner: Any = record
        while True:
            places = list(inner) if isinstance(inner, dict) else list(range(len(inner)))
            if not places:
                break
            place = draw(st.sampled_from(places))
            deeper = inner[place]
            if isinstance(deeper, dict | list) and draw(st.booleans()):
                inner = deeper
                continue
            if draw(st.booleans()):
                inner[place] = draw(JSON)
            else:
                del inner[place]
            break
    line = bytearray(json.dumps(record).encode())
    for _ in range(draw(st.integers(0, 2))):
        line[draw(st.integers(0, len(line) - 1))] = draw(st.integers(0, 255).filter(lambda byte: byte != 10))
    return bytes(line)


@given(lines=st.lists(damaged(), min_size=1, max_size=3))
def test_every_damaged_line_becomes_records_or_a_reject(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]
) -> None:
    directory = tmp_path_factory.mktemp("damaged")
    (directory / "impala_lineage_log_1.0-1").write_bytes(b"\n".join(lines) + b"\n")
    got = Read(read_all(extractor(directory)))
    read_anyhow = len(got.of(EntityType.OPERATION))
    assert read_anyhow + sum(not reject.tree_path for reject in got.rejects) >= len(lines)
    assert len(got.covers) <= read_anyhow
    for attributes in [r.attributes for r in got.entities] + [r.attributes for r in got.relations]:
        json.dumps(dict(attributes)).encode()


# -- Following the files ----------------------------------------------------------------------------------------------


def test_a_file_is_resumed_at_its_position_and_rotated_ones_are_found(tmp_path: Path) -> None:
    impala = extractor(tmp_path)
    first = tmp_path / "impala_lineage_log_1.0-1"
    first.write_text(json.dumps(of_5_0()) + "\n")
    (tmp_path / "impalad.INFO").write_text("not lineage\n")
    (tmp_path / "impala_lineage_log_1.0-2").write_text("")
    records = read_all(impala)
    (position,) = [record for record in records if isinstance(record, Position)]
    saved = {position.key: json.loads(json.dumps(position.value))}
    assert impala.plan(Positions(saved)) == Plan()
    with first.open("a") as file:
        file.write(json.dumps(of_2_2() | {"user": "ben"}) + "\n")
    got = Read(read_all(impala, impala.plan(Positions(saved))))
    assert got.execution.attributes["principal"] == "ben"


def test_an_unterminated_last_line_of_a_quiet_file_is_read_or_rejected(tmp_path: Path) -> None:
    impala = extractor(tmp_path)
    path = tmp_path / "impala_lineage_log_1.0-1"
    path.write_text(json.dumps(of_5_0()))
    later_ms = path.stat().st_mtime_ns // 1_000_000 + QUIET_MS + 1
    assert Read(read_all(impala, impala.plan(Positions(now_ms=0)))).records == []
    assert (
        Read(read_all(impala, impala.plan(Positions(now_ms=later_ms)))).operation.attributes["queryText"]
        == TEXT
    )
    path.write_text(json.dumps(of_5_0())[:-20])
    assert len(Read(read_all(impala, impala.plan(Positions(now_ms=later_ms + 60_000)))).rejects) == 1


def test_many_records_are_read_in_bounded_splits(tmp_path: Path) -> None:
    line = json.dumps(of_5_0()) + "\n"
    (tmp_path / "impala_lineage_log_1.0-1").write_text(line * 3_000)
    impala = extractor(tmp_path)
    (split,) = impala.plan(Positions()).splits
    assert len(list(impala.read(split))) < 20_100
    assert len(Read(read_all(impala)).covers) == 3_000


def test_rereading_a_split_yields_the_same_and_both_can_be_pickled(tmp_path: Path) -> None:
    (tmp_path / "impala_lineage_log_1.0-1").write_text(json.dumps(of_5_0()) + "\nbroken\n")
    impala = extractor(tmp_path)
    (split,) = impala.plan(Positions()).splits
    assert split.local
    sent, sent_split = pickle.loads(pickle.dumps((impala, split)))  # noqa: S301 (what Spark does with it)
    assert list(sent.read(sent_split)) == list(impala.read(split))


def test_the_extractor_is_a_push_extractor_and_names_its_directories(tmp_path: Path) -> None:
    registration = EXTRACTORS["impala_events"]
    assert (registration.mode, registration.source_type, registration.make) == (PUSH, IMPALA, ImpalaEvents)
    for host in ("a", "b"):
        (tmp_path / host / "lineage").mkdir(parents=True)
    impala = ImpalaEvents(IMPALA_1, ESTATE, (str(tmp_path / "*" / "lineage"),))
    assert impala.directories() == (str(tmp_path / "a" / "lineage"), str(tmp_path / "b" / "lineage"))


def test_check_names_the_files_to_follow(tmp_path: Path) -> None:
    (tmp_path / "impala_lineage_log_1.0-1").write_text(json.dumps(of_5_0()) + "\n")
    (line,) = extractor(tmp_path).check()
    assert line.startswith("1 file, the newest ")
    with pytest.raises(OSError, match="cannot list"):
        list(extractor(tmp_path / "missing").check())
