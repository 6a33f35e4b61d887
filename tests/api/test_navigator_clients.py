"""Unmodified Navigator clients, each run twice: Cloudera's SDK, Hue's catalog, and scripts.

They run on a small estate and on the demo's. Their requests are in `tests.support.navigator_sdk`, `hue_catalog` and
`navigator_scripts`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from navlin.index.schema.fields import ELEMENTS
from navlin.index.solr.solr import Solr
from tests.support.hue_catalog import NAMESPACE, Failed, HueCatalog, NoEntity
from tests.support.indexed_estate import World
from tests.support.navigator_scripts import Scripts
from tests.support.navigator_sdk import NavigatorSdk
from tests.support.web import PASSWORD, running_web

STATEMENT = "select description from sample_08 where salary > 20"


@dataclass(frozen=True)
class Navigator:
    """The server's URL, credentials, and entities known to exist: a table that has a column and an upstream table,
    and a directory."""

    url: str
    user: str
    password: str
    cluster: str
    database: str
    table: str
    column: str
    directory: str

    def sdk(self, version: int = 9) -> NavigatorSdk:
        return NavigatorSdk(self.url, self.user, self.password, version)

    def hue(self) -> HueCatalog:
        return HueCatalog(self.url, self.user, self.password)

    def scripts(self) -> Scripts:
        return Scripts(self.url, self.user, self.password)


def tags(*names: str) -> dict[str, Any]:
    """A change set as the SDK's ``setTags`` leaves it."""
    return {"add": [], "del": [], "set": list(names)}


# -- Cloudera's SDK ----------------------------------------------------------------------------------------------------


def read_all(navigator: Navigator, version: int) -> dict[str, int]:
    """Run the SDK's IncrementalExtraction of everything, with small and with large pages. Return the number of
    entities and of relations."""
    sdk = navigator.sdk(version)
    found = {kind: sdk.extract(kind, limit=7) for kind in ("entities", "relations")}
    for kind, each in found.items():
        ids = [one["identity"] for one in each]
        assert len(set(ids)) == len(ids)
        assert {one["identity"] for one in sdk.extract(kind, limit=500_000)} == set(ids)
    known = {one["identity"] for one in found["entities"]}
    for relation in found["relations"]:
        if not relation["unlinked"]:
            ends = [each for each in relation.values() if isinstance(each, dict)]
            ids = [one for each in ends for one in each.get("entityIds", [each.get("entityId")])]
            assert known.issuperset(ids), relation
    return {kind: len(each) for kind, each in found.items()}


FILTERED = {
    "entities": (
        *("sourceType:HDFS", "sourceType:HIVE AND type:DATABASE", "sourceType:HIVE AND type:TABLE"),
        *("sourceType:HIVE AND type:VIEW", "sourceType:HIVE AND type:FIELD AND originalName:city_id"),
        *("sourceType:HIVE AND type:(DIRECTORY OR FILE)", "sourceType:HIVE AND type:OPERATION_EXECUTION"),
        "sourceType:(MAPREDUCE OR YARN) AND type:OPERATION_EXECUTION",
        "sourceType:(MAPREDUCE OR YARN) AND type:(OPERATION EXECUTION)",
    ),
    "relations": (
        "endpoint1SourceType:HIVE AND endpoint2SourceType: HIVE AND type:PARENT_CHILD AND endpoint1Type: DIRECTORY"
        " AND endpoint2Type: FILE",
        "type:LOGICAL_PHYSICAL AND endpoint1SourceType:HIVE AND endpoint1Type:OPERATION_EXECUTION",
        "type:DATA_FLOW AND endpoint1SourceType:HDFS OR endpoint2SourceType:HDFS",
        "",
    ),
}


def read_some(navigator: Navigator) -> None:
    """Run the SDK's FilteredExtraction, from the beginning and since a marker. An edit appears in the next
    extraction."""
    sdk = navigator.sdk()
    marker = sdk.marker()
    for kind, queries in FILTERED.items():
        for query in queries:
            every = {each["identity"] for each in sdk.extract(kind, query)}
            assert {each["identity"] for each in sdk.extract(kind, query, marker)} <= every
    assert sdk.extract("entities", f"sourceType:HDFS AND sourceId:{sdk.only_source('HDFS')}")
    table = {each["identity"]: each for each in sdk.extract("entities", FILTERED["entities"][2])}
    mine = sdk.find_entity(sdk.metastore(), f"/{navigator.database}", navigator.table, "TABLE")
    assert mine["identity"] in table
    assert sdk.write([{"identity": mine["identity"], "description": "a different description"}]) == []
    changed = {each["identity"]: each for each in sdk.extract("entities", start=marker)}
    assert changed[mine["identity"]]["description"] == "a different description"
    assert changed[mine["identity"]]["tags"] == mine["tags"], "null is: as it is"


def write_words(navigator: Navigator, version: int) -> None:
    """Run SetHdfsFileTags and SetHive…Tags on existing and on future entities, including a statement."""
    sdk = navigator.sdk(version)
    hdfs, hive = sdk.only_source("HDFS"), sdk.metastore()
    of_hive = {"sourceId": hive, "sourceType": "HIVE"}
    given: list[dict[str, Any]] = [
        {"sourceId": hdfs, "sourceType": "HDFS", "type": "DIRECTORY", "fileSystemPath": "/user/hdfs"},
        {"sourceId": hdfs, "sourceType": "HDFS", "type": "DIRECTORY", "fileSystemPath": navigator.directory},
        {**of_hive, "type": "TABLE", "databaseName": navigator.database, "tableName": navigator.table},
        {**of_hive, "type": "TABLE", "databaseName": "default_2", "tableName": "customers_2"},
        {
            **of_hive,
            "type": "FIELD",
            "databaseName": "default_2",
            "tableName": "customers_2",
            "columnName": "c",
        },
        {**of_hive, "type": "DATABASE", "databaseName": "nav_policy_db2"},
        {**of_hive, "type": "OPERATION", "queryText": STATEMENT, "internalType": "hv_query"},
    ]
    for each in given:
        assert sdk.write([{**each, "tags": tags("YOLO", "TAG2"), "deleted": False}]) == [], each
    tagged = sdk.extract("entities", "tags:YOLO AND tags:TAG2")
    assert len(tagged) == len(given)
    assert sdk.find_entity(hive, "/default_2", "customers_2", "TABLE")["tags"] == ["YOLO", "TAG2"]


def write_lineage(navigator: Navigator) -> None:
    """Run CustomLineageCreator with registered models: a Pig run with inputs and outputs, and a statement."""
    sdk = navigator.sdk()
    managed: list[dict[str, Any]] = [
        {"name": "index", "type": "INTEGER"},
        {"name": "steward", "pattern": r"[a-z]+@[a-z.]+"},
        {"name": "group", "type": "ENUM", "enumValues": ["INFRA", "DATA_ENG"]},
    ]
    assert sdk.register_models("stetson_exec", managed) == sdk.register_models("stetson_exec", managed)
    sdk.register_models("stetson_op", [])
    script = sdk.own("Stetson Script", "OPERATION", owner="Chang", internalType="stetson_op")
    hdfs, hive = sdk.only_source("HDFS"), sdk.metastore()

    def execution(**custom: Any) -> dict[str, Any]:
        times = {"started": "2026-01-01T10:00:00.000Z", "ended": "2026-01-01T10:00:10.000Z"}
        properties = {"customProperties": {sdk.namespace: {"index": 10, **custom}}}
        return sdk.own(
            "Stetson Execution", "OPERATION_EXECUTION", link="http://x.example/", **times, **properties
        )

    mine = {
        "endpoint1Ids": [sdk.own_id("Stetson Script")],
        "endpoint1Type": "OPERATION",
        "endpoint1SourceType": "SDK",
    }
    run = {
        "endpoint1Ids": [sdk.own_id("Stetson Execution")],
        "endpoint1Type": "OPERATION_EXECUTION",
        "endpoint1SourceType": "SDK",
    }
    pig = {"endpoint2Type": "OPERATION_EXECUTION", "endpoint2SourceType": "PIG"}
    path = {"endpoint2Type": "DIRECTORY", "endpoint2SourceType": "HDFS", "endpoint2SourceId": hdfs}
    hive_end = {"endpoint2Type": "OPERATION", "endpoint2SourceType": "HIVE", "endpoint2SourceId": hive}
    relations: list[dict[str, Any]] = [
        {
            **mine,
            "type": "INSTANCE_OF",
            "endpoint2Ids": [sdk.own_id("Stetson Execution")],
            "endpoint2Type": "OPERATION_EXECUTION",
            "endpoint2SourceType": "SDK",
        },
        {
            **run,
            **pig,
            "type": "LOGICAL_PHYSICAL",
            "ep2Attributes": [{"jobName": "id.pig", "scriptId": "7e53"}],
        },
        {**run, **path, "type": "DATA_FLOW", "ep2Attributes": [{"fileSystemPath": navigator.directory}]},
        {**mine, **hive_end, "type": "LOGICAL_PHYSICAL", "ep2Attributes": [{"queryText": STATEMENT}]},
    ]
    good = {"steward": "chang@company.com", "group": "INFRA"}
    (error,) = sdk.write([script, execution(**{**good, "steward": "foo"})])
    assert re.match(r"1 : .*pattern", error)
    (error,) = sdk.write([script, execution(**{**good, "group": "Random Group"})])
    assert re.match(r"1 : Random Group is not one of", error)
    assert sdk.write([script, execution(**good)], relations) == []
    drawn = sdk.extract("relations", f"namespace:{sdk.namespace}")
    assert len(drawn) == len(relations), "however often they are drawn"
    exported = sdk.lineage_export(f"identity:{sdk.own_id('Stetson Execution')}", "DOWNSTREAM", 3)
    assert {relation for _, _, relation in exported} >= {"DATA_FLOW"}


def export_lineage(navigator: Navigator) -> None:
    """Run LineageExport: a table's upstream includes its source tables."""
    sdk = navigator.sdk()
    down, up = (sdk.lineage_export("type:TABLE", direction, 5) for direction in ("DOWNSTREAM", "UPSTREAM"))
    known = {each["identity"] for each in sdk.extract("entities")}
    assert known.issuperset(one for line in (*down, *up) for one in line[:2])
    mine = sdk.find_entity(sdk.metastore(), f"/{navigator.database}", navigator.table, "TABLE")["identity"]
    assert any(child == mine for _, child, _ in up) or any(one == mine for one, _, _ in up)
    assert any(child == mine for _, child, _ in down)


def update_by_csv(navigator: Navigator) -> None:
    """Run UpdateMetadata with a complete line, and with a line of few fields that must leave the other fields
    unchanged."""
    sdk = navigator.sdk()
    mine = sdk.find_entity(sdk.metastore(), f"/{navigator.database}", navigator.table, "TABLE")["identity"]
    whole = {
        "name": "Csv name",
        "description": "A description",
        "tags": ["csv1", "csv2"],
        "properties": {"team": "data"},
        "customProperties": {"example": {"steward": "chang@company.com"}},
    }
    written = sdk.put_entity(mine, whole)
    assert {key: written[key] for key in ("name", "tags", "properties")} == {
        key: whole[key] for key in ("name", "tags", "properties")
    }
    little: dict[str, Any] = {
        "name": "Csv name",
        "description": None,
        "tags": None,
        "properties": {},
        "customProperties": None,
    }
    written = sdk.put_entity(mine, little)
    assert (written["tags"], written["customProperties"]["example"]["steward"]) == (
        ["csv1", "csv2"],
        "chang@company.com",
    )


# -- Hue ---------------------------------------------------------------------------------------------------------------


def browse_with_hue(navigator: Navigator) -> None:
    database, table = navigator.database, navigator.table
    assert f"{NAMESPACE}.relatedDocuments" in navigator.hue().set_up()["nav.hv_table"]
    mine = navigator.hue().get_table(database, table)
    identity = mine["identity"]
    assert navigator.hue().get_database(database)["type"] == "DATABASE"
    assert navigator.hue().get_field(database, table, navigator.column)["originalName"] == navigator.column
    assert navigator.hue().get_directory(navigator.directory)["fileSystemPath"] == navigator.directory
    with pytest.raises(NoEntity):
        navigator.hue().get_table(database, "nothing_there")
    with pytest.raises(Failed, match="404"):
        navigator.hue().get_entity("0" * 32)

    for text in (table, table[:4], f"{database}.{table}", f"type:TABLE {table}"):
        assert identity in {each["identity"] for each in navigator.hue().search(text)}, text
    for text in ("type:{}()[]", "owner:nobody_at_all"):
        assert navigator.hue().search(text) == []
    assert navigator.hue().raw(f"+type:TABLE +originalName:{table}")
    of_cluster = navigator.hue().of_cluster(navigator.cluster)
    assert identity in {
        each["identity"] for each in navigator.hue().raw(f"{of_cluster}(originalName:{table})")
    }
    assert navigator.hue().of_cluster("another") == "sourceId:0 AND"
    assert navigator.hue().raw(f"sourceId:0 AND(originalName:{table})") == []
    for text in (table, table[:4], "", f"{table} type:TABL"):
        found = navigator.hue().search_interactive(text, ("TABLE", "VIEW"))
        assert identity in {each["identity"] for each in found["results"]}, text
        assert found["totalMatched"] >= len(found["results"]) > 0
    assert navigator.hue().search_interactive("department:sales", ("TABLE",))["results"] == []
    assert table in navigator.hue().suggest(table[:3])
    assert navigator.hue().suggest("") == [], "nothing is typed yet"

    assert set(navigator.hue().add_tags(identity, "hue_a", "hue_b")["tags"]) >= {"hue_a", "hue_b"}
    assert set(navigator.hue().get_entity(identity)["tags"]) >= {"hue_a", "hue_b"}, "at once"
    counts = navigator.hue().search_interactive("", facets=["tags"], prefix="hue_")["facets"]["tags"]
    assert counts == {"hue_a": 1, "hue_b": 1}
    assert identity in {each["identity"] for each in navigator.hue().search("tags:hue_a")}
    described = navigator.hue().update(
        navigator.hue().get_entity(identity), description="by a person of Hue's"
    )
    assert set(described["tags"]) >= {"hue_a", "hue_b"}, "they were not sent"
    assert navigator.hue().set_properties(identity, team="x", floor="2")["properties"]["floor"] == "2"
    left = navigator.hue().delete_properties(identity, "floor")
    assert (left["properties"].get("floor"), left["properties"]["team"]) == (None, "x")
    related = {NAMESPACE: {"relatedDocuments": ["9e8b5b2c-0000-4000-8000-000000000000"]}}
    kept = navigator.hue().update(navigator.hue().get_entity(identity), customProperties=related)
    assert kept["customProperties"][NAMESPACE] == related[NAMESPACE]
    assert not set(navigator.hue().delete_tags(identity, "hue_a", "hue_b")["tags"] or []) & {"hue_a", "hue_b"}
    cleared = navigator.hue().update(
        navigator.hue().get_entity(identity), name=None, description=None, properties={}
    )
    assert [cleared[key] for key in ("name", "description", "properties")] == [None, None, None]
    assert cleared["customProperties"][NAMESPACE] == related[NAMESPACE]

    one = navigator.hue()
    lineage = one.get_lineage(identity)
    assert identity in {each["identity"] for each in lineage["entities"]}
    assert any(table.upper() in (each.get("outputs") or []) for each in lineage["entities"])
    assert one.get_entity(identity)["identity"] == identity, "with the parameters of the question before"


# -- Scripts -----------------------------------------------------------------------------------------------------------


def run_scripts(navigator: Navigator) -> None:
    scripts = navigator.scripts()
    assert scripts.count_everything() == len(scripts.page("*", 10))
    assert {len(row) for row in scripts.old_files()} <= {11}
    identity = scripts.table_id(navigator.database, navigator.table)
    assert identity in scripts.tables_by_signs()
    assert identity in {each["identity"] for each in scripts.page("type:table", 3)}
    assert scripts.statements("impala")
    before = scripts.put(identity, {"tags": ["z"], "properties": {"k": "v"}})
    after = scripts.put(identity, {"customProperties": {"ns": {"Transaction": "t-1"}}})
    assert (
        (after["tags"], after["properties"]) == (before["tags"], before["properties"]) == (["z"], {"k": "v"})
    )
    found = scripts.page('ns.Transaction:"t-1" AND type:table', 100)
    assert [each["identity"] for each in found] == [identity]
    scripts.put(identity, {"tags": [], "properties": None, "customProperties": {"ns": {"Transaction": None}}})


def run_all(navigator: Navigator) -> dict[str, int]:
    for version in (2, 9, 14):
        read_all(navigator, version)
    read_some(navigator)
    for version in (7, 9):
        write_words(navigator, version)
    write_lineage(navigator)
    export_lineage(navigator)
    update_by_csv(navigator)
    browse_with_hue(navigator)
    run_scripts(navigator)
    return read_all(navigator, 9)


@pytest.fixture
def small(private_solr: Solr, tmp_path: Path) -> Iterator[Navigator]:
    """A table that Impala writes from another table, and a directory."""
    world = World(private_solr, "cluster 1")
    source, target = world.table("sales.orders"), world.table("sales.report")
    columns = world.column("sales.orders.amount"), world.column("sales.report.revenue")
    database = source.parent
    assert database is not None
    world.put(world.hive, *map(world.entity, (database, source, target, *columns)))
    paths = world.path("/data"), world.path("/data/report"), world.file("/data/report/part-0")
    world.put(world.hdfs, *map(world.entity, paths))
    operation = world.operation("insert into sales.report select amount from sales.orders")
    execution = world.execution(operation, "one")
    flows = world.flow(source, operation), world.flow(operation, target), world.flow(*columns)
    started = {"started": world.now_ms}
    run = world.put(
        world.impala,
        world.entity(operation, {"queryText": operation.name}),
        world.entity(execution, started),
        *flows,
    )
    world.link(run)
    for each in (world.hive, world.hdfs, world.impala):
        # The source's state at the end of a run.
        iteration = {"sourceExtractIteration": {"set": world.runs[each.id]}}
        private_solr.add(ELEMENTS, [{"identity": each.id, **iteration, "_version_": 1}])
    world.commit()
    with running_web(private_solr.address, tmp_path) as web:
        where = ("sales", "report", "revenue", "/data/report")
        yield Navigator(web.url, "editor", PASSWORD, "cluster 1", *where)


@pytest.mark.services
def test_clients_run_twice_on_a_small_estate(small: Navigator) -> None:
    assert run_all(small) == run_all(small)


@pytest.mark.services
def test_clients_run_twice_on_the_demo_estate(
    hadoop_jars: Path, metastore_jars: Path, tmp_path: Path
) -> None:
    from tests.support.demo import COMMAND, CTRL_C, SERVES, Demo, printed_address

    demo = Demo(tmp_path, *COMMAND)
    try:
        demo.until_printed(SERVES)
        where = ("demo", "shop", "board_report", "revenue", "/exports/revenue")
        navigator = Navigator(*printed_address(demo), *where)
        assert run_all(navigator) == run_all(navigator)
        demo.press(CTRL_C)
        assert demo.end() == 0
    finally:
        demo.close()
