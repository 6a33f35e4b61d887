"""Navigator's API as its public clients send and read it: Cloudera's SDK, Hue's catalog, and scripts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from navlin.api.navigator import ENDPOINTS, NEWEST, OLDEST, UNVERSIONED
from navlin.api.navigator.entity_form import KEYS, SOURCE_TYPES
from navlin.index.solr.solr import Solr
from navlin.model.keys import EntityType, RelationType, database_key
from navlin.query.search import search
from navlin.solr_server.embedded import EmbeddedSolr
from tests.api.test_client_queries import ENTITIES, RELATIONS_FOUND
from tests.support.query_estate import AS_OF_MS, HDFS, HIVE, World
from tests.support.web import PASSWORD, PATIENCE_S, Web

V = "/api/v9"


@pytest.fixture(scope="module")
def world(solr_server: EmbeddedSolr) -> World:
    with Solr(solr_server.start()) as solr:
        world = World(solr, "navigator")
        salary = world.table(
            "salary", "id", "amount", owner="Ann", tags=["pii", "gold"], created=AS_OF_MS, unit="EUR"
        )
        top = world.table("top", "id", owner="bob")
        world.table("salaries", kind=EntityType.VIEW, queryText="select * from salary", owner="bob")
        directory = world.path("/nav/salary")
        file = world.path("/nav/salary/part-0", kind=EntityType.FILE, size=12)
        world.relate(RelationType.PARENT_CHILD, directory, file, writer=HDFS)
        world.located(salary, directory)
        load = world.operation("insert into top select id from salary", [salary], [top])
        world.execution(load, "run", started=AS_OF_MS, principal="etl")
        document = world.elements[salary.identity]
        document.update({"name": "pay", "up_team": "x", "cp_ns.k": ["b"], "cpl_ns.n": [7], "cp_ns.n": ["7"]})
        world.index()
        return world


def found(web: Web, method: str, path: str, **how: Any) -> Any:
    answer = web.send(method, path, **how)
    assert answer.status_code == 200, (answer.text, web.log[-1:])
    assert answer.headers["Content-Type"] == "application/json", "Hue and the SDK read nothing else"
    return answer.json()


# -- The wire --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [OLDEST, 3, 7, 8, 9, 10, 12, NEWEST])
def test_every_api_version_returns_the_same_entities(web: Web, world: World, version: int) -> None:
    ours = {"query": f"sourceId:{world.source(HIVE).id} AND type:TABLE"}
    names = [each["originalName"] for each in found(web, "GET", f"/api/v{version}/entities", params=ours)]
    assert sorted(names) == ["salary", "top"]


@pytest.mark.parametrize(
    "path", ["/api/v1/entities", "/api/v15/entities", "/api/v9/audits", "/api/v9/nothing"]
)
def test_unsupported_versions_and_addresses_return_404(web: Web, path: str) -> None:
    assert web.get(path).status_code == 404


@pytest.mark.parametrize(
    "endpoint", [*ENDPOINTS, *UNVERSIONED], ids=lambda each: f"{each.method} {each.path}"
)
def test_every_endpoint_requires_authentication(web: Web, endpoint: Any) -> None:
    path = re.sub(r"\{\w+\}", "x", endpoint.path.replace("{resource}", "entities"))
    base = "" if endpoint in UNVERSIONED else V
    assert web.send(endpoint.method, base + path, user=None).status_code == 401


def test_trailing_slash_unknown_parameters_and_any_accept_header_are_tolerated(
    web: Web, world: World
) -> None:
    answer = web.send(
        "GET",
        f"{V}/entities/?query=type:TABLE&limit=1&offset=0&entityIds=27&nothing=x",
        headers={"Accept": "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2"},
    )
    assert answer.status_code == 200
    assert len(answer.json()) == 1


@pytest.mark.parametrize(
    "text",
    [
        "query=%2B(srcId:{id})%20%2B(type:TABLE)%20%2B(originalName:salary)",
        "query=+type:TABLE%20+srcId:{id}%20+originalName:salary",
        "query=%2Btype%3ATABLE+%2BsrcId%3A{id}+%2BoriginalName%3Asalary",
        'query=((parentPath:"/db")%20AND%20(originalName:"salary")%20AND%20(type:table))%20AND%20sourceId:{id}',
        "query=(type:TABLE)AND(originalName:salary)AND(sourceId:{id})",
    ],
)
def test_query_strings_are_parsed_as_clients_encode_them(web: Web, world: World, text: str) -> None:
    # The URL is set directly, because requests would escape it.
    prepared = requests.Request("GET", web.url + f"{V}/entities", auth=("viewer", PASSWORD)).prepare()
    prepared.url = f"{web.url}{V}/entities?" + text.format(id=world.source(HIVE).id)
    with requests.Session() as session:
        answer = session.send(prepared, timeout=PATIENCE_S)
    assert [each["originalName"] for each in answer.json()] == ["salary"], answer.text


@pytest.mark.parametrize("query", ["type:[", "{!join from=id to=id}x", "(a", "a:b:c:", "size:big"])
def test_an_invalid_query_returns_400_with_a_message(web: Web, query: str) -> None:
    page = {"query": query, "limit": 10, "cursorMark": "*"}
    for answer in (
        web.get(f"{V}/entities", query=query),
        web.get(f"{V}/interactive/entities", query=query),
        web.send("POST", f"{V}/entities/paging", json=page),
        web.send("POST", f"{V}/interactive/entities", json={"query": query, "facetFields": []}),
    ):
        assert answer.status_code == 400, answer.text
        assert answer.json()["message"]


def test_every_client_query_finds_what_search_finds(web: Web, solr: Solr) -> None:
    placed = {"<hive>": "x", "<hdfs>": "y", "<impala>": "z"}
    unlike = {}
    for path, queries in (("entities", ENTITIES), ("relations", RELATIONS_FOUND)):
        for query in queries:
            for name, identity in placed.items():
                query = query.replace(name, identity)
            answer = web.get(f"{V}/{path}", query=query, limit=0)
            searched = search(
                solr, query, limit=0, core=f"nav_{'elements' if path == 'entities' else 'relation'}"
            )
            if answer.status_code != 200 or searched.total < 0:
                unlike[query] = answer.text
    assert unlike == {}


# -- Entities ----------------------------------------------------------------------------------------------------------


def test_an_entity_has_every_key_of_its_type(web: Web, world: World) -> None:
    for entity in found(
        web, "GET", f"{V}/entities", params={"query": f"sourceId:{world.source(HIVE).id}", "limit": 500}
    ):
        assert set(KEYS[entity["type"]]) <= entity.keys(), entity["type"]
        assert isinstance(entity["identity"], str)
        assert isinstance(entity["customProperties"], dict)


def test_user_metadata_has_navigators_keys(web: Web, world: World) -> None:
    table = world.table("salary")
    entity = found(web, "GET", f"{V}/entities/{table.identity}")
    assert (entity["name"], entity["tags"], entity["properties"]) == ("pay", ["pii", "gold"], {"team": "x"})
    assert entity["customProperties"] == {"ns": {"k": "b", "n": 7}}
    assert entity["technicalProperties"] == {"unit": "EUR"}
    assert entity["created"] == "2026-01-01T00:00:00.000Z"
    assert (entity["internalType"], entity["packageName"], entity["parentPath"]) == ("hv_table", "nav", "/db")
    assert entity["deleted"] is False
    assert entity["description"] is None


def test_an_unknown_entity_returns_404(web: Web) -> None:
    answer = web.get(f"{V}/entities/27")
    assert answer.status_code == 404
    assert "no entity 27" in answer.json()["message"]


# -- As the SDK reads ----------------------------------------------------------------------------------------------------


def test_a_chunked_list_equals_the_short_one(web: Web, world: World) -> None:
    query = f"sourceId:{world.source(HIVE).id}"
    short: dict[str, Any] = {"query": query, "limit": 10_000}
    others: tuple[dict[str, Any], ...] = ({}, {"offset": 2}, {"query": "identity:nothing"})
    mistakes: tuple[dict[str, Any], ...] = ({"query": "a:("}, {"limit": 500_001}, {"offset": -5})
    for resource in ("entities", "relations"):
        for more in others:
            whole = web.get(f"{V}/{resource}", **{**short, **more})
            pieces = web.get(f"{V}/{resource}", **{**short, **more, "limit": 500_000})
            assert pieces.json() == whole.json()
            assert ("Content-Length" in whole.headers, "Content-Length" in pieces.headers) == (True, False)
    assert len(found(web, "GET", f"{V}/entities", params={**short, "limit": 500_000})) > 2
    for wrong in mistakes:
        for limit in (10_000, 500_000):
            answer = web.get(f"{V}/entities", **{**short, "limit": limit, **wrong})
            assert answer.status_code == 400, answer.text


def iterated(web: Web, resource: str, query: str, limit: int) -> Iterator[dict[str, Any]]:
    """Yield entities page by page, as the SDK's iterator does: a page shorter than the limit is the last."""
    mark: str | None = "*"
    while True:
        body = {"query": query, "limit": limit, "cursorMark": mark}
        page = found(web, "POST", f"{V}/{resource}/paging", json=body)
        assert page.keys() == {resource, "cursorMark"}
        yield from page[resource]
        if len(page[resource]) < limit:
            return
        mark = page["cursorMark"]


@pytest.mark.parametrize("limit", [1, 3, 1_000])
def test_a_cursor_returns_every_entity_once(web: Web, world: World, limit: int) -> None:
    query = f"sourceId:{world.source(HIVE).id}"
    ids = [each["identity"] for each in iterated(web, "entities", query, limit)]
    assert ids == sorted(set(ids))
    assert set(ids) == {
        identity for identity, each in world.elements.items() if each.get("sourceId") == world.source(HIVE).id
    } | {world.source(HIVE).id}
    empty = found(
        web, "POST", f"{V}/entities/paging", json={"query": "identity:x", "limit": 5, "cursorMark": None}
    )
    assert empty["entities"] == []


def test_a_foreign_cursor_mark_is_refused(web: Web) -> None:
    answer = web.send("POST", f"{V}/entities/paging", json={"query": "*", "limit": 5, "cursorMark": "zz"})
    assert answer.status_code == 400
    assert "cursorMark" in answer.json()["message"]


def test_a_query_with_ten_thousand_ids_works(web: Web, world: World) -> None:
    table = world.table("salary")
    ids = ",".join([table.identity, *(f"{number:032x}" for number in range(10_000))])
    page = {"query": f"{{!terms f=id}}{ids}", "limit": 10, "cursorMark": "*"}
    answer = found(web, "POST", f"{V}/entities/paging", json=page)
    assert [each["identity"] for each in answer["entities"]] == [table.identity]


def test_the_sdk_can_load_the_sources(web: Web, world: World) -> None:
    query = "type:SOURCE AND originalName:navigator*"
    sources = found(web, "GET", f"{V}/entities", params={"query": query})
    assert {each["originalName"] for each in sources} == {
        "navigator-hive",
        "navigator-hdfs",
        "navigator-impala",
    }
    for source in sources:
        assert source["sourceType"] in SOURCE_TYPES
        assert source.keys() >= {
            "identity",
            "originalName",
            "clusterName",
            "sourceUrl",
            "sourceExtractIteration",
        }
        assert source["sourceUrl"]
        assert not source.get("granted")
    urls = [source["sourceUrl"] for source in sources]
    assert len(urls) == len(set(urls)), "the SDK keeps sources by their URL"


RELATION_SIDES = {
    "DATA_FLOW": ("sources", "entityIds", "targets", "entityIds"),
    "PARENT_CHILD": ("parent", "entityId", "children", "entityIds"),
    "INSTANCE_OF": ("template", "entityId", "instances", "entityIds"),
    "LOGICAL_PHYSICAL": ("logical", "entityId", "physical", "entityIds"),
}


@pytest.mark.parametrize("kind", RELATION_SIDES)
def test_relation_endpoints_are_named_by_relation_type(web: Web, world: World, kind: str) -> None:
    first, one, second, other = RELATION_SIDES[kind]
    ids = ",".join(world.elements)
    query = f"type:{kind} AND {{!terms f=endpoint1Ids}}{ids}"
    relations = list(iterated(web, "relations", query, 100))
    assert relations
    for relation in relations:
        assert relation["type"] == kind
        assert relation[first][one]
        assert relation[second][other]
        assert relation.keys() >= {"identity", "extractorRunId", "namespace", "userSpecified", "unlinked"}
        assert found(web, "GET", f"{V}/relations/{relation['identity']}") == relation


# -- As Hue reads --------------------------------------------------------------------------------------------------------


def test_hues_search_returns_counts_and_highlighting(web: Web, world: World) -> None:
    body = {
        "query": "((originalName:sal*^3)OR(name:sal*^10)OR(owner:sal*))AND((originalName:[* TO *])OR(name:[* TO *]))",
        "facetFields": ["type", "owner", "tags"],
        "filterQueries": [
            f"sourceId:{world.source(HIVE).id}",
            "deleted:false",
            "{!tag=type} type:TABLE",
        ],
        "firstClassEntitiesOnly": True,
        "facetRanges": None,
        "facetPrefix": None,
    }
    answer = found(web, "POST", f"{V}/interactive/entities?limit=450&offset=0", json=body)
    assert answer.keys() >= {
        "totalMatched",
        "limit",
        "offset",
        "qtime",
        "facets",
        "facetRanges",
        "results",
        "highlighting",
    }
    assert [each["originalName"] for each in answer["results"]] == ["salary"]
    assert (answer["totalMatched"], answer["limit"], answer["offset"]) == (1, 450, 0)
    assert answer["facets"]["type"] == {"TABLE": 1, "VIEW": 1}, (
        "counted as if the filter on types were not there"
    )
    assert answer["facets"]["tags"] == {"gold": 1, "pii": 1}
    marked = answer["highlighting"][world.table("salary").identity]
    assert "<em>" in json.dumps(marked)


def test_facets_return_counts_and_accept_a_prefix(web: Web, world: World) -> None:
    of_ours = [f"sourceId:{world.source(HIVE).id}", "type:TABLE OR type:VIEW"]
    body = {"query": "*", "facetFields": ["owner", "principal"], "facetPrefix": "B", "filterQueries": of_ours}
    facets = found(web, "POST", f"{V}/interactive/entities", json=body)["facets"]
    assert facets == {"owner": {"bob": 2}, "principal": {}}
    for prefix, owners in (("an", {"Ann": 1}), (".*", {}), ("A|b", {})):
        body["facetPrefix"] = prefix
        assert found(web, "POST", f"{V}/interactive/entities", json=body)["facets"]["owner"] == owners


def test_a_get_search_needs_no_query_and_limit_0_only_counts(web: Web, world: World) -> None:
    answer = found(web, "GET", f"{V}/interactive/entities?limit=0&offset=0")
    assert answer["totalMatched"] > 0
    assert answer["results"] == []


def test_suggestions_are_distinct_names_with_the_prefix(web: Web, world: World) -> None:
    names = found(web, "GET", f"{V}/interactive/suggestions", params={"query": "salar"})
    assert {"salary", "salaries"} <= set(names)
    assert len(names) == len(set(names)) <= 10
    assert found(web, "GET", f"{V}/interactive/suggestions", params={"query": "*"}) == []
    assert found(web, "GET", f"{V}/interactive/suggestions", params={"query": 'a") OR (*:*'}) == []


def test_hues_lineage_lists_operations_with_uppercase_table_names(web: Web, world: World) -> None:
    table = world.table("top")
    answer = found(web, "GET", f"{V}/lineage", params={"entityIds": table.identity, "offset": 0})
    entities = {each["identity"]: each for each in answer["entities"]}
    (operation,) = [each for each in entities.values() if each["type"] == "OPERATION"]
    assert (operation["inputs"], operation["outputs"]) == (["SALARY"], ["TOP"])
    assert operation["queryText"] == "insert into top select id from salary"
    for relation in answer["relations"]:
        if relation["type"] == "DATA_FLOW":
            ends = [*relation["sources"]["entityIds"], *relation["targets"]["entityIds"]]
            assert entities.keys() >= set(ends), "every end is among the entities"
    assert web.get(f"{V}/lineage", entityIds="nothing").status_code == 404


def test_lineage_of_more_than_100_entities_is_refused(web: Web, world: World) -> None:
    answer = web.get(f"{V}/lineage", entityIds=[world.table("top").identity, *["x"] * 100])
    assert (answer.status_code, "100 entities at most" in answer.text) == (400, True)


# -- Looking up one entity by its name --------------------------------------------------------------------------------------

LOOKED_UP = {
    "Hue's table": "(type:TABLE OR type:VIEW) AND (sourceType:HIVE)AND(originalName:<n>)AND(deleted:false)"
    "AND(parentPath:\\/db)",
    "Hue's column": "FIELD AND (sourceType:HIVE)AND(originalName:<n>)AND(deleted:false)AND(parentPath:\\/db\\/<n>)",
    "Hue's database": "DATABASE AND (sourceType:HIVE)AND(originalName:<n>)AND(deleted:false)",
    "Hue's, of a cluster": "(sourceId:<s>) AND ((type:TABLE OR type:VIEW) AND (originalName:<n>)AND(parentPath:\\/db))",
    "the SDK's table": '+(srcId:<s>) +(parentPath:"/db") +(originalName:<n>) +(type:TABLE)',
    "the SDK's database": "+(srcId:<s>) +(originalName:<n>) +(type:DATABASE)",
    "a script's": '((parentPath:"/db") AND (originalName:"<n>") AND (type:table))',
}
"""caller → query. <n> is replaced by a name that is also part of a longer name."""


@pytest.fixture(scope="module")
def alike(solr_server: EmbeddedSolr) -> World:
    """A database, a table and a column, each next to entities whose names contain its name."""
    with Solr(solr_server.start()) as solr:
        world = World(solr, "alike")
        for name in ("wages", "old_wages", "wages-2020", "bonus_2020"):
            world.table(name, name, "wages", f"{name}_id", database="db")
            world.entity(database_key(world.source(HIVE), name))
        world.index()
        return world


@pytest.mark.parametrize("who", LOOKED_UP)
def test_a_lookup_by_full_name_returns_one_entity(web: Web, alike: World, who: str) -> None:
    query = LOOKED_UP[who].replace("<s>", alike.source(HIVE).id).replace("<n>", "wages")
    within = {"query": f"sourceId:{alike.source(HIVE).id} AND ({query})", "limit": 2, "offset": 0}
    (one,) = found(web, "GET", f"{V}/entities", params=within)
    assert one["originalName"] == "wages"
    assert found(web, "GET", f"{V}/entities", params={**within, "limit": 20_000}) == [one], (
        "nor in a long list"
    )
    assert found(web, "GET", f"{V}/entities", params={**within, "offset": 1}) == [], "nor on the next page"


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("originalName:bonus", {"bonus_2020"}),
        ("originalName:WAGES", {"wages", "old_wages", "wages-2020"}),
        ("originalName:wages OR originalName:bonus", {"wages", "old_wages", "wages-2020", "bonus_2020"}),
        ("originalName:*wages*", {"wages", "old_wages", "wages-2020"}),
        ("originalName:wages-2020", {"wages-2020"}),
        ("-originalName:wages", {"bonus_2020"}),
        ("wages", {"wages", "old_wages", "wages-2020"}),
    ],
)
def test_a_partial_name_matches_if_no_full_name_does(
    web: Web, alike: World, query: str, names: set[str]
) -> None:
    tables = {"query": f"+sourceId:{alike.source(HIVE).id} +type:TABLE +({query})"}
    assert {each["originalName"] for each in found(web, "GET", f"{V}/entities", params=tables)} == names


# -- The SDK's export ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("direction", "start", "end"), [("DOWNSTREAM", "salary", "top"), ("UPSTREAM", "top", "salary")]
)
def test_a_lineage_export_lists_children_by_relation_type(
    web: Web, world: World, direction: str, start: str, end: str
) -> None:
    path = f"/lineage3/export?direction={direction}&length=5&lineageOptions=-1"
    listed = found(web, "POST", path, json=[world.table(start).identity])
    children = {each["id"]: each["children"] for each in listed}
    (operation,) = children[world.table(start).identity]["DATA_FLOW"]
    assert children[operation]["DATA_FLOW"] == [world.table(end).identity]
    assert all(isinstance(ids, list) for each in children.values() for ids in each.values())


@pytest.fixture(scope="module")
def chain(solr_server: EmbeddedSolr) -> dict[str, str]:
    """Tables and the statements between them, each derived from the previous one, as name → id."""
    with Solr(solr_server.start()) as solr:
        world = World(solr, "chain")
        tables = [world.table(f"link{number}") for number in range(5)]
        ids = {f"t{number}": table.identity for number, table in enumerate(tables)}
        for number in range(4):
            made = world.operation(f"insert {number}", [tables[number]], [tables[number + 1]])
            ids[f"o{number}"] = made.identity
        world.index()
        return ids


@pytest.mark.parametrize(
    ("direction", "starts", "expected"),
    [
        ("DOWNSTREAM", ["t0", "o0"], {"t0": ["o0"], "o0": ["t1"], "t1": []}),
        ("DOWNSTREAM", ["o0", "t0"], {"t0": ["o0"], "o0": ["t1"], "t1": []}),
        ("DOWNSTREAM", ["t0", "t0"], {"t0": ["o0"], "o0": []}),
        ("UPSTREAM", ["t1", "o0"], {"t1": ["o0"], "o0": ["t0"], "t0": []}),
    ],
)
def test_exported_children_do_not_depend_on_the_start_order(
    web: Web, chain: dict[str, str], direction: str, starts: list[str], expected: dict[str, list[str]]
) -> None:
    names = {identity: name for name, identity in chain.items()}
    path = f"/lineage3/export?direction={direction}&length=1"
    listed = found(web, "POST", path, json=[chain[each] for each in starts])
    assert len(listed) == len(expected), "each node once"
    children = {
        names[each["id"]]: [names[one] for ids in each["children"].values() for one in ids] for each in listed
    }
    assert children == expected


def test_a_node_at_the_depth_limit_of_one_walk_gets_children_from_another(
    web: Web, chain: dict[str, str]
) -> None:
    body = [chain["t0"], chain["o0"]]
    listed = found(web, "POST", "/lineage3/export?direction=DOWNSTREAM&length=2", json=body)
    children = {each["id"]: each["children"].get("DATA_FLOW") for each in listed}
    assert children[chain["t1"]] == [chain["o1"]], "the walk from t0 ends at t1, that from o0 goes on"


@pytest.mark.parametrize("order", [1, -1])
def test_an_export_from_an_unknown_entity_is_refused(web: Web, chain: dict[str, str], order: int) -> None:
    answer = web.send("POST", "/lineage3/export?direction=DOWNSTREAM", json=[chain["t0"], "gone"][::order])
    assert (answer.status_code, "gone" in answer.json()["message"]) == (404, True)


def test_a_truncated_answer_lists_where_it_was_cut(web: Web, world: World) -> None:
    hub = world.table("hub_of_many")
    world.operation(
        "insert overwrite many", [hub], [world.table(f"spoke{number:04d}") for number in range(1_100)]
    )
    world.index()

    listed = found(web, "POST", "/lineage3/export?direction=DOWNSTREAM", json=[hub.identity])
    assert len(listed) == 1_002, "as many as are followed from one"
    assert len([each for each in listed if each.get("truncated")]) == 1
    drawn = found(web, "GET", f"{V}/lineage", params={"entityIds": hub.identity})
    assert len(drawn["entities"]) == 400
    assert drawn["truncatedAt"]
    whole = found(web, "GET", f"{V}/lineage", params={"entityIds": world.table("salary").identity})
    assert "truncatedAt" not in whole


def test_an_empty_export_is_an_empty_list_and_a_large_one_is_refused(web: Web) -> None:
    assert found(web, "POST", "/lineage3/export?direction=UPSTREAM", json=[]) == []
    assert web.send("POST", "/lineage3/export", json=["x"] * 101).status_code == 400


def test_query_fields_are_listed(web: Web) -> None:
    entities = {each["name"] for each in found(web, "GET", f"{V}/schemas/entities/fields")}
    relations = {each["name"] for each in found(web, "GET", f"{V}/schemas/relations/fields")}
    assert {"originalName", "sourceType", "queryText"} <= entities
    assert "endpoint1Ids" in relations - entities
    assert web.get(f"{V}/schemas/others/fields").status_code == 404
