"""Each log has a limited share of memory for its open executions. An execution beyond the limit is rejected, and
its operation is flagged."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from extractors.spark import application, spark_events, streams
from extractors.spark.incomplete import Incomplete
from tests.support.spark_logs import (
    Extracted,
    Follower,
    application_end,
    end,
    insert,
    job_start,
    lines,
    log_start,
    scan,
    start,
    write_log,
)
from tests.support.spark_logs import application as begun
from tests.support.stream_logs import KAFKA, progress, scanned, started

TO = insert("hdfs://nn/out", scan("d.a"))


def reasons(extracted: Extracted) -> set[str]:
    return {each for operation in extracted.operations for each in operation.attributes["incompleteReasons"]}


def size_bytes(follower: Follower) -> int:
    return max(len(json.dumps(each)) for each in follower.saved.values())


def opened(count: int, **more: Any) -> list[dict[str, Any]]:
    return [start(number, TO, **more) for number in range(count)]


def test_executions_beyond_the_limit_are_rejected_and_their_operations_flagged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(application, "MAX_OPEN", 3)
    write_log(tmp_path, log_start(), begun(), *opened(5), end(4), end(3), end(2))
    extracted = Follower(tmp_path).poll()
    assert [each.reason for each in extracted.rejects] == [
        f"execution {number} is no longer followed: more than 3 are open" for number in (0, 1)
    ]
    assert len(extracted.executions) == 5
    assert sorted(each.attributes["status"] for each in extracted.executions) == [
        *("SUCCEEDED", "SUCCEEDED", "SUCCEEDED", "UNKNOWN", "UNKNOWN")
    ]


def test_an_abandoned_execution_leaves_its_operation_incomplete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(application, "MAX_OPEN", 1)
    other = insert("hdfs://nn/other", scan("d.b"))
    write_log(tmp_path, log_start(), begun(), start(0, TO), start(1, other), end(1))
    extracted = Follower(tmp_path).poll()
    given_up = [
        each.attributes["outputs"]
        for each in extracted.operations
        if Incomplete.GIVEN_UP in each.attributes["incompleteReasons"]
    ]
    assert given_up == [["hdfs://nn/out"]]


def test_the_state_of_a_log_is_bounded_in_bytes_and_the_oldest_is_evicted_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_events, "MAX_STATE_BYTES", 20_000)
    # The second half of the executions starts in a later poll than the first half.
    events = opened(40, jobGroupId="g" * 300)
    log = write_log(tmp_path, log_start(), begun(), *events, name="application_1_0001.inprogress")
    follower = Follower(tmp_path)
    follower.poll()
    assert 5_000 < size_bytes(follower) < 12_000
    with log.open("ab") as more:
        more.write(lines(*(start(number, TO, jobGroupId="g" * 300) for number in range(40, 80))))
    extracted = follower.poll()
    assert 5_000 < size_bytes(follower) < 12_000
    assert (
        extracted.rejects[0].reason
        == "execution 0 is no longer followed: more than 10000 bytes of its log would have to be kept"
    )
    given_up = sum(each.count for each in extracted.rejects)
    assert given_up == len([each for each in extracted.executions if each.attributes["status"] == "UNKNOWN"])
    assert Incomplete.GIVEN_UP.value in reasons(extracted)


def test_all_logs_share_one_bound_equally(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_events, "ALL_STATE_BYTES", 60_000)
    for number in range(6):
        write_log(
            tmp_path,
            log_start(),
            begun(),
            *opened(100, jobGroupId="g" * 300),
            name=f"application_1_000{number}",
        )
    follower = Follower(tmp_path)
    follower.poll()
    follower.poll()
    assert len(follower.saved) == 6
    assert sum(len(json.dumps(each)) for each in follower.saved.values()) < 60_000


@pytest.mark.parametrize(
    ("name", "of"),
    [
        ("App Name", lambda text: [begun() | {"App Name": text}]),
        ("User", lambda text: [begun() | {"User": text}]),
        ("Spark Version", lambda text: [log_start(text)]),
        ("jobGroupId", lambda text: [start(0, TO, jobGroupId=text)]),
        ("spark.jobGroup.id", lambda text: [start(0, TO), job_start(0, 0, group=text)]),
    ],
)
def test_no_text_of_an_event_is_stored_at_unbounded_length(
    tmp_path: Path, name: str, of: Callable[[str], list[dict[str, Any]]]
) -> None:
    write_log(tmp_path, log_start(), begun(), *of("x" * 1_000_000))
    follower = Follower(tmp_path)
    assert follower.poll().rejects == []
    assert size_bytes(follower) < 20_000, name


def test_a_statement_is_remembered_while_it_runs(tmp_path: Path) -> None:
    kind = "org.apache.spark.sql.hive.thriftserver.ui.SparkListenerThriftServerOperationStart"
    said = [
        {
            "Event": kind,
            "groupId": f"g{number}",
            "statement": f"INSERT {number}",
            "userName": f"user-{number}",
        }
        for number in range(500)
    ]
    long = [said[0], start(0, TO, jobGroupId="g0")]
    write_log(tmp_path, log_start(), begun(), *long, *said[1:], end(0))
    (execution,) = Follower(tmp_path).poll().executions
    assert execution.attributes["principal"] == "user-0"


def test_jobs_and_tables_beyond_the_limit_are_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(application, "MAX_OPEN", 2)
    monkeypatch.setattr(application, "MAX_CHANGED", 2)
    kind = "org.apache.spark.sql.catalyst.catalog.CreateTableEvent"
    altered = [{"Event": kind, "database": "d", "name": f"t{number}"} for number in range(3)]
    jobs = [job_start(number, 0) for number in range(3)]
    write_log(tmp_path, log_start(), begun(), start(0, TO), *altered, *jobs, end(0))
    assert [each.reason for each in Follower(tmp_path).poll().rejects] == [
        "execution 0 creates or alters more than 2 tables: d.t2 is left out",
        "job 2 is not followed: more than 2 are running",
    ]


# -- Streams -------------------------------------------------------------------------------------------------------------


def test_a_stream_with_too_many_sources_is_incomplete(tmp_path: Path) -> None:
    sources = [f"FileStreamSource[hdfs://nn/in{number}]" for number in range(250)]
    write_log(tmp_path, log_start(), begun(), started(), progress(sources))
    extracted = Follower(tmp_path).poll()
    assert Incomplete.TOO_MANY_ENDS.value in reasons(extracted)


def test_streams_beyond_the_limit_are_rejected_and_their_operations_flagged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "MAX_STREAMS", 2)
    at = "2026-01-01T00:00:0{}.000Z"
    running = [
        started(runId=f"r{number}", id=f"q{number}", timestamp=at.format(number)) for number in range(3)
    ]
    follower = Follower(tmp_path)
    write_log(tmp_path, log_start(), begun(), *running)
    extracted = follower.poll()
    assert [each.reason for each in extracted.rejects] == [
        "run r0 of query q0 is no longer followed: 3 queries are running"
    ]
    assert len(extracted.operations) == 3
    given_up = [
        each for each in extracted.operations if Incomplete.GIVEN_UP in each.attributes["incompleteReasons"]
    ]
    assert len(given_up) == 1
    (state,) = (each["state"] for each in follower.saved.values())
    assert set(state["streams"]) == {"r1", "r2"}


def test_the_streams_of_a_log_are_bounded_in_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_events, "MAX_STATE_BYTES", 20_000)
    sources = [f"FileStreamSource[hdfs://nn/{'in' * 200}{number}]" for number in range(100)]
    write_log(tmp_path, log_start(), begun(), started(), scanned(*KAFKA), end(0), progress(sources))
    follower = Follower(tmp_path)
    extracted = follower.poll()
    assert size_bytes(follower) < 10_000
    assert [each.reason.partition(" is ")[2] for each in extracted.rejects] == [
        "no longer followed: 1 queries are running"
    ]
    assert Incomplete.GIVEN_UP.value in reasons(extracted)


def test_unfinished_executions_of_a_finished_log_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_events, "MAX_STATE_BYTES", 20_000)
    write_log(tmp_path, log_start(), begun(), *opened(80, jobGroupId="g" * 300), application_end())
    follower = Follower(tmp_path)
    extracted = follower.poll()
    assert len(extracted.executions) == 80
    assert size_bytes(follower) < 12_000
