"""The operation to which an OpenLineage run belongs, and inputs and outputs that the producer of an event omits."""

from __future__ import annotations

from pathlib import Path

import pytest

from navlin.model.keys import Key, operation_key
from navlin.model.records import Relation
from tests.support.openlineage import (
    AIRFLOW,
    FIRST_MS,
    SDK_1,
    Follower,
    Json,
    columns,
    dataset,
    event,
    flows,
    of_fields,
    path,
    source,
    table,
)
from tests.support.record_edges import Read


@pytest.fixture
def follower(tmp_path: Path) -> Follower:
    return Follower(tmp_path)


SPARK_JOB = "app.execute_insert_into_hadoop_fs_relation_command"
STREAMING = {"jobType": {"processingType": "STREAMING", "integration": "FLINK", "jobType": "JOB"}}


def formerly_of(job: str) -> Key:
    """The key that earlier versions gave to a job without SQL text, whatever the job wrote."""
    return operation_key(SDK_1, f"prod##{job}", ())


def edges(got: Read) -> dict[str, set[str]]:
    """Map the identity of each operation to the flows through it."""
    return {
        each.key.identity: flows(Read(r for r in got.records if not isinstance(r, Relation) or each.key in (r.ep1, r.ep2)))
        for each in got.operations
    }  # fmt: skip


def test_jobs_of_one_name_are_distinguished_by_their_outputs(follower: Follower) -> None:
    def of(run: str, read: str, written: str, at_s: float = 0) -> Json:
        return event("COMPLETE", at_s, run, job=SPARK_JOB, inputs=[path(read)], outputs=[path(written)])

    got = follower.read(of("1", "/a", "/b"), of("2", "/c", "/d", 4))
    again = follower.read(of("3", "/a2", "/b", 9))
    assert sorted(map(sorted, edges(got).values())) == [
        ["/a -> operation", "operation -> /b"],
        ["/c -> operation", "operation -> /d"],
    ]
    assert edges(got).keys() > edges(again).keys()
    # A run replaces only the records of its own operation.
    assert [each.path for each in again.covers] == [again.operation.key.tree_path]


def test_a_failed_run_uses_the_operation_of_its_outputs_or_else_of_its_job(follower: Follower) -> None:
    failed = follower.read(event("START", 0), event("FAIL", 3))
    assert failed.operation.key.identity == formerly_of("daily").identity
    wrote = follower.read(event("COMPLETE", 9, "2", outputs=[table("b.b")]))
    assert wrote.operation.key.identity != failed.operation.key.identity
    known = follower.read(event("FAIL", 12, "3", outputs=[table("b.b")]))
    assert known.operation.key.identity == wrote.operation.key.identity


@pytest.mark.parametrize("streams", [True, False])
def test_a_run_whose_outputs_grow_replaces_its_operation(follower: Follower, streams: bool) -> None:
    kind, facets = ("RUNNING", STREAMING) if streams else ("COMPLETE", {})
    first = follower.read(event(kind, 5, job_facets=facets, inputs=[table("a.a")], outputs=[path("/x")]))
    grown = follower.read(event(kind, 9, job_facets=facets, outputs=[path("/y")]))
    assert flows(grown) == {"a.a -> operation", "operation -> /x", "operation -> /y"}
    assert grown.execution.key.parent == grown.operation.key != first.operation.key
    withdrawn = [each for each in grown.covers if each.path == first.operation.key.tree_path]
    assert [each.as_of_ms for each in withdrawn] == [FIRST_MS + 9_000]
    assert follower.read(event(kind, 12, job_facets=facets)).covers[1:] == []


@pytest.mark.parametrize("text", ["", "insert into b select * from a"])
def test_a_complete_plan_withdraws_operations_keyed_by_name_alone(
    follower: Follower, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr("extractors.openlineage.openlineage_events.SPLIT_EVENTS", 2)
    facets = {"sql": {"query": text}} if text else {}
    ends: Json = {"inputs": [table("a.a")], "outputs": [table("b.b")]}
    for number in range(5):
        follower.write(event("COMPLETE", number, str(number), job=f"j{number}", job_facets=facets, **ends))
    formerly = {formerly_of(f"j{number}").tree_path for number in range(5)}
    assert formerly.isdisjoint(each.path for each in follower.read().covers)
    again = {each.path for each in follower.read(complete=True).covers}
    assert formerly & again == (set() if text else formerly)
    # Positions saved by another version are ignored.
    follower.saved.clear()
    anew = {each.path for each in follower.read().covers}
    assert formerly & anew == (set() if text else formerly)


def test_a_child_run_refers_to_its_parents_known_operation(follower: Follower) -> None:
    parent = {"parent": {"run": {"runId": AIRFLOW}, "job": {"namespace": "prod", "name": "dag"}}}
    dag = follower.read(event("COMPLETE", 1, AIRFLOW, job="dag", outputs=[table("b.b")])).operation.key
    got = follower.read(event("COMPLETE", 2, "child", run_facets=parent, outputs=[table("c.c")]))
    assert {each.key.name: each.key.identity for each in got.operations}["dag"] == dag.identity


@pytest.mark.parametrize("one_by_one", [True, False])
def test_a_stream_with_several_sinks_has_a_part_for_each_sink(follower: Follower, one_by_one: bool) -> None:
    kafka = {name: dataset("kafka://broker:9092", name) for name in ("orders", "people")}
    of: Json = {"job_facets": STREAMING}
    if one_by_one:
        got = follower.read(
            event("RUNNING", 5, inputs=[kafka["orders"]], outputs=[path("/x")], **of),
            event("RUNNING", 6, inputs=[kafka["people"]], outputs=[path("/y")], **of),
        )
    else:
        got = follower.read(
            event("RUNNING", 5, inputs=[*kafka.values()], outputs=[path("/x"), path("/y")], **of)
        )
    every = {"orders", "people"}
    assert columns(got) == {
        "/x": {"orders"} if one_by_one else every,
        "/y": {"people"} if one_by_one else every,
    }
    assert got.operation.attributes["incompleteReasons"] == [
        "the producer does not say where columns come from"
    ]


def test_a_stream_with_one_sink_and_a_batch_have_no_parts(follower: Follower) -> None:
    stream = event("RUNNING", 5, inputs=[table("a.a")], outputs=[path("/x")], job_facets=STREAMING)
    batch = event("COMPLETE", 5, "2", inputs=[table("a.a")], outputs=[path("/x"), path("/y")])
    assert columns(follower.read(stream, batch)) == {}


# -- Inputs and outputs that a producer omits ----------------------------------------------------------------------------

UNWRITTEN = "the producer does not name what was written"
UNREAD = "the producer does not name what was read"
MERGE = "MERGE INTO dw.t USING dw.s ON t.id = s.id WHEN MATCHED THEN UPDATE SET t.v = s.v"


@pytest.mark.parametrize(
    ("text", "inputs", "outputs", "why"),
    [
        (MERGE, ["dw.t", "dw.s"], [], [UNWRITTEN]),
        (MERGE, [], ["dw.t"], [UNREAD]),
        (MERGE, ["dw.t"], ["dw.t"], [UNREAD]),
        (MERGE, ["dw.t", "dw.s"], ["dw.t"], []),
        (MERGE, [], [], [UNWRITTEN]),
        ("insert into dw.t select * from dw.s", ["dw.s"], [], [UNWRITTEN]),
        ("insert into dw.t select * from dw.s", [], ["dw.t"], [UNREAD]),
        ("insert into dw.t select * from dw.s", ["dw.s"], ["dw.t"], []),
        ("insert into dw.t select * from dw.t", ["dw.t"], ["dw.t"], []),
        ("insert into dw.t values (1)", [], ["dw.t"], []),
        ("insert into dw.t values (1)", [], [], [UNWRITTEN]),
        ("insert overwrite table dw.t select 1", [], ["dw.t"], []),
        ("from dw.s insert into dw.t select *", [], ["dw.t"], [UNREAD]),
        ("with q as (select * from dw.s) insert into dw.t select * from q", [], ["dw.t"], [UNREAD]),
        ("create table dw.t as select * from dw.s", ["dw.s"], [], [UNWRITTEN]),
        ("create table dw.t as select * from dw.s", [], ["dw.t"], [UNREAD]),
        ("create or replace transient table dw.t as (select * from dw.s)", ["dw.s"], [], [UNWRITTEN]),
        ("create table dw.t as select 1 x", [], ["dw.t"], []),
        ("create table dw.t (a int)", [], [], []),
        ("create temporary table own as select * from dw.s", ["dw.s"], [], []),
        ("create view dw.v as select * from dw.s", ["dw.s"], [], [UNWRITTEN]),
        ("update dw.t set v = s.v from dw.s s where s.id = t.id", ["dw.s"], [], [UNWRITTEN]),
        ("update dw.t set v = s.v from dw.s s where s.id = t.id", [], ["dw.t"], [UNREAD]),
        ("update dw.t set v = v + 1", [], ["dw.t"], []),
        ("delete from dw.t where id = 1", [], ["dw.t"], []),
        ("delete from dw.t where id = 1", ["dw.t"], [], [UNWRITTEN]),
        ("COPY INTO dw.t FROM @stage", [], ["dw.t"], [UNREAD]),
        ("copy dw.t from 's3://b/k'", [], [], [UNWRITTEN]),
        ("copy dw.t from 's3://b/k'", ["dw.s"], ["dw.t"], []),
        ("unload ('select * from dw.s') to 's3://b/k'", ["dw.s"], [], [UNWRITTEN]),
        ("load data inpath '/x' into table dw.t", [], ["dw.t"], [UNREAD]),
        ("replace into dw.t select * from dw.s", ["dw.s"], [], [UNWRITTEN]),
        ("select a into dw.t from dw.s", ["dw.s"], [], [UNWRITTEN]),
        ("select a, 'into t' from dw.s -- into dw.t", ["dw.s"], [], []),
        ("select * from (select 1 into_t) q", [], [], []),
        ("select count(*) from dw.s", ["dw.s"], [], []),
        ("begin; insert into dw.t select * from dw.s; commit", ["dw.s"], [], [UNWRITTEN]),
        ("begin; insert into dw.t select ';' from dw.s; commit", [], ["dw.t"], [UNREAD]),
        ("/* ; insert into dw.t */ select 1; -- insert", [], [], []),
        ("truncate table dw.t", [], [], []),
        ("vacuum dw.t", [], [], []),
        ("{{ macro }}", ["dw.s"], [], []),
    ],
)
def test_a_statement_reveals_inputs_or_outputs_that_its_producer_omits(
    follower: Follower, text: str, inputs: list[str], outputs: list[str], why: list[str]
) -> None:
    ends: Json = {"inputs": [table(name) for name in inputs], "outputs": [table(name) for name in outputs]}
    got = follower.read(event("COMPLETE", 3, job_facets={"sql": {"query": text}}, **ends))
    left_out = [each for each in got.operation.attributes["incompleteReasons"] if each in (UNWRITTEN, UNREAD)]
    assert left_out == why
    assert flows(got) == {f"{each} -> operation" for each in inputs} | {
        f"operation -> {each}" for each in outputs
    }
    # An omitted input or output is not a deletion.
    assert bool(got.covers) is (bool(inputs or outputs) and not why)
    marked = [r for r in got.relations if r.ep1 == got.operation.key and r.attributes.get("incomplete")]
    assert len(marked) == (len(outputs) if why else 0)


def test_column_lineage_counts_as_an_input(follower: Follower) -> None:
    of: Json = {"job_facets": {"sql": {"query": MERGE}}}
    told = of_fields({"v": [source("dw.s", "v")]})
    got = follower.read(event("COMPLETE", 3, inputs=[], outputs=[table("dw.t", **told)], **of))
    assert got.operation.attributes["incompleteReasons"] == []
    itself = of_fields({"v": [source("dw.t", "v")]})
    got = follower.read(event("COMPLETE", 3, "2", inputs=[], outputs=[table("dw.t", **itself)], **of))
    assert got.operation.attributes["incompleteReasons"] == [UNREAD]


@pytest.mark.parametrize(
    ("command", "writes"),
    [
        ("execute_insert_into_hadoop_fs_relation_command", True),
        ("execute_insert_into_hive_table", True),
        ("execute_save_into_data_source_command", True),
        ("execute_merge_into_command", True),
        ("append_data.spark_catalog_db_t", True),
        ("append_data_exec_v1", True),
        ("overwrite_by_expression", True),
        ("overwrite_partitions_dynamic", True),
        ("replace_data", True),
        ("write_delta", True),
        ("atomic_create_table_as_select", True),
        ("atomic_replace_table_as_select", True),
        ("create_table_as_select", True),
        ("execute_create_data_source_table_as_select_command", True),
        ("execute_optimized_create_hive_table_as_select_command", True),
        ("execute_create_hive_table_as_select_command", True),
        ("execute_delete_command", True),
        ("collect_limit", False),
        ("execute_create_table_command", False),
        ("execute_drop_table_command", False),
        ("adaptive_spark_plan", False),
        ("map_partitions_parallel_collection", False),
    ],
)
def test_a_spark_write_command_without_an_output_is_incomplete(
    follower: Follower, command: str, writes: bool
) -> None:
    got = follower.read(event("COMPLETE", 3, job=f"my.app.{command}", inputs=[table("a.a")]))
    assert got.operation.attributes["incompleteReasons"] == ([UNWRITTEN] if writes else [])
    told = follower.read(event("COMPLETE", 3, "2", job=f"my.app.{command}", outputs=[table("b.b")]))
    assert UNWRITTEN not in told.operation.attributes["incompleteReasons"]
