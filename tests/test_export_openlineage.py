"""The graph as OpenLineage: events after the specification, and back into a second index with the same lineage."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from extractors.hive_events import HiveEvents
from extractors.impala_events import ImpalaEvents
from extractors.openlineage import OpenLineageEvents
from navlin.export.batches import read
from navlin.export.choosing import Selection
from navlin.export.connection import Address, Connection
from navlin.export.openlineage import Options, records, send
from navlin.export.openlineage.becomes import BECOMES
from navlin.export.target import MODEL, Refused, targets
from navlin.export.values import (
    Column,
    ColumnName,
    Dataset,
    DatasetName,
    Details,
    Flow,
    Item,
    KnownSource,
    LastRun,
    Operation,
    Renamed,
    Run,
    RunName,
    Words,
)
from navlin.index.details import ColumnDetails
from navlin.index.solr import Solr
from navlin.model.extractor import Extractor
from navlin.model.records import Entity, Relation
from navlin.model.source import Estate, Source, source_id
from tests.support import indexed_estate
from tests.support.openlineage_schemas import Schemas
from tests.support.query_estate import World
from tests.support.record_edges import read_all
from tests.test_export_atlas import (
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

Json = dict[str, Any]


def lines(*items: Item, **options: Any) -> list[Json]:
    return [json.loads(line) for line in records(items, Options(**options))]


def named(dataset: Json) -> str:
    return f"{dataset['namespace']} {dataset['name']}"


# -- Names ---------------------------------------------------------------------------------------------------------------

NOWHERE = KnownSource("x", "HIVE", "hive", "cm", ("",), granted=True)
GLUE = KnownSource("x", "HIVE", "glue", "cm", ("arn:aws:glue:eu:1",), granted=True)
JDBC = KnownSource("x", "JDBC", "jdbc", "cm", ("jdbc:postgresql://db:5432/shop",), granted=True)
KAFKA = KnownSource("x", "KAFKA", "kafka", "cm", ("kafka",), granted=True)


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
def test_names_of_datasets(name: DatasetName, expected: str) -> None:
    (event,) = lines(Dataset(name))
    assert named(event["dataset"]) == expected


def test_a_job_is_named_by_its_source_and_id_and_a_run_by_a_uuid_that_stays() -> None:
    secret = operation("QUERY", ends("a.a"), ends("b.b"), text="select 'hunter2'")
    first, again = (lines(Run(secret, run())) for _ in range(2))
    assert first == again
    start, complete = first
    assert start["job"]["name"] == "QUERIES-1.0123456789abcdef"
    assert (start["eventType"], complete["eventType"]) == ("START", "COMPLETE")
    assert start["run"]["runId"] == complete["run"]["runId"]
    assert lines(Run(secret, run()), namespace="prod")[0]["job"]["namespace"] == "prod"


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
def test_how_a_run_ended(status: str, kinds: list[str], *, and_job: bool) -> None:
    latest = run(status=status)
    one = operation("QUERY", ends("a.a"), ends("b.b"), latest=latest)
    events = lines(one, Run(one, latest))
    assert [each["eventType"] for each in events if "run" in each] == kinds
    # Each says all that is known, for who takes the last word.
    assert {tuple(map(named, each["outputs"])) for each in events} == {("hive://hms:9083 b.b",)}
    # Its lineage is an earlier run's, so it is told of the job.
    assert [each["schemaURL"].rpartition("/")[2] for each in events if "run" not in each] == [
        "JobEvent"
    ] * and_job


def test_a_run_of_which_only_the_record_has_a_time_has_one_event() -> None:
    (event,) = lines(
        Run(operation("QUERY", ends("a.a"), ()), run(started_ms=0, ended_ms=0, as_of_ms=1_700_000_000_123))
    )
    assert (event["eventType"], event["eventTime"]) == ("COMPLETE", "2023-11-14T22:13:20.123Z")


def test_a_view_is_a_job_without_a_run() -> None:
    view = operation("CREATE VIEW", ends("a.a"), ends("b.v"), part("b.v.x", "a.a.x"), derived=True)
    (event,) = lines(view)
    assert event["schemaURL"].endswith("JobEvent")
    assert "run" not in event
    assert event["job"]["facets"]["sql"]["query"] == "CREATE VIEW"


def test_what_is_deleted_is_told_once_and_no_more() -> None:
    gone = Dataset(table("sales.orders"), deleted=True)
    (event,) = lines(gone, operation("QUERY", ends("a.a"), (), deleted=True))
    assert event["dataset"]["facets"].keys() == {"lifecycleStateChange"}
    assert event["dataset"]["facets"]["lifecycleStateChange"]["lifecycleStateChange"] == "DROP"


def test_a_rename_names_what_it_was() -> None:
    (event,) = lines(Renamed(table("a.old"), table("a.new"), (), 1_700_000_000_000))
    change = event["dataset"]["facets"]["lifecycleStateChange"]
    assert named(event["dataset"]) == "hive://hms:9083 a.new"
    assert named(change["previousIdentifier"]) == "hive://hms:9083 a.old"


def test_a_parent_is_named_by_choice() -> None:
    yarn = RunName("y", "application_1_0002", KnownSource("yarn", "YARN", "YARN-1", "cm", (), granted=False))
    one = operation("QUERY", ends("a.a"), ())
    assert "parent" not in lines(Run(one, run()))[0]["run"]["facets"]
    above = [
        lines(Run(one, replace(run(), run_as=run_as)), parent=True)[0]["run"]["facets"]["parent"]["job"][
            "name"
        ]
        for run_as in ((yarn,), ())
    ]
    assert above == ["application_1_0002", "QUERIES-1"]


# -- Columns -------------------------------------------------------------------------------------------------------------


def test_columns_are_direct_or_indirect() -> None:
    sum_of = part(
        "b.b.total", "a.a.x", control=("a.a.day",), transformation="AGGREGATION", expression="sum(x)"
    )
    one = operation(
        "QUERY", ends("a.a"), ends("b.b"), sum_of, part("b.b.total", "a.a.x", transformation="IDENTITY")
    )
    facet = lines(Run(one, run()))[-1]["outputs"][0]["facets"]["columnLineage"]
    assert {
        each["field"]: [(how["type"], how.get("subtype")) for how in each["transformations"]]
        for each in facet["fields"]["total"]["inputFields"]
    } == {"x": [("DIRECT", "AGGREGATION"), ("DIRECT", "IDENTITY")], "day": [("INDIRECT", None)]}
    assert facet["fields"]["total"]["inputFields"][0]["transformations"][0]["description"] == "sum(x)"


def test_what_decides_about_a_table_as_a_whole_is_of_all_rows() -> None:
    whole = replace(part("b.b.x", control=("a.a.day",)), outputs=(ColumnName("", table("b.b"), ""),))
    facet = lines(Run(operation("DELETE", ends("a.a"), ends("b.b"), whole), run()))[-1]["outputs"][0][
        "facets"
    ]
    assert facet["columnLineage"]["fields"] == {}
    assert [each["field"] for each in facet["columnLineage"]["dataset"]] == ["day"]


def full() -> tuple[Item, ...]:
    """An item of every kind, with all that it may have."""
    orders = table("sales.orders")
    words = Words("", "all orders", ("pii",), {"team": ("sales",)})
    column = Column(ColumnName("", orders, "id"), ColumnDetails("bigint", "the id", 0), words)
    nameless = Column(ColumnName("", orders, "x"), ColumnDetails(), Words())
    about = Details(owner="ana", comment="c", created_ms=1_700_000_000_000)
    whole = Dataset(orders, about, words, (column, nameless), locations=(path("/wh/orders"),))
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
    one = operation("QUERY", ends("a.a", path("/in")), ends("b.b"), moved, rows, words=words, latest=failed)
    return (
        *(
            whole,
            replace(whole, deleted=True),
            Dataset(path("/in")),
            Dataset(DatasetName("", "DATABASE", HIVE_SOURCE, "s")),
        ),
        *(one, Run(one, failed), Run(one, run())),
        operation("CREATE VIEW", (), (), engine="", runs=LastRun(2, 1_700_000_000_000)),
        Renamed(table("a.old"), table("a.new"), ("x",), 1_700_000_000_000),
    )


@pytest.mark.parametrize("parent", [False, True])
def test_every_event_is_valid(corpora: Path, *, parent: bool) -> None:
    schemas = Schemas(corpora / "openlineage" / "spec")
    events = lines(*full(), parent=parent)
    assert len(events) == 10
    for event in events:
        assert schemas.problems(event) == []
    # The schemas are not blind.
    broken: list[Json] = [json.loads(json.dumps(events[-3])) for _ in range(3)]
    broken[0]["eventTime"] = 7
    broken[1]["job"]["facets"]["jobType"].pop("integration")
    broken[2]["job"].pop("name")
    for each in broken:
        assert schemas.problems(each) != []


def test_it_is_a_target() -> None:
    assert targets()["openlineage"].send is send


# -- What each thing becomes -----------------------------------------------------------------------------------------------

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
    "people's properties": '"key":"mark","value":"yes"',
    "identity": '"key":"navlin_id","value":"s.d"',
    "incomplete, inferred": '"incomplete":["reason"]',
}
OTHER_ITEMS: dict[str, list[Item]] = {
    "DATABASE": [Dataset(table("mark.t"))],
    "LOGICAL_PHYSICAL of a table": [Dataset(table("s.d"), locations=(path("/mark"),))],
    "application of an execution": [Run(operation("SAVE", (), ends("s.d")), run(application="app_1"))],
}


@pytest.mark.parametrize("name", MODEL)
def test_what_is_said_to_become_of_it_becomes_of_it(name: str) -> None:
    items = OTHER_ITEMS.get(name, BY_ATLAS_ALSO[name])
    # As a reading has them: an operation is followed by its last run.
    runs = [Run(each, each.latest) for each in items if isinstance(each, Operation) and each.latest]
    made = b"".join(records([*items, *runs], Options())).decode()
    assert (MARKS[name] in made) is not BECOMES[name].startswith("dropped"), made


# -- Sending -------------------------------------------------------------------------------------------------------------


@contextmanager
def server(*statuses: int) -> Iterator[tuple[str, list[tuple[str, Json]]]]:
    """Answers posts with these statuses, the last one again and again; what was posted."""
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


def test_events_are_sent_one_by_one_in_order_and_again_while_the_server_is_away() -> None:
    one = operation("QUERY", ends("a.a"), ends("b.b"))
    made = list(records([Dataset(table("a.a")), Run(one, run())], Options()))
    waits: list[float] = []
    with server(503, 429, 201, 422, 201) as (url, posted):
        outcomes = list(send(Connection(Address(url), waits.append), made, Options()))
    first, start, complete = (json.loads(each) for each in made)
    assert [body for _, body in posted] == [first, first, first, start, complete]
    assert {where for where, _ in posted} == {"/api/v1/lineage"}
    assert waits == [1.0, 2.0]
    took, refused, then = outcomes
    assert (took, then) == (1, 1)
    assert isinstance(refused, Refused)
    assert "QUERIES-1.0123456789abcdef" in refused.what


# -- There and back ------------------------------------------------------------------------------------------------------

Edge = tuple[str, str, str, str]


class Lineage:
    """The lineage of an index, from each input of an operation, by its text, to each output, and from column to column."""

    def __init__(self, items: Iterable[Item]) -> None:
        self.tables: set[Edge] = set()
        self.columns: set[Edge] = set()
        self.executions = 0
        for item in items:
            if isinstance(item, Run):
                self.executions += 1
            if isinstance(item, Operation):
                told = item.statement.text
                for end in item.inputs:
                    for other in item.outputs or (None,):
                        self.tables.add(
                            (
                                told,
                                end.dataset.full_name,
                                end.flow,
                                other.dataset.full_name if other else "nothing",
                            )
                        )
                for each in item.columns:
                    for source in each.inputs:
                        for target in each.outputs:
                            self.columns.add((told, _column(source.column), source.flow, _column(target)))


def _column(column: ColumnName) -> str:
    name = column.dataset.full_name
    folded = name if column.dataset.is_path else name.lower()
    return f"{folded}.{column.name.lower()}"


def exported(solr: Solr, query: str) -> list[Item]:
    return [item for batch in read(solr, Selection(query)) for item in batch.items]


def brought_back(events: Iterable[bytes], into: Solr, folder: Path, name: str) -> Lineage:
    """Reads events as a source of a second index, and returns what is there then."""
    folder.mkdir()
    (folder / "events.jsonl").write_bytes(b"".join(events))
    second = indexed_estate.World(into, f"second-{name}", configured=False)
    sdk = Source(
        source_id(second.cluster, "OPENLINEAGE-1"), "SDK", "OPENLINEAGE-1", second.cluster, claimable=False
    )
    read_again = read_all(OpenLineageEvents(sdk, Estate(second.cluster, (sdk,)), str(folder)))
    found = [each for each in read_again if isinstance(each, Entity | Relation)]
    second.link(second.put(sdk, *_newest(found)))
    return Lineage(exported(into, f"sourceId:{sdk.id}"))


def _newest(found: Iterable[Entity | Relation]) -> Iterator[Entity | Relation]:
    """The newest of what is said of each entity, as the pipeline takes it."""
    yield from sorted(found, key=lambda each: -each.as_of_ms)


def of_a_world(solr: Solr, corpora: Callable[[], Path], name: str) -> list[Item]:
    """Tables, paths, columns, what only decides, a failed run, a path of S3's, an operation that only reads."""
    world = World(solr, f"there-{name}")
    orders, rates, daily = (world.table(each, "x", "day") for each in ("orders", "rates", "daily"))
    parts = {"daily.x": ["orders.x"], "daily.day": ["orders.day"]}
    query = world.operation(
        "insert into daily",
        [orders],
        [daily],
        steered_by=[rates],
        parts=parts,
        steering_columns=["rates.day"],
    )
    world.execution(
        query, "1", started=1_700_000_000_000, ended=1_700_000_009_000, status="SUCCEEDED", principal="ana"
    )
    landing, out = world.path("/landing"), world.path("/out")
    copy = world.operation("copy", [landing], [out], parts={"/out.x": ["/landing.x"]})
    world.execution(copy, "2", started=1_700_000_000_000, ended=1_700_000_001_000, status="FAILED")
    look = world.operation("select", [daily])
    world.execution(look, "3", ended=1_700_000_001_000)
    steered = world.operation("delete", [], [daily], steered_by=[rates])
    world.execution(steered, "4", ended=1_700_000_001_000, status="SUCCEEDED")
    world.index()
    sources = " ".join(source.id for source in world.sources.values())
    return exported(solr, f"type:OPERATION AND sourceId:({sources})")


def of_records(solr: Solr, name: str, make: Callable[[Source, Estate], Extractor]) -> list[Item]:
    """What an extractor reads of other people's records, in an index."""
    first = indexed_estate.World(solr, f"there-{name}", configured=False)
    source = first.impala
    found = read_all(make(source, Estate(first.cluster, (source,))))
    first.link(first.put(source, *_newest(each for each in found if isinstance(each, Entity | Relation))))
    return exported(solr, f"sourceId:{source.id}")


def of_impala(solr: Solr, corpora: Callable[[], Path], name: str) -> list[Item]:
    return of_records(
        solr, name, lambda source, estate: ImpalaEvents(source, estate, str(corpora() / "impala"))
    )


def of_hive(solr: Solr, corpora: Callable[[], Path], name: str) -> list[Item]:
    return of_records(
        solr, name, lambda source, estate: HiveEvents(source, estate, str(corpora() / "hive"), "*.log")
    )


WHERE = [of_a_world, *(pytest.param(each, marks=pytest.mark.services) for each in (of_impala, of_hive))]


def strangers(items: Iterable[Item]) -> Iterator[bytes]:
    """The events without what navlin alone understands: what the model itself can say."""
    for line in records(items, Options()):
        event = json.loads(line)
        places = [event[each] for each in ("run", "job", "dataset") if each in event]
        for place in (*places, *event.get("inputs", ()), *event.get("outputs", ())):
            for kind in ("facets", "inputFacets"):
                for name in [name for name in place.get(kind, {}) if name.startswith("navlin_")]:
                    del place[kind][name]
        yield json.dumps(event).encode() + b"\n"


@pytest.mark.parametrize("where", WHERE, ids=lambda each: each.__name__)
def test_there_and_back_the_lineage_is_the_same(
    where: Callable[[Solr, Callable[[], Path], str], list[Item]],
    solr: Solr,
    private_solr: Solr,
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> None:
    name = where.__name__
    there = where(solr, lambda: request.getfixturevalue("corpora"), name)
    before = Lineage(there)
    assert before.tables
    assert before.columns
    back = brought_back(records(there, Options()), private_solr, tmp_path / "events", name)
    assert (before.tables - back.tables, back.tables - before.tables) == (set(), set())
    assert (before.columns - back.columns, back.columns - before.columns) == (set(), set())
    assert back.executions == before.executions
    schemas = Schemas(request.getfixturevalue("corpora") / "openlineage" / "spec")
    for line in records(there, Options(parent=True)):
        assert schemas.problems(json.loads(line)) == []
    # What the model loses: that an input only decides, where no column says it. It is data then, to be on the safe side.
    other = brought_back(strangers(there), private_solr, tmp_path / "plain", f"{name}-plain")
    lost, gained = before.tables - other.tables, other.tables - before.tables
    assert {kind for _, _, kind, _ in lost} <= {Flow.CONTROL}
    assert gained == {(operation, table, Flow.DATA, target) for operation, table, _, target in lost}
    assert bool(lost) is True
    assert before.columns == other.columns
