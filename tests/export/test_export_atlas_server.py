"""The export into a real Atlas: lineage as Atlas computes it, the effect of loading twice, and updates after a change."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from extractors.hms import HiveMetastore
from extractors.hms.client import connected
from extractors.hms.idl import Database, Table
from extractors.impala_events import ImpalaEvents
from navlin.edit.annotation_changes import AnnotationChanges, Tags, edit_annotations, tags, texts
from navlin.export.atlas import Options
from navlin.export.choosing import Selection
from navlin.export.connection import ServerAddress, ServerConnection
from navlin.export.target import RefusedRecord, targets
from navlin.export.writing import Exported, ExportQuestion, send
from navlin.index.admin.cores import CORES
from navlin.index.journal.runs import Status
from navlin.index.people.editing import Author
from navlin.index.solr.solr import Solr
from navlin.model.extractor import EXTRACTORS
from navlin.model.keys import column_key, table_key
from navlin.model.source import Estate, Source, source_id
from navlin.pipeline.guard import Guard
from navlin.pipeline.run import Pipeline
from navlin.query.answer import Direction
from navlin.query.lineage import lineage
from navlin.query.options import WalkOptions as LineageOptions
from tests.services.atlas import USER, Atlas
from tests.services.metastore import (
    ALTER_TABLE,
    CREATE_DATABASE,
    CREATE_TABLE,
    DROP_TABLE,
    Metastore,
    table,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DATABASE = "shop"
CLUSTER = "atlas"
TABLES = {
    "orders": {"id": "int", "price": "int", "region": "string"},
    "revenue": {"region": "string", "total": "bigint"},
    "report": {"region": "string", "total": "bigint"},
    "forgotten": {"id": "int"},
}
STATEMENTS = (
    (
        "insert into shop.revenue select region, sum(price) from shop.orders group by region",
        {"revenue.region": ["orders.region"], "revenue.total": ["orders.price"]},
    ),
    (
        "insert into shop.report select region, total from shop.revenue",
        {"report.region": ["revenue.region"], "report.total": ["revenue.total"]},
    ),
)
pytestmark = pytest.mark.services


@dataclass
class Shop:
    """Tables of a real metastore, lineage records of two Impala statements, and an index of both."""

    solr: Solr
    metastore: Metastore
    pipeline: Pipeline
    folder: Path
    hive: Source = field(init=False)

    def __post_init__(self) -> None:
        self.hive = Source(source_id(CLUSTER, "hms"), "HIVE", "hms", CLUSTER, (self.metastore.uri,))
        impala = Source(source_id(CLUSTER, "impala"), "IMPALA", "impala", CLUSTER, (), claimable=False)
        estate = Estate(CLUSTER, (self.hive, impala))
        self._extractors = {
            "hms": HiveMetastore(self.hive, estate, (self.metastore.uri,), databases=(DATABASE,)),
            "impala_events": ImpalaEvents(impala, estate, str(self.folder / "lineage")),
        }

    def extract(self) -> None:
        for name, extractor in self._extractors.items():
            run = self.pipeline.run(EXTRACTORS[name], extractor)
            assert run.status in (Status.FINISHED, Status.IDLE), run

    def downstream(self, name: str, *, columns: bool = False) -> set[str]:
        """Names of the tables downstream of a table, or columns downstream of ``table.column``, according to navlin.
        The names are those used in Atlas.
        """
        of_table, _, column = name.partition(".")
        key = table_key(self.hive, DATABASE, of_table)
        start = column_key(key, column) if column else key
        options = LineageOptions(columns=columns, direction=Direction.DOWNSTREAM)
        answer = lineage(self.solr, start.identity, options)
        kind = "FIELD" if column else "TABLE"
        return {f"{node.name}@{CLUSTER}" for node in answer.nodes if node.type == kind} - {
            f"{DATABASE}.{name}@{CLUSTER}"
        }


@pytest.fixture(scope="module")
def shop(
    private_server: Any,
    tmp_path_factory: pytest.TempPathFactory,
    metastore_jars: Path,
    spark: Callable[[], SparkSession],
) -> Iterator[Shop]:
    folder = tmp_path_factory.mktemp("shop")
    lineage_files = folder / "lineage"
    lineage_files.mkdir()
    with (
        Metastore(folder / "metastore", metastore_jars) as metastore,
        Solr(private_server.start()) as solr,
    ):
        # Empty the index, because the export includes everything in it.
        for core in CORES:
            solr.client(core).delete(q="*:*")
            solr.commit(core, soft=True)
        with connected(metastore.address) as client:
            client.call(CREATE_DATABASE, Database(DATABASE, None, f"file:{folder}/{DATABASE}.db", {}))
            for name, columns in TABLES.items():
                client.call(CREATE_TABLE, made_table(folder, name, columns))
        records = (impala_record(text, columns) for text, columns in STATEMENTS)
        (lineage_files / "impala_lineage_log_1.0-1").write_text(
            "".join(json.dumps(each) + "\n" for each in records)
        )
        pipeline = Pipeline(solr.address, spark, lambda: time.time_ns() // 1_000_000, Guard())
        made = Shop(solr, metastore, pipeline, folder)
        made.extract()
        yield made


def made_table(folder: Path, name: str, columns: dict[str, str]) -> Table:
    return table(DATABASE, name, columns, location=f"file:{folder}/data/{name}")


def impala_record(text: str, columns: dict[str, list[str]]) -> dict[str, Any]:
    names = [*columns, *(each for inputs in columns.values() for each in inputs)]
    now_s = int(time.time())
    return {
        "queryText": text,
        "queryId": f"{abs(hash(text)):016x}:0000000000000000",
        "user": "ana",
        "timestamp": now_s - 1,
        "endTime": now_s,
        "edges": [
            {
                "sources": [names.index(each) for each in inputs],
                "targets": [names.index(output)],
                "edgeType": "PROJECTION",
            }
            for output, inputs in columns.items()
        ],
        "vertices": [
            {"id": number, "vertexType": "COLUMN", "vertexId": f"{DATABASE}.{name}"}
            for number, name in enumerate(names)
        ],
    }


def export(shop: Shop, atlas: Atlas, since: str = "") -> Exported:
    question = ExportQuestion(targets()["atlas"], Selection(since_run=since), Options())
    refused: list[RefusedRecord] = []
    connection = ServerConnection(ServerAddress(atlas.url, USER, atlas.password))
    try:
        done = send(shop.solr, question, connection, None, refused.append, lambda done: None)
    finally:
        connection.close()
    assert refused == []
    return done


def entity(atlas: Atlas, kind: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = atlas.get(
        f"v2/entity/uniqueAttribute/type/{kind}", **{"attr:qualifiedName": f"{DATABASE}.{name}@{CLUSTER}"}
    )["entity"]
    return found


def reached(atlas: Atlas, kind: str, name: str) -> set[str]:
    """Qualified names of the entities downstream of ``name``, according to Atlas's own lineage."""
    named = {"attr:qualifiedName": f"{DATABASE}.{name}@{CLUSTER}"}
    answer = atlas.get(f"v2/lineage/uniqueAttribute/type/{kind}", direction="OUTPUT", depth=9, **named)
    found = {
        each["attributes"]["qualifiedName"]
        for each in answer["guidEntityMap"].values()
        if each["typeName"] == kind
    }
    return found - {f"{DATABASE}.{name}@{CLUSTER}"}


def test_atlas_lineage_equals_navlins_and_reloading_changes_nothing(atlas: Atlas, shop: Shop) -> None:
    done = export(shop, atlas)

    assert done.counts["operations"] == len(STATEMENTS)
    assert reached(atlas, "hive_table", "orders") == {f"shop.revenue@{CLUSTER}", f"shop.report@{CLUSTER}"}
    assert reached(atlas, "hive_column", "orders.price") == {
        f"shop.revenue.total@{CLUSTER}",
        f"shop.report.total@{CLUSTER}",
    }
    for name in ("orders", "revenue", "report", "forgotten"):
        assert reached(atlas, "hive_table", name) == shop.downstream(name)
    for name in ("orders.price", "orders.region", "orders.id", "revenue.total"):
        assert reached(atlas, "hive_column", name) == shop.downstream(name, columns=True)

    before = {name: entity(atlas, "hive_table", name) for name in TABLES}
    again = export(shop, atlas)
    assert again.sent == done.sent
    after = {name: entity(atlas, "hive_table", name) for name in TABLES}
    assert {name: each["updateTime"] for name, each in after.items()} == {
        name: each["updateTime"] for name, each in before.items()
    }


def test_a_drop_a_rename_and_a_new_column_arrive(atlas: Atlas, shop: Shop) -> None:
    until = export(shop, atlas).until
    forgotten, report = (entity(atlas, "hive_table", name) for name in ("forgotten", "report"))
    wider = {**TABLES["orders"], "discount": "int"}
    with connected(shop.metastore.address) as client:
        client.call(DROP_TABLE, DATABASE, "forgotten", False)
        client.call(ALTER_TABLE, DATABASE, "report", made_table(shop.folder, "summary", TABLES["report"]))
        client.call(ALTER_TABLE, DATABASE, "orders", made_table(shop.folder, "orders", wider))
    shop.extract()
    done = export(shop, atlas, until)

    assert done.counts["renames"] == 1
    assert atlas.get(f"v2/entity/guid/{forgotten['guid']}")["entity"]["status"] == "DELETED"
    summary = entity(atlas, "hive_table", "summary")
    assert (summary["guid"], summary["status"]) == (report["guid"], "ACTIVE")
    assert entity(atlas, "hive_column", "orders.discount")["status"] == "ACTIVE"
    assert reached(atlas, "hive_table", "orders") == shop.downstream("orders")
    assert f"shop.summary@{CLUSTER}" in reached(atlas, "hive_table", "orders")


def test_removed_user_metadata_is_removed_in_atlas(atlas: Atlas, shop: Shop) -> None:
    orders = table_key(shop.hive, DATABASE, "orders").identity
    ann = Author("ann", int(time.time() * 1000))
    list(
        edit_annotations(
            shop.solr,
            {orders: AnnotationChanges(texts({"description": "wrong"}), Tags(add=tags(["pii"])))},
            ann,
        )
    )
    until = export(shop, atlas).until
    written = entity(atlas, "hive_table", "orders")
    assert (written["labels"], written["attributes"]["userDescription"]) == (["pii"], "wrong")

    list(
        edit_annotations(
            shop.solr,
            {orders: AnnotationChanges(texts({"description": None}), Tags(remove=tags(["pii"])))},
            ann,
        )
    )
    export(shop, atlas, until)
    taken = entity(atlas, "hive_table", "orders")
    assert (taken.get("labels") or [], taken["attributes"]["userDescription"]) == ([], None)
