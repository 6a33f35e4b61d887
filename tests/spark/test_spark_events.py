"""Records from the executions in Spark's event logs: operations, executions, data flow, and failures."""

from __future__ import annotations

import copy
import json
import pickle
import random
from pathlib import Path
from typing import Any

import pytest

from navlin.model.keys import EntityType, location_key, table_key
from navlin.model.records import Entity, Relation
from navlin.model.source import HIVE, Estate, Source, source_id
from tests.services.spark_jobs import APPLICATION
from tests.support.spark_logs import (
    CLUSTER,
    ESTATE,
    METASTORE,
    SOURCE,
    T0,
    Follower,
    application,
    application_end,
    command,
    end,
    environment,
    extracted_of,
    insert,
    job_end,
    job_start,
    lines,
    log_start,
    node,
    read_once,
    readable,
    scan,
    start,
    write_log,
)
from tests.support.stored import stored

COPY = insert("/w/b", scan("db.a"), table="db.b")


# -- A real job -----------------------------------------------------------------------------------------------------


def test_a_real_log_shows_the_inputs_and_outputs_of_each_statement(spark_logs: Path) -> None:
    extracted = read_once(spark_logs / "plain")
    data = f"file://{spark_logs}/data"
    assert extracted.flows == {
        ("-", "INSERT_OVERWRITE", f"{data}/landing/orders"),
        (f"{data}/landing/orders", "INSERT_INTO", "sales.orders"),
        ("-", "CREATETABLE_AS_SELECT", "sales.regions"),
        ("sales.orders", "CREATETABLE_AS_SELECT", "sales.by_region"),
        ("sales.regions", "CREATETABLE_AS_SELECT", "sales.by_region"),
        ("sales.orders", "INSERT_OVERWRITE", "sales.daily"),
        ("sales.by_region", "CREATEVIEW", "sales.big"),
        ("sales.by_region", "INSERT_OVERWRITE", f"{data}/out/big"),
        (f"{data}/out/big", "SELECT", "-"),
        (f"{data}/out/big", "INSERT_OVERWRITE", f"{data}/out/typed"),
        ("sales.orders", "INSERT_OVERWRITE", f"{data}/out/cached"),
        ("sales.daily", "INSERT_OVERWRITE", f"{data}/out/daily"),
        (f"{data}/out/daily", "SELECT", "-"),
        ("sales.orders", "INSERT_OVERWRITE", "sales.orders"),
    }
    warehouse = f"file://{spark_logs}/warehouse/sales.db"
    assert extracted.stored == {
        (f"sales.{t}", f"{warehouse}/{t}") for t in ("orders", "regions", "by_region", "daily")
    }
    assert not extracted.rejects
    # 16 statements have one execution each, however many Spark ran for them. Two more executions infer the columns
    # of CSV files.
    assert len(extracted.executions) == 18
    failed = [each for each in extracted.executions if each.attributes["status"] == "FAILED"]
    assert [each.attributes["outputs"] for each in failed] == [["sales.broken"]]
    assert "no" in str(failed[0].attributes["errorMessage"])
    assert {each.attributes["status"] for each in extracted.executions} == {"SUCCEEDED", "FAILED"}


def test_a_view_keeps_its_statement(spark_logs: Path) -> None:
    extracted = read_once(spark_logs / "plain")
    [view] = [each for each in extracted.operations if each.attributes["operationType"] == "CREATEVIEW"]
    assert view.attributes["queryText"] == "select name, total from sales.by_region where total > 3"


def test_two_runs_of_one_job_share_operations_but_not_executions(spark_logs: Path) -> None:
    first, second = read_once(spark_logs / "default"), read_once(spark_logs / "plain")
    assert first.lineage() == second.lineage()
    assert len(first.executions) == len(second.executions) > 10
    assert not {each.key.identity for each in first.executions} & second.entities.keys()


def test_only_a_job_description_is_added_to_an_operations_name(spark_logs: Path) -> None:
    names = {each.attributes["originalName"] for each in read_once(spark_logs / "plain").operations}
    assert names == {APPLICATION, f"{APPLICATION}: merge of both ends"}


# -- Executions -----------------------------------------------------------------------------------------------------


def test_an_execution_has_its_times_user_application_and_status(tmp_path: Path) -> None:
    write_log(tmp_path, log_start(), application(attempt="2"), start(4, COPY), end(4))
    [execution] = read_once(tmp_path).executions
    assert execution.key.name == "application_1_0001_2-exec.4"
    assert execution.ages
    assert execution.as_of_ms == T0 + 2_045
    assert {key: value for key, value in execution.attributes.items() if value} == {
        "internalType": "spark_operation_execution",
        "originalName": f"application_1_0001-exec.{T0 + 2_040}",
        "started": T0 + 2_040,
        "ended": T0 + 2_045,
        "principal": "etl",
        "jobId": "application_1_0001",
        "attempt": "2",
        "executionId": 4,
        "status": "SUCCEEDED",
        "operation": "nightly",
        "inputs": ["db.a"],
        "outputs": ["db.b"],
        "sparkVersion": "4.3.0",
    }


def test_a_failed_execution_has_no_flow_and_covers_nothing(tmp_path: Path) -> None:
    extracted = extracted_of(
        tmp_path, start(0, COPY), end(0, error="disk full, password=hunter2 " + "x" * 9_000)
    )
    assert not extracted.relations
    assert not extracted.covered
    [execution] = extracted.executions
    assert execution.attributes["status"] == "FAILED"
    message = str(execution.attributes["errorMessage"])
    assert "disk full" in message
    assert "hunter2" not in stored([execution])
    assert len(message) < 5_000
    assert extracted.operations[0].attributes["outputs"] == ["db.b"]


def test_a_failed_run_belongs_to_the_same_operation(tmp_path: Path) -> None:
    extracted = extracted_of(tmp_path, start(0, COPY), end(0, error="x"), start(1, COPY), end(1))
    assert len(extracted.operations) == 1
    assert len(extracted.executions) == 2
    assert extracted.flows == {("db.a", "INSERT_OVERWRITE", "db.b")}


@pytest.mark.parametrize("failed", [True, False])
def test_before_spark_34_jobs_determine_whether_an_execution_failed(tmp_path: Path, *, failed: bool) -> None:
    extracted = extracted_of(
        tmp_path,
        start(0, COPY),
        job_start(3, 0),
        job_end(3, failed=failed),
        end(0, error=None),
        application_end(),
    )
    [execution] = extracted.executions
    assert execution.attributes["status"] == ("FAILED" if failed else "SUCCEEDED")


def test_the_execution_error_takes_precedence_over_a_failed_job(tmp_path: Path) -> None:
    extracted = extracted_of(tmp_path, start(0, COPY), job_start(3, 0), job_end(3, failed=True), end(0))
    assert extracted.executions[0].attributes["status"] == "SUCCEEDED"


@pytest.mark.parametrize(
    ("odd", "named"),
    [
        ("hdfs://[::1/x", "/hdfs:/[::1/x"),
        ("s3a://[bucket/x", "/s3a:/[bucket/x"),
        ("//[", "/["),
        ("hdfs://a]b/x", "/hdfs:/a]b/x"),
    ],
)
def test_an_invalid_location_does_not_prevent_reading_the_log(tmp_path: Path, odd: str, named: str) -> None:
    write_log(
        tmp_path,
        log_start(),
        application(),
        start(0, insert(odd, scan("db.a"))),
        end(0),
        start(1, COPY),
        end(1),
        application_end(),
    )
    written = {("db.a", "INSERT_OVERWRITE", named), ("db.a", "INSERT_OVERWRITE", "db.b")}
    assert read_once(tmp_path).flows == written


def test_an_unfinished_execution_is_extracted_only_once_its_application_ends(tmp_path: Path) -> None:
    path = write_log(tmp_path, log_start(), application(), start(0, COPY), name="app.inprogress")
    follower = Follower(tmp_path)
    assert not follower.poll().entities
    with path.open("ab") as log:
        log.write(lines(application_end()))
    extracted = follower.poll()
    assert [each.attributes["status"] for each in extracted.executions] == ["UNKNOWN"]
    assert not extracted.relations


def test_unfinished_executions_of_a_stale_log_are_unknown_until_it_continues(tmp_path: Path) -> None:
    path = write_log(tmp_path, log_start(), application(), start(0, COPY), name="app.inprogress")
    modified_ms = path.stat().st_mtime_ns // 1_000_000
    follower = Follower(tmp_path, stale_after_s=100)
    assert not follower.poll(modified_ms + 99_000).entities
    assert follower.poll(modified_ms + 100_000).executions[0].attributes["status"] == "UNKNOWN"
    assert not follower.plan(modified_ms + 200_000)
    with path.open("ab") as log:
        log.write(lines(end(0)))
    extracted = follower.poll(modified_ms)
    assert extracted.executions[0].attributes["status"] == "SUCCEEDED"
    assert extracted.flows == {("db.a", "INSERT_OVERWRITE", "db.b")}


def test_an_end_without_a_start_is_rejected_and_the_rest_is_read(tmp_path: Path) -> None:
    extracted = extracted_of(tmp_path, end(7), start(8, COPY), end(8))
    assert [each.reason for each in extracted.rejects] == ["execution 7 ends without a start"]
    assert len(extracted.executions) == 1


def test_a_second_attempt_in_one_file_keeps_its_inner_executions(tmp_path: Path) -> None:
    command_run = (start(0, CREATE, root=0), start(1, INNER, root=0), end(1), end(0))
    extracted = extracted_of(
        tmp_path, *command_run, log_start(), application(attempt="2"), *command_run, application_end()
    )
    assert len(extracted.operations) == 1
    assert len(extracted.executions) == 2


def test_executions_of_two_attempts_in_one_file_are_distinct(tmp_path: Path) -> None:
    extracted = extracted_of(
        tmp_path,
        *(application(attempt="1"), start(0, COPY)),
        *(log_start(), application(attempt="2"), start(0, COPY), end(0), application_end()),
    )
    states = {each.key.name: each.attributes["status"] for each in extracted.executions}
    assert states == {"application_1_0001_1-exec.0": "UNKNOWN", "application_1_0001_2-exec.0": "SUCCEEDED"}


# -- Impossible times -------------------------------------------------------------------------------------------------

NO_TIMES = (
    -1,
    0,
    None,
    "soon",
    1_700_000_000,  # seconds
    160_000_000_000,  # 1975
    1_700_000_000_000_000,  # microseconds
    1_700_000_000_000_000_000,  # nanoseconds
    253_402_300_800_000,  # the year 10000
    1 << 62,
)


@pytest.mark.parametrize("time", NO_TIMES)
def test_an_impossible_time_is_rejected_and_the_lineage_kept(tmp_path: Path, time: object) -> None:
    extracted = extracted_of(tmp_path, start(0, COPY) | {"time": time}, end(0) | {"time": time})
    assert extracted.flows == {("db.a", "INSERT_OVERWRITE", "db.b")}
    [execution] = extracted.executions
    assert execution.attributes["status"] == "SUCCEEDED"
    assert (execution.attributes["started"], execution.attributes["ended"]) == (None, None)
    assert {each.as_of_ms for each in (execution, *extracted.operations)} == {T0}
    told_as = "no time" if time is None else f"{str(time)!r}, which is not a time"
    assert [each.reason for each in extracted.rejects] == [
        f"execution 0 starts at {told_as}",
        f"execution 0 ends at {told_as}",
    ]


def test_an_impossible_time_does_not_affect_the_other(tmp_path: Path) -> None:
    extracted = extracted_of(
        tmp_path, start(0, COPY), end(0) | {"time": 10**18}, start(1, COPY) | {"time": -5}, end(1)
    )
    times = {
        each.key.name[-1]: (each.attributes["started"], each.attributes["ended"], each.as_of_ms)
        for each in extracted.executions
    }
    assert times == {
        "0": (T0 + 2_000, None, T0 + 2_000),
        "1": (None, T0 + 2_015, T0 + 2_015),
    }


@pytest.mark.parametrize("time", NO_TIMES)
def test_an_application_with_impossible_times_still_begins_and_ends(tmp_path: Path, time: object) -> None:
    write_log(
        tmp_path,
        *(log_start(), application(attempt="1") | {"Timestamp": time}, start(0, COPY)),
        *(application(attempt="2") | {"Timestamp": time}, start(0, COPY), end(0), start(1, COPY)),
        application_end() | {"Timestamp": time},
        name="application_1_0001.inprogress",
    )
    extracted = read_once(tmp_path)
    assert {each.key.name: each.attributes["status"] for each in extracted.executions} == {
        "application_1_0001_1-exec.0": "UNKNOWN",
        "application_1_0001_2-exec.0": "SUCCEEDED",
        "application_1_0001_2-exec.1": "UNKNOWN",
    }
    assert len(extracted.rejects) == 3
    assert min(each.as_of_ms for each in extracted.entities.values()) > T0


@pytest.mark.parametrize("timestamp", ["1969-12-31T23:59:59.000Z", "9999-01-01T00:00:00.000Z", "never"])
def test_a_streaming_query_with_impossible_times_is_extracted_without_them(
    tmp_path: Path, timestamp: str
) -> None:
    event = progress(0)
    event["progress"]["timestamp"] = timestamp
    extracted = extracted_of(tmp_path, event, terminated())
    [execution] = extracted.executions
    assert (execution.attributes["started"], execution.attributes["ended"]) == (None, None)
    assert execution.as_of_ms == T0
    assert [each.reason for each in extracted.rejects] == [
        f"query {QUERY} progresses at {timestamp!r}, which is not a time"
    ]


# -- One statement, several executions ------------------------------------------------------------------------------

CREATE = command("CreateDataSourceTableAsSelectCommand", "`spark_catalog`.`db`.`b`, ErrorIfExists, [id]")
SAVE = command("SaveAsV1TableCommand", "`db`.`b`, Overwrite, Project [id#1L]")
INNER = insert("hdfs://nn/w/db.db/b", scan("db.a"))


def test_all_executions_of_one_root_are_one_execution(tmp_path: Path) -> None:
    extracted = extracted_of(
        tmp_path,
        *(start(4, SAVE, root=4), start(5, CREATE, root=4), start(6, INNER, root=4)),
        *(end(6), end(5), end(4)),
    )
    [execution] = extracted.executions
    assert execution.key.name.endswith("-exec.4")
    assert extracted.flows == {("db.a", "CREATETABLE_AS_SELECT", "db.b")}
    assert extracted.stored == {("db.b", "hdfs://nn/w/db.db/b")}


def test_an_inner_execution_may_precede_its_root(tmp_path: Path) -> None:
    look_up = node("LocalTableScan", "LocalTableScan [x#1]")
    extracted = extracted_of(
        tmp_path,
        *(
            start(6, look_up, root=5),
            end(6),
            start(5, CREATE, root=5),
            start(7, INNER, root=5),
            end(7),
            end(5),
        ),
    )
    assert len(extracted.executions) == 1
    assert extracted.flows == {("db.a", "CREATETABLE_AS_SELECT", "db.b")}


def test_a_failed_inner_execution_of_a_successful_root_has_no_flow(tmp_path: Path) -> None:
    outer = node("LocalTableScan")
    extracted = extracted_of(
        tmp_path,
        *(start(0, outer, root=0), start(1, COPY, root=0), end(1, error="x"), end(0)),
    )
    assert not extracted.relations
    assert extracted.executions[0].attributes["status"] == "SUCCEEDED"


def test_an_execution_started_after_its_root_ended_is_separate(tmp_path: Path) -> None:
    extracted = extracted_of(tmp_path, start(0, COPY, root=0), end(0), start(1, INNER, root=0), end(1))
    states = {each.key.name.rsplit(".", 1)[1]: each.attributes["status"] for each in extracted.executions}
    assert states == {"0": "SUCCEEDED", "1": "SUCCEEDED"}


def test_an_execution_started_long_after_its_root_ended_is_separate(tmp_path: Path) -> None:
    path = write_log(
        *(tmp_path, log_start(), application(), start(0, COPY, root=0), end(0)),
        *(event for number in range(1, 251) for event in (start(number, COPY), end(number))),
        name="application_1_0001.inprogress",
    )
    follower = Follower(tmp_path)
    follower.poll()
    with path.open("ab") as log:
        log.write(lines(start(300, CREATE, root=0), end(300)))
    extracted = follower.poll()
    states = {each.key.name.rsplit(".", 1)[1]: each.attributes["status"] for each in extracted.executions}
    assert (len(states), states.get("300")) == (252, "SUCCEEDED")


def test_a_failed_create_is_the_same_operation_as_a_successful_one(tmp_path: Path) -> None:
    extracted = extracted_of(
        tmp_path,
        *(start(0, CREATE, root=0), start(1, INNER, root=0), end(1, error="no"), end(0, error="no")),
        *(start(2, CREATE, root=2), start(3, INNER, root=2), end(3), end(2)),
    )
    assert len(extracted.operations) == 1
    assert len(extracted.executions) == 2


# -- Streams ----------------------------------------------------------------------------------------------------------

QUERY, RUN = "d1807a09-0408-49c4-82f0-07253e4d6a08", "40cb62c9-ae96-4cd5-8f53-b70c70dda84a"
_STREAMING = "org.apache.spark.sql.streaming.StreamingQueryListener$Query"


def batch(number: int, *, run: str = RUN) -> dict[str, Any]:
    return {"description": f"clicks\nid = {QUERY}\nrunId = {run}\nbatch = {number}"}


def progress(number: int, *, run: str = RUN, sink: str = "FileSink[hdfs://nn/out]") -> dict[str, Any]:
    return {
        "Event": _STREAMING + "ProgressEvent",
        "progress": {
            "id": QUERY,
            "runId": run,
            "name": "clicks",
            "timestamp": f"2026-01-01T00:00:0{number}.000Z",
            "sources": [
                {"description": "KafkaV2[Subscribe[a, b]]"},
                {"description": "FileStreamSource[hdfs://nn/in]"},
            ],
            "sink": {"description": sink},
        },
    }


def terminated(exception: str | None = None) -> dict[str, Any]:
    return {"Event": _STREAMING + "TerminatedEvent", "id": QUERY, "runId": RUN, "exception": exception}


FILES = node("Scan parquet ", location="InMemoryFileIndex(1 paths)[hdfs://nn/in/part-00001.parquet]")


def test_a_streaming_query_is_one_execution_for_all_batches(tmp_path: Path) -> None:
    extracted = extracted_of(
        tmp_path,
        *(start(0, FILES, **batch(0)), end(0), progress(0), start(1, FILES, **batch(1)), end(1), progress(1)),
        terminated(),
    )
    [execution] = extracted.executions
    assert execution.key.name == f"application_1_0001-stream.{RUN}"
    assert execution.attributes["status"] == "SUCCEEDED"
    assert extracted.flows == {
        (source, "STREAM", "hdfs://nn/out") for source in ("KAFKA:a", "KAFKA:b", "hdfs://nn/in")
    }


def test_writes_of_foreach_batch_belong_to_the_stream(tmp_path: Path) -> None:
    extracted = extracted_of(
        tmp_path,
        *(start(0, FILES, root=0, **batch(0)), start(1, COPY, root=0, **batch(0)), end(1), end(0)),
        progress(0, sink="ForeachBatchSink"),
    )
    assert extracted.flows == {
        (each, "STREAM", "db.b") for each in ("KAFKA:a", "KAFKA:b", "hdfs://nn/in", "db.a")
    }


def test_a_running_stream_is_extracted_before_it_ends_and_again_after(tmp_path: Path) -> None:
    path = write_log(tmp_path, log_start(), application(), progress(0), name="app.inprogress")
    follower = Follower(tmp_path)
    assert [each.attributes["status"] for each in follower.poll().executions] == ["RUNNING"]
    with path.open("ab") as log:
        log.write(lines(progress(1)))
    follower.extracted.entities.clear()
    assert not follower.poll().executions  # nothing new is known about the stream
    with path.open("ab") as log:
        log.write(lines(terminated("boom")))
    [execution] = follower.poll().executions
    assert execution.attributes["status"] == "FAILED"
    assert execution.as_of_ms == 1_767_225_601_000


def test_a_query_restarted_from_its_checkpoint_is_the_same_operation(tmp_path: Path) -> None:
    second = RUN.replace("4", "5")
    extracted = extracted_of(tmp_path, progress(0), terminated(), progress(1, run=second), application_end())
    assert len(extracted.operations) == 1
    assert {each.attributes["status"] for each in extracted.executions} == {"SUCCEEDED", "UNKNOWN"}


# -- Owners of keys -------------------------------------------------------------------------------------------------


def _claims(told_relations: Any) -> set[str]:
    return {
        key.identity for each in told_relations for key in (each.ep1, each.ep2) if key.source.id != SOURCE.id
    }


def test_tables_and_paths_have_the_keys_of_their_owners(tmp_path: Path) -> None:
    write_log(
        tmp_path,
        *(log_start(), environment(fs__defaultFS="hdfs://ns1"), application()),
        *(start(0, insert("/data/out", scan("Sales.Orders"))), end(0)),
    )
    extracted = read_once(tmp_path)
    assert _claims(extracted.relations.values()) == {
        table_key(METASTORE, "SALES", "ORDERS").identity,
        location_key(ESTATE, "hdfs://ns1/data/out").identity,
    }


@pytest.mark.parametrize(
    ("uris", "source"),
    [
        ("thrift://hms:9083", METASTORE.id),
        ("thrift://elsewhere:9083,thrift://HMS:9083", METASTORE.id),
        ("thrift://elsewhere:9083", source_id(CLUSTER, "thrift://elsewhere:9083")),
        ("*********(redacted)", METASTORE.id),
        ("", METASTORE.id),
    ],
)
def test_the_metastore_is_the_one_configured_in_the_application(
    tmp_path: Path, uris: str, source: str
) -> None:
    write_log(
        tmp_path,
        *(log_start(), environment(hive__metastore__uris=uris), application(), start(0, COPY), end(0)),
    )
    relations = read_once(tmp_path).relations.values()
    assert {each.ep1.source.id for each in relations if each.ep1.source.type == HIVE} == {source}


def test_the_metastore_setting_applies_if_the_log_names_none(tmp_path: Path) -> None:
    second = Source(source_id(CLUSTER, "HIVE-2"), HIVE, "HIVE-2", CLUSTER, ("thrift://two:9083",))
    write_log(tmp_path, log_start(), application(), start(0, COPY), end(0))
    estate = Estate(CLUSTER, (SOURCE, METASTORE, second))
    extracted = Follower(tmp_path, estate, metastore="thrift://two:9083").poll()
    assert {each.ep1.source.id for each in extracted.relations.values() if each.ep1.source.type == HIVE} == {
        second.id
    }


# -- Executions that are kept ---------------------------------------------------------------------------------------


def test_reads_are_recorded_unless_switched_off(tmp_path: Path) -> None:
    looked = (start(0, scan("db.a")), end(0), start(1, COPY), end(1))
    extracted = extracted_of(tmp_path, *looked)
    assert extracted.flows == {("db.a", "SELECT", "-"), ("db.a", "INSERT_OVERWRITE", "db.b")}
    assert [each.ages for each in extracted.operations] == [True, False]
    assert read_once(tmp_path, reads=False).flows == {("db.a", "INSERT_OVERWRITE", "db.b")}


def test_a_truncated_list_of_paths_is_incomplete(tmp_path: Path) -> None:
    many = node("Scan parquet ", location="InMemoryFileIndex(3 paths)[hdfs://nn/a/ds=1, hdfs://nn/b, ...]")
    extracted = extracted_of(tmp_path, start(0, insert("/out", many)), end(0))
    marked = {
        each.ep1.name: bool(each.attributes.get("incomplete"))
        for each in extracted.relations.values()
        if each.ep2.type is EntityType.OPERATION
    }
    assert marked == {"a": True, "b": True}


def test_a_thrift_server_statement_is_kept_with_its_user(tmp_path: Path) -> None:
    statement = {
        "Event": "org.apache.spark.sql.hive.thriftserver.ui.SparkListenerThriftServerOperationStart",
        "id": "s1",
        "statement": "insert overwrite table db.b select * from db.a -- password='hunter2'",
        "groupId": "g1",
        "userName": "alice",
    }
    extracted = extracted_of(
        tmp_path, statement, start(0, COPY), job_start(0, 0, group="g1"), end(0), start(1, COPY), end(1)
    )
    assert {each.attributes["principal"] for each in extracted.executions} == {"alice", "etl"}
    assert "hunter2" not in stored([*extracted.operations, *extracted.executions])


def test_a_thrift_statement_is_kept_until_its_execution_ends(tmp_path: Path) -> None:
    statement = {
        "Event": "org.apache.spark.sql.hive.thriftserver.ui.SparkListenerThriftServerOperationStart",
        "statement": "insert overwrite table db.b select * from db.a",
        "groupId": "g1",
        "userName": "alice",
    }
    path = write_log(
        tmp_path,
        *(log_start(), application(), statement, start(0, COPY, jobGroupId="g1")),
        name="app.inprogress",
    )
    follower = Follower(tmp_path)
    follower.poll()
    with path.open("ab") as log:
        log.write(lines(end(0)))
    extracted = follower.poll()
    assert extracted.operations[0].attributes["queryText"] == statement["statement"]
    assert extracted.executions[0].attributes["principal"] == "alice"


def test_secrets_in_urls_and_names_are_in_no_record(tmp_path: Path) -> None:
    save = command(
        "SaveIntoDataSourceCommand",
        "org.apache.spark.JdbcRelationProvider@1, [url=jdbc:postgresql://u:hunter2@db:5432/x?password=hunter2, "
        "dbtable=public.t, password=hunter2], Overwrite",
    )
    extracted = extracted_of(tmp_path, start(0, save), end(0))
    [flow] = extracted.relations.values()
    assert flow.ep2.source.type == "JDBC"
    assert flow.ep2.source.name == "postgres://db:5432"
    assert flow.ep2.name == "x.public.t"
    assert "hunter2" not in stored([*extracted.entities.values(), *extracted.relations.values()])


def test_runs_differing_only_in_dates_ids_and_join_types_are_one_operation(tmp_path: Path) -> None:
    def plan(number: int, day: str, join: str, files: int) -> dict[str, Any]:
        paths = ", ".join(f"hdfs://nn/in/ds={day}/h={hour}" for hour in range(files))
        where = f"InMemoryFileIndex({files} paths)[{paths}]"
        left = node("Filter", f"Filter (ds#{number} = {day})", node("Scan parquet ", location=where))
        joined = node(
            join, f"{join} [id#{number}L], [id#{number + 1}L], Inner", left, scan("db.a", f"id#{number + 1}L")
        )
        total = node("HashAggregate", f"HashAggregate(keys=[id#{number}L], functions=[count(1)])", joined)
        if number == 1:
            return insert("/w/b", node("WholeStageCodegen (3)", "", total), table="db.b")
        final = node(
            "SortAggregate", total["simpleString"].replace("Hash", "Sort"), node("Exchange", "x", total)
        )
        adaptive = node("AdaptiveSparkPlan", "AdaptiveSparkPlan isFinalPlan=false", final)
        return insert("/w/b", adaptive, table="db.b")

    extracted = extracted_of(
        tmp_path,
        *(start(0, plan(1, "2026-01-01", "BroadcastHashJoin", 1)), end(0)),
        *(start(1, plan(77, "2026-01-02", "SortMergeJoin", 4)), end(1)),
    )
    assert len(extracted.operations) == 1
    assert len(extracted.executions) == 2


def test_the_same_plan_over_other_tables_or_columns_is_another_operation(tmp_path: Path) -> None:
    extracted = extracted_of(
        tmp_path,
        *(start(0, insert("/w/b", scan("db.a", "x#1"), table="db.b")), end(0)),
        *(start(1, insert("/w/b", scan("db.a", "y#1"), table="db.b")), end(1)),
        *(start(2, insert("/w/b", scan("db.c", "x#1"), table="db.b")), end(2)),
    )
    assert len(extracted.operations) == 3


# -- Bad input ------------------------------------------------------------------------------------------------------


def test_an_unparsable_line_is_rejected_with_its_offset_and_the_rest_is_read(tmp_path: Path) -> None:
    before = lines(log_start(), application())
    path = tmp_path / "app"
    path.write_bytes(
        before + b'{"Event":"SparkListenerApplicationEnd",_"broken\n' + lines(start(0, COPY), end(0))
    )
    extracted = read_once(tmp_path)
    [reject] = extracted.rejects
    assert (reject.place, reject.offset) == (str(path), len(before))
    assert reject.sample.startswith('{"Event"')
    assert len(extracted.executions) == 1


def test_many_rejects_are_limited_and_counted(tmp_path: Path) -> None:
    (tmp_path / "driver.log").write_bytes(b"26/01/01 12:00:00 INFO something\n" * 5_000)
    extracted = read_once(tmp_path)
    assert len(extracted.rejects) < 50
    assert sum(each.count for each in extracted.rejects) == 5_000


def test_a_plan_nested_too_deeply_is_rejected(tmp_path: Path) -> None:
    deep = '{"nodeName":"Project","simpleString":"","children":[' * 5_000 + "]}" * 5_000
    line = json.dumps(start(0, {})).replace('"sparkPlanInfo": {}', f'"sparkPlanInfo": {deep}')
    path = write_log(tmp_path, log_start(), application())
    with path.open("ab") as log:
        log.write(line.replace(": ", ":").encode() + b"\n" + lines(end(0), start(1, COPY), end(1)))
    extracted = read_once(tmp_path)
    assert len(extracted.rejects) == 2  # the start, and the end without a start
    assert len(extracted.executions) == 1


def test_a_lone_surrogate_is_replaced(tmp_path: Path) -> None:
    extracted = extracted_of(
        tmp_path, application("caf\u00e9 \ud83d\ude00 \ud800"), start(0, scan("db.\udc00x")), end(0)
    )
    names = [str(each.attributes["originalName"]) for each in extracted.operations]
    assert names == ["caf\u00e9 \U0001f600 \ufffd"]
    [flow] = extracted.relations.values()
    assert readable(flow.ep1) == "db.\ufffdx"


_ODD: list[Any] = [
    None,
    True,
    -1,
    10**30,
    1.5,
    "",
    "x",
    "\ud800",
    [],
    [[]],
    {},
    {"a": None},
    "`",
    "(",
    "9" * 400,
]


def test_events_with_values_of_any_kind_raise_nothing(tmp_path: Path) -> None:
    whole = [
        *(log_start(), environment(fs__defaultFS="hdfs://nn"), application(attempt="1")),
        *(start(0, SAVE, root=0), start(1, CREATE, root=0, jobGroupId="g"), start(2, INNER, root=0)),
        *(job_start(0, 2, group="g"), job_end(0), end(2), end(1), end(0), application_end()),
    ]
    chance = random.Random(7)
    told_something = 0
    for number in range(400):
        changed = json.loads(json.dumps(whole))
        for _ in range(chance.choice([1, 1, 3, 10])):
            _change(chance.choice(changed), chance)
        folder = tmp_path / str(number)
        write_log(folder, *changed)
        extracted = read_once(folder)
        told_something += bool(extracted.executions)
        pickle.dumps(extracted)
    assert told_something > 200


def _change(value: Any, chance: random.Random) -> None:
    """Replace a random value at any depth of a JSON value, except the event's name."""
    while True:
        keys = (
            [key for key in value if key != "Event"] if isinstance(value, dict) else list(range(len(value)))
        )
        if not keys:
            return
        key = chance.choice(keys)
        inner = value[key]
        if isinstance(inner, (dict, list)) and inner and chance.random() < 0.7:
            value = inner
            continue
        value[key] = copy.deepcopy(chance.choice(_ODD))
        return


def test_records_pickle_and_rereading_a_split_yields_the_same(spark_logs: Path) -> None:
    follower = Follower(spark_logs / "default")
    [split] = follower.plan()
    extractor = pickle.loads(pickle.dumps(follower.extractor))  # noqa: S301 - made here
    first = list(extractor.read(pickle.loads(pickle.dumps(split))))  # noqa: S301 - made here
    assert first == list(extractor.read(split))
    assert pickle.loads(pickle.dumps(first)) == first  # noqa: S301 - made here
    assert sum(isinstance(each, (Entity, Relation)) for each in first) > 30


def test_a_directory_on_an_unsupported_file_system_is_refused(tmp_path: Path) -> None:
    extractor = Follower(tmp_path).extractor
    elsewhere = type(extractor)(SOURCE, ESTATE, "s3a://bucket/spark-history")
    with pytest.raises(ValueError, match=r"s3a://bucket/spark-history.*from HDFS, not by s3a:"):
        elsewhere.directories()
    local = type(extractor)(SOURCE, ESTATE, f"file://{tmp_path}")
    assert local.directories() == (str(tmp_path),)
    assert list(local.check()) == [f"{tmp_path}: 0 event logs"]


def spark_environment(**properties: str) -> dict[str, Any]:
    """Return an event with these Spark properties; two underscores in a name become a dot."""
    spark = {key.replace("__", "."): value for key, value in properties.items()}
    return {"Event": "SparkListenerEnvironmentUpdate", "Spark Properties": spark, "Hadoop Properties": {}}


WHOLE = {
    "spark__sql__debug__maxToStringFields": "2000",
    "spark__sql__maxMetadataStringLength": "2000",
}


@pytest.mark.parametrize(
    ("properties", "named"),
    [
        pytest.param(WHOLE, [], id="plans are whole"),
        pytest.param({}, ["spark.sql.debug.maxToStringFields", "spark.sql.maxMetadataStringLength"], id="defaults"),
        pytest.param(WHOLE | {"spark__sql__ui__explainMode": "simple"}, ["spark.sql.ui.explainMode"], id="mode"),
        pytest.param(WHOLE | {"spark__sql__maxPlanStringLength": "9000"}, ["spark.sql.maxPlanStringLength"], id="text"),
        pytest.param(WHOLE | {"spark__sql__debug__maxToStringFields": "9"}, ["spark.sql.debug.maxToStringFields"], id="9"),
    ],
)  # fmt: skip
def test_check_names_the_settings_that_truncate_plans(
    properties: dict[str, str], named: list[str], tmp_path: Path
) -> None:
    write_log(tmp_path, log_start(), spark_environment(**properties), application(), start(0, scan("d.t")))
    answer = list(Follower(tmp_path).extractor.check())
    assert answer[0] == f"{tmp_path}: 1 event log"
    assert [line.split(": ")[1].split(" is ")[0] for line in answer[1:]] == named


def test_check_gives_no_advice_if_the_log_lacks_its_settings(tmp_path: Path) -> None:
    write_log(tmp_path, log_start(), application(), start(0, scan("d.t")))
    assert list(Follower(tmp_path).extractor.check()) == [f"{tmp_path}: 1 event log"]
