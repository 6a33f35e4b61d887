"""Managed metadata and models through Navigator's API, as Hue, Cloudera's SDK and scripts write them."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest

from navlin.index.journal.edits import edits_of
from navlin.index.schema.fields import ELEMENTS
from navlin.index.solr.solr import Solr
from tests.support.indexed_estate import World
from tests.support.web import Web

V = "/api/v9"


@pytest.fixture
def world(solr: Solr) -> World:
    world = World(solr, f"navigator-edits-{uuid4().hex[:6]}")
    world.put(world.hive, *(world.entity(world.table(f"shop.{name}")) for name in ("orders", "raw")))
    return world


@pytest.fixture
def orders(world: World) -> str:
    return f"{V}/entities/{world.table('shop.orders').identity}"


@pytest.fixture
def ns() -> str:
    return f"ns{uuid4().hex[:8]}"


def put(web: Web, path: str, body: Any, user: str = "editor") -> Any:
    answer = web.send("PUT", path, user, json=body)
    # cloudera-framework accepts only status 200; Hue and the SDK accept only this content type.
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/json"), answer.text
    return answer.json()


def post(web: Web, path: str, body: Any, user: str = "editor") -> Any:
    answer = web.send("POST", path, user, json=body)
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/json"), answer.text
    return answer.json()


def refused(web: Web, method: str, path: str, body: Any, status: int = 400) -> str:
    answer = web.send(method, path, "editor", json=body)
    assert answer.status_code == status, answer.text
    message: str = answer.json()["message"]
    assert message
    return message


FULL = {
    "name": "n",
    "description": "d",
    "tags": ["a", "b"],
    "properties": {"k": "v", "l": "w"},
    "customProperties": {"ns": {"p": ["x", "y"], "q": 7}},
}
"""All fields that a client can write on an entity."""

# -- PUT ---------------------------------------------------------------------------------------------------------------

RULES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "nothing": ({}, {}),
    "Hue without tags": (
        {"name": "m", "description": "e", "properties": {"k": "u"}, "customProperties": {}},
        {"name": "m", "description": "e", "properties": {"k": "u"}},
    ),
    "Hue's tags": ({**FULL, "tags": ["c"]}, {"tags": ["c"]}),
    "the SDK's update of a line of CSV": (
        {"name": None, "description": "e", "tags": None, "properties": {}, "customProperties": None},
        {"name": None, "description": "e", "properties": None},
    ),
    "cloudera-framework's subset": ({"tags": ["z"]}, {"tags": ["z"]}),
    "no tags": ({"tags": []}, {"tags": None}),
    "null erases texts": ({"name": None, "description": None}, {"name": None, "description": None}),
    "empty texts erase": ({"name": "", "description": ""}, {"name": None, "description": None}),
    "null properties": ({"properties": None}, {"properties": None}),
    "one managed property": (
        {"customProperties": {"ns": {"q": 8}}},
        {"customProperties": {"ns": {"p": ["x", "y"], "q": 8}}},
    ),
    "a managed property erased": (
        {"customProperties": {"ns": {"p": None}}},
        {"customProperties": {"ns": {"q": 7}}},
    ),
    "all that was read": ({"identity": "other", "type": "VIEW", "deleted": True, "owner": "root"}, {}),
}
"""client → (body, fields expected to change)"""


@pytest.mark.parametrize("who", RULES)
def test_a_put_keeps_absent_keys_and_null_deletes(web: Web, orders: str, who: str) -> None:
    body, expected = RULES[who]
    before = put(web, orders, FULL)
    assert {key: before[key] for key in FULL} == FULL

    after = put(web, orders, body)

    assert after == {**before, **expected}, "nothing else"
    assert web.send("GET", orders).json() == after, "read at once"


def test_a_put_returns_all_keys_and_records_the_user(web: Web, world: World, orders: str) -> None:
    after = put(web, orders, {"name": "Orders"})
    assert {"identity", "parentPath", "originalName", "name", "description", "metaClassName"} <= after.keys()
    (edit,), _ = edits_of(world.solr, after["identity"], 1)
    assert (edit.who, [(each.field, each.old, each.new) for each in edit.changes]) == (
        "editor",
        [("name", None, "Orders")],
    )
    assert world.solr.count(ELEMENTS, "name:Orders", f"identity:{after['identity']}") == 1
    assert {line["user"] for line in web.logged("edit requested", path=orders)} == {"editor"}


def test_an_sdk_client_following_a_source_sees_an_edit(web: Web, world: World, orders: str) -> None:
    def iteration() -> int:
        query = f"type:SOURCE AND identity:{world.hive.id}"
        (source,) = web.get(f"{V}/entities", query=query).json()
        return int(source["sourceExtractIteration"])

    def run_ended(number: int) -> None:
        update = {"identity": world.hive.id, "sourceExtractIteration": {"set": number}, "_version_": 1}
        world.solr.add(ELEMENTS, [update])
        world.commit()

    def followed(since: int) -> set[str]:
        runs = " OR ".join(f"{world.hive.id}##{number}" for number in range(since, iteration() + 1))
        page = {"query": f"extractorRunId:({runs})", "limit": 100, "cursorMark": "*"}
        found = web.send("POST", f"{V}/entities/paging", json=page).json()["entities"]
        return {each["identity"] for each in found}

    identity = orders.rpartition("/")[2]
    run_ended(5)
    marker = iteration()
    assert identity not in followed(marker)
    put(web, orders, {"name": "seen"})
    assert identity in followed(marker), "no run has ended since"
    run_ended(6)
    assert identity in followed(marker)
    assert identity not in followed(6)


@pytest.mark.parametrize(
    "body",
    [
        [],
        "x",
        {"name": 7},
        {"name": "x" * 501},
        {"tags": "pii"},
        {"tags": [7]},
        {"tags": [""]},
        {"properties": ["a"]},
        {"properties": []},
        {"properties": ""},
        {"properties": False},
        {"customProperties": []},
        {"customProperties": ""},
        {"properties": {"a": ["b"]}},
        {"properties": {"a": {"b": "c"}}},
        {"customProperties": ["a"]},
        {"customProperties": {"ns": "a"}},
        {"customProperties": {"ns": {"p": {"a": "b"}}}},
        {"customProperties": {"ns": {"p": ["a", 7]}}},
        {"customProperties": {"a.b": {"p": "a"}}},
        {"customProperties": {"": {"p": "a"}}},
    ],
    ids=lambda body: str(body)[:40],
)
def test_an_invalid_body_returns_400_and_changes_nothing(
    web: Web, world: World, orders: str, body: Any
) -> None:
    before = world.versions()
    refused(web, "PUT", orders, body)
    refused(web, "PUT", f"{V}/entities/bulk", [{**body, "identity": "x"} if isinstance(body, dict) else body])
    assert world.versions() == before


def test_names_and_descriptions_may_be_as_long_as_navigators(web: Web, orders: str) -> None:
    after = put(web, orders, {"name": "x" * 500, "description": "word " * 10_000})
    assert (len(after["name"]), len(after["description"])) == (500, 50_000)


def test_only_an_authenticated_editor_may_write(web: Web, orders: str) -> None:
    for path, method in ((orders, "PUT"), (f"{V}/entities/bulk", "PUT"), (f"{V}/models", "POST")):
        assert web.send(method, path, "viewer", json={}).status_code == 403
        assert web.send(method, path, None, json={}).status_code == 401
        cookie = {"session": "anything"}
        assert web.send(method, path, None, json={}, cookies=cookie).status_code == 401
        assert web.send(method, path, None, data=b"{", cookies=cookie).status_code == 401
    assert web.send("PUT", orders, "editor", data=b"{").status_code == 400
    assert web.send("PUT", f"{V}/entities/nothing", "editor", json={"name": "x"}).status_code == 404


def test_a_put_without_a_body_is_400_and_changes_nothing(web: Web, world: World, orders: str) -> None:
    before = world.versions()
    for path in (orders, f"{V}/entities/bulk"):
        for nothing in ({}, {"data": b""}, {"data": b"", "headers": {"Content-Type": "application/json"}}):
            answer = web.send("PUT", path, "editor", **nothing)
            assert (answer.status_code, "the body is missing" in answer.text) == (400, True), answer.text
    assert world.versions() == before


def test_a_bulk_put_is_all_or_nothing(web: Web, world: World) -> None:
    ids = [world.table(f"shop.{name}").identity for name in ("orders", "raw")]
    found = put(web, f"{V}/entities/bulk", [{"identity": each, "tags": ["bulk"]} for each in ids])
    assert [(each["identity"], each["tags"]) for each in found] == [(each, ["bulk"]) for each in ids]

    bodies = [{"identity": ids[0], "tags": ["other"]}, {"identity": "nobody"}]
    assert "nobody" in refused(web, "PUT", f"{V}/entities/bulk", bodies, 404)
    refused(web, "PUT", f"{V}/entities/bulk", [{"identity": ids[0]}, {"identity": ids[0]}])
    refused(web, "PUT", f"{V}/entities/bulk", [{"name": "x"}])
    refused(web, "PUT", f"{V}/entities/bulk", {"identity": ids[0]})
    assert web.get(f"{V}/entities/{ids[0]}").json()["tags"] == ["bulk"]


# -- Models ------------------------------------------------------------------------------------------------------------


def models(ns: str, *properties: dict[str, Any], mapped: bool = True) -> dict[str, Any]:
    return {
        "packages": [
            {"name": ns, "displayName": None, "description": None, "external": True, "defaultPackage": False}
        ],
        "classes": [{"name": "run", "displayName": "Run", "description": None, "packageName": ns}],
        "namespaces": [
            {
                "name": ns,
                "displayName": None,
                "description": None,
                "external": True,
                "defaultNamespace": False,
            }
        ],
        "properties": [{"namespace": ns, **each} for each in properties],
        "mappings": {f"{ns}.run": [f"{ns}.{each['name']}" for each in properties]} if mapped else {},
    }


INNER = {
    "packages": {"name", "displayName", "description", "external", "defaultPackage"},
    "classes": {"name", "displayName", "description", "packageName"},
    "namespaces": {
        *("name", "displayName", "description", "external", "defaultNamespace", "creator", "createdDate")
    },
    "properties": {
        *("name", "namespace", "displayName", "description", "multiValued", "maxLength", "pattern"),
        *("enumValues", "type", "creator", "createdDate"),
    },
}


def test_models_are_returned_in_the_sdks_form_and_posting_is_idempotent(web: Web, ns: str) -> None:
    sent = models(ns, {"name": "steward", "type": "TEXT", "maxLength": 30}, {"name": "n", "type": "INTEGER"})
    answer = post(web, f"{V}/models", sent)
    assert answer.keys() == {"packages", "classes", "namespaces", "properties", "mappings"}, (
        "Jackson is strict"
    )
    for key, inner in INNER.items():
        assert [set(each) for each in answer[key]] == [inner] * len(sent[key])
        for given, answered in zip(sent[key], answer[key], strict=True):
            assert {name: answered[name] for name in given} == given
    assert answer["mappings"] == sent["mappings"]
    assert {each["creator"] for each in answer["properties"]} == {"editor"}
    assert post(web, f"{V}/models", sent) == answer, "at each start of a program"
    assert post(web, f"{V}/models", {}) == {
        **{key: [] for key in ("packages", "classes", "namespaces", "properties")},
        "mappings": {},
    }


def test_hues_catalog_registers_its_namespace(web: Web, ns: str) -> None:
    missing = web.get(f"{V}/models/namespaces/{ns}")
    assert (missing.status_code, missing.content) == (204, b""), "Hue makes it then, and gives up at an error"
    made = post(web, f"{V}/models/namespaces", {"name": ns, "description": "of Hue"})
    assert found(web, f"/models/namespaces/{ns}") == made
    assert made in found(web, "/models/namespaces/")
    prop = {"name": "relatedDocuments", "displayName": "Related", "type": "TEXT", "multiValued": True}
    registered = post(web, f"{V}/models/namespaces/{ns}/properties", prop)
    assert registered["namespace"] == ns
    assert found(web, f"/models/namespaces/{ns}/properties") == [registered]
    assert registered["creator"] == "editor"
    assert registered["createdDate"]
    names = [{"namespace": ns, "name": "relatedDocuments"}]
    for kind in ("hv_table", "hv_view"):
        assert post(web, f"{V}/models/packages/nav/classes/{kind}/properties", names) == [registered] or (
            registered in found(web, f"/models/packages/nav/classes/{kind}/properties")
        )
        assert registered in found(web, f"/models/packages/nav/classes/{kind}/properties")
        assert f"{ns}.relatedDocuments" in found(web, "/models/properties/mappings")[f"nav.{kind}"]
    assert found(web, "/models/packages/nav/classes/hv_nothing/properties") == []
    refused(web, "POST", f"{V}/models/namespaces/no{ns}/properties", prop, 404)


def found(web: Web, path: str) -> Any:
    answer = web.get(V + path)
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/json"), answer.text
    return answer.json()


P: dict[str, Any] = {"name": "p", "type": "TEXT"}
BAD_MODELS: dict[str, dict[str, Any]] = {
    "a namespace without a name": {"namespaces": [{}]},
    "a namespace with a dot": {"namespaces": [{"name": "a.b"}]},
    "a list for an object": {"namespaces": ["a"]},
    "an object for a list": {"namespaces": {"name": "a"}},
    "a property without a namespace": {"properties": [P]},
    "a type that is none": {"properties": [{**P, "namespace": "bad", "type": "BLOB"}]},
    "an enumeration without values": {"properties": [{**P, "namespace": "bad", "type": "ENUM"}]},
    "values that are no texts": {
        "properties": [{**P, "namespace": "bad", "type": "ENUM", "enumValues": [1]}]
    },
    "a length that is none": {"properties": [{**P, "namespace": "bad", "maxLength": "x"}]},
    "a pattern that does not read": {"properties": [{**P, "namespace": "bad", "pattern": "("}]},
    "a pattern that looks ahead": {"properties": [{**P, "namespace": "bad", "pattern": "(?=x)x"}]},
    "a long pattern": {"properties": [{**P, "namespace": "bad", "pattern": "x" * 1_001}]},
    "a class without a package": {"classes": [{"name": "c"}]},
    "a mapping of a class that nobody registered": {"mappings": {"bad.c": []}},
    "a mapping to a property that nobody registered": {"mappings": {"nav.hv_table": ["bad.q"]}},
}


def test_concurrent_mappings_to_one_class_are_all_kept(web: Web, ns: str) -> None:
    names = [f"p{number}" for number in range(4)]
    post(web, f"{V}/models", models(ns, *({"name": name, "type": "TEXT"} for name in names), mapped=False))
    address = f"{V}/models/packages/nav/classes/{ns}/properties"
    with ThreadPoolExecutor(len(names)) as programs:
        list(programs.map(lambda name: post(web, address, [{"namespace": ns, "name": name}]), names))
    assert {each["name"] for each in web.get(address).json()} == set(names)


@pytest.mark.parametrize("what", BAD_MODELS)
def test_invalid_models_are_refused_and_none_is_registered(web: Web, ns: str, what: str) -> None:
    body = BAD_MODELS[what]
    message = refused(web, "POST", f"{V}/models", {"packages": [{"name": ns}], **body})
    assert "internal error" not in message
    assert web.get(f"{V}/models/namespaces/bad").status_code == 204


@pytest.mark.services
def test_no_value_causes_a_server_error(web: Web, orders: str, ns: str) -> None:
    from tests.api.test_navigator_plugin import ODD

    sent = models(ns, {"name": "p", "type": "ENUM", "enumValues": ["a"], "pattern": "a", "maxLength": 1})
    bodies: list[tuple[str, str, Any]] = [("PUT", orders, {key: odd}) for key in FULL for odd in ODD]
    bodies += [("POST", f"{V}/models", {**sent, key: odd}) for key in sent for odd in ODD]
    for key, inner in INNER.items():
        for name in inner:
            bodies += [("POST", f"{V}/models", {key: [{**sent[key][0], name: odd}]}) for odd in ODD]
    bodies += [("POST", f"{V}/models/packages/nav/classes/hv_view/properties", odd) for odd in ODD]
    bodies += [("POST", f"{V}/models/namespaces", odd) for odd in ODD]
    bodies += [("PUT", f"{V}/entities/bulk", [odd]) for odd in ODD]
    failed = {}
    for method, path, body in bodies:
        answer = web.send(method, path, "editor", data=json.dumps(body))
        if answer.status_code >= 500:
            failed[path, json.dumps(body)] = answer.text
    assert failed == {}


def test_a_property_type_is_fixed_and_its_limits_may_change(web: Web, ns: str) -> None:
    post(web, f"{V}/models", models(ns, {"name": "p", "type": "ENUM", "enumValues": ["a"]}))
    wider = post(web, f"{V}/models", models(ns, {"name": "p", "type": "ENUM", "enumValues": ["a", "b"]}))
    assert wider["properties"][0]["enumValues"] == ["a", "b"]
    assert "cannot be changed" in refused(
        web, "POST", f"{V}/models", models(ns, {"name": "p", "type": "LONG"})
    )


VALUES: list[tuple[dict[str, Any], Any, Any]] = [
    ({"type": "TEXT"}, "a", "a"),
    ({"type": "TEXT"}, 7, None),
    ({"type": "TEXT"}, ["a", "b"], None),
    ({"type": "TEXT", "multiValued": True}, ["a", "b"], ["a", "b"]),
    ({"type": "TEXT", "maxLength": 3}, "abc", "abc"),
    ({"type": "TEXT", "maxLength": 3}, "abcd", None),
    ({"type": "TEXT", "pattern": "[^@]+@[^@]+"}, "a@b", "a@b"),
    ({"type": "TEXT", "pattern": "[^@]+@[^@]+"}, "a@b@", None),
    ({"type": "TEXT", "pattern": "(a+)+b"}, "a" * 8_000, None),
    ({"type": "ENUM", "enumValues": ["INFRA"]}, "INFRA", "INFRA"),
    ({"type": "ENUM", "enumValues": ["INFRA"]}, "Random Group", None),
    ({"type": "INTEGER"}, 10, 10),
    ({"type": "INTEGER"}, "10", 10),
    ({"type": "INTEGER"}, 1 << 31, None),
    ({"type": "INTEGER"}, 1.5, None),
    ({"type": "INTEGER"}, True, None),
    ({"type": "LONG"}, 1 << 31, 1 << 31),
    ({"type": "LONG"}, 1 << 63, None),
    ({"type": "FLOAT"}, 1.5, 1.5),
    ({"type": "DOUBLE"}, 2, 2.0),
    ({"type": "DOUBLE"}, "much", None),
    ({"type": "BOOLEAN"}, True, True),
    ({"type": "BOOLEAN"}, "false", False),
    ({"type": "BOOLEAN"}, 1, None),
    ({"type": "DATE"}, "2026-01-31T12:00:00.000Z", "2026-01-31T12:00:00Z"),
    ({"type": "DATE"}, "soon", None),
    (
        {"type": "DATE"},
        {"millis": 1_769_860_800_000, "chronology": {"zone": {"id": "UTC"}}},
        "2026-01-31T12:00:00Z",
    ),
    ({"type": "DATE"}, {"millis": "soon"}, None),
    ({"type": "DATE"}, {"millis": 1 << 62}, None),
    ({"type": "DATE"}, {"year": 2026}, None),
    ({"type": "TEXT"}, {"millis": 1}, None),
]
"""(property, value, stored value, or None if the value is refused)"""


@pytest.mark.parametrize(("prop", "value", "expected"), VALUES, ids=str)
def test_values_of_registered_properties_are_validated_on_every_write(
    web: Web, orders: str, ns: str, prop: dict[str, Any], value: Any, expected: Any
) -> None:
    post(web, f"{V}/models", models(ns, {"name": "p", **prop}))
    body = {"customProperties": {ns: {"p": value}}}
    if expected is None:
        refused(web, "PUT", orders, body)
        if isinstance(value, str):
            edit = {"entity": orders.rpartition("/")[2], "managed": [f"{ns}.p={value}"]}
            refused(web, "POST", "/api/navlin/v1/edit", edit)
        assert ns not in web.get(orders).json()["customProperties"]
    else:
        assert put(web, orders, body)["customProperties"][ns] == {"p": expected}
        assert put(web, orders, {"customProperties": {ns: {"p": None}}})["customProperties"].get(ns) is None


def test_a_value_older_than_its_property_may_be_replaced(web: Web, orders: str, ns: str) -> None:
    put(web, orders, {"customProperties": {ns: {"p": "7"}}})
    post(web, f"{V}/models", models(ns, {"name": "p", "type": "LONG"}))
    assert put(web, orders, {"customProperties": {ns: {"p": 8}}})["customProperties"][ns] == {"p": 8}
