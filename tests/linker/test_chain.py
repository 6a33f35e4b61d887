"""Lineage of columns across engines: Spark → Impala → Hive → Spark over one metastore. The diagram is the same in
whatever order the sources are read.

Spark, Hive and the metastore are real; the test writes Impala's records.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from extractors.hive_events import HiveEvents
from extractors.hms import HiveMetastore
from extractors.impala_events import ImpalaEvents
from extractors.spark import SparkEvents
from navlin.index.journal.runs import Status
from navlin.index.solr.solr import Solr
from navlin.model.extractor import EXTRACTORS, Extractor
from navlin.model.keys import column_key, table_key
from navlin.model.source import Estate, Source, source_id
from navlin.pipeline.guard import Guard
from navlin.pipeline.run import Pipeline
from navlin.query.answer import Lineage
from navlin.query.lineage import lineage
from navlin.query.options import WalkOptions
from tests.services.hive import run_hive
from tests.services.metastore import Metastore
from tests.services.spark_application import SparkApplications
from tests.support.folded_lineage import fold

INTAKE = (
    "create database chain location '{warehouse}'",
    "create table chain.raw (id int, region string, amount int, year int) stored as textfile",
    "create table chain.cleaned (region string, amount int) stored as textfile",
    "create table chain.report (region string, total bigint) stored as textfile",
    "insert into chain.raw values (1, 'eu', 5, 2026)",
    "create table chain.staged stored as textfile as"
    " select id, upper(region) as region, amount from chain.raw where year = 2026",
)
IMPALA = "insert into chain.cleaned select region, amount from chain.staged where id > 0"
MONTHLY = (
    "create table chain.monthly as select region, sum(amount) as total from chain.cleaned group by region"
)
REPORT = "insert overwrite chain.report select region, total from chain.monthly"

DATA = {
    "raw.region -> staged.region",
    "staged.region -> cleaned.region",
    "cleaned.region -> monthly.region",
    "monthly.region -> report.region",
    "raw.amount -> staged.amount",
    "staged.amount -> cleaned.amount",
    "cleaned.amount -> monthly.total",
    "monthly.total -> report.total",
    "raw.id -> staged.id",
}
CONTROL = {
    *(f"raw.year ~> staged.{column}" for column in ("id", "region", "amount")),
    *(f"staged.id ~> cleaned.{column}" for column in ("region", "amount")),
}


@dataclass(frozen=True)
class Recorded:
    metastore: str
    spark_events: Path
    impala_lineage: Path
    hive_lineage: Path


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, metastore: Metastore, hive_jars: Path) -> Recorded:
    folder = tmp_path_factory.mktemp("chain")
    events, impala = folder / "spark-events", folder / "impala-lineage"
    events.mkdir()
    impala.mkdir()
    settings = {
        "spark.app.name": "chain",
        "spark.sql.catalogImplementation": "hive",
        "spark.hadoop.hive.metastore.uris": metastore.uri,
        "spark.sql.warehouse.dir": f"file:{folder}/warehouse",
    }
    with SparkApplications() as spark:
        spark.start(f"file:{events}", settings)
        for statement in INTAKE:
            spark.sql(statement.format(warehouse=f"file:{folder}/warehouse/chain.db"))
        (impala / "impala_lineage_log_1.0-1").write_text(json.dumps(impala_record()) + "\n")
        log = run_hive([MONTHLY], folder / "hive", hive_jars, metastore.uri)
        spark.sql(REPORT)
        spark.stop()
    return Recorded(metastore.uri, events, impala, log)


def impala_record() -> dict[str, Any]:
    names = ["cleaned.region", "cleaned.amount", "staged.region", "staged.amount", "staged.id"]
    return {
        "queryText": IMPALA,
        "queryId": "a14d0e6cd2f7bd1c:3b0b9b1e00000000",
        "user": "ana",
        "timestamp": int(time.time()) - 1,
        "endTime": int(time.time()),
        "edges": [
            {"sources": [2], "targets": [0], "edgeType": "PROJECTION"},
            {"sources": [3], "targets": [1], "edgeType": "PROJECTION"},
            {"sources": [4], "targets": [0, 1], "edgeType": "PREDICATE"},
        ],
        "vertices": [
            {
                "id": number,
                "vertexType": "COLUMN",
                "vertexId": f"chain.{name}",
                "metadata": {"tableName": f"chain.{name.split('.')[0]}", "tableCreateTime": 1},
            }
            for number, name in enumerate(names)
        ],
    }


NUMBERS = itertools.count(1)
ORDERS = (
    ("hms", "spark_events", "impala_events", "hive_events"),
    ("hive_events", "impala_events", "spark_events", "hms"),
    ("impala_events", "hms", "hive_events", "spark_events"),
)


@pytest.mark.parametrize(
    "order",
    [ORDERS[0], *(pytest.param(order, marks=pytest.mark.services) for order in ORDERS[1:])],
    ids=" then ".join,
)
def test_the_chain_is_the_same_in_every_order_of_reading(
    solr: Solr, spark: Callable[[], SparkSession], recorded: Recorded, order: tuple[str, ...]
) -> None:
    cluster = f"chain-{next(NUMBERS)}"
    extractors = extractors_of(cluster, recorded)
    pipeline = Pipeline(solr.address, spark, lambda: time.time_ns() // 1_000_000, Guard())
    for name in order:
        assert pipeline.run(EXTRACTORS[name], extractors[name]).status is Status.FINISHED
    hive = extractors["hms"].source
    report = table_key(hive, "chain", "report")

    def ask(start: str, **options: bool) -> Lineage:
        return lineage(solr, start, WalkOptions(**options))  # type: ignore[arg-type] # options by name

    assert arrows(ask(report.identity, columns=True), "FIELD") == DATA
    steered = ask(report.identity, columns=True, control_flow=True)
    assert arrows(steered, "FIELD") == DATA | CONTROL
    assert arrows(fold(steered), "TABLE") == arrows(ask(report.identity, control_flow=True), "TABLE")
    upstream = arrows(ask(column_key(report, "total").identity), "FIELD")
    assert upstream == {edge for edge in DATA if "amount" in edge or "total" in edge}


def extractors_of(cluster: str, recorded: Recorded) -> Mapping[str, Extractor]:
    def source(kind: str, *serves: str, claimable: bool = True) -> Source:
        name = f"{cluster} {kind} {'' if claimable else 'events'}"
        return Source(source_id(cluster, name), kind, name, cluster, serves, claimable=claimable)

    hms, hive = source("HIVE", recorded.metastore), source("HIVE", claimable=False)
    spark, impala = source("SPARK", claimable=False), source("IMPALA", claimable=False)
    estate = Estate(cluster, (hms, hive, spark, impala))
    lineage_log = recorded.hive_lineage
    return {
        "hms": HiveMetastore(hms, estate, (recorded.metastore,), databases=("chain",)),
        "spark_events": SparkEvents(spark, estate, str(recorded.spark_events)),
        "impala_events": ImpalaEvents(impala, estate, str(recorded.impala_lineage)),
        "hive_events": HiveEvents(hive, estate, str(lineage_log.parent), lineage_log.name),
    }


def arrows(answer: Lineage, kind: str) -> set[str]:
    """Edges between nodes of type ``kind``: ``a.b -> c.d`` for data flow, ``a.b ~> c.d`` for control flow."""
    names = {node.id: node.name.removeprefix("chain.") for node in answer.nodes if node.type == kind}
    signs = {"DATA_FLOW": "->", "CONTROL_FLOW": "~>"}
    return {
        f"{names[each.source]} {signs[each.type]} {names[each.target]}"
        for each in answer.edges
        if each.source in names and each.target in names
    }
