"""Relations that clients add while extractors write: no change of either side is lost."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from navlin.edit.plugin import write_objects
from navlin.index.people.editing import Author
from navlin.index.schema.fields import RELATIONS
from navlin.index.solr.solr import Solr
from tests.api.test_navigator_plugin import flow, mine, own, related
from tests.support.indexed_estate import World
from tests.support.solr_proxy import Call, SolrProxy

NOW_MS = 1_800_000_000_000


@pytest.fixture
def ns() -> str:
    return f"ns{uuid4().hex[:8]}"


@pytest.fixture
def world(solr: Solr, ns: str) -> World:
    world = World(solr, f"drawn-{ns}")
    world.put(world.hdfs)
    return world


def to_path(world: World, ns: str) -> dict[str, Any]:
    end = {"SourceId": world.hdfs.id, "SourceType": "HDFS", "Type": "DIRECTORY"}
    return flow(
        ns, "DATA_FLOW", mine(ns, "job", "OPERATION"), {**end, "Attributes": [{"fileSystemPath": "/later"}]}
    )


def draw(solr: Solr, world: World, ns: str, at_ms: int = NOW_MS) -> None:
    about = write_objects(solr, [own(ns, "job", "OPERATION")], [to_path(world, ns)], Author("program", at_ms))
    assert [each.errors for each in about] == [{}, {}]


def test_a_relation_written_again_keeps_its_first_seen_time(solr: Solr, world: World, ns: str) -> None:
    draw(solr, world, ns)
    (first,) = related(world, ns)
    draw(solr, world, ns, NOW_MS + 60_000)
    (again,) = related(world, ns)
    for key in ("firstSeen", "unlinked", "unlinkedReason", "unlinkedSince"):
        assert again[key] == first[key]
    assert again["asOf"] == first["asOf"] + 60_000


def test_an_end_arriving_before_the_relation_is_written_is_linked(solr: Solr, world: World, ns: str) -> None:
    arrived: list[bool] = []

    def passes(call: Call) -> bool:
        # Just before the relation is written as unlinked, write its end and link all relations that lack an end.
        if call.core == RELATIONS and call.documents and not arrived:
            arrived.append(True)
            world.link(world.put(world.hdfs, world.entity(world.path("/later"))))
        return True

    with SolrProxy(solr.address, passes) as proxy, Solr(proxy.address) as behind:
        draw(behind, world, ns)

    assert arrived
    (relation,) = related(world, ns)
    assert relation.get("unlinked", False) is False


def test_a_concurrent_write_of_the_relation_is_not_overwritten(solr: Solr, world: World, ns: str) -> None:
    draw(solr, world, ns)
    (first,) = related(world, ns)
    written: list[bool] = []

    def passes(call: Call) -> bool:
        if call.core == RELATIONS and call.documents and not written:
            written.append(True)
            earlier = {**first, "firstSeen": "2020-01-01T00:00:00Z"}
            del earlier["_version_"]
            solr.add(RELATIONS, [earlier])
        return True

    with SolrProxy(solr.address, passes) as proxy, Solr(proxy.address) as behind:
        draw(behind, world, ns, NOW_MS + 1)

    assert written
    (relation,) = related(world, ns)
    assert relation["firstSeen"] == "2020-01-01T00:00:00Z", "the later writing stands on the earlier one"
