"""Views of a real metastore, from the Thrift response to lineage."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from pyspark.sql import SparkSession

from extractors.hms import HiveMetastore
from extractors.hms.client import connected
from extractors.hms.idl import Database, Table
from navlin.index.journal.runs import Status
from navlin.index.schema.fields import RELATIONS
from navlin.index.solr.solr import Solr
from navlin.model.extractor import EXTRACTORS
from navlin.model.keys import table_key
from navlin.model.source import HIVE, Estate, Source, source_id
from navlin.pipeline.run import Pipeline
from navlin.query.lineage import lineage
from navlin.query.options import WalkOptions
from navlin.service.linking import link_everything
from tests.services.metastore import ALTER_TABLE, CREATE_DATABASE, CREATE_TABLE, Metastore, table

CLUSTER = "views"


def of_text(text: str) -> Table:
    return table("views", "v", {"id": "int", "total": "int"}, kind="VIRTUAL_VIEW", view_text=text)


def now_ms() -> int:
    return time.time_ns() // 1_000_000


@pytest.mark.services
def test_a_view_has_its_columns_and_the_lineage_of_its_text(
    solr: Solr, spark: Callable[[], SparkSession], metastore: Metastore
) -> None:
    hive = Source(source_id(CLUSTER, "HIVE-1"), HIVE, "HIVE-1", CLUSTER)
    hms = HiveMetastore(hive, Estate(CLUSTER, (hive,)), (metastore.uri,), databases=("views",))
    pipeline = Pipeline(solr.address, spark, now_ms)
    view = table_key(hive, "views", "v")

    def arrows() -> set[str]:
        assert pipeline.run(EXTRACTORS["hms"], hms).status is Status.FINISHED
        answer = lineage(solr, view.identity, WalkOptions(columns=True))
        names = {node.id: node.name.removeprefix("views.") for node in answer.nodes}
        assert all(edge.parsed for edge in answer.edges)
        return {f"{names[edge.source]} -> {names[edge.target]}" for edge in answer.edges}

    with connected(metastore.address) as client:
        client.call(CREATE_DATABASE, Database("views", "", None, {}))
        client.call(CREATE_TABLE, table("views", "orders", {"id": "int", "price": "int", "pieces": "int"}))
        client.call(CREATE_TABLE, of_text("SELECT o.id, o.price * o.pieces AS total FROM views.orders o"))
        assert arrows() == {
            "orders -> v",
            "orders.id -> v.id",
            "orders.price -> v.total",
            "orders.pieces -> v.total",
        }
        client.call(ALTER_TABLE, "views", "v", of_text("SELECT pieces, price AS total FROM orders"))
        assert arrows() == {"orders -> v", "orders.pieces -> v.id", "orders.price -> v.total"}

    answers = f"+rule:resolve_views +endpoint2SourceId:{hive.id}"
    before = [each["_version_"] for each in solr.cursor(RELATIONS, answers, "_version_")]
    link_everything(solr, spark, now_ms)
    assert [each["_version_"] for each in solr.cursor(RELATIONS, answers, "_version_")] == before
    assert len(before) == 3
