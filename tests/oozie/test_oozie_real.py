"""A real Oozie on a real HDFS and YARN runs a bundle with a coordinator of a workflow, a workflow with parallel actions
and a sub-workflow, a workflow that fails, and one that is run again.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from extractors.oozie import Oozie
from extractors.rest import CallerRefused
from extractors.yarn import Yarn
from navlin.index.journal.runs import Status
from navlin.index.schema.fields import ELEMENTS, RELATIONS, STAMPS
from navlin.index.solr.solr import Solr
from navlin.kerberos.spnego import Spnego
from navlin.model.extractor import EXTRACTORS
from navlin.model.keys import path_key
from navlin.model.source import HDFS, OOZIE, YARN, Estate, Source, normal_authority, source_id
from navlin.pipeline.run import Pipeline
from navlin.query.lineage import lineage
from navlin.query.options import WalkOptions
from navlin.solr_server.embedded import EmbeddedSolr
from tests.conftest import fetched_for_services
from tests.services.kerberos import Kdc
from tests.services.mapreduce_cluster import MapReduceCluster
from tests.services.oozie_server import PROXY_USER, RealOozie, put

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.services

WORKFLOW = (
    '<workflow-app xmlns="uri:oozie:workflow:1.0" name="{}">{}'
    '<kill name="fail"><message>it failed</message></kill><end name="end"/></workflow-app>'
)
THEN = '<ok to="{}"/><error to="fail"/></action>'
PROPERTY = "<property><name>{}</name><value>{}</value></property>"
MAP_REDUCE = "".join(
    PROPERTY.format(name, value)
    for name, value in {
        "mapred.mapper.class": "org.apache.hadoop.mapred.lib.IdentityMapper",
        "mapred.reducer.class": "org.apache.hadoop.mapred.lib.IdentityReducer",
        "mapred.output.key.class": "org.apache.hadoop.io.LongWritable",
        "mapreduce.job.output.key.class": "org.apache.hadoop.io.LongWritable",
        "mapreduce.job.output.value.class": "org.apache.hadoop.io.Text",
        "mapreduce.input.fileinputformat.inputdir": "/data/orders",
        "mapreduce.output.fileoutputformat.outputdir": "/data/out",
    }.items()
)
APPLICATIONS = {
    "orders/workflow.xml": WORKFLOW.format(
        "orders-wf",
        '<start to="prepare"/><action name="prepare"><fs><delete path="${nameNode}/data/out"/></fs>'
        + THEN.format("both")
        + '<fork name="both"><path start="say"/><path start="copy"/></fork>'
        '<action name="say"><shell xmlns="uri:oozie:shell-action:1.0">'
        "<resource-manager>${resourceManager}</resource-manager><name-node>${nameNode}</name-node><exec>echo</exec><argument>rows=3</argument><capture-output/></shell>"
        + THEN.format("joined")
        + '<action name="copy"><map-reduce><resource-manager>${resourceManager}</resource-manager>'
        f"<name-node>${{nameNode}}</name-node><configuration>{MAP_REDUCE}</configuration></map-reduce>"
        + THEN.format("joined")
        + '<join name="joined" to="sub"/><action name="sub"><sub-workflow><app-path>${nameNode}/apps/sub</app-path>'
        "<propagate-configuration/></sub-workflow>" + THEN.format("end"),
    ),
    "sub/workflow.xml": WORKFLOW.format(
        "sub: A=x/ü",
        '<start to="move"/><action name="move"><fs><mkdir path="${nameNode}/data/moved"/>'
        '<move source="${nameNode}/data/from" target="${nameNode}/data/moved/to"/></fs>' + THEN.format("end"),
    ),
    "bad/workflow.xml": WORKFLOW.format(
        "bad-wf",
        '<start to="move"/><action name="move"><fs><move source="${nameNode}/nothing" target="${nameNode}/data/x"/></fs>'
        + THEN.format("end"),
    ),
    "daily/workflow.xml": WORKFLOW.format(
        "daily-small",
        '<start to="touch"/><action name="touch"><fs><touchz path="${output}/_DONE"/></fs>'
        + THEN.format("end"),
    ),
    "coordinator/coordinator.xml": (
        '<coordinator-app xmlns="uri:oozie:coordinator:0.4" name="daily-coord" frequency="${coord:days(1)}"'
        ' start="2026-11-20T00:00Z" end="2026-11-22T00:00Z" timezone="UTC"><datasets>'
        '<dataset name="raw" frequency="${coord:days(1)}" initial-instance="2026-11-01T00:00Z" timezone="UTC">'
        "<uri-template>${nameNode}/data/in/${YEAR}/${MONTH}/${DAY}</uri-template><done-flag></done-flag></dataset>"
        '<dataset name="out" frequency="${coord:days(1)}" initial-instance="2026-11-01T00:00Z" timezone="UTC">'
        "<uri-template>${nameNode}/data/daily/${YEAR}${MONTH}${DAY}</uri-template></dataset></datasets>"
        '<input-events><data-in name="input" dataset="raw"><instance>${coord:current(0)}</instance></data-in></input-events>'
        '<output-events><data-out name="output" dataset="out"><instance>${coord:current(0)}</instance></data-out>'
        "</output-events><action><workflow><app-path>${nameNode}/apps/daily</app-path><configuration>"
        + PROPERTY.format("input", "${coord:dataIn('input')}")
        + PROPERTY.format("output", "${coord:dataOut('output')}")
        + "</configuration></workflow></action></coordinator-app>"
    ),
    "bundle/bundle.xml": (
        '<bundle-app xmlns="uri:oozie:bundle:0.2" name="daily-bundle"><coordinator name="one">'
        "<app-path>${nameNode}/apps/coordinator</app-path></coordinator></bundle-app>"
    ),
}
INPUTS = ("orders/part", "in/2026/11/20/part", "in/2026/11/21/part", "from/part")

OPERATIONS = {
    ("orders-wf", "WORKFLOW"),
    ("sub: A=x/ü", "WORKFLOW"),
    ("bad-wf", "WORKFLOW"),
    ("daily-small", "WORKFLOW"),
    ("daily-coord", "COORDINATOR"),
    ("daily-bundle", "BUNDLE"),
}
PARTS = {
    ("prepare", "fs"),
    ("say", "shell"),
    ("copy", "map-reduce"),
    ("sub", "sub-workflow"),
    ("move", "fs"),
    ("touch", "fs"),
}
RUNS = {
    ("orders-wf", "SUCCEEDED"): 1,
    ("sub: A=x/ü", "SUCCEEDED"): 1,
    ("bad-wf", "KILLED"): 1,
    ("daily-small", "SUCCEEDED"): 2,
    ("daily-coord", "SUCCEEDED"): 2,
    ("daily-bundle", "SUCCEEDED"): 1,
}
CHILDREN = {
    ("daily-bundle", "daily-coord"),
    ("daily-coord", "daily-small"),
    ("orders-wf", "sub: A=x/ü"),
}
FLOWS = {
    ("/data/orders", "copy"),
    ("copy", "/data/out"),
    ("/data/from", "move"),
    ("move", "/data/moved/to"),
    ("/data/in/2026/11/20", "daily-coord"),
    ("/data/in/2026/11/21", "daily-coord"),
    ("daily-coord", "/data/daily/20261120"),
    ("daily-coord", "/data/daily/20261121"),
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, mapreduce_jars: Path) -> Iterator[MapReduceCluster]:
    with MapReduceCluster(tmp_path_factory.mktemp("cluster"), mapreduce_jars, more=PROXY_USER) as running:
        yield running


@pytest.fixture(scope="module")
def oozie(tmp_path_factory: pytest.TempPathFactory, cluster: MapReduceCluster) -> Iterator[RealOozie]:
    jars = fetched_for_services("oozie")
    with RealOozie(tmp_path_factory.mktemp("oozie"), jars, cluster) as running:
        for path, text in APPLICATIONS.items():
            put(cluster, f"/apps/{path}", text.encode())
        for path in INPUTS:
            put(cluster, f"/data/{path}", b"1\n2\n3\n")
        yield running


@dataclass
class Indexed:
    """The extractors of Oozie and YARN in a separate cluster."""

    solr: Solr
    pipeline: Pipeline
    oozie: RealOozie
    hadoop: MapReduceCluster
    name: str = field(default_factory=lambda: f"oozie-{uuid.uuid4().hex[:8]}")

    def source(self, kind: str, *serves: str) -> Source:
        return Source(source_id(self.name, kind), kind, kind, self.name, tuple(map(normal_authority, serves)))

    def run(self) -> None:
        hadoop = self.hadoop.hadoop
        oozie, yarn = self.source(OOZIE), self.source(YARN, hadoop.yarn)
        estate = Estate(self.name, (oozie, yarn))
        extractors = {
            "oozie": Oozie(oozie, estate, (self.oozie.url,)),
            "yarn": Yarn(yarn, estate, (hadoop.yarn,), (self.hadoop.history_url,), history_wait_s=5),
        }
        for name, extractor in extractors.items():
            record = self.pipeline.run(EXTRACTORS[name], extractor)
            assert record.status in (Status.FINISHED, Status.IDLE)
            assert (record.failures, record.error) == ((), "")

    def entities(self, kind: str) -> list[dict[str, Any]]:
        filters = [f"sourceId:{self.source(OOZIE).id}", f"type:{kind}", "deleted:false"]
        return list(self.solr.cursor(ELEMENTS, "*:*", "*", filters=filters))

    def relations(self, query: str) -> list[dict[str, Any]]:
        ends = f"endpoint1SourceId:{self.source(OOZIE).id} OR endpoint2SourceId:{self.source(OOZIE).id}"
        return list(self.solr.cursor(RELATIONS, query, "*", filters=[ends, "deleted:false"]))

    def pairs(self, query: str) -> set[tuple[str, str]]:
        return {(each["endpoint1Name"], each["endpoint2Name"]) for each in self.relations(query)}

    def whole(self) -> list[Mapping[str, Any]]:
        """All of Oozie's documents, without the ids that depend on the cluster's name, and without navlin's stamps."""
        kept = (
            "type",
            "originalName",
            "operationType",
            "status",
            "started",
            "ended",
            "queryText",
            "errorMessage",
        )
        found = [
            {name: value for name, value in each.items() if name in kept and name not in STAMPS}
            for kind in ("OPERATION", "SUB_OPERATION", "OPERATION_EXECUTION")
            for each in self.entities(kind)
        ]
        ends = ("type", "endpoint1Name", "endpoint2Name", "inferred", "unlinked")
        found += [{name: each.get(name) for name in ends} for each in self.relations("*:*")]
        return sorted(found, key=repr)


@pytest.fixture(scope="module")
def connected(solr_server: EmbeddedSolr) -> Iterator[Solr]:
    with Solr(solr_server.start()) as solr:
        yield solr


@dataclass
class Read:
    """The documents read while the jobs ran and again afterwards, and those read once."""

    twice: Indexed
    once: Indexed
    bad: str


@pytest.fixture(scope="module")
def read(
    oozie: RealOozie, cluster: MapReduceCluster, connected: Solr, spark: Callable[[], SparkSession]
) -> Read:
    pipeline = Pipeline(connected.address, spark, lambda: time.time_ns() // 1_000_000)
    twice, once = (Indexed(connected, pipeline, oozie, cluster) for _ in range(2))
    url = cluster.hadoop.url
    bad = oozie.submit(oozie__wf__application__path=f"{url}/apps/bad")
    oozie.await_status(bad, "KILLED")
    oozie.run_again(bad, oozie__wf__rerun__failnodes="true")
    oozie.await_info(bad, lambda info: info["run"] == 1 and info["status"] == "KILLED")
    bundle = oozie.submit(oozie__bundle__application__path=f"{url}/apps/bundle")
    orders = oozie.submit(oozie__wf__application__path=f"{url}/apps/orders")
    oozie.await_info(orders, lambda info: any(each["type"] == "map-reduce" for each in info["actions"]))
    twice.run()
    oozie.await_status(orders, "SUCCEEDED")
    oozie.await_status(bundle, "SUCCEEDED")
    cluster.ended_jobs(1)
    for indexed in (twice, once):
        indexed.run()
    return Read(twice, once, bad)


def test_the_index_has_every_application_run_and_part(read: Read) -> None:
    found = read.once.entities("OPERATION")
    assert {(each["originalName"], each["operationType"]) for each in found} == OPERATIONS
    parts = read.once.entities("SUB_OPERATION")
    assert {(each["originalName"], each["operationType"]) for each in parts} == PARTS
    runs: dict[tuple[str, str], int] = {}
    for each in read.once.entities("OPERATION_EXECUTION"):
        key = (each["operation"], each["status"])
        runs[key] = runs.get(key, 0) + 1
    assert runs == RUNS


def test_a_run_that_failed_twice_is_its_second_run_with_its_error(read: Read) -> None:
    [run] = [each for each in read.once.entities("OPERATION_EXECUTION") if each["originalName"] == read.bad]
    assert run["tp_oozieRun"] == ["1"] or run["tp_oozieRun"] == "1"
    assert "FS006" in str(run)


def test_everything_is_below_the_job_that_started_it(read: Read) -> None:
    found = {
        (each["endpoint1Name"], each["endpoint2Name"])
        for each in read.once.relations("type:PARENT_CHILD")
        if each["endpoint1Type"] == each["endpoint2Type"] == "OPERATION" and not each.get("rule")
    }
    assert found == CHILDREN


def test_the_map_reduce_job_is_below_its_workflow(read: Read) -> None:
    started = read.once.pairs("type:PARENT_CHILD AND rule:add_started_operations")
    without_ids = {(workflow, name.partition(":ID=")[0]) for workflow, name in started}
    assert without_ids == {("orders-wf", "oozie:action:T=map-reduce:W=orders-wf:A=copy")}
    assert len(started) == 1


def test_data_flows_as_the_jobs_moved_it(read: Read) -> None:
    assert read.once.pairs("type:DATA_FLOW") == FLOWS


def test_the_lineage_of_an_output_leads_to_its_input(read: Read) -> None:
    hdfs = Estate(read.once.name).serving(HDFS, read.once.hadoop.hadoop.url)
    drawn = lineage(read.once.solr, path_key(hdfs, "/data/moved/to").identity, WalkOptions())
    assert {node.name for node in drawn.nodes} == {"/data/moved/to", "/data/from"}


def test_reading_while_jobs_run_and_again_gives_the_same_as_reading_once(read: Read) -> None:
    assert read.twice.whole() == read.once.whole()


def test_an_oozie_that_requires_tickets_is_read_with_a_keytab(
    cluster: MapReduceCluster, kdc: Kdc, connected: Solr, tmp_path: Path, spark: Callable[[], SparkSession]
) -> None:
    login = kdc.login("navlin", kdc.keytab("navlin-on-oozie.keytab", "navlin"))
    jars = fetched_for_services("oozie")
    with RealOozie(tmp_path / "oozie", jars, cluster, kerberos=kdc, ticket=Spnego(login)) as kerberized:
        put(cluster, "/apps/sub/workflow.xml", APPLICATIONS["sub/workflow.xml"].encode())
        put(cluster, "/data/from/part", b"1\n")
        job = kerberized.submit(user="navlin", oozie__wf__application__path=f"{cluster.hadoop.url}/apps/sub")
        kerberized.await_status(job, "SUCCEEDED", "KILLED")
        source = Source(source_id("kerberized", OOZIE), OOZIE, OOZIE, "kerberized", ())
        estate = Estate("kerberized", (source,))
        with pytest.raises(CallerRefused, match="401"):
            list(Oozie(source, estate, (kerberized.url,)).check())
        who = {name: getattr(login, name) for name in ("principal", "keytab", "krb5_conf")}
        extractor = Oozie(source, estate, (kerberized.url,), auth="kerberos", **who)
        assert list(extractor.check()) == [f"{kerberized.url} answers: Oozie 5.2.1, shows workflows"]
        pipeline = Pipeline(connected.address, spark, lambda: time.time_ns() // 1_000_000)
        record = pipeline.run(EXTRACTORS["oozie"], extractor)
    assert (record.status, record.failures, record.error) == (Status.FINISHED, (), "")
    filters = [f"sourceId:{source.id}", "type:OPERATION_EXECUTION", "deleted:false"]
    [run] = connected.cursor(ELEMENTS, "*:*", "*", filters=filters)
    assert (run["originalName"], run["principal"]) == (job, "navlin")


def test_no_password_of_a_job_is_in_the_index(read: Read) -> None:
    everything = [*read.once.entities("*"), *read.once.relations("*:*")]
    assert "hunter2" not in str(everything)
