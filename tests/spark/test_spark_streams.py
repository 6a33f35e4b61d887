"""Real streaming queries: columns flow from sources to sinks, and uncertain columns are flagged."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from extractors.spark import SparkEvents
from extractors.spark.application import SparkApplication
from extractors.spark.lineage import ApplicationKeys
from extractors.spark.plan.reads import EndKind, PlanEnd
from navlin.index.graph.state import look_up
from navlin.index.journal.runs import Status
from navlin.index.schema.fields import ELEMENTS, RELATIONS
from navlin.index.solr.solr import Solr
from navlin.model.extractor import EXTRACTORS
from navlin.model.keys import path_column_key
from navlin.model.source import SPARK, Estate, Source, source_id
from navlin.pipeline.run import Pipeline
from tests.services.spark_streams import write_logs
from tests.support.spark_logs import (
    T0,
    Extracted,
    Follower,
    application,
    end,
    log_start,
    read_once,
    write_log,
)
from tests.support.stream_logs import KAFKA, Seen, executions, named, progress, scanned, seen, to

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


pytestmark = pytest.mark.services


@pytest.fixture(scope="module")
def stream_logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The logs of `tests.services.spark_streams`, from one run for the whole session."""
    return write_logs(tmp_path_factory.mktemp("streams"))


@pytest.fixture(scope="module")
def streams(stream_logs: Path) -> Extracted:
    return read_once(stream_logs)


ORDERS = {"id": "orders.id |", "region": "orders.region |", "amount": "orders.amount |"}


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
"""Sinks whose data stay inside the program, so that their queries have no lineage."""


@pytest.mark.parametrize("name", EXTRACTED)
def test_columns_of_a_real_stream_flow_from_its_sources_to_its_sink(streams: Extracted, name: str) -> None:
    inputs, columns = EXTRACTED[name]
    found = seen(streams, name)
    assert found.columns == columns
    assert found.complete
    assert found.inputs == inputs
    assert found.outputs == {column.rpartition(".")[0] for column in columns}


@pytest.mark.parametrize("name", KEPT)
def test_an_in_memory_sink_writes_nothing_and_is_complete(streams: Extracted, name: str) -> None:
    assert seen(streams, name) == Seen({"orders"}, set(), {}, complete=True, unknown=[])


def test_a_path_pattern_is_its_matched_directory_and_incomplete(streams: Extracted) -> None:
    found = seen(streams, "pattern")
    assert found.columns == to("out_pattern", id="byregion.id | incomplete")
    assert not found.complete
    assert [each.rpartition("/")[2] for each in found.unknown] == ["*]"]


def test_a_socket_is_an_unknown_source(streams: Extracted) -> None:
    found = seen(streams, "socket")
    assert found.inputs == set()
    assert found.columns == to("out_socket", value="| incomplete")
    assert not found.complete
    assert found.unknown[0].startswith("TextSocketV2[host: 127.0.0.1, port: ")


def test_a_custom_row_function_makes_the_stream_incomplete(
    streams: Extracted,
) -> None:
    for name in ("each", "batches_only_looked_at"):
        assert seen(streams, name) == Seen({"orders"}, set(), {}, complete=False, unknown=[])


def test_two_writes_of_one_batch_are_two_outputs(streams: Extracted) -> None:
    [operation] = [each for each in streams.operations if each.key.name.endswith(": batches")]
    places = {named(each.ep1): each.ep2.file_system_path or "" for each in streams.relations.values()}
    assert operation.attributes["outputs"][1] == "d.keys"
    assert not places.get("d.keys", "").endswith("out_batches")


def test_a_query_failing_in_its_first_batch_has_no_flow(streams: Extracted) -> None:
    assert executions(streams)["failed"].attributes["status"] == "FAILED"
    assert seen(streams, "failed") == Seen(set(), set(), {}, complete=False, unknown=[])


def test_a_query_failing_before_its_first_batch_has_its_start_and_error(
    streams: Extracted,
) -> None:
    execution = executions(streams)["never_began"]
    assert execution.attributes["status"] == "FAILED"
    assert "JsonParseException" in str(execution.attributes["errorMessage"])
    assert execution.attributes["started"] > T0
    assert seen(streams, "never_began") == Seen(set(), set(), {}, complete=False, unknown=[])


def test_the_state_of_a_stream_is_an_unknown_source(streams: Extracted) -> None:
    [state] = [each for each in streams.operations if str(each.attributes["outputs"]).endswith("out_state']")]
    assert state.attributes["incomplete"]


def test_every_query_of_the_log_has_a_test(streams: Extracted) -> None:
    ran = {
        each.key.name.rpartition(": ")[2]
        for each in streams.operations
        if "STREAM" in each.attributes.values()
    }
    flagged = {"pattern", "socket", "each", "batches_only_looked_at", "failed", "never_began"}
    assert ran == {*EXTRACTED, *KEPT, *flagged}


@pytest.mark.parametrize("step", [1, 3, 40])
def test_a_stream_read_in_any_steps_gives_the_same(
    stream_logs: Path, streams: Extracted, tmp_path: Path, step: int
) -> None:
    [log] = [each for each in stream_logs.iterdir() if not each.name.startswith(".")]
    # Only lines that the extractor uses remain, so that a poll falls between any two of these.
    kept = [line for line in log.read_bytes().splitlines(keepends=True) if _counts(line)]
    growing = tmp_path / f"{log.name}.inprogress"
    follower = Follower(tmp_path)
    for at in range(0, len(kept), step):
        with growing.open("ab") as more:
            more.write(b"".join(kept[at : at + step]))
        follower.poll()
    growing.rename(tmp_path / log.name)
    extracted = follower.poll()
    assert extracted.lineage() == streams.lineage()
    assert {key: each.attributes for key, each in executions(extracted).items()} == {
        key: each.attributes for key, each in executions(streams).items()
    }


def _counts(line: bytes) -> bool:
    return (
        re.match(rb'\{"Event":"[\w.$]*(?:LogStart|Environment|Application|SQLExecution|StreamingQuery)', line)
        is not None
    )


def test_streams_are_indexed_with_the_columns_of_topics_and_paths(
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
    assert (record.status, record.failures, record.counts.rejects) == (Status.FINISHED, (), 0)

    def documents(core: str, query: str) -> list[dict[str, Any]]:
        owner = "sourceId" if core == ELEMENTS else "writer"
        return list(solr.cursor(core, query, "*", filters=[f"{owner}:{source.id}", "deleted:false"]))

    runs = {each["identity"] for each in documents(ELEMENTS, "type:OPERATION_EXECUTION")}
    of_operations = documents(RELATIONS, "type:INSTANCE_OF")
    assert runs == {identity for each in of_operations for identity in each["endpoint2Ids"]}
    flows = documents(RELATIONS, "type:(DATA_FLOW OR CONTROL_FLOW)")
    ends = {
        identity for each in flows for side in ("endpoint1Ids", "endpoint2Ids") for identity in each[side]
    }
    # No source is configured for the systems of these entities, so the Spark source may create all of them.
    assert set(look_up(solr, ELEMENTS, sorted(ends))) == ends
    names = ApplicationKeys(source, extractor.estate, SparkApplication())
    topic = names.key(PlanEnd(EndKind.TOPIC, "orders"))
    assert {path_column_key(topic, "key").identity, path_column_key(topic, "value").identity} <= ends
    assert pipeline.run(EXTRACTORS["spark_events"], extractor).status is Status.IDLE
