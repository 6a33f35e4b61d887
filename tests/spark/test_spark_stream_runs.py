"""Starts and ends of streaming queries, as every Spark version logs them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.spark_logs import (
    T0,
    Follower,
    application,
    end,
    lines,
    log_start,
    node,
    read_once,
    start,
    write_log,
)
from tests.support.spark_plans import op
from tests.support.stream_logs import (
    KAFKA,
    QUERY,
    RUN,
    STREAMING,
    batch,
    extracted_of,
    file_scan,
    progress,
    scanned,
    seen,
    started,
    terminated,
    to,
)


def test_a_query_is_running_from_its_start_event(tmp_path: Path) -> None:
    write_log(tmp_path, log_start(), application(), started(), name="application_1_0001.inprogress")
    [execution] = read_once(tmp_path).executions
    assert execution.attributes["status"] == "RUNNING"
    assert execution.attributes["started"] == 1_767_225_600_000


def test_a_query_without_a_batch_fails_with_its_error(tmp_path: Path) -> None:
    extracted = extracted_of(tmp_path, started(), terminated("no such topic"))
    [execution] = extracted.executions
    assert (execution.attributes["status"], execution.attributes["errorMessage"]) == (
        "FAILED",
        "no such topic",
    )
    assert execution.attributes["started"] == 1_767_225_600_000
    assert not extracted.relations


def test_a_run_without_a_batch_keeps_the_lineage_of_an_earlier_run(tmp_path: Path) -> None:
    scan, leaf = KAFKA
    ran = (scanned(scan, leaf), end(0), progress(["KafkaV2[Subscribe[a]]"]), terminated())
    before = extracted_of(tmp_path, *ran)
    again = {"runId": RUN.replace("4", "5"), "timestamp": "2026-02-01T00:00:00.000Z"}
    later = application(app_id="application_1_0002")
    write_log(
        tmp_path, log_start(), later, started(**again), terminated("no") | again, name="application_1_0002"
    )
    extracted = read_once(tmp_path)
    assert sorted(str(each.attributes["status"]) for each in extracted.executions) == ["FAILED", "SUCCEEDED"]
    assert extracted.lineage() == before.lineage()


def test_a_run_missing_some_sources_keeps_the_lineage_of_an_earlier_run(
    tmp_path: Path,
) -> None:
    def run(number: int, sources: list[str], name: str) -> None:
        run_id = RUN.replace("4", str(number))
        scan, leaf = KAFKA
        event = progress(sources)
        event["progress"]["runId"] = run_id
        write_log(
            *(tmp_path, log_start(), application(app_id=name)),
            *(scanned(scan, leaf, **batch(run=run_id)), end(0), event),
            name=name,
        )

    run(4, ["KafkaV2[Subscribe[a]]"], "application_1_0001")
    before = read_once(tmp_path)
    run(5, ["KafkaV2[Subscribe[a]]", "KafkaV2[Subscribe[b]]"], "application_1_0002")
    after = read_once(tmp_path)
    assert seen(before, "clicks").columns == to("out", key="a.key |", value="a.value |")
    assert set(before.relations) < set(after.relations)


def test_a_failure_without_a_start_event_has_no_start_time(tmp_path: Path) -> None:
    [execution] = extracted_of(tmp_path, terminated("boom")).executions
    assert (execution.attributes["status"], execution.attributes["started"]) == ("FAILED", None)
    assert execution.as_of_ms == T0


def test_an_idle_event_extends_the_end_of_a_query(tmp_path: Path) -> None:
    idle = {
        "Event": STREAMING + "IdleEvent",
        "id": QUERY,
        "runId": RUN,
        "timestamp": "2026-01-02T00:00:00.000Z",
    }
    [execution] = extracted_of(tmp_path, started(), idle, terminated()).executions
    assert execution.attributes["ended"] == 1_767_312_000_000


def old(kind: str, state: str, **more: Any) -> dict[str, Any]:
    """Return an event of Spark 2.0.0 (``queryInfo``) or of 2.0.1 and 2.0.2 (``queryStatus``)."""
    extracted = {
        "name": "clicks",
        "id": 1,
        "sourceStatuses": [{"description": "FileStreamSource[file:/in]", "offsetDesc": "#0"}],
        "sinkStatus": {"description": "FileSink[/out]", "offsetDesc": "[#0]"},
    }
    return {"Event": f"{STREAMING}{kind}", state: extracted | more}


@pytest.mark.parametrize(
    ("begun", "gone_on", "over", "state", "started_ms"),
    [
        ("Started", "Progress", "Terminated", "queryInfo", None),
        ("StartedEvent", "ProgressEvent", "TerminatedEvent", "queryStatus", 1_480_491_481_350),
    ],
)
def test_spark_20_streams_in_older_formats_are_read(
    tmp_path: Path, begun: str, gone_on: str, over: str, state: str, started_ms: int | None
) -> None:
    times = [{"timestamp": at} if started_ms else {} for at in (1_480_491_481_350, 1_480_491_493_386)]
    extracted = extracted_of(
        tmp_path,
        old(begun, state, **times[0]),
        old(gone_on, state, **times[1]),
        {**old(over, state), "exception": None},
    )
    [execution] = extracted.executions
    assert execution.attributes["status"] == "SUCCEEDED"
    assert execution.attributes["started"] == started_ms
    assert extracted.flows == {("file:///in", "STREAM", "/out")}
    assert not seen(extracted, "clicks").complete


def test_a_failed_spark_20_stream_has_no_flow(tmp_path: Path) -> None:
    over = old("Terminated", "queryInfo", sinkStatus={"description": "FileSink[/out]", "offsetDesc": "[-]"})
    extracted = extracted_of(tmp_path, {**over, "exception": "/ by zero"})
    [execution] = extracted.executions
    assert (execution.attributes["status"], execution.attributes["errorMessage"]) == ("FAILED", "/ by zero")
    assert not extracted.relations


def many(count: int, *, ended: bool) -> list[dict[str, Any]]:
    """Return the starts of this many queries, one second apart, and their ends if ``ended``."""
    names = [{"id": f"query {number}", "runId": f"run {number}"} for number in range(count)]
    at = [f"2026-01-01T00:{number // 60:02d}:{number % 60:02d}.000Z" for number in range(count)]
    begun = [started(timestamp=time, **name) for time, name in zip(at, names, strict=True)]
    return begun + ([terminated() | name for name in names] if ended else [])


def test_any_number_of_ended_queries_is_extracted(tmp_path: Path) -> None:
    extracted = extracted_of(tmp_path, *many(250, ended=True))
    assert [each.attributes["status"] for each in extracted.executions] == ["SUCCEEDED"] * 250
    assert not extracted.rejects


def test_running_queries_beyond_the_limit_are_rejected_longest_idle_first(tmp_path: Path) -> None:
    name = "application_1_0001.inprogress"
    write_log(tmp_path, log_start(), application(), *many(205, ended=False), name=name)
    follower = Follower(tmp_path)
    extracted = follower.poll()
    assert len(extracted.executions) == 205
    rejected = {each.reason.partition(" is no longer followed")[0] for each in extracted.rejects}
    assert rejected == {f"run run {number} of query query {number}" for number in range(5)}
    [saved] = follower.saved.values()
    assert len(saved["state"]["streams"]) == 200


def test_the_stored_state_of_a_stream_is_json(tmp_path: Path) -> None:
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


def test_the_stored_state_of_a_stream_has_no_secret_and_survives_a_restart(tmp_path: Path) -> None:
    secret = "hunter2secretX"
    text = f"concat(v#2, password = '{secret}', {'x' * 900} token = '{secret}')"
    scan, leaf = file_scan("id#1L, v#2", f"InMemoryFileIndex(1 paths)[s3a://AK:{secret}@b/in/part-1]")
    query = op("Project", f"Output [1]: [{text} AS w#3]\nInput [2]: [id#1L, v#2]", scan)
    sources = [f"FileStreamSource[s3a://AK:{secret}@b/in]", f"MongoStream[mongodb://u:{secret}@h/db]"]
    events = (
        *(started(), scanned(query, leaf), end(0)),
        progress(sources, f"FileSink[s3a://AK:{secret}@b/out]"),
        progress(sources, f"FileSink[s3a://AK:{secret}@b/out]"),
    )
    path = write_log(tmp_path, log_start(), application(), name="application_1_0001.inprogress")
    follower = Follower(tmp_path)
    for each in events:
        with path.open("ab") as log:
            log.write(lines(each))
        follower.poll()
        assert secret not in json.dumps(follower.saved)
    found = seen(follower.extracted, "clicks")
    assert found == seen(extracted_of(tmp_path / "at once", *events), "clicks")
    assert (found.inputs, found.outputs, set(found.columns)) == ({"in", "db"}, {"out"}, {"out.w"})


def test_the_stored_error_of_an_inner_execution_has_no_secret(tmp_path: Path) -> None:
    error = f"{'x' * 480} password=hunter2secretX refused"
    copy = node("LocalTableScan")
    write_log(
        *(tmp_path, log_start(), application(), start(0, copy, root=0), start(1, copy, root=0)),
        end(1, error=error),
        name="application_1_0001.inprogress",
    )
    follower = Follower(tmp_path)
    follower.poll()
    assert "hunter" not in json.dumps(follower.saved)
