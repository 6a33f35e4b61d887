"""A bucket in the index: joined to what Spark and the metastore name, and what is flagged deleted when it goes."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from extractors.hms import HiveMetastore
from extractors.s3 import S3
from extractors.spark import SparkEvents
from navlin.index.graph.presentation import presented
from navlin.index.journal.runs import RunRecord, Status
from navlin.index.schema.fields import ELEMENTS, RELATIONS
from navlin.index.solr.solr import Solr
from navlin.model.extractor import EXTRACTORS, Extractor
from navlin.model.keys import path_key, table_key
from navlin.model.source import HIVE, SPARK, Estate, Source, normal_authority, source_id
from navlin.model.source import S3 as S3_TYPE
from navlin.pipeline.run import Pipeline
from navlin.query.impact import impact
from navlin.query.lineage import lineage
from navlin.query.names import entity_named
from navlin.query.options import WalkOptions
from navlin.query.unused import unused
from navlin.query.usage_status import UsageQuestion
from tests.services.metastore import partition, table
from tests.services.s3 import NOW_MS, StubS3, refusal
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
        self.now_ms = NOW_MS
        self.pipeline = Pipeline(solr.address, spark, self._clock)

    def _clock(self) -> int:
        self.now_ms += 1
        return self.now_ms

    def lists(self, **settings: Any) -> None:
        """Let the bucket be listed with these settings."""
        self.extractors["s3"] = S3(
            self.bucket, self.estate, BUCKET, self.s3.url, timeout_s=5.0, **self._credentials, **settings
        )

    def run(self, name: str, **options: Any) -> RunRecord:
        """Run a source once, an hour after the previous call."""
        self.now_ms += HOUR_MS
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
        landing = node("Scan json", location="InMemoryFileIndex(1 paths)[s3a://lake/landing]")
        events = (start(1, insert("s3a://lake/wh/orders/ds=2", landing)), end(1))
        write_log(
            self.logs,
            log_start(),
            application("job", "application_1_0001"),
            *events,
            name="application_1_0001",
        )

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

    def drawn(self, identity: str) -> set[str]:
        return {each.id for each in lineage(self.solr, identity, WalkOptions()).nodes}


@pytest.fixture
def lake(private_solr: Solr, spark: Callable[[], SparkSession], tmp_path: Path) -> Iterator[Lake]:
    with StubS3(BUCKET, *OBJECTS) as s3, ThriftMetastore() as metastore:
        yield Lake(private_solr, spark, s3, metastore, tmp_path)


# -- Lineage -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "order",
    [
        ("s3", "hms", "spark_events"),
        pytest.param(("spark_events", "hms", "s3"), marks=pytest.mark.services),
    ],
    ids=" ".join,
)
def test_lineage_leads_through_the_bucket_in_any_order_of_reading(lake: Lake, order: tuple[str, ...]) -> None:
    lake.has_orders()

    lake.runs(*order)

    # Nothing refers to the objects themselves, so the index has the directories.
    assert lake.paths() == {
        "/": "S3BUCKET",
        "/landing": "DIRECTORY",
        "/other": "DIRECTORY",
        "/wh": "DIRECTORY",
        "/wh/orders": "DIRECTORY",
        "/wh/orders/ds=1": "DIRECTORY",
        "/wh/orders/ds=2": "DIRECTORY",
    }
    bucket, orders = lake.document("/"), lake.document("/wh/orders")
    assert (bucket["originalName"], bucket["bucketName"], bucket["region"]) == ("lake", "lake", "eu-west-1")
    assert (orders["internalType"], orders["parentPath"], orders["implicit"]) == ("s3_object", "/wh", True)
    assert "granted" not in orders
    assert {lake.orders, lake.id("/landing")} <= lake.drawn(lake.orders)
    assert {lake.orders, lake.id("/landing")} <= lake.drawn(lake.id("/landing"))
    lake.solr.commit(RELATIONS, soft=True)
    unlinked = f"+unlinked:true +(endpoint1SourceId:{lake.bucket.id} endpoint2SourceId:{lake.bucket.id})"
    assert list(lake.solr.cursor(RELATIONS, unlinked, "identity")) == []


@pytest.mark.services
def test_an_object_is_in_the_index_once_a_job_names_it(lake: Lake) -> None:
    landing = node("Scan json", location="InMemoryFileIndex(1 paths)[s3://LAKE/landing/part-0.json]")
    events = (start(1, insert("s3n://lake/out", landing)), end(1))
    write_log(
        lake.logs, log_start(), application("job", "application_1_0001"), *events, name="application_1_0001"
    )

    lake.runs("spark_events", "s3")

    assert lake.paths()["/landing/part-0.json"] == "FILE"
    assert lake.document("/landing/part-0.json")["size"] == 3
    assert "/other/x" not in lake.paths()


# -- What goes -------------------------------------------------------------------------------------------------------------


def test_a_removed_object_is_flagged_deleted_and_comes_back(lake: Lake) -> None:
    lake.lists(entries="all")
    lake.runs("s3")
    everything = lake.paths()
    assert set(everything) == {
        "/", "/landing", "/landing/part-0.json", "/other", "/other/x", "/wh", "/wh/orders", "/wh/orders/ds=1",
        "/wh/orders/ds=1/part-0", "/wh/orders/ds=2", "/wh/orders/ds=2/part-0",
    }  # fmt: skip

    lake.s3.remove("other/x")
    lake.runs("s3")

    assert lake.paths(deleted=True) == {"/other": "DIRECTORY", "/other/x": "FILE"}
    assert lake.paths() == {path: kind for path, kind in everything.items() if not path.startswith("/other")}

    lake.s3.put("other/x", size=4)
    lake.runs("s3")

    assert (lake.paths(), lake.document("/other/x")["size"]) == (everything, 4)


@pytest.mark.services
def test_a_run_without_changes_writes_nothing_and_an_overwritten_object_is_one_change(lake: Lake) -> None:
    lake.lists(entries="all")
    lake.runs("s3")

    same = lake.run("s3")
    lake.s3.put("other/x", size=99, e_tag="other")
    changed = lake.run("s3")

    assert (same.counts.new, same.counts.changed, same.counts.unchanged) == (0, 0, 11)
    assert (changed.counts.new, changed.counts.changed) == (0, 1)
    assert lake.document("/other/x")["eTag"] == "other"


@pytest.mark.services
def test_an_emptied_bucket_is_held_until_a_person_accepts_it(lake: Lake) -> None:
    lake.lists(entries="all")
    many = [f"many/{number:02}" for number in range(40)]
    lake.s3.put(*many)
    lake.runs("s3")
    before = lake.paths()

    lake.s3.remove(*many, *OBJECTS)
    held = lake.run("s3")

    assert held.status is Status.HELD
    assert "would be flagged deleted, more than 50%" in held.note
    assert (lake.paths(), lake.paths(deleted=True)) == (before, {})

    assert lake.run("s3", accept_loss=held.run_id).status is Status.FINISHED
    assert lake.paths() == {"/": "S3BUCKET"}


@pytest.mark.services
def test_nothing_is_flagged_if_the_listing_lacks_what_is_there_by_name(lake: Lake) -> None:
    lake.lists(entries="all")
    lake.runs("s3")
    before = lake.paths()
    # A gateway that leaves an object out of pages, and knows it when it is asked for.
    lake.s3.instead = lambda query: (
        (200, {}, lake.s3.listing(query).replace("<Key>other/x</Key>", "<Key>other/w</Key>").encode())
        if not query.get("prefix")
        else None
    )

    lake.runs("s3")

    assert lake.paths(deleted=True) == {}
    assert set(lake.paths()) == {*before, "/other/w"}


@pytest.mark.services
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (refusal(404, "NoSuchBucket"), "there is no such bucket"),
        (refusal(403, "AccessDenied"), "needs s3:ListBucket"),
        (refusal(403, "InvalidAccessKeyId"), "correct `profile`"),
        (refusal(400, "ExpiredToken"), "the credentials have expired"),
    ],
)
def test_a_bucket_that_cannot_be_read_loses_nothing(lake: Lake, answer: Any, words: str) -> None:
    lake.lists(entries="all")
    lake.runs("s3")
    before = lake.paths()
    lake.s3.instead = lambda query: answer

    failed = lake.run("s3")

    assert failed.status is Status.FAILED
    assert words in failed.error
    assert (lake.paths(), lake.paths(deleted=True)) == (before, {})


@pytest.mark.services
def test_a_token_that_expires_in_the_middle_flags_nothing_and_the_next_listing_is_whole(lake: Lake) -> None:
    lake.lists(entries="all", objects_in_split=4)
    lake.s3.page = 4
    lake.s3.put(*(f"many/{number:02}" for number in range(20)))
    lake.runs("s3")
    before = lake.paths()
    lake.s3.remove("other/x")
    expired = refusal(400, "ExpiredToken")
    lake.s3.instead = lambda query: expired if query.get("start-after", "") >= "many/1" else None

    failed = lake.run("s3")
    assert failed.failures
    assert "the credentials have expired" in " ".join(failed.failures)
    assert (lake.paths(), lake.paths(deleted=True)) == (before, {})

    lake.s3.instead = lambda query: None
    lake.runs("s3")

    assert set(lake.paths(deleted=True)) == {"/other", "/other/x"}


@pytest.mark.services
def test_a_prefix_that_may_not_be_listed_any_more_loses_nothing(lake: Lake) -> None:
    lake.lists(entries="all", include=("/wh", "/other"))
    lake.runs("s3")
    lake.s3.refused = {"other"}
    lake.s3.remove("other/x", "wh/orders/ds=2/part-0")

    lake.runs("s3")

    assert set(lake.paths(deleted=True)) == {"/wh/orders/ds=2", "/wh/orders/ds=2/part-0"}


# -- Questions -------------------------------------------------------------------------------------------------------------


@pytest.mark.services
def test_impact_and_unused_know_paths_of_s3(lake: Lake) -> None:
    lake.has_orders()
    lake.s3.put("reports/part-0")
    read = node("Scan parquet", location="InMemoryFileIndex(1 paths)[s3://lake/wh/orders]")
    events = (start(1, insert("s3a://lake/reports", read)), end(1))
    write_log(
        lake.logs,
        log_start(),
        application("report", "application_1_0002"),
        *events,
        name="application_1_0002",
    )
    lake.runs("hms", "s3", "spark_events")

    landing = entity_named(lake.solr, "s3a://lake/landing")
    affected = {each.node.id for each in impact(lake.solr, landing.id).affected}
    # The logs are of the year 2023.
    _, judged = unused(lake.solr, UsageQuestion(2_000, lake.now_ms))

    assert landing.id == lake.id("/landing")
    assert {lake.orders, lake.id("/reports")} <= affected
    assert {(each.entity.name, each.status.value) for each in judged} == {("sales.orders", "used")}


@pytest.mark.services
def test_a_table_may_lie_at_the_top_of_a_bucket(lake: Lake) -> None:
    lake.metastore.databases = ["sales"]
    lake.metastore.tables["raw"] = table("sales", "raw", {"id": "int"}, location="s3a://lake/")
    landing = node("Scan json", location="InMemoryFileIndex(1 paths)[s3a://lake/landing]")
    events = (start(1, insert("s3a://elsewhere/out", landing)), end(1))
    write_log(
        lake.logs, log_start(), application("job", "application_1_0001"), *events, name="application_1_0001"
    )

    lake.runs("spark_events", "hms", "s3")

    raw = table_key(lake.hive, "sales", "raw").identity
    assert lake.paths()["/"] == "S3BUCKET"
    assert raw in lake.drawn(lake.id("/landing"))


# -- Interruptions -------------------------------------------------------------------------------------------------------


class Killed(BaseException):
    """Ends a run as a kill does: nothing after it is done."""


@pytest.mark.services
def test_a_listing_that_is_interrupted_at_any_step_ends_in_the_same_index(
    private_solr: Solr, spark: Callable[[], SparkSession], tmp_path: Path
) -> None:
    with StubS3(BUCKET, page=50) as s3, ThriftMetastore() as metastore:
        s3.put(*(f"d{number % 20:02}/x{number:04}" for number in range(1_000)))
        calm, disturbed = (
            Lake(private_solr, spark, s3, metastore, tmp_path / name) for name in ("calm", "disturbed")
        )
        for each in (calm, disturbed):
            each.lists(entries="all", objects_in_split=200)
        steps: list[str] = []
        assert calm.run("s3", step=steps.append).status is Status.FINISHED
        assert steps == ["plan", "read", "reconcile and write", "link", "save"]
        disturbed.runs("s3")
        for number, step in enumerate(steps):
            s3.put(f"new{number}/y", size=number + 10)
            s3.remove(*(f"d{at % 20:02}/x{at:04}" for at in range(number * 50, number * 50 + 30)))

            def at_step(begun: str, step: str = step) -> None:
                if begun == step:
                    raise Killed

            with pytest.raises(Killed):
                disturbed.run("s3", step=at_step)
            disturbed.runs("s3")
            calm.runs("s3")

            for deleted in (False, True):
                assert disturbed.paths(deleted=deleted) == calm.paths(deleted=deleted)
        assert len(calm.paths()) == 1 + 20 + 1_000 - 150 + 10
