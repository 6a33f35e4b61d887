"""Users and statements that accessed a table, path or column, from the executions in the index."""

from __future__ import annotations

import csv
import io
import itertools

import pytest

from navlin.cli.invocation import Exit
from navlin.index.graph.entity import StoredEntity
from navlin.index.solr.solr import Solr
from navlin.model.keys import Key, RelationType
from navlin.query.names import entity_named
from navlin.query.usage import Usage, usage
from tests.cli.test_cli import json_of, run
from tests.support.query_estate import AS_OF_MS, IMPALA, World
from tests.support.web import Web

NUMBERS = itertools.count(1)
DAY_MS = 86_400_000


@pytest.fixture
def world(solr: Solr) -> World:
    return World(solr, f"usage-{next(NUMBERS)}")


def executed(world: World, operation: Key, user: str, *days_ago: int) -> None:
    for each in days_ago:
        at_ms = AS_OF_MS - each * DAY_MS
        execution = world.execution(
            operation, f"{user}-{each}", started=at_ms, ended=at_ms + 1, principal=user
        )
        world.relate(RelationType.INSTANCE_OF, operation, execution, writer=IMPALA)


def ask(world: World, key: Key, *, days: int = 30, limit: int = 25, offset: int = 0) -> Usage:
    world.index()
    entity: StoredEntity = entity_named(world.solr, key.identity)
    return usage(world.solr, entity, AS_OF_MS, days=days, limit=limit, offset=offset)


def used(answer: Usage) -> list[tuple[str, str, str, int]]:
    return [(each.user, each.operation.name, each.does, each.executions) for each in answer.every]


def test_executions_are_counted_by_user_and_operation_the_last_use_first(world: World) -> None:
    orders, report = world.table("orders"), world.table("report")
    load = world.operation("load orders", [], [orders])
    read = world.operation("report from orders", [orders], [report])
    keep = world.operation("keep orders", [orders], [orders])
    executed(world, load, "etl", 3, 9)
    executed(world, read, "ann", 2)
    executed(world, read, "bob", 1, 4, 5)
    executed(world, keep, "etl", 7)

    answer = ask(world, orders)
    assert used(answer) == [
        ("bob", "report from orders", "reads", 3),
        ("ann", "report from orders", "reads", 1),
        ("etl", "load orders", "writes", 2),
        ("etl", "keep orders", "reads and writes", 1),
    ]
    assert (answer.reads, answer.writes, answer.cut) == (5, 3, False)
    first = answer.every[0].to_json()
    assert (first["first"], first["last"]) == ("2025-12-27T00:00:00.000Z", "2025-12-31T00:00:00.000Z")
    page = ask(world, orders, limit=1, offset=1).listed
    assert ([each.user for each in page.results], page.total, page.truncated) == (["ann"], 4, True)


def test_only_the_last_days_count(world: World) -> None:
    orders = world.table("orders")
    read = world.operation("select from orders", [orders])
    executed(world, read, "ann", 1, 31)
    assert used(ask(world, orders)) == [("ann", "select from orders", "reads", 1)]
    assert used(ask(world, orders, days=31)) == [("ann", "select from orders", "reads", 2)]


def test_a_column_is_used_by_the_operations_of_its_parts(world: World) -> None:
    orders, report = world.table("orders", "id", "x"), world.table("report", "id")
    insert = world.operation("insert report", [orders], [report], parts={"report.id": ["orders.id"]})
    executed(world, insert, "ann", 1)
    assert used(ask(world, world.column("orders.id"))) == [("ann", "insert report", "reads", 1)]
    assert used(ask(world, world.column("report.id"))) == [("ann", "insert report", "writes", 1)]
    assert used(ask(world, world.column("orders.x"))) == []


def test_a_filter_is_a_use_and_a_table_is_used_at_its_location(world: World) -> None:
    orders, path = world.table("orders"), world.path("/warehouse/orders")
    world.located(orders, path)
    executed(world, world.operation("job", [path], [world.table("copy")]), "spark", 1)
    executed(world, world.operation("filter", [], [world.table("some")], steered_by=[orders]), "ann", 2)
    expected = [("spark", "job", "reads", 1), ("ann", "filter", "reads", 1)]
    assert used(ask(world, orders)) == used(ask(world, path)) == expected


def test_usage_is_a_table_a_page_and_csv(web: Web, world: World) -> None:
    world.database = world.name.replace("-", "_")
    orders = world.table("orders")
    executed(world, world.operation("select from orders", [orders]), "ann", 1)
    world.index()
    name = f"{world.database}.orders"

    shown = run(web.file, "usage", name, "--days", "3650")
    assert f"ann select from orders ← {name} reads 1" in " ".join(shown.stdout.split())
    assert "1 execution read it, 0 executions wrote it" in shown.stdout
    assert shown.exit_code == Exit.OK
    assert json_of(run(web.file, "usage", name, "--days", "3650", "--json"))["reads"] == 1
    rows = list(
        csv.DictReader(
            io.StringIO(run(web.file, "usage", name, "--days", "3650", "--csv").stdout.lstrip("\ufeff"))
        )
    )
    assert [(each["user"], each["does"], each["executions"]) for each in rows] == [("ann", "reads", "1")]
    assert run(web.file, "usage", name, "--days", "1").exit_code == Exit.NOTHING
    page = web.get("/usage", entity=name, days=3650)
    assert "select from orders" in page.text
