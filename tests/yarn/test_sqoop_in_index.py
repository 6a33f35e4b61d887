"""Sqoop's records in a real index: the way from a database's table to a Hive table and back, and purge.

Navigator's purge keeps the entities of Sqoop's jobs: an operation whose output is one of them is never removed.
"""

from __future__ import annotations

from typing import Any

import pytest

from linker.purge import purge
from navlin.index.journal.holder import Holder
from navlin.index.solr.solr import Solr
from navlin.model.keys import EntityType, Key
from navlin.model.records import Entity, Relation
from navlin.query.lineage import lineage
from navlin.query.options import WalkOptions
from tests.support.indexed_estate import DAY_MS, World
from tests.support.sqoop_jobs import EXPORT, TABLE_IMPORT, extracted
from tests.support.yarn_rounds import NOW_MS, SOURCE

STAGED = "hdfs://ns1/user/etl/_sqoop/f062a2e14f104715af14873c6afdbfbb_orders"
PURGED_MS = NOW_MS + DAY_MS


@pytest.fixture
def world(private_solr: Solr) -> World:
    # Same cluster as in `tests.support.yarn_rounds`, so the file system and the metastore are the same sources.
    world = World(private_solr, "c")
    world.now_ms = NOW_MS
    return world


def records_of(*configurations: dict[str, Any]) -> list[Entity | Relation]:
    return [each for each in extracted(*configurations).records if isinstance(each, Entity | Relation)]


def test_a_table_leads_to_the_hive_table_that_lies_in_its_directory_and_back(world: World) -> None:
    table, directory = world.table("mart.orders"), world.path("/data/orders")
    back = EXPORT | {"mapreduce.input.fileinputformat.inputdir": "hdfs://ns1/data/orders"}
    runs = [
        world.put(SOURCE, *records_of(TABLE_IMPORT, back)),
        world.put(
            world.hive,
            world.entity(table),
            world.entity(world.column("mart.orders.id")),
            world.location(table, directory),
        ),
        world.put(world.hdfs, world.entity(directory)),
    ]
    world.link(*runs)

    answer = lineage(world.solr, table.identity, WalkOptions())

    names = {node.id: node.name for node in answer.nodes}
    signs = {"DATA_FLOW": "->", "LOGICAL_PHYSICAL": "="}
    assert {f"{names[each.source]} {signs[each.type]} {names[each.target]}" for each in answer.edges} == {
        "shop.public.orders -> mart.orders",
        "mart.orders -> shop.public.totals",
    }
    column = lineage(world.solr, world.column("mart.orders.id").identity, WalkOptions())
    assert "shop.public.orders.id" in {node.name for node in column.nodes}


def test_imports_and_exports_stay_while_what_has_no_output_ages(world: World) -> None:
    append = TABLE_IMPORT | {"mapreduce.output.fileoutputformat.outputdir": STAGED}
    records = [
        each
        for each in extracted(TABLE_IMPORT, EXPORT, append).records
        if isinstance(each, Entity | Relation)
    ]
    world.put(SOURCE, *records)

    purge(
        world.solr,
        PURGED_MS,
        holder=Holder("here", 1, "today"),
        lives=lambda _: True,
        clock=lambda: PURGED_MS + DAY_MS,
    )

    ends = {
        end.identity: end
        for each in records
        if isinstance(each, Relation)
        for end in (each.ep1, each.ep2)
        if end.type is EntityType.DATASET
    }
    sqoop = [
        each
        for each in records
        if isinstance(each, Entity) and str(each.attributes["internalType"]).startswith("sqoop_")
    ]
    kept = {
        (each.key.type, each.key.name, bool(each.attributes["outputs"]))
        for each in sqoop
        if stays(world, each.key)
    }
    assert {each for each in kept if each[0] is EntityType.OPERATION} == {
        (EntityType.OPERATION, "import of shop.public.orders", True),
        (EntityType.OPERATION, "export to shop.public.totals", True),
    }
    assert not [each for each in kept if each[0] is EntityType.OPERATION_EXECUTION]
    assert [stays(world, each) for each in ends.values()] == [True, True]


def stays(world: World, key: Key) -> bool:
    return world.entity_of(key) is not None
