"""When a bucket is listed, and what a listing covers, refuses and finds by name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from extractors.s3.errors import S3Error, S3Refused
from extractors.s3.plan import prefixes_of
from navlin.model.plan import Positions
from navlin.model.records import Covered, Reject
from tests.services.s3 import StubS3
from tests.support.s3_rounds import AT_MS, BUCKET, Rounds, credentials, extractor  # noqa: F401  # for all tests

HOUR_MS = 3_600_000


@pytest.fixture
def s3() -> Iterator[StubS3]:
    with StubS3(BUCKET) as served:
        yield served


def kinds(s3: StubS3, *keys: str, **settings: Any) -> dict[str, str]:
    """The type of each path but the bucket's, for a bucket with these keys."""
    s3.put(*keys)
    found = Rounds(extractor(s3.url, **settings)).run().kinds
    assert found.pop("/") == "S3BUCKET"
    return found


def test_a_bucket_is_listed_again_when_its_time_has_come(s3: StubS3) -> None:
    s3.put("a")
    rounds = Rounds(extractor(s3.url, list_every_s=3_600))
    rounds.run()
    asked = len(s3.asked)

    early = rounds.run(AT_MS + HOUR_MS - 1)

    assert (early.plan.splits, early.plan.covers, len(s3.asked)) == ((), (), asked)
    assert rounds.run(AT_MS + HOUR_MS).plan.splits
    assert rounds.run(AT_MS + HOUR_MS + 1, complete=True).plan.splits


def test_a_listing_covers_what_the_patterns_take(s3: StubS3) -> None:
    plan = extractor(s3.url, include=("/sales",), exclude=("/sales/tmp",)).plan(Positions({}, AT_MS))

    [covered] = plan.covers
    assert isinstance(covered, Covered)
    assert (covered.path, covered.as_of_ms, covered.proved, covered.reported) == ("/", AT_MS, False, False)
    taken = {
        path: bool(re.fullmatch(covered.matching, path))
        for path in ("/", "/sales/x", "/sales/tmp/x", "/salesx")
    }
    assert taken == {"/": True, "/sales/x": True, "/sales/tmp/x": False, "/salesx": False}


def test_only_the_prefixes_of_the_patterns_are_listed(s3: StubS3) -> None:
    found = kinds(
        s3, "sales/a", "sales2/b", "logs/2026/app/x", "logs/2026/sys/y", "other/z", "sales/tmp/q",
        include=("/sales", "/logs/*/app"), exclude=("/sales/tmp",),
    )  # fmt: skip

    assert found == {
        "/logs": "DIRECTORY",
        "/logs/2026": "DIRECTORY",
        "/logs/2026/app": "DIRECTORY",
        "/logs/2026/app/x": "FILE",
        "/sales": "DIRECTORY",
        "/sales/a": "FILE",
    }
    assert {query.get("prefix", "") for query in s3.listed} == {"sales", "logs/"}


@pytest.mark.parametrize(
    ("include", "prefixes"),
    [
        (("/",), ("",)),
        (("/a", "/a/b"), ("a",)),
        (("/a/*/c", "/b"), ("a/", "b")),
        (("/x?", "/x[ab]"), ("x",)),
        (("/a/**",), ("a/",)),
    ],
)
def test_the_prefixes_of_patterns(include: tuple[str, ...], prefixes: tuple[str, ...]) -> None:
    assert prefixes_of(include) == prefixes


def test_staging_directories_are_left_out_by_default(s3: StubS3) -> None:
    assert kinds(s3, "t/_temporary/0/x", "t/.hive-staging_1/y", "t/z") == {"/t": "DIRECTORY", "/t/z": "FILE"}


# -- Prefixes that may not be listed -------------------------------------------------------------------------------------


def test_a_prefix_that_may_not_be_listed_is_withdrawn_and_the_others_are_read(s3: StubS3) -> None:
    s3.put("open/a", "closed/b%")
    s3.refused = {"closed"}

    done = Rounds(extractor(s3.url, include=("/open", "/closed"))).run()

    assert set(done.kinds) == {"/", "/open", "/open/a"}
    [reject] = done.rejects
    assert (reject.place, reject.tree_path) == ("s3://lake/closed", "/closed")
    assert "HTTP 403 AccessDenied" in reject.reason
    assert "s3:ListBucket" in reject.reason


def test_a_prefix_that_may_not_be_listed_any_more_in_the_middle_is_withdrawn(s3: StubS3) -> None:
    s3.put("open/a", "closed/b")
    source = extractor(s3.url, include=("/open", "/closed"))
    plan = source.plan(Positions({}, AT_MS))
    s3.refused = {"closed"}

    records = [record for split in plan.splits for record in source.read(split)]

    assert [each.tree_path for each in records if isinstance(each, Reject)] == ["/closed"]


def test_a_bucket_that_may_not_be_listed_fails(s3: StubS3) -> None:
    s3.refused = {""}

    with pytest.raises(S3Refused, match=r"s3://lake at .* HTTP 403 AccessDenied: .*needs s3:ListBucket"):
        extractor(s3.url).plan(Positions({}, AT_MS))


def test_a_bucket_that_is_gone_fails_and_says_that_nothing_counts_as_deleted(s3: StubS3) -> None:
    s3.bucket = "another"

    with pytest.raises(
        S3Error, match=r"there is no such bucket \(NoSuchBucket\).*Nothing of it counts as deleted"
    ):
        extractor(s3.url).plan(Positions({}, AT_MS))


# -- Asking by name ------------------------------------------------------------------------------------------------------


def test_what_a_listing_missed_is_asked_for_by_name(s3: StubS3) -> None:
    s3.put("a/b", "a/b-c", "dir/x", "dir-2/y", "per%cent", "old_$folder$", "q")
    paths = [
        "/a/b",
        "/a/b-c",
        "/a",
        "/dir",
        "/dir-2",
        "/per%25cent",
        "/old",
        "/gone",
        "/a/gone",
        "/qq",
        "/di",
    ]

    there = extractor(s3.url).still_there(paths)

    assert set(there) == {"/a/b", "/a/b-c", "/a", "/dir", "/dir-2", "/per%25cent", "/old"}


def test_check_tells_what_may_be_listed(s3: StubS3) -> None:
    s3.put("sales/a")

    assert list(extractor(s3.url, include=("/sales", "/logs")).check()) == [
        f"s3://lake at {s3.url}/logs may be listed, and has no objects; region: eu-west-1",
        f"s3://lake at {s3.url}/sales may be listed, and has objects; region: eu-west-1",
    ]
