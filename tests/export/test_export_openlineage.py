"""The export as OpenLineage: events that conform to the specification, and elements of navlin's model that are kept or
dropped.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from navlin.export.connection import ServerAddress, ServerConnection
from navlin.export.openlineage import Options, records, send
from navlin.export.target import RefusedRecord, targets
from navlin.export.values import (
    ColumnName,
    DatasetName,
    ExportedColumn,
    ExportedDataset,
    ExportedOperation,
    ExportedRun,
    Item,
    Renamed,
    RunName,
)
from navlin.index.graph.details import Annotations, ColumnDetails, Details
from navlin.index.graph.entity import PurgedExecutions
from navlin.index.graph.sources import KnownSource
from tests.export.test_export_atlas import (
    HIVE_SOURCE,
    LOCAL_SOURCE,
    MARKED,
    S3_SOURCE,
    ends,
    operation,
    part,
    path,
    run,
    table,
)
from tests.support.export_table import FATES, MODEL
from tests.support.openlineage_schemas import Schemas

Json = dict[str, Any]


def lines(*items: Item, **options: Any) -> list[Json]:
    return [json.loads(line) for line in records(items, Options(**options))]


def named(dataset: Json) -> str:
    return f"{dataset['namespace']} {dataset['name']}"


# -- Names ---------------------------------------------------------------------------------------------------------------

NOWHERE = KnownSource("x", "HIVE", "hive", "cm", ("",), placeholder=True)
GLUE = KnownSource("x", "HIVE", "glue", "cm", ("arn:aws:glue:eu:1",), placeholder=True)
JDBC = KnownSource("x", "JDBC", "jdbc", "cm", ("jdbc:postgresql://db:5432/shop",), placeholder=True)
KAFKA = KnownSource("x", "KAFKA", "kafka", "cm", ("kafka",), placeholder=True)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (DatasetName("", "TABLE", HIVE_SOURCE, "Orders", "Sales"), "hive://hms:9083 Sales.Orders"),
        (DatasetName("", "VIEW", NOWHERE, "v", "sales"), "hive://cm sales.v"),
        (DatasetName("", "TABLE", GLUE, "orders", "sales"), "arn:aws:glue:eu:1 table/sales/orders"),
        (DatasetName("", "TABLE", JDBC, "public.orders"), "postgresql://db:5432/shop public.orders"),
        (path("/Landing/Orders"), "hdfs://ns1 /Landing/Orders"),
        (path("/a/f.csv", kind="FILE"), "hdfs://ns1 /a/f.csv"),
        (path("/a/B", S3_SOURCE), "s3://lake a/B"),
        (path("/", S3_SOURCE), "s3://lake /"),
        (path("/tmp/x", LOCAL_SOURCE), "file /tmp/x"),
        (DatasetName("", "DATASET", KAFKA, "orders"), "kafka orders"),
    ],
)  # fmt: skip
def test_datasets_have_openlineage_names(name: DatasetName, expected: str) -> None:
    (event,) = lines(ExportedDataset(name))
    assert named(event["dataset"]) == expected


def test_a_job_is_named_by_source_and_id_and_a_run_by_a_stable_uuid() -> None:
    secret = operation("QUERY", ends("a.a"), ends("b.b"), text="select 'hunter2'")
    first, again = (lines(ExportedRun(secret, run())) for _ in range(2))
    assert first == again
    start, complete = first
    assert start["job"]["name"] == "QUERIES-1.0123456789abcdef"
    assert (start["eventType"], complete["eventType"]) == ("START", "COMPLETE")
    assert start["run"]["runId"] == complete["run"]["runId"]
    assert lines(ExportedRun(secret, run()), namespace="prod")[0]["job"]["namespace"] == "prod"


# -- Runs ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "kinds", "and_job"),
    [
        ("", ["START", "COMPLETE"], False),
        ("SUCCEEDED", ["START", "COMPLETE"], False),
        ("FAILED", ["START", "FAIL"], True),
        ("KILLED", ["START", "ABORT"], True),
        ("RUNNING", ["START", "RUNNING"], True),
        ("UNKNOWN", ["START"], True),
    ],
)
def test_the_events_of_a_run_depend_on_its_status(status: str, kinds: list[str], *, and_job: bool) -> None:
    latest = run(status=status)
    one = operation("QUERY", ends("a.a"), ends("b.b"), latest=latest)
    events = lines(one, ExportedRun(one, latest))
    assert [each["eventType"] for each in events if "run" in each] == kinds
    # Each event contains all lineage known, for consumers that use the last event only.
    assert {tuple(map(named, each["outputs"])) for each in events} == {("hive://hms:9083 b.b",)}
    # The lineage comes from an earlier run, so the event describes the job instead of the run.
    assert [each["schemaURL"].rpartition("/")[2] for each in events if "run" not in each] == [
        "JobEvent"
    ] * and_job


def test_a_run_without_times_has_one_event() -> None:
    (event,) = lines(
        ExportedRun(
            operation("QUERY", ends("a.a"), ()), run(started_ms=0, ended_ms=0, as_of_ms=1_700_000_000_123)
        )
    )
    assert (event["eventType"], event["eventTime"]) == ("COMPLETE", "2023-11-14T22:13:20.123Z")


def test_a_view_is_a_job_without_a_run() -> None:
    view = operation("CREATE VIEW", ends("a.a"), ends("b.v"), part("b.v.x", "a.a.x"), derived=True)
    (event,) = lines(view)
    assert event["schemaURL"].endswith("JobEvent")
    assert "run" not in event
    assert event["job"]["facets"]["sql"]["query"] == "CREATE VIEW"


def test_a_deleted_dataset_gets_a_single_event() -> None:
    made = Details(created_ms=1_600_000_000_000, modified_ms=1_650_000_000_000)
    gone = ExportedDataset(table("sales.orders"), made, deleted=True, deleted_ms=1_700_000_000_000)
    (event,) = lines(gone, operation("QUERY", ends("a.a"), (), deleted=True))
    assert event["dataset"]["facets"].keys() == {"lifecycleStateChange"}
    assert event["dataset"]["facets"]["lifecycleStateChange"]["lifecycleStateChange"] == "DROP"
    assert event["eventTime"] == "2023-11-14T22:13:20.000Z", "after all that was done with it"


def test_a_rename_names_the_previous_identifier() -> None:
    (event,) = lines(Renamed(table("a.old"), table("a.new"), (), 1_700_000_000_000))
    change = event["dataset"]["facets"]["lifecycleStateChange"]
    assert named(event["dataset"]) == "hive://hms:9083 a.new"
    assert named(change["previousIdentifier"]) == "hive://hms:9083 a.old"


def test_a_parent_facet_is_optional() -> None:
    yarn = RunName(
        "y", "application_1_0002", KnownSource("yarn", "YARN", "YARN-1", "cm", (), placeholder=False)
    )
    one = operation("QUERY", ends("a.a"), ())
    assert "parent" not in lines(ExportedRun(one, run()))[0]["run"]["facets"]
    above = [
        lines(ExportedRun(one, replace(run(), run_as=run_as)), parent=True)[0]["run"]["facets"]["parent"][
            "job"
        ]["name"]
        for run_as in ((yarn,), ())
    ]
    assert above == ["application_1_0002", "QUERIES-1"]


# -- Columns -------------------------------------------------------------------------------------------------------------


def test_column_lineage_is_direct_or_indirect() -> None:
    sum_of = part(
        "b.b.total", "a.a.x", control=("a.a.day",), transformation="AGGREGATION", expression="sum(x)"
    )
    one = operation(
        "QUERY", ends("a.a"), ends("b.b"), sum_of, part("b.b.total", "a.a.x", transformation="IDENTITY")
    )
    facet = lines(ExportedRun(one, run()))[-1]["outputs"][0]["facets"]["columnLineage"]
    assert {
        each["field"]: [(how["type"], how.get("subtype")) for how in each["transformations"]]
        for each in facet["fields"]["total"]["inputFields"]
    } == {"x": [("DIRECT", "AGGREGATION"), ("DIRECT", "IDENTITY")], "day": [("INDIRECT", None)]}
    assert facet["fields"]["total"]["inputFields"][0]["transformations"][0]["description"] == "sum(x)"


def test_conditions_on_whole_rows_are_dataset_lineage() -> None:
    whole = replace(part("b.b.x", control=("a.a.day",)), outputs=(ColumnName("", table("b.b"), ""),))
    facet = lines(ExportedRun(operation("DELETE", ends("a.a"), ends("b.b"), whole), run()))[-1]["outputs"][0][
        "facets"
    ]
    assert facet["columnLineage"]["fields"] == {}
    assert [each["field"] for each in facet["columnLineage"]["dataset"]] == ["day"]


def full() -> tuple[Item, ...]:
    """An item of every kind with all its fields set."""
    orders = table("sales.orders")
    words = Annotations("", "all orders", ("pii",), {"team": ("sales",)})
    column = ExportedColumn(ColumnName("", orders, "id"), ColumnDetails("bigint", "the id", 0), words)
    nameless = ExportedColumn(ColumnName("", orders, "x"), ColumnDetails(), Annotations())
    about = Details(owner="ana", comment="c", created_ms=1_700_000_000_000)
    whole = ExportedDataset(orders, about, words, (column, nameless), locations=(path("/wh/orders"),))
    moved = part(
        "b.b.total", "a.a.x", control=("a.a.day",), transformation="AGGREGATION", expression="sum(x)"
    )
    rows = replace(part("b.b.x", control=("a.a.day",)), outputs=(ColumnName("", table("b.b"), ""),))
    failed = run(
        status="FAILED",
        error="no space left",
        principal="ana",
        query_id="q",
        application="application_1_0001",
    )
    one = operation(
        "QUERY", ends("a.a", path("/in")), ends("b.b"), moved, rows, annotations=words, latest=failed
    )
    return (
        *(
            whole,
            replace(whole, deleted=True),
            ExportedDataset(path("/in")),
            ExportedDataset(DatasetName("", "DATABASE", HIVE_SOURCE, "s")),
        ),
        *(one, ExportedRun(one, failed), ExportedRun(one, run())),
        operation("CREATE VIEW", (), (), engine="", runs=PurgedExecutions(2, 1_700_000_000_000)),
        Renamed(table("a.old"), table("a.new"), ("x",), 1_700_000_000_000),
    )


@pytest.mark.parametrize("parent", [False, True])
def test_every_event_is_valid(corpora: Path, *, parent: bool) -> None:
    schemas = Schemas(corpora / "openlineage" / "spec")
    events = lines(*full(), parent=parent)
    assert len(events) == 10
    for event in events:
        assert schemas.problems(event) == []
    # Check that the schemas detect errors.
    broken: list[Json] = [json.loads(json.dumps(events[-3])) for _ in range(3)]
    broken[0]["eventTime"] = 7
    broken[1]["job"]["facets"]["jobType"].pop("integration")
    broken[2]["job"].pop("name")
    for each in broken:
        assert schemas.problems(each) != []


def test_openlineage_is_a_registered_target() -> None:
    assert targets()["openlineage"].send is send


# -- The export of each element --------------------------------------------------------------------------------------------

BY_ATLAS_ALSO = {name: items for name, (items, _) in MARKED.items()}
MARKS = {
    "SOURCE": '"namespace":"hive://hms:9083"',
    "DATABASE": '"namespace":"hive://hms:9083","name":"mark.t"',
    "TABLE": '"name":"s.mark"',
    "VIEW": '"datasetType":"VIEW"',
    "FIELD": '"fields":[{"name":"mark"',
    "PARTITION": '"name":"s.d"',
    "DIRECTORY, FILE": '"namespace":"hdfs://ns1","name":"/mark"',
    "DATASET": '"name":"mark"',
    "OPERATION": '"name":"QUERIES-1.0123456789abcdef"',
    "OPERATION without output": '"name":"s.o"',
    "SUB_OPERATION": '"field":"mark"',
    "OPERATION_EXECUTION": '"queryId":"mark"',
    "application of an execution": '"application":"app_1"',
    "DATA_FLOW": '"inputs":[{"namespace":"hive://hms:9083","name":"s.o"',
    "CONTROL_FLOW of a table": '"flow":"CONTROL"',
    "CONTROL_FLOW of a column": '"type":"INDIRECT"',
    "LOGICAL_PHYSICAL of a table": '"identifiers":[{"namespace":"hdfs://ns1","name":"/mark","type":"LOCATION"}]',
    "PARENT_CHILD, INSTANCE_OF": '"runId":',
    "flagged deleted": '"lifecycleStateChange":"DROP"',
    "renamed": '"lifecycleStateChange":"RENAME"',
    "unlinked end": "s.mark",
    "text of a query": '"query":"mark"',
    "expression of a column": '"description":"mark(a)"',
    "comment": '"description":"mark"',
    "people's name, description": '"description":"also"',
    "people's tags": '"key":"mark"',
    "inherited tags": '"key":"mark"',
    "people's properties": '"key":"mark","value":"yes"',
    "identity": '"key":"navlin_id","value":"s.d"',
    "incomplete, inferred": '"incomplete":["reason"]',
}
OTHER_ITEMS: dict[str, list[Item]] = {
    "DATABASE": [ExportedDataset(table("mark.t"))],
    "LOGICAL_PHYSICAL of a table": [ExportedDataset(table("s.d"), locations=(path("/mark"),))],
    "application of an execution": [
        ExportedRun(operation("SAVE", (), ends("s.d")), run(application="app_1"))
    ],
}


@pytest.mark.parametrize("name", MODEL)
def test_each_part_of_the_model_is_kept_or_dropped_as_stated(name: str) -> None:
    items = OTHER_ITEMS.get(name, BY_ATLAS_ALSO[name])
    # As in a real export, each operation is followed by its last run.
    runs = [
        ExportedRun(each, each.latest)
        for each in items
        if isinstance(each, ExportedOperation) and each.latest
    ]
    made = b"".join(records([*items, *runs], Options())).decode()
    assert (MARKS[name] in made) is not FATES["openlineage"][name].startswith("dropped"), made


# -- Sending -------------------------------------------------------------------------------------------------------------


@contextmanager
def server(*statuses: int) -> Iterator[tuple[str, list[tuple[str, Json]]]]:
    """Run a server that responds to posts with these statuses and then repeats the last one. Yield its URL and the list
    of (path, body) of the posts.
    """
    answers, posted = list(statuses), list[tuple[str, Json]]()

    class Requests(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            posted.append((self.path, json.loads(body)))
            self.send_response(answers.pop(0) if len(answers) > 1 else answers[0])
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Requests)
    threading.Thread(target=listening.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listening.server_port}", posted
    finally:
        listening.shutdown()
        listening.server_close()


def test_events_are_sent_in_order_and_retried_while_the_server_is_down() -> None:
    one = operation("QUERY", ends("a.a"), ends("b.b"))
    made = list(records([ExportedDataset(table("a.a")), ExportedRun(one, run())], Options()))
    waits: list[float] = []
    with server(503, 429, 201, 422, 201) as (url, posted):
        outcomes = list(send(ServerConnection(ServerAddress(url), waits.append), made, Options()))
    first, start, complete = (json.loads(each) for each in made)
    assert [body for _, body in posted] == [first, first, first, start, complete]
    assert {where for where, _ in posted} == {"/api/v1/lineage"}
    assert waits == [1.0, 2.0]
    took, refused, then = outcomes
    assert (took, then) == (1, 1)
    assert isinstance(refused, RefusedRecord)
    assert "QUERIES-1.0123456789abcdef" in refused.what
