"""A bucket in the index, joined to what Spark and the metastore name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from navlin.index.schema.fields import RELATIONS
from navlin.index.solr.solr import Solr
from navlin.model.keys import table_key
from navlin.query.impact import impact
from navlin.query.names import entity_named
from navlin.query.unused import unused
from navlin.query.usage_status import UsageQuestion
from tests.services.metastore import table
from tests.services.s3 import StubS3
from tests.services.thrift_metastore import ThriftMetastore
from tests.support.s3_lake import OBJECTS, Lake
from tests.support.s3_rounds import BUCKET

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def lake(private_solr: Solr, spark: Callable[[], SparkSession], tmp_path: Path) -> Iterator[Lake]:
    with StubS3(BUCKET, *OBJECTS) as s3, ThriftMetastore() as metastore:
        yield Lake(private_solr, spark, s3, metastore, tmp_path)


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
    lake.logs_job("application_1_0001", "s3://LAKE/landing/part-0.json", "s3n://lake/out")

    lake.runs("spark_events", "s3")

    assert lake.paths()["/landing/part-0.json"] == "FILE"
    assert lake.document("/landing/part-0.json")["size"] == 3
    assert "/other/x" not in lake.paths()


@pytest.mark.services
def test_impact_and_unused_know_paths_of_s3(lake: Lake) -> None:
    lake.has_orders()
    lake.s3.put("reports/part-0")
    lake.logs_job("application_1_0002", "s3://lake/wh/orders", "s3a://lake/reports")
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
    lake.logs_job("application_1_0001", "s3a://lake/landing", "s3a://elsewhere/out")

    lake.runs("spark_events", "hms", "s3")

    raw = table_key(lake.hive, "sales", "raw").identity
    assert lake.paths()["/"] == "S3BUCKET"
    assert raw in lake.drawn(lake.id("/landing"))


@pytest.mark.services
def test_lineage_leads_through_ozone_in_both_spellings(lake: Lake) -> None:
    lake.s3.put("reports/part-0")
    lake.logs_job("application_1_0001", "s3a://lake/landing", "o3fs://bucket.vol.om/staged")
    lake.logs_job("application_1_0002", "ofs://om/vol/bucket/staged", "s3a://lake/reports")

    lake.runs("s3", "spark_events")

    assert lake.id("/reports") in lake.drawn(lake.id("/landing"), unlinked=True)
