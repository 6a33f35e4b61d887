"""Objects, buckets and rights that go: each is flagged deleted, or kept with a sentence that says why."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from navlin.index.journal.runs import Status
from navlin.index.solr.solr import Solr
from tests.services.s3 import StubS3, refusal
from tests.services.thrift_metastore import ThriftMetastore
from tests.support.s3_lake import OBJECTS, Lake
from tests.support.s3_rounds import BUCKET

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def lake(private_solr: Solr, spark: Callable[[], SparkSession], tmp_path: Path) -> Iterator[Lake]:
    with StubS3(BUCKET, *OBJECTS) as s3, ThriftMetastore() as metastore:
        yield Lake(private_solr, spark, s3, metastore, tmp_path)


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
