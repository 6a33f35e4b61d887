"""``[redaction] literals = "all"``: no core contains a literal that an extractor read, and all entities keep their
ids."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from extractors.hive_events import HiveEvents
from extractors.hms import HiveMetastore
from extractors.hms.idl import SerDeInfo, StorageDescriptor, Table
from extractors.impala_events import ImpalaEvents
from extractors.oozie import Oozie
from extractors.openlineage import OpenLineageEvents
from extractors.spark import SparkEvents, SparkLineageEvents
from extractors.yarn import SqoopPublications, Yarn
from navlin.index.journal.runs import Status
from navlin.index.schema.fields import ELEMENTS, RELATIONS, RUNS
from navlin.index.solr.solr import Solr
from navlin.model.extractor import Extractor
from navlin.model.keys import EntityType, table_key
from navlin.model.records import Entity, Reject
from navlin.model.redaction.literals import without_literals
from navlin.model.source import Estate, Source, source_id
from navlin.pipeline.masking_literals import without_literals_in
from navlin.pipeline.run import Pipeline
from navlin.service.loader import load, load_extractors
from navlin.service.settings.configuration import read_configuration
from tests.lineage_logs import test_hive_events, test_impala_events
from tests.services.rest import JobHistory, ResourceManager
from tests.services.thrift_metastore import ThriftMetastore
from tests.spark import test_spark_lineage_events
from tests.support import oozie_rounds, openlineage, spark_logs, yarn_rounds
from tests.support.shipped_extractors import SHIPPED
from tests.support.sqoop_jobs import QUERY_IMPORT
from tests.yarn import test_sqoop_publications

PLANTED = "hunter7Zx"
NUMBER = "31415926535"
LITERALS = f"'{PLANTED}', \"{PLANTED}\", {NUMBER} /* {PLANTED} */"
TEXT = f"insert into sales.totals select region, {LITERALS} from sales.orders"  # noqa: S608 (a text of a log)
EXPRESSION = f"concat(orders.region, '{PLANTED}')"
Made = Iterator[tuple[Callable[..., Any], tuple[Any, ...]]]


@contextmanager
def impala_events(directory: Path) -> Made:
    record = {**test_impala_events.of_5_0(), "queryText": TEXT}
    broken = json.dumps(record).replace('"edges"', '"edges":')
    (directory / "impala_lineage_log_1.0-1").write_text(f"{json.dumps(record)}\n{broken}\n")
    yield ImpalaEvents, (str(directory),)


@contextmanager
def hive_events(directory: Path) -> Made:
    record = test_hive_events.record(queryText=TEXT)
    for edge in record["edges"]:
        edge["expression"] = EXPRESSION
    broken = {**record, "edges": [{"sources": PLANTED, "targets": [0]}], "vertices": PLANTED}
    (directory / "lineage.log").write_text(f"{json.dumps(record)}\n{json.dumps(broken)}\n")
    yield HiveEvents, (str(directory),)


@contextmanager
def spark_events(directory: Path) -> Made:
    logs = spark_logs
    chosen = logs.node("Filter", f"Filter (name#2 = {PLANTED})", logs.scan("db.a"))
    joined = logs.node("SortMergeJoin", f"SortMergeJoin [a#1], [b#2], Inner, (c#3 = {PLANTED})", chosen)
    grouped = logs.node(
        "HashAggregate", f"HashAggregate(keys=[concat(a#1, {PLANTED})#4], functions=[])", joined
    )
    copy = logs.insert("/w/b", grouped, table="db.b")
    unread = logs.node("Scan", f"Scan JDBCRelation((select '{PLANTED}') x) [id#1L]")
    odd = logs.insert("/w/c", unread, table="db.c")
    operation = "org.apache.spark.sql.hive.thriftserver.ui.SparkListenerThriftServerOperationStart"
    statement = {
        "Event": operation,
        "id": "s1",
        "sessionId": "s",
        "statement": TEXT,
        "groupId": "g1",
        "startTime": logs.T0 + 1_000,
        "userName": "ana",
    }
    failed = logs.end(2, error=f"Cannot cast {PLANTED} to INT")
    log = logs.write_log(
        *(directory, logs.log_start(), logs.application(), statement),
        *(logs.start(0, copy), logs.job_start(0, 0, group="g1"), logs.end(0)),
        *(logs.start(1, odd, description=TEXT), logs.end(1), logs.start(2, copy, description=TEXT), failed),
        logs.start(3, odd, description=TEXT),
    )
    with log.open("ab") as more:
        more.write(f'{{"Event":"SparkListenerSQLExecution {PLANTED}\n'.encode())
    yield SparkEvents, (str(directory),)


@contextmanager
def spark_lineage_events(directory: Path) -> Made:
    made = test_spark_lineage_events
    record = made.record([made.table("sales.orders")], [made.path("hdfs://ns1/out")])
    broken = f'{{"version": "1.0", "applicationID": {PLANTED}'
    (directory / "spark_lineage_log_app.log").write_text(f"{json.dumps(record)}\n{broken}\n")
    yield SparkLineageEvents, (str(directory),)


@contextmanager
def openlineage_events(directory: Path) -> Made:
    made = openlineage
    sql = {"sql": {"query": TEXT}}
    error = {"errorMessage": {"message": f"Cannot cast {PLANTED}", "programmingLanguage": "SQL"}}
    long = {"sql": {"query": f"{TEXT} where a in ({', '.join([repr(PLANTED)] * 900)})"}}
    outputs = [made.table("a.b")]
    events = (
        made.event("START", job_facets=sql),
        made.event("START", 1, made.AIRFLOW, job=f"insert into x select '{PLANTED}'", job_facets=sql),
        made.event("START", 2, made.APPLICATION, job="long", job_facets=long, run_facets=error),
        made.event("COMPLETE", 3, made.APPLICATION, job="long", job_facets=long, outputs=outputs),
    )
    lines = [json.dumps(each) for each in events]
    lines.append(json.dumps(made.event("START", job_facets=sql)).replace('"run"', PLANTED))
    (directory / "events.jsonl").write_text("".join(f"{line}\n" for line in lines))
    yield OpenLineageEvents, (str(directory),)


@contextmanager
def yarn(directory: Path) -> Made:
    with ResourceManager() as resource_manager, JobHistory() as history:
        name = f"{TEXT[:40]} '{PLANTED}'(Stage-1)"
        resource_manager.apps = [
            yarn_rounds.app(1, diagnostics=f"Cannot cast {PLANTED}"),
            yarn_rounds.app(2, name=name, type="MAPREDUCE"),
            yarn_rounds.app(3, name="QueryResult.jar", type="MAPREDUCE"),
        ]
        history.add(yarn_rounds.job(2, name))
        history.add(yarn_rounds.job(3, "QueryResult.jar"))
        query = f"SELECT o.\"id\" FROM orders o WHERE o.name = '{PLANTED}' AND o.n > {NUMBER} AND $CONDITIONS"  # noqa: S608 (a text of a job)
        history.configurations[yarn_rounds.job(3)["id"]] = QUERY_IMPORT | {
            "mapreduce.jdbc.input.query": query
        }
        yield Yarn, ((resource_manager.url,), (history.url,))


@contextmanager
def hms(directory: Path) -> Made:
    parameters = {"note": PLANTED, "rows": NUMBER}
    descriptor = StorageDescriptor(location="hdfs://ns1/w", serdeInfo=SerDeInfo(parameters=parameters))
    view = Table("v", "damaged", parameters=parameters, viewExpandedText=TEXT, tableType="VIRTUAL_VIEW")
    with ThriftMetastore() as metastore:
        metastore.refusal = f"Cannot cast {PLANTED}"
        metastore.databases = ["damaged", "hidden"]
        metastore.tables = {"t": Table("t", "damaged", sd=descriptor), "v": view, "r": Table("r", "damaged")}
        metastore.mishaps["get_table_objects_by_name_req", "r"] = "refused"
        metastore.mishaps["get_all_tables", "hidden"] = "refused"
        yield HiveMetastore, ((metastore.uri,),)


@contextmanager
def oozie(directory: Path) -> Made:
    made = oozie_rounds
    arguments = f"<property><name>x</name><value>{PLANTED}</value></property><!-- {PLANTED} {NUMBER} -->"
    failed = made.action("load", errorCode="JA018", errorMessage=f"Cannot cast {PLANTED}", status="ERROR")
    job = made.workflow(1, failed, status="KILLED", appName=f"daily '{PLANTED}'")
    with made.serving(job, W=made.definition("load", more=arguments)) as server:
        yield Oozie, ((server.address,),)


@contextmanager
def sqoop_publications(directory: Path) -> Made:
    query = f"SELECT o.\"id\" FROM orders o WHERE o.name = '{PLANTED}' AND o.n > {NUMBER} /* {PLANTED} */ AND $CONDITIONS"  # noqa: S608 (a text of a job)
    where = {"db.column.list": "id", "db.where.clause": f"name = '{PLANTED}' AND n > {NUMBER}"}
    record = test_sqoop_publications.RECORD
    changes: tuple[dict[str, Any], ...] = ({"options": where}, {"storeQuery": query, "options": {}})
    for number, each in enumerate(changes):
        (directory / f"sqoop-{number}.json").write_text(json.dumps(record | each) + "\n")
    (directory / "sqoop-3.json").write_text(json.dumps(record).replace('"user"', PLANTED) + "\n")
    yield SqoopPublications, (str(directory),)


CASES = {name: globals()[name] for name in SHIPPED if name in globals()}


def test_every_extractor_of_texts_has_a_case() -> None:
    # A NameNode reports only paths, and so does S3.
    assert SHIPPED.keys() - CASES.keys() == {"hdfs", "s3"}


SMOKES = ("spark_events",)


@pytest.mark.parametrize(
    "name", [each if each in SMOKES else pytest.param(each, marks=pytest.mark.services) for each in CASES]
)
def test_a_planted_literal_is_in_no_core_and_all_ids_are_unchanged(
    name: str, private_solr: Solr, spark: Callable[[], SparkSession], tmp_path: Path
) -> None:
    kind, solr = SHIPPED[name], private_solr
    source = Source(source_id("literals", name), kind.source_type, name, "literals")
    estate = Estate("literals", (source,))
    now_ms = (
        yarn_rounds.NOW_MS if name in ("yarn", "oozie", "sqoop_publications") else time.time_ns() // 1_000_000
    )
    with CASES[name](tmp_path) as (make, settings):
        ids: list[list[str]] = []
        for masks in (True, False):
            extractor: Extractor = make(source, replace(estate, masks_literals=masks), *settings)
            run = Pipeline(solr.address, spark, lambda: now_ms).run(kind, extractor)
            assert run.status is Status.FINISHED, (run.error, run.failures)
            documents = {core: list(solr.cursor(core, "*:*", "*")) for core in (ELEMENTS, RELATIONS, RUNS)}
            everything = json.dumps(documents, default=str)
            ids.append(sorted(each["identity"] for core in (ELEMENTS, RELATIONS) for each in documents[core]))
            assert run.counts.records > 0
            if masks:
                assert PLANTED not in everything
                assert NUMBER not in everything
            elif name != "spark_lineage_events":  # Cloudera's Spark lineage records contain no query text
                assert PLANTED in everything, "the test plants nothing"
    assert ids[0] == ids[1]


def test_literals_are_masked_in_view_texts_and_samples_become_their_length() -> None:
    source = Source(source_id("literals", "hms"), "HIVE", "hms", "literals")
    view = Entity(table_key(source, "s", "v", EntityType.VIEW), 1, {"queryText": TEXT, "owner": "o'neil"})
    masked = without_literals_in(view)
    assert isinstance(masked, Entity)
    assert masked.key == view.key
    assert masked.attributes == {"queryText": without_literals(TEXT), "owner": "o'neil"}
    rejected = without_literals_in(Reject("/log", f"no key '{PLANTED}'", 7, f"{{{PLANTED}"))
    assert rejected == Reject("/log", "no key '?'", 7, "[10 characters]")


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("select 'it''s', a.b, 12, 1.5e3, 0x1F, 10L from t", "select '?', a.b, 0, 0, '?', 0 from t"),
        ("select x'ab', r'a', N'a', date '2026-01-01'", "select '?', '?', '?', date '?'"),
        ("select a -- 'x'\n, \"b\" /*+ hint(c) */ from `t`", "select a , '?' from `t`"),
        ("where a rlike '\\\\d+'", "where a rlike '?'"),
        ("select $$S$$", "[12 characters]"),
        ("select 'S", "[9 characters]"),
        ("select '\\', 'S', x", "[18 characters]"),
        ("# S\nselect 1", "[12 characters]"),
        ("sum(orders.amount)", "sum(orders.amount)"),
    ],
)
def test_a_text_is_masked_by_token_or_replaced_by_its_length(text: str, masked: str) -> None:
    assert without_literals(text) == masked
    assert without_literals(masked) == masked


def test_the_literals_setting_reaches_the_extractors(tmp_path: Path) -> None:
    file = tmp_path / "navlin.toml"
    source = f'[[source]]\nname = "i"\nextractor = "impala_events"\ndirectory = "{tmp_path}"\n'
    for literals, masks in (("marked", False), ("all", True)):
        file.write_text(f'[navlin]\ncluster = "c"\n[redaction]\nliterals = "{literals}"\n{source}')
        [loaded] = load(read_configuration(file, load_extractors(), {}), []).sources
        assert loaded.extractor.estate.masks_literals is masks
