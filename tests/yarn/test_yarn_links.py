"""Spark's executions are linked to YARN's applications, in whatever order the sources are configured or extracted."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from extractors.spark import SparkEvents
from extractors.yarn import Yarn
from navlin.index.journal.runs import Status
from navlin.index.schema.fields import ELEMENTS, RELATIONS
from navlin.index.solr.solr import Solr
from navlin.model.extractor import EXTRACTORS
from navlin.model.identity import identify
from navlin.model.keys import (
    EntityType,
    RelationType,
    application_id,
    application_key,
    location_key,
    placeholder_execution_key,
)
from navlin.model.source import HIVE, SPARK, YARN, Estate, Source, adoption_key, source_id
from navlin.pipeline.run import Pipeline
from navlin.query.lineage import lineage
from navlin.query.options import WalkOptions
from tests.services.rest import JobHistory, ResourceManager
from tests.support.query_estate import World
from tests.support.spark_logs import (
    ESTATE,
    Follower,
    application,
    end,
    insert,
    log_start,
    scan,
    start,
    write_log,
)
from tests.support.yarn_rounds import NOW_MS, app, job

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COPY = insert("hdfs://ns1/out", scan("db.a"))


# -- Names of one application -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("application_1326381300833_0002", "application_1326381300833_0002"),
        ("job_1326381300833_0002", "application_1326381300833_0002"),
        ("job_1326381300833_2_2", "application_1326381300833_0002"),
        ("appattempt_1326381300833_0002_000001", "application_1326381300833_0002"),
        ("application_1326381300833_12345", "application_1326381300833_12345"),
        ("local-1795273594148", None),
        ("app-20260101120000-0001", None),
        ("application_x_1", None),
        (f"application_1326381300833_{'9' * 5_000}", None),
        ("", None),
    ],
)
def test_every_form_of_an_applications_name_gives_one_id(name: str, expected: str | None) -> None:
    assert application_id(name) == expected


def test_a_name_that_is_not_an_application_has_no_key() -> None:
    with pytest.raises(ValueError, match="local-1"):
        application_key(ESTATE.serving(YARN), "local-1")


# -- Spark's side -------------------------------------------------------------------------------------------------------


def test_an_execution_names_its_application_even_if_it_failed(tmp_path: Path) -> None:
    write_log(
        tmp_path,
        log_start(),
        application(attempt="2"),
        start(0, COPY),
        end(0),
        start(1, COPY),
        end(1, error="x"),
    )
    reported = Follower(tmp_path).poll()
    assert set(reported.run_as) == {"application_1_0001_2-exec.0", "application_1_0001_2-exec.1"}
    for relation in reported.run_as.values():
        assert relation.type is RelationType.LOGICAL_PHYSICAL
        assert relation.ep2.identity == identify(ESTATE.serving(YARN).id, "application_1_0001")
        assert relation.tree_path.startswith(relation.ep1.tree_path)
        assert relation.ages


def test_a_setting_chooses_among_several_yarns(tmp_path: Path) -> None:
    yarns = [Source(source_id("test", n), YARN, n, "test", (f"http://{n}:8088",)) for n in ("a", "b")]
    estate = Estate("test", (*ESTATE.sources, *yarns))
    write_log(tmp_path, log_start(), application(), start(0, COPY), end(0))
    [relation] = Follower(tmp_path, estate, yarn="http://B:8088/").poll().run_as.values()
    assert relation.ep2.source == yarns[1]
    [relation] = Follower(tmp_path, estate).poll().run_as.values()
    assert not relation.ep2.source.configured


# -- In the index -------------------------------------------------------------------------------------------------------


class Indexed:
    """A Spark log and a ResourceManager that both know the same application."""

    def __init__(self, solr: Solr, spark: Callable[[], SparkSession], folder: Path, url: str) -> None:
        self.solr, self.folder, self.url = solr, folder, url
        self.cluster = f"links-{uuid.uuid4().hex[:8]}"
        self.spark = Source(source_id(self.cluster, "S"), SPARK, "S", self.cluster)
        self.now_ms = 1_800_000_000_000
        self.pipeline = Pipeline(solr.address, spark, self._clock)

    def _clock(self) -> int:
        self.now_ms += 1
        return self.now_ms

    def follow(self, estate: Estate) -> None:
        extractor = SparkEvents(self.spark, estate, str(self.folder))
        assert self.pipeline.run(EXTRACTORS["spark_events"], extractor).status is Status.FINISHED

    def pull(self, estate: Estate) -> Status:
        source = estate.serving(YARN)
        record = self.pipeline.run(EXTRACTORS["yarn"], Yarn(source, estate, (self.url,)))
        assert not record.error
        return record.status

    def found(self, query: str, core: str = ELEMENTS) -> list[dict[str, Any]]:
        return list(self.solr.cursor(core, query, "*", filters=["deleted:false"]))


@pytest.fixture
def indexed(solr: Solr, spark: Callable[[], SparkSession], tmp_path: Path) -> Iterator[Indexed]:
    known = "application_1799000000000_0007"
    write_log(
        tmp_path,
        log_start(),
        application() | {"App ID": known},
        start(0, COPY),
        end(0),
    )
    with ResourceManager(app(7)) as service:
        yield Indexed(solr, spark, tmp_path, service.url)


def test_a_yarn_configured_later_takes_over_granted_applications(indexed: Indexed) -> None:
    alone = Estate(indexed.cluster, (indexed.spark,))
    indexed.follow(alone)
    granted = alone.serving(YARN)
    [before] = indexed.found(f"sourceId:{granted.id} AND type:OPERATION_EXECUTION")
    assert before["granted"]
    assert not indexed.found(f"writer:{granted.id} AND type:INSTANCE_OF", RELATIONS)

    own = Source(granted.id, YARN, "YARN-1", indexed.cluster, ("",))
    adopted = {adoption_key(YARN, ""): granted.id}
    both = Estate(indexed.cluster, (indexed.spark, own), adopted)
    assert indexed.pull(both) is Status.FINISHED
    [after] = indexed.found(f"sourceId:{granted.id} AND type:OPERATION_EXECUTION")
    assert after["identity"] == before["identity"]
    assert after["status"] == "SUCCEEDED"
    assert "granted" not in after
    [instance] = indexed.found(f"writer:{granted.id} AND type:INSTANCE_OF", RELATIONS)
    assert instance["endpoint1Ids"] == [identify(granted.id, "SPARK", "nightly")]
    [link] = indexed.found(f"writer:{indexed.spark.id} AND endpoint2Ids:{after['identity']}", RELATIONS)
    assert link["type"] == "LOGICAL_PHYSICAL"
    assert indexed.pull(both) is Status.IDLE


def test_a_link_to_a_missing_application_is_linked_once_it_exists(indexed: Indexed) -> None:
    yarn = Source(source_id(indexed.cluster, "Y"), YARN, "Y", indexed.cluster)
    estate = Estate(indexed.cluster, (indexed.spark, yarn))
    indexed.follow(estate)
    waiting = f"writer:{indexed.spark.id} AND type:LOGICAL_PHYSICAL"
    assert [each["unlinked"] for each in indexed.found(waiting, RELATIONS)] == [True]
    indexed.pull(estate)
    assert [each["unlinked"] for each in indexed.found(waiting, RELATIONS)] == [False]


def test_a_mapreduce_job_appears_with_its_directories_and_its_query(
    solr: Solr, spark: Callable[[], SparkSession], resource_manager: ResourceManager, history: JobHistory
) -> None:
    query = "etl_20260101120000_0b1c2d3e-0000-4000-8000-000000000001"
    resource_manager.apps = [app(1, "insert into t(Stage-1)", "MAPREDUCE")]
    history.add(
        job(1, "insert into t(Stage-1)"),
        fs_defaultFS="hdfs://ns1",
        mapreduce_input_fileinputformat_inputdir=r"/in/a\,b,/in/2026-*",
        mapreduce_output_fileoutputformat_outputdir="/out",
        mapreduce_workflow_id=f"hive_{query}",
    )
    cluster = f"links-{uuid.uuid4().hex[:8]}"
    source = Source(source_id(cluster, YARN), YARN, YARN, cluster)
    # A metastore's source does not report queries, so YARN's source may create the query's execution and the
    # directories.
    hms = Source(source_id(cluster, HIVE), HIVE, HIVE, cluster)
    estate = Estate(cluster, (source, hms))
    pipeline = Pipeline(solr.address, spark, lambda: NOW_MS)
    extractor = Yarn(source, estate, (resource_manager.url,), (history.url,))
    assert pipeline.run(EXTRACTORS["yarn"], extractor).status is Status.FINISHED

    output = location_key(estate, "hdfs://ns1/out").identity
    drawn = {node.name for node in lineage(solr, output, WalkOptions()).nodes}
    assert drawn == {"/in/a,b", "/in", "/out"}
    hive = placeholder_execution_key(hms, query).identity
    ran_as = application_key(source, "application_1799000000000_0001").identity
    [link] = solr.cursor(RELATIONS, f"+writer:{source.id} +type:LOGICAL_PHYSICAL", "*")
    assert (link["endpoint1Ids"], link["endpoint2Ids"]) == ([hive], [ran_as])
    assert not link.get("unlinked")
    # Lineage of the Hive execution does not show the application, but lineage of the application shows the
    # execution.
    assert hive in {node.id for node in lineage(solr, ran_as).nodes}
    assert ran_as not in {node.id for node in lineage(solr, hive).nodes}
    assert pipeline.run(EXTRACTORS["yarn"], extractor).status is Status.IDLE


# -- Queries ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def world(solr: Solr) -> World:
    return World(solr, f"w{uuid.uuid4().hex[:8]}")


def test_the_lineage_of_an_application_is_that_of_its_execution(world: World) -> None:
    source, target = world.table("a"), world.table("b")
    operation = world.operation("b from a", [source], [target], engine=SPARK)
    run = world.execution(operation, "application_1_0001-exec.1")
    ran_as = world.entity(application_key(world.source(YARN), "application_1_0001"))
    world.relate(RelationType.LOGICAL_PHYSICAL, run, ran_as, writer=SPARK)
    world.index()
    drawn = {node.id for node in lineage(world.solr, ran_as.identity, WalkOptions()).nodes}
    assert drawn == {each.identity for each in (ran_as, run, operation, source, target)}
    # Lineage that starts at the logical side does not show the application.
    for each in (source, operation, run):
        assert ran_as.identity not in {node.id for node in lineage(world.solr, each.identity).nodes}


def test_the_lineage_of_a_yarn_job_is_that_of_its_applications_executions(world: World) -> None:
    source, target = world.table("a"), world.table("b")
    operation = world.operation("b from a", [source], [target], engine=SPARK)
    run = world.execution(operation, "application_1_0001-exec.1")
    nightly = world.operation("nightly", [], [], engine=YARN)
    ran_as = world.execution(nightly, "application_1_0001")
    world.relate(RelationType.LOGICAL_PHYSICAL, run, ran_as, writer=SPARK)
    world.index()
    drawn = {node.id for node in lineage(world.solr, nightly.identity, WalkOptions()).nodes}
    assert drawn == {each.identity for each in (nightly, ran_as, run, operation, source, target)}


def test_only_the_latest_executions_are_drawn_and_the_cut_is_reported(world: World) -> None:
    operation = world.operation("b from a", [world.table("a")], [world.table("b")], engine=SPARK)
    ran_as = world.entity(application_key(world.source(YARN), "application_1_0001"))
    for number in range(120):
        run = world.execution(operation, f"exec.{number}")
        world.relate(RelationType.LOGICAL_PHYSICAL, run, ran_as, writer=SPARK)
    world.index()
    answer = lineage(world.solr, ran_as.identity)
    executions = [node for node in answer.nodes if node.type == EntityType.OPERATION_EXECUTION]
    assert len(executions) == 101
    assert [cut.reason.value for cut in answer.truncated_at] == ["executions"]
