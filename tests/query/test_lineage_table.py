"""Lineage as a table: nodes and edges with statement, expression, engine and certainty."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest

from navlin.index.solr.solr import Solr
from navlin.model.keys import sub_operation_key
from tests.cli.test_cli import run
from tests.support.query_estate import SPARK, World
from tests.support.web import Web


@pytest.fixture
def world(solr: Solr) -> World:
    """page.orders → page.daily: one column is summed, one copied, and a table without a record flows in, too."""
    world = World(solr, "lineage-table", database="tabular")
    orders = world.table("orders", "id", "amount", owner="crm")
    daily = world.table("daily", "id", "revenue", owner="etl")
    load = world.operation(
        "insert into daily select id, sum(amount) from orders",
        [orders],
        [daily],
        parts={"daily.id": ["orders.id"], "daily.revenue": ["orders.amount"]},
        engine=SPARK,
        incomplete=True,
    )
    world.entity(sub_operation_key(load, "daily.revenue"), expression="sum(orders.amount)")
    world.index()
    return world


def rows(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_table_of_lineage_has_nodes_and_column_edges_on_every_door(world: World, web: Web) -> None:
    asked = {"entity": "tabular.daily", "direction": "upstream"}
    answer = web.get("/api/navlin/v1/lineage", **asked, jsonl=True)
    assert answer.headers["Content-Type"] == "application/x-ndjson"
    found = rows(answer.text)
    nodes = {row["name"]: row for row in found if row["kind"] == "node"}
    assert set(nodes) == {
        "tabular.daily",
        "tabular.orders",
        "tabular.daily.id",
        "tabular.daily.revenue",
        "tabular.orders.id",
        "tabular.orders.amount",
    }
    assert nodes["tabular.orders"]["owner"] == "crm"
    assert nodes["tabular.orders"]["database"] == nodes["tabular.orders.id"]["database"] == "tabular"
    edges = {(row["from"], row["to"]): row for row in found if row["kind"] == "edge"}
    assert set(edges) == {
        ("tabular.orders", "tabular.daily"),
        ("tabular.orders.id", "tabular.daily.id"),
        ("tabular.orders.amount", "tabular.daily.revenue"),
    }
    summed = edges["tabular.orders.amount", "tabular.daily.revenue"]
    assert summed["expression"] == "sum(orders.amount)"
    assert summed["engine"] == "SPARK"
    assert summed["type"] == "data"
    assert summed["statementText"] == "insert into daily select id, sum(amount) from orders"
    assert edges["tabular.orders.id", "tabular.daily.id"]["expression"] == ""
    assert edges["tabular.orders", "tabular.daily"]["certainty"] == "incomplete"

    sheet = web.get("/api/navlin/v1/lineage", **asked, csv=True)
    assert sheet.headers["Content-Type"] == "text/csv; charset=utf-8"
    listed = list(csv.DictReader(io.StringIO(sheet.content.decode("utf-8-sig"))))
    assert [(row["kind"], row["name"], row["from"], row["to"]) for row in listed] == [
        (row["kind"], row.get("name", ""), row.get("from", ""), row.get("to", "")) for row in found
    ]
    assert [row["expression"] for row in listed if row["from"] == "tabular.orders.amount"] == [
        "sum(orders.amount)"
    ]

    typed = run(web.file, "lineage", "tabular.daily", "--direction", "upstream", "--jsonl")
    assert rows(typed.stdout) == found
