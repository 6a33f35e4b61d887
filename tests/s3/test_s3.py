"""The S3 extractor: buckets, prefixes and keys of all kinds, over a real socket."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import Any

import pytest

from extractors.s3.errors import S3Error, S3Refused
from extractors.s3.pages import S3Object
from extractors.s3.plan import prefixes_of
from extractors.s3.ranges import joined
from extractors.s3.splits import BucketSplit, RangeSplit
from extractors.s3.tree import KeyPlace, KeyTree
from navlin.model.plan import Positions
from navlin.model.records import Covered, Listing, Reject
from tests.services.s3 import CHANGED_MS, StubS3
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


# -- What a listing shows ------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    "key",
    [
        "plain",
        "plus+and blank",
        "per%cent%25",
        "ü/日本/🙂",
        "question?mark#hash&amp;<tag>",
        "control\x01\x1f\x7f",
        "tab\tand\nnewline\r",
        'quote"and\\backslash',
        "k=v/ds=2026-01-01",
        "a" * 1_024,
        "é" * 512,
        ".hidden/..data/...",
        "_$folder$",
        "~/x:y",
    ],
)
def test_an_object_has_the_path_of_its_key(s3: StubS3, key: str) -> None:
    found = kinds(s3, key)

    assert found[f"/{key}"] == "FILE"
    assert [path for path, kind in found.items() if kind == "FILE"] == [f"/{key}"]


@pytest.mark.parametrize(
    "key", ["/lead", "a//b", "a/./b", "a/../b", "..", ".", "a/..", "/", "a//", "//", "nul\0x"]
)
def test_a_key_that_is_not_a_path_is_counted_and_nothing_else_is_lost(s3: StubS3, key: str) -> None:
    s3.put(key, "good/one")

    done = Rounds(extractor(s3.url)).run()

    assert {path for path, kind in done.kinds.items() if kind == "FILE"} == {"/good/one"}
    [reject] = done.rejects
    assert (reject.count, reject.sample, reject.tree_path) == (1, key, "")
    assert reject.reason.startswith("its key is not a path")
    assert done.plan.covers


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


def test_a_marker_of_s3n_makes_its_directory_explicit_although_it_comes_last(s3: StubS3) -> None:
    s3.put("old_$folder$", "empty_$folder$", "deep/down_$folder$", size=0)
    s3.put("old/x", "kept_$folder$")

    rows = Rounds(extractor(s3.url)).run().rows

    assert {path: row["type"] for path, row in rows.items()} == {
        "/": "S3BUCKET",
        "/deep": "DIRECTORY",
        "/deep/down": "DIRECTORY",
        "/empty": "DIRECTORY",
        "/kept_$folder$": "FILE",
        "/old": "DIRECTORY",
        "/old/x": "FILE",
    }
    assert [rows[each]["implicit"] for each in ("/deep", "/deep/down", "/empty", "/old")] == [
        True,
        False,
        False,
        False,
    ]


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


# -- Ranges of keys ------------------------------------------------------------------------------------------------------


def test_a_bucket_of_one_page_is_one_range(s3: StubS3) -> None:
    s3.put(*(f"d{number}/x" for number in range(100)))

    done = Rounds(extractor(s3.url)).run()

    assert done.splits == [BucketSplit("eu-west-1", AT_MS), RangeSplit("", "", "", "eu-west-1", AT_MS)]


def test_a_large_bucket_is_divided_at_its_directories(s3: StubS3) -> None:
    s3.put(*(f"d{number:02}/x{each:03}" for number in range(40) for each in range(50)))

    done = Rounds(extractor(s3.url)).run()

    ranges = [each for each in done.splits if isinstance(each, RangeSplit)]
    assert len(ranges) == 16
    assert [each.after for each in ranges[1:]] == [each.until for each in ranges[:-1]]
    assert (ranges[0].after, ranges[-1].until) == ("", "")
    assert len(done.kinds) == 1 + 40 + 2_000
    assert done.repeated == {}


def test_a_long_range_goes_on_in_further_ranges_and_the_next_listing_begins_with_all_of_them(
    s3: StubS3,
) -> None:
    s3.page = 10
    s3.put(*(f"{each:04}" for each in range(200)))
    rounds = Rounds(extractor(s3.url, objects_in_split=40))

    first = rounds.run()
    again = rounds.run(AT_MS + HOUR_MS)

    assert len(first.kinds) == len(again.kinds) == 201
    # 60 objects end a range, since half as many again as were asked for may come.
    assert [each.after for each in first.splits if isinstance(each, RangeSplit)] == [
        "", "0059", "0119", "0179",
    ]  # fmt: skip
    assert [each.after for each in again.plan.splits if isinstance(each, RangeSplit)] == [
        "", "0059", "0119", "0179",
    ]  # fmt: skip
    assert first.repeated == again.repeated == {}


def test_ranges_that_became_small_are_joined_and_their_positions_go(s3: StubS3) -> None:
    s3.page = 10
    s3.put(*(f"{each:04}" for each in range(200)))
    rounds = Rounds(extractor(s3.url, objects_in_split=40))
    rounds.run()
    s3.remove(*(f"{each:04}" for each in range(10, 200)))
    rounds.run(AT_MS + HOUR_MS)

    done = rounds.run(AT_MS + 2 * HOUR_MS)

    assert [each.after for each in done.splits if isinstance(each, RangeSplit)] == [""]
    assert rounds.saved == {
        "objects after ": 10,
        "listed_ms": AT_MS + 2 * HOUR_MS,
        "entries": "directories",
    }


def test_too_many_saved_ranges_become_fewer() -> None:
    saved = {f"k{number:06}": 20_000 for number in range(20_000)}

    kept = joined("", saved, 20_000)

    assert 4_900 <= len(kept) <= 5_000


def keys_at_edges(chance: random.Random, count: int) -> list[str]:
    """Keys of directories, their markers, and objects of the same names, in order."""
    names = ("a", "a-", "a.", "a0", "b", "a_", "b_$folder$", "a_$folder$", "_$folder$")
    keys = {
        "/".join(chance.choice(names) for _ in range(chance.randint(1, 4))) + chance.choice(("", "", "/"))
        for _ in range(count)
    }
    return sorted(keys)


def places(keys: list[str], edges: list[str]) -> dict[str, KeyPlace]:
    """Path → the place that the ranges between these edges yield. Two ranges must not contradict each other."""
    objects = [S3Object(key, 0, CHANGED_MS, key, "STANDARD", "o") for key in keys]
    found: dict[str, KeyPlace] = {}

    def first(prefix: str) -> S3Object | None:
        return next((each for each in objects if each.key.startswith(prefix)), None)

    for after, until in zip(["", *edges], [*edges, ""], strict=True):
        tree = KeyTree(first, "", after, until)
        inside = [each for each in objects if each.key > after and (not until or each.key <= until)]
        for place in [*(place for each in inside for place in tree.add(each)), *tree.end()]:
            known = found.setdefault(place.path, place)
            assert known == place or known.later != place.later
            if place.later:
                found[place.path] = place
    return found


def test_any_division_of_any_keys_yields_the_same() -> None:
    chance = random.Random(20261128)
    for _ in range(400):
        keys = keys_at_edges(chance, chance.randint(2, 30))
        edges = {*chance.sample(keys, min(3, len(keys))), chance.choice(keys).rstrip("/") + "/"}
        assert places(keys, sorted(edges)) == places(keys, [])


@pytest.mark.services
def test_any_division_of_a_bucket_yields_the_same() -> None:
    chance = random.Random(20261129)
    keys = keys_at_edges(chance, 150)
    with StubS3(BUCKET, page=7) as s3:
        s3.put(*keys, size=0)
        whole = Rounds(extractor(s3.url, objects_in_split=10_000))
        whole.saved["objects after "] = 1
        expected = whole.run()
        assert len(expected.splits) == 2
        for size in (5, 20, 40):
            cut = Rounds(extractor(s3.url, objects_in_split=size))
            cut.saved.update({f"objects after {edge}": 1_000 for edge in chance.sample(keys, 6)})
            done = cut.run()
            assert len(done.splits) > 6
            assert done.rows == expected.rows
            assert done.repeated == expected.repeated


# -- When it is listed, and what that covers ------------------------------------------------------------------------------


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
