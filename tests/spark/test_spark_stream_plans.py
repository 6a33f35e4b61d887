"""Micro-batches as Spark logs them. Each source and sink is extracted, flagged, or known to carry no data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.spark_logs import (
    Follower,
    application,
    application_end,
    end,
    insert,
    lines,
    log_start,
    write_log,
)
from tests.support.spark_plans import Op, op, project
from tests.support.stream_logs import (
    DELTA,
    DELTA_TABLE,
    ICEBERG,
    KAFKA,
    MEMORY,
    OLD_ICEBERG,
    QUERY,
    RUN,
    TWO_FILES,
    Seen,
    extracted_of,
    file_scan,
    progress,
    rows,
    scanned,
    seen,
    stream_scan,
    to,
)

OBJECT = "org.apache.iceberg.spark.source.SparkMicroBatchStream@7dde1675"
OFFSETS = {"startOffset": None, "endOffset": '{"eu-clicks":{"0":17},"us-clicks":{"0":4}}'}

SOURCES: dict[str, tuple[list[Any], tuple[Op, dict[str, Any]], dict[str, str], set[str], bool]] = {
    # name → (source descriptions, (scan, metadata), expected columns, inputs, whether complete)
    "kafka": (["KafkaV2[Subscribe[a]]"], KAFKA, {"key": "a.key |", "value": "a.value |"}, {"a"}, True),
    "kafka, two topics": (
        ["KafkaV2[Subscribe[a, b]]"],
        KAFKA,
        {"key": "a.key, b.key |", "value": "a.value, b.value |"},
        {"a", "b"},
        True,
    ),
    "kafka, assigned": (
        ["KafkaV2[Assign[my-topic-0, my-topic-1]]"],
        KAFKA,
        {"key": "my-topic.key |", "value": "my-topic.value |"},
        {"my-topic"},
        True,
    ),
    "kafka by pattern, as its offsets say": (
        [{"description": "KafkaV2[SubscribePattern[.*-clicks]]", **OFFSETS}],
        KAFKA,
        {"key": "eu-clicks.key, us-clicks.key |", "value": "eu-clicks.value, us-clicks.value |"},
        {"eu-clicks", "us-clicks"},
        True,
    ),
    "kafka by pattern before there are offsets": (
        ["KafkaV2[SubscribePattern[.*-clicks]]"],
        KAFKA,
        {"key": "| incomplete", "value": "| incomplete"},
        set(),
        False,
    ),
    "two of kafka, and nobody can tell which is which": (
        ["KafkaV2[Subscribe[a]]", "KafkaV2[Subscribe[b]]"],
        KAFKA,
        {"key": "| incomplete", "value": "| incomplete"},
        {"a", "b"},
        False,
    ),
    "kafka's old source, of which the plan has rows only": (
        ["KafkaSource[Subscribe[a]]"],
        rows("key#1, value#2"),
        {"key": "a.key | inferred", "value": "a.value | inferred"},
        {"a"},
        True,
    ),
    "memory": (["MemoryStream[value#1]"], MEMORY, {"value": "| incomplete"}, set(), False),
    "delta, a path": (
        ["DeltaSource[hdfs://nn/lake/t]"],
        DELTA,
        {"id": "t.id |", "v": "t.v |"},
        {"t"},
        True,
    ),
    "delta, a table": (
        ["DeltaSource[hdfs://nn/lake/t]"],
        DELTA_TABLE,
        {"id": "d.t.id |", "v": "d.t.v |"},
        {"d.t"},
        True,
    ),
    "iceberg": ([OBJECT], ICEBERG, {"id": "ice.db.src.id |", "v": "ice.db.src.v |"}, {"ice.db.src"}, True),
    "iceberg, before it said so": (
        [OBJECT],
        OLD_ICEBERG,
        {"id": "ice.db.src.id |", "v": "ice.db.src.v |"},
        {"ice.db.src"},
        True,
    ),
    "files, of which the plan shows the first": (
        ["FileStreamSource[hdfs://nn/in]"],
        TWO_FILES,
        {"id": "in.id |", "v": "in.v |"},
        {"in"},
        True,
    ),
    "files of a directory within another source's": (
        ["FileStreamSource[hdfs://nn/in]", "FileStreamSource[hdfs://nn/]"],
        TWO_FILES,
        {"id": "| incomplete", "v": "| incomplete"},
        {"in", "/"},
        False,
    ),
    "a source that has brought nothing yet": (
        ["FileStreamSource[hdfs://nn/in]", "KafkaV2[Subscribe[a]]"],
        TWO_FILES,
        {"id": "in.id |", "v": "in.v |"},
        {"in", "a"},
        False,
    ),
    "a class of which nothing is known": (
        ["KinesisV2[orders]"],
        stream_scan("data#1", "class com.example.KinesisScan"),
        {"data": "| incomplete"},
        set(),
        False,
    ),
    "rows that might be either source's": (
        ["EventHubsSource", "PubSubSource"],
        rows("body#1"),
        {"body": "| incomplete"},
        set(),
        False,
    ),
}


@pytest.mark.parametrize("name", SOURCES)
def test_columns_of_each_source_are_extracted_or_flagged(tmp_path: Path, name: str) -> None:
    sources, (scan, leaf), columns, inputs, complete = SOURCES[name]
    listed = scan.block.partition("[")[2].partition("[")[2].partition("]")[0]
    extracted = extracted_of(
        tmp_path, scanned(project(listed, scan, listed), leaf), end(0), progress(sources)
    )
    found = seen(extracted, "clicks")
    assert found.columns == to("out", **columns)
    assert found.inputs == inputs
    assert found.complete is complete
    assert found.outputs == {"out"}


SINKS: dict[str, tuple[str, str, bool]] = {
    # description → (output, columns, whether complete)
    "FileSink[hdfs://nn/out]": ("out", "id, v", True),
    "DeltaSink[hdfs://nn/out]": ("out", "id, v", True),
    "ice.db.dst": ("ice.db.dst", "id, v", True),
    "MemorySink": ("", "", True),
    "org.apache.spark.sql.execution.streaming.MemorySink@2b85b3a5": ("", "", True),
    "org.apache.spark.sql.execution.streaming.ConsoleTable$@529aec4e": ("", "", True),
    "org.apache.spark.sql.execution.streaming.ConsoleSinkProvider@6a5fc7f7": ("", "", True),
    "NoopTable": ("", "", True),
    "ForeachBatchSink": ("", "", False),
    "ForeachSink": ("", "", False),
    "ForeachWriterTable(org.example.Writer@33a26dff,Right(x))": ("", "", False),
    "org.apache.spark.sql.kafka010.KafkaSourceProvider$KafkaTable@1b2c3d4e": ("", "", False),
    "org.apache.spark.sql.kafka010.KafkaSink@1b2c3d4e": ("", "", False),
    "com.example.MySink@1b2c3d4e": ("", "", False),
    "": ("", "", False),
}


@pytest.mark.parametrize("sink", SINKS)
def test_columns_of_each_sink_are_extracted_flagged_or_absent(tmp_path: Path, sink: str) -> None:
    output, columns, complete = SINKS[sink]
    scan, leaf = DELTA
    extracted = extracted_of(
        tmp_path, scanned(scan, leaf), end(0), progress(["DeltaSource[hdfs://nn/lake/t]"], sink)
    )
    found = seen(extracted, "clicks")
    assert found.outputs == ({output} if output else set())
    assert found.columns == {
        f"{output}.{column}": f"t.{column} |" for column in columns.split(", ") if column
    }
    assert found.complete is complete


@pytest.mark.parametrize(
    ("made", "names", "flow"),
    [
        ("SQLExecutionRDD[49]", "id#11L, v#12", "in.id |"),
        ("MapPartitionsRDD[49]", "id#11L, v#12", "in.id | inferred"),
        ("SQLExecutionRDD[49]", "id#11L, w#12", "| incomplete"),
        ("SQLExecutionRDD[49]", "id#11L", "| incomplete"),
    ],
)
def test_matching_rows_inside_foreach_batch_are_those_of_the_batch(
    tmp_path: Path, made: str, names: str, flow: str
) -> None:
    scan, leaf = TWO_FILES
    given, given_leaf = rows(names, made)
    write = "Execute InsertIntoHadoopFsRelationCommand"
    arguments = "hdfs://nn/w, false, Parquet, [path=hdfs://nn/w], Append, [k]"
    root = op(write, f"Input: []\nArguments: {arguments}", project("id#11L AS k#13L", given, names))
    inner = scanned(root, given_leaf, number=1, rootExecutionId=0)
    inner["sparkPlanInfo"]["simpleString"] = f"{write} {arguments}"
    extracted = extracted_of(
        tmp_path,
        *(scanned(scan, leaf, rootExecutionId=0), inner, end(1), end(0)),
        progress(["FileStreamSource[hdfs://nn/in]"], "ForeachBatchSink"),
    )
    assert seen(extracted, "clicks").columns == to("w", k=flow)
    assert seen(extracted, "clicks").complete is ("incomplete" not in flow)


@pytest.mark.parametrize(
    ("name", "arguments", "columns"),
    [
        (
            "TransformWithStateInPySpark",
            "f(id#1L, v#2)#8, [id#1L], [a#9, b#10L], Append, NoTime, state info [ checkpoint = <unknown>, opId = 0] "
            "stateStoreCkptIds = None, 0, pandas, true, false, [id#1L]",
            {"a": "in.id, in.v | opaque", "b": "in.id, in.v | opaque"},
        ),
        (
            "FlatMapGroupsInPandasWithState",
            "f(id#1L, v#2)#8, [id#1L], [a#9, b#10L], [StructField(n,LongType,true)], state info [ opId = 0], 2",
            {"a": "in.id, in.v | opaque", "b": "in.id, in.v | opaque"},
        ),
        ("TransformWithStateAnew", "f(id#1L, v#2), state info [ opId = 0], [id#1L]", {}),
    ],
)
def test_columns_from_custom_state_are_opaque_or_unknown(
    tmp_path: Path, name: str, arguments: str, columns: dict[str, str]
) -> None:
    scan, leaf = TWO_FILES
    root = op(name, f"Input [2]: [id#1L, v#2]\nArguments: {arguments}", scan)
    extracted = extracted_of(
        tmp_path, scanned(root, leaf), end(0), progress(["FileStreamSource[hdfs://nn/in]"])
    )
    found = seen(extracted, "clicks")
    assert (found.columns, found.complete) == (to("out", **columns), False)


def test_before_spark_34_the_last_execution_of_a_batch_is_its_own(tmp_path: Path) -> None:
    scan, leaf = TWO_FILES
    given, given_leaf = rows("id#11L, v#12", "SQLExecutionRDD[49]")
    write = "Execute InsertIntoHadoopFsRelationCommand"
    arguments = "hdfs://nn/w, false, Parquet, [path=hdfs://nn/w], Append, [k]"
    root = op(write, f"Input: []\nArguments: {arguments}", project("id#11L AS k#13L", given, "id#11L, v#12"))
    inner = scanned(root, given_leaf, number=1)
    inner["sparkPlanInfo"]["simpleString"] = f"{write} {arguments}"
    looked_up, looked_leaf = file_scan("add#1", "DeltaLogFileIndex(1 paths)[hdfs://nn/in/_delta_log/0.json]")
    extracted = extracted_of(
        tmp_path,
        *(scanned(looked_up, looked_leaf, number=3), end(3)),
        *(scanned(scan, leaf), inner, end(1), end(0)),
        progress(["DeltaSource[hdfs://nn/in]"], "ForeachBatchSink"),
    )
    assert seen(extracted, "clicks") == Seen({"in"}, {"w"}, to("w", k="in.id |"), complete=True, unknown=[])


def test_the_batch_description_before_spark_3_is_parsed(tmp_path: Path) -> None:
    scan, leaf = TWO_FILES
    described = f"clicks<br/>id = {QUERY}<br/>runId = {RUN}<br/>batch = 0"
    sources = ["FileStreamSource[hdfs://nn/in]"]
    extracted = extracted_of(tmp_path, scanned(scan, leaf, description=described), end(0), progress(sources))
    assert len(extracted.executions) == 1
    assert seen(extracted, "clicks").columns == to("out", id="in.id |", v="in.v |")


def test_a_batch_is_kept_between_reads_until_its_progress_arrives(tmp_path: Path) -> None:
    scan, leaf = TWO_FILES
    given, given_leaf = rows("id#11L, v#12", "SQLExecutionRDD[49]")
    inner = scanned(insert_of(given, "id#11L, v#12"), given_leaf, number=1, rootExecutionId=0)
    inner["sparkPlanInfo"]["simpleString"] = insert("hdfs://nn/w")["simpleString"]
    events = (
        *(scanned(scan, leaf, rootExecutionId=0), inner, end(1), end(0)),
        *(progress(["FileStreamSource[hdfs://nn/in]"], "ForeachBatchSink"), application_end()),
    )
    at_once = extracted_of(tmp_path / "once", *events)
    path = write_log(tmp_path / "steps", log_start(), application(), name="application_1_0001.inprogress")
    follower = Follower(tmp_path / "steps")
    for event in events:
        with path.open("ab") as log:
            log.write(lines(event))
        follower.poll()
    assert follower.extracted.everything() == at_once.everything()
    assert seen(at_once, "clicks").columns == to("w", id="in.id |")


def insert_of(below: Op, given: str) -> Op:
    arguments = insert("hdfs://nn/w")["simpleString"].partition("Command ")[2]
    return op(
        "Execute InsertIntoHadoopFsRelationCommand",
        f"Input: []\nArguments: {arguments}",
        project("id#11L", below, given),
    )


def test_a_truncated_plan_makes_the_stream_incomplete(
    tmp_path: Path,
) -> None:
    scan, leaf = TWO_FILES
    cut = scanned(scan, leaf)
    cut["physicalPlanDescription"] += "... 1439 more characters"
    found = seen(extracted_of(tmp_path, cut, end(0), progress(["FileStreamSource[hdfs://nn/in]"])), "clicks")
    assert (found.inputs, found.outputs, found.columns, found.complete) == ({"in"}, {"out"}, {}, False)


def test_progress_without_a_batch_covers_nothing(tmp_path: Path) -> None:
    extracted = extracted_of(tmp_path, progress(["FileStreamSource[hdfs://nn/in]"]))
    assert not extracted.covered
    assert (seen(extracted, "clicks").inputs, seen(extracted, "clicks").complete) == ({"in"}, False)


def test_topics_differing_only_in_case_have_separate_columns(tmp_path: Path) -> None:
    scan, leaf = KAFKA
    extracted = extracted_of(
        tmp_path, scanned(scan, leaf), end(0), progress(["KafkaV2[Subscribe[clicks, Clicks]]"])
    )
    assert seen(extracted, "clicks").columns == to(
        "out", key="Clicks.key, clicks.key |", value="Clicks.value, clicks.value |"
    )
