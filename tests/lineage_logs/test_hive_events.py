"""Hive's lineage records in every format found in its logs, through `plan` and `read`."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from extractors.hive_events import HiveEvents
from extractors.lineage.planned_files import QUIET_MS
from navlin.model.gaps import READS_UNNAMED, SEARCHED_CHARS
from navlin.model.keys import EntityType, RelationType, application_key, column_key, table_key
from navlin.model.plan import Positions
from navlin.model.records import Position
from navlin.model.source import HIVE, YARN, Estate, Source, source_id
from tests.support.record_edges import Read, read_all
from tests.support.stored import stored

Json = dict[str, Any]

HIVESERVER2_1 = Source(source_id("c", "HIVESERVER2-1"), HIVE, "HIVESERVER2-1", "c", claimable=False)
HIVE_1 = Source(source_id("c", "HIVE-1"), HIVE, "HIVE-1", "c", ("thrift://hms:9083",))
YARN_1 = Source(source_id("c", "YARN-1"), YARN, "YARN-1", "c", ("http://rm:8088",))
ESTATE = Estate("c", (HIVESERVER2_1, HIVE_1, YARN_1))

STARTED, TOOK_MS = 1_700_000_000, 42_500
TEXT = "insert into table totals select region, sum(amount) from orders where year = 2026 group by region"
COLUMNS = {
    "PROJECTION sales.orders.region -> sales.totals.region",
    "PROJECTION sales.orders.amount -> sales.totals.total",
    "PREDICATE sales.orders.year -> sales.totals.region, sales.totals.total",
}


def vertex(number: int, name: str, kind: str = "COLUMN") -> Json:
    return {"id": number, "vertexType": kind, "vertexId": name}


def record(**changes: Any) -> Json:
    made: Json = {
        "version": "1.0",
        "user": "ana",
        "timestamp": STARTED,
        "duration": TOOK_MS,
        "jobIds": ["job_1700000000000_0007"],
        "engine": "mr",
        "database": "sales",
        "hash": "0123456789abcdef0123456789abcdef",
        "queryText": TEXT,
        "edges": [
            {"sources": [2], "targets": [0], "edgeType": "PROJECTION"},
            {"sources": [3], "targets": [1], "expression": "sum(orders.amount)", "edgeType": "PROJECTION"},
            {
                "sources": [4],
                "targets": [0, 1],
                "expression": "(orders.year = 2026)",
                "edgeType": "PREDICATE",
            },
        ],
        "vertices": [
            vertex(0, "sales.totals.region"),
            vertex(1, "sales.totals.total"),
            vertex(2, "sales.orders.region"),
            vertex(3, "sales.orders.amount"),
            vertex(4, "sales.orders.year"),
        ],
    }
    made.update(changes)
    return {name: value for name, value in made.items() if value is not None}


def extractor(directory: Path, **settings: Any) -> HiveEvents:
    return HiveEvents(HIVESERVER2_1, ESTATE, str(directory), **settings)


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Read]:
    def read_log(*lines: Json | str, **settings: Any) -> Read:
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        (tmp_path / "hive-lineage.log").write_text("".join(text + "\n" for text in texts))
        return Read(read_all(extractor(tmp_path, **settings)))

    return read_log


# -- The result of each record -----------------------------------------------------------------------------------------


def test_a_statement_becomes_an_operation_with_sub_operations_and_an_execution(
    read: Callable[..., Read],
) -> None:
    got = read(record())
    assert got.columns == COLUMNS
    assert got.operation.attributes["operationType"] == "INSERT"
    assert got.operation.attributes["internalType"] == "hv_query"
    assert {r.ep1.identity for r in got.relations} >= {
        column_key(table_key(HIVE_1, "SALES", "Orders"), "AMOUNT").identity
    }
    payload = got.execution.attributes
    assert (payload["started"], payload["ended"]) == (STARTED * 1000, STARTED * 1000 + TOOK_MS)
    assert (payload["principal"], payload["computeEngine"], payload["status"]) == ("ana", "mr", "SUCCEEDED")


def test_an_execution_is_linked_to_its_yarn_applications(read: Callable[..., Read]) -> None:
    got = read(record(jobIds=["job_1700000000000_0007", "job_1700000000000_0008", "no job"]))
    ran_as = {
        (r.ep1.identity, r.ep2.identity) for r in got.relations if r.type is RelationType.LOGICAL_PHYSICAL
    }
    assert ran_as == {
        (got.execution.key.identity, application_key(YARN_1, f"application_1700000000000_000{n}").identity)
        for n in (7, 8)
    }


def test_a_sub_operation_is_an_identity_or_a_transformation(read: Callable[..., Read]) -> None:
    parts = {part.key.name: part.attributes for part in read(record()).of(EntityType.SUB_OPERATION)}
    assert parts["sales.totals.region"]["transformation"] == "IDENTITY"
    assert parts["sales.totals.total"]["transformation"] == "TRANSFORMATION"
    assert parts["sales.totals.total"]["expression"] == "sum(orders.amount)"
    assert parts["sales.totals.region, sales.totals.total"]["transformation"] == ""


def test_hives_own_statistics_are_not_lineage(read: Callable[..., Read]) -> None:
    wrong = {"sources": [3], "targets": [0], "edgeType": "PROJECTION"}
    edges = [*record()["edges"], {**wrong, "expression": "compute_stats(sales.orders.amount, 'hll')"}]
    assert read(record(edges=edges)).columns == COLUMNS


def test_a_counted_table_is_a_source_as_a_whole(read: Callable[..., Read]) -> None:
    edges = [{"sources": [9], "targets": [1], "expression": "count(*)", "edgeType": "PROJECTION"}]
    vertices = [vertex(1, "sales.totals.total"), vertex(9, "sales.orders", "TABLE")]
    got = read(record(edges=edges, vertices=vertices))
    assert got.columns == {"PROJECTION sales.orders -> sales.totals.total"}
    assert got.tables == {"DATA_FLOW sales.orders -> operation", "DATA_FLOW operation -> sales.totals"}


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("select 5 from orders", True),
        ("select COUNT(*) from sales . `orders`", True),
        ("insert into totals select count(*) from orders", True),
        ("from (select count(1) c from orders) x select c", True),
        ("with c as (select count(*) n from orders) select n from c", True),
        ("select trim(both from 'x'), 1 from orders", True),
        ("select count(*) from 2020_sales", True),
        ("with sales as (select * from sales) select count(*) from sales", True),
        ("with sales as (select 1) select count(*) from sales.orders", True),
        ("with p as (select '2026' d) select count(*) from p cross join orders", True),
        ("with p as (select '2026' d) select count(*) from p, orders", True),
        ("select count(*) from (select 1 x) q join orders", True),
        ("select count(*) from (orders)", True),
        ("create table orc.x stored as orc as (select count(*) from orc.y)", True),
        ("merge into totals using orders on 1 = 1 when matched then delete", True),
        ("select 1", False),
        ("insert into totals values (1, 2)", False),
        ("with c as (select 1 x) select x from c", False),
        ("with `c` as (select 1 x) select x from `c`", False),
        ("with t(a) as (select 1) select count(*) from t", False),
        ("select count(*) from table(values(1, 2)) as t(a)", False),
        ("select extract(year from now())", False),
        ("select 1 is distinct from two", False),
        ("delete from totals where region = 1", False),
        ("select 'x from orders' -- from orders", False),
        ("select * from (values (1)) as v(x)", False),
        ("drop table orders", False),
    ],
)
def test_a_statement_reading_a_table_without_columns_is_incomplete(
    read: Callable[..., Read], text: str, reads: bool
) -> None:
    edges = [{"sources": [], "targets": [0], "expression": "5", "edgeType": "PROJECTION"}]
    got = read(record(queryText=text, edges=edges, vertices=[vertex(0, "sales.totals.region")]))
    assert got.operation.attributes.get("incomplete", False) is reads
    assert got.operation.attributes.get("incompleteReasons", []) == ([READS_UNNAMED] if reads else [])


def test_a_statement_too_long_to_be_searched_is_incomplete(
    read: Callable[..., Read],
) -> None:
    text = " ".join(["select 1", *[", 1"] * (SEARCHED_CHARS // 3), "from orders"])
    got = read(record(queryText=text, edges=[], vertices=[]))
    assert got.operation.attributes["incomplete"] is True
    assert got.operation.attributes["incompleteReasons"] == [
        "its record does not name the tables that it reads"
    ]


VIEW_OF = "create view if not exists sales.v (a comment 'x, y)', `b`) as select {} from orders"


@pytest.mark.parametrize(
    ("text", "targets", "expected"),
    [
        pytest.param(
            VIEW_OF.format("region, amount"),
            ("region", "amount"),
            {
                "PROJECTION sales.orders.region -> sales.v.a",
                "PROJECTION sales.orders.amount -> sales.v.b",
                "PREDICATE sales.orders.year -> sales.v.a, sales.v.b",
            },
            id="as Hive calls them",
        ),
        pytest.param(
            VIEW_OF.format("region b, amount a"),
            ("b", "a"),
            {
                "PROJECTION sales.orders.region -> sales.v.a",
                "PROJECTION sales.orders.amount -> sales.v.b",
                "PREDICATE sales.orders.year -> sales.v.a, sales.v.b",
            },
            id="the other way round",
        ),
        pytest.param(
            VIEW_OF.format("region, amount").replace("`b`", "`b`, c"),
            ("region", "amount"),
            {
                "PROJECTION sales.orders.region -> sales.v",
                "PROJECTION sales.orders.amount -> sales.v",
                "PREDICATE sales.orders.year -> sales.v",
            },
            id="two of three",
        ),
    ],
)
def test_a_views_explicit_column_names_are_used(
    read: Callable[..., Read], text: str, targets: tuple[str, str], expected: set[str]
) -> None:
    vertices = [vertex(place, f"sales.v.{name}") for place, name in enumerate(targets)]
    got = read(record(queryText=text, vertices=[*vertices, *record()["vertices"][2:]]))
    assert got.columns == expected
    only_the_view = "PREDICATE sales.orders.year -> sales.v" in expected
    assert got.operation.attributes.get("incomplete", False) is only_the_view


def of_view(text: str, *edges: str) -> Json:
    """A record of a view with edges such as ``c -> x, z``; the edge of a predicate starts with ``?``."""
    ends = [tuple(side.removeprefix("?").split(", ") for side in edge.split(" -> ")) for edge in edges]
    names = [[f"sales.t.{name}" for name in sources if name] for sources, _ in ends]
    targets = [[f"sales.v.{name}" for name in written] for _, written in ends]
    vertices = list(dict.fromkeys(name for each in targets + names for name in each))
    return record(
        queryText=text,
        edges=[
            {
                "sources": [vertices.index(name) for name in read],
                "targets": [vertices.index(name) for name in written],
                "edgeType": "PREDICATE" if edge.startswith("?") else "PROJECTION",
            }
            for edge, read, written in zip(edges, names, targets, strict=True)
        ],
        vertices=[vertex(*each) for each in enumerate(vertices)],
    )


@pytest.mark.parametrize(
    ("text", "edges", "expected"),
    [
        pytest.param("(a1, a2) as select c, c from t", ["c -> a1, a2"], ["c -> a1, a2"], id="Hive 4"),
        pytest.param("(a1, a2) as select c, c from t", ["c -> c"], ["c -> a1, a2"], id="one name"),
        pytest.param(
            "(a1, a2) as select c x, c y from t", ["c -> x, y"], ["c -> a1, a2"], id="the query's names"
        ),
        pytest.param(
            "(a1, a2, a3) as select c, d, c from t",
            ["c -> a1, a3", "d -> a2"],
            ["c -> a1, a3", "d -> a2"],
            id="Hive 4, the list has the order",
        ),
        pytest.param(
            "(a1, a2, a3) as select x, y, z from (select c x, d y, c z from t where e = 1) q",
            ["c -> x, z", "d -> y", "?e -> x, y, z"],
            ["c -> a1, a3", "d -> a2", "?e -> a1, a2, a3"],
            id="a predicate has the order",
        ),
        pytest.param(
            "(a1, a2, a3) as select t.c x, d `Y`, t.c z from t",
            ["c -> x, z", "d -> y"],
            ["c -> a1, a3", "d -> a2"],
            id="the query has the order",
        ),
        pytest.param(
            "(a1, a2, a3) as select d y, c x, c z from t",
            ["d -> y", "c -> x, z"],
            ["d -> a1", "c -> a2, a3"],
            id="only the last is several",
        ),
        pytest.param(
            "(b, a) as select a, b from t", ["a -> a", "b -> b"], ["a -> b", "b -> a"], id="swapped"
        ),
        pytest.param(
            "(a1, c) as select c, d from t",
            ["c -> c", "d -> c"],
            ["c -> a1", "d -> c"],
            id="Hive 4 mixes up a name that is both",
        ),
        pytest.param(
            "(a1, a2, a3) as select * from u",
            ["c -> x, z", "d -> y", "?e -> z, y, x"],
            ["c -> ", "d -> ", "?e -> "],
            id="an order that contradicts the projections",
        ),
        pytest.param(
            "(a1, a2, a3) as select * from u",
            ["d -> y", "c -> x, z", "e -> w"],
            ["d -> ", "c -> ", "e -> "],
            id="more targets than columns",
        ),
        pytest.param(
            "(a1, a2, a3) as select * from u",
            ["c -> x, z", "d -> y"],
            ["c -> ", "d -> "],
            id="nothing has the order",
        ),
        pytest.param(
            "(x, y, z) as select c z, d x, c y from t",
            ["c -> z, y", "d -> x"],
            ["c -> ", "d -> "],
            id="each name is there twice",
        ),
    ],
)
def test_each_projection_of_a_view_maps_to_columns_by_position(
    read: Callable[..., Read], text: str, edges: list[str], expected: list[str]
) -> None:
    def shown(edge: str) -> str:
        kind = "PREDICATE" if edge.startswith("?") else "PROJECTION"
        source, _, targets = edge.removeprefix("?").partition(" -> ")
        named = [f"sales.v.{name}" if name else "sales.v" for name in targets.split(", ")]
        return f"{kind} sales.t.{source} -> {', '.join(named)}"

    got = read(of_view(f"create view sales.v {text}", *edges))
    assert got.columns == set(map(shown, expected))
    only_the_view = any(edge.endswith("-> ") for edge in expected)
    reason = "its record does not tell which column of the view is which of the query"
    assert got.operation.attributes.get("incompleteReasons", []) == ([reason] if only_the_view else [])


def test_a_single_projection_of_a_broken_record_is_not_the_whole_view(read: Callable[..., Read]) -> None:
    made = of_view("create view sales.v (a1, a2) as select c, d from t", "c -> c", "d -> d")
    made["edges"][1]["edgeType"] = "?"
    assert read(made).columns == {"PROJECTION sales.t.c -> sales.v"}


@pytest.mark.parametrize("label", ["t.a - t.b", "a.b = c.d", "1.5 / 2.x", "d. .c", "t.a > 1.b"])
def test_an_expression_label_is_not_a_table(read: Callable[..., Read], label: str) -> None:
    got = read(record(vertices=[*record()["vertices"][:2], vertex(2, label), *record()["vertices"][3:]]))
    assert got.tables == {"DATA_FLOW sales.orders -> operation", "DATA_FLOW operation -> sales.totals"}
    assert got.operation.attributes["incompleteReasons"] == [
        "its record names a source that is not a column of a table"
    ]


@pytest.mark.parametrize("name", ["c/b/o_t1", "my table", "s-t", "täglich"])
def test_a_table_name_may_contain_almost_any_character(read: Callable[..., Read], name: str) -> None:
    vertices = [vertex(0, f"sales.{name}.region"), *record()["vertices"][1:]]
    got = read(record(vertices=vertices))
    assert f"DATA_FLOW operation -> sales.{name}" in got.tables
    assert "incomplete" not in got.operation.attributes


@pytest.mark.parametrize("edge", [{"sources": None}, {}])
def test_an_edge_without_a_list_of_sources_is_incomplete(read: Callable[..., Read], edge: Json) -> None:
    got = read(record(edges=[{**edge, "targets": [0], "edgeType": "PROJECTION"}]))
    assert "a part of its record could not be read" in got.operation.attributes["incompleteReasons"]


def test_vertex_ids_may_be_numbers_or_numeric_texts(read: Callable[..., Read]) -> None:
    vertices = [{**each, "id": str(each["id"])} for each in record()["vertices"]]
    assert read(record(vertices=vertices)).columns == COLUMNS
    got = read(record(vertices=[*record()["vertices"], {**vertex(9, "sales.orders.odd"), "id": True}]))
    assert got.columns == COLUMNS
    assert [reject.reason for reject in got.rejects] == [
        "a part of the record is broken: a vertex has no id or no vertexId"
    ]


@pytest.mark.parametrize("word", ["map", "reduce"])
def test_targets_of_a_script_query_are_labels(read: Callable[..., Read], word: str) -> None:
    got = read(record(queryText=f"{word} a, b using 'script.py' as (x, y) from orders"))
    assert not [each for each in got.tables if each.startswith("DATA_FLOW operation")]


def test_targets_of_a_query_without_output_are_labels(read: Callable[..., Read]) -> None:
    select = record(
        queryText="select o.region, amount as a.b.c from orders o",
        edges=[{"sources": [2], "targets": [0, 5], "edgeType": "PROJECTION"}],
        vertices=[vertex(0, "o.region"), vertex(5, "a.b.c"), vertex(2, "sales.orders.region")],
    )
    got = read(select)
    assert got.tables == {"DATA_FLOW sales.orders -> operation"}
    assert got.operation.ages


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (
            "from (select a from x) y insert overwrite table t select a insert into u select b",
            "INSERT_OVERWRITE",
        ),
        ("from x select a", "SELECT"),
        ("FROM x MAP a USING 'cat' AS b", "SELECT"),
        ("create materialized view v as select 1 from x", "CREATEVIEW"),
        ("create table t stored as orc as select 1 from x", "CREATETABLE_AS_SELECT"),
    ],
)
def test_hives_statement_forms_are_recognized(read: Callable[..., Read], text: str, kind: str) -> None:
    assert read(record(queryText=text)).operation.attributes["operationType"] == kind


def test_a_temporary_source_table_leaves_the_sub_operation_without_input(read: Callable[..., Read]) -> None:
    edges = [{"sources": [], "targets": [1], "edgeType": "PROJECTION"}]
    assert read(record(edges=edges)).columns == {"PROJECTION  -> sales.totals.total"}


def test_runs_are_distinguished_by_text_time_user_and_duration(read: Callable[..., Read]) -> None:
    def runs(*records: Json) -> int:
        return len({entity.key.identity for entity in read(*records).of(EntityType.OPERATION_EXECUTION)})

    assert runs(record(), record()) == 1
    assert runs(record(), record(duration=TOOK_MS + 1)) == 2
    assert runs(record(), record(timestamp=STARTED + 1)) == 2
    assert runs(record(), record(user="ben")) == 2


def test_keys_missing_in_first_releases_are_optional(read: Callable[..., Read]) -> None:
    bare = record(version=None, user=None, timestamp=None, duration=None, jobIds=None, database=None)
    got = read(bare)
    assert got.columns == COLUMNS
    assert got.rejects == []
    assert got.execution.attributes["started"] is None


def test_a_secret_in_an_expression_is_masked(read: Callable[..., Read]) -> None:
    edges = [
        {
            "sources": [3],
            "targets": [1],
            "expression": "decode(orders.amount, password = 'hunter2')",
            "edgeType": "PROJECTION",
        }
    ]
    got = read(record(edges=edges))
    assert got.of(EntityType.SUB_OPERATION)
    assert "hunter2" not in stored(got.records)


# -- Records in logs ---------------------------------------------------------------------------------------------------

AT, THREAD = "2023-11-14 22:13:25,123 INFO ", "[HiveServer2-Background-Pool: Thread-99]: "
LAYOUTS = {
    "Hive 1": f"{AT} {THREAD}hooks.LineageLogger (LineageLogger.java:run(226)) - ",
    "HDP 3": f"{AT} {THREAD}hooks.LineageLogger (:()) - ",
    "CDH": f"{AT} org.apache.hadoop.hive.ql.hooks.LineageLogger: {THREAD}",
    "RFC 5424": '<14>1 2023-11-14T22:13:25Z h hs2 1 a [mdc@18060 class="hooks.LineageLogger" thread="T"] ',
}
"""Maps each vendor's log layout to the text that precedes a record."""


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_records_are_found_in_every_layout_of_a_log(
    read: Callable[..., Read], layout: str, indent: int | None
) -> None:
    other = layout.replace("LineageLogger", "Driver") + "Compiling command: select {a}"
    got = read(other, layout + json.dumps(record(), indent=indent), other)
    assert got.rejects == []
    assert got.columns == COLUMNS


def as_hive_writes(record: Json) -> str:
    return json.dumps(record, separators=(",", ":"))


def as_json(record: Json, indent: int | None = None) -> str:
    event = {"loggerName": "hooks.LineageLogger", "message": as_hive_writes(record), "thread": "main"}
    return json.dumps(event, indent=indent)


@pytest.mark.parametrize(
    "line",
    [
        AT + "[main] ql.Driver: Executing command(queryId=q): show tables -- {}",
        AT + "[main] ql.Driver: Compiling command(queryId=q): values ('{}')",
        '{{"loggerName": "ql.Driver", "message": "{}"}}',
    ],
)
def test_a_record_inside_another_loggers_text_is_ignored(read: Callable[..., Read], line: str) -> None:
    text = as_hive_writes(record(user="ceo"))
    inner = text if line.startswith(AT) else json.dumps(text)[1:-1]
    assert read(line.format(inner), record()).execution.attributes["principal"] == "ana"


def test_a_line_repeating_the_loggers_name_is_read_in_linear_time(read: Callable[..., Read]) -> None:
    began = time.process_time()
    assert len(read("LineageLogger" * 8_000, record()).covers) == 1
    assert time.process_time() - began < 2


def test_a_log4j_json_event_with_a_misplaced_record_is_rejected(read: Callable[..., Read]) -> None:
    got = read(as_json(record()).replace("message", "text"), record())
    assert len(got.covers) == 1
    assert [reject.reason for reject in got.rejects] == ["JSON of a log event, but without a message"]


PREFIX = "2026-11-21T10:00:00,123 INFO  [HiveServer2-Background-Pool: Thread-211] hooks.LineageLogger: "


@pytest.mark.parametrize(
    "form",
    [
        pytest.param(lambda r: json.dumps(r), id="alone on a line"),
        pytest.param(lambda r: PREFIX + json.dumps(r), id="behind a log line's prefix"),
        pytest.param(lambda r: json.dumps(r, indent=2), id="indented"),
        pytest.param(lambda r: PREFIX + json.dumps(r, indent=1), id="indented behind a prefix"),
        pytest.param(lambda r: "POSTHOOK: LINEAGE: " + json.dumps(r), id="on a test console"),
        pytest.param(lambda r: json.dumps(r).replace(TEXT, TEXT + ' {\\" {'), id="with braces in a text"),
        pytest.param(lambda r: json.dumps(r) + "\r", id="with a carriage return"),
        pytest.param(lambda r: AT + as_hive_writes(r), id="without the logger's name"),
        pytest.param(
            lambda r: PREFIX.replace("Logger", "Logger {x=1}") + as_hive_writes(r), id="behind other braces"
        ),
        pytest.param(lambda r: as_json(r), id="in an event of log4j's"),
        pytest.param(lambda r: ", " + as_json(r), id="in a later event of a list of log4j's"),
        pytest.param(lambda r: as_json(r, indent=2), id="in an indented event of log4j's"),
    ],
)
def test_records_are_found_anywhere_in_a_line(read: Callable[..., Read], form: Callable[[Json], str]) -> None:
    other = "2026-11-21T10:00:01,000 INFO  [main] exec.Task: Number of reduce tasks: {not json}"
    got = read(
        other, form(record()), other, form(record(user="ben")), '{"level": "INFO", "message": "{"}', other
    )
    assert len(got.covers) == 2
    assert got.columns == COLUMNS
    assert got.rejects == []


@pytest.mark.parametrize("indent", [None, 1])
def test_a_truncated_record_is_rejected_and_the_next_are_read(
    read: Callable[..., Read], indent: int | None
) -> None:
    text = json.dumps(record(user="cut"), indent=indent)
    got = read(text[: len(text) // 2], json.dumps(record(), indent=indent), "INFO something else")
    assert [reject.reason for reject in got.rejects] == ["the record has no end"]
    assert len(got.covers) == 1


def test_prefixed_records_after_a_truncated_one_on_its_line_are_read(
    read: Callable[..., Read],
) -> None:
    first, second = (json.dumps(record(user=each), separators=(",", ":")) for each in ("ann", "ben"))
    got = read(PREFIX + first[:200] + PREFIX + first + PREFIX + second)
    assert len(got.rejects) == 1
    assert len(got.covers) == 2


def test_a_record_after_a_truncated_one_on_its_line_is_read(read: Callable[..., Read]) -> None:
    got = read(json.dumps(record(user="cut"))[:200] + json.dumps(record()))
    assert len(got.rejects) == 1
    assert got.columns == COLUMNS


def test_a_record_without_its_beginning_is_rejected(read: Callable[..., Read]) -> None:
    got = read(json.dumps(record())[300:], record())
    assert [reject.reason for reject in got.rejects] == ["a record without its beginning"]
    assert len(got.covers) == 1


def test_a_record_over_the_limit_is_rejected(read: Callable[..., Read]) -> None:
    long = json.dumps(record(queryText=TEXT + " " * 200_000), indent=1)
    got = read(long, record(), max_line_bytes=100_000)
    assert len(got.covers) == 1
    assert got.rejects


@pytest.mark.parametrize("broken", ["edges", "vertices"])
def test_a_broken_part_is_rejected_and_the_rest_is_kept(read: Callable[..., Read], broken: str) -> None:
    made = record()
    made[broken] = [*made[broken], 7]
    got = read(made)
    assert got.columns == COLUMNS
    assert len(got.rejects) == 1
    assert got.covers == []


# -- Following a log ---------------------------------------------------------------------------------------------------


def test_a_partly_written_record_is_read_once_complete(tmp_path: Path) -> None:
    log = tmp_path / "hive-lineage.log"
    text = json.dumps(record(), indent=1) + "\n"
    hive = extractor(tmp_path)
    saved: dict[str, Any] = {}
    lines: list[int] = []
    # The lines of the record arrive one at a time.
    for cut in [at + 1 for at, char in enumerate(text) if char == "\n"]:
        log.write_text(json.dumps(record(user="before")) + "\n" + text[:cut])
        got = read_all(hive, hive.plan(Positions(saved, now_ms=0)))
        saved.update({each.key: each.value for each in got if isinstance(each, Position)})
        lines.append(len(Read(got).covers))
    assert lines == [1, *[0] * (len(lines) - 2), 1]


def test_a_record_never_completed_is_rejected_once(tmp_path: Path) -> None:
    log = tmp_path / "hive-lineage.log"
    log.write_text(json.dumps(record(), indent=1)[:-20] + "\n")
    hive = extractor(tmp_path)
    settled_ms = int(log.stat().st_mtime * 1000) + QUIET_MS + 60_000
    saved: dict[str, Any] = {}
    counts = []
    for now_ms in (0, settled_ms, settled_ms + 60_000):
        got = read_all(hive, hive.plan(Positions(saved, now_ms=now_ms)))
        saved.update({each.key: each.value for each in got if isinstance(each, Position)})
        counts.append(len(Read(got).rejects))
    assert counts == [0, 1, 0]


def test_check_names_the_files_to_follow(tmp_path: Path) -> None:
    (tmp_path / "hive-lineage.log.1700000000000").write_text(json.dumps(record()) + "\n")
    assert list(extractor(tmp_path).check()) == [
        f"1 file, the newest {tmp_path / 'hive-lineage.log.1700000000000'}"
    ]
