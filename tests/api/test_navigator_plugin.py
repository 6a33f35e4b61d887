"""Metadata written by programs through Cloudera's SDK: on present and future entities, and custom entities and
relations."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from linker.purge import purge
from navlin.edit.plugin import MOST_ENDS, write_objects
from navlin.index.people.editing import Author
from navlin.index.people.user_entities import SDK_SOURCE
from navlin.index.schema.fields import ELEMENTS, RELATIONS
from navlin.index.solr.solr import Solr
from navlin.model.keys import EntityType, Key, database_key, pig_execution_key
from navlin.model.source import PIG, Source, source_id
from tests.api.test_navigator_edits import models
from tests.support.indexed_estate import DAY_MS, World
from tests.support.web import Web

if TYPE_CHECKING:
    from tests.support.pipeline_estate import SmallEstate

V = "/api/v9"


@pytest.fixture
def world(solr: Solr) -> World:
    """shop.orders with a column, a directory, and an Impala operation are indexed; all other entities exist only in
    their source systems."""
    world = World(solr, f"plugin-{uuid4().hex[:6]}")
    world.put(
        world.hive, world.entity(world.table("shop.orders")), world.entity(world.column("shop.orders.id"))
    )
    world.put(world.hdfs, world.entity(world.path("/data/orders")))
    operation = world.operation("select 1")
    world.put(world.impala, world.entity(operation, {"queryText": "select 1"}))
    return world


@pytest.fixture
def ns() -> str:
    return f"ns{uuid4().hex[:8]}"


def plugin(
    web: Web, *entities: Any, relations: Any = (), autocommit: bool = False
) -> tuple[list[str], list[str]]:
    """Send objects as the SDK does. Return the errors about entities and about relations."""
    body = {"entities": list(entities), "relations": list(relations), "autocommit": autocommit}
    answer = web.send("POST", f"{V}/metadata/plugin", "editor", json=body)
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/json"), (
        answer.text,
        web.log[-1],
    )
    told = answer.json()
    assert told.keys() == {"entities", "relations"}, "the SDK's reader fails on other keys"
    for key, sent in (("entities", entities), ("relations", relations)):
        assert told[key].keys() == {"count", "errors"}
        assert told[key]["count"] == len(sent) - len(told[key]["errors"])
    return told["entities"]["errors"], told["relations"]["errors"]


def entity(web: Web, identity: str) -> Any:
    answer = web.get(f"{V}/entities/{identity}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def words(**more: Any) -> dict[str, Any]:
    """Metadata fields as the SDK fills them in."""
    return {
        "tags": {"add": ["gold"], "del": [], "set": None},
        "properties": {"add": {"k": "v"}, "del": [], "set": None},
        "deleted": False,
        **more,
    }


# -- Entities that a client can name -----------------------------------------------------------------------------------


def pig(world: World) -> Source:
    return Source(source_id(world.cluster, "pig"), PIG, "pig", world.cluster, configured=False)


def pig_operation(world: World) -> Key:
    parent = pig_execution_key(pig(world), "s", "job", "hash").parent
    assert parent is not None
    return parent


NAMED: dict[str, Callable[[World], tuple[Key, dict[str, Any]]]] = {
    "a directory": lambda w: (
        w.path("/user/x"),
        {"sourceId": w.hdfs.id, "sourceType": "HDFS", "type": "DIRECTORY", "fileSystemPath": "/user/x"},
    ),
    "a file": lambda w: (
        w.file("/user/x/part-0"),
        {"sourceId": w.hdfs.id, "type": "FILE", "fileSystemPath": "/user/x/part-0"},
    ),
    "a file by its URI": lambda w: (
        w.file("/user/x"),
        {"sourceId": w.hdfs.id, "type": "FILE", "fileSystemPath": "hdfs://ns1/user//x/"},
    ),
    "a database": lambda w: (
        database_key(w.hive, "shop"),
        {"sourceId": w.hive.id, "sourceType": "HIVE", "type": "DATABASE", "databaseName": "SHOP"},
    ),
    "a table": lambda w: (
        w.table("shop.later"),
        {"sourceId": w.hive.id, "type": "TABLE", "databaseName": "shop", "tableName": "Later"},
    ),
    "a view": lambda w: (
        w.table("shop.v", EntityType.VIEW),
        {"sourceId": w.hive.id, "type": "VIEW", "databaseName": "shop", "tableName": "v"},
    ),
    "a column": lambda w: (
        w.column("shop.later.id"),
        {
            "sourceId": w.hive.id,
            "type": "FIELD",
            "databaseName": "shop",
            "tableName": "later",
            "columnName": "ID",
        },
    ),
    "a table that calls itself by its original name": lambda w: (
        w.table("shop.older"),
        {
            "identity": w.table("shop.older").identity,
            "sourceId": w.hive.id,
            "sourceType": "HIVE",
            "type": "TABLE",
            "databaseName": "shop",
            "originalName": "older",
        },
    ),
    "a column that calls itself by its original name": lambda w: (
        w.column("shop.older.id"),
        {
            "identity": w.column("shop.older.id").identity,
            "sourceId": w.hive.id,
            "type": "FIELD",
            "databaseName": "shop",
            "tableName": "older",
            "originalName": "id",
        },
    ),
    "a table that is there": lambda w: (
        w.table("shop.orders"),
        {"sourceId": w.hive.id, "type": "TABLE", "databaseName": "SHOP", "tableName": "ORDERS"},
    ),
    "an operation by its text": lambda w: (
        w.operation("select 1"),
        {"sourceId": w.impala.id, "sourceType": "IMPALA", "type": "OPERATION", "queryText": "select\n 1"},
    ),
    "a script of Pig": lambda w: (
        pig_operation(w),
        {"sourceType": "PIG", "type": "OPERATION", "jobName": "job", "logicalPlanHash": "hash"},
    ),
    "a run of Pig": lambda w: (
        pig_execution_key(pig(w), "s-1", "job", "hash"),
        {"sourceType": "PIG", "type": "OPERATION_EXECUTION", "jobName": "job", "scriptId": "s-1"},
    ),
    "an identity alone": lambda w: (w.table("shop.orders"), {"identity": w.table("shop.orders").identity}),
}
"""case → (the key made by the extractor, the attributes sent by a client)"""


@pytest.mark.parametrize("what", NAMED)
def test_every_nameable_entity_gets_metadata_under_its_extractors_id(
    web: Web, world: World, what: str
) -> None:
    key, named = NAMED[what](world)
    before = world.solr.get(ELEMENTS, [key.identity])

    assert plugin(web, {**named, **words(description="d")}) == ([], [])

    there = entity(web, key.identity)
    assert (there["tags"], there["properties"], there["description"]) == (["gold"], {"k": "v"}, "d")
    assert there["type"] == key.type
    assert there["userEntity"] is not bool(before), "what its source has not shown yet"
    assert entity(web, there["sourceId"])["type"] == "SOURCE"
    if not before:
        assert there["originalName"].upper() == key.name.upper()
        assert there["sourceType"] == key.source.type


@pytest.mark.parametrize("what", [each for each in NAMED if "Pig" not in each])
def test_later_extraction_takes_over_a_registered_entity(web: Web, world: World, what: str) -> None:
    key, named = NAMED[what](world)
    assert plugin(web, {**named, **words(description="d")}) == ([], [])

    world.put(key.source, world.entity(key, {"owner": "etl"}))

    there = entity(web, key.identity)
    assert (there["owner"], there["description"], there["tags"]) == ("etl", "d", ["gold"])
    assert there["userEntity"] is False
    stored = world.entity_of(key)
    assert stored is not None
    assert not stored.get("granted")
    if key.parent is not None:
        ends = [f"endpoint1Ids:{key.parent.identity}", f"endpoint2Ids:{key.identity}"]
        assert world.solr.count(RELATIONS, " AND ".join(ends)) == 1


def test_a_post_to_entities_registers_the_same(web: Web, world: World) -> None:
    bodies: dict[str, dict[str, Any]] = {
        world.table("shop.later").identity: {"type": "TABLE", "parentPath": "/shop", "originalName": "later"},
        world.column("shop.later.id").identity: {
            "type": "FIELD",
            "parentPath": "/shop/later",
            "originalName": "id",
        },
        database_key(world.hive, "shop").identity: {
            "type": "DATABASE",
            "parentPath": None,
            "originalName": "shop",
        },
    }
    for identity, body in bodies.items():
        sent = {**body, "sourceId": world.hive.id, "tags": ["early"], "properties": {"a": "b"}}
        answer = web.send("POST", f"{V}/entities", "editor", json=sent)
        assert answer.status_code == 200, answer.text
        assert (answer.json()["identity"], answer.json()["tags"]) == (identity, ["early"])
    folder = {"sourceId": world.hdfs.id, "type": "FILE", "parentPath": "/a", "originalName": "b", "name": "B"}
    answer = web.send("POST", f"{V}/entities", "editor", json=folder)
    assert answer.json()["identity"] == world.file("/a/b").identity
    assert web.send("POST", f"{V}/entities", "viewer", json=folder).status_code == 403
    unfit: list[Any] = [{}, [], {**folder, "sourceId": "x"}, {**folder, "name": 7}, {"identity": "x"}]
    for bad in unfit:
        assert web.send("POST", f"{V}/entities", "editor", json=bad).status_code == 400


def test_a_post_without_a_type_takes_it_from_the_source(web: Web, world: World) -> None:
    there = world.file("/data/orders/part-0")
    world.put(world.hdfs, world.entity(there))
    posted = {
        ("/data", "later", world.hdfs.id): world.path("/data/later"),
        ("/data/orders", "part-0", world.hdfs.id): there,
        ("/shop", "later", world.hive.id): world.table("shop.later"),
        ("/shop/later", "id", world.hive.id): world.column("shop.later.id"),
    }
    for (above, name, source), key in posted.items():
        body = {"sourceId": source, "parentPath": above, "originalName": name, "tags": ["early"]}
        answer = web.send("POST", f"{V}/entities/", "editor", json=body)
        assert answer.status_code == 200, answer.text
        named = answer.json()
        assert (named["identity"], named["type"], named["tags"]) == (key.identity, key.type, ["early"])
    arrived = world.file("/data/later")
    world.put(world.hdfs, world.entity(arrived))
    assert entity(web, arrived.identity)["type"] == "FILE", "its own source knows better"
    assert entity(web, arrived.identity)["tags"] == ["early"]


def test_a_client_computed_identity_equals_that_of_its_names(web: Web, world: World, ns: str) -> None:
    key = world.path("/computed")
    named = {
        "sourceId": world.hdfs.id,
        "sourceType": "HDFS",
        "type": "DIRECTORY",
        "fileSystemPath": "/computed",
    }
    assert plugin(web, {"identity": key.identity, **named, "name": "early"}) == ([], [])
    assert entity(web, key.identity)["name"] == "early"
    errors, _ = plugin(web, {"identity": "another", **named})
    assert errors == ["0 : there is no entity another"]
    query = own(ns, "statement", "OPERATION", queryText="select 1 from mine")
    assert plugin(web, query) == ([], [])
    assert entity(web, query["identity"])["queryText"] == "select 1 from mine"


BAD_ENTITIES: dict[str, tuple[Any, str]] = {
    "no object": ("x", "object"),
    "nobody": ({}, "identity"),
    "an identity that is not there": ({"identity": "nobody"}, "there is no entity nobody"),
    "no source": ({"type": "TABLE", "databaseName": "a"}, "sourceId"),
    "a source that is not there": ({"sourceId": "s", "databaseName": "a"}, "there is no source s"),
    "a path of a metastore": ({"sourceId": "<hive>", "fileSystemPath": "/a"}, "of type HIVE"),
    "a table of HDFS": ({"sourceId": "<hdfs>", "databaseName": "a"}, "of type HDFS"),
    "a column without a table": (
        {"sourceId": "<hive>", "databaseName": "a", "columnName": "c"},
        "tableName",
    ),
    "a name that is no text": ({"sourceId": "<hive>", "databaseName": ["a"]}, "databaseName must be a text"),
    "a statement of HDFS": ({"sourceId": "<hdfs>", "queryText": "select 2"}, "of type HDFS"),
    "an entity of one's own without a type": (
        {"sourceType": "SDK", "namespace": "n", "identity": "i"},
        "type",
    ),
    "of a type that is none": (
        {"sourceType": "SDK", "namespace": "n", "identity": "i", "type": "DRAGON"},
        "is not one of",
    ),
    "a source of one's own": (
        {"sourceType": "SDK", "namespace": "n", "identity": "i", "type": "SOURCE"},
        "type",
    ),
    "without a namespace": ({"sourceType": "SDK", "identity": "i", "type": "TABLE"}, "namespace"),
    "without any name": ({"sourceType": "SDK", "namespace": "n", "type": "TABLE"}, "originalName"),
    "a date that is none": (
        {"sourceType": "SDK", "namespace": "n", "identity": "i", "type": "TABLE", "created": "soon"},
        "created must be a date",
    ),
    "a size that is none": (
        {"sourceType": "SDK", "namespace": "n", "identity": "i", "type": "FILE", "size": "big"},
        "size must be a whole number",
    ),
    "tags that are no change set": ({"identity": "<orders>", "tags": ["a"]}, "change set"),
    "properties that are no object": ({"identity": "<orders>", "properties": {"add": ["a"]}}, "object"),
    "a long name": ({"identity": "<orders>", "name": "x" * 501}, "characters"),
}


def test_an_invalid_object_is_reported_and_the_others_are_written(web: Web, world: World) -> None:
    placed = {
        "<hive>": world.hive.id,
        "<hdfs>": world.hdfs.id,
        "<impala>": world.impala.id,
        "<orders>": world.table("shop.orders").identity,
    }
    bad: list[Any] = [
        {key: placed.get(value, value) if isinstance(value, str) else value for key, value in given.items()}
        if isinstance(given, dict)
        else given
        for given, _ in BAD_ENTITIES.values()
    ]
    good = {"identity": world.table("shop.orders").identity, "description": "good"}

    errors, _ = plugin(web, *bad, good)

    assert len(errors) == len(bad)
    for number, (told, (what, (_, expected))) in enumerate(zip(errors, BAD_ENTITIES.items(), strict=True)):
        assert told.startswith(f"{number} : "), what
        assert expected in told, what
    assert entity(web, good["identity"])["description"] == "good"
    bodies: list[Any] = [[], {"entities": {}}, {"entities": [{}] * 10_001}]
    for body in bodies:
        assert web.send("POST", f"{V}/metadata/plugin", "editor", json=body).status_code == 400
    assert web.send("POST", f"{V}/metadata/plugin", "viewer", json={}).status_code == 403
    assert plugin(web) == ([], [])


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"add": ["c"], "del": [], "set": None}, ["a", "b", "c"]),
        ({"add": ["c"], "del": ["a"]}, ["b", "c"]),
        ({"add": ["x", "y"], "del": ["y"], "set": ["x", "y"]}, ["x"]),
        ({"set": []}, None),
        ({"add": [], "del": [], "set": None}, ["a", "b"]),
        (None, ["a", "b"]),
    ],
    ids=str,
)
def test_change_sets_apply_set_then_add_then_del(web: Web, world: World, change: Any, expected: Any) -> None:
    identity = world.table("shop.orders").identity
    assert plugin(web, {"identity": identity, "tags": {"set": ["a", "b"]}}) == ([], [])
    before = entity(web, identity)
    nulls = dict.fromkeys(("name", "description", "properties", "customProperties", "owner"))
    assert plugin(web, {"identity": identity, "tags": change, **nulls}) == ([], [])
    assert entity(web, identity) == {**before, "tags": expected}, "null is untouched"


def test_properties_have_change_sets_and_repeated_objects_apply_in_order(web: Web, world: World) -> None:
    identity = world.table("shop.orders").identity
    first = {"identity": identity, "properties": {"set": {"a": "1", "b": "2"}}, "tags": {"add": ["x"]}}
    second = {"identity": identity, "properties": {"add": {"c": "3"}, "del": ["a"]}, "tags": {"add": ["y"]}}
    assert plugin(web, first, second) == ([], [])
    there = entity(web, identity)
    assert (there["properties"], there["tags"]) == ({"b": "2", "c": "3"}, ["x", "y"])


def test_registered_properties_are_validated_as_in_the_sdks_examples(web: Web, world: World, ns: str) -> None:
    prop = {"name": "group", "type": "ENUM", "enumValues": ["INFRA"]}
    assert web.send("POST", f"{V}/models", "editor", json=models(ns, prop)).status_code == 200
    identity = world.table("shop.orders").identity
    errors, _ = plugin(web, {"identity": identity, "customProperties": {ns: {"group": "Random Group"}}})
    assert errors == ["0 : Random Group is not one of [INFRA]"]
    assert plugin(web, {"identity": identity, "customProperties": {ns: {"group": "INFRA"}}}) == ([], [])
    assert plugin(web, {"identity": identity, "customProperties": {ns: {"group": None}}}) == ([], [])
    assert entity(web, identity)["customProperties"] == {ns: {"group": "INFRA"}}


ODD: tuple[Any, ...] = (
    0,
    -1.5,
    True,
    "",
    "\0",
    "a\nb",
    [],
    [None],
    [[]],
    ["a", 1],
    {},
    {"a": None},
    {"a": {"b": []}},
)
"""Values that hardly any key of a request accepts."""


def test_no_value_causes_more_than_an_error_of_its_object(web: Web, world: World, ns: str) -> None:
    orders = {"identity": world.table("shop.orders").identity, **words(description="d", name="n")}
    named = {"sourceId": world.hive.id, "sourceType": "HIVE", "type": "TABLE", "databaseName": "shop"}
    report = own(
        ns, "odd", "DATASET", owner="a", created=1, size=1, compressed=True, inputs=["a"], tableName="t"
    )
    pig = {"sourceType": "PIG", "type": "OPERATION", "jobName": "j", "logicalPlanHash": "h", "scriptId": "s"}
    column = {**named, "tableName": "t", "columnName": "c", "customProperties": {}}
    flat: list[dict[str, Any]] = [orders, named, report, pig, column]
    entities = [{**each, key: odd} for each in flat for key in each for odd in ODD]
    nested: dict[str, dict[str, Any]] = {
        "tags": {"add": ["a"], "del": ["b"], "set": ["c"]},
        "properties": {"add": {"a": "b"}, "del": ["c"], "set": {}},
        "customProperties": {ns: {"p": "x"}},
    }
    for outer, inner in nested.items():
        entities += [{**orders, outer: {**inner, key: odd}} for key in inner for odd in ODD]
    relation = flow(ns, "DATA_FLOW", mine(ns, "a", "DATASET"), mine(ns, "b", "DATASET"))
    relations = [{**relation, key: odd} for key in relation for odd in ODD]
    relations += [{**relation, "endpoint1Ids": None, "ep1Attributes": [odd]} for odd in ODD]
    sent: dict[str, list[Any]] = {"entities": [*entities, *ODD], "relations": [*relations, *ODD]}
    answer = web.send("POST", f"{V}/metadata/plugin", "editor", data=json.dumps(sent))
    assert answer.status_code == 200, (answer.text, web.log[-1])
    for key, objects in sent.items():
        assert answer.json()[key]["count"] + len(answer.json()[key]["errors"]) == len(objects)


# -- Custom entities and relations -------------------------------------------------------------------------------------


def own(ns: str, name: str, kind: str, **more: Any) -> dict[str, Any]:
    """An entity as the SDK's CustomLineageCreator sends it."""
    return {
        "identity": f"{ns}-{name}",
        "sourceType": "SDK",
        "type": kind,
        "namespace": ns,
        "originalName": name,
        "internalType": "stetson",
        "metaClassName": "stetson",
        **words(),
        **more,
    }


def flow(ns: str, kind: str, ep1: dict[str, Any], ep2: dict[str, Any]) -> dict[str, Any]:
    """A relation as the SDK sends it: with a new identity each time, and nulls for unused keys."""
    ends = {f"endpoint1{key}": value for key, value in ep1.items()} | {
        f"endpoint2{key}": value for key, value in ep2.items()
    }
    named = {f"ep{number}Attributes": ends.pop(f"endpoint{number}Attributes", None) for number in (1, 2)}
    empty = {f"endpoint{number}{key}": None for number in (1, 2) for key in ("Ids", "SourceId")}
    return {
        "identity": str(uuid4()),
        "type": kind,
        "namespace": ns,
        "userSpecified": False,
        **empty,
        **ends,
        **named,
    }


def mine(ns: str, name: str, kind: str) -> dict[str, Any]:
    return {"Ids": [f"{ns}-{name}"], "Type": kind, "SourceType": "SDK"}


def related(world: World, ns: str) -> list[dict[str, Any]]:
    return list(world.solr.cursor(RELATIONS, f"namespace:{ns}", "*"))


def test_a_custom_entity_keeps_its_attributes_and_is_updated_in_place(
    web: Web, world: World, ns: str
) -> None:
    given = own(
        ns,
        "Stetson Execution",
        "OPERATION_EXECUTION",
        owner="ann",
        created="2026-01-31T12:00:00.000Z",
        started="2026-01-31T12:00:00.000Z",
        ended="2026-01-31T12:01:00.000Z",
        link="http://stetson/1",
        description="run",
    )
    assert plugin(web, given) == ([], [])
    there = entity(web, given["identity"])
    expected = {
        key: given[key] for key in ("type", "sourceType", "owner", "originalName", "started", "description")
    }
    assert {key: there[key] for key in expected} == expected
    assert (there["userEntity"], there["packageName"], there["metaClassName"]) == (True, ns, "stetson")
    assert there["technicalProperties"] == {"link": "http://stetson/1"}
    assert (there["tags"], there["deleted"]) == (["gold"], False)

    assert plugin(web, {**given, "owner": "bob", "tags": {"add": ["more"]}, "link": None}) == ([], [])
    assert entity(web, given["identity"]) == {**there, "owner": "bob", "tags": ["gold", "more"]}
    assert web.get(f"{V}/entities", query=f"extractorRunId:{SDK_SOURCE}##1 AND originalName:Stetson").json()
    sources = web.get(
        f"{V}/entities", query=f"type:SOURCE AND sourceType:SDK AND identity:{SDK_SOURCE}"
    ).json()
    assert [(each["identity"], each["sourceExtractIteration"]) for each in sources] == [(SDK_SOURCE, 1)]
    assert sources[0]["sourceUrl"], "the SDK leaves out sources without one"

    nameless = {**own(ns, "x", "DATASET"), "identity": None}
    assert plugin(web, nameless, nameless) == ([], [])
    assert world.solr.count(ELEMENTS, f"packageName:{ns}") == 2, "the same each time"
    assert plugin(web, {**given, "deleted": True, "deleteTime": 1_790_000_000_000}) == ([], [])
    assert entity(web, given["identity"])["deleted"] is True
    assert plugin(web, given) == ([], [])
    assert [entity(web, given["identity"])[key] for key in ("deleted", "deleteTime")] == [False, None]


def test_clients_cannot_change_the_sdk_source(web: Web, world: World, ns: str) -> None:
    assert plugin(web, own(ns, "a", "DATASET")) == ([], [])
    before = entity(web, SDK_SOURCE)
    (error,), _ = plugin(
        web, {**own(ns, "b", "DATASET", owner="eve"), "identity": SDK_SOURCE, "deleted": True}
    )
    assert "SOURCE" in error
    assert entity(web, SDK_SOURCE) == before


def test_a_request_with_too_many_ends_is_refused_before_any_lookup(web: Web, ns: str) -> None:
    many = [{"queryText": f"select {number}"} for number in range(MOST_ENDS)]
    relation = {
        **flow(ns, "DATA_FLOW", mine(ns, "a", "DATASET"), mine(ns, "b", "DATASET")),
        "ep1Attributes": many,
    }
    answer = web.send(
        "POST", f"{V}/metadata/plugin", "editor", json={"entities": [], "relations": [relation]}
    )
    assert (answer.status_code, "ends" in answer.text) == (400, True), answer.text


def test_relations_beyond_the_limit_of_end_pairs_are_rejected(
    web: Web, world: World, ns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("navlin.edit.plugin.MOST_PAIRS_TOGETHER", 3)
    relations = [
        {
            **flow(ns, "DATA_FLOW", mine(ns, "a", "DATASET"), mine(ns, "b", "DATASET")),
            "endpoint1Ids": [f"{ns}-{n}", f"{ns}+{n}"],
        }
        for n in range(2)
    ]
    _, taken = write_objects(world.solr, [], relations, Author("ann", 1_790_000_000_000))
    assert taken.count == 1
    assert "pairs" in taken.errors[1]


def test_clients_change_only_the_metadata_of_extracted_entities(web: Web, world: World, ns: str) -> None:
    key = world.table("shop.orders")
    before = entity(web, key.identity)
    claimed = own(ns, "orders", "TABLE", owner="thief", identity=key.identity)
    assert plugin(web, claimed) == ([], [])
    assert entity(web, key.identity) == {**before, "tags": ["gold"], "properties": {"k": "v"}}


def test_relations_are_identified_by_type_and_ends_and_appear_in_lineage(
    web: Web, world: World, ns: str
) -> None:
    orders = world.table("shop.orders")
    things = [own(ns, "job", "OPERATION"), own(ns, "report", "DATASET"), own(ns, "total", "FIELD")]
    hive = {"SourceId": world.hive.id, "SourceType": "HIVE", "Type": "TABLE", "Ids": []}
    by_name = {**hive, "Attributes": [{"databaseName": "shop", "tableName": "orders"}]}
    for _ in range(2):
        drawn = [
            flow(ns, "DATA_FLOW", by_name, mine(ns, "job", "OPERATION")),
            flow(ns, "DATA_FLOW", mine(ns, "job", "OPERATION"), mine(ns, "report", "DATASET")),
            flow(ns, "PARENT_CHILD", mine(ns, "report", "DATASET"), mine(ns, "total", "FIELD")),
        ]
        assert plugin(web, *things, relations=drawn) == ([], [])
    found = related(world, ns)
    assert len(found) == 3, "not doubled"
    assert not any(each.get("unlinked") for each in found)
    lineage = web.asked("/lineage", entity=orders.identity, operations=True)
    assert {f"{ns}-job", f"{ns}-report"} <= {node["id"] for node in lineage["nodes"]}
    upstream = web.asked("/lineage", entity=f"{ns}-report")
    assert "shop.orders" in {node["name"] for node in upstream["nodes"]}
    assert entity(web, f"{ns}-total")["firstClassParentId"] == f"{ns}-report"
    exported = web.send(
        "POST", "/lineage3/export?direction=DOWNSTREAM&length=5", json=[orders.identity]
    ).json()
    assert f"{ns}-job" in {each["id"] for each in exported}


@pytest.mark.parametrize("name", ["notes", "notes.txt", "bucket:/notes", "a/b"])
def test_a_custom_file_has_lineage_whatever_its_name(web: Web, world: World, ns: str, name: str) -> None:
    file = own(ns, name, "FILE")
    hive = {"SourceId": world.hive.id, "SourceType": "HIVE", "Type": "TABLE", "Ids": []}
    orders = {**hive, "Attributes": [{"databaseName": "shop", "tableName": "orders"}]}
    assert plugin(web, file, relations=[flow(ns, "DATA_FLOW", mine(ns, name, "FILE"), orders)]) == ([], [])
    path = "/lineage3/export?direction=DOWNSTREAM&length=2&lineageOptions=-1"
    exported = web.send("POST", path, json=[file["identity"]])
    assert exported.status_code == 200, exported.text
    children = {each["id"]: each["children"] for each in exported.json()}
    assert children[file["identity"]] == {"DATA_FLOW": [world.table("shop.orders").identity]}
    assert web.get(f"{V}/lineage", entityIds=file["identity"]).status_code == 200


def test_an_unlinked_end_is_linked_once_it_exists(web: Web, world: World, ns: str) -> None:
    later = {"SourceId": world.hdfs.id, "SourceType": "HDFS", "Type": "DIRECTORY"}
    ends = {**later, "Attributes": [{"fileSystemPath": "/later"}]}
    relation = flow(ns, "DATA_FLOW", mine(ns, "job", "OPERATION"), ends)
    assert plugin(web, own(ns, "job", "OPERATION"), relations=[relation]) == ([], [])
    (found,) = related(world, ns)
    assert (found["unlinked"], bool(found["unlinkedReason"])) == (True, True)

    world.link(world.put(world.hdfs, world.entity(world.path("/later"))))

    (found,) = related(world, ns)
    assert found["unlinked"] is False
    again = flow(ns, "DATA_FLOW", mine(ns, "job", "OPERATION"), ends)
    assert plugin(web, relations=[again]) == ([], [])
    assert [each.get("unlinked", False) for each in related(world, ns)] == [False]


def test_a_relation_may_precede_its_entities(web: Web, world: World, ns: str) -> None:
    relation = flow(ns, "DATA_FLOW", mine(ns, "a", "DATASET"), mine(ns, "b", "DATASET"))
    assert plugin(web, own(ns, "a", "DATASET"), relations=[relation]) == ([], [])
    assert [each["unlinked"] for each in related(world, ns)] == [True]
    assert plugin(web, own(ns, "b", "DATASET")) == ([], [])
    assert [each["unlinked"] for each in related(world, ns)] == [False]


BAD_RELATIONS: dict[str, tuple[Any, str]] = {
    "no object": ("x", "object"),
    "no type": ({}, "is not one of"),
    "a type that is none": ({"type": "LOVE"}, "is not one of"),
    "no ends": ({"type": "DATA_FLOW"}, "no end 1"),
    "no second end": ({"type": "DATA_FLOW", "endpoint1Ids": ["a"]}, "no end 2"),
    "ids that are no list": ({"type": "DATA_FLOW", "endpoint1Ids": "a"}, "must be a list"),
    "an id that is none": ({"type": "DATA_FLOW", "endpoint1Ids": [7]}, "not an identity"),
    "attributes that are no list": ({"type": "DATA_FLOW", "ep1Attributes": {"a": "b"}}, "must be a list"),
    "an end of a type that is none": (
        {"type": "DATA_FLOW", "endpoint1Ids": ["a"], "endpoint1Type": "DRAGON"},
        "is not one of",
    ),
    "an end of a source that is not there": (
        {"type": "DATA_FLOW", "ep1Attributes": [{"databaseName": "a"}], "endpoint1SourceId": "s"},
        "there is no source s",
    ),
    "very many pairs": (
        {
            "type": "DATA_FLOW",
            "endpoint1Ids": [f"a{n}" for n in range(101)],
            "endpoint2Ids": [f"b{n}" for n in range(101)],
        },
        "pairs",
    ),
}


def test_an_invalid_relation_is_reported_and_the_others_are_written(web: Web, world: World, ns: str) -> None:
    good = flow(ns, "DATA_FLOW", mine(ns, "a", "DATASET"), mine(ns, "b", "DATASET"))
    bad = [given for given, _ in BAD_RELATIONS.values()]
    things = [own(ns, "a", "DATASET"), own(ns, "b", "DATASET")]
    _, errors = plugin(web, *things, relations=[*bad, good])
    assert len(errors) == len(bad)
    for number, (told, (what, (_, expected))) in enumerate(zip(errors, BAD_RELATIONS.items(), strict=True)):
        assert told.startswith(f"{number} : "), what
        assert expected in told, what
    assert len(related(world, ns)) == 1


# -- Purge keeps them --------------------------------------------------------------------------------------------------


def test_a_purge_keeps_client_entities(private_solr: Solr, ns: str) -> None:
    world = World(private_solr, ns)
    world.put(world.hdfs, world.entity(world.path("/data")))
    old = {"started": "2001-01-01T00:00:00.000Z", "ended": "2001-01-01T00:00:00.000Z"}
    plain = {"tags": None, "properties": None}
    run = own(ns, "run", "OPERATION_EXECUTION", **old, **plain)
    gone = own(ns, "gone", "FILE", deleted=True, deleteTime=1, **plain)
    job = own(ns, "job", "OPERATION", **plain)
    early = {"sourceId": world.hdfs.id, "type": "FILE", "fileSystemPath": "/early/x", "name": "early"}
    instance = flow(ns, "INSTANCE_OF", mine(ns, "job", "OPERATION"), mine(ns, "run", "OPERATION_EXECUTION"))
    taken = write_objects(private_solr, [run, gone, job, early], [instance], Author("ann", 1))
    assert [each.errors for each in taken] == [{}, {}]
    before = everything(world)

    late_ms = 4_000_000_000_000
    done = purge(private_solr, late_ms - DAY_MS, clock=lambda: late_ms, accepted=1_000)

    assert done.note == ""
    assert everything(world) == before


def everything(world: World) -> set[str]:
    for core in (ELEMENTS, RELATIONS):
        world.solr.commit(core, soft=True)
    return {
        document["identity"]
        for core in (ELEMENTS, RELATIONS)
        for document in world.solr.cursor(core, "*:*", "identity")
    }


@pytest.mark.services
def test_a_full_listing_does_not_delete_a_registered_table_and_later_adopts_it(
    estate: SmallEstate,
) -> None:
    estate.tables({"sales.orders": ["id"], "sales.other": ["id"]})
    estate.pull()
    named = {"sourceId": estate.hive.id, "type": "TABLE", "databaseName": "sales", "tableName": "later"}
    (taken, _) = write_objects(estate.solr, [{**named, **words(description="early")}], [], Author("ann", 1))
    assert taken.errors == {}
    for _ in range(3):
        record = estate.pull(complete=True)
        assert record.counts.gone_entities == 0
        later = estate.element("sales.later")
        assert (later["deleted"], later["granted"], later["tags"]) == (False, True, ["gold"])

    estate.tables({"sales.orders": ["id"], "sales.other": ["id"], "sales.later": ["id"]})
    estate.pull(complete=True)

    later = estate.element("sales.later")
    assert (later["owner"], later["description"], later["tags"]) == ("etl", "early", ["gold"])
    assert "granted" not in later
    assert "userEntity" not in later
    estate.tables({"sales.orders": ["id"], "sales.other": ["id"]})
    for _ in range(2):
        estate.pull(complete=True)
    assert estate.element("sales.later")["deleted"] is True, "from then on it is a table like any other"
