"""A bucket, a metastore and Spark's event logs, in an index."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from extractors.hms import HiveMetastore
from extractors.s3 import S3
from extractors.spark import SparkEvents
from navlin.index.graph.presentation import presented
from navlin.index.journal.runs import RunRecord, Status
from navlin.index.schema.fields import ELEMENTS
from navlin.index.solr.solr import Solr
from navlin.model.extractor import EXTRACTORS, Extractor
from navlin.model.keys import path_key, table_key
from navlin.model.source import HIVE, SPARK, Estate, Source, normal_authority, source_id
from navlin.model.source import S3 as S3_TYPE
from navlin.pipeline.run import Pipeline
from navlin.query.lineage import lineage
from navlin.query.options import WalkOptions
from tests.services.metastore import partition, table
from tests.services.s3 import NOW_MS, StubS3
from tests.services.thrift_metastore import ThriftMetastore
from tests.support.s3_rounds import BUCKET, settings_of_credentials
from tests.support.spark_logs import application, end, insert, log_start, node, start, write_log

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HOUR_MS = 3_600_000
OBJECTS = ("landing/part-0.json", "wh/orders/ds=1/part-0", "wh/orders/ds=2/part-0", "other/x")


class Lake:
    """A bucket, a metastore and Spark's event logs, of one test."""

    def __init__(
        self,
        solr: Solr,
        spark: Callable[[], SparkSession],
        s3: StubS3,
        metastore: ThriftMetastore,
        folder: Path,
    ) -> None:
        name = f"lake_{uuid.uuid4().hex[:8]}"
        self.solr, self.s3, self.metastore, self.name = solr, s3, metastore, name
        self.logs = logs = folder / "logs"
        # Python workers of Spark may be older than this test, so the environment does not reach them.
        self._credentials = settings_of_credentials(folder)

        def source(kind: str, *serves: str) -> Source:
            return Source(source_id(name, kind), kind, kind, name, tuple(map(normal_authority, serves)))

        self.bucket, self.hive = source(S3_TYPE, f"s3://{BUCKET}"), source(HIVE, metastore.uri)
        self.estate = Estate(name, (self.bucket, self.hive, source(SPARK)))
        self.extractors: dict[str, Extractor] = {
            "hms": HiveMetastore(self.hive, self.estate, (metastore.uri,)),
            "spark_events": SparkEvents(self.estate.serving(SPARK), self.estate, str(logs)),
        }
        self.lists()
        self.now_ms, self.step_ms = NOW_MS, HOUR_MS
        self.pipeline = Pipeline(solr.address, spark, self._clock)

    def _clock(self) -> int:
        self.now_ms += 1
        return self.now_ms

    def lists(self, *, endpoint: str = "", **settings: Any) -> None:
        """Let the bucket be listed with these settings, of the stub or of another endpoint."""
        at = endpoint or self.s3.url
        self.extractors["s3"] = S3(
            self.bucket, self.estate, BUCKET, at, timeout_s=5.0, **self._credentials, **settings
        )

    def run(self, name: str, **options: Any) -> RunRecord:
        """Run a source once, ``step_ms`` (an hour) after the previous call."""
        self.now_ms += self.step_ms
        self.s3.now_ms = self.now_ms
        return self.pipeline.run(EXTRACTORS[name], self.extractors[name], **options)

    def runs(self, *names: str) -> None:
        """Run sources once each. Asserts that all of them are read to the end."""
        for name in names:
            record = self.run(name)
            assert (record.status, record.failures) == (Status.FINISHED, ()), record

    def has_orders(self) -> None:
        """Let the metastore have a partitioned table in the bucket, which a job of Spark writes from JSON."""
        self.metastore.databases = ["sales"]
        made = table(
            "sales", "orders", {"id": "int"}, partitioned_by={"ds": "string"}, location="s3a://lake/wh/orders"
        )
        self.metastore.tables["orders"] = made
        self.metastore.partitions["orders"] = {"ds=1": partition(made, "1")}
        self.logs_job("application_1_0001", "s3a://lake/landing", "s3a://lake/wh/orders/ds=2")

    def id(self, path: str) -> str:
        return path_key(self.bucket, path).identity

    @property
    def orders(self) -> str:
        return table_key(self.hive, "sales", "orders").identity

    def paths(self, *, deleted: bool = False) -> dict[str, str]:
        """Path → type of what the index has of the bucket."""
        self.solr.commit(ELEMENTS, soft=True)
        query = f"+sourceId:{self.bucket.id} +type:(FILE OR DIRECTORY OR S3BUCKET) +deleted:{str(deleted).lower()}"
        return {
            each["fileSystemPath"]: each["type"]
            for each in self.solr.cursor(ELEMENTS, query, "fileSystemPath,type")
        }

    def document(self, path: str) -> dict[str, Any]:
        [found] = presented(self.solr, ELEMENTS, self.solr.get(ELEMENTS, [self.id(path)]))
        return dict(found)

    def drawn(self, identity: str, *, unlinked: bool = False) -> set[str]:
        """Return the ids of the nodes of a picture. ``unlinked`` draws also what no source of the estate has."""
        return {each.id for each in lineage(self.solr, identity, WalkOptions(unlinked=unlinked)).nodes}

    def logs_job(self, name: str, reads: str, writes: str) -> None:
        """Let Spark have run a job that reads the files of one path and overwrites another path."""
        read = node("Scan json", location=f"InMemoryFileIndex(1 paths)[{reads}]")
        events = (start(1, insert(writes, read)), end(1))
        write_log(self.logs, log_start(), application(name, name), *events, name=name)
