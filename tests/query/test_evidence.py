"""The evidence document for an auditor: the complete upstream of an entity, the uncertain steps, and the age of the
index.
"""

from __future__ import annotations

import itertools
from html.parser import HTMLParser
from pathlib import Path

import pytest

from navlin.cli.invocation import Exit
from navlin.index.journal.rejects import save_rejects
from navlin.index.journal.run_counts import RunCounts
from navlin.index.journal.runs import RunRecord, Status, save_run
from navlin.index.solr.solr import Solr
from navlin.model.identity import run_id
from navlin.model.keys import EntityType, Key, RelationType
from navlin.model.records import Reject
from navlin.query.evidence import Evidence, UncertaintyKind, evidence
from navlin.query.lineage import UnknownEntity
from tests.cli.test_cli import configuration, json_of, run
from tests.support.query_estate import AS_OF_MS, HIVE, IMPALA, World
from tests.support.web import Web

NUMBERS = itertools.count(1)
NOW_MS = AS_OF_MS + 86_400_000


@pytest.fixture
def world(solr: Solr) -> World:
    return World(solr, f"evidence-{next(NUMBERS)}")


def ask(world: World, start: Key, **options: int) -> Evidence:
    world.index()
    return evidence(world.solr, start.identity, NOW_MS, **options)


def doubts(answer: Evidence) -> set[tuple[str, str, str]]:
    return {(doubt.kind.value, doubt.what.replace("db.", ""), doubt.why) for doubt in answer.uncertainties}


def test_every_statement_upstream_has_its_text_and_executions(world: World) -> None:
    raw, daily, report = world.table("raw", "x"), world.table("daily", "x"), world.table("report", "x")
    first = world.operation("insert daily\n select x from raw", [raw], [daily], parts={"daily.x": ["raw.x"]})
    world.operation("insert report select x from daily", [daily], [report], parts={"report.x": ["daily.x"]})
    world.operation("insert other select x from raw", [raw], [world.table("other", "x")])
    world.execution(first, "q1", started=AS_OF_MS, ended=AS_OF_MS + 1_000, principal="ann", status="FINISHED")

    for start in (report, world.column("report.x")):
        answer = ask(world, start)
        texts = {each.to_json()["text"]: each for each in answer.statements}
        assert set(texts) == {"insert daily\n select x from raw", "insert report select x from daily"}
        executed = texts["insert daily\n select x from raw"].to_json()["executions"]
        assert (executed["count"], executed["lastPrincipal"]) == (1, "ann")
        assert executed["listed"][0]["started"] == "2026-01-01T00:00:00Z"
        assert answer.uncertainties == ()


def test_a_statement_lists_its_inputs_and_outputs(world: World) -> None:
    a, b, c = (world.table(name) for name in "abc")
    world.operation("c from a and b", [a, b], [c])
    (statement,) = ask(world, c).statements
    shown = statement.to_json()
    assert (set(shown["reads"]), shown["makes"]) == ({"db.a", "db.b"}, ["db.c"])
    assert shown["label"] == "c from a and b → db.c"


def test_an_executed_statement_does_not_list_executions_as_outputs(world: World) -> None:
    a, b = world.table("a"), world.table("b")
    copy = world.operation("b from a", [a], [b])
    world.execution(copy, "q1", started=AS_OF_MS)
    (statement,) = ask(world, copy).statements
    assert ([each.name for each in statement.reads], statement.makes) == (["db.a"], ())


def test_every_uncertain_part_is_listed_with_its_reason(world: World) -> None:
    base, view = (
        world.table("base"),
        world.table("view", kind=EntityType.VIEW, queryText="select * from base"),
    )
    report = world.table("report")
    world.relate(RelationType.DATA_FLOW, base, view, writer=HIVE, parsed=True)
    lost = world.operation(
        "report from view and ghost",
        [view, world.named("ghost")],
        [report],
        incomplete=True,
    )
    world.elements[lost.identity].update({"incomplete": True, "incompleteReasons": ["its plan was cut"]})
    found = doubts(ask(world, report))

    assert ("parsed", "base → view", "navlin parsed it from an SQL text; no engine reported it") in found
    assert ("incomplete", "report from view and ghost → report", "its plan was cut") in found
    assert {(kind, what) for kind, what, _ in found if kind == "unlinked"} == {("unlinked", "ghost")}
    assert {why for kind, _, why in found if kind == "unlinked"} == {"no match"}
    assert {kind for kind, *_ in found} == {"parsed", "incomplete", "unlinked"}


def test_an_uncaptured_input_for_other_columns_is_named(world: World) -> None:
    sales, report = world.table("sales", "amount"), world.table("report", "revenue", "rate")
    world.operation(
        "report of sales and rates",
        [sales, world.named("rates")],
        [report],
        parts={"report.revenue": ["sales.amount"]},
    )
    (doubt,) = ask(world, world.column("report.revenue")).uncertainties
    assert (doubt.kind, doubt.what) == (UncertaintyKind.UNLINKED, "db.rates")
    assert doubt.why == "report of sales and rates → db.report reads it for other columns; no match"


def test_an_uncaptured_input_of_the_column_itself_is_not_said_to_be_for_others(world: World) -> None:
    report = world.table("report", "rate")
    world.operation(
        "report of rates", [world.named("rates")], [report], parts={"report.rate": ["rates.rate"]}
    )
    (doubt,) = ask(world, world.column("report.rate")).uncertainties
    assert (doubt.kind, doubt.what, doubt.why) == (UncertaintyKind.UNLINKED, "db.rates.rate", "no match")


def test_inputs_that_a_cut_leaves_out_are_not_said_to_be_for_other_columns(world: World) -> None:
    sales, report = world.table("sales"), world.table("report")
    world.operation("report of both", [sales, world.named("rates")], [report])
    kinds = {doubt.kind for doubt in ask(world, report, max_nodes=1).uncertainties}
    # No statement is known after the cut, so that the rejects of all sources count, also those of other tests.
    assert kinds - {UncertaintyKind.REJECTED} == {UncertaintyKind.TRUNCATED}


def test_a_truncated_path_is_reported(world: World) -> None:
    before = world.table("t0")
    for number in range(1, 6):
        after = world.table(f"t{number}")
        world.operation(f"step {number}", [before], [after])
        before = after
    assert {kind for kind, *_ in doubts(ask(world, before, max_nodes=3))} == {"truncated"}
    assert not doubts(ask(world, before))


def test_deleted_tables_are_included(world: World) -> None:
    a, gone, b = world.table("a"), world.table("gone", deleted=True), world.table("b")
    world.operation("gone from a", [a], [gone])
    world.operation("b from gone", [gone], [b])
    answer = ask(world, b)
    assert {node.name: node.deleted for node in answer.upstream.nodes}["db.gone"]
    assert len(answer.statements) == 2


def test_the_last_reading_of_each_source_is_listed(world: World) -> None:
    table = world.table("t")
    source = world.source(HIVE)
    for iteration, whole, status, error in (
        (1, 1, Status.FINISHED, ""),
        (2, 0, Status.FINISHED, ""),
        (3, 0, Status.FAILED, "no metastore answers"),
    ):
        counts = RunCounts(complete_listings=whole)
        started_ms = AS_OF_MS + iteration * 1_000
        save_run(
            world.solr,
            RunRecord(
                source.name,
                source.id,
                iteration,
                status,
                started_ms,
                started_ms + 1,
                error=error,
                counts=counts,
            ),
        )
    save_rejects(
        world.solr, source.name, source.id, run_id(source.id, 3), NOW_MS, [Reject("file", "torn", 7, "x")]
    )
    world.solr.commit("nav_runs", soft=True)
    (reading,) = [each for each in ask(world, table).freshness if each.source.id == source.id]
    assert (reading.read_ms, reading.whole_ms) == (AS_OF_MS + 2_000, AS_OF_MS + 1_000)
    assert (reading.status, reading.error, reading.rejects) == ("failed", "no metastore answers", 1)


def test_user_metadata_is_included(world: World) -> None:
    table = world.table("t")
    world.elements[table.identity].update({"description": "all of them", "tags": ["pii"]})
    assert ask(world, table).to_json()["people"]["fields"] == {"description": "all of them", "tags": ["pii"]}


def test_an_unknown_id_is_an_error(solr: Solr) -> None:
    with pytest.raises(UnknownEntity):
        evidence(solr, "nobody", NOW_MS)


# -- Command, API and page -----------------------------------------------------------------------------------------------

HOSTILE = "select '<script>alert(1)</script>', '\"><img src=x onerror=y>' from raw"


class Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        assert not {name for name, _ in attrs if name.startswith("on")}

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def made(world: World) -> Key:
    raw, report = world.table("raw"), world.table("report")
    operation = world.operation(HOSTILE, [raw], [report], engine=IMPALA)
    world.execution(operation, "q1", started=AS_OF_MS, principal="<b>ann</b>")
    world.elements[report.identity]["description"] = "<script>x</script>"
    world.index()
    return report


def test_the_command_prints_json_html_and_a_summary(solr: Solr, tmp_path: Path, made: Key) -> None:
    file = configuration(solr, tmp_path)
    answer = json_of(run(file, "evidence", made.identity, "--json"))
    assert [each["text"] for each in answer["statements"]] == [HOSTILE]
    page = Elements()
    printed = run(file, "evidence", made.identity, "--html")
    page.feed(printed.stdout)
    assert not {"script", "img", "a", "link"} & page.names
    for text in (HOSTILE, "<b>ann</b>", "<script>x</script>", "db.raw"):
        assert text in page.text
    shown = run(file, "evidence", made.identity)
    assert (shown.exit_code, "Statements: 1" in shown.stdout) == (Exit.OK, True)
    assert run(file, "evidence", made.identity, "--html", "--json").exit_code == Exit.USAGE
    assert run(file, "evidence", "evidence_nowhere.nothing").exit_code == Exit.NOTHING


@pytest.mark.services
def test_the_endpoint_and_the_command_agree(web: Web, made: Key) -> None:
    answered, printed = web.asked("/evidence", entity=made.identity), web.command("evidence", made.identity)
    assert answered.pop("made")
    assert printed.pop("made")
    assert answered == printed
    assert web.get("/api/navlin/v1/evidence", entity=made.identity, max_nodes="0").status_code == 400
