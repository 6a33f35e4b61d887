"""Listings that are killed, and go on."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from navlin.index.journal.runs import Status
from navlin.index.schema.fields import ELEMENTS
from navlin.index.solr.solr import Solr
from tests.services.s3 import StubS3
from tests.services.thrift_metastore import ThriftMetastore
from tests.services.versitygw import Versitygw
from tests.support.killed_listings import RANGES, STEPS, Listings, list_with_kills
from tests.support.s3_buckets import DIRECTORIES, fill_bucket
from tests.support.s3_lake import Lake
from tests.support.s3_rounds import BUCKET

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
        assert steps == list(STEPS)
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


@pytest.mark.services
def test_20_000_objects_are_listed_by_processes_that_are_killed_at_every_step(
    private_solr: Solr, spark: Callable[[], SparkSession], versitygw: Versitygw, tmp_path: Path
) -> None:
    delays_s = [*((step, 0.0) for step in STEPS), ("read", 0.3), ("reconcile and write", 0.3)]

    same_index_after_kills(private_solr, spark, versitygw, tmp_path, 20_000, delays_s)


@pytest.mark.soak
def test_a_million_objects_are_listed_by_processes_that_are_killed_at_every_step(
    private_solr: Solr, spark: Callable[[], SparkSession], versitygw: Versitygw, tmp_path: Path, seed: str
) -> None:
    chance = random.Random(seed)
    delays_s = [*((step, 0.0) for step in STEPS), *((step, chance.uniform(0, 60)) for step in STEPS[1:3])]

    same_index_after_kills(private_solr, spark, versitygw, tmp_path, 1_000_000, delays_s)


def same_index_after_kills(
    solr: Solr,
    spark: Callable[[], SparkSession],
    server: Versitygw,
    folder: Path,
    objects: int,
    delays_s: list[tuple[str, float]],
) -> None:
    """Fill an index with a bucket, then change the bucket and list it in four ranges, each by processes that are killed.
    Asserts that the index is that of two listings without a kill.
    """
    bucket = server.bucket(BUCKET)
    fill_bucket(bucket, objects)
    Listings.prepare(folder, server.url, objects)
    calm, disturbed = (Listings(solr, spark, folder, cluster) for cluster in ("calm", "disturbed"))

    after = list_with_kills(solr, folder, "disturbed", 1, delays_s)
    calm.list()
    shutil.rmtree(bucket / "ds=001")
    (bucket / "ds=002" / "part-00001").write_bytes(b"more")
    (bucket / "ds=003" / "part-99999").touch()
    list_with_kills(solr, folder, "disturbed", after, delays_s)
    calm.list()

    kept, expected = disturbed.contents(), calm.contents()
    assert {kept.get(each) or expected[each] for each in kept.keys() ^ expected.keys()} == set()
    assert (calm.ranges, disturbed.ranges) == (RANGES, RANGES)
    # A directory with its objects is gone, and an object is new.
    gone = 1 + objects // DIRECTORIES
    for deleted, count in ((False, 1 + DIRECTORIES + objects - gone + 1), (True, gone)):
        of_source = f"+sourceId:{disturbed.source.id} +type:(FILE OR DIRECTORY OR S3BUCKET) +deleted:{str(deleted).lower()}"
        assert solr.count(ELEMENTS, of_source) == count
