"""The effects of a wrong clock are limited and repaired."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import datetime, tzinfo
from queue import SimpleQueue
from typing import Self

import pytest

from navlin.index.journal.runs import Status, last_run
from navlin.model.plan import SourceTime
from navlin.pipeline.clock_suspicion import TOLERANCE_MS, clock_suspicion
from navlin.pipeline.wall_clock import WallClock, kernel_is_synchronized
from navlin.service.daemon.schedule import Schedule
from tests.support.pipeline_estate import SmallEstate

NOW_MS = 1_800_000_000_000
MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000
THIRTY_DAYS_MS = 30 * DAY_MS


def exact(off_ms: int) -> SourceTime:
    """A time reported by the source, ``off_ms`` ahead of this machine's clock."""
    return SourceTime(NOW_MS + off_ms, "the source")


def newest_event(off_ms: int) -> SourceTime:
    return SourceTime(NOW_MS + off_ms, "the source's newest event", exact=False)


@pytest.mark.parametrize(
    ("source_time", "jump_ms", "doubted"),
    [
        pytest.param(None, 0, "", id="nobody shows a time, and nothing jumped"),
        pytest.param(exact(0), 0, "", id="both agree"),
        pytest.param(exact(TOLERANCE_MS), 0, "", id="nearly"),
        pytest.param(exact(-TOLERANCE_MS - 1), 0, "10 min ahead of the clock of the source", id="ahead"),
        pytest.param(exact(-THIRTY_DAYS_MS), 0, "30 d ahead", id="far ahead"),
        pytest.param(exact(3 * HOUR_MS), 0, "3 h behind the clock of the source", id="behind"),
        pytest.param(newest_event(-THIRTY_DAYS_MS), 0, "", id="nothing has happened for long"),
        pytest.param(newest_event(3 * HOUR_MS), 0, "3 h behind", id="an event of the future"),
        pytest.param(None, THIRTY_DAYS_MS, "jumped forward by 30 d", id="it jumped"),
        pytest.param(None, -HOUR_MS, "jumped back by 60 min", id="it jumped back"),
        pytest.param(None, TOLERANCE_MS, "", id="it was corrected a little"),
        pytest.param(exact(0), THIRTY_DAYS_MS, "", id="it jumped, and was corrected by that"),
        pytest.param(
            exact(-THIRTY_DAYS_MS), THIRTY_DAYS_MS, "30 d ahead", id="it jumped, and is wrong since"
        ),
        pytest.param(newest_event(0), THIRTY_DAYS_MS, "jumped", id="an event proves only one direction"),
    ],
)
def test_a_clock_is_doubted_if_another_contradicts_it(
    source_time: SourceTime | None, jump_ms: int, doubted: str
) -> None:
    doubt = clock_suspicion(NOW_MS, source_time, jump_ms)
    assert doubted in doubt
    assert bool(doubted) == bool(doubt)


@pytest.mark.services
def test_nothing_is_read_while_the_clock_is_ahead_of_the_sources(
    estate: SmallEstate,
) -> None:
    estate.tables({"sales.orders": ["id"], "sales.items": ["id"]})
    estate.pull()
    before = estate.index()
    right_ms = estate.now_ms
    estate.tables(
        {"sales.orders": {"columns": ["id"], "owner": "bob"}}, clock={"at_ms": right_ms, "exact": True}
    )

    estate.now_ms += THIRTY_DAYS_MS
    doubted = estate.pull()

    assert (doubted.status, doubted.counts.records) == (Status.FAILED, 0)
    assert "30 d ahead of the clock of the scripted source" in doubted.error
    assert estate.index() == before

    estate.now_ms = right_ms
    run = estate.pull()
    assert (run.status, run.note) == (Status.FINISHED, "")
    assert estate.element("sales.orders")["owner"] == "bob"
    assert estate.deleted("TABLE") == {"/SALES/ITEMS"}


@pytest.mark.services
def test_stamps_of_a_clock_ahead_are_corrected_by_the_next_listing(estate: SmallEstate) -> None:
    estate.tables({"sales.orders": ["id"], "sales.items": ["id"], "sales.stays": ["id"]})
    right_ms = estate.now_ms
    estate.now_ms += THIRTY_DAYS_MS
    estate.pull()

    estate.now_ms = right_ms
    estate.tables({"sales.orders": {"columns": ["id"], "owner": "bob"}, "sales.stays": ["id"]})
    healed = estate.pull()

    assert healed.status is Status.FINISHED
    assert "the clock was 29 d ahead" in healed.note or "30 d ahead" in healed.note
    assert (healed.counts.late, healed.counts.gone_entities) == (0, 2)
    assert estate.element("sales.orders")["owner"] == "bob"
    assert estate.deleted("TABLE", "FIELD") == {"/SALES/ITEMS", "/SALES/ITEMS/ID"}
    stamps = [estate.element(name)["asOf"] for name in ("sales.orders", "sales.stays", "sales.stays.id")]
    assert max(stamps) <= healed.ended_ms, "also of what did not change"
    again = estate.pull()
    assert (again.note, again.counts.changed) == ("", 0)


def test_a_clock_set_back_slightly_flags_nothing_wrongly(estate: SmallEstate) -> None:
    estate.tables({"sales.orders": ["id"], "sales.items": ["id"]})
    estate.pull()
    estate.now_ms -= HOUR_MS
    estate.tables({"sales.orders": {"columns": ["id"], "owner": "bob"}, "sales.items": ["id"]})

    estate.pull()

    assert estate.element("sales.orders")["owner"] == "bob"
    assert estate.deleted("TABLE") == set()


def test_records_older_than_the_index_are_reported_for_a_pull(estate: SmallEstate) -> None:
    estate.tables({"sales.orders": ["id"]})
    estate.now_ms += 5 * MINUTE_MS
    estate.pull()
    estate.now_ms -= 8 * MINUTE_MS

    run = estate.pull()

    assert run.counts.late == 3
    assert "3 records are older than the index" in run.note


def test_a_late_event_is_not_reported(estate: SmallEstate) -> None:
    estate.tables({"sales.orders": ["id"]})
    estate.pull()
    for at_ms in (estate.now_ms, estate.now_ms - HOUR_MS):
        estate.happen("insert", [], ["sales.orders"], at_ms=at_ms)
    assert estate.follow().note == ""
    last = last_run(estate.solr, estate.impala.id)
    assert last is not None
    assert last.status is Status.FINISHED


# -- The clock of this machine -------------------------------------------------------------------------------------------


class Clocks:
    def __init__(self, *, synchronized: bool = False) -> None:
        self.wall_s, self.since_boot_s, self.synchronized = 1_800_000_000.0, 500.0, synchronized
        self.clock = WallClock(lambda: self.wall_s, lambda: self.since_boot_s, lambda: self.synchronized)

    def pass_s(self, seconds: float) -> None:
        self.wall_s += seconds
        self.since_boot_s += seconds


def test_passing_time_is_not_a_jump_and_a_step_is_one_until_accepted() -> None:
    clocks = Clocks()
    clocks.pass_s(40 * 86_400)
    assert (clocks.clock.jump_ms(), clocks.clock.new_jump_s()) == (0, 0)
    clocks.wall_s += 7_200
    assert clocks.clock.new_jump_s() == 7_200
    assert clocks.clock.new_jump_s() == 0, "it is noticed once"
    clocks.pass_s(60)
    assert clocks.clock.jump_ms() == 7_200_000, "and doubted on"
    clocks.clock.believe()
    assert clocks.clock.jump_ms() == 0


def test_a_synchronized_clock_is_believed() -> None:
    clocks = Clocks(synchronized=True)
    clocks.wall_s += 30 * 86_400
    assert clocks.clock.jump_ms() == 0
    clocks.synchronized = False
    assert clocks.clock.jump_ms() == 0, "for good"


def test_this_machine_has_both_clocks_and_the_kernel_can_be_queried() -> None:
    clock = WallClock()
    before_s, shown_s, after_s = time.time(), clock.at_s(clock.steady_s()), time.time()
    # `at_s` reads two clocks one after the other, and a busy machine may be delayed in between.
    assert before_s - 60 < shown_s < after_s + 60
    kernel_is_synchronized()


def test_a_source_without_a_clock_is_not_pulled_after_a_jump_until_another_settles_it(
    estate: SmallEstate,
) -> None:
    clocks = Clocks()
    estate.pipeline = replace(estate.pipeline, wall_clock=clocks.clock)
    estate.tables({"sales.orders": ["id"]})
    clocks.wall_s += 3 * 3_600

    doubted = estate.pull()
    assert doubted.status is Status.FAILED
    assert "jumped forward by 3 h" in doubted.error
    assert estate.live("TABLE") == set()

    estate.tables({"sales.orders": ["id"]}, clock={"at_ms": estate.now_ms + MINUTE_MS, "exact": True})
    assert estate.pull().status is Status.FINISHED
    estate.tables({"sales.orders": ["id"], "sales.items": ["id"]})
    assert estate.pull().status is Status.FINISHED, "the other source has shown that the clock is right"


PATIENCE_S = 300.0
"""Timeout for steps that take seconds on an idle machine."""


class ClockOfTheScheduler(datetime):
    """The wall clock that APScheduler reads, shifted by ``off_s``."""

    off_s = 0.0

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        return cls.fromtimestamp(time.time() + cls.off_s, tz)


@pytest.mark.parametrize("step_s", [-3_600.0, 3_600.0])
def test_a_source_keeps_its_interval_when_the_clock_is_set(
    step_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ClockOfTheScheduler, "off_s", 0.0)
    monkeypatch.setattr("apscheduler.schedulers.base.datetime", ClockOfTheScheduler)
    clock = WallClock(lambda: time.time() + ClockOfTheScheduler.off_s, synchronized=lambda: False)
    runs: SimpleQueue[float] = SimpleQueue()
    schedule = Schedule(lambda _: runs.put(time.monotonic()), clock=clock)
    schedule.start()
    try:
        schedule.set_sources({"HIVE": 1.5})
        before_s = runs.get(timeout=PATIENCE_S)
        monkeypatch.setattr(ClockOfTheScheduler, "off_s", step_s)
        assert clock.new_jump_s() == pytest.approx(step_s, abs=60)
        schedule.clock_jumped()
        after_s = runs.get(timeout=PATIENCE_S)
        # If the schedule used the changed clock, the next run would start an hour late or immediately.
        assert after_s - before_s < PATIENCE_S
        assert 1.2 < runs.get(timeout=PATIENCE_S) - after_s < PATIENCE_S
    finally:
        schedule.stop()
