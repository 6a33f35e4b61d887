"""Navigator's purge keeps the entities of Sqoop's jobs: an operation whose output is one of them is never removed."""

from __future__ import annotations

import pytest

from linker.purge import purge
from navlin.index.journal.holder import Holder
from navlin.index.solr.solr import Solr
from navlin.model.keys import EntityType, Key
from navlin.model.records import Entity, Relation
from tests.support.indexed_estate import DAY_MS, World
from tests.support.sqoop_jobs import EXPORT, TABLE_IMPORT, extracted
from tests.support.yarn_rounds import NOW_MS, SOURCE

STAGED = "hdfs://ns1/user/etl/_sqoop/f062a2e14f104715af14873c6afdbfbb_orders"
PURGED_MS = NOW_MS + DAY_MS


@pytest.fixture
def world(private_solr: Solr, request: pytest.FixtureRequest) -> World:
    world = World(private_solr, request.node.name)
    world.now_ms = NOW_MS
    return world


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
