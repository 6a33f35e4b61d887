"""Inputs and outputs of operators and commands, in the forms that the versions of Spark print."""
# ruff: noqa: E501, S608 - plans as Spark prints them; none of it is run as SQL

from __future__ import annotations

import time
from typing import Any

import pytest

from extractors.spark.plan.names import location, without_partitions
from extractors.spark.plan.reading import PlanReading, read_plan
from extractors.spark.plan.reads import EndKind, PlanEnd, path_end
from extractors.spark.plan.text import read_text
from extractors.spark.plan.tree import walk
from tests.support.spark_logs import FORMATTED, command, insert, node, scan, start


def read(plan: dict[str, Any] | tuple[dict[str, Any], str]) -> PlanReading:
    return read_plan(start(0, plan))


def ends(reading: PlanReading) -> list[str]:
    return [f"{end.kind.value} {end.readable}" for end in reading.reads.ends]


def written(reading: PlanReading) -> list[str]:
    return [
        f"{write.operation} {write.end.kind.value} {write.end.readable}"
        for write in reading.writes
        if write.end
    ]


def test_a_write_by_gluten_has_no_unknown_operator() -> None:
    beside = node("WriteFiles", "WriteFiles", node("NoopLeaf", "NoopLeaf"))
    query = node("ProjectExecTransformer", "ProjectExecTransformer [id#1L]", scan("d.a"))
    files = node("VeloxColumnarWriteFiles", "VeloxColumnarWriteFiles", query, beside)
    assert read(node("Execute InsertIntoHadoopFsRelationCommand", "", files)).unknown_operators == ()


def test_the_shape_of_a_plan_ignores_comets_scan_implementation() -> None:
    name, columns = "CometScan [native_iceberg_compat] parquet sales.orders", "[id#1L,amount#2] Batched: true"
    plain = "CometScan parquet sales.orders"
    assert read(node(name, f"{name}{columns}")).shape == read(node(plain, f"{plain}{columns}")).shape
    assert read(node(name, f"{name}{columns}")).shape == ("Scan(id,amount)",)


def test_a_literal_resembling_a_comet_scan_is_unchanged() -> None:
    texts = [f"Filter (a#1 = Scan {how}x)" for how in ("[native_y] ", "")]
    (one,), (other,) = (walk(node("Filter", text)) for text in texts)
    assert [one.text, other.text] == texts


# -- Reads ----------------------------------------------------------------------------------------------------------

_LONG = "file:/home/u/workspace/a/very/long/name/of/a/directory/that/goes/on"


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        (node("Scan parquet spark_catalog.sales.orders"), ["table sales.orders"]),
        (node("Scan orc sales.orders"), ["table sales.orders"]),
        (node("PhotonScan parquet main.sales.orders"), ["table main.sales.orders"]),
        (node("GpuScan parquet ", location="InMemoryFileIndex(1 paths)[s3a://b/x]"), ["path s3a://b/x"]),
        (node("Scan csv ", "FileScan csv [a#1] Batched: false, Format: CSV, Location: InMemoryFileIndex[file:/x/in.csv], "
              "PartitionFilters: [], PushedFilters: []"), ["path file:/x/in.csv"]),
        (node("Scan parquet ", location="InMemoryFileIndex(2 paths)[hdfs://nn/t/ds=1/h=2, hdfs://nn/t/ds=1/h=3]"),
         ["path hdfs://nn/t"]),
        (node("Scan hive spark_catalog.d.t1", "Scan hive spark_catalog.d.t1 [i#1], HiveTableRelation "
              "[`spark_catalog`.`d`.`t1`, org.apache.X, Data Cols: [i#1], Partition Cols: []]"), ["table d.t1"]),
        (node("HiveTableScan", "HiveTableScan [i#1], HiveTableRelation `d`.`t2`, org.apache.X, [i#1]"), ["table d.t2"]),
        (node("HiveTableScan", "HiveTableScan [i#1], MetastoreRelation d, t3"), ["table d.t3"]),
        (node("BatchScan parquet file:/tmp/x"), ["path file:/tmp/x"]),
        (node("BatchScan parquet file:/tmp/x,file:/tmp/y"), ["path file:/tmp/x", "path file:/tmp/y"]),
        (node("BatchScan local.db.t"), ["table local.db.t"]),
        (node("BatchScan", "BatchScan[id#1L, v#2] local.db.t [filters=]"), ["table local.db.t"]),
        (node("BatchScan", "BatchScan[a#1] CSVScan DataFilters: [], Format: csv, Location: InMemoryFileIndex[file:/x], "
              "PartitionFilters: [], PushedFilers: [], ReadSchema: struct<a:string>"), ["path file:/x"]),
        (node("Scan JDBCRelation(T9) [numPartitions=1] "), ["jdbc T9"]),
        (node("Scan Kudu impala::sales.orders"), ["table sales.orders"]),
        (node("Scan HiveAcidRelation(org.apache.spark.sql.SparkSession@1f,sales.orders,Map())"), ["table sales.orders"]),
        (node("FileSourceScanExecTransformer parquet sales.orders"), ["table sales.orders"]),
        (node("CometNativeScan parquet sales.orders"), ["table sales.orders"]),
        (node("CometScan [native_datafusion] parquet sales.orders"), ["table sales.orders"]),
        (node("NativeParquetScan sales.orders"), ["table sales.orders"]),
        (node("IcebergScanTransformer local.sales.orders"), ["table local.sales.orders"]),
        (node("Scan JDBCRelation((select a, b from t) x) [numPartitions=4] "), ["query (select a, b from t) x"]),
        (node("Scan KafkaRelation(strategy=Subscribe[in1, in2], start=EarliestOffsetRangeLimit)"),
         ["topic in1", "topic in2"]),
        (node("InMemoryTableScan", "", node("Scan parquet spark_catalog.d.cached")), ["table d.cached"]),
        (node("Scan In-memory table cc", "", node("Scan parquet spark_catalog.d.cached")), ["table d.cached"]),
        (node("Scan ExistingRDD", "", node("Scan parquet spark_catalog.d.below")), ["table d.below"]),
        (node("Scan parquet ", location="InMemoryFileIndex(1 paths)[hdfs://nn/a,/b/c]"), ["path hdfs://nn/a,/b/c"]),
        (node("Filter", "", node("Subquery", "", scan("d.inner")), scan("d.outer")), ["table d.inner", "table d.outer"]),
        (node("Scan"), []),
        (node("Scan ExistingRDD"), []),
        (node("Scan OneRowRelation"), []),
        (node("LocalTableScan"), []),
        (node("Range"), []),
        (node("Scan ExistingRDD Delta Table State #9 - abfss://c@a/t/_delta_log", "", scan("d.none")), []),
        (node("Scan json ", location="InMemoryFileIndex(1 paths)[abfss://c@a/t/_delta_log/0.json]"), []),
    ],
)  # fmt: skip
def test_a_scan_reads_its_table_or_path(operator: dict[str, Any], expected: list[str]) -> None:
    reading = read(operator)
    assert ends(reading) == expected
    assert reading.reads.complete
    assert not reading.reads.unknown


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        (node("Scan parquet ", location="InMemoryFileIndex(7 paths)[hdfs://nn/a, hdfs://nn/b, ...]"),
         ["path hdfs://nn/a", "path hdfs://nn/b"]),
        (node("Scan parquet ", f"FileScan parquet [] Location: InMemoryFileIndex(2 paths)[{_LONG}..., PartitionFilters: []"),
         []),
        (node("Scan parquet ", "FileScan parquet [id#1L] Batched: true"), []),
        (node("Scan ElasticsearchRelation(Map(es.resource -> logs),x,None)"), []),
        (node("BatchScan", "BatchScan[a#1] class com.acme.Table"), []),
    ],
)  # fmt: skip
def test_a_truncated_or_redacted_source_is_incomplete(operator: dict[str, Any], expected: list[str]) -> None:
    reading = read(operator)
    assert ends(reading) == expected
    assert not reading.reads.complete


def test_a_path_truncated_in_the_tree_is_taken_from_the_operators_block() -> None:
    tree = node(
        "BatchScan",
        f"BatchScan[a#1] CSVScan Format: csv, Location: InMemoryFileIndex[{_LONG}..., PartitionFilters: []",
    )
    text = f"{FORMATTED}BatchScan (1)\n\n\n(1) BatchScan\nOutput [1]: [a#1]\nLocation: InMemoryFileIndex[{_LONG}/more]\n\n"
    assert ends(read((tree, text))) == [f"path {_LONG}/more"]
    # If two scans have the same name, their blocks cannot be told apart.
    twice = f"{FORMATTED}Union (3)\n:- BatchScan (1)\n+- BatchScan (2)\n\n\n(1) BatchScan\nLocation: InMemoryFileIndex[{_LONG}/1]\n\n"
    assert ends(read((tree, twice))) == []


CACHED = (
    f"{FORMATTED}Execute InsertIntoHadoopFsRelationCommand (5)\n+- Scan In-memory table c (1)\n"
    "      +- InMemoryRelation (2)\n            +- * ColumnarToRow (4)\n               +- Scan parquet d.cached (3)\n\n\n"
    "(1) Scan In-memory table c\nOutput [1]: [a#1]\n\n(2) InMemoryRelation\nArguments: [a#1], StorageLevel(disk)\n\n"
    "(3) Scan parquet d.cached\nOutput [1]: [a#1]\nLocation: InMemoryFileIndex [hdfs://nn/cached]\n\n"
    "(4) ColumnarToRow\nInput [1]: [a#1]\n\n(5) Execute InsertIntoHadoopFsRelationCommand\nInput: []\n\n"
)


@pytest.mark.parametrize(
    ("text", "expected", "reasons"),
    [
        pytest.param(CACHED, ["table d.cached"], (), id="the text has it"),
        pytest.param("", [], ("unknown_input",), id="there is no text"),
        pytest.param(
            CACHED.replace("      +- InMemoryRelation (2)\n            +- * ColumnarToRow (4)\n", "").replace(
                "               +- Scan parquet d.cached (3)\n", ""
            ),
            [],
            ("unknown_input",),
            id="nor has the text",
        ),
        pytest.param(
            CACHED.replace("Scan parquet d.cached", "Scan ExistingRDD"), [], (), id="rows of the program"
        ),
    ],
)
def test_a_cached_plan_missing_in_the_tree_is_read_from_the_text(
    text: str, expected: list[str], reasons: tuple[str, ...]
) -> None:
    plan = insert("hdfs://nn/o", node("Scan In-memory table c", "Scan In-memory table c [a#1]"))
    reads = read((plan, text)).reads
    assert [f"{end.kind.value} {end.readable}" for end in reads.ends] == expected
    assert tuple(reason.name.lower() for reason in reads.reasons) == reasons


def test_a_cached_plan_of_any_depth_is_read() -> None:
    depth = 3_000
    indents = [f"{' ' * (3 * level + 6)}+- Project ({level + 3})" for level in range(depth)]
    last = f"{' ' * (3 * depth + 6)}+- Scan parquet d.cached ({depth + 3})"
    head = ["Execute InsertIntoHadoopFsRelationCommand (1)", "+- InMemoryTableScan (2)"]
    text = FORMATTED + "\n".join([*head, *indents, last]) + "\n\n\n"
    reads = read((insert("hdfs://nn/o", node("InMemoryTableScan")), text)).reads
    assert [f"{end.kind.value} {end.readable}" for end in reads.ends] == ["table d.cached"]


def test_the_initial_plan_is_read_and_each_table_listed_once() -> None:
    plan = node(
        "AdaptiveSparkPlan",
        "AdaptiveSparkPlan isFinalPlan=false",
        node("Union", "", scan("d.a"), scan("d.a")),
    )
    assert ends(read(plan)) == ["table d.a"]


@pytest.mark.parametrize(
    ("printed", "paths", "complete"),
    [
        ("InMemoryFileIndex[file:/a, file:/b]", ("file:/a", "file:/b"), True),
        ("InMemoryFileIndex(1 paths)[file:/a[1], b]", ("file:/a[1], b",), True),
        ("InMemoryFileIndex [file:/a, ... 6 entries]", ("file:/a",), False),
        ("InMemoryFileIndex(3 paths)[file:/a, file:/b]", ("file:/a", "file:/b"), False),
        ("CatalogFileIndex[hdfs://nn/w/t]", ("hdfs://nn/w/t",), True),
        ("PreparedDeltaFileIndex(1 paths)[abfss://c@a/t/x", (), False),
    ],
)
def test_every_printed_form_of_a_location_is_parsed(
    printed: str, paths: tuple[str, ...], *, complete: bool
) -> None:
    found = location(printed)
    assert found is not None
    assert (found.paths, found.complete) == (paths, complete)


@pytest.mark.parametrize(
    ("path", "above"),
    [
        ("hdfs://nn/t/ds=1/h=2", "hdfs://nn/t"),
        ("/t/ds=2026-01-01/", "/t"),
        ("/a=b", "/a=b"),
        ("/t/ds=1/part-0.parquet", "/t/ds=1/part-0.parquet"),
        ("s3a://b/k=v", "s3a://b"),
        ("/t/=x", "/t/=x"),
    ],
)
def test_partition_directories_are_stripped_from_a_path(path: str, above: str) -> None:
    assert without_partitions(path) == above


@pytest.mark.parametrize(
    ("path", "read"),
    [
        ("file:/w/in/part-00001-d357abad-c66d-4c04-9e6d-480d4586310f-c000.csv", "file:/w/in"),
        ("/w/in/ds=1/part-00002-ca95c005-a10b-4c81-b273-971d83a1a372.c000.csv.gz", "/w/in"),
        ("/w/in/part-r-00003", "/w/in"),
        ("/w/in/part-2024.csv", "/w/in/part-2024.csv"),
        ("/w/in/part-00001/x.csv", "/w/in/part-00001/x.csv"),
    ],
)
def test_a_part_file_counts_as_its_directory(path: str, read: str) -> None:
    assert path_end(path) == PlanEnd(EndKind.PATH, read)


# -- Writes ---------------------------------------------------------------------------------------------------------

_SERDE = "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"
_FS = "Execute InsertIntoHadoopFsRelationCommand"


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        (insert("file:/x/out", mode="Append"), ["INSERT_INTO path file:/x/out"]),
        (insert("s3a://b/out", mode="Overwrite"), ["INSERT_OVERWRITE path s3a://b/out"]),
        (insert("hdfs://nn/w/t", table="d.t", mode="Append"), ["INSERT_INTO table d.t"]),
        (node(_FS, f"{_FS} file:/w/p, [ds=2026-01-01], false, [ds#4], Parquet, [path=file:/w/p], Overwrite, "
              f"`spark_catalog`.`d`.`p`, {_SERDE}, org.apache.spark.CatalogFileIndex(file:/w/p), [id, ds]"),
         ["INSERT_OVERWRITE table d.p"]),
        (node(_FS, f"{_FS} file:/x.orc, false, ORC, Map(path -> x.orc), ErrorIfExists, [a, b]"),
         ["INSERT_INTO path file:/x.orc"]),
        (node(_FS, f"{_FS} hdfs://nn/w/t, false, Parquet, Map(), Append, CatalogTable(\nDatabase: d\nTable: t\nOwner: x), [a]"),
         ["INSERT_INTO table d.t"]),
        (node("Execute InsertIntoHiveTable", "Execute InsertIntoHiveTable `spark_catalog`.`d`.`h`, org.X, [p=Some(1)], true, "
              "false, [id], Hive, HiveTempPath(file:/w/h)"), ["INSERT_OVERWRITE table d.h"]),
        (node("Execute InsertIntoHiveTable", "Execute InsertIntoHiveTable `d`.`h`, org.X, false, false, [id]"),
         ["INSERT_INTO table d.h"]),
        (node("Execute InsertIntoHiveDirCommand", "Execute InsertIntoHiveDirCommand true, Storage(Location: /x, Serde Library: "
              "org.X), true, [id]"), ["INSERT_OVERWRITE_DIRECTORY path file:/x"]),
        (node("Execute InsertIntoHiveDirCommand", "Execute InsertIntoHiveDirCommand false, Storage(Location: /x, Serde Library: "
              "org.X), true, [id]"), ["INSERT_OVERWRITE_DIRECTORY path /x"]),
        (command("InsertIntoDataSourceDirCommand", "Storage(Location: hdfs://nn/x), parquet, true"),
         ["INSERT_OVERWRITE_DIRECTORY path hdfs://nn/x"]),
        (node("Execute CreateDataSourceTableAsSelectCommand", "Execute CreateDataSourceTableAsSelectCommand `final`, "
              "Overwrite, [a, b]"), ["CREATETABLE_AS_SELECT table final"]),
        (node("Execute OptimizedCreateHiveTableAsSelectCommand", "Execute OptimizedCreateHiveTableAsSelectCommand [Database: d, "
              "TableName: t3]"), ["CREATETABLE_AS_SELECT table d.t3"]),
        (node("Execute CreateHiveTableAsSelectCommand", "Execute CreateHiveTableAsSelectCommand [Database:d}, TableName: t2, "
              "InsertIntoHiveTable]"), ["CREATETABLE_AS_SELECT table d.t2"]),
        (command("CreateDataSourceTableAsSelectCommand", "`spark_catalog`.`d`.`t`, ErrorIfExists, [id]"),
         ["CREATETABLE_AS_SELECT table d.t"]),
        (command("SaveAsV1TableCommand", "`d`.`t6`, Overwrite, Project [id#1L]"), ["CREATETABLE_AS_SELECT table d.t6"]),
        (command("LoadDataCommand", "`spark_catalog`.`d`.`t`, hdfs://nn/x, false, true"), ["LOAD table d.t"]),
        (command("SaveIntoDataSourceCommand", "org.apache.spark.sql.execution.datasources.jdbc.JdbcRelationProvider@45b55ede, "
                 "[url=*********(redacted), dbtable=T9], Overwrite"), ["INSERT_OVERWRITE jdbc T9"]),
        # A value ends before the name of the next option, whatever the value contains.
        (command("SaveIntoDataSourceCommand", "x.jdbc.J@1, [url=***, dbtable=[dbo].[Orders], driver=x], Overwrite"),
         ["INSERT_OVERWRITE jdbc dbo.Orders"]),
        (command("SaveIntoDataSourceCommand", 'x.jdbc.J@1, [dbTable="S"."My, T", url=u], Append'),
         ["INSERT_INTO jdbc S.My, T"]),
        (command("SaveIntoDataSourceCommand", "x.F@1, [path=/data/a(b)/c, header=true], Append"),
         ["INSERT_INTO path /data/a(b)/c"]),
        (command("SaveIntoDataSourceCommand", "x.F@1, Map(header -> true, path -> /data/a]b,c), Overwrite"),
         ["INSERT_OVERWRITE path /data/a]b,c"]),
        (command("SaveIntoDataSourceCommand", "x.F@1, [path=/data/x, a:b=c], Append"), ["INSERT_INTO path /data/x"]),
        (command("SaveIntoDataSourceCommand", "x.jdbc.J@1, [url=, dbtable=t, password=p], Append"), ["INSERT_INTO jdbc t"]),
        (command("SaveIntoDataSourceCommand", "kafka.K@1, [topic=, kafka.bootstrap.servers=h:1], Append"), []),
        (command("SaveIntoDataSourceCommand", "net.snowflake.spark.snowflake.DefaultSource@1, [dbtable=T9], Overwrite"), []),
        (command("WriteIntoDeltaCommand", "OutputSpec(dbfs:/w/t,Map(),Vector(id#1L))"), ["INSERT_INTO path dbfs:/w/t"]),
        (node("Execute GpuInsertIntoHiveTable", "Execute GpuInsertIntoHiveTable `d`.`h`, org.X, false, false, [id]"),
         ["INSERT_INTO table d.h"]),
        (node("GpuExecute GpuMergeIntoCommand", "GpuExecute GpuMergeIntoCommand SubqueryAlias s, SubqueryAlias t, "
              "`spark_catalog`.`d`.`t`, serde, Delta[version=3, s3a://b/t], (id#1 = id#2)"), ["MERGE table d.t"]),
        (node("VeloxIcebergAppendData", "VeloxIcebergAppendData IcebergWrite(table=local.db.t, format=PARQUET)"),
         ["INSERT_INTO table local.db.t"]),
        (node("NativeParquetInsert d.h"), ["INSERT_INTO table d.h"]),
        ((node("ExecutedCommand"), "== Parsed Logical Plan ==\nx\n\n== Optimized Logical Plan ==\n"
          "InsertIntoHadoopFsRelationCommand hdfs://nn/x, false, Parquet, Map(path -> hdfs://nn/x), Append, [id]\n"
          "+- Relation[id#1L] parquet\n\n== Physical Plan ==\nExecutedCommand\n"), ["INSERT_INTO path hdfs://nn/x"]),
        (command("SaveIntoDataSourceCommand", "org.apache.spark.sql.delta.sources.DeltaDataSource@1, [path=s3a://b/t], Append"),
         ["INSERT_INTO path s3a://b/t"]),
        (node("AppendData", "AppendData org.X$$Lambda$1/0x7f@1, IcebergWrite(table=local.db.t, format=PARQUET)"),
         ["INSERT_INTO table local.db.t"]),
        (node("ReplaceData", "ReplaceData IcebergWrite(table=local.db.t, format=PARQUET)"), ["MERGE table local.db.t"]),
        (node("OverwriteByExpression noop-table", "OverwriteByExpression org.X$$Lambda$1/0x7f@1, NoopWrite$@1"), []),
        (node("AtomicReplaceTableAsSelect", "AtomicReplaceTableAsSelect [n#1L], com.databricks.sql.UnityCatalogV2Proxy@4a023a26, "
              "default.people, Relation spark_catalog.default.p2[id#68L] parquet, TableSpec(Map(),None), [], false"),
         ["CREATETABLE_AS_SELECT table default.people"]),
        (node("Execute CreateViewCommand", "Execute CreateViewCommand `d`.`v`, SELECT a, b FROM t, false, true, PersistedView"),
         ["CREATEVIEW view d.v"]),
        (command("AlterViewAsCommand", "`spark_catalog`.`d`.`v`, select id from d.t, true"), ["ALTERVIEW_AS view d.v"]),
        (command("CreateViewCommand", "`tv`, false, true, LocalTempView, UNSUPPORTED, true"), []),
        (command("CreateViewCommand", "`gv`, select 1, false, true, GlobalTempView, UNSUPPORTED, true"), []),
        (command("CreateDataSourceTableCommand", "`spark_catalog`.`d`.`t`, false"), []),
    ],
)  # fmt: skip
def test_a_command_writes_its_target(
    plan: dict[str, Any] | tuple[dict[str, Any], str], expected: list[str]
) -> None:
    assert written(read(plan)) == expected


@pytest.mark.parametrize(
    ("plan", "operation", "subject"),
    [
        (command("CreateDataSourceTableCommand", "`spark_catalog`.`d`.`t`, false"), "CREATETABLE", "d.t"),
        (command("AlterTableRenameCommand", "`spark_catalog`.`d`.`a`, `d`.`b`, false"), "ALTERTABLE_RENAME", "d.a"),
        (command("TruncateTableCommand", "`spark_catalog`.`d`.`t`"), "TRUNCATETABLE", "d.t"),
        (command("AlterTableAddPartitionCommand", "`d`.`t`, [...]"), "ALTERTABLE_ADD_PARTITION", "d.t"),
        (node("CreateNamespace", "CreateNamespace V2SessionCatalog(spark_catalog), [sales], false"), "CREATENAMESPACE", "sales"),
        (node("DropTable", "DropTable V2SessionCatalog(spark_catalog), d.t, false, false, org.X$$Lambda$1/0x7@1"),
         "DROPTABLE", "d.t"),
    ],
)  # fmt: skip
def test_commands_without_data_flow_are_named_by_their_operation(
    plan: dict[str, Any] | tuple[dict[str, Any], str], operation: str, subject: str
) -> None:
    [write] = read(plan).writes
    assert (write.operation, write.subject, write.end) == (operation, subject, None)


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ("hdfs://nn/x, false, true", "hdfs://nn/x"),
        ("/in/a,b.csv, false, false", "/in/a,b.csv"),
        ("/in/a, (b].csv, true, false, [ds=1]", "file:/in/a, (b].csv"),
    ],
)
def test_a_load_reads_its_path_whatever_characters_it_has(arguments: str, path: str) -> None:
    reading = read(command("LoadDataCommand", f"`spark_catalog`.`d`.`t`, {arguments}"))
    assert (written(reading), ends(reading)) == (["LOAD table d.t"], [f"path {path}"])


def test_a_multi_insert_writes_all_its_targets() -> None:
    both = node(
        "Union", "", insert("/w/a", scan("d.s"), table="d.a"), insert("/w/b", scan("d.s"), table="d.b")
    )
    assert written(read(both)) == ["INSERT_OVERWRITE table d.a", "INSERT_OVERWRITE table d.b"]
    assert ends(read(both)) == ["table d.s"]


@pytest.mark.parametrize(
    ("arguments", "statement"),
    [
        ("`spark_catalog`.`d`.`v`, select a,\n b from t, false, true, PersistedView, COMPENSATION, true", "select a,\n b from t"),
        ("`d`.`v`, [(x,None), (y,Some(c))], WITH q AS (select 1) select * from q, false, false, PersistedView",
         "WITH q AS (select 1) select * from q"),
        ("`d`.`v`, a comment, [k=v], (select 1) union (select 2), true, false, PersistedView", "(select 1) union (select 2)"),
        ("`d`.`v`, select ', false, true, PersistedView' x from t, false, false, PersistedView, COMPENSATION, true",
         "select ', false, true, PersistedView' x from t"),
    ],
)  # fmt: skip
def test_the_statement_of_a_view_is_found_among_its_arguments(arguments: str, statement: str) -> None:
    [write] = read(command("CreateViewCommand", arguments)).writes
    assert write.query_text == statement


# -- The logical plan below a command -------------------------------------------------------------------------------

RELATION = (
    "({n}) LogicalRelation\nArguments: parquet, [id#1L], `spark_catalog`.`d`.`{table}`, {serde}, false\n\n"
)


def _view(tree: str, blocks: str) -> PlanReading:
    text = (
        f"{FORMATTED}Execute CreateViewCommand (1)\n   +- CreateViewCommand (2)\n{tree}\n\n"
        "(1) Execute CreateViewCommand\nOutput: []\n\n"
        "(2) CreateViewCommand\nArguments: `spark_catalog`.`d`.`v`, select 1, false, true, PersistedView, COMPENSATION, true\n\n"
        f"{blocks}"
    )
    return read((node("Execute CreateViewCommand"), text))


def _named(reading: PlanReading) -> list[str]:
    return [f"{end.kind.value} {end.readable}" for end in reading.named.ends]


def test_a_view_reads_the_views_it_names_and_not_their_tables() -> None:
    reading = _view(
        "         +- Union (9)\n            :- View (4)\n            :  +- LogicalRelation (3)\n"
        "            +- LogicalRelation (5)\n",
        RELATION.format(n=3, table="behind", serde=_SERDE)
        + "(4) View\nArguments: `spark_catalog`.`d`.`other`, [id#1L]\n\n"
        + RELATION.format(n=5, table="beside", serde=_SERDE)
        + "(9) Union\nArguments: false, false\n\n",
    )
    assert _named(reading) == ["view d.other", "table d.beside"]


@pytest.mark.parametrize("name", ["`tv`", "`global_temp`.`gv`"])
def test_a_temporary_view_is_replaced_by_its_tables(name: str) -> None:
    reading = _view(
        "         +- View (4)\n            +- LogicalRelation (3)\n",
        RELATION.format(n=3, table="behind", serde=_SERDE) + f"(4) View\nArguments: {name}, [id#1L]\n\n",
    )
    assert _named(reading) == ["table d.behind"]


def test_a_view_over_a_path_without_a_table_is_incomplete() -> None:
    reading = _view(
        "         +- LogicalRelation (3)\n", "(3) LogicalRelation\nArguments: parquet, [id#1L], false\n\n"
    )
    assert _named(reading) == []
    assert not reading.named.complete


def _extended(*below: str) -> PlanReading:
    arguments = "`spark_catalog`.`d`.`v`, select * from a, false, false, PersistedView, COMPENSATION, true"
    plan = "\n".join((f"CreateViewCommand {arguments}", *below))
    text = "\n\n".join(
        f"== {each} Plan ==\n{plan}" for each in ("Analyzed Logical", "Optimized Logical", "Physical")
    )
    return read((node("Execute CreateViewCommand"), text))


def test_in_extended_mode_the_optimized_plan_names_the_sources_of_a_view() -> None:
    reading = _extended(
        "   +- Join Inner, (id#1L = id#2L)",
        "      :- SubqueryAlias spark_catalog.d.other",
        "      :  +- View (`spark_catalog`.`d`.`other`, [id#1L])",
        "      :     +- Relation spark_catalog.d.behind[id#1L] parquet",
        "      :- HiveTableRelation [`spark_catalog`.`d`.`h`, org.X, Data Cols: [id#3L]]",
        "      +- Relation spark_catalog.d.a[id#2L,name#3] parquet",
    )
    assert written(reading) == ["CREATEVIEW view d.v"]
    assert _named(reading) == ["view d.other", "table d.h", "table d.a"]
    assert reading.named.complete


def test_in_extended_mode_an_unknown_line_makes_the_reads_incomplete() -> None:
    reading = _extended(
        "   +- Project [x", "      +- Relation spark_catalog.d.forged[id#1L] parquet", "y AS x#1]"
    )
    assert written(reading) == ["CREATEVIEW view d.v"]
    assert _named(reading) == []
    assert not reading.named.complete


# -- Forged text ----------------------------------------------------------------------------------------------------

FORGED = (
    "\n\n(3) LogicalRelation\nArguments: parquet, [id#1L], `spark_catalog`.`d`.`forged`, serde, false\n\n"
)


def test_a_literal_resembling_a_block_adds_no_read_and_no_write() -> None:
    literal = "concat(b, \n\n(3) Scan parquet spark_catalog.d.forged\n(4) Execute InsertIntoHiveTable\nArguments: `d`.`x`)"
    tree = insert("/w/b", node("Project", f"Project [{literal} AS b#9]", scan("d.a")), table="d.b")
    text = (
        f"{FORMATTED}Execute InsertIntoHadoopFsRelationCommand (3)\n+- Project (2)\n   +- Scan parquet spark_catalog.d.a (1)\n\n\n"
        f"(1) Scan parquet spark_catalog.d.a\nOutput [1]: [b#1]\n\n(2) Project\nOutput [1]: [{literal} AS b#9]\n\n"
        "(3) Execute InsertIntoHadoopFsRelationCommand\nArguments: /w/b\n\n"
    )
    reading = read((tree, text))
    assert ends(reading) == ["table d.a"]
    assert written(reading) == ["INSERT_OVERWRITE table d.b"]


def test_an_ambiguous_text_yields_only_the_name_in_the_command() -> None:
    text = (
        f"{FORMATTED}Execute CreateViewCommand (1)\n   +- CreateViewCommand (2)\n         +- LogicalRelation (3)\n\n\n"
        "(1) Execute CreateViewCommand\nOutput: []\n\n"
        f"(2) CreateViewCommand\nArguments: `spark_catalog`.`d`.`v`, select '{FORGED}' x from d.t, false, true, PersistedView\n\n"
        + RELATION.format(n=3, table="t", serde=_SERDE)
    )
    reading = read((node("Execute CreateViewCommand"), text))
    assert written(reading) == ["CREATEVIEW view d.v"]
    assert _named(reading) == []
    assert not reading.named.complete
    assert reading.writes[0].query_text == ""


def test_a_truncated_text_yields_only_the_commands_block() -> None:
    text = (
        f"{FORMATTED}Execute CreateViewCommand (1)\n   +- CreateViewCommand (2)\n         +- LogicalRelation (3)\n\n\n"
        "(1) Execute CreateViewCommand\nOutput: []\n\n"
        f"(2) CreateViewCommand\nArguments: `spark_catalog`.`d`.`v`, select '{FORGED}' ... 1439 more characters"
    )
    reading = read((node("Execute CreateViewCommand"), text))
    assert written(reading) == ["CREATEVIEW view d.v"]
    assert _named(reading) == []


def test_blocks_must_match_the_number_and_name_in_the_tree() -> None:
    text = read_text(
        f"{FORMATTED}Project (2)\n+- Scan parquet d.a (1)\n\n\n(1) Scan parquet d.b\nx\n\n(2) Project\nArguments: y\n"
    )
    assert [(each.number, each.name, each.arguments) for each in text.operators] == [
        (2, "Project", "y"),
        (1, "Scan parquet d.a", ""),
    ]
    assert text.verified


@pytest.mark.parametrize(
    "printed",
    ["[" * 200_000, "`a`." * 50_000, ", [" * 60_000, "\n(3) X" * 40_000, "/a=b" * 50_000, "a." * 100_000, "Database: d " * 20_000,
     "(" + " path=x" * 40_000],
    ids=["brackets", "quotes", "lists", "blocks", "partitions", "dots", "databases", "options"],
)  # fmt: skip
@pytest.mark.parametrize(
    "name",
    ["Execute InsertIntoHadoopFsRelationCommand", "Execute CreateViewCommand", "Execute SaveIntoDataSourceCommand",
     "AppendData", "DropTable", "Scan parquet ", "BatchScan", "Project"],
)  # fmt: skip
def test_reading_time_is_linear_in_text_length(name: str, printed: str) -> None:
    bare = name.removeprefix("Execute ")
    text = f"{FORMATTED}{name} (1)\n   +- {bare} (2)\n\n\n(1) {name}\n\n(2) {bare}\nArguments: {printed}\n"
    begun_s = time.process_time()
    read((node(name + printed, f"{name} {printed}", location=f"InMemoryFileIndex(3 paths)[{printed}"), text))
    read((node(name), text))
    # A linear scan takes a fraction of a second; a rescan from each position would take minutes.
    assert time.process_time() - begun_s < 5
