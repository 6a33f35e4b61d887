"""A real YARN: applications with every final status, and a Spark job on it with its event log, table and output on a
real HDFS."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from extractors.hdfs import Hdfs
from extractors.hms import HiveMetastore
from extractors.spark import SparkEvents
from extractors.yarn import Yarn
from navlin.index.graph.presentation import presented
from navlin.index.journal.runs import Status
from navlin.index.schema.fields import ELEMENTS, RELATIONS
from navlin.index.solr.solr import Solr
from navlin.model.extractor import EXTRACTORS, Extractor
from navlin.model.identity import identify
from navlin.model.keys import RelationType, path_key, table_key
from navlin.model.source import HDFS, HIVE, SPARK, YARN, Estate, Source, normal_authority, source_id
from navlin.pipeline.run import Pipeline
from navlin.query.lineage import lineage
from navlin.query.options import WalkOptions
from navlin.solr_server.embedded import EmbeddedSolr
from tests.services.hadoop import Hadoop
from tests.services.hdfs import Writer
from tests.services.metastore import Metastore
from tests.services.yarn_jobs import APPLICATION, await_state, kill, run_spark_job, submit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass
class Job:
    """A Spark job that has run: its folder, and the database that it created."""

    folder: str
    database: str


@pytest.fixture(scope="module")
def job(yarn: Hadoop, hdfs_writer: Writer, metastore: Metastore) -> Job:
    made = Job(f"/spark-on-yarn-{uuid.uuid4().hex[:8]}", f"yarn_{uuid.uuid4().hex[:8]}")
    hdfs_writer.mkdirs(f"{made.folder}/spark-history")
    run_spark_job(yarn, metastore.uri, made.folder, made.database)
    return made


class Indexed:
    """The session's services as one cluster for one test. The pipeline runs source by source."""

    def __init__(
        self,
        solr: Solr,
        spark: Callable[[], SparkSession],
        hadoop: Hadoop,
        metastore: Metastore,
        job: Job,
        spool: Path,
    ) -> None:
        cluster = f"yarn-{uuid.uuid4().hex[:8]}"
        self.solr = solr

        def source(kind: str, *serves: str) -> Source:
            return Source(source_id(cluster, kind), kind, kind, cluster, tuple(map(normal_authority, serves)))

        self.hdfs, self.spark = source(HDFS, hadoop.url), source(SPARK)
        self.hive, self.yarn = source(HIVE, metastore.uri), source(YARN, hadoop.yarn)
        estate = Estate(cluster, (self.hdfs, self.spark, self.hive, self.yarn), spool=str(spool))
        self.pipeline = Pipeline(solr.address, spark, lambda: time.time_ns() // 1_000_000)
        self.extractors: dict[str, Extractor] = {
            "hdfs": Hdfs(self.hdfs, estate, hadoop.url, http=hadoop.http, include=(job.folder,)),
            "spark_events": SparkEvents(self.spark, estate, f"{hadoop.url}{job.folder}/spark-history"),
            "hms": HiveMetastore(self.hive, estate, (metastore.uri,), databases=(job.database,)),
            "yarn": Yarn(self.yarn, estate, (hadoop.yarn,)),
        }
        self.output = path_key(self.hdfs, f"{job.folder}/out/daily").identity
        self.table = table_key(self.hive, job.database, "orders").identity
        self.location = path_key(self.hdfs, f"{job.folder}/warehouse/{job.database}.db/orders").identity

    def run(self, *names: str) -> None:
        for name in names:
            record = self.pipeline.run(EXTRACTORS[name], self.extractors[name])
            assert (record.status, record.failures, record.error) == (Status.FINISHED, (), "")

    def relations(self, kind: str, writer: Source) -> list[dict[str, Any]]:
        filters = [f"writer:{writer.id}", "deleted:false", f"type:{kind}"]
        return list(self.solr.cursor(RELATIONS, "*:*", "*", filters=filters))

    def entities(self, query: str) -> list[dict[str, Any]]:
        return list(self.solr.cursor(ELEMENTS, query, "*", filters=["deleted:false"]))

    @property
    def application(self) -> dict[str, Any]:
        [found] = self.entities(
            f'sourceId:{self.yarn.id} AND type:OPERATION_EXECUTION AND operation:"{APPLICATION}"'
        )
        return found

    @property
    def executions(self) -> set[str]:
        """Return the identities of the job's executions from Spark."""
        found = self.entities(f"sourceId:{self.spark.id} AND type:OPERATION_EXECUTION")
        return {each["identity"] for each in found}

    def drawn(self, start: str) -> set[str]:
        return {node.id for node in lineage(self.solr, start, WalkOptions()).nodes}


@pytest.fixture(scope="module")
def connected(solr_server: EmbeddedSolr) -> Iterator[Solr]:
    with Solr(solr_server.start()) as solr:
        yield solr


@pytest.fixture(scope="module")
def extraction(
    connected: Solr,
    spark: Callable[[], SparkSession],
    yarn: Hadoop,
    metastore: Metastore,
    job: Job,
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[..., Indexed]:
    """Return a function that runs these extractors in a cluster of their own."""
    yarn.save_namespace()
    spool = tmp_path_factory.mktemp("spool")

    def run(*names: str) -> Indexed:
        indexed = Indexed(connected, spark, yarn, metastore, job, spool)
        indexed.run(*names)
        return indexed

    return run


@pytest.fixture(scope="module")
def indexed(extraction: Callable[..., Indexed]) -> Indexed:
    return extraction("spark_events", "hms", "yarn", "hdfs")


@pytest.mark.services
def test_a_spark_job_on_yarn_appears_with_its_executions_and_all_links(indexed: Indexed) -> None:
    application = indexed.application
    assert application["identity"] == identify(indexed.yarn.id, application["originalName"])
    assert (application["status"], application["engineType"]) == ("SUCCEEDED", "SPARK")
    [instance] = [
        each
        for each in indexed.relations("INSTANCE_OF", indexed.yarn)
        if each["endpoint2Ids"] == [application["identity"]]
    ]
    assert instance["endpoint1Ids"] == [identify(indexed.yarn.id, "SPARK", APPLICATION)]

    links = indexed.relations("LOGICAL_PHYSICAL", indexed.spark)
    of_applications = [each for each in links if each["endpoint2Type"] == "OPERATION_EXECUTION"]
    assert len(of_applications) == len(indexed.executions) >= 2
    assert {each["endpoint1Ids"][0] for each in of_applications} == indexed.executions
    assert {each["endpoint2Ids"][0] for each in of_applications} == {application["identity"]}
    written = [*links, *indexed.relations("DATA_FLOW", indexed.spark)]
    assert [each for each in written if each.get("unlinked")] == []
    paths = [indexed.output, indexed.location]
    assert [each.get("granted") for each in indexed.solr.get(ELEMENTS, paths)] == [None, None]


@pytest.mark.services
def test_the_order_of_extraction_does_not_change_the_index(
    indexed: Indexed, extraction: Callable[..., Indexed]
) -> None:
    def answer(index: Indexed) -> set[tuple[Any, ...]]:
        reported = ("type", "endpoint1Type", "endpoint1Name", "endpoint2Type", "endpoint2Name", "unlinked")
        return {
            (writer.type, *(each.get(name) for name in reported))
            for writer in (index.hdfs, index.spark, index.hive, index.yarn)
            for kind in RelationType
            for each in index.relations(kind, writer)
        }

    assert answer(extraction("hdfs", "yarn", "hms", "spark_events")) == answer(indexed)


@pytest.mark.services
def test_lineage_from_the_output_directory_reaches_the_source_table(indexed: Indexed) -> None:
    found = lineage(indexed.solr, indexed.output, WalkOptions())
    assert (indexed.table, indexed.output) in {(edge.source, edge.target) for edge in found.edges}
    drawn = lineage(indexed.solr, indexed.output, WalkOptions(operations=True))
    assert APPLICATION in {node.name for node in drawn.nodes}


@pytest.mark.services
def test_lineage_of_a_tables_directory_includes_the_table_but_not_the_reverse(
    indexed: Indexed,
) -> None:
    from_directory = lineage(indexed.solr, indexed.location, WalkOptions(operations=True))
    assert {node.id for node in from_directory.nodes} >= {indexed.location, indexed.table, indexed.output}
    assert APPLICATION in {node.name for node in from_directory.nodes}
    from_table = indexed.drawn(indexed.table)
    assert indexed.output in from_table
    assert indexed.location not in from_table


@pytest.mark.services
def test_lineage_of_an_application_shows_its_executions(indexed: Indexed) -> None:
    nodes = indexed.drawn(indexed.application["identity"])
    assert nodes >= {*indexed.executions, indexed.table, indexed.output}
    for each in indexed.executions:
        assert indexed.application["identity"] not in indexed.drawn(each)


@pytest.mark.services
def test_failed_killed_and_running_applications_have_their_status(
    yarn: Hadoop, solr: Solr, spark: Callable[[], SparkSession]
) -> None:
    cluster = f"yarn-{uuid.uuid4().hex[:8]}"
    name = f"a test's {cluster}"
    failed, killed, running = (
        submit(yarn.yarn, name, command) for command in ("true", "sleep 300", "sleep 300")
    )
    try:
        await_state(yarn, failed, "FAILED")
        await_state(yarn, killed, "RUNNING", "ACCEPTED")
        kill(yarn, killed)
        await_state(yarn, killed, "KILLED")
        source = Source(source_id(cluster, YARN), YARN, YARN, cluster, (yarn.yarn,))
        # A response has so few entries that the windows must be halved.
        extractor = Yarn(source, Estate(cluster, (source,)), (yarn.yarn,), page_size=2)
        pipeline = Pipeline(solr.address, spark, lambda: time.time_ns() // 1_000_000)

        def statuses() -> dict[str, str]:
            query = f'sourceId:{source.id} AND operation:"{name}"'
            return {d["originalName"]: d["status"] for d in solr.cursor(ELEMENTS, query, "*")}

        assert pipeline.run(EXTRACTORS["yarn"], extractor).status is Status.FINISHED
        found = statuses()
        assert found.pop(running) in ("RUNNING", "ACCEPTED")
        assert found == {failed: "FAILED", killed: "KILLED"}
        [operation] = presented(solr, ELEMENTS, solr.get(ELEMENTS, [identify(source.id, "SHELL", name)]))
        assert (operation["originalName"], operation["internalType"]) == (name, "yarn_operation")
        await_state(yarn, running, "ACCEPTED", "RUNNING")
        kill(yarn, running)
        await_state(yarn, running, "KILLED")
        assert pipeline.run(EXTRACTORS["yarn"], extractor).status is Status.FINISHED
        assert statuses() == {failed: "FAILED", killed: "KILLED", running: "KILLED"}

        assert pipeline.run(EXTRACTORS["yarn"], extractor).status is Status.IDLE
    finally:
        for each in (failed, killed, running):
            kill(yarn, each)


def test_check_shows_the_answering_service(yarn: Hadoop) -> None:
    source = Source(source_id("c", YARN), YARN, YARN, "c")
    first, _ = Yarn(source, Estate("c", (source,)), (yarn.yarn,)).check()
    assert first.startswith(f"{yarn.yarn} answers: Hadoop 3.5.0, ACTIVE")
