"""A real HDFS with a real metastore: relations between paths and their tables, and the deletion of directories with
their contents.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from extractors.hdfs import Hdfs
from extractors.hms import HiveMetastore, idl
from extractors.hms.client import MetastoreConnection
from extractors.spark import SparkEvents
from linker.purge import PurgeReport, purge
from navlin.index.graph.presentation import presented
from navlin.index.journal.holder import Holder
from navlin.index.journal.runs import Status
from navlin.index.schema.fields import ELEMENTS, RELATIONS
from navlin.index.solr.solr import Solr
from navlin.model.extractor import EXTRACTORS, Extractor
from navlin.model.keys import path_key, table_key
from navlin.model.source import HDFS, HIVE, SPARK, Estate, Source, normal_authority, source_id
from navlin.pipeline.run import Pipeline
from navlin.query.lineage import lineage
from navlin.query.options import WalkOptions
from tests.services.hadoop import Hadoop
from tests.services.hdfs import Writer
from tests.services.metastore import (
    ADD_PARTITION,
    ALTER_TABLE,
    CREATE_DATABASE,
    CREATE_TABLE,
    Metastore,
    partition,
    table,
)
from tests.support.spark_logs import application, end, insert, log_start, node, start, write_log

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIRST_MS = 1_800_000_000_000
MINUTE_MS, DAY_MS = 60_000, 86_400_000


class Cluster:
    """An HDFS, a metastore and Spark event logs, each restricted to one test."""

    def __init__(
        self,
        solr: Solr,
        spark: Callable[[], SparkSession],
        hadoop: Hadoop,
        writer: Writer,
        metastore: Metastore,
        folder: Path,
        spool: Path,
    ) -> None:
        name = f"links_{uuid.uuid4().hex[:8]}"
        self.solr, self.writer, self.hadoop = solr, writer, hadoop
        self.top, self.database, self.logs = f"/{name}", name, folder
        self.now_ms = FIRST_MS

        def source(kind: str, *serves: str) -> Source:
            return Source(source_id(name, kind), kind, kind, name, tuple(map(normal_authority, serves)))

        self.hdfs, self.hive = source(HDFS, hadoop.url), source(HIVE, metastore.uri)
        estate = Estate(name, (self.hdfs, self.hive, source(SPARK)), spool=str(spool))
        self.extractors: dict[str, Extractor] = {
            "hdfs": Hdfs(self.hdfs, estate, hadoop.url, http=hadoop.http, include=(self.top,)),
            "hms": HiveMetastore(self.hive, estate, (metastore.uri,), databases=(name,)),
            "spark_events": SparkEvents(estate.serving(SPARK), estate, str(folder)),
        }
        self.pipeline = Pipeline(solr.address, spark, self._clock)
        self.client: MetastoreConnection = metastore.client()
        writer.mkdirs(self.top)
        self.client.call(CREATE_DATABASE, idl.Database(name, locationUri=self.url("wh")))

    def _clock(self) -> int:
        self.now_ms += 1
        return self.now_ms

    def url(self, path: str) -> str:
        return f"{self.hadoop.url}{self.top}/{path}"

    def id(self, path: str) -> str:
        return path_key(self.hdfs, f"{self.top}/{path}").identity

    # -- Events ----------------------------------------------------------------------------------------------------------

    def create_table(self, name: str, path: str, **more: Any) -> idl.Table:
        made = table(self.database, name, location=self.url(path), **more)
        self.client.call(CREATE_TABLE, made)
        return made

    def spark_writes(self, *paths: str) -> None:
        """Write the event log of a separate application that reads ``landing`` and writes ``paths``, and make these
        directories.
        """
        number = len(list(self.logs.iterdir())) + 1 if self.logs.exists() else 1
        landing = node("Scan json", location=f"InMemoryFileIndex(1 paths)[{self.url('landing')}]")
        reported = [
            event
            for at, path in enumerate(paths)
            for event in (start(at, insert(self.url(path), landing)), end(at))
        ]
        known = f"application_1_{number:04}"
        write_log(self.logs, log_start(), application(f"job {number}", known), *reported, name=known)
        for path in ("landing", *paths):
            self.writer.mkdirs(f"{self.top}/{path}")

    def run(self, *names: str) -> None:
        """Run each of these sources once, a minute after the previous call."""
        self.now_ms += MINUTE_MS
        for name in names:
            record = self.pipeline.run(EXTRACTORS[name], self.extractors[name])
            assert record.status in (Status.FINISHED, Status.IDLE), record
            assert record.failures == ()

    # -- Contents of the index -------------------------------------------------------------------------------------------

    def lying(self) -> set[tuple[str, str]]:
        """(table or partition, path) of each relation that the linker added. Asserts that all of them are linked."""
        self.solr.commit(RELATIONS, soft=True)
        query = f"+rule:add_locations +endpoint1SourceId:{self.hive.id}"
        found = list(self.solr.cursor(RELATIONS, query, "*"))
        assert [each for each in found if each["unlinked"]] == []
        return {
            (
                each["endpoint1Name"].removeprefix(f"{self.database}."),
                each["endpoint2Name"].removeprefix(f"{self.top}/"),
            )
            for each in found
        }

    def paths(self, *, deleted: bool) -> set[str]:
        """Files and directories in the index, relative to the test's top directory."""
        self.solr.commit(ELEMENTS, soft=True)
        query = f"+sourceId:{self.hdfs.id} +type:(FILE OR DIRECTORY) +deleted:{str(deleted).lower()}"
        found = self.solr.cursor(ELEMENTS, query, "fileSystemPath")
        inside = f"{self.top}/"
        return {d["fileSystemPath"].removeprefix(inside) for d in found if inside in d["fileSystemPath"]}

    def contained(self) -> set[tuple[str, str]]:
        """(parent, child) of the PARENT_CHILD relations below the test's top directory."""
        self.solr.commit(RELATIONS, soft=True)
        query = f"+writer:{self.hdfs.id} +type:PARENT_CHILD"
        found = presented(self.solr, RELATIONS, self.solr.cursor(RELATIONS, query, "*"))
        ends = ((each["endpoint1Name"], each["endpoint2Name"]) for each in found)
        inside = f"{self.top}/"
        return {
            (one.removeprefix(inside), other.removeprefix(inside)) for one, other in ends if inside in one
        }

    def drawn(self, start: str) -> set[str]:
        return {each.id for each in lineage(self.solr, start, WalkOptions()).nodes}

    def purge(self, *, deleted_files: bool) -> PurgeReport:
        """Purge everything deleted until now, from a clock that is one day ahead."""
        now_ms = self.now_ms + DAY_MS
        me = Holder("here", 1, "today")
        return purge(
            self.solr,
            now_ms,
            holder=me,
            lives=lambda _: True,
            clock=lambda: now_ms + 1,
            deleted_files=deleted_files,
            # Accept a purge that would otherwise be blocked: nothing was modified lately, so the clock may be wrong.
            accepted=1_000,
        )


@pytest.fixture
def cluster(
    private_solr: Solr,
    spark: Callable[[], SparkSession],
    hdfs: Hadoop,
    hdfs_writer: Writer,
    metastore: Metastore,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Cluster]:
    spool = tmp_path_factory.getbasetemp() / "hdfs-spool"
    made = Cluster(private_solr, spark, hdfs, hdfs_writer, metastore, tmp_path / "logs", spool)
    try:
        yield made
    finally:
        made.client.close()


# -- The table of a path ------------------------------------------------------------------------------------------------


@pytest.mark.services
@pytest.mark.parametrize(
    "order",
    [
        ("hdfs", "hms", "spark_events"),
        ("spark_events", "hms", "hdfs"),
    ],
    ids=" ".join,
)
def test_a_path_belongs_to_the_table_or_partition_with_the_longest_location(
    cluster: Cluster, order: tuple[str, ...]
) -> None:
    orders = cluster.create_table("orders", "wh/orders", partitioned_by={"ds": "string"})
    cluster.create_table("inner_orders", "wh/orders/inner")
    moved = partition(orders, "1", location=cluster.url("archive/o1"))
    cluster.client.call(ADD_PARTITION, moved)
    # Spark's own partition directories are reduced to the directory above them, here the table's location.
    inside = ("wh/orders/late", "wh/orders/inner/late", "archive/o1/late")
    cluster.spark_writes("wh/orders/ds=2", *inside, "archive/o2", "wh/orders_not")
    cluster.hadoop.save_namespace()

    cluster.run(*order)

    assert cluster.lying() == {
        ("orders", "wh/orders/late"),
        ("inner_orders", "wh/orders/inner/late"),
        ("orders.ds=1", "archive/o1/late"),
    }
    # The lineage of a path inside the location shows the table and its job; the lineage of the table shows none of the
    # directories.
    of_orders, landing = table_key(cluster.hive, cluster.database, "orders").identity, cluster.id("landing")
    for path in ("wh/orders", "wh/orders/late", "archive/o1/late"):
        assert cluster.drawn(cluster.id(path)) >= {of_orders, landing}
    from_table = cluster.drawn(of_orders)
    assert landing in from_table
    assert not from_table & {cluster.id(path) for path in ("wh/orders", "archive/o1", *inside)}


@pytest.mark.services
def test_paths_move_to_the_new_table_at_their_location(cluster: Cluster) -> None:
    before = cluster.create_table("before", "wh/shared")
    cluster.spark_writes("wh/shared/late", "wh/other/late")
    cluster.hadoop.save_namespace()
    cluster.run("hdfs", "hms", "spark_events")
    assert cluster.lying() == {("before", "wh/shared/late")}

    assert before.sd is not None
    before.sd.location = cluster.url("wh/other")
    cluster.client.call(ALTER_TABLE, cluster.database, "before", before)
    cluster.create_table("after", "wh/shared")
    cluster.run("hms")

    assert cluster.lying() == {
        ("after", "wh/shared/late"),
        ("before", "wh/other/late"),
    }


# -- Deletions ----------------------------------------------------------------------------------------------------------


@pytest.mark.services
def test_a_deleted_directory_deletes_its_contents_and_a_purge_removes_the_rest_later(
    cluster: Cluster,
) -> None:
    top, writer = cluster.top, cluster.writer
    cluster.create_table("orders", "wh/orders")
    cluster.spark_writes("out/daily")
    for path in ("gone/a", "gone/sub/deep/b", "gone_not/c", "kept/d", "kept/e", "wh/orders/f"):
        writer.create(f"{top}/{path}", b"1")
    cluster.hadoop.save_namespace()
    cluster.run("hdfs", "hms", "spark_events")
    everything = cluster.paths(deleted=False)
    contained = cluster.contained()

    for path in ("gone", "kept/e", "wh/orders", "out"):
        writer.delete(f"{top}/{path}")
    cluster.run("hdfs")

    gone = {"gone", "gone/a", "gone/sub", "gone/sub/deep", "gone/sub/deep/b"}
    lost = gone | {"kept/e", "wh/orders", "wh/orders/f", "out", "out/daily"}
    assert cluster.paths(deleted=True) == lost
    assert cluster.paths(deleted=False) == everything - lost
    assert cluster.contained() == contained

    report = cluster.purge(deleted_files=False)

    # Navigator's rule purges directories together with the relations to their children. Files are purged only by
    # navlin's additional rule.
    stay = {"wh/orders", "out/daily"}
    files = {"gone/a", "gone/sub/deep/b", "kept/e", "wh/orders/f"}
    assert cluster.paths(deleted=True) == stay | files
    purged = lost - stay - files
    assert cluster.contained() == {
        (one, other) for one, other in contained if one not in lost and other not in purged
    }
    [directories] = [tally for rule, tally in report.rules if rule.name == "directories"]
    assert directories.kept == {"a table's location": 1, "in a flow": 1}

    cluster.purge(deleted_files=True)
    assert cluster.paths(deleted=True) == stay
    assert cluster.paths(deleted=False) == everything - lost

    # Recreated files have their parent relation again.
    writer.create(f"{top}/gone/sub/deep/b", b"2")
    writer.create(f"{top}/wh/orders/f", b"2")
    cluster.run("hdfs")
    assert cluster.paths(deleted=False) == (everything - lost) | (gone - {"gone/a"}) | {
        "wh/orders",
        "wh/orders/f",
    }
    assert cluster.contained() >= {
        ("gone", "gone/sub"),
        ("gone/sub", "gone/sub/deep"),
        ("gone/sub/deep", "gone/sub/deep/b"),
        ("wh/orders", "wh/orders/f"),
    }
