"""OpenLineage events in files, through `plan` and `read`: runs, applications, file formats, and broken input."""

from __future__ import annotations

import base64
import itertools
import json
import random
import zlib
from pathlib import Path
from typing import Any

import pytest

from navlin.model.keys import EntityType, RelationType, application_key
from tests.support.openlineage import (
    AIRFLOW,
    APPLICATION,
    COMPLETE,
    FIRST_MS,
    RUN,
    RUNNING,
    START,
    SUM,
    WHOLE,
    YARN_1,
    Follower,
    Json,
    dataset,
    event,
    flows,
    of_fields,
    path,
    shown,
    source,
    statuses,
    table,
    wrote,
)
from tests.support.record_edges import Read


@pytest.fixture
def follower(tmp_path: Path) -> Follower:
    return Follower(tmp_path)


# -- Runs ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", list(itertools.permutations((START, RUNNING, COMPLETE))))
def test_events_of_a_run_are_merged_in_any_order_and_across_readings(
    follower: Follower, order: tuple[Json, ...]
) -> None:
    together = Follower(follower.directory)
    got = [follower.read(each) for each in order]
    last = next(each for each in reversed(got) if each.operations)

    assert flows(last) == WHOLE
    assert flows(together.read()) == WHOLE
    assert (last.execution.attributes["started"], last.execution.attributes["ended"]) == (
        FIRST_MS,
        FIRST_MS + 10_000,
    )
    assert statuses(last) == {RUN: "SUCCEEDED"}
    assert [each.path for each in last.covers] == [last.operation.key.tree_path]
    # A run that has not ended is reported as running, without flows.
    for each in got[: order.index(COMPLETE)]:
        assert (flows(each), statuses(each)) == (set(), {RUN: "RUNNING"})


def test_an_unfinished_run_is_shown_running_with_its_datasets(
    follower: Follower,
) -> None:
    got = follower.read(event("RUNNING", 5, inputs=[table("a.a")], outputs=[table("b.b")]))
    shown_as = got.execution.attributes
    assert (shown_as["status"], shown_as["inputs"], shown_as["outputs"]) == ("RUNNING", ["a.a"], ["b.b"])
    assert shown_as["started"] == FIRST_MS + 5_000
    assert (flows(got), got.covers, got.rejects) == (set(), [], [])
    follower.now_ms += 31 * 86_400_000
    assert statuses(follower.read(event("COMPLETE", 9, "another"))) == {
        RUN: "UNKNOWN",
        "another": "SUCCEEDED",
    }


def test_the_end_of_a_run_replaces_its_running_state_and_affects_no_hanging_run(
    follower: Follower,
) -> None:
    running = follower.read(event("START", 1), event("START", 2, "hangs"))
    assert statuses(running) == {RUN: "RUNNING", "hangs": "RUNNING"}
    ended = follower.read(event("COMPLETE", 9, outputs=[table("b.b")]))
    begun = {each.key.name: each.key.identity for each in running.of(EntityType.OPERATION_EXECUTION)}
    assert ended.execution.key.identity == begun[RUN]
    assert ended.operation.key not in {each.key for each in running.operations}
    assert [each.path for each in ended.covers] == [ended.operation.key.tree_path]


def test_a_running_run_changes_nothing_shown_by_an_earlier_run_of_its_job(
    follower: Follower,
) -> None:
    text: Json = {"job_facets": sql("INSERT INTO b.b SELECT * FROM a.a")}
    before = follower.read(
        event("COMPLETE", 1, "before", inputs=[table("a.a")], outputs=[table("b.b")], **text)
    )
    running = follower.read(event("START", 9, **text))
    assert running.operation.key.identity == before.operation.key.identity
    assert running.operation.as_of_ms < before.operation.as_of_ms
    # If the start and the end have the same time, the end takes precedence.
    ended = follower.read(event("FAIL", 9, **text))
    assert running.execution.as_of_ms < ended.execution.as_of_ms


def test_a_late_empty_event_does_not_erase_a_finished_run(follower: Follower) -> None:
    follower.read(START, RUNNING, COMPLETE)
    late = follower.read(event("RUNNING", 11))
    assert flows(late) == WHOLE
    assert statuses(late) == {RUN: "SUCCEEDED"}


def test_an_end_event_alone_is_a_run(follower: Follower) -> None:
    got = follower.read(event("COMPLETE", 10, inputs=[table("a.a")], outputs=[table("b.b")]))
    assert flows(got) == {"a.a -> operation", "operation -> b.b"}
    assert "started" not in {name for name, value in got.execution.attributes.items() if value}


def test_a_run_without_datasets_covers_nothing(follower: Follower) -> None:
    got = follower.read(event("START", 0), event("COMPLETE", 3))
    assert (got.covers, flows(got), statuses(got)) == ([], set(), {RUN: "SUCCEEDED"})


@pytest.mark.parametrize(("kind", "status"), [("FAIL", "FAILED"), ("ABORT", "KILLED")])
def test_a_failed_run_is_an_execution_without_flows(follower: Follower, kind: str, status: str) -> None:
    error = {"errorMessage": {"message": "no space left", "programmingLanguage": "JAVA"}}
    got = follower.read(START, event(kind, 3, outputs=[table("sales.daily")], run_facets=error))
    assert (flows(got), got.covers, statuses(got)) == (set(), [], {RUN: status})
    assert got.execution.attributes["errorMessage"] == "no space left"


def test_a_running_streaming_job_already_has_flows(follower: Follower) -> None:
    streaming = {"jobType": {"processingType": "STREAMING", "integration": "FLINK", "jobType": "JOB"}}
    kafka = dataset("kafka://broker:9092", "orders")
    got = follower.read(event("RUNNING", 5, job_facets=streaming, inputs=[kafka], outputs=[path("/out")]))
    assert flows(got) == {"orders -> operation", "operation -> /out"}
    assert statuses(got) == {RUN: "RUNNING"}
    assert got.operation.attributes["engineType"] == "FLINK"


@pytest.mark.parametrize(
    ("kind", "status"), [("FAIL", "FAILED"), ("ABORT", "KILLED"), ("COMPLETE", "SUCCEEDED")]
)
@pytest.mark.parametrize("readings", [1, 3])
def test_a_stopped_stream_keeps_its_flows(follower: Follower, kind: str, status: str, readings: int) -> None:
    streaming = {"jobType": {"processingType": "STREAMING", "integration": "FLINK", "jobType": "JOB"}}
    kafka = dataset("kafka://broker:9092", "orders")
    events = [
        event("START", 0, job_facets=streaming, inputs=[kafka], outputs=[path("/out")]),
        event("RUNNING", 5),
        event(kind, 9),
    ]
    if readings == 1:
        got = follower.read(*events)
    else:
        got = Read([record for each in events for record in follower.read(each).records])
    assert flows(got) == {"orders -> operation", "operation -> /out"}
    assert statuses(got) == {RUN: status}
    never_ran = follower.read(event(kind, 9, "other", job="x", job_facets=streaming, outputs=[path("/x")]))
    assert flows(never_ran) == ({"operation -> /x"} if kind == "COMPLETE" else set())


def test_a_job_has_one_operation_per_text(follower: Follower) -> None:
    def of(run: str, text: str = "", job: str = "daily") -> Json:
        sql = {"sql": {"query": text}} if text else {}
        return event("COMPLETE", 3, run, job=job, job_facets=sql, outputs=[table("b.b")])

    got = follower.read(
        of("1"), of("2"), of("3", "select 1"), of("4", "select 1"), of("5", "select 2"), of("6", job="x")
    )
    assert len({each.key.identity for each in got.operations}) == 4
    assert len(got.of(EntityType.OPERATION_EXECUTION)) == 6
    assert {each.attributes["queryText"] for each in got.operations} == {"", "select 1", "select 2"}


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_the_latest_text_of_a_run_is_used(follower: Follower, order: tuple[int, ...]) -> None:
    events = [
        event("START", 0, job_facets={"sql": {"query": "select {{ x }}"}}),
        event("RUNNING", 5, job_facets={"sql": {"query": "select 1"}}),
        event("COMPLETE", 9, outputs=[table("b.b")]),
    ]
    assert follower.read(*(events[place] for place in order)).operation.attributes["queryText"] == "select 1"


@pytest.mark.parametrize(
    "nothing",
    [{}, {"run": None, "eventType": None, "dataset": None}, {"run": None, "eventType": "OTHER"}],
    ids=["absent", "null", "of the type OTHER"],
)
def test_a_static_job_has_flows_and_no_execution(follower: Follower, nothing: Json) -> None:
    static = event(
        None, 0, inputs=[table("a.a")], outputs=[table("a.v", datasetType={"datasetType": "VIEW"})]
    )
    static |= nothing
    if not nothing:
        del static["run"]
    got = follower.read(static)
    assert got.rejects == []
    assert flows(got) == {"a.a -> operation", "operation -> a.v"}
    assert got.operation.attributes["incompleteReasons"] == [
        "the producer does not say where columns come from"
    ]
    assert got.of(EntityType.OPERATION_EXECUTION) == []
    assert {r.ep2.type for r in got.relations if shown(r.ep2) == "a.v"} == {EntityType.VIEW}


@pytest.mark.parametrize("kind", ["START", "RUNNING", "COMPLETE", "ABORT", "FAIL"])
def test_a_run_event_without_a_run_is_rejected_and_its_job_still_counts(
    follower: Follower, kind: str
) -> None:
    got = follower.read(event(kind, 0, inputs=[table("a.a")], outputs=[table("b.b")]) | {"run": None})
    assert ["names none" in each.reason for each in got.rejects] == [True]
    assert flows(got) == {"a.a -> operation", "operation -> b.b"}
    assert got.of(EntityType.OPERATION_EXECUTION) == []


def test_a_static_job_without_columns_removes_no_columns_of_a_run(follower: Follower) -> None:
    facet = of_fields({"x": [source("a.a", "x", SUM)]})
    static = event(None, 9, inputs=[table("a.a")], outputs=[table("b.b")])
    del static["run"]
    assert follower.read(wrote(facet, ("a.a",))).covers != []
    assert follower.read(static).covers == []
    described = static | {"outputs": [table("b.b", **facet)]}
    assert follower.read(described).covers != []


def test_a_late_event_of_a_forgotten_run_does_not_undo_its_end(follower: Follower) -> None:
    ended = follower.read(START, COMPLETE).execution
    follower.now_ms += 2 * 3_600_000
    follower.read(event("START", 1, "another"))
    assert follower.read(event("OTHER", 20)).of(EntityType.OPERATION_EXECUTION) == []
    follower.now_ms += 32 * 86_400_000
    given_up = follower.read(event("START", 2, "third")).of(EntityType.OPERATION_EXECUTION)
    (late,) = [each for each in given_up if each.key.identity == ended.key.identity]
    # The newest record takes precedence.
    assert (late.attributes["status"], late.as_of_ms < ended.as_of_ms) == ("UNKNOWN", True)


def test_an_end_sent_again_after_its_run_was_forgotten_removes_nothing(
    follower: Follower,
) -> None:
    first = follower.read(START, RUNNING, COMPLETE)
    follower.now_ms += 2 * 3_600_000
    follower.read(event("START", 1, "another"))

    again = follower.read(COMPLETE)

    (covered,) = again.covers
    assert flows(again) < flows(first)
    assert all(each.as_of_ms > covered.as_of_ms for each in first.relations), (
        "what is as old as that would be gone"
    )
    (before,) = follower.read(
        event("COMPLETE", 30, "next", inputs=[table("a.a")], outputs=[table("b.b")])
    ).covers
    assert before.as_of_ms >= min(each.as_of_ms for each in first.relations), "another run replaces all of it"


def test_a_run_read_after_the_end_of_its_parent_is_unknown_at_once(
    follower: Follower,
) -> None:
    parent = {"parent": {"run": {"runId": AIRFLOW}, "job": {"namespace": "af", "name": "dag"}}}
    follower.read(event("COMPLETE", 9, AIRFLOW, job="dag"))
    got = follower.read(event("START", 1, "child", run_facets=parent))
    assert statuses(got)["child"] == "UNKNOWN"
    assert statuses(follower.read(event("COMPLETE", 5, "child", run_facets=parent)))["child"] == "SUCCEEDED"


def test_inputs_from_the_lineage_facet_of_a_job_are_read(follower: Follower) -> None:
    read = {"namespace": "hive://hms:9083", "name": "a.k", "type": "DATASET"}
    other = {"namespace": "hive://hms:9083", "name": "a.other", "type": "DATASET"}
    entries = [
        {"type": "JOB", "inputs": [read]},
        {"type": "JOB", "namespace": "prod", "name": "another", "inputs": [other]},
    ]
    facets = {"lineage": {"entries": entries}}
    got = follower.read(event("COMPLETE", 9, job_facets=facets, outputs=[table("b.b")]))
    assert flows(got) == {"a.k -> operation", "operation -> b.b"}


def test_ended_runs_are_kept_for_an_hour_and_others_for_a_month(follower: Follower) -> None:
    def kept() -> set[str]:
        return {run[0] for key, value in follower.saved.items() if key.startswith("runs ") for run in value}

    follower.read(START, event("START", 0, "open"), event("COMPLETE", 9))
    assert kept() == {RUN, "open"}
    follower.now_ms += 3_600_000
    follower.read(event("START", 1, "later"))
    assert kept() == {"open", "later"}
    follower.now_ms += 31 * 86_400_000
    follower.read(event("START", 2, "last"))
    assert kept() == {"last"}


def test_an_abandoned_run_is_shown_without_its_end(
    follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = event(None, 1, "other", job="x", inputs=[table("a.a")], outputs=[table("a.b")])
    assert follower.read(START, given, COMPLETE).of(EntityType.OPERATION_EXECUTION)[0].key.name == RUN
    follower.now_ms += 31 * 86_400_000
    got = follower.read(event("START", 1, "later"))
    assert (flows(got), got.covers) == (set(), [])
    assert statuses(got) == {"later": "RUNNING", "other": "UNKNOWN"}
    monkeypatch.setattr("extractors.openlineage.kept_runs.MAX_RUNS", 1)
    assert statuses(follower.read(event("START", 2, "last"))) == {"last": "RUNNING", "later": "UNKNOWN"}
    assert statuses(follower.read(event("START", 3, "last"))) == {"last": "RUNNING"}


def test_an_open_run_is_kept_in_preference_to_ended_ones(
    follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("extractors.openlineage.kept_runs.MAX_RUNS", 3)
    monkeypatch.setattr("extractors.openlineage.openlineage_events.SPLIT_EVENTS", 2)
    monkeypatch.setattr("extractors.openlineage.openlineage_events.MOST_ROUNDS", 99)
    ended = [event("COMPLETE", 1, f"ended {number}", job=f"x{number}") for number in range(9)]
    got = follower.read(START, *ended, RUNNING, *ended, COMPLETE)
    assert flows(got) == WHOLE
    assert set(statuses(got).values()) == {"SUCCEEDED"}


def test_a_complete_plan_reads_everything_again(follower: Follower) -> None:
    first = follower.read(START, RUNNING, COMPLETE)
    again = follower.read(complete=True)
    assert [each for each in again.records if each not in again.covers[1:]] == first.records


def test_a_large_file_is_read_in_rounds_that_carry_open_runs(follower: Follower) -> None:
    follower.write(*(event("START", 0, f"run {n}", inputs=[table(f"a.t{n}")]) for n in range(1_500)))
    got = follower.read(*(event("COMPLETE", 5, f"run {n}", outputs=[table("a.sum")]) for n in range(1_500)))
    ended = [
        each for each in got.of(EntityType.OPERATION_EXECUTION) if each.attributes["status"] != "RUNNING"
    ]
    assert len(ended) == 1_500
    assert len({each.key.identity for each in got.operations if each.attributes["outputs"]}) == 1
    assert "a.t1499 -> operation" in flows(got)


@pytest.mark.parametrize("newline", ["\n", ""])
@pytest.mark.parametrize("bound", range(1, 6))
def test_a_round_ending_within_an_array_resumes_at_the_next_event(
    follower: Follower, monkeypatch: pytest.MonkeyPatch, bound: int, newline: str
) -> None:
    monkeypatch.setattr("extractors.openlineage.openlineage_events.SPLIT_EVENTS", bound)
    runs = [json.dumps(event("COMPLETE", 1, f"run {n}", outputs=[table("a.sum")])) for n in range(5)]
    text = "\n".join(runs[:2]) + "\n[" + ",\n".join(runs[2:]) + "]" + newline
    (follower.directory / "events.json").write_text(text)
    got = follower.read()
    assert (got.rejects, set(statuses(got))) == ([], {f"run {n}" for n in range(5)})


# -- Applications --------------------------------------------------------------------------------------------------------


def test_parent_facets_become_parents_and_the_application_has_yarns_key(follower: Follower) -> None:
    def parent(run: str, name: str, **root: Any) -> Json:
        return {"parent": {"run": {"runId": run}, "job": {"namespace": "prod", "name": name}, **root}}

    of_airflow = {"root": {"run": {"runId": AIRFLOW}, "job": {"namespace": "prod", "name": "dag.task"}}}
    details = {
        "spark_applicationDetails": {"applicationId": "application_1700000000000_0007", "userName": "ana"}
    }
    got = follower.read(
        event("START", 0, APPLICATION, job="app", run_facets={**parent(AIRFLOW, "dag.task"), **details}),
        event("START", 1, job="app.insert", run_facets=parent(APPLICATION, "app", **of_airflow)),
        event("COMPLETE", 2, job="app.insert", inputs=[table("a.a")], outputs=[table("b.b")]),
    )
    contains = {
        f"{shown(r.ep1)} > {shown(r.ep2)}" for r in got.relations if r.type is RelationType.PARENT_CHILD
    }
    assert {f"{APPLICATION} > {RUN}", f"{AIRFLOW} > {APPLICATION}"} <= contains
    ran_as = [r for r in got.relations if r.type is RelationType.LOGICAL_PHYSICAL]
    assert {r.ep1.name for r in ran_as} == {APPLICATION, RUN}
    yarn_has = application_key(YARN_1, "application_1700000000000_0007").identity
    assert {r.ep2.identity for r in ran_as} == {yarn_has}
    [run] = [each for each in got.of(EntityType.OPERATION_EXECUTION) if each.key.name == RUN]
    assert (run.attributes["jobId"], run.attributes["principal"]) == ("application_1700000000000_0007", "ana")
    # A run's own events take precedence over those of its children.
    ended = follower.read(event("COMPLETE", 9, APPLICATION, job="app"))
    [application] = [
        each for each in ended.of(EntityType.OPERATION_EXECUTION) if each.key.name == APPLICATION
    ]
    before = [each for each in got.of(EntityType.OPERATION_EXECUTION) if each.key.name == APPLICATION]
    assert [(each.key, each.attributes["status"]) for each in before] == [
        (application.key, "RUNNING"),
        (application.key, "UNKNOWN"),
    ]
    assert application.attributes["status"] == "SUCCEEDED"
    assert application.as_of_ms > before[0].as_of_ms > before[1].as_of_ms


@pytest.mark.parametrize("facet", ["parent", "parentRun"])
def test_the_older_parent_facet_is_read_too(follower: Follower, facet: str) -> None:
    dag = {"run": {"runId": AIRFLOW}, "job": {"namespace": "prod", "name": "dag"}}
    got = follower.read(event("COMPLETE", 2, run_facets={facet: dag}, outputs=[table("b.b")]))
    (part,) = [r for r in got.relations if r.type is RelationType.PARENT_CHILD]
    assert (shown(part.ep1), shown(part.ep2)) == (AIRFLOW, RUN)


def test_an_unended_run_is_unknown_once_its_parent_has_ended(follower: Follower) -> None:
    above = {"parent": {"run": {"runId": APPLICATION}, "job": {"namespace": "prod", "name": "app"}}}
    follower.read(event("START", 0, run_facets=above, inputs=[table("a.a")], outputs=[table("b.b")]))
    got = follower.read(event("COMPLETE", 9, APPLICATION, job="app"))
    assert statuses(got) == {APPLICATION: "SUCCEEDED", RUN: "UNKNOWN"}
    assert flows(got) == set()


# -- Files, and broken input ---------------------------------------------------------------------------------------------


def pretty(value: Any) -> str:
    return json.dumps(value, indent=2)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(COMPLETE) + "\n",
        json.dumps(COMPLETE),
        pretty(COMPLETE) + "\n",
        pretty(COMPLETE),
        json.dumps([START, COMPLETE]),
        pretty([START, COMPLETE]) + "\n",
        json.dumps(START) + "\n\n" + pretty(COMPLETE) + "\n" + json.dumps(RUNNING) + "\r\n",
        "\ufeff" + json.dumps(COMPLETE) + "\n",
    ],
    ids=[
        "line",
        "no newline",
        "indented",
        "indented, no newline",
        "array",
        "indented array",
        "all",
        "byte order mark",
    ],
)
def test_every_file_format_is_read(follower: Follower, text: str) -> None:
    (follower.directory / "event.json").write_text(text)
    got = follower.read()
    assert "operation -> sales.daily" in flows(got)
    assert got.rejects == []
    assert follower.read().records == []


LINES = [json.dumps(each) for each in (START, RUNNING, COMPLETE)]


@pytest.mark.parametrize(
    "text",
    [
        "[\n" + ",\n".join(LINES) + "\n]\n",
        "[\n" + "\n,".join(LINES) + "\n]",
        "[" + ",\n".join(LINES) + "]\n",
        "[ " + ",\r\n  ".join(LINES) + " ]",
        ",\n".join(LINES) + "\n",
        "".join(LINES) + "\n",
        "\x1e" + "\n\x1e".join(LINES),
        "\r".join(LINES) + "\r",
        LINES[0] + "\n" + LINES[1][:-1] + ', "rows": [NaN, -Infinity]}\n' + LINES[2],
        LINES[0] + LINES[1] + LINES[2][:-1] + ', "rows": NaN}',
    ],
    ids=[
        "array of lines",
        "array of lines, comma first",
        "array that begins on the line of its first",
        "array with spaces",
        "commas between lines",
        "side by side",
        "sequence with record separators",
        "carriage returns",
        "no numbers",
        "side by side, no newline",
    ],
)
def test_events_in_an_array_or_on_one_line_are_read(follower: Follower, text: str) -> None:
    (follower.directory / "events.json").write_bytes(text.encode())
    got = follower.read()
    assert (got.rejects, flows(got)) == ([], WHOLE)
    assert follower.read().records == []


def test_an_incomplete_event_among_others_is_rejected_at_its_start(follower: Follower) -> None:
    got = follower.read(LINES[0] + LINES[1], LINES[1] + LINES[1][:200] + LINES[2])
    assert [each.offset for each in got.rejects] == [len(LINES[0]) + 2 * len(LINES[1]) + 1]
    assert flows(got) == WHOLE
    half = json.dumps(event("COMPLETE", 3, "other", job="\ud800"))
    assert [each.offset for each in follower.read(half).rejects] == [
        len("".join((*LINES, LINES[1], LINES[1][:200]))) + 2
    ]


def test_events_after_a_truncated_one_are_read(follower: Follower) -> None:
    got = follower.read("".join((LINES[0], LINES[1][:200], LINES[1], LINES[2][:100], LINES[2])))
    assert len(got.rejects) == 2
    assert flows(got) == WHOLE


def test_events_in_separate_files_are_merged(follower: Follower) -> None:
    for number, each in enumerate((COMPLETE, RUNNING, START)):
        (follower.directory / f"event-{number}.json").write_text(pretty(each))
    assert flows(follower.read()) == WHOLE


def test_an_incomplete_file_waits_for_its_end(follower: Follower) -> None:
    text = pretty(COMPLETE)
    file = follower.directory / "event.json"
    file.write_text(text[:300])
    assert follower.read().records == []
    file.write_text(text)
    assert flows(follower.read()) == {"operation -> sales.daily"}


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ("no JSON", "is not JSON"),
        ("\x1f", "is not JSON"),
        ("\xa0", "is not JSON"),
        (json.dumps(COMPLETE)[:200], "has no end"),
        ('{"eventTime": 7}', "no eventTime"),
        ("7", "not a JSON object"),
        ("[7]", "not a JSON object"),
        ({**COMPLETE, "eventTime": None}, "no eventTime"),
        ({**COMPLETE, "eventTime": "yesterday"}, "invalid eventTime"),
        ({**COMPLETE, "eventTime": "2099-01-01T00:00:00Z"}, "invalid eventTime"),
        ({**COMPLETE, "job": None}, "job has no namespace"),
        ({**COMPLETE, "job": {"namespace": "prod"}}, "no name"),
        ({**COMPLETE, "run": {}}, "no runId"),
        ({"eventTime": "2023-11-14T22:14:00Z", "dataset": {"name": "x"}}, "no namespace"),
    ],
)
def test_a_line_that_is_not_an_event_is_rejected_with_its_offset(
    follower: Follower, broken: Any, reason: str
) -> None:
    got = follower.read(START, broken if isinstance(broken, str) else json.dumps(broken), RUNNING, COMPLETE)
    (reject,) = got.rejects
    assert reason in reject.reason
    assert (reject.place, reject.offset) == (
        str(follower.directory / "events.jsonl"),
        len(json.dumps(START)) + 1,
    )
    assert flows(got) == WHOLE


@pytest.mark.parametrize(
    "broken",
    [
        {"inputs": [7]},
        {"inputs": "sales.orders"},
        {"inputs": [{"namespace": None, "name": None}]},
        {"inputs": [{**table("a.a"), "facets": "none"}]},
        {"inputs": [{**table("a.a"), "facets": {"schema": 7}}]},
        {"inputs": [{**table("a.a"), "facets": {"schema": {"fields": "id"}}}]},
        {"inputs": [{**table("a.a"), "facets": {"symlinks": {"identifiers": ["db.a"]}}}]},
        {"eventType": "DONE"},
        {"eventType": ""},
        {"eventType": 7},
        {"eventType": ["COMPLETE"]},
    ],
)
def test_a_broken_part_is_rejected_and_the_rest_of_the_event_is_kept(
    follower: Follower, broken: Json
) -> None:
    got = follower.read({**event("RUNNING", 3), **broken}, COMPLETE)
    assert [each.reason[:27] for each in got.rejects] == ["a part of the event is brok"]
    assert "operation -> sales.daily" in flows(got)
    # An incomplete report removes nothing.
    assert got.covers == []
    assert got.operation.attributes["incomplete"] is True


@pytest.mark.parametrize(
    "odd",
    [
        {"inputs": None, "run": {"runId": "not a UUID", "facets": None}},
        {"schemaURL": None, "producer": None},
        {"eventTime": "2023-11-14T23:14:00.123456789+01:00"},
        {"eventTime": "2023-11-14T22:14:00"},
        {"job": {"namespace": "prod", "name": "daily"}},
        {"run": {"runId": RUN, "facets": {"unknown": {"x": [1]}, "parent": None, "nominalTime": "x"}}},
    ],
)
def test_missing_or_unusual_optional_parts_are_accepted(follower: Follower, odd: Json) -> None:
    got = follower.read({**COMPLETE, **odd})
    assert (got.rejects, flows(got)) == ([], {"operation -> sales.daily"})


@pytest.mark.parametrize(
    "given",
    [
        "2023-11-14T22:14:00.000Z",
        "2023-11-14T22:14:00.000000000Z",
        "2023-11-14 22:14:00+00:00",
        "2023-11-14T22:14Z",
        "20231114T221400Z",
        "2023-11-14t22:14:00z",
        "2023-11-14T23:14:00+01",
        "2023-11-14T23:14:00+0100",
        "2023-11-14T16:44:00-05:30",
        "2023-11-14T22:14:00.000000+00:00Z",
        "2023-11-14T22:14:00Z[UTC]",
        "2023-11-14T23:14:00.000000001+01:00[Europe/Paris]",
    ],
)
def test_every_time_format_gives_the_same_instant(follower: Follower, given: str) -> None:
    got = follower.read({**COMPLETE, "eventTime": given})
    assert (got.rejects, got.execution.attributes["ended"]) == ([], FIRST_MS + 40_000)


@pytest.mark.parametrize(
    "given",
    ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2023-11-14T22:14:60Z", "1700000000", "Z"],
)
def test_an_impossible_time_is_rejected_and_reading_continues(follower: Follower, given: str) -> None:
    got = follower.read(START, {**COMPLETE, "eventTime": given}, RUNNING, COMPLETE)
    assert [each.reason for each in got.rejects] == [f"invalid eventTime {given!r}"]
    assert flows(got) == WHOLE


def test_dataset_names_lose_their_credentials(follower: Follower) -> None:
    given = dataset("postgres://ana:hunter2Zx@db:5432", "public.orders")
    got = follower.read(
        event("COMPLETE", 1, inputs=[given], outputs=[dataset("s3://AK:hunter2Zx@bucket", "a")])
    )
    assert "hunter2Zx" not in str(got.records)


def test_secrets_are_not_stored_and_the_operation_survives_a_restart(follower: Follower) -> None:
    secret = "hunter2Zx"
    given = event("START", 0, job_facets={"sql": {"query": f"create user x identified by '{secret}'"}})
    failed = {"errorMessage": {"message": f"cannot connect: password={secret}"}}
    follower.read(given)
    follower.read(event("RUNNING", 1, run_facets=failed))
    assert secret.encode() not in kept(follower)
    stepwise = follower.read(COMPLETE)
    at_once = Follower(follower.directory).read()
    assert stepwise.operation.key.identity == at_once.operation.key.identity


def kept(follower: Follower) -> bytes:
    """Return the decompressed runs stored in a follower's positions."""
    runs = [run for value in follower.saved.values() if isinstance(value, list) for run in value]
    assert runs
    return b"".join(zlib.decompress(base64.b85decode(run[-1])) for run in runs)


# -- A sender's share ----------------------------------------------------------------------------------------------------

SPOOLED = "events-20231114-1-1-{}.jsonl"


def noise(size_bytes: int, seed: int = 0) -> str:
    """Return an SQL text of about this size that does not compress."""
    return "SELECT '" + random.Random(seed).randbytes(size_bytes // 2).hex() + "'"


def sql(text: str) -> Json:
    return {"sql": {"query": text}}


def saved_bytes(follower: Follower) -> int:
    return len(json.dumps(follower.saved))


def test_stored_long_texts_are_bounded_and_each_end_has_its_whole_text(
    follower: Follower,
) -> None:
    starts = [event("START", 0, f"r{n}", job_facets=sql(noise(60_000, n))) for n in range(100)]
    follower.read(*starts)
    assert saved_bytes(follower) < 100 * 8_000
    got = follower.read(*(event("COMPLETE", 9, f"r{n}", outputs=[table("b.b")]) for n in range(100)))
    texts = {each.attributes["queryText"] for each in got.operations}
    assert texts == {noise(60_000, n) for n in range(100)}
    at_once = Follower(follower.directory).read()
    assert {each.key.identity for each in got.operations} == {
        each.key.identity for each in at_once.operations
    }


def test_a_long_text_whose_file_is_gone_is_truncated_and_incomplete(follower: Follower) -> None:
    first = event("START", 0, job_facets=sql(noise(20_000)), inputs=[table("a.a")])
    follower.write(first, name="starts.jsonl")
    follower.read()
    (follower.directory / "starts.jsonl").write_text("")
    got = follower.read(COMPLETE)
    assert got.operation.attributes["incompleteReasons"][0] == (
        "the SQL text is cut: the file of the event with the whole text no longer exists"
    )
    assert noise(20_000).startswith(got.operation.attributes["queryText"])
    assert "a.a -> operation" in flows(got)


def test_a_sender_of_many_runs_evicts_no_run_of_another(
    follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("extractors.openlineage.kept_runs.MAX_RUNS", 8)
    follower.write(START, name=SPOOLED.format("quiet"))
    follower.write(
        *(event("START", 1, f"r{n}", inputs=[table("a.a")]) for n in range(40)), name=SPOOLED.format("loud")
    )
    got = follower.read()
    # No accepted run is lost silently.
    assert {each.place for each in got.rejects} == {"events of the user loud"}
    assert len({each.reason.partition(":")[0] for each in got.rejects}) == 33
    assert sum(each.attributes["incomplete"] is True for each in got.operations) == 33
    follower.write(COMPLETE, name=SPOOLED.format("quiet"))
    assert flows(follower.read()) == {"sales.orders -> operation", "operation -> sales.daily"}


def test_stored_bytes_are_shared_between_senders_like_runs(
    follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("extractors.openlineage.kept_runs.MAX_BYTES", 60_000)
    follower.write(START, name=SPOOLED.format("quiet"))
    loud = [event("START", 1, f"r{n}", job_facets=sql(noise(4_000, n))) for n in range(40)]
    follower.write(*loud, name=SPOOLED.format("loud"))
    rejects = follower.read().rejects
    assert 20 < len(rejects) < 40
    assert saved_bytes(follower) < 100_000
    follower.write(COMPLETE, name=SPOOLED.format("quiet"))
    got = follower.read()
    assert flows(got) == {"sales.orders -> operation", "operation -> sales.daily"}
    assert "incompleteReasons" not in got.operation.attributes or not any(
        "open runs" in each for each in got.operation.attributes["incompleteReasons"]
    )


@pytest.mark.parametrize("days", [0, 31])
def test_the_end_of_an_abandoned_run_is_incomplete(
    follower: Follower, monkeypatch: pytest.MonkeyPatch, days: int
) -> None:
    monkeypatch.setattr("extractors.openlineage.kept_runs.MAX_RUNS", 1 if not days else 9)
    follower.read(START)
    follower.now_ms += days * 86_400_000
    follower.read(event("START", 1, "later"))
    got = follower.read(COMPLETE)
    assert flows(got) == {"operation -> sales.daily"}
    assert got.operation.attributes["incompleteReasons"][0] == (
        "the content of earlier events of this run is no longer known: its sender has had more open runs than navlin keeps"
    )


def test_a_sender_with_too_many_abandoned_runs_makes_only_its_own_ends_incomplete(
    follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("extractors.openlineage.kept_runs.MAX_RUNS_OF_SENDER", 1)
    monkeypatch.setattr("extractors.openlineage.kept_runs.MAX_REMEMBERED", 2)
    follower.write(*(event("START", 1, f"r{n}") for n in range(9)), name=SPOOLED.format("loud"))
    follower.read()

    def reasons(sender: str, run: str) -> list[str]:
        follower.write(event("COMPLETE", 9, run, outputs=[table("b.b")]), name=SPOOLED.format(sender))
        return list(follower.read().operations[0].attributes["incompleteReasons"])

    assert "may no longer be known" in str(reasons("loud", "r8"))
    assert "of earlier events of this run" not in str(reasons("quiet", "new"))
    follower.now_ms += 32 * 86_400_000
    assert "of earlier events of this run" not in str(reasons("loud", "another"))


@pytest.mark.parametrize(
    ("bound", "most"),
    [("MOST_ROUNDS", 3), ("RUN_BYTES", 5 * len(json.dumps(event("COMPLETE", 1, "loud 10"))))],
)
def test_a_sender_with_a_backlog_delays_no_other_sender(
    follower: Follower, monkeypatch: pytest.MonkeyPatch, bound: str, most: int
) -> None:
    monkeypatch.setattr("extractors.openlineage.openlineage_events.SPLIT_EVENTS", 2)
    monkeypatch.setattr(f"extractors.openlineage.openlineage_events.{bound}", most)
    follower.read(START)
    loud = [f"loud {number}" for number in range(20)]
    follower.write(*(event("COMPLETE", 1, each, job=each) for each in loud), name=SPOOLED.format("loud"))
    rounds = [set(statuses(follower.read()))]
    for number in range(3):
        follower.write(event("COMPLETE", 2, f"quiet {number}"), name=SPOOLED.format("quiet"))
        rounds.append(set(statuses(follower.read())))

    assert rounds == [
        {*loud[:6]},
        {"quiet 0", *loud[6:11]},
        {"quiet 1", *loud[11:16]},
        {"quiet 2", *loud[16:]},
    ]
    again = follower.read(complete=True)
    assert set(statuses(again)) >= {"quiet 0", "quiet 1", "quiet 2", *loud}, "everything, in one run"


def test_a_run_beyond_the_size_limit_is_rejected_and_incomplete(follower: Follower) -> None:
    fields = {"schema": {"fields": [{"name": noise(60, n), "type": noise(90, n)} for n in range(4_000)]}}
    got = follower.read(event("START", 0, inputs=[table("a.a", **fields)]))
    assert [each.place for each in got.rejects] == [f"events of {follower.directory}"]
    assert saved_bytes(follower) < 5_000
    end = follower.read(COMPLETE)
    assert flows(end) == {"a.a -> operation", "operation -> sales.daily"}
    assert end.operation.attributes["incompleteReasons"][0] == (
        "the run's events say more of its datasets than navlin keeps of a run until its end"
    )
    inputs = [table(noise(900, n)) for n in range(1_000)]
    assert follower.read(event("START", 1, "wide", inputs=inputs)).rejects
    assert saved_bytes(follower) < 10_000
