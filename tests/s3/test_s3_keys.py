"""Fields and paths of what a listing of a bucket shows, over a real socket."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from navlin.model.records import Listing
from tests.services.s3 import CHANGED_MS, StubS3
from tests.support.s3_keys import ALL, FILE, KINDS, KindOfKeys, counted, shown
from tests.support.s3_rounds import AT_MS, BUCKET, Rounds, credentials, extractor  # noqa: F401  # for all tests


@pytest.fixture
def s3() -> Iterator[StubS3]:
    with StubS3(BUCKET) as served:
        yield served


def test_a_bucket_has_its_objects_and_the_directories_that_their_keys_imply(s3: StubS3) -> None:
    s3.put("sales/2026/part-0.parquet", size=1_234, storage_class="GLACIER", e_tag="abc-2", owner="o-9")

    done = Rounds(extractor(s3.url)).run()

    assert done.rows == {
        "/": {"type": "S3BUCKET", "as_of_ms": AT_MS, "bucketName": "lake", "region": "eu-west-1"},
        "/sales": directory(depth=1),
        "/sales/2026": directory(depth=2),
        "/sales/2026/part-0.parquet": {
            "type": "FILE",
            "as_of_ms": AT_MS,
            "bucketName": "lake",
            "region": "eu-west-1",
            "depth": 3,
            "size": 1_234,
            "lastModified": CHANGED_MS,
            "eTag": "abc-2",
            "storageClass": "GLACIER",
            "ownerId": "o-9",
        },
    }
    assert done.rejects == []


def directory(**fields: Any) -> dict[str, Any]:
    common = {"type": "DIRECTORY", "as_of_ms": AT_MS, "bucketName": "lake", "region": "eu-west-1"}
    return {**common, "implicit": True, **fields}


def put(s3: StubS3, kind: KindOfKeys) -> None:
    for key, size in kind.sizes.items():
        s3.put(key, size=size)


def test_keys_of_all_kinds_have_their_paths_and_the_others_are_counted(s3: StubS3) -> None:
    put(s3, ALL)

    done = Rounds(extractor(s3.url)).run()

    assert shown(done) == ALL.paths
    assert counted(done) == ALL.odd
    assert done.plan.covers


@pytest.mark.services
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_keys_of_a_kind_have_their_paths_next_to_others(s3: StubS3, kind: KindOfKeys) -> None:
    put(s3, kind)
    s3.put("good/one")

    done = Rounds(extractor(s3.url)).run()

    assert shown(done) == {**kind.paths, "/good": "implicit DIRECTORY", "/good/one": FILE}
    assert counted(done) == kind.odd
    assert [each.tree_path for each in done.rejects] == [""] * (kind.odd > 0)
    assert {each.sample for each in done.rejects} <= set(kind.keys)


def test_an_empty_object_with_a_slash_at_its_end_makes_its_directory_explicit(s3: StubS3) -> None:
    s3.put("empty/", "full/", size=0)
    s3.put("full/x")

    rows = Rounds(extractor(s3.url)).run().rows

    explicit = {
        "implicit": False,
        "lastModified": CHANGED_MS,
        "eTag": "d41d8cd98f00b204e9800998ecf8427e",
        "storageClass": "STANDARD",
        "ownerId": "owner-1",
    }
    assert rows["/empty"] == directory(depth=1, **explicit)
    assert rows["/full"] == directory(depth=1, **explicit)


def test_an_object_with_the_name_of_a_directory_is_that_directory_and_keeps_its_fields(s3: StubS3) -> None:
    s3.put("a/b", size=77, e_tag="of-the-object")
    s3.put("a/b-c", "a/b.d/e", "a/b/c")

    rows = Rounds(extractor(s3.url)).run().rows

    assert {path: row["type"] for path, row in rows.items()} == {
        "/": "S3BUCKET",
        "/a": "DIRECTORY",
        "/a/b": "DIRECTORY",
        "/a/b-c": "FILE",
        "/a/b.d": "DIRECTORY",
        "/a/b.d/e": "FILE",
        "/a/b/c": "FILE",
    }
    assert (rows["/a/b"]["size"], rows["/a/b"]["eTag"], rows["/a/b"]["implicit"]) == (
        77,
        "of-the-object",
        False,
    )


def test_an_unreadable_size_or_time_is_counted_and_the_object_stays(s3: StubS3) -> None:
    s3.put("a", size="many")
    s3.put("b", changed="yesterday")
    s3.put("c")

    done = Rounds(extractor(s3.url)).run()

    assert set(done.kinds) == {"/", "/a", "/b", "/c"}
    assert [(each.reason, each.count) for each in done.rejects] == [
        ("its size, or the time of its last change, is not readable", 2)
    ]


def test_files_are_written_where_lineage_names_them_unless_all_are_asked_for(s3: StubS3) -> None:
    s3.put("a/b")

    [few] = [each for each in Rounds(extractor(s3.url)).run().records if isinstance(each, Listing)]
    [every] = [
        each for each in Rounds(extractor(s3.url, entries="all")).run().records if isinstance(each, Listing)
    ]

    assert dict(zip(few.paths, few.where_claimed or (), strict=True)) == {"/a": False, "/a/b": True}
    assert every.where_claimed is None
