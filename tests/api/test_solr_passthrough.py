"""``/solr/…``: the requests of the Cloudera SDK's tools get the same responses as from its Solr, and other requests
are refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from navlin.index.admin.core_status import core_status, fields_of_core
from navlin.index.schema.fields import ELEMENTS, RELATIONS
from navlin.index.search import selecting
from navlin.index.search.selecting import HIDDEN
from navlin.index.solr.solr import Solr
from navlin.model.keys import EntityType, RelationType, partition_key
from navlin.query.date_math import gap_ms, moment_ms
from navlin.query.select import select_pieces
from navlin.solr_server.embedded import EmbeddedSolr
from tests.query.test_value_counts import documents
from tests.support.query_estate import AS_OF_MS, HDFS, HIVE, World
from tests.support.web import Web, running_web

DAY_MS = 86_400_000


@pytest.fixture(scope="module")
def world(solr_server: EmbeddedSolr) -> World:
    with Solr(solr_server.start()) as solr:
        world = World(solr, "tools", "tools_db")
        table = world.table("t", "id", owner="Ann", tags=["pii"], created=AS_OF_MS - 40 * DAY_MS)
        world.entity(partition_key(table, "ds=1"))
        world.entity(partition_key(table, "ds=2"))
        world.table("v", kind=EntityType.VIEW)
        directory = world.path("/tools/t", created=AS_OF_MS)
        for number in range(5):
            gone = number == 4
            file = world.path(
                f"/tools/t/{number}", kind=EntityType.FILE, size=100 * number, deleted=gone, created=AS_OF_MS
            )
            if gone:
                world.elements[file.identity]["deleteTime"] = AS_OF_MS
            world.relate(RelationType.PARENT_CHILD, directory, file, writer=HDFS)
        world.located(table, directory)
        document = world.elements[table.identity]
        document.update({"name": "pay", "up_team": "x", "cp_ns.k": ["b"], "cpl_ns.n": [7], "cp_ns.n": ["7"]})
        world.index()
        return world


@pytest.fixture(scope="module")
def tools(solr_server: EmbeddedSolr, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    """A server with the passthrough enabled."""
    home = tmp_path_factory.mktemp("tools")
    with running_web(solr_server.start(), home, "solr_passthrough = true") as web:
        yield web


class Core:
    """A core as the SDK's ``solr_client.py`` queries it: by POST with a form, and empty strings for unused
    parameters."""

    def __init__(self, web: Web, name: str) -> None:
        self.web, self.name = web, name

    def query(self, **more: Any) -> Any:
        form = {"q": "*:*", "fq": "", "rows": 0, "indent": "true", "wt": "json", "sort": "", **more}
        answer = self.web.send("POST", f"/solr/{self.name}/select", data=form)
        assert answer.status_code == 200, answer.text
        assert answer.headers["Content-Type"] == "application/json"
        return answer.json()

    def docs(self, q: str = "*:*", batch: int = 2, **more: Any) -> Iterator[dict[str, Any]]:
        """Yield all documents with a cursor, until the cursor mark repeats."""
        mark = "*"
        while True:
            page = self.query(q=q, sort="identity asc", rows=batch, cursorMark=mark, **more)
            yield from page["response"]["docs"]
            if page["nextCursorMark"] == mark:
                return
            mark = page["nextCursorMark"]


@pytest.fixture
def elements(tools: Web, world: World) -> Core:
    return Core(tools, "nav_elements")


@pytest.fixture
def of_ours(world: World) -> str:
    return f"sourceId:({world.source(HDFS).id} OR {world.source(HIVE).id})"


# -- Queries of the tools ------------------------------------------------------------------------------------------------


def test_a_pivot_counts_by_source_type_and_type(elements: Core, of_ours: str) -> None:
    fq = f"-deleted:true AND {of_ours}"
    answer = elements.query(fq=fq, **{"facet": "true", "facet.pivot": "sourceType,type"})
    (hdfs,) = [
        each for each in answer["facet_counts"]["facet_pivot"]["sourceType,type"] if each["value"] == "HDFS"
    ]
    assert (hdfs["field"], hdfs["count"]) == ("sourceType", 6)
    assert {each["value"]: each["count"] for each in hdfs["pivot"]} == {
        "FILE": 4,
        "DIRECTORY": 1,
        "SOURCE": 1,
    }
    assert {each["field"] for each in hdfs["pivot"]} == {"type"}


def test_statistics_cover_sizes_and_deletion_times(elements: Core, of_ours: str) -> None:
    fq = f"sourceType:HDFS AND type:FILE AND -deleted:true AND {of_ours}"
    size = elements.query(fq=fq, stats="true", **{"stats.field": "size"})["stats"]["stats_fields"]["size"]
    assert (size["max"], size["sum"], size["mean"]) == (300, 600, 150)
    assert size["stddev"] > 0
    without_a_blank = (
        f"{of_ours} AND sourceType:HDFS AND deleted:trueAND {{!frange l=0 incl=false}}deleteTime"
    )
    assert elements.query(fq=without_a_blank, stats="true", **{"stats.field": "deleteTime"})


def test_facet_queries_are_counted_under_their_keys(elements: Core, of_ours: str) -> None:
    queries = [
        f'{{!frange l={AS_OF_MS - DAY_MS} incl=false u={AS_OF_MS} incu=true key="1 day"}}deleteTime',
        f'{{!frange l={AS_OF_MS - 9 * DAY_MS} incl=false u={AS_OF_MS - DAY_MS} incu=true key="1 week"}}deleteTime',
        '{!frange u=5 incu=false key="invalid deleteTime"}deleteTime',
        "type:DIRECTORY",
    ]
    asked = {"facet": "true", "facet.query": queries}
    counts = elements.query(fq=f"deleted:true AND {of_ours}", **asked)["facet_counts"]["facet_queries"]
    assert counts == {"1 day": 1, "1 week": 0, "invalid deleteTime": 0, "type:DIRECTORY": 0}


def test_date_ranges_are_counted(elements: Core, of_ours: str) -> None:
    fq = f"created:[* TO *] AND -deleted:true AND {of_ours}"
    asked = {
        "facet": "true",
        "facet.range": "created",
        "facet.range.start": "2025-11-01T00:00:00Z",
        "facet.range.end": "2026-02-01T00:00:00Z",
        "facet.range.gap": "+1MONTH",
    }
    counts = elements.query(fq=fq, **asked)["facet_counts"]["facet_ranges"]["created"]["counts"]
    assert dict(zip(counts[::2], counts[1::2], strict=True)) == {
        "2025-11-01T00:00:00Z": 1,
        "2025-12-01T00:00:00Z": 0,
        "2026-01-01T00:00:00Z": 5,
    }
    asked |= {"facet.range.start": "NOW-1YEAR", "facet.range.end": "NOW"}
    assert len(elements.query(fq=fq, **asked)["facet_counts"]["facet_ranges"]["created"]["counts"]) >= 24


def test_field_values_are_counted_as_a_flat_list(elements: Core, of_ours: str) -> None:
    asked = {"facet": "true", "facet.field": "parentPath", "facet.limit": 10, "facet.mincount": 1}
    fq = f"type:PARTITION AND sourceType:HIVE AND -deleted:true AND {of_ours}"
    assert elements.query(fq=fq, **asked)["facet_counts"]["facet_fields"] == {
        "parentPath": ["/tools_db/t", 2]
    }


@pytest.mark.parametrize("batch", [1, 2, 100, 100_000])
def test_a_cursor_returns_every_document_once(elements: Core, of_ours: str, world: World, batch: int) -> None:
    ids = [each["identity"] for each in elements.docs(of_ours, batch)]
    ours = {world.source(HDFS).id, world.source(HIVE).id}
    assert ids == sorted(
        ours | {identity for identity, each in world.elements.items() if each.get("sourceId") in ours}
    )


def test_pages_longer_than_one_solr_answer_are_complete(
    elements: Core, of_ours: str, monkeypatch: pytest.MonkeyPatch, world: World
) -> None:
    monkeypatch.setattr(selecting, "STREAMED_ROWS", 3)
    whole = elements.query(q=of_ours, rows=100, sort="identity asc")["response"]
    for start in (0, 4):
        pairs = [("q", of_ours), ("rows", "8"), ("start", str(start)), ("sort", "identity asc")]
        answer = json.loads(b"".join(select_pieces(world.solr, "nav_elements", pairs, 0)))
        assert answer["response"]["numFound"] == whole["numFound"]
        assert answer["response"]["docs"] == whole["docs"][start : start + 8]


def test_requested_fields_are_returned_under_their_requested_names(elements: Core, world: World) -> None:
    table = world.table("t").identity
    world.table("t", "id", owner="Ann", tags=["pii"])  # the same table as indexed
    query = f"{{!terms f=identity}}{table},nothing"

    (document,) = elements.query(fq=query, rows=10, fl=["id", "srcId,ns.n ns.k", "up_*", "metaClassName"])[
        "response"
    ]["docs"]
    assert document == {
        "id": table,
        "srcId": world.source(HIVE).id,
        "ns.n": [7],
        "ns.k": ["b"],
        "up_team": "x",
        "metaClassName": "hv_table",
    }
    (whole,) = elements.query(fq=query, rows=10)["response"]["docs"]
    assert (whole["originalName"], whole["up_team"], whole["packageName"]) == ("t", "x", "nav")
    assert HIDDEN.isdisjoint(whole)


@pytest.mark.parametrize("name", ["nav_relation", "nav_relations"])
def test_relations_are_queried_under_either_core_name(tools: Web, world: World, name: str) -> None:
    query = f"type:PARENT_CHILD AND {{!terms f=ep1Ids}}{world.path('/tools/t').identity}"
    found = list(Core(tools, name).docs(query, fl=["identity", "endpoint2Ids"]))
    assert len(found) == 5
    assert all(each.keys() == {"identity", "endpoint2Ids"} for each in found)


def test_core_status_reports_size_and_no_path(tools: Web, world: World) -> None:
    status = tools.get("/solr/admin/cores", action="STATUS", wt="json").json()["status"]
    assert set(status) == {"nav_elements", "nav_relations"}
    for name, core in (("nav_elements", ELEMENTS), ("nav_relations", RELATIONS)):
        index = status[name]["index"]
        assert index["numDocs"] == world.solr.count(core)
        assert index["sizeInBytes"] > 0
        assert index["size"].split()[1] in ("bytes", "KB", "MB", "GB")
        assert "indexHeapUsageBytes" in index
    assert "dataDir" not in str(status), "no place of the server's disk"


def test_the_schema_lists_the_visible_fields(tools: Web) -> None:
    schema = tools.get("/solr/nav_elements/schema").json()["schema"]
    fields = {each["name"]: each for each in schema["fields"]}
    assert {"identity", "originalName", "fileSystemPath", "deleteTime"} <= fields.keys()
    assert all(each.keys() >= {"type", "multiValued", "indexed", "stored"} for each in fields.values())
    assert fields["tags"]["multiValued"]
    assert fields["size"]["stored"], "it is in the answers"
    assert (HIDDEN | {"kind", "body", "runId"}).isdisjoint(fields)
    assert "up_*" in {each["name"] for each in schema["dynamicFields"]}


def test_a_get_equals_a_post(tools: Web, world: World, of_ours: str) -> None:
    answer = tools.get(
        "/solr/nav_elements/select", q=of_ours, rows=1, start=1, sort="srcId asc,originalName desc"
    )
    assert answer.json()["response"]["start"] == 1
    assert len(answer.json()["response"]["docs"]) == 1
    counted = tools.get(
        "/solr/nav_elements/select",
        **{
            "q": of_ours,
            "facet": "on",
            "facet.field": "{!key=who}owner",
            "facet.prefix": "a",
            "facet.mincount": "1",
        },
    )
    assert counted.json()["facet_counts"]["facet_fields"] == {"who": ["Ann", 1]}


# -- Disabled, and access --------------------------------------------------------------------------------------------------

ADDRESSES = [
    ("GET", "/solr/nav_elements/select"),
    ("POST", "/solr/nav_elements/select"),
    ("GET", "/solr/admin/cores"),
    ("GET", "/solr/nav_relations/schema"),
    ("GET", "/debug/devMode"),
]


@pytest.mark.parametrize(("method", "path"), ADDRESSES, ids=" ".join)
def test_the_passthrough_is_off_unless_enabled(web: Web, tools: Web, method: str, path: str) -> None:
    off = web.send(method, path, "chief")
    assert off.status_code == 403
    assert "enable them with solr_passthrough = true in [web]" in off.json()["message"]
    assert tools.send(method, path, None).status_code == 401
    assert tools.send(method, path, "viewer").status_code == 200


# -- Refused requests ------------------------------------------------------------------------------------------------------

REFUSED: list[tuple[dict[str, str], str]] = [
    ({"qt": "/update"}, "the parameter 'qt' is not available"),
    ({"shards": "127.0.0.1:1/solr/nav_runs"}, "the parameter 'shards' is not available"),
    ({"shards.qt": "/admin"}, "the parameter 'shards.qt' is not available"),
    ({"stream.url": "file:///etc/passwd"}, "the parameter 'stream.url' is not available"),
    ({"stream.body": "<delete><query>*:*</query></delete>"}, "the parameter 'stream.body' is not available"),
    ({"defType": "func"}, "the parameter 'defType' is not available"),
    ({"collection": "nav_runs"}, "the parameter 'collection' is not available"),
    ({"json": '{"query":"*:*"}'}, "the parameter 'json' is not available"),
    ({"json.facet": "{}"}, "the parameter 'json.facet' is not available"),
    ({"expr": "search(nav_runs)"}, "the parameter 'expr' is not available"),
    ({"v.template": "x"}, "the parameter 'v.template' is not available"),
    ({"timeAllowed": "-1"}, "the parameter 'timeAllowed' is not available"),
    ({"df": "identity"}, "the parameter 'df' is not available"),
    ({"hl": "true"}, "the parameter 'hl' is not available"),
    ({"tr": "x.xsl", "wt": "xslt"}, "the parameter 'tr' is not available"),
    ({"facet.threads": "-1"}, "the parameter 'facet.threads' is not available"),
    ({"f.owner.facet.method": "uif"}, "the parameter 'f.owner.facet.method' is not available"),
    ({"f._version_.facet.limit": "1"}, "is not the name of a field"),
    ({"wt": "xml"}, "wt must be json"),
    ({"q": "{!func}add(1,1)"}, "{!func} is not available"),
    ({"q": "{!join from=id to=id fromIndex=nav_runs}*:*"}, "{!join} is not available"),
    ({"q": "type:TABLE AND _query_:\"{!func}1\""}, "_query_ is not available"),
    ({"q": "_val_:\"recip(1)\""}, "_val_ is not available"),
    ({"q": "{!lucene df=x}y"}, "df is not available"),
    ({"q": "{!terms f=$secret}a"}, "references to parameters are not available"),
    ({"q": "{!frange l=0}div(1,0)"}, "compares a field"),
    ({"q": "type:("}, ""),
    ({"fq": "{!collapse field=type}"}, "{!collapse} is not available"),
    ({"fq": "{!graph from=a to=b}x"}, "{!graph} is not available"),
    ({"rows": "100001"}, "rows must be a number from 0 to 100,000"),
    ({"rows": "-1"}, "rows must be a number"),
    ({"rows": "1e9"}, "rows must be a number"),
    ({"start": "1000001"}, "start must be a number from 0 to 1,000,000"),
    ({"sort": "{!func}add(1,1) asc"}, "is not the name of a field"),
    ({"sort": "rand() desc"}, "is not the name of a field"),
    ({"sort": "digest asc"}, "there is no field digest"),
    ({"sort": "nothing asc"}, "there is no field nothing"),
    ({"fl": "identity,[shard]"}, "is not the name of a field"),
    ({"fl": "secret:[docid]"}, "is not the name of a field"),
    ({"fl": "div(1,0)"}, "is not the name of a field"),
    ({"fl": "_version_"}, "is not the name of a field"),
    ({"fl": "treePath"}, "there is no field treePath"),
    ({"fl": "[subquery]", "subquery.q": "*:*"}, "the parameter 'subquery.q' is not available"),
    ({"cursorMark": "*", "start": "1"}, "cursorMark cannot be combined with start"),
    ({"cursorMark": "zz"}, "cursorMark"),
    ({"cursorMark": "<x>"}, "cursorMark"),
    ({"facet": "maybe"}, "facet must be true or false"),
    ({"facet": "true", "facet.field": "{!terms=a}type"}, "terms is not available for a facet"),
    ({"facet": "true", "facet.field": "queryText"}, "single words"),
    ({"facet": "true", "facet.field": "body"}, "there is no field body"),
    ({"facet": "true", "facet.field": "digest"}, "there is no field digest"),
    ({"facet": "true", "facet.limit": "-1"}, "facet.limit must be a number from 0 to 10,000"),
    ({"facet": "true", "facet.sort": "count,index"}, "facet.sort must be count or index"),
    ({"facet": "true", "facet.query": "{!func}1"}, "{!func} is not available"),
    ({"facet": "true", "facet.pivot": "{!stats=x}type,owner"}, "is not the name of a field"),
    ({"facet": "true", "facet.pivot": "type,owner,group,name"}, "at most 3 fields"),
    (
        {"facet": "true", "facet.pivot": "type,owner", "f.owner.facet.limit": "10000", "f.type.facet.limit": "1000"},
        "1,000,000 values in all",
    ),
    ({"facet": "true", "facet.pivot": "type,owner,group", "facet.limit": "1000"}, "1,000,000 values in all"),
    ({"facet": "true", "facet.range": "created"}, "needs facet.range.start"),
    (
        {
            "facet": "true",
            "facet.range": "created",
            "facet.range.start": "NOW-1YEAR",
            "facet.range.end": "NOW",
            "facet.range.gap": "+1MILLI",
        },
        "from 1 to 10,000 ranges",
    ),
    (
        {
            "facet": "true",
            "facet.range": "size",
            "facet.range.start": "0",
            "facet.range.end": "10",
            "facet.range.gap": "0",
        },
        "from 1 to 10,000 ranges",
    ),
    (
        {
            "facet": "true",
            "facet.range": "created",
            "facet.range.start": "{!x}NOW",
            "facet.range.end": "NOW",
            "facet.range.gap": "+1DAY",
        },
        "facet.range needs two numbers",
    ),
    ({"stats": "true", "stats.field": "{!func}add(1,1)"}, "is not the name of a field"),
    ({"stats": "true", "stats.field": "{!cardinality=1.0}identity"}, "is not the name of a field"),
]  # fmt: skip


@pytest.mark.parametrize(("parameters", "words"), REFUSED, ids=lambda given: str(given)[:60])
def test_unlisted_parameters_are_refused_with_a_message(
    tools: Web, parameters: dict[str, str], words: str
) -> None:
    for answer in (
        tools.get("/solr/nav_elements/select", **parameters),
        tools.send("POST", "/solr/nav_elements/select", data=parameters),
    ):
        assert answer.status_code == 400, answer.text
        assert words in answer.json()["message"]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/solr/nav_runs/select", 404),
        ("/solr/nav_edits/select", 404),
        ("/solr/nav_elements,nav_runs/select", 404),
        ("/solr/nav_elements/../nav_runs/select", 404),
        ("/solr/nav_elements%2F..%2Fnav_runs/select", 404),
        ("/solr/nav_elements/update?stream.body=%3Cdelete/%3E", 404),
        ("/solr/nav_elements/export?q=*:*&sort=identity+asc&fl=identity", 404),
        ("/solr/nav_elements/admin/luke", 404),
        ("/solr/nav_elements/config", 404),
        ("/solr/nav_runs/schema", 404),
        ("/solr/admin/info/system", 404),
        ("/solr/admin/cores?action=UNLOAD&core=nav_elements", 400),
        ("/solr/admin/cores?action=STATUS&core=nav_runs", 404),
        ("/solr/admin/cores?action=STATUS&async=1", 400),
        ("/solr/nav_elements/select?q=a&q=b", 400),
        ("/solr/nav_elements/select?" + "&".join(["fq=a"] * 101), 400),
    ],
    ids=lambda value: str(value)[:50],
)
def test_other_cores_and_handlers_are_unreachable(tools: Web, path: str, status: int) -> None:
    assert tools.send("GET", path, "chief").status_code == status
    assert tools.send("POST", "/solr/nav_elements/schema", "chief").status_code == 405
    assert tools.send("POST", "/solr/nav_elements/update", "chief", data="x").status_code == 404


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("NOW", 0),
        ("NOW-2DAYS+1HOUR/DAY", -2 * DAY_MS + 3_600_000),
        ("1970-01-02T00:00:00Z", DAY_MS),
        ("1970-01-02T00:00:00.500Z-1DAY", 500),
        ("NOW-1WEEK", None),
        ("now", None),
        ("1970-13-02T00:00:00Z", None),
        ("NOW -1DAY", None),
        ("", None),
    ],
)
def test_date_expressions_are_evaluated_like_solr_and_invalid_ones_refused(
    text: str, moment: int | None
) -> None:
    assert moment_ms(text, 0) == moment


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("+1MONTH", 30 * DAY_MS),
        ("+1DAY+1HOUR", DAY_MS + 3_600_000),
        ("-1DAY", None),
        ("+0DAYS", None),
        ("1", None),
    ],
)
def test_a_gap_is_parsed_as_a_duration(text: str, length: int | None) -> None:
    assert gap_ms(text) == length


@pytest.mark.services
def test_answers_over_two_shards_are_the_same(solr: Solr, cloud: Solr) -> None:
    def answered(index: Solr, *pairs: tuple[str, str]) -> Any:
        asked = [("q", "sourceId:sharded-tools"), ("sort", "identity asc"), *pairs]
        answer = json.loads(b"".join(select_pieces(index, "nav_elements", asked, AS_OF_MS)))
        del answer["responseHeader"]
        return answer

    made = documents("sharded-tools", 300)
    for index in (solr, cloud):
        index.add(ELEMENTS, made)
        index.commit(ELEMENTS, soft=False)
    for pairs in (
        [("rows", "1000"), ("cursorMark", "*"), ("fl", "id,owner,size")],
        [("rows", "7"), ("start", "5")],
        [("rows", "0"), ("facet", "true"), ("facet.pivot", "sourceType,type"), ("facet.sort", "index")],
        [("rows", "0"), ("facet", "true"), ("facet.field", "{!key=who}owner"), ("facet.prefix", "O1")],
        [("rows", "0"), ("facet", "true"), ("facet.query", '{!frange l=9 key="big ones"}size')],
        [
            *(("rows", "0"), ("facet", "true"), ("facet.range", "created"), ("facet.range.gap", "+1MONTH")),
            *(("facet.range.start", "2024-01-01T00:00:00Z"), ("facet.range.end", "2026-01-01T00:00:00Z")),
        ],
    ):
        assert answered(cloud, *pairs) == answered(solr, *pairs), pairs
    (sums,) = answered(cloud, ("rows", "0"), ("stats", "true"), ("stats.field", "size"))["stats"].values()
    assert sums["size"]["sum"] == sum(each["size"] for each in made)
    assert core_status(cloud, ELEMENTS)["numDocs"] == cloud.count(ELEMENTS)
    assert "size" in {each["name"] for each in fields_of_core(cloud, ELEMENTS)}
