"""A column of a path is a column of the table located there, under another name."""

from __future__ import annotations

import itertools

import pytest

from navlin.index.solr.solr import Solr
from navlin.model.keys import Key
from navlin.query.answer import Lineage
from navlin.query.lineage import lineage
from navlin.query.options import WalkOptions
from tests.support.folded_lineage import fold
from tests.support.query_estate import SPARK, World

NUMBERS = itertools.count(1)


@pytest.fixture
def world(solr: Solr) -> World:
    return World(solr, f"path-columns-{next(NUMBERS)}")


def ask(world: World, start: Key, **options: object) -> Lineage:
    return lineage(world.solr, start.identity, WalkOptions(**options))  # type: ignore[arg-type] # options by name


def arrows(answer: Lineage) -> set[str]:
    names = {node.id: node.name.removeprefix("db.") for node in answer.nodes}
    signs = {"DATA_FLOW": "->", "CONTROL_FLOW": "~>", "LOGICAL_PHYSICAL": "="}
    return {f"{names[e.source]} {signs[e.type]} {names[e.target]}" for e in answer.edges}


def written_by_path_and_read_as_a_table(world: World, *, located: bool = True) -> Key:
    """raw → a job that writes /t by path → t, whose location is /t → report."""
    raw, table, report = (
        world.table("raw", "a", "b"),
        world.table("t", "a", "total"),
        world.table("report", "sum"),
    )
    path = world.path("/t")
    if located:
        world.located(table, path)
    world.operation(
        "load", [raw], [path], engine=SPARK, parts={"/t.A": ["raw.a"], "/t.total": ["raw.a", "raw.b"]}
    )
    world.operation("report", [table], [report], parts={"report.sum": ["t.total"]})
    world.index()
    return table


@pytest.mark.parametrize("start", ["raw.b", "t.total", "report.sum"])
def test_flows_into_a_path_column_are_those_of_the_tables_column(world: World, start: str) -> None:
    written_by_path_and_read_as_a_table(world)
    edges = {"raw.a -> t.total", "raw.b -> t.total", "t.total -> report.sum"}
    seen = arrows(ask(world, world.column(start)))
    assert seen == (edges - {"raw.a -> t.total"} if start == "raw.b" else edges)


def test_a_path_column_shows_its_table_column(world: World) -> None:
    written_by_path_and_read_as_a_table(world)
    assert arrows(ask(world, world.column("/t.total"))) == {
        "t.total = /t.total",
        "raw.a -> /t.total",
        "raw.b -> /t.total",
        "t.total -> report.sum",
    }


def test_a_path_without_a_table_keeps_its_columns(world: World) -> None:
    written_by_path_and_read_as_a_table(world, located=False)
    assert arrows(ask(world, world.column("raw.b"))) == {"raw.b -> /t.total"}
    assert arrows(ask(world, world.column("t.total"))) == {"t.total -> report.sum"}


def test_lineage_of_tables_includes_path_columns(world: World) -> None:
    table = written_by_path_and_read_as_a_table(world)
    answer = ask(world, table, columns=True)
    assert arrows(answer) == {
        "raw -> t",
        "t -> report",
        "raw.a -> t.a",
        "raw.a -> t.total",
        "raw.b -> t.total",
        "t.total -> report.sum",
    }
    assert arrows(fold(answer)) == arrows(ask(world, table))


def test_an_operation_without_columns_is_linked_to_columns_of_the_table_at_its_path(world: World) -> None:
    raw, table = world.table("raw", "a"), world.table("t", "a")
    path = world.path("/t")
    world.located(table, path)
    world.operation("a job of which only paths are known", [raw], [path], engine=SPARK)
    world.index()
    assert "raw -> t.a" in arrows(ask(world, world.column("t.a")))
