"""OpenLineage events in files, through `plan` and `read`."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from extractors.openlineage import OpenLineageEvents
from navlin.model.keys import EntityType, Key, RelationType, application_key, location_key, table_key
from navlin.model.plan import Plan, Positions
from navlin.model.records import Entity, Position, Record, Relation, Split
from navlin.model.source import HDFS, HIVE, YARN, Estate, Source, source_id
from tests.support.record_edges import Read

Json = dict[str, Any]

SDK_1 = Source(source_id("c", "OPENLINEAGE-1"), "SDK", "OPENLINEAGE-1", "c", claimable=False)
HIVE_1 = Source(source_id("c", "HIVE-1"), HIVE, "HIVE-1", "c", ("thrift://hms:9083",))
HDFS_1 = Source(source_id("c", "HDFS-1"), HDFS, "HDFS-1", "c", ("hdfs://ns1",))
YARN_1 = Source(source_id("c", "YARN-1"), YARN, "YARN-1", "c", ("http://rm:8088",))
ESTATE = Estate("c", (SDK_1, HIVE_1, HDFS_1, YARN_1))
RUN = "0195f3a1-0000-7000-8000-000000000001"
APPLICATION = "0195f3a1-0000-7000-8000-00000000000a"
AIRFLOW = "0195f3a1-0000-7000-8000-00000000000b"
FIRST_MS = 1_700_000_000_000
NOW_MS = FIRST_MS + 60_000


def dataset(namespace: str, name: str, **facets: Any) -> Json:
    return {"namespace": namespace, "name": name, "facets": facets}


def table(name: str, **facets: Any) -> Json:
    return dataset("hive://hms:9083", name, **facets)


def path(name: str, **facets: Any) -> Json:
    return dataset("hdfs://ns1", name, **facets)


def event(kind: str | None, at_s: float = 0, run: str = RUN, **more: Any) -> Json:
    """An event so many seconds after the first, of the job daily unless ``job`` names another."""
    at_ms = FIRST_MS + round(at_s * 1000)
    text = f"2023-11-14T22:{13 + (20 + at_ms // 1000 - FIRST_MS // 1000) // 60:02d}:{(20 + round(at_s)) % 60:02d}Z"
    name, run_facets, job_facets = (more.pop(each, {}) for each in ("job", "run_facets", "job_facets"))
    return {
        "eventTime": text,
        **({"eventType": kind} if kind else {}),
        "producer": "https://github.com/OpenLineage/OpenLineage/tree/1.40.0/integration/spark",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": run, "facets": run_facets},
        "job": {"namespace": "prod", "name": name or "daily", "facets": job_facets},
        "inputs": [],
        "outputs": [],
        **more,
    }


class Follower:
    """Reads a directory again and again, as the pipeline does."""

    def __init__(self, directory: Path, **settings: Any) -> None:
        self.directory = directory
        self.extractor = OpenLineageEvents(SDK_1, ESTATE, str(directory), **settings)
        self.saved: dict[str, Any] = {}
        self.now_ms = NOW_MS
        self._files = itertools.count()

    def write(self, *events: Any, name: str = "events.jsonl") -> None:
        with (self.directory / name).open("a") as file:
            for each in events:
                file.write((each if isinstance(each, str) else json.dumps(each)) + "\n")

    def read(self, *events: Any, complete: bool = False) -> Read:
        """Appends events, and reads what is new."""
        if events:
            self.write(*events)
        self.now_ms += 5_000
        plan: Plan = self.extractor.plan(Positions(dict(self.saved), self.now_ms, complete))
        splits: list[Split] = list(plan.splits)
        records: list[Record] = []
        positions = list(plan.positions)
        while splits:
            for record in self.extractor.read(splits.pop(0)):
                if isinstance(record, Split):
                    splits.append(record)
                elif isinstance(record, Position):
                    positions.append(record)
                else:
                    records.append(record)
        for position in positions:
            self.saved[position.key] = json.loads(json.dumps(position.value))
            if position.value is None:
                del self.saved[position.key]
        return Read(records)


@pytest.fixture
def follower(tmp_path: Path) -> Follower:
    return Follower(tmp_path)


def shown(key: Key) -> str:
    match key.type:
        case EntityType.OPERATION | EntityType.SUB_OPERATION:
            return key.type.lower()
        case EntityType.FIELD if key.parent is not None:
            return f"{shown(key.parent)}.{key.name}"
        case EntityType.DIRECTORY:
            return key.file_system_path or ""
        case EntityType.DATASET | EntityType.OPERATION_EXECUTION:
            return key.name
    return f"{key.parent.name}.{key.name}" if key.parent else key.name


def flows(got: Read, *through: EntityType) -> set[str]:
    wanted = through or (EntityType.OPERATION,)
    return {
        f"{'' if r.type is RelationType.DATA_FLOW else 'CONTROL '}{shown(r.ep1)} -> {shown(r.ep2)}"
        for r in got.relations
        if r.type in (RelationType.DATA_FLOW, RelationType.CONTROL_FLOW)
        and {r.ep1.type, r.ep2.type} & set(wanted)
    }


def columns(got: Read) -> dict[str, set[str]]:
    """What each written column comes from; CONTROL before what only decides."""
    found: dict[str, set[str]] = {}
    for part in got.of(EntityType.SUB_OPERATION):
        read = {
            f"{'' if r.type is RelationType.DATA_FLOW else 'CONTROL '}{shown(r.ep1)}"
            for r in got.relations
            if r.ep2 == part.key and r.type is not RelationType.PARENT_CHILD
        }
        for written in (r.ep2 for r in got.relations if r.ep1 == part.key):
            found[shown(written)] = found.get(shown(written), set()) | read
    return found


def statuses(got: Read) -> dict[str, str]:
    """The status of each execution, the newest that is said of it."""
    said = sorted(got.of(EntityType.OPERATION_EXECUTION), key=lambda each: each.as_of_ms)
    return {each.key.name: each.attributes["status"] for each in said}


# -- Runs ----------------------------------------------------------------------------------------------------------------

START = event("START", 0, inputs=[table("sales.orders")])
RUNNING = event("RUNNING", 5, inputs=[path("/landing/day=1")])
COMPLETE = event("COMPLETE", 10, outputs=[table("sales.daily")])
WHOLE = {"sales.orders -> operation", "/landing -> operation", "operation -> sales.daily"}


@pytest.mark.parametrize("order", list(itertools.permutations((START, RUNNING, COMPLETE))))
def test_events_of_a_run_are_merged_in_whatever_order_and_in_however_many_readings_they_come(
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
    # Nothing is told of a run before it is known how it ended.
    ended = order.index(COMPLETE)
    assert all(not each.entities for each in got[:ended])


def test_what_a_run_was_is_not_emptied_by_an_event_that_says_nothing(follower: Follower) -> None:
    follower.read(START, RUNNING, COMPLETE)
    late = follower.read(event("RUNNING", 11))
    assert flows(late) == WHOLE
    assert statuses(late) == {RUN: "SUCCEEDED"}


def test_an_end_alone_is_a_run(follower: Follower) -> None:
    got = follower.read(event("COMPLETE", 10, inputs=[table("a.a")], outputs=[table("b.b")]))
    assert flows(got) == {"a.a -> operation", "operation -> b.b"}
    assert "started" not in {name for name, value in got.execution.attributes.items() if value}


def test_a_run_without_any_dataset_covers_nothing(follower: Follower) -> None:
    got = follower.read(event("START", 0), event("COMPLETE", 3))
    assert (got.covers, flows(got), statuses(got)) == ([], set(), {RUN: "SUCCEEDED"})


@pytest.mark.parametrize(("kind", "status"), [("FAIL", "FAILED"), ("ABORT", "KILLED")])
def test_a_run_that_failed_is_an_execution_without_flows(follower: Follower, kind: str, status: str) -> None:
    error = {"errorMessage": {"message": "no space left", "programmingLanguage": "JAVA"}}
    got = follower.read(START, event(kind, 3, outputs=[table("sales.daily")], run_facets=error))
    assert (flows(got), got.covers, statuses(got)) == (set(), [], {RUN: status})
    assert got.execution.attributes["errorMessage"] == "no space left"


def test_a_streaming_job_that_runs_has_flows_already(follower: Follower) -> None:
    streaming = {"jobType": {"processingType": "STREAMING", "integration": "FLINK", "jobType": "JOB"}}
    kafka = dataset("kafka://broker:9092", "orders")
    got = follower.read(event("RUNNING", 5, job_facets=streaming, inputs=[kafka], outputs=[path("/out")]))
    assert flows(got) == {"orders -> operation", "operation -> /out"}
    assert statuses(got) == {RUN: "RUNNING"}
    assert got.operation.attributes["engineType"] == "FLINK"


def test_a_job_is_one_operation_and_each_text_of_it_another(follower: Follower) -> None:
    def of(run: str, text: str = "", job: str = "daily") -> Json:
        sql = {"sql": {"query": text}} if text else {}
        return event("COMPLETE", 3, run, job=job, job_facets=sql, outputs=[table("b.b")])

    got = follower.read(
        of("1"), of("2"), of("3", "select 1"), of("4", "select 1"), of("5", "select 2"), of("6", job="x")
    )
    assert len({each.key.identity for each in got.operations}) == 4
    assert len(got.of(EntityType.OPERATION_EXECUTION)) == 6
    assert {each.attributes["queryText"] for each in got.operations} == {"", "select 1", "select 2"}


def test_a_static_job_has_flows_and_no_execution(follower: Follower) -> None:
    static = event(
        None, 0, inputs=[table("a.a")], outputs=[table("a.v", datasetType={"datasetType": "VIEW"})]
    )
    del static["run"]
    got = follower.read(static)
    assert flows(got) == {"a.a -> operation", "operation -> a.v"}
    assert got.of(EntityType.OPERATION_EXECUTION) == []
    assert {r.ep2.type for r in got.relations if shown(r.ep2) == "a.v"} == {EntityType.VIEW}


def test_runs_that_ended_are_kept_for_an_hour_and_others_for_a_month(follower: Follower) -> None:
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


def test_a_complete_plan_begins_anew(follower: Follower) -> None:
    first = follower.read(START, RUNNING, COMPLETE)
    again = follower.read(complete=True)
    assert again.records == first.records


def test_a_large_file_is_read_in_several_rounds_with_the_runs_carried_along(follower: Follower) -> None:
    follower.write(*(event("START", 0, f"run {n}", inputs=[table(f"a.t{n}")]) for n in range(1_500)))
    got = follower.read(*(event("COMPLETE", 5, f"run {n}", outputs=[table("a.sum")]) for n in range(1_500)))
    assert len(got.of(EntityType.OPERATION_EXECUTION)) == 1_500
    assert len({each.key.identity for each in got.operations}) == 1
    assert "a.t1499 -> operation" in flows(got)


# -- Applications --------------------------------------------------------------------------------------------------------


def test_what_a_run_is_part_of_is_its_parent_and_the_application_is_yarns(follower: Follower) -> None:
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
    (ran_as,) = [r for r in got.relations if r.type is RelationType.LOGICAL_PHYSICAL]
    assert ran_as.ep2.identity == application_key(YARN_1, "application_1700000000000_0007").identity
    [run] = [each for each in got.of(EntityType.OPERATION_EXECUTION) if each.key.name == RUN]
    assert (run.attributes["jobId"], run.attributes["principal"]) == ("application_1700000000000_0007", "ana")
    # What only its children name of a run counts less than what it says itself.
    ended = follower.read(event("COMPLETE", 9, APPLICATION, job="app"))
    [application] = [
        each for each in ended.of(EntityType.OPERATION_EXECUTION) if each.key.name == APPLICATION
    ]
    [named] = [each for each in got.of(EntityType.OPERATION_EXECUTION) if each.key.name == APPLICATION]
    assert (application.key, application.attributes["status"]) == (named.key, "SUCCEEDED")
    assert application.as_of_ms > named.as_of_ms


def test_what_never_ended_is_unknown_once_what_it_is_part_of_has(follower: Follower) -> None:
    above = {"parent": {"run": {"runId": APPLICATION}, "job": {"namespace": "prod", "name": "app"}}}
    follower.read(event("START", 0, run_facets=above, inputs=[table("a.a")], outputs=[table("b.b")]))
    got = follower.read(event("COMPLETE", 9, APPLICATION, job="app"))
    assert statuses(got) == {APPLICATION: "SUCCEEDED", RUN: "UNKNOWN"}
    assert flows(got) == set()


# -- Names ---------------------------------------------------------------------------------------------------------------


def symlinks(*links: tuple[str, str, str]) -> Json:
    named = [dict(zip(("namespace", "name", "type"), link, strict=True)) for link in links]
    return {"symlinks": {"identifiers": named}}


@pytest.mark.parametrize(
    ("given", "means", "kind", "system"),
    [
        (table("sales.orders"), "sales.orders", "TABLE", HIVE_1.id),
        (dataset("hive://hms:9083/", "sales.orders"), "sales.orders", "TABLE", HIVE_1.id),
        (dataset("hive://other:9083", "sales.orders"), "sales.orders", "TABLE", source_id("c", "thrift://other:9083")),
        (dataset("hive://hms:9083", "hive.sales.orders"), "sales.orders", "TABLE", HIVE_1.id),
        (dataset("arn:aws:glue:eu:1", "table/sales/orders"), "sales.orders", "TABLE", source_id("c", "arn:aws:glue:eu:1")),
        (path("/a/b"), "/a/b", "DIRECTORY", HDFS_1.id),
        (path("/a/day=1/hour=2"), "/a", "DIRECTORY", HDFS_1.id),
        (dataset("hdfs://ns1/", "a/b"), "/a/b", "DIRECTORY", HDFS_1.id),
        (dataset("file", "/a/b"), "/a/b", "DIRECTORY", source_id("c", "file://")),
        (dataset("s3a://bucket", "a/b"), "/a/b", "DIRECTORY", source_id("c", "s3://bucket")),
        (dataset("s3://bucket", "/a/b"), "/a/b", "DIRECTORY", source_id("c", "s3://bucket")),
        (dataset("abfss://c@acct.dfs.core.windows.net", "/a"), "/a", "DIRECTORY", source_id("c", "abfss://c@acct.dfs.core.windows.net")),
        (dataset("postgres://db:5432", "shop.public.orders"), "shop.public.orders", "DATASET", SDK_1.id),
        (dataset("kafka://broker:9092", "orders"), "orders", "DATASET", SDK_1.id),
        (dataset("food_delivery", "public.orders"), "public.orders", "DATASET", SDK_1.id),
        (dataset("hive://hms:9083", "no table"), "no table", "DATASET", SDK_1.id),
        (dataset("trino://trino:8080", "hive.sales.orders"), "sales.orders", "TABLE", HIVE_1.id),
        # Spark names the path and has the table beside it, Hive's hook the other way round.
        (path("/wh/o", **symlinks(("hive://hms:9083", "sales.orders", "TABLE"))), "sales.orders", "TABLE", HIVE_1.id),
        (table("sales.orders", **symlinks(("hdfs://ns1", "/wh/o", "LOCATION"))), "sales.orders", "TABLE", HIVE_1.id),
        (dataset("file", "/wh/o", **symlinks(("file:/wh", "sales.orders", "TABLE"))), "sales.orders", "TABLE", HIVE_1.id),
        (
            path(
                "/wh/o",
                catalog={"framework": "iceberg", "type": "hadoop"},
                **symlinks(("hdfs://ns1/wh", "sales.orders", "TABLE")),
            ),
            "/wh/o",
            "DIRECTORY",
            HDFS_1.id,
        ),
    ],
)  # fmt: skip
def test_a_dataset_is_claimed_where_it_is(
    tmp_path: Path, given: Json, means: str, kind: str, system: str
) -> None:
    follower = Follower(tmp_path, metastore_namespaces=("trino://trino:8080",))
    got = follower.read(event("COMPLETE", 1, inputs=[given], outputs=[table("b.b")]))
    (read,) = [r.ep1 for r in got.relations if r.ep2 == got.operation.key]
    assert (shown(read), read.type, read.source.id) == (means, kind, system)
    if kind == "TABLE":
        assert read.identity == table_key(read.source, "sales", "orders").identity


def test_a_table_lies_where_its_symlink_says(follower: Follower) -> None:
    linked = path("/wh/o", **symlinks(("hive://hms:9083", "sales.orders", "TABLE")))
    got = follower.read(event("COMPLETE", 1, inputs=[linked], outputs=[table("b.b")]))
    (lies,) = [r for r in got.relations if r.type is RelationType.LOGICAL_PHYSICAL]
    assert lies.ep1.identity == table_key(HIVE_1, "sales", "orders").identity
    assert lies.ep2.identity == location_key(ESTATE, "hdfs://ns1/wh/o").identity


def test_an_event_of_a_table_alone_says_where_it_lies(follower: Follower) -> None:
    linked = table("sales.orders", **symlinks(("hdfs://ns1", "/wh/o", "LOCATION")))
    (lies,) = follower.read({"eventTime": "2023-11-14T22:14:00Z", "dataset": linked}).records
    assert isinstance(lies, Relation)
    assert (shown(lies.ep1), shown(lies.ep2), lies.attributes) == ("sales.orders", "/wh/o", {"hint": True})


# -- Columns -------------------------------------------------------------------------------------------------------------


def source(name: str, column: str, *told: Json, namespace: str = "hive://hms:9083") -> Json:
    return {
        "namespace": namespace,
        "name": name,
        "field": column,
        **({"transformations": list(told)} if told else {}),
    }


IDENTITY = {"type": "DIRECT", "subtype": "IDENTITY", "description": "", "masking": False}
SUM = {"type": "DIRECT", "subtype": "AGGREGATION", "description": "sum(amount)", "masking": False}
JOIN = {"type": "INDIRECT", "subtype": "JOIN", "description": "", "masking": False}
FILTER = {"type": "INDIRECT", "subtype": "FILTER"}


def wrote(facet: Json, inputs: tuple[str, ...] = ("a.a", "a.b")) -> Json:
    return event("COMPLETE", 1, inputs=[table(name) for name in inputs], outputs=[table("b.b", **facet)])


def of_fields(fields: dict[str, list[Json]], **more: Any) -> Json:
    return {
        "columnLineage": {"fields": {name: {"inputFields": each} for name, each in fields.items()}, **more}
    }


@pytest.mark.parametrize(
    ("facet", "expected", "tables"),
    [
        # Without a word on how, it is data.
        (of_fields({"x": [source("a.a", "x")]}), {"b.b.x": {"a.a.x"}}, {"a.a", "a.b"}),
        (
            of_fields({"x": [source("a.a", "x", IDENTITY), source("a.b", "k", JOIN)]}),
            {"b.b.x": {"a.a.x", "CONTROL a.b.k"}},
            {"a.a", "CONTROL a.b"},
        ),
        # A column may be both.
        (of_fields({"x": [source("a.a", "x", SUM, FILTER)]}), {"b.b.x": {"a.a.x", "CONTROL a.a.x"}}, {"a.a", "a.b"}),
        (
            of_fields({"x": [source("a.a", "x", SUM)]}, dataset=[source("a.b", "k", FILTER)]),
            {"b.b.x": {"a.a.x", "CONTROL a.b.k"}},
            {"a.a", "CONTROL a.b"},
        ),
        (of_fields({}, dataset=[source("a.b", "k", FILTER)]), {"b.b": {"CONTROL a.b.k"}}, {"a.a", "a.b"}),
        (
            {"columnLineage": {"fields": {"x": {"inputFields": [source("a.a", "x")], "transformationType": "MASKED"}}}},
            {"b.b.x": {"a.a.x"}},
            {"a.a", "a.b"},
        ),
        (
            {"columnLineage": {"fields": {"x": {"inputFields": [source("a.a", "x")], "transformationType": "INDIRECT"}}}},
            {"b.b.x": {"CONTROL a.a.x"}},
            {"CONTROL a.a", "a.b"},
        ),
        # A column that nothing flows into; a source that is not among the inputs.
        (of_fields({"one": [], "y": [source("c.c", "y")]}), {"b.b.y": {"c.c.y"}, "b.b.one": set()}, {"a.a", "a.b", "c.c"}),
        # The newer facet.
        (
            {
                "lineage": {
                    "inputs": [
                        {**source("a.b", "k", FILTER), "type": "DATASET"},
                        {"namespace": "hdfs://ns1", "name": "/raw", "type": "DATASET"},
                    ],
                    "fields": {"x": {"inputs": [{**source("a.a", "x", SUM), "type": "DATASET"}]}},
                }
            },
            {"b.b.x": {"a.a.x", "CONTROL a.b.k"}},
            {"a.a", "a.b", "/raw"},
        ),
    ],
)  # fmt: skip
def test_column_lineage(
    follower: Follower, facet: Json, expected: dict[str, set[str]], tables: set[str]
) -> None:
    got = follower.read(wrote(facet))
    assert columns(got) == expected
    assert flows(got) == {f"{each} -> operation" for each in tables} | {"operation -> b.b"}


def test_columns_are_those_of_the_table_that_the_symlink_names(follower: Follower) -> None:
    read = path("/wh/o", **symlinks(("hive://hms:9083", "sales.orders", "TABLE")))
    of_path = source("/wh/o", "ID", namespace="hdfs://ns1")
    facet = of_fields({"id": [of_path]})
    written = path("/wh/d", **symlinks(("hive://hms:9083", "sales.daily", "TABLE")), **facet)
    got = follower.read(event("COMPLETE", 1, inputs=[read], outputs=[written]))
    assert columns(got) == {"sales.daily.id": {"sales.orders.ID"}}


def test_how_a_column_is_computed_is_kept(follower: Follower) -> None:
    masked = {**SUM, "masking": True}
    got = follower.read(wrote(of_fields({"x": [source("a.a", "x", IDENTITY), source("a.a", "y", masked)]})))
    (part,) = got.of(EntityType.SUB_OPERATION)
    about = {
        name: part.attributes[name]
        for name in ("edgeType", "transformation", "expression", "masking", "inputs")
    }
    assert about == {
        "edgeType": "PROJECTION",
        "transformation": "AGGREGATION",
        "expression": "sum(amount)",
        "masking": True,
        "inputs": ["a.a.x", "a.a.y"],
    }


def test_what_decides_about_very_many_columns_is_stated_once(follower: Follower) -> None:
    names = [f"c{number}" for number in range(60)]
    deciding = [source("a.b", f"k{number}", FILTER) for number in range(50)]
    got = follower.read(wrote(of_fields({name: [source("a.a", name), *deciding] for name in names})))
    control = [
        r
        for r in got.relations
        if r.type is RelationType.CONTROL_FLOW and r.ep2.type is EntityType.SUB_OPERATION
    ]
    assert len(control) == 50
    assert all(len(read) == 51 for read in columns(got).values())


def test_a_writer_of_whose_columns_nothing_is_said_is_incomplete(follower: Follower) -> None:
    got = follower.read(wrote({}))
    assert got.operation.attributes["incompleteReasons"] == [
        "the producer does not say where columns come from"
    ]


# -- Datasets of the source's own ----------------------------------------------------------------------------------------


ORDERS = ("postgres://db:5432", "public.orders")


def own(got: Read) -> dict[str, Entity]:
    return {
        shown(each.key): each
        for each in got.entities
        if each.key.type in (EntityType.DATASET, EntityType.FIELD)
    }


def test_a_dataset_of_its_own_has_its_columns(follower: Follower) -> None:
    schema: Json = {
        "schema": {"fields": [{"name": "id", "type": "bigint"}, {"name": "amount", "type": "numeric"}]}
    }
    read = dataset(
        *ORDERS,
        **schema,
        documentation={"description": "all orders"},
        ownership={"owners": [{"name": "ana"}]},
    )
    facet = of_fields(
        {"id": [source(ORDERS[1], "ID", namespace=ORDERS[0]), source(ORDERS[1], "x", namespace=ORDERS[0])]}
    )
    got = own(follower.read(event("COMPLETE", 1, inputs=[read], outputs=[table("b.b", **facet)])))
    assert got.keys() == {"public.orders", "public.orders.id", "public.orders.amount", "public.orders.x"}
    about = got["public.orders"].attributes
    assert (about["originalDescription"], about["owner"]) == ("all orders", "ana")
    assert about["datasetNamespace"] == ORDERS[0]
    assert got["public.orders.amount"].attributes == {"dataType": "numeric", "columnIndex": 1}


def change(kind: str, **more: Any) -> Json:
    return {"lifecycleStateChange": {"lifecycleStateChange": kind, **more}}


def test_a_dataset_of_its_own_that_is_dropped_is_gone(follower: Follower) -> None:
    dropped = {"eventTime": "2023-11-14T22:14:00Z", "dataset": dataset(*ORDERS, **change("DROP"))}
    got = follower.read(dropped)
    key = next(iter(own(follower.read({**dropped, "dataset": dataset(*ORDERS)})).values())).key
    assert [(each.path, each.reported) for each in got.covers] == [(key.tree_path, True)]
    assert got.entities == []


def test_a_rename_is_an_operation_and_words_go_along(follower: Follower) -> None:
    before = own(follower.read(event("COMPLETE", 1, "0", outputs=[dataset(*ORDERS)])))["public.orders"].key
    previous = {"previousIdentifier": {"namespace": ORDERS[0], "name": ORDERS[1]}}
    got = follower.read(
        event("COMPLETE", 3, outputs=[dataset(ORDERS[0], "public.o2", **change("RENAME", **previous))])
    )
    assert flows(got) == {"public.orders -> operation", "operation -> public.o2"}
    assert got.operation.attributes["operationType"] == "RENAME"
    assert own(got)["public.o2"].renamed_from == before.identity
    assert before.tree_path in {each.path for each in got.covers}


@pytest.mark.parametrize(
    ("kind", "inputs", "expected"),
    [
        ("DROP", [], set()),
        ("ALTER", [], set()),
        ("TRUNCATE", [], set()),
        ("CREATE", [], set()),
        ("CREATE", [table("a.a")], {"a.a -> operation", "operation -> b.b"}),
        ("OVERWRITE", [table("a.a")], {"a.a -> operation", "operation -> b.b"}),
        ("OVERWRITE", [], {"operation -> b.b"}),
    ],
)
def test_a_change_of_state_by_which_no_data_moves_is_no_flow(
    follower: Follower, kind: str, inputs: list[Json], expected: set[str]
) -> None:
    got = follower.read(event("COMPLETE", 1, inputs=inputs, outputs=[table("b.b", **change(kind))]))
    assert flows(got) == expected
    assert got.operation.attributes["outputs"] == ["b.b"]


# -- Files, and what is broken -------------------------------------------------------------------------------------------


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
def test_forms_of_files(follower: Follower, text: str) -> None:
    (follower.directory / "event.json").write_text(text)
    got = follower.read()
    assert "operation -> sales.daily" in flows(got)
    assert got.rejects == []
    assert follower.read().records == []


def test_each_event_in_a_file_of_its_own(follower: Follower) -> None:
    for number, each in enumerate((COMPLETE, RUNNING, START)):
        (follower.directory / f"event-{number}.json").write_text(pretty(each))
    assert flows(follower.read()) == WHOLE


def test_an_event_that_is_being_written_waits_for_its_end(follower: Follower) -> None:
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
        (json.dumps(COMPLETE)[:200], "has no end"),
        ('{"eventTime": 7}', "no eventTime"),
        ("7", "no JSON object"),
        ("[7]", "no JSON object"),
        ({**COMPLETE, "eventTime": None}, "no eventTime"),
        ({**COMPLETE, "eventTime": "yesterday"}, "cannot be one"),
        ({**COMPLETE, "eventTime": "2099-01-01T00:00:00Z"}, "cannot be one"),
        ({**COMPLETE, "job": None}, "job has no namespace"),
        ({**COMPLETE, "job": {"namespace": "prod"}}, "no name"),
        ({**COMPLETE, "run": {}}, "no runId"),
        ({"eventTime": "2023-11-14T22:14:00Z", "dataset": {"name": "x"}}, "no namespace"),
    ],
)
def test_what_is_no_event_is_rejected_with_its_place_and_the_others_are_read(
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
        {"eventType": "DONE"},
    ],
)
def test_a_part_that_is_broken_is_rejected_and_the_rest_stands(follower: Follower, broken: Json) -> None:
    got = follower.read({**event("RUNNING", 3), **broken}, COMPLETE)
    assert [each.reason[:27] for each in got.rejects] == ["a part of the event is brok"]
    assert "operation -> sales.daily" in flows(got)
    # What is known to be a part takes nothing away.
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
def test_what_may_be_missing_or_odd_is_no_reject(follower: Follower, odd: Json) -> None:
    got = follower.read({**COMPLETE, **odd})
    assert (got.rejects, flows(got)) == ([], {"operation -> sales.daily"})


def test_secrets_are_not_in_names(follower: Follower) -> None:
    given = dataset("postgres://ana:hunter2Zx@db:5432", "public.orders")
    got = follower.read(
        event("COMPLETE", 1, inputs=[given], outputs=[dataset("s3://AK:hunter2Zx@bucket", "a")])
    )
    assert "hunter2Zx" not in str(got.records)
