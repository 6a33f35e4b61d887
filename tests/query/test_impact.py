"""Impact of dropping or changing an entity: everything derived from it and the operations involved, grouped by owner."""

from __future__ import annotations

import csv
import io
import itertools
import time
from pathlib import Path

import pytest
from rich.console import Console

from navlin.cli.invocation import Exit
from navlin.index.solr.solr import Solr
from navlin.model.keys import EntityType, Key, RelationType, partition_key
from navlin.query.evidence import evidence
from navlin.query.impact import COLUMNS, Affected, Impact, impact
from navlin.query.lineage import UnknownEntity
from navlin.render.impact import impact_view, total_words
from tests.cli.test_cli import configuration, json_of, run
from tests.support.query_estate import AS_OF_MS, HIVE, IMPALA, World
from tests.support.web import Web

NUMBERS = itertools.count(1)
DAY_MS = 86_400_000


@pytest.fixture
def world(solr: Solr) -> World:
    return World(solr, f"impact-{next(NUMBERS)}")


def ask(world: World, start: Key, **options: int) -> Impact:
    world.index()
    return impact(world.solr, start.identity, **options)


def shown(answer: Impact) -> str:
    """The view as printed on a wide terminal."""
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(impact_view(answer))
    return console.export_text()


def one(answer: Impact, name: str) -> Affected:
    (found,) = [each for each in answer.affected if each.node.name in (name, f"db.{name}")]
    return found


def by_name(answer: Impact) -> dict[str, str]:
    """Name of each affected entity → "data" if it contains data of the start, "decision" if the start only controls it."""
    return {
        each.node.name.removeprefix("db."): "data" if each.carries else "decision" for each in answer.affected
    }


def test_impact_of_a_table_is_exactly_the_data_derived_from_it(world: World) -> None:
    orders, other = world.table("orders", "id", "amount"), world.table("other", "id")
    daily, report = world.table("daily", "total", "kind"), world.table("report", "total")
    world.operation(
        "daily from orders",
        [orders, other],
        [daily],
        parts={"daily.total": ["orders.amount"], "daily.kind": ["other.id"]},
    )
    world.operation("report from daily", [daily], [report], parts={"report.total": ["daily.total"]})
    world.operation("report of others", [other], [report])

    assert by_name(ask(world, orders)) == {
        "daily": "data",
        "daily.total": "data",
        "daily from orders": "data",
        "report": "data",
        "report.total": "data",
        "report from daily": "data",
    }
    assert by_name(ask(world, report)) == {}


def test_impact_of_a_column_distinguishes_data_from_conditions(world: World) -> None:
    orders = world.table("orders", "id", "amount", "state")
    daily = world.table("daily", "total")
    world.operation(
        "daily from orders",
        [orders],
        [daily],
        parts={"daily.total": ["orders.amount"]},
        steering_columns=["orders.state"],
    )
    amount, state = (ask(world, world.column(f"orders.{name}")) for name in ("amount", "state"))

    assert by_name(amount) == {"daily": "data", "daily.total": "data", "daily from orders": "data"}
    assert by_name(state) == {"daily": "decision", "daily.total": "decision", "daily from orders": "decision"}
    assert by_name(ask(world, world.column("orders.id"))) == {}


def test_an_entity_with_both_data_and_control_flow_counts_as_data(world: World) -> None:
    a, b, c = world.table("a", "x"), world.table("b", "x"), world.table("c", "x")
    world.operation("b from a", [a], [b], steered_by=[a])
    world.operation("c where b", [], [c], steered_by=[b])

    assert by_name(ask(world, a)) == {
        "b": "data",
        "b from a": "data",
        "c": "decision",
        "c where b": "decision",
    }


def test_impact_of_a_partition_is_that_of_its_table(world: World) -> None:
    t, u = world.table("t", "x", partitionColNames=["ds"]), world.table("u", "x")
    partition = world.entity(partition_key(t, "ds=1"))
    world.operation("u from t", [t], [u], parts={"u.x": ["t.x"]})

    assert by_name(ask(world, partition)) == {"u": "data", "u.x": "data", "u from t": "data"}


def test_operations_that_only_read_are_affected(world: World) -> None:
    orders = world.table("orders")
    dashboard = world.operation("select count(*) from orders", [orders])
    world.execution(dashboard, "q1", started=AS_OF_MS, principal="ann")

    answer = ask(world, orders)
    assert by_name(answer) == {"select count(*) from orders": "data"}
    assert list(answer.owners) == ["ann"]


def test_each_affected_entity_has_owner_last_execution_and_frequency(world: World) -> None:
    orders, daily = world.table("orders", owner="sales"), world.table("daily", "x", owner="finance")
    job = world.operation("daily from orders", [orders], [daily])
    for day, who in enumerate(("ann", "bob", "carl")):
        run_at = world.execution(job, f"run {day}", started=AS_OF_MS + day * DAY_MS, principal=who)
        for document in (*world.elements.values(), *world.relations.values()):
            if run_at.identity in (document["identity"], *document.get("endpoint2Ids", ())):
                document["asOf"] = AS_OF_MS + day * DAY_MS

    answer = ask(world, orders)
    assert {owner: [each.node.name for each in owned] for owner, owned in answer.owners.items()} == {
        "carl": ["daily from orders"],
        "finance": ["db.daily"],
    }
    for name in ("daily", "daily from orders"):
        known = one(answer, name).executions
        assert (known.count, known.first_ms, known.last_ms) == (3, AS_OF_MS, AS_OF_MS + 2 * DAY_MS)
        assert known.principal == "carl"


def test_purged_executions_count_and_give_no_period(world: World) -> None:
    a, b = world.table("a"), world.table("b")
    job = world.operation("b from a", [a], [b])
    world.elements[job.identity].update(
        {"lastExecuted": "2025-11-01T00:00:00Z", "lastPrincipal": "bob", "purgedExecutions": 7}
    )
    shown = one(ask(world, a), "b from a").to_json()
    assert (shown["executions"], shown["lastExecution"]) == (7, "2025-11-01T00:00:00.000Z")
    assert (shown["lastPrincipal"], shown["executionsSince"]) == ("bob", None)
    world.execution(job, "later", started=AS_OF_MS, principal="ann")
    shown = one(ask(world, a), "b from a").to_json()
    assert (shown["executions"], shown["lastPrincipal"], shown["executionsSince"]) == (8, "ann", None)


def test_impact_of_a_path_includes_the_table_located_there(world: World) -> None:
    table, path, made = world.table("t"), world.path("/data/t"), world.table("made")
    world.located(table, path)
    world.operation("made from t", [table], [made])

    assert by_name(ask(world, path)) == {"t": "data", "made": "data", "made from t": "data"}


def test_inferred_parsed_or_incomplete_flows_are_marked(world: World) -> None:
    base, view, after = (
        world.table("base", "x"),
        world.table("view", "x", kind=EntityType.VIEW),
        world.table("after"),
    )
    world.relate(RelationType.DATA_FLOW, base, view, writer=HIVE, parsed=True)
    world.operation("after from view", [view], [after], incomplete=True)

    answer = ask(world, base)
    assert one(answer, "view").parsed
    assert (one(answer, "after").parsed, one(answer, "after").incomplete) == (True, True)
    assert not one(answer, "view").incomplete


def test_a_certain_flow_next_to_a_parsed_one_is_certain(world: World) -> None:
    base, view = world.table("base"), world.table("view")
    world.relate(RelationType.DATA_FLOW, base, view, writer=HIVE, parsed=True)
    world.operation("view from base", [base], [view], engine=IMPALA)

    assert not one(ask(world, base), "view").parsed


def test_truncation_is_reported_with_its_reason(world: World) -> None:
    start = world.table("start")
    for number in range(5):
        world.operation(f"copy {number}", [start], [world.table(f"copy_{number}")])
    answer = ask(world, start, max_nodes=4)
    assert {cut.reason.value for cut in answer.truncated_at} == {"nodes"}
    assert answer.to_json()["truncated"] is True
    assert not ask(world, start).truncated_at


def ring(world: World, count: int) -> list[Key]:
    """Tables of which each is made from the one before, and the first from the last."""
    tables = [world.table(f"ring{number:04}") for number in range(count)]
    for number, table in enumerate(tables):
        world.operation(f"insert {number}", [table], [tables[(number + 1) % count]])
    return tables


def test_a_walk_that_reaches_its_time_limit_says_so_and_does_not_claim_to_be_complete(world: World) -> None:
    first, *_ = ring(world, 4)
    stopped = ask(world, first, max_s=0)
    assert [(cut.name, cut.reason.value) for cut in stopped.truncated_at] == [("db.ring0000", "time")]
    assert stopped.to_json()["truncated"] is True
    printed = shown(stopped)
    assert "time limit reached, so anything further is not counted. --max-seconds waits longer." in printed
    assert "no known downstream" not in printed
    whole = ask(world, first, max_s=3_600)
    assert by_name(whole) == {
        **dict.fromkeys(("ring0001", "ring0002", "ring0003"), "data"),
        **{f"insert {number}": "data" for number in range(4)},
    }
    assert not whole.truncated_at


@pytest.mark.services
def test_a_ring_of_3000_tables_is_counted_exactly_or_as_at_least_so_many(world: World) -> None:
    first, *_ = ring(world, 3_000)
    world.index()
    began_s = time.monotonic()
    cut = impact(world.solr, first.identity, max_s=2)
    assert time.monotonic() - began_s < 60
    if cut.truncated_at:
        assert {each.reason.value for each in cut.truncated_at} == {"time"}
        assert total_words(cut).startswith("at least ")
        # Each question continues from the parts that earlier ones remembered.
        again = impact(world.solr, first.identity, max_s=2)
        assert len(again.affected) > len(cut.affected)
    whole = impact(world.solr, first.identity, max_s=3_600)
    assert whole.total == {"TABLE": 2_999, "OPERATION": 3_000}
    assert not whole.truncated_at
    document = evidence(world.solr, first.identity, AS_OF_MS, max_nodes=6_000, max_s=3_600)
    assert len(document.statements) == 3_000
    assert len(document.flows.edges) == 3_000
    stopped = evidence(world.solr, first.identity, AS_OF_MS, max_s=0)
    assert [each.kind for each in stopped.uncertainties if each.id == first.identity] == ["truncated"]


@pytest.mark.services
def test_20_000_readers_are_counted_exactly(world: World) -> None:
    hubs = [world.table(f"hub{number}") for number in range(3)]
    for number, hub in enumerate(hubs):
        for reader in range(7_000):
            world.operation(f"read {number} {reader}", [hub])
    for one, other in itertools.pairwise(hubs):
        world.operation(f"{other.name} from {one.name}", [one], [other])
    answer = ask(world, hubs[0], max_nodes=8_000, max_s=3_600)
    assert answer.total == {"TABLE": 2, "OPERATION": 21_002}
    assert not answer.truncated_at


def test_flows_to_uncaptured_entities_are_counted(world: World) -> None:
    start = world.table("start")
    world.operation("ghost from start", [start], [world.named("ghost")])
    answer = ask(world, start)
    assert (by_name(answer), answer.unlinked) == ({"ghost from start": "data"}, 1)


def test_an_unknown_id_is_an_error(solr: Solr) -> None:
    with pytest.raises(UnknownEntity):
        impact(solr, "nobody")


# -- Command, API and page -----------------------------------------------------------------------------------------------


@pytest.fixture
def made(world: World) -> Key:
    orders = world.table("orders", "amount")
    world.operation("=1+1 from orders", [orders], [world.table("daily", owner="finance")])
    world.index()
    return orders


def test_the_command_prints_json_csv_and_tables(solr: Solr, tmp_path: Path, world: World, made: Key) -> None:
    file = configuration(solr, tmp_path)
    answer = json_of(run(file, "impact", made.identity, "--json"))
    assert answer == impact(solr, made.identity).to_json()
    printed = run(file, "impact", made.identity, "--csv").stdout.removeprefix("\ufeff")
    rows = list(csv.DictReader(io.StringIO(printed)))
    assert tuple(rows[0]) == COLUMNS
    assert {(row["name"], row["owner"]) for row in rows} == {
        ("db.daily", "finance"),
        ("'=1+1 from orders → db.daily", ""),
    }
    shown = run(file, "impact", made.identity)
    assert (shown.exit_code, "finance: 1" in shown.stdout) == (Exit.OK, True)
    assert run(file, "impact", made.identity, "--csv", "--json").exit_code == Exit.USAGE
    assert run(file, "impact", "impact_nowhere.nothing").exit_code == Exit.NOTHING


def test_csv_reports_its_truncation(web: Web, world: World) -> None:
    orders = world.table("orders")
    for number in range(4):
        world.operation(f"copy {number}", [orders], [world.table(f"copy{number}")])
    world.index()
    answer = web.get("/api/navlin/v1/impact", entity=orders.identity, csv="true", max_nodes="3")
    rows = list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"))))
    assert [row["name"] for row in rows if row["truncated"]], rows


def test_the_endpoint_and_the_command_agree(web: Web, made: Key) -> None:
    assert web.asked("/impact", entity=made.identity) == web.command("impact", made.identity)
    answer = web.get("/api/navlin/v1/impact", entity=made.identity, csv="true")
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert answer.content.decode("utf-8-sig").splitlines()[0].count(",") == len(COLUMNS) - 1
    assert web.get("/api/navlin/v1/impact", entity=made.identity, max_nodes="0").status_code == 400
