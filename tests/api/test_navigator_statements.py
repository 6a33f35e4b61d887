"""Operations that a program identifies only by text before any source reports them, as in examples of Cloudera's
SDK."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from navlin.index.schema.fields import ELEMENTS, RELATIONS
from navlin.index.solr.solr import Solr
from navlin.model.keys import Key, operation_key
from navlin.model.source import HIVE, Source, source_id
from tests.api.test_navigator_plugin import entity, plugin, words
from tests.support.indexed_estate import World
from tests.support.web import Web

TEXT = "select description from sample_08 where salary > 20"


@pytest.fixture
def ns() -> str:
    return f"ns{uuid4().hex[:8]}"


@pytest.fixture
def world(solr: Solr, ns: str) -> World:
    """A metastore with a table, and a source of Hive statements that has not reported any."""
    world = World(solr, f"statements-{ns}")
    world.put(world.hive, world.entity(world.table("shop.orders")))
    return world


def statements(world: World, cluster: str = "") -> Source:
    cluster = cluster or world.cluster
    return Source(source_id(cluster, "HIVE_QUERIES"), HIVE, "HIVE_QUERIES", cluster, claimable=False)


def tagged(world: World, text: str = TEXT, tag: str = "gold") -> dict[str, Any]:
    """The SDK's HiveOperation with tags, in the metastore's source."""
    named = {"sourceId": world.hive.id, "sourceType": "HIVE", "type": "OPERATION", "queryText": text}
    changes = words(description="d")
    return {**named, **changes, "tags": {"add": [], "del": [], "set": [tag]}, "internalType": "hv_query"}


def script(world: World, ns: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a program's custom entity, and the entity's relation to the statement."""
    own = {
        "sourceType": "SDK",
        "namespace": ns,
        "type": "OPERATION",
        "identity": f"{ns}-r2d2",
        "originalName": "r2d2",
    }
    relation = {
        "identity": uuid4().hex,
        "type": "LOGICAL_PHYSICAL",
        "namespace": ns,
        "endpoint1Ids": [f"{ns}-r2d2"],
        "endpoint1Type": "OPERATION",
        "endpoint1SourceType": "SDK",
        "endpoint1SourceId": None,
        "endpoint2Ids": [],
        "endpoint2Type": "OPERATION",
        "endpoint2SourceType": "HIVE",
        "endpoint2SourceId": world.hive.id,
        "ep1Attributes": None,
        "ep2Attributes": [{"queryText": TEXT}],
        "userSpecified": False,
    }
    return own, relation


def write(web: Web, world: World, ns: str) -> None:
    own, relation = script(world, ns)
    assert plugin(web, tagged(world), own, relations=[relation]) == ([], [])


def of_text(world: World) -> list[dict[str, Any]]:
    ids = {each.id for each in (*world.sources, statements(world))}
    found = world.solr.cursor(ELEMENTS, f'queryText:"{TEXT}"', "*", filters=["type:OPERATION"])
    return [each for each in found if each["sourceId"] in ids]


def at_script(world: World, ns: str) -> list[dict[str, Any]]:
    return list(world.solr.cursor(RELATIONS, f'endpoint1Ids:"{ns}-r2d2"', "*"))


def shown(world: World, cluster: str = "", text: str = TEXT) -> Key:
    """Index the statement as an extractor reports it. The operation's id also depends on the tables that the
    statement reads."""
    source = statements(world, cluster)
    operation = operation_key(source, text, (world.table("shop.orders").identity,))
    world.link(world.put(source, world.entity(operation, {"queryText": text})))
    return operation


def test_a_statement_not_yet_run_is_kept_and_updated_in_place(web: Web, world: World, ns: str) -> None:
    for _ in range(2):
        write(web, world, ns)

    (awaited,) = of_text(world)
    there = entity(web, awaited["identity"])
    assert (there["userEntity"], there["tags"], there["description"]) == (True, ["gold"], "d")
    assert (there["sourceType"], there["type"], there["queryText"]) == ("HIVE", "OPERATION", TEXT)
    (relation,) = at_script(world, ns)
    assert relation["endpoint2Ids"] == [awaited["identity"]]
    assert not relation.get("unlinked")


def test_an_extracted_statement_replaces_the_registered_one(web: Web, world: World, ns: str) -> None:
    write(web, world, ns)

    operation = shown(world)

    (only,) = of_text(world)
    assert only["identity"] == operation.identity
    there = entity(web, operation.identity)
    assert (there["tags"], there["description"], there["userEntity"]) == (["gold"], "d", False)
    (relation,) = at_script(world, ns)
    assert (relation["endpoint2Ids"], relation.get("unlinked", False)) == ([operation.identity], False)

    write(web, world, ns)
    world.link(world.put(world.impala))
    assert [each["identity"] for each in of_text(world)] == [operation.identity]
    assert len(at_script(world, ns)) == 1


def test_metadata_already_on_an_extracted_statement_is_kept(web: Web, world: World) -> None:
    source = statements(world)
    assert plugin(web, tagged(world)) == ([], [])
    operation = operation_key(source, TEXT, (world.table("shop.orders").identity,))
    run = world.put(source, world.entity(operation, {"queryText": TEXT}))
    mine = {"description": "mine", "tags": {"add": ["own"]}, "properties": {"add": {"k": "mine"}}}
    assert plugin(web, {"identity": operation.identity, **mine}) == ([], [])

    world.link(run)

    there = entity(web, operation.identity)
    assert (there["description"], there["properties"]) == ("mine", {"k": "mine"})
    assert set(there["tags"]) == {"own", "gold"}


@pytest.mark.parametrize(
    "other",
    [
        {"text": "select description from sample_08 where salary > 21"},
        {"text": TEXT + " limit 1"},
        {"cluster": "other-{cluster}"},
    ],
    ids=["another number", "a longer text", "another cluster"],
)
def test_a_different_statement_takes_over_nothing(
    web: Web, world: World, ns: str, other: dict[str, str]
) -> None:
    write(web, world, ns)
    (awaited,) = of_text(world)

    operation = shown(world, **{key: value.format(cluster=world.cluster) for key, value in other.items()})

    assert entity(web, awaited["identity"])["tags"] == ["gold"]
    assert entity(web, operation.identity)["tags"] is None
    assert [each["endpoint2Ids"] for each in at_script(world, ns)] == [[awaited["identity"]]]


@pytest.mark.services
def test_linking_everything_gives_the_same_result(web: Web, world: World, ns: str) -> None:
    write(web, world, ns)
    source = statements(world)
    operation = operation_key(source, TEXT, (world.table("shop.orders").identity,))
    world.put(source, world.entity(operation, {"queryText": TEXT}))

    world.link(everything=True)

    assert [each["identity"] for each in of_text(world)] == [operation.identity]
    assert entity(web, operation.identity)["tags"] == ["gold"]
