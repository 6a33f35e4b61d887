"""The whole way: a real Spark writes tables and directories on ``s3a://``, with a real metastore and a real server of S3.

The pictures were written from the statements, before the first answer was seen.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from extractors.hms import HiveMetastore
from extractors.s3 import S3
from extractors.spark import SparkEvents
from navlin.index.admin.cores import CORES
from navlin.index.journal.runs import Status
from navlin.index.schema.fields import ELEMENTS, RELATIONS
from navlin.index.solr.solr import Solr
from navlin.model.extractor import EXTRACTORS, Extractor
from navlin.model.keys import path_key, table_key
from navlin.model.source import HIVE, SPARK, Estate, Source, source_id
from navlin.model.source import S3 as S3_TYPE
from navlin.pipeline.run import Pipeline
from navlin.query.answer import Node
from navlin.query.impact import impact
from navlin.query.lineage import lineage
from navlin.query.names import entity_named
from navlin.query.options import WalkOptions
from navlin.query.unused import unused
from navlin.query.usage_status import DAY_MS, EntityUsage, UsageQuestion
from navlin.solr_server.embedded import EmbeddedSolr
from tests.conftest import REPOSITORY, fetched_for_services
from tests.services.metastore import Metastore
from tests.services.spark_application import SparkApplications
from tests.services.versitygw import REGION, NoVersitygw, Versitygw, built, running_versitygw
from tests.support.s3_rounds import ENVIRONMENT, settings_of_credentials

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.services

BUCKETS: Final = ("lake", "exchange")
NIGHTLY: Final = (
    "create database sales location 's3a://lake/wh/sales.db'",
    "create table sales.orders (id bigint, region string, amount bigint) using parquet",
    "insert into sales.orders select id, region, amount from json.`s3a://lake/landing/orders/part-0.json`",
    "insert into sales.orders select id, region, -amount from json.`s3a://lake/landing/returns`",
    "create table sales.by_region using parquet location 's3a://lake/sums/by_region'"
    " as select region, sum(amount) as total from sales.orders group by region",
    "insert overwrite directory 's3a://lake/reports/by_region' using parquet select region, total from sales.by_region",
    "create table sales.forgotten (id bigint) using parquet location 's3a://lake/old/forgotten'",
    "insert into sales.forgotten values (1)",
)
EXPORTS: Final = (
    "create table sales.shipped (id bigint) using parquet location 's3a://exchange/'",
    # By the path of a table, not by its name.
    "insert into sales.shipped select id from parquet.`s3a://lake/wh/sales.db/orders`",
)

LOCATIONS: Final = {
    "sales.orders = lake/wh/sales.db/orders",
    "sales.by_region = lake/sums/by_region",
    "sales.forgotten = lake/old/forgotten",
    "sales.shipped = exchange/",
}
INTO_ORDERS: Final = {
    "lake/landing/orders/part-0.json -> sales.orders",
    "lake/landing/returns -> sales.orders",
}
TO_REPORT: Final = {"sales.orders -> sales.by_region", "sales.by_region -> lake/reports/by_region"}
TO_EXCHANGE: Final = {"sales.orders -> sales.shipped"}
PICTURES: Final = {
    "sales.orders": INTO_ORDERS | TO_REPORT | TO_EXCHANGE,
    "sales.forgotten": set[str](),
    "lake/landing/orders/part-0.json": {"lake/landing/orders/part-0.json -> sales.orders"}
    | TO_REPORT
    | TO_EXCHANGE,
    "lake/reports/by_region": INTO_ORDERS | TO_REPORT,
    "lake/sums/by_region": INTO_ORDERS | TO_REPORT | {"sales.by_region = lake/sums/by_region"},
    "exchange/": INTO_ORDERS | TO_EXCHANGE | {"sales.shipped = exchange/"},
}
"""Name of the entity where a walk starts → edges of its picture: ``a -> b`` for a flow, ``t = p`` for a location."""
BY_COLUMN: Final = {
    "sales.orders.amount -> sales.by_region.total",
    "sales.orders.region -> sales.by_region.region",
}
AFFECTED: Final = {"sales.orders", "sales.by_region", "sales.shipped", "lake/reports/by_region"}
DIRECTORIES: Final = {
    "lake/landing", "lake/landing/orders", "lake/landing/returns", "lake/wh", "lake/wh/sales.db", "lake/wh/sales.db/orders",
    "lake/sums", "lake/sums/by_region", "lake/reports", "lake/reports/by_region", "lake/old", "lake/old/forgotten",
}  # fmt: skip
PATHS: Final = frozenset({"S3BUCKET", "DIRECTORY", "FILE"})


class MetastoreOnS3(Metastore):
    """A metastore that makes the directories of its databases and tables on S3. ``s3_jars`` are Hadoop's client."""

    def __init__(self, directory: Path, jars: Path, s3_jars: Path, server: Versitygw) -> None:
        super().__init__(directory, jars, settings=s3a(server))
        self._s3_jars = s3_jars

    def class_path(self) -> list[Path]:
        return [*super().class_path(), *sorted(self._s3_jars.glob("*.jar"))]


def s3a(server: Versitygw, prefix: str = "") -> dict[str, str]:
    """Return the settings of Hadoop's client for a server, each with a prefix."""
    settings = {
        "endpoint": server.url,
        "endpoint.region": REGION,
        "path.style.access": "true",
        "access.key": ENVIRONMENT["AWS_ACCESS_KEY_ID"],
        "secret.key": ENVIRONMENT["AWS_SECRET_ACCESS_KEY"],
        # The default needs another library.
        "input.stream.type": "classic",
    }
    return {f"{prefix}fs.s3a.{name}": value for name, value in settings.items()}


@dataclass
class World:
    """The estate, and the sources that read it. Paths are named ``bucket/path``, as in the pictures."""

    solr: Solr
    server: Versitygw
    hive: Source
    buckets: dict[str, Source]
    extractors: dict[str, Extractor]
    spark: Callable[[], SparkSession]
    now_ms: int = 0

    def read(self, now_ms: int, *names: str) -> None:
        """Run sources once each, at this time, to their end."""
        self.now_ms = now_ms
        pipeline = Pipeline(self.solr.address, self.spark, self._clock)
        for name in names:
            record = pipeline.run(EXTRACTORS[name.partition(" ")[0]], self.extractors[name])
            assert record.status in (Status.FINISHED, Status.IDLE) and not record.failures, record
        self.solr.commit(ELEMENTS, soft=True)
        self.solr.commit(RELATIONS, soft=True)

    def _clock(self) -> int:
        self.now_ms += 1
        return self.now_ms

    def id(self, name: str) -> str:
        bucket, slash, path = name.partition("/")
        if slash:
            return path_key(self.buckets[bucket], f"/{path}").identity
        database, _, table = name.partition(".")
        return table_key(self.hive, database, table).identity

    def name(self, node: Node) -> str:
        bucket = next((name for name, source in self.buckets.items() if source.id == node.source_id), "")
        return f"{bucket}/" if node.type == "S3BUCKET" else bucket + node.name

    def picture(self, start: str, *, columns: bool = False) -> set[str]:
        """Return the edges of a picture. ``start`` is an identity; with ``columns``, only edges between columns count."""
        answer = lineage(self.solr, start, WalkOptions(columns=columns))
        names = {each.id: self.name(each) for each in answer.nodes if not columns or each.type == "FIELD"}
        signs = {"DATA_FLOW": "->", "LOGICAL_PHYSICAL": "="}
        return {
            f"{names[each.source]} {signs[each.type]} {names[each.target]}"
            for each in answer.edges
            if each.source in names and each.target in names
        }

    def paths(self, bucket: str) -> dict[str, dict[str, Any]]:
        """Path → document of what the index has of a bucket."""
        query = f"+sourceId:{self.buckets[bucket].id} +type:(FILE OR DIRECTORY OR S3BUCKET) -deleted:true"
        found = self.solr.cursor(ELEMENTS, query, "fileSystemPath,type,size")
        return {each["fileSystemPath"]: each for each in found}

    def stored(self, bucket: str, prefix: str = "") -> dict[str, int]:
        """Key → size in bytes of the objects that AWS's own client lists. Those with a slash at the end are no files."""
        listed = self.server.client.list_objects_v2(Bucket=bucket, Prefix=prefix)["Contents"]
        return {each["Key"]: each["Size"] for each in listed if not each["Key"].endswith("/")}

    def verdicts(self, days: int) -> dict[str, EntityUsage]:
        """Table → whether it was read in these days, if only Spark reads here."""
        question = UsageQuestion(days, self.now_ms, without_engines=("hive", "impala"), despite_gaps=True)
        return {each.entity.name: each for each in unused(self.solr, question)[1]}


@pytest.fixture(scope="module")
def world(
    private_server: EmbeddedSolr,
    metastore_jars: Path,
    spark: Callable[[], SparkSession],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[World]:
    """The estate, read once, a minute after the last statement."""
    s3_jars, folder = fetched_for_services("hadoop-aws"), tmp_path_factory.mktemp("s3a")
    try:
        program = built(REPOSITORY / ".jars")
    except NoVersitygw as why:
        pytest.skip(str(why))
    with (
        running_versitygw(program, folder / "versitygw") as server,
        MetastoreOnS3(folder / "metastore", metastore_jars, s3_jars, server) as metastore,
        Solr(private_server.start()) as solr,
    ):
        for core in CORES:
            solr.client(core).delete(q="*:*")
            solr.commit(core, soft=True)
        put_landing(server)
        run_statements(folder / "logs", metastore, s3_jars, server)
        made = world_of(solr, server, metastore, folder, spark)
        made.read(time.time_ns() // 1_000_000 + 60_000, *made.extractors)
        yield made


def put_landing(server: Versitygw) -> None:
    """Make the buckets, and the objects that come from elsewhere."""
    for bucket in BUCKETS:
        server.client.create_bucket(Bucket=bucket)
    for key in ("landing/orders/part-0.json", "landing/orders/part-1.json", "landing/returns/part-0.json"):
        row = json.dumps({"id": 1, "region": "eu", "amount": 5})
        server.client.put_object(Bucket="lake", Key=key, Body=f"{row}\n".encode())


def run_statements(logs: Path, metastore: Metastore, s3_jars: Path, server: Versitygw) -> None:
    """Run the statements of both applications. Their event logs are in ``logs``."""
    logs.mkdir()
    settings = {
        "spark.sql.catalogImplementation": "hive",
        "spark.hadoop.hive.metastore.uris": metastore.uri,
        "spark.driver.extraClassPath": ":".join(map(str, sorted(s3_jars.glob("*.jar")))),
        **s3a(server, "spark.hadoop."),
    }
    with SparkApplications() as applications:
        for name, statements in (("nightly", NIGHTLY), ("exports", EXPORTS)):
            applications.start(f"file:{logs}", {**settings, "spark.app.name": name})
            for statement in statements:
                applications.sql(statement)
            applications.stop()


def world_of(
    solr: Solr, server: Versitygw, metastore: Metastore, folder: Path, spark: Callable[[], SparkSession]
) -> World:
    def source(kind: str, name: str, *serves: str) -> Source:
        return Source(source_id("s3a", name), kind, name, "s3a", serves)

    buckets = {bucket: source(S3_TYPE, f"S3 {bucket}", f"s3://{bucket}") for bucket in BUCKETS}
    hive, engine = source(HIVE, "HIVE", metastore.uri), source(SPARK, "SPARK")
    estate = Estate("s3a", (*buckets.values(), hive, engine))
    credentials = settings_of_credentials(folder)
    extractors: dict[str, Extractor] = {
        "spark_events": SparkEvents(engine, estate, str(folder / "logs")),
        "hms": HiveMetastore(hive, estate, (metastore.uri,)),
    }
    for bucket, of_bucket in buckets.items():
        extractors[f"s3 {bucket}"] = S3(
            of_bucket, estate, bucket, server.url, REGION, entries="all", **credentials
        )
    return World(solr, server, hive, buckets, extractors, spark)


def test_the_buckets_are_in_the_index_as_spark_left_them(world: World) -> None:
    lake, exchange = world.paths("lake"), world.paths("exchange")

    assert {f"lake{path}" for path, each in lake.items() if each["type"] == "DIRECTORY"} == DIRECTORIES
    assert (lake["/"]["type"], exchange["/"]["type"]) == ("S3BUCKET", "S3BUCKET")
    for bucket, found in (("lake", lake), ("exchange", exchange)):
        files = {path[1:]: each["size"] for path, each in found.items() if each["type"] == "FILE"}
        assert files == world.stored(bucket)


def test_nothing_waits_for_an_entity_of_s3(world: World) -> None:
    ids = " OR ".join(each.id for each in world.buckets.values())
    unlinked = f"+unlinked:true +(endpoint1SourceId:({ids}) endpoint2SourceId:({ids}))"

    assert list(world.solr.cursor(RELATIONS, unlinked, "identity")) == []


@pytest.mark.parametrize("start", PICTURES, ids=str)
def test_lineage_leads_through_objects_directories_tables_and_buckets(world: World, start: str) -> None:
    assert world.picture(world.id(start)) == PICTURES[start]


def test_an_object_that_spark_made_shows_its_table(world: World) -> None:
    part = next(key for key in world.stored("lake", "sums/by_region/") if key.endswith(".parquet"))

    found = world.picture(world.id(f"lake/{part}"))

    assert found == {f"sales.by_region = lake/{part}"} | INTO_ORDERS | TO_REPORT


def test_columns_are_known_as_well(world: World) -> None:
    assert world.picture(world.id("sales.by_region"), columns=True) >= BY_COLUMN


def test_each_table_has_its_location_on_s3(world: World) -> None:
    ends = {
        (start, end)
        for each in world.solr.cursor(
            RELATIONS, "+type:LOGICAL_PHYSICAL -deleted:true", "endpoint1Ids,endpoint2Ids"
        )
        for start, end in product(each["endpoint1Ids"], each["endpoint2Ids"])
    }

    located = {tuple(map(world.id, each.split(" = "))) for each in LOCATIONS}
    assert located <= ends


@pytest.mark.parametrize("scheme", ["s3", "s3a", "s3n"])
def test_impact_of_an_object(world: World, scheme: str) -> None:
    start = entity_named(world.solr, f"{scheme}://lake/landing/orders/part-0.json")

    answer = impact(world.solr, start.id)

    found = [each for each in answer.affected if each.node.type in ("TABLE", *PATHS)]
    assert {world.name(each.node): each.carries for each in found} == dict.fromkeys(AFFECTED, True)


def test_tables_on_s3_are_used_or_unused(world: World) -> None:
    """A table that was read is used, also if it was read by its path. Another is unused once it has existed for the
    whole period."""
    today = world.verdicts(1)
    # S3 is not asked then: its own clock would contradict.
    world.read(world.now_ms + 35 * DAY_MS, "spark_events", "hms")
    later = world.verdicts(30)

    assert {name: each.status.value for name, each in today.items()} == {
        "sales.orders": "used",
        "sales.by_region": "used",
        "sales.forgotten": "not known",
        # At the top of a bucket: readers are compared by path, whatever the address, so each read counts.
        "sales.shipped": "used",
    }
    assert {name: (each.status.value, each.last_read_ms > 0) for name, each in later.items()} == {
        "sales.orders": ("unused", True),
        "sales.by_region": ("unused", True),
        "sales.forgotten": ("unused", False),
        "sales.shipped": ("unused", False),
    }, {name: each.reasons for name, each in later.items()}
    places = {name: [each.path for each in verdict.places] for name, verdict in later.items()}
    assert places == {
        "sales.orders": ["/wh/sales.db/orders"],
        "sales.by_region": ["/sums/by_region"],
        "sales.forgotten": ["/old/forgotten"],
        "sales.shipped": ["/"],
    }
    sizes = {name: (each.size.size_bytes, each.size.files) for name, each in later.items() if each.size}
    assert sizes == {
        name: (sum(stored.values()), len(stored))
        for name, stored in {
            "sales.orders": world.stored("lake", "wh/sales.db/orders/"),
            "sales.by_region": world.stored("lake", "sums/by_region/"),
            "sales.forgotten": world.stored("lake", "old/forgotten/"),
            "sales.shipped": world.stored("exchange"),
        }.items()
    }
