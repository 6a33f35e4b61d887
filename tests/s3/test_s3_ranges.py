"""Ranges of keys, which are read side by side. Any division of a bucket yields the same."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from extractors.s3 import reading
from extractors.s3.errors import S3Error
from extractors.s3.pages import S3Object
from extractors.s3.ranges import joined
from extractors.s3.splits import BucketSplit, RangeSplit
from extractors.s3.tree import KeyPlace, KeyTree
from tests.services.s3 import CHANGED_MS, StubS3
from tests.support.s3_rounds import AT_MS, BUCKET, Rounds, credentials, extractor  # noqa: F401  # for all tests

HOUR_MS = 3_600_000


@pytest.fixture
def s3() -> Iterator[StubS3]:
    with StubS3(BUCKET) as served:
        yield served


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
    """Keys of directories, their markers, objects of the same names, and keys without a path, in order."""
    names = ("a", "a-", "a.", "a0", "b", "a_", "b_$folder$", "a_$folder$", "_$folder$", "..", "")
    keys = {
        "/".join(chance.choice(names) for _ in range(chance.randint(1, 4))) + chance.choice(("", "", "/"))
        for _ in range(count)
    }
    return sorted(keys - {""})


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


@pytest.mark.services
def test_a_listing_that_never_ends_is_given_up(s3: StubS3, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_OBJECTS", 2_000)
    s3.page = 100
    s3.put(*(f"{each:04}" for each in range(3_000)))

    with pytest.raises(S3Error, match="the listing has more than 2,000 objects, and goes on"):
        Rounds(extractor(s3.url, objects_in_split=200)).run()
    assert len(s3.asked) < 60
