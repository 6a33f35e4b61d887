"""Resolution of the names that users give for entities."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from navlin.index.solr.solr import Solr
from navlin.model.identity import identify
from navlin.model.keys import EntityType, Key, location_key, operation_key, partition_key
from navlin.model.source import Estate
from navlin.query.names import AmbiguousName, UnknownName, candidates_for, entity_named, suggestions_for
from navlin.solr_server.embedded import EmbeddedSolr
from tests.support.query_estate import HDFS, HIVE, SPARK, World


@pytest.fixture(scope="module")
def world(solr_server: EmbeddedSolr) -> Iterator[World]:
    with Solr(solr_server.start()) as solr:
        world = World(solr, "naming", database="Naming_Db")
        orders = world.table("Orders", "order_id", "a.b")
        world.entity(partition_key(orders, "ds=2026-01-01/region=eu.west"))
        world.table("customers")
        world.table("orders_dropped", deleted=True)
        world.path("/naming/in")
        world.path("/naming/In/part-0", kind=EntityType.FILE)
        world.path("/naming/with space, comma", kind=EntityType.FILE)
        world.granted(location_key(Estate("estate"), "s3a://naming-bucket/x/y"))
        world.path("/naming/trail ")
        # Other tests index tables named orders, and a name without a database may mean any of them.
        world.table("naming_dotted", "a.b")
        world.table("odd", 'x"y', "q`q", '"whole"', "trail ")
        world.column("/naming/in.Amount")
        owner = world.source("OPENLINEAGE")
        stream = Key(
            EntityType.DATASET,
            identify(owner.id, "naming.cycle"),
            owner,
            "naming.cycle",
            "/datasets/naming.cycle",
        )
        world.entity(stream)
        column = Key(
            EntityType.FIELD,
            identify(stream.identity, "X"),
            owner,
            "x",
            "/datasets/naming.cycle/X",
            "/naming.cycle",
            parent=stream,
        )
        world.entity(column)
        world.entity(operation_key(world.source(SPARK), "plan", (), name="naming_application_1"))
        world.index()
        yield world


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Naming_Db.Orders", "Naming_Db.Orders"),
        ("naming_db.orders", "Naming_Db.Orders"),
        ("NAMING_DB.ORDERS", "Naming_Db.Orders"),
        ("  naming_db.orders ", "Naming_Db.Orders"),
        ("`naming_db`.`orders`", "Naming_Db.Orders"),
        ("/naming_db/orders", "Naming_Db.Orders"),
        ("naming_db.orders.ORDER_ID", "Naming_Db.Orders.order_id"),
        ("naming_db.orders.`a.b`", "Naming_Db.Orders.a.b"),
        ("naming_db.orders.a.b", "Naming_Db.Orders.a.b"),
        ("naming_db.orders.ds=2026-01-01/region=eu.west", "Naming_Db.Orders.ds=2026-01-01/region=eu.west"),
        ("naming_db", "Naming_Db"),
        ("naming_db.orders_dropped", "Naming_Db.orders_dropped"),
        ("/naming/in", "/naming/in"),
        ("/naming/in/", "/naming/in"),
        ("hdfs://naming/naming/in", "/naming/in"),
        ("hdfs://NAMING/naming//in", "/naming/in"),
        ("/naming/In/part-0", "/naming/In/part-0"),
        ("/naming/with space, comma", "/naming/with space, comma"),
        ("s3://naming-bucket/x/y", "/x/y"),
        ("s3n://naming-bucket/x/y", "/x/y"),
        ("/naming/trail ", "/naming/trail "),
        ("naming_db.odd.trail ", "Naming_Db.odd.trail "),
        ('naming_db.odd.x"y', 'Naming_Db.odd.x"y'),
        ("naming_db.odd.q`q", "Naming_Db.odd.q`q"),
        ('naming_db.odd."whole"', 'Naming_Db.odd."whole"'),
        ("naming.cycle", "naming.cycle"),
        ("naming.cycle.x", "naming.cycle.x"),
        ("Naming.Cycle.X", "naming.cycle.x"),
        ("/naming/in.amount", "/naming/in.Amount"),
        ("hdfs://naming/naming/in.amount", "/naming/in.Amount"),
        ("naming_dotted.a.b", "Naming_Db.naming_dotted.a.b"),
        ("naming_application_1", "naming_application_1"),
        ("naming-hdfs", "naming-hdfs"),
    ],
)
def test_a_name_resolves_to_one_entity(world: World, name: str, expected: str) -> None:
    assert entity_named(world.solr, name).name == expected


def test_an_id_resolves_in_any_case(world: World) -> None:
    identity = world.named("orders").identity
    assert entity_named(world.solr, identity).name == "Naming_Db.Orders"
    assert entity_named(world.solr, identity.upper()).id == identity


def test_paths_are_case_sensitive(world: World) -> None:
    with pytest.raises(UnknownName):
        entity_named(world.solr, "/naming/IN")
    with pytest.raises(UnknownName):
        entity_named(world.solr, "hdfs://elsewhere/naming/in2")


def test_a_name_in_two_metastores_is_ambiguous_and_both_are_listed(world: World) -> None:
    other = World(world.solr, "naming-other", database="Naming_Db")
    other.table("shared")
    other.index()
    world.table("shared", deleted=True)
    world.index()
    with pytest.raises(AmbiguousName) as error:
        entity_named(world.solr, "naming_db.SHARED")
    assert {thing.source_id for thing in error.value.candidates} == {
        world.sources[HIVE].id,
        other.sources[HIVE].id,
    }
    for thing in error.value.candidates:
        assert entity_named(world.solr, thing.id) == thing
    listed = error.value.more["candidates"]
    assert [each["id"] for each in listed] == [thing.id for thing in error.value.candidates]
    assert sorted(each["deleted"] for each in listed) == [False, True]


def test_a_column_of_one_of_many_tables_of_a_name_is_found_by_its_short_name(world: World) -> None:
    crowd = World(world.solr, "naming-crowd")
    for number in range(120):
        crowd.table("naming_crowd", database=f"crowd{number:03}")
    crowd.table("naming_crowd", "a.naming_b", database="crowd_last")
    crowd.index()
    assert entity_named(world.solr, "naming_crowd.a.naming_b").name == "crowd_last.naming_crowd.a.naming_b"
    crowd.table("naming_crowd", "a.naming_b", database="crowd_first")
    crowd.index()
    with pytest.raises(
        AmbiguousName, match=r"any of 2 entities: write its database, as in crowd_\w+\.naming_crowd"
    ):
        entity_named(world.solr, "naming_crowd.a.naming_b")


@pytest.mark.services
def test_a_short_name_that_columns_of_very_many_tables_may_have_is_ambiguous(world: World) -> None:
    crowd = World(world.solr, "naming-throng")
    for number in range(120):
        crowd.table("naming_throng", database=f"throng{number:03}")
    for number in range(1_001):
        crowd.table(f"naming_other{number}", "naming_k", database="throng")
    crowd.index()
    with pytest.raises(AmbiguousName) as error:
        entity_named(world.solr, "naming_throng.naming_k")
    assert str(error.value) == (
        "naming_throng.naming_k may be a column of any of very many tables: write its database, as in"
        " database.naming_throng.naming_k, or give its id"
    )
    with pytest.raises(UnknownName):
        entity_named(world.solr, "naming_throng.naming_no_such_column")


def test_a_table_name_needs_no_database_if_unambiguous(world: World) -> None:
    world.table("naming_alone")
    world.table("naming_twice", database="one")
    world.table("naming_twice", database="two")
    world.index()
    assert entity_named(world.solr, "NAMING_ALONE").name == "Naming_Db.naming_alone"
    assert {thing.name for thing in candidates_for(world.solr, "naming_twice").found} == {
        "one.naming_twice",
        "two.naming_twice",
    }


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("naming_db.ordres", "Naming_Db.Orders"),
        ("naming_db.order", "Naming_Db.Orders"),
        ("nameing_db.customers", "Naming_Db.customers"),
        ("naming_db.orders.orderid", "Naming_Db.Orders.order_id"),
        ("naming_db.orders_droped", "Naming_Db.Orders"),
        ("/naming/inn", "/naming/in"),
    ],
)
def test_an_unknown_name_suggests_similar_ones(world: World, name: str, expected: str) -> None:
    with pytest.raises(UnknownName) as error:
        entity_named(world.solr, name)
    assert expected in [thing.name for thing in error.value.suggestions]
    assert expected in str(error.value)


@pytest.mark.parametrize(
    "name",
    [
        *("", "  ", ".", "/no such path", "*", 'a"b', "no~such{thing}[x]^2", "x" * 5_000, "a:b", "\\"),
        *("TO", "a AND", "NOT a", "no_such.OR", "/no/OR", "no) OR (*:*", "/no/a) OR (*:*"),
    ],
)
def test_no_name_breaks_the_query(world: World, name: str) -> None:
    with pytest.raises(UnknownName, match="no entity named"):
        entity_named(world.solr, name)


@pytest.mark.parametrize("name", ["AND", "OR", "NOT", "a) OR (*:*"])
def test_query_keywords_are_ordinary_names(world: World, name: str) -> None:
    table = world.table(name, database="Naming_Words")
    path = world.path(f"/naming/words/{name}")
    world.index()
    assert entity_named(world.solr, f"Naming_Words.`{name}`").id == table.identity
    assert entity_named(world.solr, f"/naming/words/{name}").id == path.identity
    assert table.identity in {each.id for each in candidates_for(world.solr, name).found}
    assert name in {each.own_name for each in suggestions_for(world.solr, name)}


def test_a_source_is_resolved_by_its_id(world: World) -> None:
    assert entity_named(world.solr, world.sources[HDFS].id).type == "SOURCE"
