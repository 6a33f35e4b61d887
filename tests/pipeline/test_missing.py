"""Entities missing from a full listing: conditions for flagging them deleted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from navlin.index.journal.runs import Status
from navlin.index.solr.solr import Solr
from navlin.pipeline.guard import HIGH_WATER_MARK_MS, Guard, HighWaterMark
from navlin.pipeline.missing import BELOW_FIRST, Look, LossDecision, MissingEntities, decide, topmost
from tests.support.pipeline_estate import SmallEstate

GUARD = Guard(ratio=0.5, floor=3)
TWO = MissingEntities({"/a": 2, "/b": 1})


def look(
    missing: MissingEntities = TWO, *, stored: int = 100, read: int = 97, most: int = 0, **known: object
) -> Look:
    return Look(missing, stored, read, HighWaterMark(most, 1), **known)  # type: ignore[arg-type]


def test_the_topmost_missing_path_represents_everything_below_it() -> None:
    paths = ["/a", "/a/b", "/a/b/c", "/a-b", "/a.b/c", "/b/c", "/b/c/d", "/é", "/é/x"]
    found = topmost(sorted(paths, key=lambda path: path.replace("/", BELOW_FIRST)))
    assert found.places == {"/a": 3, "/a-b": 1, "/a.b/c": 1, "/b/c": 2, "/é": 2}
    assert found.entities == len(paths)


def test_missing_paths_are_bounded_in_total_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("navlin.pipeline.missing.MOST_CHARS", 10_000)
    found = topmost(f"/a/{number:03d}{'x' * 200}" for number in range(100))
    assert (found.places, found.too_many, found.entities) == ({"/a": 100}, True, 100)


def test_too_many_missing_places_are_grouped_by_parent_and_all_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("navlin.pipeline.missing.MOST_PLACES", 3)
    deep = [f"/a/{day}/{hour}/f{number}" for day in "12" for hour in "12" for number in range(3)]
    paths = [*deep, "/b", "/b/x", "/c/1", "/d/1/2"]
    found = topmost(sorted(paths, key=lambda path: path.replace("/", BELOW_FIRST)))
    assert (found.places, found.too_many, found.entities) == ({"/": 16}, True, 16)

    found = topmost(sorted([*deep, "/b", "/b/x"], key=lambda path: path.replace("/", BELOW_FIRST)))
    assert (found.places, found.too_many) == ({"/a/1": 6, "/a/2": 6, "/b": 2}, True)
    assert set(decide(GUARD, look(found)).shown) == {"/a/1", "/a/2", "/b"}


@pytest.mark.parametrize(
    ("seen", "flagged", "stored", "note"),
    [
        pytest.param(look(found_by_name=()), {"/a", "/b"}, "", "", id="asked for by name, none is there"),
        pytest.param(look(found_by_name={"/a"}), {"/b"}, "", "missed 1 places that exist", id="one is there"),
        pytest.param(look(found_by_name={"/a", "/b"}), set(), "", "missed 2 places", id="all are there"),
        pytest.param(look(), set(), "", "3 entities are missing for the first time", id="nobody can be asked"),
        pytest.param(look(before=("/a",)), {"/a"}, "", "1 entities are missing for the first", id="missing twice"),
        pytest.param(look(before=("/",)), {"/a", "/b"}, "", "", id="below what was missing"),
        pytest.param(look(proved=True), {"/a", "/b"}, "", "", id="the listing is known to be whole"),
        pytest.param(look(read=0), set(), "nothing was read", "", id="nobody can be asked, and nothing was read"),
        pytest.param(look(proved=True, read=0), set(), "nothing was read", "", id="nothing was read"),
        pytest.param(look(MissingEntities({"/a": 60}), found_by_name=()), set(), "60 of 100", "", id="too much at once"),
        pytest.param(
            look(MissingEntities({"/a": 60, "/b": 9}), found_by_name={"/a"}), {"/b"}, "", "missed 1", id="but it is there",
        ),
        pytest.param(look(MissingEntities({"/a": 3}), stored=3, found_by_name=()), {"/a"}, "", "", id="few of few"),
        pytest.param(look(found_by_name=(), most=300), set(), "97 of the 300", "", id="little by little too much"),
        pytest.param(look(found_by_name=(), most=190), {"/a", "/b"}, "", "", id="little by little"),
        pytest.param(look(accepted=("/a", "/b"), found_by_name=()), {"/a", "/b"}, "", "", id="accepted"),
        pytest.param(
            look(MissingEntities({"/a": 60, "/c": 5}), accepted=("/a",), found_by_name=()),
            {"/a"}, "5 more entities are missing than were accepted: /c", "", id="more than was accepted",
        ),
        pytest.param(look(accepted=("/a", "/b"), found_by_name={"/a"}), {"/b"}, "", "missed 1", id="accepted, but there"),
        pytest.param(look(accepted=()), set(), "3 more entities", "", id="nothing was shown"),
        pytest.param(
            look(MissingEntities({}, too_many=True)), set(), "too many places are missing", "", id="too many places",
        ),
        pytest.param(
            look(MissingEntities({"/a": 60}, too_many=True), proved=True),
            set(), "60 of 100", "", id="too many places, all of them known to be missing",
        ),
        pytest.param(
            look(MissingEntities({"/a": 40}, too_many=True), proved=True), {"/a"}, "", "", id="many places, and plausible"
        ),
        pytest.param(
            look(MissingEntities({"/a": 60, "/b": 1}, too_many=True), accepted=("/a",)),
            {"/a"}, "1 more entities", "", id="too many places, accepted by what contains them",
        ),
    ],
)  # fmt: skip
def test_missing_entities_are_flagged_unless_evidence_contradicts(
    seen: Look, flagged: set[str], stored: str, note: str
) -> None:
    decision = decide(GUARD, seen)
    assert seen.missing.places.keys() - decision.spared == flagged
    assert stored in decision.blocked
    assert bool(stored) == bool(decision.blocked)
    assert note in "; ".join(decision.notes)
    assert bool(note) == bool(decision.notes)


def test_the_places_shown_are_the_blocked_ones() -> None:
    assert set(decide(GUARD, look(MissingEntities({"/a": 60}), found_by_name=())).shown) == {"/a"}
    assert decide(GUARD, look(found_by_name=())) == LossDecision()


def test_the_high_water_mark_lasts_a_week_and_reported_drops_lower_it() -> None:
    high_water_mark = HighWaterMark().after(100, reported=0, now_ms=1_000)
    assert high_water_mark == HighWaterMark(100, 1_000)
    assert high_water_mark.after(52, reported=0, now_ms=2_000) == high_water_mark
    assert high_water_mark.after(52, reported=48, now_ms=2_000) == HighWaterMark(52, 2_000)
    assert high_water_mark.after(52, reported=0, now_ms=1_000 + HIGH_WATER_MARK_MS) == HighWaterMark(
        52, 1_000 + HIGH_WATER_MARK_MS
    )
    assert high_water_mark.after(130, reported=0, now_ms=2_000) == HighWaterMark(130, 2_000)
    assert high_water_mark.after(52, reported=0, now_ms=0) == HighWaterMark(52, 0), (
        "that of a clock that was ahead does not count"
    )


# -- Through the public interface ----------------------------------------------------------------------------------------


def tables(count: int) -> dict[str, list[str]]:
    return {f"s.t{number:03}": ["id"] for number in range(count)}


def test_a_silently_truncated_listing_deletes_nothing(estate: SmallEstate) -> None:
    everything = tables(40)
    estate.tables(everything)
    estate.pull()
    listed = dict(list(everything.items())[:21])
    estate.tables(listed, unlisted=list(everything))

    run = estate.pull()

    assert run.status is Status.FINISHED
    assert "the listing missed 19 places that exist when looked up by name" in run.note
    assert estate.deleted("TABLE", "FIELD") == set()


@pytest.mark.services
def test_a_source_without_lookups_deletes_after_two_misses(estate: SmallEstate) -> None:
    estate.tables({"s.a": ["id"], "s.b": ["id"], "s.c": ["id"]})
    estate.pull()
    without_b = {"s.a": ["id"], "s.c": ["id"]}

    estate.tables(without_b, **{"cannot be asked": True})
    once = estate.pull()
    assert "2 entities are missing for the first time" in once.note
    assert estate.deleted("TABLE") == set()

    estate.tables({"s.a": ["id"], "s.b": ["id"]}, **{"cannot be asked": True})
    estate.pull()
    assert estate.deleted("TABLE") == set(), "b is there again, and c is missing for the first time"

    estate.pull()
    assert estate.deleted("TABLE", "FIELD") == {"/S/C", "/S/C/ID"}


@pytest.mark.services
def test_repeatedly_losing_nearly_half_is_blocked(
    solr: Solr, spark: Callable[[], SparkSession], tmp_path: Path
) -> None:
    estate = SmallEstate(solr, spark, tmp_path, guard=GUARD)
    states = []
    for count in (50, 27, 15):
        estate.tables(tables(count))
        states.append(estate.pull().status)
    assert states == [Status.FINISHED, Status.FINISHED, Status.HELD]
    assert len(estate.live("TABLE")) == 27


@pytest.mark.services
def test_accepting_a_loss_covers_only_the_entities_shown(
    solr: Solr, spark: Callable[[], SparkSession], tmp_path: Path
) -> None:
    estate = SmallEstate(solr, spark, tmp_path, guard=GUARD)
    estate.tables(tables(20))
    estate.pull()
    estate.tables(tables(8))
    stored = estate.pull()
    assert stored.status is Status.HELD
    estate.tables(tables(1))

    beyond = estate.pull(accept_loss=stored.run_id)

    assert beyond.status is Status.HELD
    assert "14 more entities are missing than were accepted" in beyond.note
    assert len(estate.deleted("TABLE")) == 12
    accepted = estate.pull(accept_loss=beyond.run_id)
    assert accepted.status is Status.FINISHED
    assert estate.live("TABLE") == {"/S/T000"}
