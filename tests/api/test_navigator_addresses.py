"""Every Navigator endpoint that public clients or Navigator's documentation name is served, or refused with a
message. An endpoint without a row in this table is a defect."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import pytest

from navlin.api.navigator import ENDPOINTS, UNVERSIONED
from navlin.api.navigator.out_of_scope import NOT_HERE
from navlin.edit.models import register
from navlin.index.people.editing import Author
from navlin.index.solr.solr import Solr
from navlin.solr_server.embedded import EmbeddedSolr
from tests.support.manual import page
from tests.support.query_estate import World
from tests.support.web import Web

V = "/api/v9"


class Row(NamedTuple):
    """A request as a client sends it, and the expected status. ``{id}`` is replaced by the id of a table; ``words``
    are part of the error message."""

    method: str
    path: str
    status: int
    body: Any = None
    user: str = "viewer"
    words: str = ""

    def __str__(self) -> str:
        return f"{self.method} {self.path[:60]} {self.status}"


PAGE = {"query": "type:SOURCE", "limit": 100, "cursorMark": "*"}
WORDS = {"name": "n", "description": "d", "tags": ["a"], "properties": {"k": "v"}, "customProperties": {}}
NAMESPACE = {"name": "addresses", "description": "x"}
PROPERTY = {"name": "p", "type": "TEXT", "multiValued": False}
SERVED = [
    Row("GET", "/api/version", 200),
    Row("GET", "/api-console/index.html", 200),
    Row("GET", "/?view=detailsView&id={id}&b=x&tab=lineage", 200),
    Row("GET", f"{V}/entities?query=type:SOURCE", 200),
    Row("GET", f"{V}/entities/?query=*&limit=1&offset=0", 200),
    Row("POST", f"{V}/entities/paging", 200, PAGE),
    Row("GET", f"{V}/entities/{{id}}", 200),
    Row("PUT", f"{V}/entities/{{id}}", 200, WORDS, "editor"),
    Row("PUT", f"{V}/entities/bulk", 200, [], "editor"),
    Row(
        "POST",
        f"{V}/entities",
        200,
        {"sourceId": "{source}", "fileSystemPath": "/addresses/x", "tags": ["b"]},
        "editor",
    ),
    Row("GET", f"{V}/relations?query=type:PARENT_CHILD&limit=1", 200),
    Row("GET", f"{V}/relations/{{relation}}", 200),
    Row("POST", f"{V}/relations/paging", 200, {**PAGE, "query": "type:INSTANCE_OF"}),
    Row("GET", f"{V}/interactive/entities?limit=0&offset=0", 200),
    Row("POST", f"{V}/interactive/entities", 200, {"query": "*", "facetFields": [], "facetRanges": None}),
    Row("POST", f"{V}/interactive/entities", 200, {"query": "*", "facetFields": ["tags"], "facetRanges": []}),
    Row("GET", f"{V}/interactive/suggestions?query=sal", 200),
    Row("GET", f"{V}/interactive/suggestions?query=*", 200),
    Row("GET", f"{V}/lineage?entityIds={{id}}&offset=-1&length=2&removeUsageEndPointTypes=true", 200),
    Row("POST", "/lineage3/export?direction=UPSTREAM&length=3&lineageOptions=-1", 200, ["{id}"]),
    Row("GET", f"{V}/schemas/entities/fields", 200),
    Row("GET", f"{V}/schemas/relations/fields", 200),
    Row(
        "POST", f"{V}/metadata/plugin", 200, {"entities": [], "relations": [], "autocommit": False}, "editor"
    ),
    Row("POST", f"{V}/models", 200, {"namespaces": [NAMESPACE]}, "editor"),
    Row("POST", f"{V}/models/namespaces", 200, NAMESPACE, "editor"),
    Row("GET", f"{V}/models/namespaces/", 200),
    Row("GET", f"{V}/models/namespaces/addresses", 200),
    Row("POST", f"{V}/models/namespaces/addresses/properties", 200, PROPERTY, "editor"),
    Row("GET", f"{V}/models/namespaces/addresses/properties", 200),
    Row(
        "POST",
        f"{V}/models/packages/nav/classes/hv_table/properties",
        200,
        [{"namespace": "addresses", "name": "p"}],
        "editor",
    ),
    Row("GET", f"{V}/models/packages/nav/classes/hv_view/properties", 200),
    Row("GET", f"{V}/models/properties/mappings", 200),
    Row("GET", f"{V}/maintenance/running", 200),
    Row("GET", f"{V}/maintenance/history?offset=0&limit=10", 200),
]
REFUSED = [
    Row("GET", f"{V}/entities?query=type:(", 400, words="parenthesis"),
    Row("GET", f"{V}/entities/27", 404, words="no entity 27"),
    Row("PUT", f"{V}/entities/27", 404, {}, "editor", "no entity 27"),
    Row("PUT", f"{V}/entities/{{id}}", 403, {}, words="metadata-administrator"),
    Row("GET", f"{V}/relations/27", 404, words="no relation 27"),
    Row(
        "POST",
        f"{V}/interactive/entities",
        400,
        {"query": "*", "facetFields": [], "facetRanges": [{"field": "created"}]},
        words="facetRanges is not supported here",
    ),
    Row("GET", f"{V}/interactive/entities?facetRanges=created", 400, words="/api/navlin/v1/count"),
    Row("GET", f"{V}/lineage?entityIds=27", 404, words="27"),
    Row("POST", "/lineage3/export?direction=SIDEWAYS", 400, [], words="direction must be one of"),
    Row("GET", f"{V}/schemas/others/fields", 404, words="choose entities or relations"),
    Row("GET", f"{V}/models/namespaces/nothing", 204),
    Row("GET", f"{V}/models/namespaces/nothing/properties", 404, words="no namespace nothing"),
    Row("POST", f"{V}/maintenance/purge", 503, {}, "chief", "navlin serve is not running"),
    Row("GET", "/solr/nav_elements/select?q=*:*", 403, words="enable them"),
    Row("POST", "/solr/nav_relations/select", 403, words="enable them"),
    Row("GET", "/solr/nav_elements/schema", 403, words="enable them"),
    Row("GET", "/solr/admin/cores?action=STATUS&wt=json", 403, words="enable them"),
    Row("GET", "/debug/devMode?mode=true", 403, words="enable them"),
]
ELSEWHERE = [
    Row("GET", f"{V}/audits?query=service%3D%3Dsentry&startTime=0&limit=1", 404, words="no audits here"),
    Row("GET", f"{V}/audits/fields", 404, words="no audits here"),
    Row("GET", f"{V}/audits/reports/x", 404, words="no audits here"),
    Row("GET", f"{V}/auth/groups", 404, words="navlin user"),
    Row("GET", f"{V}/auth/group/cn=x", 404, words="navlin user"),
    Row("GET", f"{V}/auth/roles", 404, words="navlin user"),
    Row("GET", f"{V}/users", 404, words="navlin user"),
    Row("GET", f"{V}/tags", 404, words="facetFields=tags"),
    Row("GET", f"{V}/policy", 404, words="no policies"),
    Row("POST", f"{V}/policies", 404, {}, words="no policies"),
    Row("GET", "/api/v14/policies/", 404, words="no policies"),
    Row("GET", "/api/v1/entities", 404, words="page not found"),
    Row("GET", "/api/v15/entities", 404, words="page not found"),
    Row("GET", "/login.html", 404, words="page not found"),
]


@pytest.fixture(scope="module")
def known(solr_server: EmbeddedSolr) -> dict[str, str]:
    """Replacements for ``{id}``, ``{relation}`` and ``{source}``."""
    with Solr(solr_server.start()) as solr:
        world = World(solr, "addresses")
        table = world.table("t", "id")
        world.operation("insert into t", [], [table])
        source = world.source("HDFS")
        world.index()
        models = {"namespaces": [NAMESPACE], "properties": [{**PROPERTY, "namespace": "addresses"}]}
        register(solr, models, Author("somebody", 0))
        return {"{id}": table.identity, "{relation}": next(iter(world.relations)), "{source}": source.id}


def filled(value: Any, known: dict[str, str]) -> Any:
    match value:
        case str():
            for name, text in known.items():
                value = value.replace(name, text)
            return value
        case list():
            return [filled(each, known) for each in value]
        case dict():
            return {name: filled(each, known) for name, each in value.items()}
    return value


@pytest.mark.parametrize("row", [*SERVED, *REFUSED, *ELSEWHERE], ids=str)
def test_every_address_is_served_or_explains_its_refusal(web: Web, known: dict[str, str], row: Row) -> None:
    how = {} if row.body is None else {"json": filled(row.body, known)}
    answer = web.send(row.method, filled(row.path, known), row.user, **how)
    assert answer.status_code == row.status, answer.text
    if row.status >= 400:
        assert row.words
        assert row.words in answer.json()["message"]


def test_the_table_lists_every_endpoint() -> None:
    asked = {(row.method, row.path.partition("?")[0].rstrip("/")) for row in [*SERVED, *REFUSED]}
    missing = [
        f"{each.method} {each.path}"
        for base, endpoints in ((V, ENDPOINTS), ("", UNVERSIONED))
        for each in endpoints
        if not any(
            method == each.method and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", base + each.path), path)
            for method, path in asked
        )
    ]
    assert missing == []
    assert {
        row.path.split("/")[3].partition("?")[0] for row in ELSEWHERE if row.path.startswith("/api/v9/")
    } == set(NOT_HERE)


def test_the_manual_lists_every_served_and_unsupported_endpoint() -> None:
    chapter = page("how-to/navigator")
    table = "\n".join(line for line in chapter.splitlines() if line.startswith("| "))
    named = [
        (method, re.sub(r"\b(ID|CORE)\b", "x", path).rstrip("/…"))
        for cell in re.findall(r"^\| (.*?) \| ", table, re.MULTILINE)
        for methods, path in re.findall(r"`((?:[A-Z]+ )?)(/[^`]+)`", _spelled(cell))
        for method in [methods.strip() or "ANY"]
    ]
    for each in (*ENDPOINTS, *UNVERSIONED):
        path = re.sub(r"\{resource\}", "entities", each.path)
        path = re.sub(r"\{\w+\}", "x", path)
        assert any(
            (path == told or (path.startswith(told + "/") and method == "ANY"))
            and method in ("ANY", each.method)
            for method, told in named
        ), f"{each.method} {each.path} is not in the manual"
    for name in NOT_HERE:
        assert f"`/{name}`" in chapter


def _spelled(cell: str) -> str:
    """Split a cell like ``GET` and `POST /x`` into two endpoints."""
    return re.sub(r"`([A-Z]+)` and `([A-Z]+) (/[^`]+)`", r"`\1 \3` `\2 \3`", cell)
