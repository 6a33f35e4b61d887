"""Each node that reads, writes or computes occurs in a plan of a real run, and is read without a flag there. If no
run has it, the table says so, and its operation is flagged."""

# ruff: noqa: E501 - plan nodes with all that they show

from __future__ import annotations

import json

import pytest

from extractors.spark.plan.kinds import PLAN_NODES, PlanNode
from extractors.spark.plan.reading import PlanReading, read_plan
from tests.support.plan_node_logs import NOT_RUN, WHY_NOT_RUN, executions_with, shown_in
from tests.support.spark_plans import commanded, flow, flows, op

RUN_HERE = ("Spark", "Delta", "Iceberg", "Hudi")
MOVING = ("reads", "writes", "computes")
RELATION = op("LogicalRelation", "Arguments: parquet, [id#1L, k#2], `spark_catalog`.`d`.`a`, false")


IN_DOUBT = {
    "CreateDeltaTableCommand": "of a clone, whose source prints as an object; CTAS runs it without an execution",
    "DeleteHoodieTableCommand": "its columns are told by an execution below it: see the tests of Hudi",
    "MergeIntoHoodieTableCommand": "its plan names neither target nor source: executions below it do",
    "ProjectAggregationBuffer": "a stream's source and sink in memory and on the console have no name",
    "RealTimeStreamScan": "as ProjectAggregationBuffer",
    "Scan org.apache.hudi.": "prints as a class and a hash",
    "StatefulStreamlineAggregate": "as ProjectAggregationBuffer",
    "StreamingDataSourceV2ScanRelation": "as ProjectAggregationBuffer",
    "WriteToMicroBatchDataSource": "as ProjectAggregationBuffer",
    "ContinuousScan": "a continuous stream reads from brokers, or from the source that makes rows up",
    "RestoreTableCommand": "an earlier version of the table itself becomes the newest: no columns are told",
    "WriteToContinuousDataSource": "as ContinuousScan",
    "WriteToDataSourceV2": "of a micro-batch, whose stream tells what it writes: see the tests of streams",
}


def named(nodes: list[PlanNode]) -> list[object]:
    return [pytest.param(each, id=f"{each.project} {each.name} {each.kind}") for each in nodes]


def test_the_table_names_the_log_that_shows_each_node() -> None:
    wrong = {
        (each.project, each.name, each.kind): (each.shown, found)
        for each in PLAN_NODES
        if each.shown.partition(": ")[0] != (found := shown_in(each))
    }
    assert wrong == {}


def test_the_table_explains_why_no_log_shows_a_node() -> None:
    found = [each.shown.partition(": ")[2] for each in PLAN_NODES if each.shown.startswith(f"{NOT_RUN}: ")]
    assert set(found) == set(WHY_NOT_RUN)
    without = [
        (each.project, each.name)
        for each in PLAN_NODES
        if each.project in RUN_HERE and each.carries in MOVING and each.shown == NOT_RUN
    ]
    assert without == []


def is_sure(each: PlanNode, reading: PlanReading) -> bool:
    """Return whether nothing in a plan is uncertain and the node contributed a result."""
    written = [*reading.columns, *([reading.result] if reading.result else [])]
    if reading.unknown_operators or not reading.reads.complete or not all(one.complete for one in written):
        return False
    if each.carries == "reads":
        return bool(reading.reads.ends or reading.named.ends)
    if each.carries == "writes":
        return any(write.end for write in reading.writes)
    return any(one.flows for one in written)


@pytest.mark.parametrize(
    "each",
    named([each for each in PLAN_NODES if each.carries in MOVING and not each.shown.startswith(NOT_RUN)]),
)
def test_a_node_from_a_real_run_is_read_without_a_flag(each: PlanNode) -> None:
    if each.name in IN_DOUBT:
        pytest.skip(IN_DOUBT[each.name])
    readings = [read_plan(event) for event in executions_with(each, each.shown)]
    assert any(is_sure(each, reading) for reading in readings), {
        reason for one in readings for written in one.columns for reason in written.reasons
    }


# fmt: off
ENDS = {
    ("Delta", "DeleteCommand", "command"): ("delta_delete", "`spark_catalog`.`out`.`delta_delete`", "out.delta_delete"),
    ("Delta", "DeltaDynamicPartitionOverwriteCommand", "command"): ("insert_overwrite_dynamically", "spark_catalog.out.insert_overwrite_dynamically", "out.insert_overwrite_dynamically"),
    ("Delta", "MergeIntoCommand", "command"): ("delta_merge", "`spark_catalog`.`out`.`delta_merge`", "out.delta_merge"),
    ("Delta", "Scan DeltaCDFRelation", "physical"): ("delta_changes", "spark_catalog.src.d", "src.d"),
    ("Delta", "UpdateCommand", "command"): ("delta_update", "`spark_catalog`.`out`.`delta_update`", "out.delta_update"),
    ("Hudi", "CreateHoodieTableAsSelectCommand", "command"): ("h_ctas", "CreateHoodieTableAsSelectCommand `spark_catalog`.`out`.`h_ctas`", "out.h_ctas"),
    ("Hudi", "InsertIntoHoodieTableCommand", "command"): ("h_insert", "spark_catalog.out.h", "out.h"),
    ("Hudi", "Scan HoodieBootstrapMORRelation", "physical"): ("moved_legacy_mor", "file:/SCRATCH/moved_mor", "file:/SCRATCH/moved_mor"),
    ("Hudi", "Scan HoodieBootstrapRelation", "physical"): ("moved_legacy_cow", "file:/SCRATCH/moved_cow", "file:/SCRATCH/moved_cow"),
    ("Hudi", "Scan MergeOnReadIncrementalRelation", "physical"): ("hudi_legacy_incremental_mor", "file:/SCRATCH/hudi_mor", "file:/SCRATCH/hudi_mor"),
    ("Hudi", "Scan MergeOnReadSnapshotRelation", "physical"): ("hudi_legacy_mor", "file:/SCRATCH/hudi_mor", "file:/SCRATCH/hudi_mor"),
    ("Hudi", "UpdateHoodieTableCommand", "command"): ("h_update", "Scan parquet spark_catalog.out.h", "out.h"),
    ("Iceberg", "ReplaceData", "logical"): ("iceberg_merge", "IcebergWrite(table=local.out.iceberg_merge", "local.out.iceberg_merge"),
    ("Iceberg", "ReplaceData", "physical"): ("merge", "IcebergWrite(table=local.out.merge,", "local.out.merge"),
    ("Iceberg", "WriteDelta", "physical"): ("merge_on_read", "local.out.merge_on_read (branch=null)", "local.out.merge_on_read"),
    ("Iceberg", "WriteDelta", "logical"): ("iceberg_merge_on_read", "local.out.iceberg_merge_on_read", "local.out.iceberg_merge_on_read"),
    ("Spark", "AppendData", "command"): ("iceberg_insert", "IcebergWrite(table=local.out.iceberg_insert", "local.out.iceberg_insert"),
    ("Spark", "AppendData", "logical"): ("iceberg_insert", "IcebergWrite(table=local.out.iceberg_insert", "local.out.iceberg_insert"),
    ("Spark", "AppendData", "physical"): ("iceberg_insert", "IcebergWrite(table=local.out.iceberg_insert", "local.out.iceberg_insert"),
    ("Spark", "AppendDataExecV1", "physical"): ("delta_setup", "src.d", "src.d"),
    ("Spark", "AtomicCreateTableAsSelect", "physical"): ("delta_update", "out.delta_update", "out.delta_update"),
    ("Spark", "AtomicReplaceTableAsSelect", "physical"): ("rtas", "out.rtas", "out.rtas"),
    ("Spark", "BatchScan", "physical"): ("iceberg_read", "BatchScan local.src.i", "local.src.i"),
    ("Spark", "CreateDataSourceTableAsSelectCommand", "command"): ("take_ordered", "`spark_catalog`.`out`.`take_ordered`", "out.take_ordered"),
    ("Spark", "CreateHiveTableAsSelectCommand", "command"): ("hive_ctas", "TableName: hive_ctas", "out.hive_ctas"),
    ("Spark", "CreateTableAsSelect", "command"): ("extended_iceberg_insert", "out.extended_iceberg_insert", "out.extended_iceberg_insert"),
    ("Spark", "CreateTableAsSelect", "physical"): ("w_ctas", "app.made", "app.made"),
    ("Spark", "DataSourceV2Relation", "logical"): ("iceberg_read", "local.src.i", "local.src.i"),
    ("Spark", "DeleteFromTable", "command"): ("iceberg_delete_all", "DeleteFromTable local.out.iceberg_delete_all", "local.out.iceberg_delete_all"),
    ("Spark", "DeleteFromTable", "physical"): ("iceberg_delete_all", "DeleteFromTable local.out.iceberg_delete_all", "local.out.iceberg_delete_all"),
    ("Spark", "DeleteFromTableWithFilters", "command"): ("extended_iceberg_delete_all", "local.out.extended_iceberg_delete_all", "local.out.extended_iceberg_delete_all"),
    ("Spark", "FileScan", "physical"): ("cost_grouping_sets", "Scan parquet spark_catalog.src.a", "src.a"),
    ("Spark", "HiveTableRelation", "logical"): ("hive_scan", "`spark_catalog`.`src`.`h`", "src.h"),
    ("Spark", "InsertIntoDataSourceCommand", "command"): ("t_write", "spark_catalog.src.jw", "src.jw"),
    ("Spark", "InsertIntoDataSourceDirCommand", "command"): ("source_dir", "/SCRATCH/source_dir", "/SCRATCH/source_dir"),
    ("Spark", "InsertIntoHadoopFsRelationCommand", "command"): ("take_ordered", "InsertIntoHadoopFsRelationCommand file:/SCRATCH/warehouse/out.db/take_ordered", "file:/SCRATCH/warehouse/out.db/take_ordered"),
    ("Spark", "InsertIntoHiveDirCommand", "command"): ("hive_dir", "/SCRATCH/hive_dir", "/SCRATCH/hive_dir"),
    ("Spark", "InsertIntoHiveTable", "command"): ("hive_ctas", "InsertIntoHiveTable `spark_catalog`.`out`.`hive_ctas`", "out.hive_ctas"),
    ("Spark", "LoadDataCommand", "command"): ("load_data", "`spark_catalog`.`out`.`load_data`", "out.load_data"),
    ("Spark", "LogicalRelation", "logical"): ("take_ordered", "`spark_catalog`.`src`.`a`", "src.a"),
    ("Spark", "MicroBatchScan", "physical"): ("", "local.src.orders", "local.src.orders"),
    ("Spark", "OverwriteByExpression", "command"): ("rtas", "IcebergWrite(table=out.rtas", "out.rtas"),
    ("Spark", "OverwriteByExpression", "physical"): ("rtas", "IcebergWrite(table=out.rtas", "out.rtas"),
    ("Spark", "OverwriteByExpressionExecV1", "physical"): ("insert_overwrite", "out.insert_overwrite", "out.insert_overwrite"),
    ("Spark", "OverwritePartitionsDynamic", "command"): ("insert_overwrite_dynamically", "IcebergWrite(table=local.out.insert_overwrite_dynamically", "local.out.insert_overwrite_dynamically"),
    ("Spark", "OverwritePartitionsDynamic", "physical"): ("insert_overwrite_dynamically", "IcebergWrite(table=local.out.insert_overwrite_dynamically", "local.out.insert_overwrite_dynamically"),
    ("Spark", "Relation", "logical"): ("cost_grouping_sets", "Relation spark_catalog.src.a", "src.a"),
    ("Spark", "RelationV2", "logical"): ("extended_iceberg_read", "local.src.i", "local.src.i"),
    ("Spark", "ReplaceData", "command"): ("iceberg_merge", "IcebergWrite(table=local.out.iceberg_merge", "local.out.iceberg_merge"),
    ("Spark", "ReplaceData", "physical"): ("iceberg_merge", "IcebergWrite(table=local.out.iceberg_merge", "local.out.iceberg_merge"),
    ("Spark", "ReplaceTableAsSelect", "command"): ("w_rtas", "app.made", "app.made"),
    ("Spark", "ReplaceTableAsSelect", "physical"): ("w_rtas", "app.made", "app.made"),
    ("Spark", "SaveAsV1TableCommand", "command"): ("distributed_sequence", "`out`.`distributed_sequence`", "out.distributed_sequence"),
    ("Spark", "SaveIntoDataSourceCommand", "command"): ("hudi_save_MERGE_ON_READ", "/SCRATCH/hudi_mor", "/SCRATCH/hudi_mor"),
    ("Spark", "Scan", "physical"): ("take_ordered", "Scan parquet spark_catalog.src.a", "src.a"),
    ("Spark", "Scan hive", "physical"): ("hive_scan", "Scan hive spark_catalog.src.h", "src.h"),
    ("Spark", "WriteDelta", "command"): ("iceberg_merge_on_read", "local.out.iceberg_merge_on_read", "local.out.iceberg_merge_on_read"),
    ("Spark", "WriteDelta", "physical"): ("iceberg_merge_on_read", "local.out.iceberg_merge_on_read", "local.out.iceberg_merge_on_read"),
}
"""Node that reads or writes → (a statement whose plan shows it, the plan's text for the table, navlin's name for
the table)."""
# fmt: on


def test_each_node_that_reads_or_writes_has_an_end_to_compare() -> None:
    shown = {
        (each.project, each.name, each.kind)
        for each in PLAN_NODES
        if each.carries in ("reads", "writes") and not each.shown.startswith(NOT_RUN)
    }
    assert set(ENDS) == {key for key in shown if key[1] not in IN_DOUBT}


@pytest.mark.parametrize(
    "each", named([each for each in PLAN_NODES if (each.project, each.name, each.kind) in ENDS])
)
def test_a_node_yields_the_end_that_its_plan_prints(each: PlanNode) -> None:
    statement, printed, end = ENDS[each.project, each.name, each.kind]
    ends: set[str] = set()
    for event in executions_with(each, each.shown):
        if event["description"].partition("\n")[0] != statement or printed not in json.dumps(event):
            continue
        reading = read_plan(event)
        if each.carries == "reads":
            ends |= {found.readable for found in (*reading.reads.ends, *reading.named.ends)}
        else:
            ends |= {write.end.readable for write in reading.writes if write.end}
    assert end in ends


@pytest.mark.parametrize("kind", ["logical", "physical"])
def test_time_binned_values_come_from_themselves_and_the_times(kind: str) -> None:
    [each] = [each for each in PLAN_NODES if each.name == "BinBy" and each.kind == kind]
    found = [
        {written.output: flow(written) for written in one.flows}
        for event in executions_with(each, each.shown)
        for one in read_plan(event).columns
        if one.flows
    ]
    times = "span.at, span.until |"
    assert found == [
        {"id": "span.id |", "at": "span.at |", "until": "span.until |", "v": "span.at, span.until, span.v |"}
        | {"bin_start": times, "bin_end": times, "bin_distribute_ratio": times}
    ]


@pytest.mark.parametrize(
    "each", named([each for each in PLAN_NODES if each.carries in MOVING and each.kind == "logical"])
)
def test_a_logical_node_with_unexpected_text_is_flagged(each: PlanNode) -> None:
    query = op(each.name, "Arguments: mystery, [x#20]", *([] if each.carries == "reads" else [RELATION]))
    arguments = "`spark_catalog`.`d`.`out`, ErrorIfExists, [id, x]"
    found = flows(commanded("CreateDataSourceTableAsSelectCommand", arguments, query))
    assert found.get("x") != "|", "a column that was overlooked looks like a literal"
