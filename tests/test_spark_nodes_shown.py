"""Each node that reads, writes or computes is shown on a plan of a real run and adds no doubt there, or the table says
that none was run; and then its operation is flagged."""

from __future__ import annotations

import pytest

from extractors.spark.plan.kinds import PLAN_NODES, PlanNode
from extractors.spark.plan.reading import PlanReading, read_plan
from tests.support.plan_node_logs import NOT_RUN, executions_with, shown_in
from tests.support.spark_plans import commanded, flows, op

MOVING = ("reads", "writes", "computes")
RELATION = op("LogicalRelation", "Arguments: parquet, [id#1L, k#2], `spark_catalog`.`d`.`a`, false")


IN_DOUBT = {
    "CreateDeltaTableCommand": "of a clone, whose source prints as an object; CTAS runs it without an execution",
    "ContinuousScan": "a continuous stream reads from brokers, or from the source that makes rows up",
    "RestoreTableCommand": "an earlier version of the table itself becomes the newest: no columns are told",
    "Scan MergeOnReadSnapshotRelation": "of a table's own metadata: its path is not read from the source's options",
    "WriteToContinuousDataSource": "as ContinuousScan",
    "WriteToDataSourceV2": "of a micro-batch, whose stream tells what it writes: see the tests of streams",
}


def named(nodes: list[PlanNode]) -> list[object]:
    return [pytest.param(each, id=f"{each.project} {each.name} {each.kind}") for each in nodes]


def test_the_table_says_which_log_shows_a_node() -> None:
    wrong = {
        (each.project, each.name, each.kind): (each.shown, found)
        for each in PLAN_NODES
        if each.shown != (found := shown_in(each))
    }
    assert wrong == {}


def is_sure(each: PlanNode, reading: PlanReading) -> bool:
    """Whether nothing of a plan is in doubt, and the node yielded what it is there for."""
    written = [*reading.columns, *([reading.result] if reading.result else [])]
    if reading.unknown_operators or not reading.reads.complete or not all(one.complete for one in written):
        return False
    if each.carries == "reads":
        return bool(reading.reads.ends or reading.named.ends)
    if each.carries == "writes":
        return any(write.end for write in reading.writes)
    return any(one.flows for one in written)


@pytest.mark.parametrize(
    "each", named([each for each in PLAN_NODES if each.carries in MOVING and each.shown != NOT_RUN])
)
def test_a_node_that_ran_is_read_without_doubt(each: PlanNode) -> None:
    if each.name in IN_DOUBT:
        pytest.skip(IN_DOUBT[each.name])
    readings = [read_plan(event) for event in executions_with(each, each.shown)]
    assert any(is_sure(each, reading) for reading in readings), {
        reason for one in readings for written in one.columns for reason in written.reasons
    }


@pytest.mark.parametrize(
    "each", named([each for each in PLAN_NODES if each.carries in MOVING and each.kind == "logical"])
)
def test_a_logical_node_in_words_that_no_rule_expects_is_flagged(each: PlanNode) -> None:
    query = op(each.name, "Arguments: mystery, [x#20]", *([] if each.carries == "reads" else [RELATION]))
    arguments = "`spark_catalog`.`d`.`out`, ErrorIfExists, [id, x]"
    found = flows(commanded("CreateDataSourceTableAsSelectCommand", arguments, query))
    assert found.get("x") != "|", "a column that was overlooked looks like a literal"
