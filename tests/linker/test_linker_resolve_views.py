"""The lineage of a view is parsed from its text if no engine has recorded it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from navlin.index.schema.fields import RELATIONS
from navlin.index.solr.solr import Solr
from navlin.model.keys import EntityType, Key
from navlin.model.records import Entity, Relation
from navlin.query.lineage import lineage
from navlin.query.options import WalkOptions
from navlin.query.show import show
from tests.support.indexed_estate import DAY_MS, World

Records = tuple[Entity | Relation, ...]
ORDERS = (
    "SELECT `o`.`id` AS `id`, `o`.`price` * `o`.`pieces` AS `total` FROM `s`.`orders` `o` WHERE `o`.`open`"
)


@pytest.fixture
def world(solr: Solr, request: pytest.FixtureRequest) -> World:
    return World(solr, f"views {request.node.name}")


def table(world: World, name: str, *columns: str, kind: EntityType = EntityType.TABLE) -> Records:
    of_table = (
        world.entity(world.column(f"{name}.{column}"), {"columnIndex": at})
        for at, column in enumerate(columns)
    )
    return world.entity(world.table(name, kind)), *of_table


def view(
    world: World, name: str, text: str, *columns: str, params: Mapping[str, str] | None = None
) -> Records:
    _, *of_view = table(world, name, *columns)
    attributes: dict[str, Any] = {"queryText": text, "params": json.dumps(params) if params else None}
    return world.entity(world.table(name, EntityType.VIEW), attributes), *of_view


def created_by_impala(world: World, name: str) -> Records:
    """Impala's record of the view's creation. It reads a different table than the view's text does."""
    operation = world.operation(f"create view {name}")
    made = world.flow(operation, world.table(name, EntityType.VIEW))
    return world.entity(operation), world.flow(world.table("s.told"), operation), made


def found_flows(world: World) -> set[str]:
    """Relations that the linker added for views: ``a -> b`` for data flow, ``a ~> b`` for control flow, with a trailing
    ``?`` if incomplete.
    """
    signs = {"DATA_FLOW": "->", "CONTROL_FLOW": "~>"}
    return {
        f"{each['endpoint1Name']} {signs[each['type']]} {each['endpoint2Name']}{'?' if each.get('incomplete') else ''}"
        for each in world.documents(RELATIONS)
        if each.get("rule") == "resolve_views"
    }


TOTALS = {
    "s.orders -> s.totals",
    "s.orders.id -> s.totals.id",
    "s.orders.open ~> s.totals.id",
    "s.orders.open ~> s.totals.total",
    "s.orders.pieces -> s.totals.total",
    "s.orders.price -> s.totals.total",
}


def orders(world: World) -> Records:
    return table(world, "s.orders", "id", "price", "pieces", "open")


def totals(world: World) -> Records:
    return view(world, "s.totals", ORDERS, "id", "total")


@pytest.mark.parametrize("first", ["table", "view", "together"])
def test_a_view_has_the_lineage_of_its_text_in_any_order(world: World, first: str) -> None:
    match first:
        case "table":
            world.link(world.put(world.hive, *orders(world)))
            world.link(world.put(world.hive, *totals(world)))
        case "view":
            world.link(world.put(world.hive, *totals(world)))
            assert found_flows(world) == {"s.orders -> s.totals?"}
            world.link(world.put(world.hive, *orders(world)))
        case _:
            world.link(world.put(world.hive, *orders(world), *totals(world)))

    assert found_flows(world) == TOTALS


def test_the_linkers_relation_of_a_view_names_its_writer_and_is_parsed(world: World) -> None:
    world.link(world.put(world.hive, *totals(world)))
    (relation,) = [each for each in world.documents(RELATIONS) if each.get("rule") == "resolve_views"]

    assert relation["writer"] == "linker"
    assert relation["parsed"]
    assert relation["incomplete"]
    assert relation["unlinked"]
    assert relation["unlinkedReason"] == "not in HIVE-1 yet"

    world.link(world.put(world.hive, *orders(world)))

    assert not any(each["unlinked"] for each in world.documents(RELATIONS) if each.get("rule"))


TEXTS: dict[str, tuple[str, tuple[str, ...], set[str]]] = {
    "a star over a table that nobody knows": ("SELECT * FROM s.unknown", ("id",), {"s.unknown -> V?"}),
    "beside one that is known": (
        "SELECT u.id, o.price FROM s.orders o JOIN s.unknown u ON o.id = u.id",
        ("id", "price"),
        {
            "s.orders -> V?",
            "s.unknown -> V?",
            "s.orders.price -> V.price",
            "s.orders.id ~> V.id",
            "s.orders.id ~> V.price",
        },
    ),
    "names that change places": (
        "SELECT price AS id, id AS price FROM s.orders",
        ("id", "price"),
        {"s.orders -> V", "s.orders.price -> V.id", "s.orders.id -> V.price"},
    ),
    "columns that the view calls otherwise": (
        "SELECT price, id FROM s.orders",
        ("a", "b"),
        {"s.orders -> V", "s.orders.price -> V.a", "s.orders.id -> V.b"},
    ),
    "more than the view has": ("SELECT id, price, pieces FROM s.orders", ("id", "price"), {"s.orders -> V?"}),
    "a table of the view's own database": (
        "SELECT id FROM orders",
        ("id",),
        {"s.orders -> V", "s.orders.id -> V.id"},
    ),
    "other letters, and a table that only decides": (
        "SELECT o.ID FROM S.Orders o WHERE o.price IN (SELECT price FROM s.prices)",
        ("id",),
        {
            "s.orders -> V",
            "s.prices ~> V",
            "s.orders.id -> V.id",
            "s.orders.price ~> V.id",
            "s.prices.price ~> V.id",
        },
    ),
    "data and control at once": (
        "SELECT id FROM s.orders WHERE id > 0 ORDER BY id",
        ("id",),
        {"s.orders -> V", "s.orders.id -> V.id"},
    ),
    "another catalog, and files": (
        "SELECT o.id FROM s.orders o, lake.s.orders, parquet.`/data/x`",
        ("id",),
        {"s.orders -> V?", "s.orders.id -> V.id"},
    ),
    "nothing": ("SELECT 1 AS one", ("one",), set()),
    "itself": ("SELECT id FROM s.v10", ("id",), set()),
}


def test_a_views_lineage_uses_the_text_and_the_indexed_columns(world: World) -> None:
    views = [
        record
        for at, (text, columns, _) in enumerate(TEXTS.values())
        for record in view(world, f"s.v{at}", text, *columns)
    ]

    world.link(world.put(world.hive, *orders(world), *table(world, "s.prices", "price"), *views))

    found: dict[str, set[str]] = {name: set() for name in TEXTS}
    for each in found_flows(world):
        source, sign, target = each.split()
        at = int("".join(filter(str.isdecimal, target.partition(".")[2].partition(".")[0])))
        found[list(TEXTS)[at]].add(f"{source} {sign} V{target.removeprefix(f's.v{at}')}")
    assert found == {name: expected for name, (_, _, expected) in TEXTS.items()}


def test_a_spark_view_keeps_its_column_names_and_creation_database(
    world: World,
) -> None:
    params = {
        "view.catalogAndNamespace.numParts": "2",
        "view.catalogAndNamespace.part.0": "spark_catalog",
        "view.catalogAndNamespace.part.1": "s",
        "view.query.out.col.0": "price",
    }
    made = view(world, "other.v", "SELECT * FROM orders", "cost", params=params)

    world.link(world.put(world.hive, *orders(world), *made))

    assert found_flows(world) == {"s.orders -> other.v", "s.orders.price -> other.v.cost"}


@pytest.mark.parametrize("text", ["SELECT price FROM orders", "SELECT price FROM s.orders"])
def test_a_spark_view_of_another_catalog_reads_no_metastore_table(world: World, text: str) -> None:
    params = {
        "view.catalogAndNamespace.numParts": "2",
        "view.catalogAndNamespace.part.0": "lake",
        "view.catalogAndNamespace.part.1": "s",
        "view.query.out.col.0": "price",
    }
    made = view(world, "s.v", text, "price", params=params)

    world.link(world.put(world.hive, *orders(world), *made))

    assert found_flows(world) == set()


@pytest.mark.parametrize("text", ["SELECT price FROM orders", "SELECT price FROM s.orders"])
def test_a_spark_view_with_only_a_catalog_reads_no_metastore_table(world: World, text: str) -> None:
    params = {"view.catalogAndNamespace.numParts": "1", "view.catalogAndNamespace.part.0": "s"}
    made = view(world, "s.v", text, "price", params={**params, "view.query.out.col.0": "price"})

    world.link(world.put(world.hive, *orders(world), *made))

    assert found_flows(world) == set()


@pytest.mark.parametrize("parts", ["", "x", "-1", "²"])
def test_an_invalid_number_of_parts_leaves_the_views_own_database(world: World, parts: str) -> None:
    made = view(
        world,
        "s.v",
        "SELECT price FROM orders",
        "price",
        params={"view.catalogAndNamespace.numParts": parts},
    )

    world.link(world.put(world.hive, *orders(world), *made))

    assert "s.orders -> s.v" in found_flows(world)


def test_a_spark_views_expression_is_matched_by_position_unless_names_have_moved(
    world: World,
) -> None:
    def of(text: str, *names: str) -> Records:
        params = {f"view.query.out.col.{at}": name for at, name in enumerate(names)}
        return view(world, "s.v", text, "a", "b", params={"view.catalogAndNamespace.numParts": "0", **params})

    whole = of("SELECT id, max(price) FROM s.orders GROUP BY id", "id", "max(price)")
    world.link(world.put(world.hive, *orders(world), *whole))
    assert found_flows(world) == {
        "s.orders -> s.v",
        "s.orders.id -> s.v.a",
        "s.orders.price -> s.v.b",
        "s.orders.id ~> s.v.b",
    }

    world.now_ms += DAY_MS
    world.link(world.put(world.hive, *of("SELECT id, price + 1 FROM s.orders", "pieces", "(price + 1)")))
    assert found_flows(world) == {"s.orders -> s.v?"}


REASONS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "a table that the index does not know": (
        "SELECT o.id, u.price FROM s.orders o JOIN (SELECT id, price FROM s.unknown) u ON o.id = u.id",
        ("id", "price"),
        "the columns of a table that it reads are not in the index",
    ),
    "a star over one": (
        "SELECT * FROM s.unknown",
        ("id",),
        "the columns of a table that it reads are not in the index",
    ),
    "a name of two tables": (
        "SELECT price FROM s.orders JOIN s.prices",
        ("price",),
        "a name in it may mean more than one column, or none",
    ),
    "files": (
        "SELECT id FROM s.orders, parquet.`/x`",
        ("id",),
        "it reads files, or a table of another catalog",
    ),
    "more columns than the view has": (
        "SELECT id, price FROM s.orders",
        ("id",),
        "it makes other columns than the view has",
    ),
    "all that there is to know": ("SELECT id FROM s.orders", ("id",), ""),
}


def test_a_view_gives_the_reason_for_its_incompleteness(world: World) -> None:
    views = [
        record
        for at, (text, columns, _) in enumerate(REASONS.values())
        for record in view(world, f"s.v{at}", text, *columns)
    ]

    world.link(world.put(world.hive, *orders(world), *table(world, "s.prices", "price"), *views))

    reasons = {
        name: show(world.solr, world.table(f"s.v{at}").identity).fields.linker.get("unparsedReason", "")
        for at, name in enumerate(REASONS)
    }
    assert reasons == {name: reason for name, (_, _, reason) in REASONS.items()}
    # u.price belongs to the derived table, so it is not searched for in s.orders next to it.
    assert {each for each in found_flows(world) if "s.v0" in each} == {
        "s.orders -> s.v0?",
        "s.unknown -> s.v0?",
        "s.orders.id -> s.v0.id",
        "s.orders.id ~> s.v0.price",
    }


def test_an_engines_record_takes_precedence_over_the_text_while_it_exists(world: World) -> None:
    world.link(world.put(world.hive, *orders(world), *totals(world)))
    record = created_by_impala(world, "s.totals")

    world.link(world.put(world.impala, *record))
    assert found_flows(world) == set()

    withdrawn = [each for each in record if isinstance(each, Relation)]
    world.now_ms += DAY_MS
    world.link(world.drop(world.impala, *withdrawn))
    assert found_flows(world) == TOTALS


def test_an_earlier_record_is_never_mixed_with_the_text(world: World) -> None:
    world.link(world.put(world.impala, *created_by_impala(world, "s.totals")))
    world.link(world.put(world.hive, *orders(world), *totals(world)))

    assert found_flows(world) == set()


def test_a_rename_gives_no_lineage_of_a_view(world: World) -> None:
    rename = world.operation("ALTER VIEW s.old RENAME TO s.totals", source=world.hive)
    flow = world.flow(rename, world.table("s.totals", EntityType.VIEW))

    world.link(world.put(world.hive, *orders(world), *totals(world), world.entity(rename), flow))

    assert found_flows(world) == TOTALS


def test_a_changed_view_or_table_is_resolved_again(world: World) -> None:
    starred = view(world, "s.v", "SELECT * FROM s.orders", "id", "price")
    world.link(world.put(world.hive, *table(world, "s.orders", "id", "price"), *starred))
    assert found_flows(world) == {"s.orders -> s.v", "s.orders.id -> s.v.id", "s.orders.price -> s.v.price"}

    world.now_ms += DAY_MS
    world.link(world.put(world.hive, *orders(world)))
    assert found_flows(world) == {"s.orders -> s.v?"}, "the table has more columns than the view now"

    world.now_ms += DAY_MS
    world.link(world.put(world.hive, *view(world, "s.v", "SELECT open, open FROM s.orders", "id", "price")))
    assert found_flows(world) == {"s.orders -> s.v", "s.orders.open -> s.v.id", "s.orders.open -> s.v.price"}


def test_a_dropped_view_or_table_keeps_the_lineage(world: World) -> None:
    world.link(world.put(world.hive, *orders(world), *totals(world)))
    world.now_ms += DAY_MS
    dropped = [each.key for each in (*orders(world), *totals(world)) if isinstance(each, Entity)]

    world.link(world.drop(world.hive, *dropped))
    assert found_flows(world) == TOTALS

    world.link(everything=True)
    assert found_flows(world) == TOTALS


def test_a_table_replacing_a_view_has_no_lineage(world: World) -> None:
    world.link(world.put(world.hive, *orders(world), *totals(world)))
    world.now_ms += DAY_MS

    world.link(world.put(world.hive, *table(world, "s.totals", "id", "total")))

    assert found_flows(world) == set()


def test_an_unparsable_text_leaves_its_reason_on_the_view(world: World) -> None:
    def reason() -> str | None:
        shown = show(world.solr, world.table("s.v").identity)
        return shown.fields.linker.get("unparsedReason")

    broken = view(world, "s.v", "SELECT FROM WHERE GROUP", "id")
    world.link(world.put(world.hive, *orders(world), *broken))
    assert found_flows(world) == set()
    assert reason()

    world.now_ms += DAY_MS
    world.link(world.put(world.hive, *view(world, "s.v", "DROP TABLE s.orders", "id")))
    assert reason() == "it is not one query"

    world.now_ms += DAY_MS
    world.link(world.put(world.hive, *view(world, "s.v", "SELECT id FROM s.orders", "id")))
    assert reason() is None
    assert found_flows(world) == {"s.orders -> s.v", "s.orders.id -> s.v.id"}


def test_the_reason_is_removed_once_an_engine_gives_the_lineage(world: World) -> None:
    world.link(world.put(world.hive, *view(world, "s.v", "SELECT FROM WHERE GROUP", "id")))

    world.link(world.put(world.impala, *created_by_impala(world, "s.v")))

    assert "unparsedReason" not in show(world.solr, world.table("s.v").identity).fields.linker


# -- Queries ---------------------------------------------------------------------------------------------------------------


def arrows(world: World, start: Key, **options: Any) -> set[str]:
    answer = lineage(world.solr, start.identity, WalkOptions(**options))
    names = {node.id: node.name for node in answer.nodes}
    signs = {"DATA_FLOW": "->", "CONTROL_FLOW": "~>"}
    assert all(edge.parsed for edge in answer.edges)
    return {f"{names[each.source]} {signs[each.type]} {names[each.target]}" for each in answer.edges}


def a_view_of_a_view(world: World) -> None:
    sums = view(world, "s.sums", "SELECT sum(total) AS whole FROM s.totals", "whole")
    world.link(world.put(world.hive, *orders(world), *totals(world), *sums))


def test_lineage_passes_through_views_and_their_columns(world: World) -> None:
    a_view_of_a_view(world)

    assert arrows(world, world.table("s.orders")) == {"s.orders -> s.totals", "s.totals -> s.sums"}
    assert arrows(world, world.column("s.sums.whole")) == {
        "s.orders.price -> s.totals.total",
        "s.orders.pieces -> s.totals.total",
        "s.totals.total -> s.sums.whole",
    }
    assert arrows(world, world.column("s.orders.price")) == {
        "s.orders.price -> s.totals.total",
        "s.totals.total -> s.sums.whole",
    }


def test_columns_of_views_are_drawn(world: World) -> None:
    a_view_of_a_view(world)

    assert arrows(world, world.table("s.sums"), columns=True) == {
        "s.orders -> s.totals",
        "s.totals -> s.sums",
        "s.orders.id -> s.totals.id",
        "s.orders.price -> s.totals.total",
        "s.orders.pieces -> s.totals.total",
        "s.totals.total -> s.sums.whole",
    }


def test_control_flow_of_views_is_shown_on_request(world: World) -> None:
    a_view_of_a_view(world)

    assert "s.orders.open ~> s.totals.total" in arrows(
        world, world.column("s.totals.total"), control_flow=True
    )
    assert "s.orders.open ~> s.totals.id" in arrows(
        world, world.table("s.totals"), columns=True, control_flow=True
    )


def test_a_dropped_view_is_passed_through(world: World) -> None:
    a_view_of_a_view(world)
    world.now_ms += DAY_MS
    world.link(world.drop(world.hive, *[each.key for each in totals(world) if isinstance(each, Entity)]))

    assert arrows(world, world.table("s.sums"), columns=True) == {
        "s.orders -> s.sums",
        "s.orders.price -> s.sums.whole",
        "s.orders.pieces -> s.sums.whole",
    }


def test_a_view_with_unknown_columns_depends_on_the_whole_table(world: World) -> None:
    more = view(world, "s.v", "SELECT id, price, pieces FROM s.orders", "id", "price")
    world.link(world.put(world.hive, *orders(world), *more))

    assert arrows(world, world.column("s.orders.open")) == {"s.orders.open -> s.v"}
    assert arrows(world, world.column("s.v.id")) == {"s.orders -> s.v.id"}


# -- All cases together ----------------------------------------------------------------------------------------------------


def story(world: World) -> list[tuple[str, Any, tuple[Any, ...]]]:
    """Steps as (action, source, records), in order."""
    starred = view(world, "s.all", "SELECT * FROM s.orders", "id", "price", "pieces", "open")
    broken = view(world, "s.broken", "SELECT FROM WHERE", "id")
    reported = view(world, "s.known", "SELECT id FROM s.orders", "id")
    gone = view(world, "s.gone", "SELECT id FROM s.orders", "id")
    waiting = view(world, "s.waiting", "SELECT x FROM s.later", "x")
    record = created_by_impala(world, "s.known")
    return [
        ("put", world.hive, (*totals(world), *starred, *broken)),
        ("put", world.hive, (*orders(world), *reported, *gone, *waiting)),
        ("put", world.impala, record),
        ("drop", world.hive, tuple(each.key for each in gone if isinstance(each, Entity))),
        ("drop", world.hive, (world.column("s.orders.open"),)),
        ("put", world.hive, table(world, "s.later", "x", "y")),
        ("put", world.hive, view(world, "s.broken", "SELECT y FROM s.later", "id")),
    ]


def send(world: World, *, linking: bool) -> None:
    for what, source, things in story(world):
        run = world.put(source, *things) if what == "put" else world.drop(source, *things)
        if linking:
            world.link(run)
        world.now_ms += DAY_MS


@pytest.mark.services
def test_linking_everything_equals_the_incremental_result(world: World) -> None:
    began_ms = world.now_ms
    send(world, linking=True)
    by_increments, statements = world.index(), found_flows(world)
    assert {"s.later.y -> s.broken.id", "s.later.x -> s.waiting.x", "s.orders.id -> s.gone.id"} <= statements
    assert "s.orders -> s.all?" in statements
    assert not any("s.known" in each for each in statements)

    world.clear()
    world.now_ms = began_ms
    send(world, linking=False)
    world.link(everything=True)

    assert world.index() == by_increments
    versions = world.versions()
    world.link(everything=True)
    assert world.versions() == versions


@pytest.mark.services
def test_linking_everything_repairs_wrong_relations(world: World) -> None:
    world.link(world.put(world.hive, *orders(world), *totals(world)))
    world.put(world.impala, *created_by_impala(world, "s.totals"))
    world.now_ms += DAY_MS
    world.put(world.hive, *table(world, "s.totals", "id", "total"))

    world.link(everything=True)

    assert found_flows(world) == set()


@pytest.mark.services
def test_linking_twice_changes_nothing(world: World) -> None:
    run = world.put(world.hive, *orders(world), *totals(world), *view(world, "s.v", "SELECT FROM", "id"))
    world.link(run)
    versions = world.versions()

    assert not any(world.link(run).values())
    assert world.versions() == versions


def test_many_changed_columns_are_matched_with_few_views(world: World) -> None:
    world.link(world.put(world.hive, *orders(world), *totals(world)))
    wide = table(world, "s.wide", *(f"column_{at}" for at in range(50)))
    renamed = view(world, "s.totals", ORDERS.replace("s`.`orders", "s`.`wide"), "id", "total")

    world.link(world.put(world.hive, *wide, *renamed))

    assert "s.wide -> s.totals?" in found_flows(world)
