"""Streaming queries: which columns go from which source to which sink, through real streams and through what no Spark here
can run; what is not certain is flagged."""

from __future__ import annotations

import copy
import json
import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from extractors._spark.application import Application
from extractors._spark.lineage import Names
from extractors._spark.plan.reads import End, EndKind
from extractors.spark_events import SparkEvents
from navlin.index.fields import ELEMENTS, RELATIONS
from navlin.index.runs import Status
from navlin.index.solr import Solr
from navlin.index.state import look_up
from navlin.model.extractor import EXTRACTORS
from navlin.model.keys import EntityType, Key, RelationType, path_column_key
from navlin.model.records import Entity
from navlin.model.source import SPARK, Estate, Source, source_id
from navlin.pipeline.run import Pipeline
from tests.services.spark_streams import write_logs
from tests.spark_logs import (
    T0,
    Follower,
    Told,
    application,
    application_end,
    end,
    insert,
    lines,
    log_start,
    node,
    read_once,
    start,
    write_log,
)
from tests.spark_plans import Op, op, printed, project

QUERY, RUN = "d1807a09-0408-49c4-82f0-07253e4d6a08", "40cb62c9-ae96-4cd5-8f53-b70c70dda84a"
STREAMING = "org.apache.spark.sql.streaming.StreamingQueryListener$Query"


if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Seen:
    """What is known of one query: inputs, outputs, the columns as ``data | control`` with their flags, and what is unknown.

    ``complete`` is what people are told; ``data`` are the tables and paths of which values flow.
    """

    inputs: set[str]
    outputs: set[str]
    columns: dict[str, str]
    complete: bool
    unknown: list[str]


def seen(told: Told, name: str) -> Seen:
    """The query of a name; paths by their last part."""
    [operation] = [each for each in told.operations if each.key.name.endswith(f": {name}")]
    identity = operation.key.identity
    flows = [
        each
        for each in told.relations.values()
        if each.type in (RelationType.DATA_FLOW, RelationType.CONTROL_FLOW)
    ]
    columns: dict[str, str] = {}
    for part in _parts(told, operation):
        sides = {
            kind: sorted(_named(each.ep1) for each in flows if each.ep2 == part.key and each.type is kind)
            for kind in (RelationType.DATA_FLOW, RelationType.CONTROL_FLOW)
        }
        text = f"{', '.join(sides[RelationType.DATA_FLOW])} | {', '.join(sides[RelationType.CONTROL_FLOW])}"
        flags = [flag for flag in ("inferred", "opaque", "incomplete") if part.attributes.get(flag)]
        for each in flows:
            if each.ep1 == part.key:
                columns[_named(each.ep2)] = " ".join((text.strip(" "), *flags)).strip()
    return Seen(
        {_named(each.ep1) for each in flows if each.ep2.identity == identity},
        {_named(each.ep2) for each in flows if each.ep1.identity == identity},
        columns,
        not operation.attributes.get("incomplete"),
        list(operation.attributes.get("unknownInputs") or []),
    )


def _parts(told: Told, operation: Entity) -> list[Entity]:
    return [
        each
        for each in told.entities.values()
        if each.key.type is EntityType.SUB_OPERATION and each.key.parent == operation.key
    ]


def _named(key: Key) -> str:
    if key.type is EntityType.FIELD and key.parent is not None:
        return f"{_named(key.parent)}.{key.name}"
    if key.file_system_path:
        return key.name
    return f"{key.parent.name}.{key.name}" if key.parent else key.name


def executions(told: Told) -> dict[str, Entity]:
    return {str(each.attributes["operation"]).rpartition(": ")[2]: each for each in told.executions}


# -- Real streams -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def stream_logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The logs of `tests.services.spark_streams`: one run for the whole session."""
    return write_logs(tmp_path_factory.mktemp("streams"))


@pytest.fixture(scope="session")
def streams(stream_logs: Path) -> Told:
    return read_once(stream_logs)


ORDERS = {"id": "orders.id |", "region": "orders.region |", "amount": "orders.amount |"}


def to(output: str, **columns: str) -> dict[str, str]:
    return {f"{output}.{column}": flow for column, flow in columns.items()}


EXTRACTED: dict[str, tuple[set[str], dict[str, str]]] = {
    # Sources
    "file": ({"orders"}, to("out_file", id="orders.id |", double="orders.amount |")),
    "partitioned": (
        {"byregion"},
        to("out_partitioned", id="byregion.id |", region="byregion.region |", amount="byregion.amount |"),
    ),
    "table": ({"d.t"}, to("out_table", id="d.t.id | d.t.amount")),
    "rate": (set(), to("out_rate", value="|")),
    "rate_micro_batch": (set(), to("out_rate_micro_batch", value="|")),
    "static_path": (
        {"orders", "byregion"},
        to("out_static_path", id="orders.id | byregion.id"),
    ),
    "static_table": (
        {"orders", "d.names"},
        to(
            "out_static_table",
            id="orders.id | d.names.region, orders.region",
            name="d.names.name | d.names.region, orders.region",
        ),
    ),
    "two_sources": ({"orders", "d.t"}, to("out_two_sources", id="d.t.region, orders.id |")),
    # Stateful
    "windowed": (
        {"orders"},
        to("out_windowed", start="orders.amount |", region="orders.region | orders.amount"),
    ),
    "distinct": ({"orders"}, to("out_distinct", **ORDERS)),
    "joined": (
        {"orders"},
        to("out_joined", id="orders.id | orders.amount", region="orders.region | orders.amount, orders.id"),
    ),
    # Sinks
    "csv_by_region": ({"orders"}, to("out_csv_by_region", **ORDERS)),
    "orc": ({"orders"}, to("out_orc", id="orders.id |")),
    "text": ({"orders"}, to("out_text", line="orders.id |")),
    "to_table": ({"orders"}, to("out_to_table", i="orders.id |")),
    "batches": (
        {"orders"},
        to("out_batches", id="orders.id |", more="orders.amount |", batch="|")
        | to("d.keys", key="orders.id |"),
    ),
    "batches_sql": (
        {"orders", "d.names"},
        to(
            "d.log",
            key="orders.id | d.names.region, orders.region",
            more="orders.amount | d.names.region, orders.region",
        ),
    ),
}
KEPT = ("counted", "console", "noop")
"""Sinks from which nothing leaves the program: there is nothing to be known."""


@pytest.mark.parametrize("name", EXTRACTED)
def test_a_real_streams_columns_go_from_its_sources_to_its_sink(streams: Told, name: str) -> None:
    inputs, columns = EXTRACTED[name]
    found = seen(streams, name)
    assert found.columns == columns
    assert found.complete
    assert found.inputs == inputs
    assert found.outputs == {column.rpartition(".")[0] for column in columns}


@pytest.mark.parametrize("name", KEPT)
def test_a_sink_that_keeps_its_rows_writes_nothing_and_is_complete(streams: Told, name: str) -> None:
    assert seen(streams, name) == Seen({"orders"}, set(), {}, complete=True, unknown=[])


def test_a_pattern_of_paths_is_the_directory_that_has_fitted_and_perhaps_more(streams: Told) -> None:
    found = seen(streams, "pattern")
    assert found.columns == to("out_pattern", id="byregion.id | incomplete")
    assert not found.complete
    assert [each.rpartition("/")[2] for each in found.unknown] == ["*]"]


def test_a_socket_is_nobodys_and_said_to_be_unknown(streams: Told) -> None:
    found = seen(streams, "socket")
    assert found.inputs == set()
    assert found.columns == to("out_socket", value="| incomplete")
    assert not found.complete
    assert found.unknown[0].startswith("TextSocketV2[host: 127.0.0.1, port: ")


def test_a_function_of_the_program_that_takes_the_rows_makes_the_stream_incomplete(streams: Told) -> None:
    for name in ("each", "batches_only_looked_at"):
        assert seen(streams, name) == Seen({"orders"}, set(), {}, complete=False, unknown=[])


def test_two_statements_of_one_batch_are_two_outputs(streams: Told) -> None:
    [operation] = [each for each in streams.operations if each.key.name.endswith(": batches")]
    places = {_named(each.ep1): each.ep2.file_system_path or "" for each in streams.relations.values()}
    assert operation.attributes["outputs"][1] == "d.keys"
    assert not places.get("d.keys", "").endswith("out_batches")


def test_a_query_that_fails_in_its_first_batch_has_moved_nothing(streams: Told) -> None:
    assert executions(streams)["failed"].attributes["status"] == "FAILED"
    assert seen(streams, "failed") == Seen(set(), set(), {}, complete=False, unknown=[])


def test_a_query_that_fails_before_its_first_batch_is_told_with_its_start_and_its_error(
    streams: Told,
) -> None:
    execution = executions(streams)["never_began"]
    assert execution.attributes["status"] == "FAILED"
    assert "JsonParseException" in str(execution.attributes["errorMessage"])
    assert execution.attributes["started"] > T0
    assert seen(streams, "never_began") == Seen(set(), set(), {}, complete=False, unknown=[])


def test_what_a_stream_has_kept_is_read_as_something_unknown(streams: Told) -> None:
    [state] = [each for each in streams.operations if str(each.attributes["outputs"]).endswith("out_state']")]
    assert state.attributes["incomplete"]


def test_every_query_that_ran_is_in_a_table_of_these_tests(streams: Told) -> None:
    ran = {
        each.key.name.rpartition(": ")[2]
        for each in streams.operations
        if "STREAM" in each.attributes.values()
    }
    flagged = {"pattern", "socket", "each", "batches_only_looked_at", "failed", "never_began"}
    assert ran == {*EXTRACTED, *KEPT, *flagged}


@pytest.mark.parametrize("step", [1, 3, 40])
def test_a_stream_read_in_any_steps_tells_what_it_tells_at_its_end(
    stream_logs: Path, streams: Told, tmp_path: Path, step: int
) -> None:
    [log] = [each for each in stream_logs.iterdir() if not each.name.startswith(".")]
    # Those lines that count, so that one poll stands between any two of them.
    kept = [line for line in log.read_bytes().splitlines(keepends=True) if _counts(line)]
    growing = tmp_path / f"{log.name}.inprogress"
    follower = Follower(tmp_path)
    for at in range(0, len(kept), step):
        with growing.open("ab") as more:
            more.write(b"".join(kept[at : at + step]))
        follower.poll()
    growing.rename(tmp_path / log.name)
    told = follower.poll()
    assert told.lineage() == streams.lineage()
    assert {key: each.attributes for key, each in executions(told).items()} == {
        key: each.attributes for key, each in executions(streams).items()
    }


def _counts(line: bytes) -> bool:
    return (
        re.match(rb'\{"Event":"[\w.$]*(?:LogStart|Environment|Application|SQLExecution|StreamingQuery)', line)
        is not None
    )


# -- Streams that no Spark here can run -------------------------------------------------------------------------------


def batch(number: int = 0, *, run: str = RUN) -> dict[str, Any]:
    return {"description": f"clicks\nid = {QUERY}\nrunId = {run}\nbatch = {number}"}


def progress(
    sources: list[Any], sink: str = "FileSink[hdfs://nn/out]", *, at: str = "2026-01-01"
) -> dict[str, Any]:
    described = [each if isinstance(each, dict) else {"description": each} for each in sources]
    return {
        "Event": STREAMING + "ProgressEvent",
        "progress": {
            "id": QUERY,
            "runId": RUN,
            "name": "clicks",
            "timestamp": f"{at}T00:00:00.000Z",
            "sources": [{"numInputRows": 1, **each} for each in described],
            "sink": {"description": sink},
        },
    }


def scanned(root: Op, *leaves: dict[str, Any], number: int = 0, **more: Any) -> dict[str, Any]:
    """The start of a micro-batch with this plan, of which the tree has these leaves."""
    [tree] = leaves if "Scan" in root.name else [node(root.name, root.name, *leaves)]
    return start(number, (copy.deepcopy(tree), printed(root)), **{**batch(), **more})


def stream_scan(columns: str, text: str) -> tuple[Op, dict[str, Any]]:
    """``MicroBatchScan`` as printed, and as the tree has it."""
    block = f"Output [{columns.count('#')}]: [{columns}]\n{text}"
    return op("MicroBatchScan", block), node("MicroBatchScan", f"MicroBatchScan[{columns}] {text}")


def file_scan(columns: str, location: str, table: str = "") -> tuple[Op, dict[str, Any]]:
    name = f"Scan parquet {table}"
    block = f"Output [{columns.count('#')}]: [{columns}]\nBatched: true"
    return op(name, block), node(
        name, f"FileScan parquet {table}[{columns}] Batched: true", location=location
    )


def rows(columns: str, made: str = "MapPartitionsRDD[5]") -> tuple[Op, dict[str, Any]]:
    block = (
        f"Output [{columns.count('#')}]: [{columns}]\nArguments: [{columns}], {made} at start, ExistingRDD"
    )
    return op("Scan ExistingRDD", block), node("Scan ExistingRDD", f"Scan ExistingRDD[{columns}]")


def told_of(tmp_path: Path, *log_events: dict[str, Any]) -> Told:
    write_log(tmp_path, log_start(), application(), *log_events)
    return read_once(tmp_path)


KAFKA = stream_scan("key#1, value#2", "class org.apache.spark.sql.kafka010.KafkaSourceProvider$KafkaScan")
ICEBERG = stream_scan("id#1L, v#2", "IcebergScan(table=ice.db.src, schemaId=0, snapshotId=7, branch=null)")
OLD_ICEBERG = stream_scan("id#1L, v#2", "ice.db.src [filters=]")
MEMORY = stream_scan("value#1", "MemoryStreamDataSource")
DELTA = file_scan("id#1L, v#2", "TahoeBatchFileIndex(1 paths)[hdfs://nn/lake/t]")
DELTA_TABLE = file_scan("id#1L, v#2", "TahoeBatchFileIndex(1 paths)[hdfs://nn/lake/t]", "spark_catalog.d.t")
TWO_FILES = file_scan("id#1L, v#2", "InMemoryFileIndex(2 paths)[hdfs://nn/in/part-1, ...]")
OBJECT = "org.apache.iceberg.spark.source.SparkMicroBatchStream@7dde1675"
OFFSETS = {"startOffset": None, "endOffset": '{"eu-clicks":{"0":17},"us-clicks":{"0":4}}'}

SOURCES: dict[str, tuple[list[Any], tuple[Op, dict[str, Any]], dict[str, str], set[str], bool]] = {
    # description, scan → columns, inputs, complete
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
def test_a_sources_columns_are_extracted_or_flagged(tmp_path: Path, name: str) -> None:
    sources, (scan, leaf), columns, inputs, complete = SOURCES[name]
    listed = scan.block.partition("[")[2].partition("[")[2].partition("]")[0]
    told = told_of(tmp_path, scanned(project(listed, scan, listed), leaf), end(0), progress(sources))
    found = seen(told, "clicks")
    assert found.columns == to("out", **columns)
    assert found.inputs == inputs
    assert found.complete is complete
    assert found.outputs == {"out"}


SINKS: dict[str, tuple[str, str, bool]] = {
    # description → output, whether it is complete
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
def test_a_sinks_columns_are_extracted_or_flagged_or_known_to_stay(tmp_path: Path, sink: str) -> None:
    output, columns, complete = SINKS[sink]
    scan, leaf = DELTA
    told = told_of(tmp_path, scanned(scan, leaf), end(0), progress(["DeltaSource[hdfs://nn/lake/t]"], sink))
    found = seen(told, "clicks")
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
def test_rows_within_a_batchs_function_are_the_batchs_if_they_are_alike(
    tmp_path: Path, made: str, names: str, flow: str
) -> None:
    scan, leaf = TWO_FILES
    given, given_leaf = rows(names, made)
    write = "Execute InsertIntoHadoopFsRelationCommand"
    arguments = "hdfs://nn/w, false, Parquet, [path=hdfs://nn/w], Append, [k]"
    root = op(write, f"Input: []\nArguments: {arguments}", project("id#11L AS k#13L", given, names))
    inner = scanned(root, given_leaf, number=1, rootExecutionId=0)
    inner["sparkPlanInfo"]["simpleString"] = f"{write} {arguments}"
    told = told_of(
        tmp_path,
        *(scanned(scan, leaf, rootExecutionId=0), inner, end(1), end(0)),
        progress(["FileStreamSource[hdfs://nn/in]"], "ForeachBatchSink"),
    )
    assert seen(told, "clicks").columns == to("w", k=flow)
    assert seen(told, "clicks").complete is ("incomplete" not in flow)


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
def test_what_a_program_makes_of_its_state_is_opaque_or_unknown(
    tmp_path: Path, name: str, arguments: str, columns: dict[str, str]
) -> None:
    scan, leaf = TWO_FILES
    root = op(name, f"Input [2]: [id#1L, v#2]\nArguments: {arguments}", scan)
    told = told_of(tmp_path, scanned(root, leaf), end(0), progress(["FileStreamSource[hdfs://nn/in]"]))
    found = seen(told, "clicks")
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
    told = told_of(
        tmp_path,
        *(scanned(looked_up, looked_leaf, number=3), end(3)),
        *(scanned(scan, leaf), inner, end(1), end(0)),
        progress(["DeltaSource[hdfs://nn/in]"], "ForeachBatchSink"),
    )
    assert seen(told, "clicks") == Seen({"in"}, {"w"}, to("w", k="in.id |"), complete=True, unknown=[])


def test_before_spark_3_a_batch_was_described_in_other_words(tmp_path: Path) -> None:
    scan, leaf = TWO_FILES
    described = f"clicks<br/>id = {QUERY}<br/>runId = {RUN}<br/>batch = 0"
    sources = ["FileStreamSource[hdfs://nn/in]"]
    told = told_of(tmp_path, scanned(scan, leaf, description=described), end(0), progress(sources))
    assert len(told.executions) == 1
    assert seen(told, "clicks").columns == to("out", id="in.id |", v="in.v |")


def test_a_batch_is_kept_between_two_reads_until_its_progress_comes(tmp_path: Path) -> None:
    scan, leaf = TWO_FILES
    given, given_leaf = rows("id#11L, v#12", "SQLExecutionRDD[49]")
    inner = scanned(insert_of(given, "id#11L, v#12"), given_leaf, number=1, rootExecutionId=0)
    inner["sparkPlanInfo"]["simpleString"] = insert("hdfs://nn/w")["simpleString"]
    events = (
        *(scanned(scan, leaf, rootExecutionId=0), inner, end(1), end(0)),
        *(progress(["FileStreamSource[hdfs://nn/in]"], "ForeachBatchSink"), application_end()),
    )
    at_once = told_of(tmp_path / "once", *events)
    path = write_log(tmp_path / "steps", log_start(), application(), name="application_1_0001.inprogress")
    follower = Follower(tmp_path / "steps")
    for event in events:
        with path.open("ab") as log:
            log.write(lines(event))
        follower.poll()
    assert follower.told.everything() == at_once.everything()
    assert seen(at_once, "clicks").columns == to("w", id="in.id |")


def insert_of(below: Op, given: str) -> Op:
    arguments = insert("hdfs://nn/w")["simpleString"].partition("Command ")[2]
    return op(
        "Execute InsertIntoHadoopFsRelationCommand",
        f"Input: []\nArguments: {arguments}",
        project("id#11L", below, given),
    )


def test_a_plan_that_was_cut_off_makes_the_columns_incomplete_and_not_complete_without_them(
    tmp_path: Path,
) -> None:
    scan, leaf = TWO_FILES
    cut = scanned(scan, leaf)
    cut["physicalPlanDescription"] += "... 1439 more characters"
    found = seen(told_of(tmp_path, cut, end(0), progress(["FileStreamSource[hdfs://nn/in]"])), "clicks")
    assert (found.inputs, found.outputs, found.columns, found.complete) == ({"in"}, {"out"}, {}, False)


def test_progress_without_a_batch_covers_nothing_that_an_earlier_run_told(tmp_path: Path) -> None:
    told = told_of(tmp_path, progress(["FileStreamSource[hdfs://nn/in]"]))
    assert not told.covered
    assert (seen(told, "clicks").inputs, seen(told, "clicks").complete) == ({"in"}, False)


def test_topics_whose_names_differ_in_case_only_have_columns_of_their_own(tmp_path: Path) -> None:
    scan, leaf = KAFKA
    told = told_of(tmp_path, scanned(scan, leaf), end(0), progress(["KafkaV2[Subscribe[clicks, Clicks]]"]))
    assert seen(told, "clicks").columns == to(
        "out", key="Clicks.key, clicks.key |", value="Clicks.value, clicks.value |"
    )


@pytest.mark.slow
def test_streams_go_through_into_the_index_with_the_columns_of_topics_and_paths(
    stream_logs: Path, tmp_path: Path, solr: Solr, spark: Callable[[], SparkSession]
) -> None:
    for log in stream_logs.iterdir():
        (tmp_path / log.name).write_bytes(log.read_bytes())
    scan, leaf = KAFKA
    kafka = progress(["KafkaV2[Subscribe[orders]]"])
    write_log(tmp_path, log_start(), application(), scanned(scan, leaf), end(0), kafka)
    cluster = f"streams-{uuid.uuid4().hex[:8]}"
    source = Source(source_id(cluster, "SPARK-1"), SPARK, "SPARK-1", cluster)
    extractor = SparkEvents(source, Estate(cluster, (source,)), str(tmp_path))
    pipeline = Pipeline(solr.address, spark, lambda: 1_900_000_000_000)
    record = pipeline.run(EXTRACTORS["spark_events"], extractor)
    assert (record.status, record.failures, record.counts.get("rejects")) == (Status.FINISHED, (), None)

    def documents(core: str, query: str) -> list[dict[str, Any]]:
        return list(solr.cursor(core, query, "*", filters=[f"writer:{source.id}", "deleted:false"]))

    runs = {each["identity"] for each in documents(ELEMENTS, "type:OPERATION_EXECUTION")}
    of_operations = documents(RELATIONS, "type:INSTANCE_OF")
    assert runs == {identity for each in of_operations for identity in each["endpoint2Ids"]}
    flows = documents(RELATIONS, "type:(DATA_FLOW OR CONTROL_FLOW)")
    ends = {
        identity for each in flows for side in ("endpoint1Ids", "endpoint2Ids") for identity in each[side]
    }
    # No source is configured that would serve them: all of them are granted.
    assert set(look_up(solr, ELEMENTS, sorted(ends))) == ends
    names = Names(source, extractor.estate, Application())
    topic = names.key(End(EndKind.TOPIC, "orders"))
    assert {path_column_key(topic, "key").identity, path_column_key(topic, "value").identity} <= ends
    assert pipeline.run(EXTRACTORS["spark_events"], extractor).status is Status.IDLE


# -- How queries begin and end ----------------------------------------------------------------------------------------


def started(**more: Any) -> dict[str, Any]:
    event = {"Event": STREAMING + "StartedEvent", "id": QUERY, "runId": RUN, "name": "clicks"}
    return event | {"timestamp": "2026-01-01T00:00:00.000Z"} | more


def terminated(exception: str | None = None) -> dict[str, Any]:
    return {"Event": STREAMING + "TerminatedEvent", "id": QUERY, "runId": RUN, "exception": exception}


def test_a_query_is_known_from_its_start_on(tmp_path: Path) -> None:
    write_log(tmp_path, log_start(), application(), started(), name="application_1_0001.inprogress")
    [execution] = read_once(tmp_path).executions
    assert execution.attributes["status"] == "RUNNING"
    assert execution.attributes["started"] == 1_767_225_600_000


def test_a_query_that_never_got_to_a_batch_has_failed_with_its_error(tmp_path: Path) -> None:
    told = told_of(tmp_path, started(), terminated("no such topic"))
    [execution] = told.executions
    assert (execution.attributes["status"], execution.attributes["errorMessage"]) == (
        "FAILED",
        "no such topic",
    )
    assert execution.attributes["started"] == 1_767_225_600_000
    assert not told.relations


def test_a_run_that_never_got_to_a_batch_leaves_what_an_earlier_one_told(tmp_path: Path) -> None:
    scan, leaf = KAFKA
    ran = (scanned(scan, leaf), end(0), progress(["KafkaV2[Subscribe[a]]"]), terminated())
    before = told_of(tmp_path, *ran)
    again = {"runId": RUN.replace("4", "5"), "timestamp": "2026-02-01T00:00:00.000Z"}
    later = application(app_id="application_1_0002")
    write_log(
        tmp_path, log_start(), later, started(**again), terminated("no") | again, name="application_1_0002"
    )
    told = read_once(tmp_path)
    assert sorted(str(each.attributes["status"]) for each in told.executions) == ["FAILED", "SUCCEEDED"]
    assert told.lineage() == before.lineage()


def test_a_failure_of_which_the_log_has_lost_the_start_is_told_without_a_time(tmp_path: Path) -> None:
    [execution] = told_of(tmp_path, terminated("boom")).executions
    assert (execution.attributes["status"], execution.attributes["started"]) == ("FAILED", None)
    assert execution.as_of_ms == T0


def test_a_query_that_waits_is_still_there(tmp_path: Path) -> None:
    idle = {
        "Event": STREAMING + "IdleEvent",
        "id": QUERY,
        "runId": RUN,
        "timestamp": "2026-01-02T00:00:00.000Z",
    }
    [execution] = told_of(tmp_path, started(), idle, terminated()).executions
    assert execution.attributes["ended"] == 1_767_312_000_000


def old(kind: str, state: str, **more: Any) -> dict[str, Any]:
    """An event of Spark 2.0.0 (``queryInfo``) or of 2.0.1 and 2.0.2 (``queryStatus``)."""
    told = {
        "name": "clicks",
        "id": 1,
        "sourceStatuses": [{"description": "FileStreamSource[file:/in]", "offsetDesc": "#0"}],
        "sinkStatus": {"description": "FileSink[/out]", "offsetDesc": "[#0]"},
    }
    return {"Event": f"{STREAMING}{kind}", state: told | more}


@pytest.mark.parametrize(
    ("begun", "gone_on", "over", "state", "started_ms"),
    [
        ("Started", "Progress", "Terminated", "queryInfo", None),
        ("StartedEvent", "ProgressEvent", "TerminatedEvent", "queryStatus", 1_480_491_481_350),
    ],
)
def test_spark_20_tells_the_same_in_other_words(
    tmp_path: Path, begun: str, gone_on: str, over: str, state: str, started_ms: int | None
) -> None:
    times = [{"timestamp": at} if started_ms else {} for at in (1_480_491_481_350, 1_480_491_493_386)]
    told = told_of(
        tmp_path,
        old(begun, state, **times[0]),
        old(gone_on, state, **times[1]),
        {**old(over, state), "exception": None},
    )
    [execution] = told.executions
    assert execution.attributes["status"] == "SUCCEEDED"
    assert execution.attributes["started"] == started_ms
    assert told.flows == {("file:///in", "STREAM", "/out")}
    assert not seen(told, "clicks").complete


def test_spark_20_tells_of_a_failure_with_nothing_moved(tmp_path: Path) -> None:
    over = old("Terminated", "queryInfo", sinkStatus={"description": "FileSink[/out]", "offsetDesc": "[-]"})
    told = told_of(tmp_path, {**over, "exception": "/ by zero"})
    [execution] = told.executions
    assert (execution.attributes["status"], execution.attributes["errorMessage"]) == ("FAILED", "/ by zero")
    assert not told.relations


def test_what_is_kept_of_a_stream_is_json(tmp_path: Path) -> None:
    scan, leaf = KAFKA
    write_log(
        tmp_path,
        *(log_start(), application(), started(), scanned(scan, leaf), end(0)),
        progress(["KafkaV2[Subscribe[a]]"]),
        name="application_1_0001.inprogress",
    )
    follower = Follower(tmp_path)
    follower.poll()
    [saved] = follower.saved.values()
    assert json.loads(json.dumps(saved)) == saved
