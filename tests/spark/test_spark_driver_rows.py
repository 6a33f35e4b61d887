"""Rows contained in the plan itself are literals if SQL made them. If a program made them, their origin is unknown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from extractors.spark.incomplete import Incomplete
from extractors.spark.plan.reading import read_plan
from navlin.model.keys import EntityType
from tests.support.plan_node_logs import log_of, starts_of
from tests.support.spark_logs import Extracted, Follower, read_once, start
from tests.support.spark_plans import inserting, op, printed

LOG = "spark-4.3"
LOCAL = op("LocalTableScan", "Output [1]: [id#1L]\nArguments: [id#1L]")
BY_SQL = "org.apache.spark.sql.classic.SparkSession.sql(SparkSession.scala:567)"
CALLS = {
    BY_SQL: False,
    "org.apache.spark.sql.SparkSession.sql(SparkSession.scala:613)\nJob$.main(Job.scala:9)": False,
    "org.apache.spark.sql.SQLContext.sql(SQLContext.scala:651)": False,
    "org.apache.spark.sql.hive.thriftserver.SparkSQLCLIDriver.main(SparkSQLCLIDriver.scala)": False,
    "org.apache.spark.sql.hive.thriftserver.SparkExecuteStatementOperation$$anon$2$$anon$3.run(X.scala:1)": False,
    "": False,
    "org.apache.spark.sql.DataFrameWriter.save(DataFrameWriter.scala:118)": True,
    "org.apache.spark.sql.DataFrameWriter.save(X.scala:1)\norg.apache.spark.sql.SparkSession.sql(X.scala:1)": True,
    "org.apache.spark.sql.classic.DataFrameWriterV2.append(DataFrameWriterV2.scala:9)": True,
    "java.base/java.lang.Thread.run(Thread.java:840)": True,
}


@pytest.fixture(scope="module")
def extracted(tmp_path_factory: pytest.TempPathFactory) -> Extracted:
    directory = tmp_path_factory.mktemp("log")
    (directory / "local-1").write_bytes(log_of(LOG))
    return read_once(directory)


def reasons(extracted: Extracted, name: str) -> set[str]:
    """Return the incompleteness reasons of all operations with this name. At least one must exist."""
    found = [
        each for each in extracted.operations if each.attributes["originalName"] == f"every node: {name}"
    ]
    assert found, f"{name} is not in the log"
    return {reason for each in found for reason in each.attributes["incompleteReasons"]}


@pytest.mark.parametrize(
    "name",
    [f"values_{each}" for each in ("ctas", "ctas_bare", "ctas_join", "insert", "insert_select", "insert_join")]
    + [f"values_{each}" for each in ("one_row", "cte", "range", "empty", "dir", "subquery")]
    + ["values_view_ctas", "values_view_insert", "values_ctas_beside_view"],
)  # fmt: skip
def test_rows_created_by_sql_are_literals(name: str, extracted: Extracted) -> None:
    assert reasons(extracted, name) == set()


@pytest.mark.parametrize(
    "name",
    [f"driver_{each}" for each in ("pandas", "arrow", "alias", "join", "transpose", "cached", "path")]
    + ["driver_view_ctas", "driver_view_insert"],
)
def test_rows_held_by_the_driver_are_of_unknown_origin(name: str, extracted: Extracted) -> None:
    assert reasons(extracted, name) == {Incomplete.PROGRAM}


def test_a_table_joined_with_driver_rows_keeps_its_columns() -> None:
    [written] = [
        columns
        for event in starts_of(LOG)
        if event["description"] == "driver_join"
        for columns in read_plan(event).columns
        if columns.flows
    ]
    found = {each.output: [source.name for source in each.data] for each in written.flows}
    assert found == {"id": ["id"], "v": ["v"], "k": []}
    assert {each.output for each in written.flows if each.incomplete} == {"id", "v", "k"}


@pytest.mark.parametrize(("call", "flagged"), CALLS.items())
def test_the_call_site_tells_whether_rows_came_from_a_program(call: str, flagged: bool) -> None:
    root = inserting(LOCAL, "id", "id#1L")
    tree = {"nodeName": root.name, "simpleString": f"{root.name} {root.block.partition('Arguments: ')[2]}"}
    [columns] = read_plan(start(0, (tree, printed(root)), details=call)).columns
    assert [each.incomplete for each in columns.flows] == [flagged]


def test_a_view_of_driver_rows_is_remembered_between_reads(tmp_path: Path) -> None:
    lines = log_of(LOG).splitlines(keepends=True)
    wanted = ("driver_view", "driver_view_insert")
    starts = {
        event["executionId"]: event["description"]
        for event in starts_of(LOG)
        if event["description"] in wanted
    }
    kept = [
        line
        for line in lines
        if "executionId" not in (event := json.loads(line)) or event["executionId"] in starts
    ]
    kept = [line for line in kept if b"StreamingQuery" not in line and b"ApplicationEnd" not in line]
    for cut in range(1, len(kept)):
        directory = tmp_path / str(cut)
        directory.mkdir()
        log = directory / "local-1.inprogress"
        follower = Follower(directory)
        log.write_bytes(b"".join(kept[:cut]))
        follower.poll()
        log.write_bytes(b"".join(kept))
        found = follower.poll()
        assert reasons(found, "driver_view_insert") == {Incomplete.PROGRAM}
        assert [each for each in found.entities.values() if each.key.type is EntityType.SUB_OPERATION]
