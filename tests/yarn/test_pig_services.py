"""A real Pig runs scripts on a real HDFS, YARN and JobHistoryServer. Their lineage leads to a table of a real
metastore.

The expected lineage was written down before the code: a file, two scripts, a directory between them, and a table
located at the last directory.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from getpass import getuser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import requests

from extractors.hms import HiveMetastore
from extractors.hms.client import connected
from extractors.hms.idl import Database
from extractors.yarn import Yarn
from navlin.index.journal.runs import Status
from navlin.index.schema.fields import ELEMENTS
from navlin.index.solr.solr import Solr
from navlin.model.extractor import EXTRACTORS
from navlin.model.identity import identify
from navlin.model.keys import EntityType, RelationType, location_key, table_key
from navlin.model.plan import Positions
from navlin.model.records import Entity
from navlin.model.source import HIVE, YARN, Estate, Source, normal_authority, source_id
from navlin.pipeline.run import Pipeline
from navlin.query.lineage import lineage
from navlin.query.options import WalkOptions
from tests.conftest import fetched_for_services
from tests.services.mapreduce_cluster import MapReduceCluster
from tests.services.metastore import CREATE_DATABASE, CREATE_TABLE, Metastore, table
from tests.services.pig import Pig, jars_of_tasks
from tests.support.stored import stored
from tests.support.yarn_rounds import Extracted, named

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.services

CLEAN = """orders = LOAD '/data/raw/orders.csv' USING PigStorage(',') AS (id:int, customer:int, amount:double);
customers = LOAD 'raw/customers.csv' USING PigStorage(',') AS (id:int, name:chararray);
good = FILTER orders BY amount > 0.0;
bad = FILTER orders BY amount <= 0.0;
joined = JOIN good BY customer, customers BY id;
slim = FOREACH joined GENERATE customers::name AS name, good::amount AS amount;
STORE slim INTO '/data/clean' USING PigStorage('\\t');
STORE bad INTO '/data/bad';
"""
TOTALS = """slim = LOAD '/data/clean/part*' AS (name:chararray, amount:double);
grouped = GROUP slim BY name;
totals = FOREACH grouped GENERATE group AS name, SUM(slim.amount) AS total;
ordered = ORDER totals BY total DESC;
STORE ordered INTO '/data/totals';
"""
DAILY = """set job.name 'daily $day';
%declare password '$secret'
a = LOAD '/data/raw/orders.csv' USING PigStorage(',');
STORE a INTO '/data/daily/$day';
"""
FAILING = """a = LOAD '/data/raw/orders.csv' USING PigStorage(',') AS (id:int, customer:int, amount:double);
STORE a INTO '/data/kept';
exec;
b = LOAD '/data/raw/orders.csv' USING PigStorage(',') AS (id:int, customer:int, amount:double);
c = FOREACH b GENERATE org.apache.pig.builtin.AddDuration(ToDate('x', 'yyyy'), 'P1D');
STORE c INTO '/data/never';
"""
SECRET = "hunter2-planted"


class Site:
    """A cluster and Pig, with the number of jobs run so far."""

    def __init__(self, cluster: MapReduceCluster, pig: Pig) -> None:
        self.cluster, self.pig = cluster, pig
        self.cluster_name = f"pig-{uuid.uuid4().hex[:8]}"

    def source(self, kind: str, *serves: str) -> Source:
        named_by = source_id(self.cluster_name, kind)
        return Source(named_by, kind, kind, self.cluster_name, tuple(map(normal_authority, serves)))

    def run(self, name: str, script: str, **how: Any) -> None:
        """Run a script, and wait until the JobHistoryServer lists the jobs that YARN ran."""
        self.pig.run(name, script, **how)
        asked = f"{self.cluster.hadoop.yarn}/ws/v1/cluster/apps"
        finished = {"applicationTypes": "MAPREDUCE", "states": "FINISHED"}
        apps = requests.get(asked, params=finished, timeout=300).json()["apps"]["app"]
        self.cluster.ended_jobs(len(apps))

    def yarn(self, *others: Source) -> Yarn:
        source = self.source(YARN, self.cluster.hadoop.yarn)
        # Without a source of HDFS, the directories are granted.
        estate = Estate(self.cluster_name, (source, *others))
        return Yarn(source, estate, (self.cluster.hadoop.yarn,), (self.cluster.history_url,))

    def extracted(self) -> Extracted:
        extractor = self.yarn()
        found = Extracted(extractor.plan(Positions({}, 0)))
        for split in found.plan.splits:
            found.records += extractor.read(split)
        return found

    def of_script(self, name: str) -> tuple[set[str], set[str], list[Entity]]:
        """Return the inputs and outputs of the script with this name, and its executions."""
        found = self.extracted()
        flows = found.relations(RelationType.DATA_FLOW)
        runs = [
            each
            for each in found.records
            if isinstance(each, Entity)
            and each.key.type is EntityType.OPERATION_EXECUTION
            and each.key.parent is not None
            and each.key.parent.name == name
        ]
        return (
            {named(each.ep1) for each in flows if each.ep2.name == name},
            {named(each.ep2) for each in flows if each.ep1.name == name},
            runs,
        )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, mapreduce_jars: Path) -> Iterator[Site]:
    jars = fetched_for_services("pig")
    folder = tmp_path_factory.mktemp("pig")
    with MapReduceCluster(folder / "cluster", mapreduce_jars, jars_of_tasks(jars)) as cluster:
        write(cluster, "/data/raw/orders.csv", "1,1,10.5\n2,2,7\n3,1,-2\n")
        write(cluster, f"/user/{getuser()}/raw/customers.csv", "1,Ada\n2,Bo\n")
        yield Site(cluster, Pig(folder / "scripts", jars, cluster))


@pytest.fixture(scope="module")
def scripts(site: Site) -> None:
    """Two scripts that ran: ``clean.pig``, and ``totals.pig``, which reads the output of the first."""
    site.run("clean.pig", CLEAN)
    site.run("totals.pig", TOTALS)


def write(cluster: MapReduceCluster, path: str, text: str) -> None:
    url = f"{cluster.hadoop.http[0]}/webhdfs/v1{path}"
    made = requests.put(url, params={"op": "CREATE", "overwrite": "true"}, data=text, timeout=300)
    made.raise_for_status()


@pytest.mark.usefixtures("scripts")
def test_lineage_leads_from_a_file_through_two_scripts_and_a_directory_to_a_table(
    site: Site, metastore: Metastore, solr: Solr, spark: Callable[[], SparkSession]
) -> None:
    database = f"pig_{uuid.uuid4().hex[:8]}"
    with connected(metastore.address) as client:
        client.call(CREATE_DATABASE, Database(database, "", None, {}))
        location = f"{site.cluster.hadoop.url}/data/totals"
        client.call(
            CREATE_TABLE, table(database, "totals", {"name": "string", "total": "double"}, location=location)
        )
    hive = site.source(HIVE, metastore.uri)
    yarn = site.yarn(hive)
    hms = HiveMetastore(hive, yarn.estate, (metastore.uri,), databases=(database,))
    pipeline = Pipeline(solr.address, spark, lambda: time.time_ns() // 1_000_000)
    for name, extractor in (("hms", hms), ("yarn", yarn)):
        record = pipeline.run(EXTRACTORS[name], extractor)
        assert (record.status, record.failures, record.error) == (Status.FINISHED, (), "")

    found = lineage(solr, table_key(hive, database, "totals").identity, WalkOptions(operations=True))
    names = {node.name for node in found.nodes}
    assert {"clean.pig", "totals.pig", "/data/raw/orders.csv", "/data/clean"} <= names
    assert any(name.endswith("/raw/customers.csv") for name in names)
    assert not any(name.startswith("/tmp") for name in names)
    raw = location_key(yarn.estate, f"{site.cluster.hadoop.url}/data/raw/orders.csv")
    down = lineage(solr, raw.identity, WalkOptions())
    assert {f"{database}.totals", "/data/bad", "/data/clean"} <= {node.name for node in down.nodes}
    operations = solr.cursor(
        ELEMENTS,
        f"sourceId:{yarn.source.id} AND sourceType:PIG AND type:OPERATION",
        "*",
        filters=["deleted:false"],
    )
    assert all(not each.get("incomplete") for each in operations)


@pytest.mark.usefixtures("scripts")
def test_the_columns_the_text_and_the_order_of_a_real_script_are_known(site: Site) -> None:
    reads, writes, runs = site.of_script("clean.pig")
    assert writes == {"/data/clean", "/data/bad"}
    assert len(reads) == 2
    [run] = runs
    assert run.attributes["status"] == "SUCCEEDED"
    assert run.attributes["queryText"].rstrip("\n") == CLEAN.rstrip("\n")
    assert len(run.attributes["jobs"]) >= 2
    found = site.extracted()
    [operation] = [each for name, each in found.operations.items() if name == "clean.pig"]
    assert operation.key.identity == identify("clean.pig", operation.attributes["logicalPlanHash"])
    assert any('"columns":"name chararray, amount double"' in each for each in operation.attributes["stores"])


def test_runs_of_one_script_with_dated_names_are_one_operation_and_keep_no_password(site: Site) -> None:
    for day in ("2026-11-01", "2026-11-02"):
        site.run("daily.pig", DAILY, parameters={"day": day, "secret": SECRET})
    _, writes, runs = site.of_script("daily.pig")
    assert writes == {"/data/daily/2026-11-01", "/data/daily/2026-11-02"}
    assert len({each.key.identity for each in runs}) == 2
    assert len({each.key.parent.identity for each in runs if each.key.parent}) == 1
    found = site.extracted()
    assert SECRET not in stored(found.records) + repr(found.records)


def test_a_failed_script_keeps_its_finished_store(site: Site) -> None:
    site.run("failing.pig", FAILING, fails=True)
    reads, writes, _ = site.of_script("failing.pig")
    assert (reads, writes) == ({"/data/raw/orders.csv"}, {"/data/kept"})


def test_a_script_without_information_is_incomplete(site: Site) -> None:
    site.run(
        "silent.pig",
        "a = LOAD '/data/raw/orders.csv'; STORE a INTO '/data/silent';",
        properties=["pig.script.info.enabled=false"],
    )
    found = site.extracted()
    reasons = found.reasons["PigLatin:silent.pig"]
    assert reasons == ["pig.script.info.enabled is false, so its jobs do not name what they read and write"]
