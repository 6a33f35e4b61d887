"""Listings that are killed, and go on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from navlin.index.journal.runs import Status
from navlin.index.solr.solr import Solr
from tests.services.s3 import StubS3
from tests.services.thrift_metastore import ThriftMetastore
from tests.support.s3_lake import Lake
from tests.support.s3_rounds import BUCKET

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


STEPS = ["plan", "read", "reconcile and write", "link", "save"]


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
        assert steps == STEPS
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
