"""Names from services and images that are not plain text: each is read, is distinct from names that look like it, and
has one form for display."""

from __future__ import annotations

import json
import os
from pathlib import Path

from extractors.hdfs import Hdfs
from extractors.hms import HiveMetastore
from navlin.index.journal.saved_values import dumps, loads
from navlin.index.write.documents import entity_envelope
from navlin.model.keys import EntityType
from navlin.model.plan import Positions
from navlin.model.raw_names import shown
from navlin.model.records import Entity, Listing, Record, Reject, Split
from navlin.model.source import Estate, Source, source_id
from tests.hms.test_hms import NOW_MS, run
from tests.service.test_raw_names import RAW
from tests.services.metastore import partition, table
from tests.services.rest import Answer, JobHistory, ResourceManager
from tests.services.thrift_metastore import ThriftMetastore
from tests.support.images import Tree
from tests.support.yarn_rounds import Following, app, job

TEXTS = {
    **{name: os.fsdecode(raw) for name, raw in RAW.items()},
    "not UTF-8 otherwise": "_\udcfe",
    "half a pair": "_\ud83e",
    "another half": "_\udd94",
}
"""Bytes that are not UTF-8 are represented as surrogates, as in Python."""
NO_TEXT = [name for name, text in TEXTS.items() if any("\ud800" <= each <= "\udfff" for each in text)]


def source_of(kind: str, name: str) -> tuple[Source, Estate]:
    source = Source(source_id("raw", name), kind, name, "raw")
    return source, Estate("raw", (source,))


def written(records: list[Record]) -> None:
    """Check that every entity serializes to valid UTF-8."""
    for each in records:
        if isinstance(each, Entity):
            entity_envelope(each).document.decode()


def sent(value: object) -> Answer:
    """Return an HTTP response with JSON in which bytes that are not UTF-8 stay raw. Other surrogates are escaped."""
    text = json.dumps(value, ensure_ascii=False)
    halves = {each for each in text if "\ud800" <= each <= "\udfff" and not "\udc80" <= each <= "\udcff"}
    for each in halves:
        text = text.replace(each, f"\\u{ord(each):04x}")
    return 200, {"Content-Type": "application/json"}, text.encode("utf-8", "surrogateescape")


# -- YARN ----------------------------------------------------------------------------------------------------------------


def test_applications_and_jobs_of_any_name_are_distinct_and_recognized(
    resource_manager: ResourceManager, history: JobHistory
) -> None:
    apps = [
        app(number, text, "MAPREDUCE" if number % 2 else "TEZ", user=text, queue=text, applicationTags=text)
        for number, text in enumerate(TEXTS.values(), 1)
    ]
    listed = [job(number, text, user=text) for number, text in enumerate(TEXTS.values(), 1) if number % 2]
    resource_manager.routes["/ws/v1/cluster/apps"] = lambda _, query: sent(
        {"apps": {"app": [each for each in apps if each["state"] in query["states"]]}}
    )
    history.routes["/ws/v1/history/mapreduce/jobs"] = lambda *_: sent({"jobs": {"job": listed}})
    properties = [
        {
            "name": "mapreduce.output.fileoutputformat.outputdir",
            "value": f"hdfs://ns1/out/{TEXTS['not UTF-8']}",
        }
    ]
    history.routes["/ws/v1/history/mapreduce/jobs/"] = lambda *_: sent({"conf": {"property": properties}})
    following = Following(resource_manager, history=history)

    extracted = following.run()
    written(extracted.records)
    assert len(extracted.executions) == len(TEXTS)
    users = {each.attributes["principal"] for each in extracted.executions.values()}
    assert users >= {shown(TEXTS[name]) for name in NO_TEXT}
    assert extracted.rejects == []
    assert {end for _, end in extracted.flows} >= {"/out/_\\xff"}
    following.positions = {key: loads(dumps(value)) for key, value in following.positions.items()}
    assert following.is_quiet()


# -- A metastore ---------------------------------------------------------------------------------------------------------


def test_tables_columns_and_partitions_of_any_name_are_read() -> None:
    source, estate = source_of("HIVE", "HIVE-1")
    with ThriftMetastore() as metastore:
        metastore.databases = ["plain"]
        for name, text in TEXTS.items():
            if name in NO_TEXT:
                continue
            made = table(
                "plain", text, {text: "int"}, partitioned_by={"ds": "string"}, location="hdfs://ns1/t"
            )
            metastore.tables[text] = made
            metastore.partitions[text] = {f"ds={text}": partition(made, text)}
        done = run(HiveMetastore(source, estate, (metastore.uri,)))
    written(done.records)
    tables = [each for each in done.records if isinstance(each, Entity) and each.key.type is EntityType.TABLE]
    assert len({each.key.identity for each in tables}) == len(metastore.tables)
    assert [each for each in done.records if isinstance(each, Reject)] == []


def test_a_table_name_that_is_not_utf_8_affects_no_other_table() -> None:
    source, estate = source_of("HIVE", "HIVE-1")
    with ThriftMetastore() as metastore:
        metastore.databases = ["plain"]
        for name in ("orders", "items"):
            metastore.tables[name] = table("plain", name, location="hdfs://ns1/t")
        metastore.damage["orders"] = lambda data: data.replace(b"orders", b"order\xff")
        done = run(HiveMetastore(source, estate, (metastore.uri,)))
    written(done.records)
    tables = {
        each.key.tree_path
        for each in done.records
        if isinstance(each, Entity) and each.key.type is EntityType.TABLE
    }
    assert tables == {"/PLAIN/ITEMS"}
    rejects = [each for each in done.records if isinstance(each, Reject)]
    assert [(each.place.partition(" ")[2], each.tree_path) for each in rejects] == [
        ("plain.orders", "/PLAIN/ORDERS")
    ]


# -- HDFS ----------------------------------------------------------------------------------------------------------------


def test_an_image_yields_every_name_in_its_display_form(tmp_path: Path) -> None:
    source, _ = source_of("HDFS", "HDFS-1")
    tree = Tree()
    names = (*RAW.values(), b"_\xfe")
    for raw in names:
        tree.directory(b"/logs/" + raw)
        tree.file(b"/logs/" + raw + b"/" + raw)
    folder = tmp_path / "images"
    folder.mkdir()
    tree.write(folder / "fsimage_0000000000000000042")
    hdfs = Hdfs(
        source,
        Estate("raw", (source,), spool=str(tmp_path / "spool")),
        "hdfs://ns1",
        image=str(folder),
        events=False,
    )
    plan = hdfs.plan(Positions({}, NOW_MS))
    records: list[Record] = []
    waiting = list(plan.splits)
    while waiting:
        found = list(hdfs.read(waiting.pop()))
        waiting += (each for each in found if isinstance(each, Split))
        records += found
    paths = {str(path) for each in records if isinstance(each, Listing) for path in each.paths}
    for raw in names:
        form = shown(os.fsdecode(raw))
        assert {f"/logs/{form}", f"/logs/{form}/{form}"} <= paths
    assert [each for each in records if isinstance(each, Reject)] == []
