"""The linker's rule `add_locations`: a path with data flow is linked to the table whose location contains it."""

from __future__ import annotations

from typing import Any

import pytest

from linker import RULES
from navlin.index.schema.fields import RELATIONS
from navlin.index.solr.solr import Solr
from navlin.model.keys import EntityType, Key, RelationType, surely_of_table
from navlin.model.records import Entity, Relation
from tests.support.indexed_estate import DAY_MS, World

Records = tuple[Entity | Relation, ...]


@pytest.fixture
def world(solr: Solr, request: pytest.FixtureRequest) -> World:
    return World(solr, request.node.name)


def lying(world: World, table: str | Key, path: str) -> Records:
    """A table or partition, and its location, as the metastore reports them."""
    key = world.table(table) if isinstance(table, str) else table
    return world.entity(key), world.location(key, world.path(path))


def writing(world: World, *paths: str, kind: EntityType = EntityType.DIRECTORY) -> Records:
    operation = world.operation("job " + " ".join(paths), source=world.spark)
    flows = (world.flow(operation, world.path(path, kind)) for path in paths)
    return world.entity(operation), *flows


@pytest.mark.parametrize(
    ("location", "path", "expected"),
    [
        ("/sales/orders", "/sales/orders/ds=1", True),
        ("/sales/orders", "/sales/orders/ds=1/hr=2", True),
        ("/sales/orders", "/sales/orders/ds=2026-01-01 00%3A00", True),
        ("/sales/orders", "/sales/orders/ds=", True),
        ("/sales/orders", "/sales/orders/staging", False),
        ("/sales/orders", "/sales/orders/ds=1/part-00000.parquet", False),
        ("/sales/orders", "/sales/orders/staging/ds=1", False),
        ("/sales/orders", "/sales/orders/=1", False),
        ("/", "/ds=1", True),
        ("/", "/sales", False),
    ],
)
def test_only_partition_directories_below_a_location_are_certain(
    location: str, path: str, *, expected: bool
) -> None:
    assert surely_of_table(location, path) is expected


@pytest.mark.parametrize(
    ("locations", "paths", "expected"),
    [
        pytest.param(
            {"s.orders": "/s/orders"},
            ["/s/orders/ds=1"],
            {("s.orders", "/s/orders/ds=1", "certain")},
            id="k=v",
        ),
        pytest.param(
            {"s.orders": "/s/orders"}, ["/s/orders/x"], {("s.orders", "/s/orders/x", "inferred")}, id="deeper"
        ),
        pytest.param(
            {"s.orders": "/s/orders"}, ["/s/orders"], set(), id="the location itself was said by others"
        ),
        pytest.param(
            {"s.orders": "/s/orders"},
            ["/s/orders_old/ds=1"],
            set(),
            id="another directory with a longer name",
        ),
        pytest.param(
            {"s.orders": "/s/orders"}, ["/s", "/S/ORDERS/ds=1", "/"], set(), id="above, and in other letters"
        ),
        pytest.param({"s.orders": "/s/orders"}, ["/x"], set(), id="no match"),
        pytest.param(
            {"s.outer": "/s", "s.inner": "/s/inner"},
            ["/s/inner/ds=1", "/s/inner", "/s/other"],
            {("s.inner", "/s/inner/ds=1", "certain"), ("s.outer", "/s/other", "inferred")},
            id="the longest of nested locations",
        ),
        pytest.param(
            {"s.a": "/s/shared", "s.b": "/s/shared"},
            ["/s/shared/ds=1"],
            {("s.a", "/s/shared/ds=1", "certain"), ("s.b", "/s/shared/ds=1", "certain")},
            id="two tables on one directory",
        ),
        pytest.param({"s.root": "/"}, ["/x/y"], {("s.root", "/x/y", "inferred")}, id="a table on the root"),
        pytest.param(
            {"s.odd": '/s/o*d (1)[x]\\ä"?&'},
            ['/s/o*d (1)[x]\\ä"?&/ds=1', '/s/oXd (1)[x]\\ä"?&/ds=1'],
            {("s.odd", '/s/o*d (1)[x]\\ä"?&/ds=1', "certain")},
            id="a path with everything in it",
        ),
    ],
)
@pytest.mark.parametrize("first", ["locations", "flows", "together"])
def test_a_path_belongs_to_the_table_with_the_longest_location_in_any_order(
    world: World, locations: dict[str, str], paths: list[str], expected: set[tuple[str, str, str]], first: str
) -> None:
    tables = [record for table, path in locations.items() for record in lying(world, table, path)]
    flows = writing(world, *paths)
    match first:
        case "locations":
            world.link(world.put(world.hive, *tables))
            world.link(world.put(world.spark, *flows))
        case "flows":
            world.link(world.put(world.spark, *flows))
            world.link(world.put(world.hive, *tables))
        case _:
            one, other = world.put(world.hive, *tables), world.put(world.spark, *flows)
            world.link(one)
            world.link(other)
    assert world.added() == expected


def test_reading_and_control_flow_count_like_writing(world: World) -> None:
    world.link(world.put(world.hive, *lying(world, "s.orders", "/s/orders")))
    operation = world.operation("job", source=world.spark)
    read = world.flow(world.path("/s/orders/ds=1"), operation)
    steered = world.flow(world.path("/s/orders/ds=2"), operation, RelationType.CONTROL_FLOW)

    world.link(world.put(world.spark, world.entity(operation), read, steered))

    assert {path for _, path, _ in world.added()} == {"/s/orders/ds=1", "/s/orders/ds=2"}


def test_a_path_without_flow_is_left_alone(world: World) -> None:
    world.link(world.put(world.hive, *lying(world, "s.orders", "/s/orders")))
    world.link(world.put(world.hdfs, *[world.entity(world.path(f"/s/orders/ds={day}")) for day in range(3)]))

    assert world.added() == set()


def test_a_path_on_another_file_system_does_not_belong_to_the_table(world: World) -> None:
    world.link(world.put(world.hive, *lying(world, "s.orders", "/s/orders")))
    operation = world.operation("job", source=world.spark)
    elsewhere = world.flow(operation, world.path("/s/orders/ds=1", source=world.other_hdfs))

    world.link(world.put(world.spark, world.entity(operation), elsewhere))

    assert world.added() == set()


def test_a_partition_outside_its_table_has_its_own_paths(world: World) -> None:
    moved = world.partition("s.orders", "ds=1")
    world.link(
        world.put(world.hive, *lying(world, "s.orders", "/s/orders"), *lying(world, moved, "/archive/o1"))
    )

    world.link(
        world.put(world.spark, *writing(world, "/archive/o1/hr=1", "/archive/o2", "/s/orders/ds=1/hr=2"))
    )

    assert world.added() == {
        ("s.orders.ds=1", "/archive/o1/hr=1", "certain"),
        ("s.orders", "/s/orders/ds=1/hr=2", "certain"),
    }


def test_a_known_file_stays_a_file(world: World) -> None:
    world.link(world.put(world.hive, *lying(world, "s.orders", "/s/orders")))
    world.link(world.put(world.spark, *writing(world, "/s/orders/f", kind=EntityType.FILE)))
    world.link(world.put(world.spark, *writing(world, "/s/orders/f", "/s/orders/g")))

    types = {d["endpoint2Name"]: d["endpoint2Type"] for d in world.documents(RELATIONS) if d.get("rule")}
    assert types == {"/s/orders/f": "FILE", "/s/orders/g": "DIRECTORY"}


def test_the_linkers_relation_names_its_writer_and_waits_for_its_ends(world: World) -> None:
    table, location = lying(world, "s.orders", "/s/orders")
    world.link(world.put(world.hive, table, location))
    world.put(world.hdfs)
    world.link(world.put(world.spark, *writing(world, "/s/orders/ds=1")))

    def added() -> dict[str, Any]:
        [relation] = [document for document in world.documents(RELATIONS) if document.get("rule")]
        return relation

    assert (added()["writer"], added()["deleted"], added()["type"]) == ("linker", False, "LOGICAL_PHYSICAL")
    assert (added()["unlinked"], added()["unlinkedReason"]) == (True, "not in HDFS-1 yet")

    world.link(world.put(world.hdfs, world.entity(world.path("/s/orders/ds=1"))))
    assert added()["unlinked"] is False
    assert "unlinkedReason" not in added()


def test_the_ends_of_a_sources_relation_are_not_rewritten(world: World) -> None:
    flows = writing(world, "/s/orders/ds=1")
    flow = flows[1]
    assert isinstance(flow, Relation)
    world.link(world.put(world.spark, *flows))
    before = world.relation(world.spark, flow)

    world.link(world.put(world.hive, *lying(world, "s.orders", "/s/orders")))

    after = world.relation(world.spark, flow)
    assert {name: after[name] for name in after if name.startswith("endpoint")} == {
        name: before[name] for name in before if name.startswith("endpoint")
    }


class TestChangingHands:
    """A path is linked to the table whose location contains it now, after locations of tables have changed."""

    def test_a_moved_table_loses_its_old_paths_and_gets_its_new_ones(self, world: World) -> None:
        table, old = lying(world, "s.orders", "/s/old")
        _, new = lying(world, "s.orders", "/s/new")
        world.link(world.put(world.hive, table, old))
        world.link(world.put(world.spark, *writing(world, "/s/old/ds=1", "/s/new/ds=1")))
        assert world.added() == {("s.orders", "/s/old/ds=1", "certain")}

        assert isinstance(old, Relation)
        moved = world.put(world.hive, new)
        world.link(moved, world.drop(world.hive, old))

        assert world.added() == {("s.orders", "/s/new/ds=1", "certain")}

    def test_another_table_at_the_same_location_takes_over(self, world: World) -> None:
        dropped, location = lying(world, "s.old", "/s/here")
        world.link(world.put(world.hive, dropped, location))
        world.link(world.put(world.spark, *writing(world, "/s/here/ds=1")))

        assert isinstance(dropped, Entity)
        gone = world.drop(world.hive, dropped.key)
        world.link(gone)
        assert world.added() == {("s.old", "/s/here/ds=1", "certain")}, "where a dropped table lay is history"

        world.link(world.put(world.hive, *lying(world, "s.new", "/s/here")))
        assert world.added() == {("s.new", "/s/here/ds=1", "certain")}

    def test_the_outer_table_takes_over_when_the_inner_one_is_dropped(self, world: World) -> None:
        inner, location = lying(world, "s.inner", "/s/outer/inner")
        world.link(world.put(world.hive, *lying(world, "s.outer", "/s/outer"), inner, location))
        world.link(world.put(world.spark, *writing(world, "/s/outer/inner/ds=1")))
        assert world.added() == {("s.inner", "/s/outer/inner/ds=1", "certain")}

        assert isinstance(inner, Entity)
        world.link(world.drop(world.hive, inner.key))
        assert world.added() == {("s.outer", "/s/outer/inner/ds=1", "inferred")}

        world.now_ms += DAY_MS
        world.link(world.put(world.hive, world.entity(inner.key)))
        assert world.added() == {("s.inner", "/s/outer/inner/ds=1", "certain")}, (
            "and back when it is there again"
        )

    def test_a_new_inner_location_takes_the_paths_below_it(self, world: World) -> None:
        world.link(world.put(world.hive, *lying(world, "s.outer", "/s")))
        world.link(world.put(world.spark, *writing(world, "/s/in/ds=1", "/s/in", "/s/out")))

        world.link(world.put(world.hive, *lying(world, "s.inner", "/s/in")))

        assert world.added() == {("s.inner", "/s/in/ds=1", "certain"), ("s.outer", "/s/out", "inferred")}

    def test_a_path_is_unlinked_when_its_last_flow_is_withdrawn(self, world: World) -> None:
        world.link(world.put(world.hive, *lying(world, "s.orders", "/s/orders")))
        _, one = writing(world, "/s/orders/ds=1")
        *_, other = writing(world, "/x", "/s/orders/ds=1")
        world.link(world.put(world.spark, one, other))
        assert isinstance(one, Relation)
        assert isinstance(other, Relation)

        world.link(world.drop(world.spark, one))
        assert len(world.added()) == 1

        world.link(world.drop(world.spark, other))
        assert world.added() == set()


class TestHints:
    """Engines report the locations of tables that they use; the location reported by a table's metastore takes
    precedence.
    """

    def test_a_hint_counts_until_the_tables_source_gives_a_location(self, world: World) -> None:
        world.link(world.put(world.impala, world.location(world.table("s.orders"), world.path("/s/hinted"))))
        world.link(world.put(world.spark, *writing(world, "/s/hinted/ds=1", "/s/orders/ds=1")))
        assert world.added() == {("s.orders", "/s/hinted/ds=1", "certain")}

        world.link(world.put(world.hive, *lying(world, "s.orders", "/s/orders")))
        assert world.added() == {("s.orders", "/s/orders/ds=1", "certain")}

    def test_a_late_hint_changes_nothing(self, world: World) -> None:
        world.link(world.put(world.hive, *lying(world, "s.orders", "/s/orders")))
        world.link(world.put(world.spark, *writing(world, "/s/hinted/ds=1", "/s/orders/ds=1")))

        world.link(world.put(world.impala, world.location(world.table("s.orders"), world.path("/s/hinted"))))

        assert world.added() == {("s.orders", "/s/orders/ds=1", "certain")}

    def test_without_a_metastore_hints_are_used(self, solr: Solr) -> None:
        world = World(solr, "only hints", configured=False)
        world.link(world.put(world.impala, world.location(world.table("s.orders"), world.path("/s/orders"))))
        world.link(world.put(world.spark, *writing(world, "/s/orders/ds=1")))

        assert world.added() == {("s.orders", "/s/orders/ds=1", "certain")}


def story(world: World) -> list[tuple[str, Any, tuple[Any, ...]]]:
    """Steps as (action, source, records). Together they leave documents of every kind."""
    orders, at_old = lying(world, "s.orders", "/s/old")
    _, at_new = lying(world, "s.orders", "/s/new")
    temp, temp_at = lying(world, "s.temp", "/s/temp")
    hint = world.location(world.table("s.never_seen"), world.path("/s/hint"))
    job = writing(
        world, "/s/old/ds=1", "/s/new/ds=1", "/s/new/x", "/s/temp/ds=1", "/s/hint/ds=1", "/s/two/ds=1"
    )
    *_, withdrawn = writing(world, "/s/other", "/s/new/ds=9")
    assert isinstance(temp, Entity)
    return [
        ("put", world.hdfs, (world.entity(world.path("/s/new/ds=1")),)),
        ("put", world.spark, (*job, withdrawn)),
        ("put", world.hive, (orders, at_old, temp, temp_at, *lying(world, "s.two", "/s/two"))),
        ("put", world.impala, (hint, world.location(world.table("s.orders"), world.path("/s/old")))),
        ("put", world.hive, (at_new, *lying(world, "s.three", "/s/two"))),
        ("drop", world.hive, (at_old, temp.key)),
        ("drop", world.spark, (withdrawn,)),
    ]


def send(world: World, *, linking: bool) -> None:
    for what, source, records in story(world):
        run = world.put(source, *records) if what == "put" else world.drop(source, *records)
        if linking:
            world.link(run)


def test_linking_everything_equals_the_incremental_result(world: World) -> None:
    send(world, linking=True)
    increments = world.index()
    versions = world.versions()
    assert world.added() == {
        ("s.orders", "/s/new/ds=1", "certain"),
        ("s.orders", "/s/new/x", "inferred"),
        ("s.temp", "/s/temp/ds=1", "certain"),
        ("s.never_seen", "/s/hint/ds=1", "certain"),
        ("s.two", "/s/two/ds=1", "certain"),
        ("s.three", "/s/two/ds=1", "certain"),
    }

    world.link(everything=True)
    assert world.versions() == versions, "on top of the increments there is nothing left to do"

    world.clear()
    send(world, linking=False)
    world.link(everything=True)
    assert world.index() == increments


@pytest.mark.services
def test_linking_everything_repairs_wrong_relations(world: World) -> None:
    send(world, linking=True)
    right = world.index()
    added = [document for document in world.documents(RELATIONS) if document.get("rule")]
    stray = {**added[0], "identity": "0" * 32, "endpoint1Ids": ["f" * 32], "_version_": -1}
    world.solr.delete_ids(RELATIONS, [added[1]["identity"]])
    world.solr.add(RELATIONS, [stray, {**added[2], "endpoint1Name": "x.y"}])
    world.commit()
    assert world.index() != right

    world.link(everything=True)

    assert world.index() == right


@pytest.mark.services
def test_linking_twice_changes_nothing(world: World) -> None:
    runs = []
    for what, source, records in story(world):
        runs.append(world.put(source, *records) if what == "put" else world.drop(source, *records))
    assert world.link(*runs)["add_locations"] == 6
    before = world.versions()

    world.now_ms += DAY_MS
    assert world.link(*runs) == dict.fromkeys((each.__name__ for each in RULES), 0)
    assert world.versions() == before


@pytest.mark.services
def test_many_new_locations_are_matched_with_few_flows(world: World) -> None:
    world.link(world.put(world.spark, *writing(world, "/s/t7/ds=1")))

    many = [record for number in range(30) for record in lying(world, f"s.t{number}", f"/s/t{number}")]
    world.link(world.put(world.hive, *many))

    assert world.added() == {("s.t7", "/s/t7/ds=1", "certain")}
