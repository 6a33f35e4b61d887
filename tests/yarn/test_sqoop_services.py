"""A real Sqoop moves rows between a real database and a real HDFS. Its jobs are read from a real JobHistoryServer.

The pictures were written down before the code: which table leads to which directory, and which directory to which table.
"""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from extractors.hms.client import connected
from extractors.hms.idl import GET_ALL_TABLES, Database
from extractors.openlineage import OpenLineageEvents
from extractors.yarn import SqoopPublications, Yarn
from navlin.model.databases import database_of
from navlin.model.keys import EntityType, RelationType
from navlin.model.plan import Positions
from navlin.model.records import Entity, Relation
from navlin.model.source import HDFS, SDK, SQOOP, YARN, Estate, Source, source_id
from tests.conftest import fetched_for_services
from tests.services.hive import run_hive
from tests.services.mapreduce_cluster import MapReduceCluster
from tests.services.metastore import CREATE_DATABASE, Metastore
from tests.services.sqoop import Hsqldb, Sqoop
from tests.support.sqoop_jobs import columns_of, without_yarn
from tests.support.yarn_rounds import Extracted

pytestmark = pytest.mark.services

ROWS = (
    "CREATE TABLE CUSTOMERS (ID INT PRIMARY KEY, NAME VARCHAR(40), UPDATED TIMESTAMP)",
    "CREATE TABLE ORDERS (ID INT PRIMARY KEY, CUSTOMER_ID INT, AMOUNT DECIMAL(10,2))",
    "CREATE TABLE TOTALS (CUSTOMER_ID INT, TOTAL DECIMAL(10,2))",
    "INSERT INTO CUSTOMERS VALUES (1, 'Ada', TIMESTAMP '2026-01-01 00:00:00'), (2, 'Bo', TIMESTAMP '2026-02-01 00:00:00')",
    "INSERT INTO ORDERS VALUES (1, 1, 10.5), (2, 2, 7), (3, 1, 2.25)",
)
MOVED = "its data are in a directory from which Sqoop moves them elsewhere"
SERIALISED = "sqoop.jobbase.serialize.sqoopoptions=true"
ONE_TASK = ("-m", "1")


class Site:
    """A cluster, a database and Sqoop, with the jobs that ran so far."""

    def __init__(self, cluster: MapReduceCluster, database: Hsqldb, sqoop: Sqoop) -> None:
        self.cluster, self.database, self.sqoop = cluster, database, sqoop
        self.jobs = 0

    def moves(
        self, tool: str, *arguments: str, properties: tuple[str, ...] = (), jobs: int = 1
    ) -> dict[str, Any]:
        """Run a command, and return the attributes of the operation of the only new execution, with its columns."""
        connection = ("--connect", self.database.url, "--username", "SA", "--password", "")
        known = self.extracted().executions.keys()
        self.sqoop.run(tool, *(connection if tool != "merge" else ()), *arguments, properties=properties)
        self.jobs += jobs
        self.cluster.ended_jobs(self.jobs)
        found = self.extracted()
        [execution] = [each for name, each in found.executions.items() if name not in known]
        assert execution.key.parent is not None
        operation = operations_of(found)[execution.key.parent.identity]
        return {**operation.attributes, "columns": columns_of(_only(found, operation))}

    def extracted(self) -> Extracted:
        hdfs = Source(source_id("c", "HDFS-1"), HDFS, "HDFS-1", "c", (self.cluster.hadoop.url,))
        yarn = Source(source_id("c", "YARN-1"), YARN, "YARN-1", "c", (self.cluster.hadoop.yarn,))
        told = Source(source_id("c", "OL-1"), SDK, "OL-1", "c", claimable=False)
        extractor = Yarn(
            yarn, Estate("c", (hdfs, yarn, told)), (self.cluster.hadoop.yarn,), (self.cluster.history_url,)
        )
        found = Extracted(extractor.plan(Positions({}, 0)))
        for split in found.plan.splits:
            found.records += extractor.read(split)
        return without_yarn(found)


def operations_of(found: Extracted) -> dict[str, Entity]:
    """Map the identity of each operation to its newest record. Several operations may have the same name."""
    entities = [each for each in found.records if isinstance(each, Entity)]
    return {
        each.key.identity: each
        for each in sorted(entities, key=lambda each: each.as_of_ms)
        if each.key.type is EntityType.OPERATION
    }


def _only(found: Extracted, operation: Entity) -> Extracted:
    parts = {
        each.key.identity
        for each in found.records
        if isinstance(each, Entity) and each.key.parent and each.key.parent.identity == operation.key.identity
    }
    return Extracted(
        found.plan,
        [
            each
            for each in found.records
            if isinstance(each, Relation) and parts & {each.ep1.identity, each.ep2.identity}
        ],
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, mapreduce_jars: Path, sqoop_jars: Path) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("sqoop")
    of_tasks = [each for each in sorted(sqoop_jars.glob("*.jar")) if not each.name.startswith("commons-cli")]
    [driver] = sqoop_jars.glob("hsqldb-*.jar")
    with (
        MapReduceCluster(folder / "cluster", mapreduce_jars, of_tasks) as cluster,
        Hsqldb(folder / "database", driver) as database,
    ):
        for each in ROWS:
            database.run(each)
        yield Site(cluster, database, Sqoop(folder / "command", sqoop_jars, cluster))


def test_tables_and_queries_lead_to_directories_and_back(site: Site) -> None:
    table = site.moves("import", "--table", "ORDERS", "--target-dir", "/data/orders", *ONE_TASK)
    assert (table["inputs"], table["outputs"], table.get("incompleteReasons")) == (
        ["ORDERS"],
        ["/data/orders"],
        None,
    )
    assert table["columns"] == {
        f"/data/orders.{name}": f"ORDERS.{name} |" for name in ("ID", "CUSTOMER_ID", "AMOUNT")
    }

    text = (
        "SELECT o.CUSTOMER_ID, SUM(o.AMOUNT) AS TOTAL FROM ORDERS o WHERE $CONDITIONS GROUP BY o.CUSTOMER_ID"
    )
    query = site.moves("import", "--query", text, "--target-dir", "/data/totals", *ONE_TASK)
    assert (query["inputs"], query["outputs"], query["queryText"]) == (["ORDERS"], ["/data/totals"], text)
    assert query["columns"]["/data/totals.TOTAL"].startswith("ORDERS.AMOUNT |")

    back = site.moves("export", "--table", "TOTALS", "--export-dir", "/data/totals", *ONE_TASK)
    assert (back["inputs"], back["outputs"], back.get("incompleteReasons")) == (
        ["/data/totals"],
        ["TOTALS"],
        None,
    )
    assert back["columns"] == {f"TOTALS.{name}": "|" for name in ("CUSTOMER_ID", "TOTAL")}
    assert site.database.run("SELECT TOTAL FROM TOTALS ORDER BY CUSTOMER_ID").split() == ["12.75", "7.00"]

    avro = site.moves(
        "import", "--table", "CUSTOMERS", "--as-avrodatafile", "--target-dir", "/data/avro", *ONE_TASK
    )
    assert avro["columns"] == {
        f"/data/avro.{name}": f"CUSTOMERS.{name} |" for name in ("ID", "NAME", "UPDATED")
    }


def test_an_append_names_its_target_only_if_sqoop_writes_its_options(site: Site) -> None:
    new = (
        "--table",
        "ORDERS",
        "--incremental",
        "append",
        "--check-column",
        "ID",
        "--last-value",
        "1",
        *ONE_TASK,
    )
    bare = site.moves("import", *new, "--target-dir", "/data/all")
    assert (bare["outputs"], bare["incompleteReasons"]) == ([], [MOVED])
    told = site.moves("import", *new, "--target-dir", "/data/all", properties=(SERIALISED,))
    assert (told["outputs"], told.get("incompleteReasons")) == (["/data/all"], None)


def test_an_import_of_modified_rows_has_the_directory_of_its_merge(site: Site) -> None:
    site.moves("import", "--table", "CUSTOMERS", "--target-dir", "/data/customers", *ONE_TASK)
    site.database.run("UPDATE CUSTOMERS SET UPDATED = TIMESTAMP '2026-03-01 00:00:00' WHERE ID = 2")
    modified = (
        "--incremental",
        "lastmodified",
        "--check-column",
        "UPDATED",
        "--last-value",
        "2026-02-15 00:00:00",
    )
    merged = site.moves(
        *("import", "--table", "CUSTOMERS", "--target-dir", "/data/customers", "--merge-key", "ID"),
        *modified,
        *ONE_TASK,
        jobs=2,
    )
    assert merged["inputs"] == ["CUSTOMERS", "/data/customers"]
    assert (merged["outputs"], merged.get("incompleteReasons")) == (["/data/customers"], None)


def test_the_publisher_names_the_hive_table_whether_or_not_the_load_succeeds(site: Site) -> None:
    named = (
        "--table",
        "CUSTOMERS",
        "--columns",
        "ID,NAME",
        "--hive-import",
        "--hive-database",
        "mart",
        *ONE_TASK,
    )
    published = tuple(site.sqoop.publishing())
    bare = site.moves("import", *named, "--hive-table", "customers", properties=published)
    assert bare["outputs"] == ["/user/root/CUSTOMERS"] or bare["incompleteReasons"]
    assert "LOAD DATA INPATH" in site.sqoop.hive_scripts[-1]
    found = _published(site)
    [operation] = found.operations.values()
    assert (operation.attributes["inputs"], operation.attributes["outputs"]) == (
        ["CUSTOMERS"],
        ["mart.customers"],
    )
    assert columns_of(found) == {f"mart.customers.{name}": f"CUSTOMERS.{name} |" for name in ("ID", "NAME")}
    flows = [each for each in found.relations(RelationType.DATA_FLOW) if each.ep2.type is EntityType.TABLE]
    assert [each.attributes["inferred"] for each in flows] == [True]

    # A directory that nobody can write, and a Hive that fails: the job runs all the same.
    for each in site.sqoop.published.iterdir():
        each.unlink()
    site.sqoop.published.rmdir()
    output = site.sqoop.run(
        *("import", "--connect", site.database.url, "--username", "SA", "--password", "", *named),
        *("--hive-table", "again", "--delete-target-dir"),
        properties=published,
    )
    site.jobs += 1
    assert "navlin's publisher could not write" in output
    assert "LOAD DATA INPATH" in site.sqoop.hive_scripts[-1]
    site.sqoop.published.mkdir()


def test_only_a_job_with_a_hive_table_is_published(site: Site) -> None:
    site.moves(
        *("import", "--table", "ORDERS", "--target-dir", "/data/unpublished", *ONE_TASK),
        properties=tuple(site.sqoop.publishing()),
    )
    assert list(site.sqoop.published.iterdir()) == []


def _published(site: Site) -> Extracted:
    source = Source(source_id("c", "SQOOP-1"), SQOOP, "SQOOP-1", "c", claimable=False)
    extractor = SqoopPublications(source, Estate("c", (source,)), str(site.sqoop.published))
    found = Extracted(extractor.plan(Positions({}, 4_000_000_000_000)))
    for split in found.plan.splits:
        found.records += extractor.read(split)
    return found


def test_hive_splits_a_quoted_name_at_its_dot(hive_jars: Path, metastore: Metastore, tmp_path: Path) -> None:
    """Sqoop quotes ``--hive-table mart.orders`` as one name."""
    mart = f"mart_{uuid.uuid4().hex[:8]}"
    with connected(metastore.address) as client:
        client.call(CREATE_DATABASE, Database(mart, None, None, {}))
        run_hive([f"create table `{mart}.orders` (id int)"], tmp_path, hive_jars, metastore.uri)
        assert client.call(GET_ALL_TABLES, mart) == ["orders"]


READ_BY_SPARK = """
import sys
from pyspark.sql import SparkSession

jars, folder, url = sys.argv[1:]
session = (
    SparkSession.builder.master("local[1]")
    .config("spark.jars", jars)
    .config("spark.ui.enabled", "false")
    .config("spark.extraListeners", "io.openlineage.spark.agent.OpenLineageSparkListener")
    .config("spark.openlineage.transport.type", "file")
    .config("spark.openlineage.transport.location", f"{folder}/events.jsonl")
    .getOrCreate()
)
orders = session.read.format("jdbc").option("url", url).option("dbtable", "ORDERS").option("user", "SA")
orders = orders.option("driver", "org.hsqldb.jdbc.JDBCDriver").load()
orders.select("ID", "AMOUNT").write.parquet(f"{folder}/out")
session.stop()
"""


def test_a_table_is_the_same_in_a_real_openlineage_event(
    site: Site, sqoop_jars: Path, tmp_path: Path
) -> None:
    [driver] = sqoop_jars.glob("hsqldb-*.jar")
    [openlineage_jar] = fetched_for_services("openlineage-spark").glob("*.jar")
    (tmp_path / "job.py").write_text(READ_BY_SPARK)
    done = subprocess.run(
        [sys.executable, "job.py", f"{openlineage_jar},{driver}", str(tmp_path), site.database.url],
        cwd=tmp_path,
        env=os.environ | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
        check=False,
        timeout=300,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    told = Source(source_id("c", "OL-1"), SDK, "OL-1", "c", claimable=False)
    events = OpenLineageEvents(told, Estate("c", (told,)), str(tmp_path), "events.jsonl")
    records = [
        each for split in events.plan(Positions({}, 4_000_000_000_000)).splits for each in events.read(split)
    ]
    named = {
        each.key.identity
        for each in records
        if isinstance(each, Entity) and each.key.type is EntityType.DATASET
    }
    site.moves("import", "--table", "ORDERS", "--target-dir", "/data/named", *ONE_TASK)
    read = {
        each.ep1.identity
        for each in site.extracted().relations(RelationType.DATA_FLOW)
        if each.ep1.type is EntityType.DATASET and each.ep1.name == "ORDERS"
    }
    assert read
    assert read <= named, database_of(site.database.url)
