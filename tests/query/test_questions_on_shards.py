"""Queries return the same results if the index is on two shards."""

from __future__ import annotations

import pytest

from navlin.index.solr.solr import Solr
from navlin.model.keys import RelationType, operation_key, partition_key
from navlin.query.lineage import lineage
from navlin.query.names import entity_named
from navlin.query.options import WalkOptions
from navlin.query.search import search
from navlin.query.show import show
from tests.support.query_estate import IMPALA, SPARK, World


def drawn(solr: Solr) -> World:
    """Index chains, columns, locations, and a node with more relations than fit on a page."""
    world = World(solr, "sharded")
    tables = [world.table(f"t{number:02}", "c", partitionColNames=["ds"]) for number in range(30)]
    for number in range(29):
        world.operation(
            f"op {number}",
            [tables[number]],
            [tables[number + 1]],
            parts={f"t{number + 1:02}.c": [f"t{number:02}.c"]},
        )
    directory = world.path("/sharded/t15/ds=1")
    world.located(world.entity(partition_key(tables[15], "ds=1")), directory)
    world.operation("by path", [world.path("/sharded/in")], [directory], engine=SPARK)
    heavy = world.table("heavy")
    world.operation("fan", [tables[0]], [heavy])
    for number in range(10_500):
        reader = operation_key(world.source(IMPALA), f"select {number}", ())
        world.relate(RelationType.DATA_FLOW, heavy, reader, writer=IMPALA)
    world.index()
    return world


@pytest.mark.services
def test_every_query_gives_the_same_answer_on_two_shards(solr: Solr, cloud: Solr) -> None:
    alone, sharded = drawn(solr), drawn(cloud)
    for start in ("t00", "t15", "t29", "heavy"):
        for options in (
            WalkOptions(),
            WalkOptions(columns=True, operations=True, deleted=True),
            WalkOptions(depth=2),
        ):
            identity = alone.named(start).identity
            one = lineage(solr, identity, options)
            assert lineage(cloud, identity, options) == one
            assert len(one.nodes) > 1
    assert "fan_out" in {
        cut.reason.value for cut in lineage(cloud, sharded.named("heavy").identity).truncated_at
    }
    query = f"type:DATA_FLOW AND {{!terms f=ep1Ids}}{alone.named('t00').identity}"
    found, found_sharded = (search(each, query, sort="id", fields="identity") for each in (solr, cloud))
    assert found.documents == found_sharded.documents
    assert entity_named(cloud, "db.T15").id == alone.named("t15").identity
    shown, shown_sharded = (show(each, alone.named("heavy").identity).to_json() for each in (solr, cloud))
    assert shown_sharded["relations"] == shown["relations"]


@pytest.mark.services
def test_pages_over_shards_are_complete_and_distinct(cloud: Solr) -> None:
    ids = [document["identity"] for document in search(cloud, "type:DATA_FLOW", limit=500_000).documents]
    assert len(ids) == len(set(ids)) == search(cloud, "type:DATA_FLOW", limit=0).total > 10_000
