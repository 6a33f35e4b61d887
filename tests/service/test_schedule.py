"""Times at which the daemon runs sources, and events that wake a source earlier."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty, SimpleQueue

import pytest

from navlin.pipeline.wall_clock import WallClock
from navlin.service.daemon.due_time import WAKE_S, DueTime
from navlin.service.daemon.schedule import Schedule
from navlin.service.daemon.watching import Watching
from navlin.service.settings.time_of_day import last_s, next_s

SOON_S = 300.0
"""Maximum time, on a loaded machine, of an operation that takes milliseconds."""


# -- Due times, without real time ----------------------------------------------------------------------------------------


def test_the_interval_counts_from_the_end_of_a_run() -> None:
    due_time = DueTime(600, due_s=0)

    due_time.begin(now_s=0)

    assert due_time.running
    assert due_time.end(now_s=3_000) == 3_600


def test_a_wake_up_brings_a_run_forward() -> None:
    due_time = DueTime(5, due_s=105)

    assert due_time.wake(now_s=101) == 101 + WAKE_S


def test_a_burst_of_wake_ups_causes_one_run() -> None:
    due_time = DueTime(5, due_s=105)

    assert due_time.wake(now_s=101) == 101 + WAKE_S
    assert due_time.wake(now_s=101.01) is None
    assert due_time.wake(now_s=101.09) is None


def test_a_wake_up_just_before_a_run_is_due_changes_nothing() -> None:
    assert DueTime(5, due_s=105).wake(now_s=104.95) is None


def test_a_wake_up_during_a_run_causes_another_run() -> None:
    due_time = DueTime(600, due_s=0)
    due_time.begin(now_s=0)

    assert due_time.wake(now_s=10) is None
    assert due_time.end(now_s=20) < 600

    due_time.begin(now_s=25)
    assert due_time.end(now_s=30) == 630


@pytest.mark.parametrize(
    ("took_s", "rests_s"),
    [(0.02, WAKE_S), (0.6, 0.6), (1.0, 1.0), (1.4, 1.0), (1.7, 0.6), (2.0, WAKE_S), (7.0, WAKE_S)],
)
def test_a_constantly_written_source_rests_as_long_as_it_ran_within_bounds(
    took_s: float, rests_s: float
) -> None:
    due_time = DueTime(5, due_s=0)
    due_time.begin(now_s=100)
    due_time.wake(now_s=100)
    assert due_time.end(now_s=100 + took_s) == pytest.approx(100 + took_s + rests_s)


def test_a_source_that_ran_for_minutes_rests_briefly() -> None:
    due_time = DueTime(600, due_s=0)
    due_time.begin(now_s=0)
    due_time.wake(now_s=1)
    assert due_time.end(now_s=150) == 151


@pytest.mark.parametrize("each_s", [0.1, 0.3, 0.5])
@pytest.mark.parametrize("fixed_s", [0.2, 0.5, 0.8])
def test_constantly_written_records_are_indexed_within_the_interval(fixed_s: float, each_s: float) -> None:
    """A run takes ``fixed_s``, plus ``each_s`` for each second of records that it reads."""
    due_time = DueTime(5, due_s=0)
    began_s, read_to_s = 0.0, 0.0
    for _ in range(200):
        due_time.begin(began_s)
        ended_s = began_s + fixed_s + each_s * (began_s - read_to_s)
        assert ended_s - read_to_s < 5, "what was written just after the run before had begun"
        due_time.wake(ended_s - 0.01)
        read_to_s, began_s = began_s, due_time.end(ended_s)


def test_a_wake_up_while_resting_waits_for_its_end_and_a_later_one_does_not() -> None:
    due_time = DueTime(5, due_s=0)
    due_time.begin(now_s=100)
    assert due_time.end(now_s=101) == 106

    assert due_time.wake(now_s=101.2) == 102
    due_time.begin(now_s=102)
    assert due_time.end(now_s=103) == 108

    assert due_time.wake(now_s=105) == 105 + WAKE_S


def test_a_shorter_interval_applies_at_once_and_a_longer_one_after_the_next_run() -> None:
    due_time = DueTime(600, due_s=700)

    assert due_time.set_interval(60, now_s=100) == 160
    assert due_time.set_interval(3_600, now_s=100) is None
    due_time.begin(now_s=155)
    assert due_time.end(now_s=160) == 3_760


# -- The schedule: real threads -------------------------------------------------------------------------------------------


class Runs:
    """Sources that run until the test releases them, and the order of events."""

    def __init__(self) -> None:
        self.events: SimpleQueue[str] = SimpleQueue()
        self.gates: dict[str, threading.Event] = {}

    def run(self, name: str) -> None:
        self.events.put(f"{name} begins")
        if gate := self.gates.get(name):
            gate.wait(SOON_S)
        self.events.put(f"{name} ends")
        if name == "broken":
            raise ValueError("a source that raises all the same")

    def next(self) -> str:
        return self.events.get(timeout=SOON_S)

    def nothing_for(self, seconds: float) -> bool:
        try:
            self.events.get(timeout=seconds)
        except Empty:
            return True
        return False


@pytest.fixture
def runs() -> Runs:
    return Runs()


@pytest.fixture
def schedule(runs: Runs) -> Iterator[Schedule]:
    made = Schedule(runs.run)
    made.start()
    yield made
    for gate in runs.gates.values():
        gate.set()
    made.stop()


def test_a_new_source_runs_at_once_and_again_an_interval_later(schedule: Schedule, runs: Runs) -> None:
    schedule.set_sources({"a": 0.2})

    assert [runs.next() for _ in range(4)] == ["a begins", "a ends", "a begins", "a ends"]


def test_a_wake_up_runs_a_source_long_before_its_interval(schedule: Schedule, runs: Runs) -> None:
    schedule.set_sources({"a": 3_600})
    assert [runs.next(), runs.next()] == ["a begins", "a ends"]

    schedule.wake("a")

    assert [runs.next(), runs.next()] == ["a begins", "a ends"]


def test_a_source_never_runs_twice_at_once(schedule: Schedule, runs: Runs) -> None:
    runs.gates["a"] = threading.Event()
    schedule.set_sources({"a": 3_600})
    assert runs.next() == "a begins"

    for _ in range(5):
        schedule.wake("a")
    assert runs.nothing_for(5 * WAKE_S)
    assert schedule.running() == ["a"]

    runs.gates["a"].set()
    assert [runs.next() for _ in range(3)] == ["a ends", "a begins", "a ends"]


def test_a_source_removed_and_added_again_while_running_does_not_run_twice(
    schedule: Schedule, runs: Runs
) -> None:
    runs.gates["a"] = threading.Event()
    schedule.set_sources({"a": 3_600})
    assert runs.next() == "a begins"

    schedule.set_sources({})
    schedule.set_sources({"a": 0.1})
    assert runs.nothing_for(0.5)

    runs.gates["a"].set()
    assert [runs.next(), runs.next()] == ["a ends", "a begins"]


def test_a_removed_source_does_not_run_again(schedule: Schedule, runs: Runs) -> None:
    runs.gates["a"] = threading.Event()
    schedule.set_sources({"a": 0.1})
    assert runs.next() == "a begins"

    schedule.set_sources({})
    runs.gates["a"].set()

    assert runs.next() == "a ends"
    assert runs.nothing_for(0.5)
    assert schedule.due_s() == {}


def test_a_hanging_or_failing_source_delays_no_other(schedule: Schedule, runs: Runs) -> None:
    runs.gates["hanging"] = threading.Event()
    schedule.set_sources({"hanging": 0.1, "broken": 0.2, "well": 0.2})

    seen = [runs.next() for _ in range(13)]

    assert seen.count("hanging begins") == 1
    assert seen.count("well ends") >= 2
    assert seen.count("broken ends") >= 2


def test_after_a_stop_nothing_starts_and_running_jobs_continue(schedule: Schedule, runs: Runs) -> None:
    runs.gates["a"] = threading.Event()
    schedule.set_sources({"a": 0.1})
    assert runs.next() == "a begins"

    schedule.stop()
    assert schedule.running() == ["a"]
    runs.gates["a"].set()

    assert runs.next() == "a ends"
    assert runs.nothing_for(0.5)


def test_a_stop_while_jobs_are_dispatched_raises_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    died: list[object] = []
    monkeypatch.setattr(threading, "excepthook", died.append)
    for wait_ms in range(60):
        schedule = Schedule(lambda name: None)
        schedule.start()
        schedule.set_sources({str(number): 0.001 for number in range(20)})
        time.sleep(wait_ms % 20 / 1000)
        schedule.stop()
    assert died == []


@pytest.fixture
def in_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Yield a function that sets the time zone of this process."""

    def move(zone: str) -> None:
        monkeypatch.setenv("TZ", zone)
        time.tzset()

    yield move
    monkeypatch.undo()
    time.tzset()


CHANGES = {
    "Berlin, back": ("Europe/Berlin", "02:30", ["2026-10-24T00:30Z", "2026-10-25T00:30Z", "2026-10-26T01:30Z"]),
    "Berlin, forth": ("Europe/Berlin", "02:30", ["2026-03-28T01:30Z", "2026-03-29T01:30Z", "2026-03-30T00:30Z"]),
    "New York, back": ("America/New_York", "01:30", ["2026-10-31T05:30Z", "2026-11-01T05:30Z", "2026-11-02T06:30Z"]),
    "New York, forth": ("America/New_York", "02:30", ["2026-03-07T07:30Z", "2026-03-08T07:30Z", "2026-03-09T06:30Z"]),
    "Cairo, forth": ("Africa/Cairo", "00:00", ["2026-04-22T22:00Z", "2026-04-23T22:00Z", "2026-04-24T21:00Z"]),
    "Cairo, back": ("Africa/Cairo", "23:30", ["2026-10-28T20:30Z", "2026-10-29T20:30Z", "2026-10-30T21:30Z"]),
    "Santiago, forth": ("America/Santiago", "00:00", ["2026-09-05T04:00Z", "2026-09-06T04:00Z", "2026-09-07T03:00Z"]),
    "Santiago, back": ("America/Santiago", "23:30", ["2026-04-04T02:30Z", "2026-04-05T02:30Z", "2026-04-06T03:30Z"]),
}  # fmt: skip
"""(time zone, time of day, [that time in UTC on the day before the clock change, on that day, on the day after])"""


@pytest.mark.parametrize("change", CHANGES)
def test_a_time_of_day_occurs_once_a_day_when_clocks_change(
    change: str, in_zone: Callable[[str], None]
) -> None:
    zone, at, expected = CHANGES[change]
    in_zone(zone)
    due = [datetime.fromisoformat(each.replace("Z", "+00:00")).timestamp() for each in expected]
    found = [due[0] - 1]
    for _ in due:
        found.append(next_s(at, found[-1]))
    assert found[1:] == due
    # The last and the next due time are consecutive, whatever the time.
    for minutes in range(0, 49 * 60, 7):
        now_s = due[0] + minutes * 60
        last, after = last_s(at, now_s), next_s(at, now_s)
        assert last <= now_s < after
        assert next_s(at, last) == after


class NightClock(WallClock):
    """A clock that the test sets."""

    off_s = 0.0

    def now_s(self) -> float:
        return super().now_s() + self.off_s


def test_one_purge_runs_in_the_night_when_clocks_change(in_zone: Callable[[str], None]) -> None:
    in_zone("Europe/Berlin")
    clock = NightClock()
    schedule = Schedule(lambda _: None, clock=clock)
    purges = list[float]()
    first = datetime(2026, 10, 25, 0, 30, tzinfo=UTC).timestamp()

    def run_at(moment_s: float) -> float:
        clock.off_s = moment_s - time.time()
        schedule._purge_once()
        job = schedule.jobs()[-1]
        due: float = job.trigger.run_date.timestamp()
        return due

    schedule.set_purge(lambda: purges.append(clock.now_s()), "02:30")
    assert run_at(first) == first + 25 * 3_600
    assert len(purges) == 1


def test_a_missed_purge_runs_at_once_and_then_on_time(schedule: Schedule) -> None:
    made: SimpleQueue[float] = SimpleQueue()
    schedule.set_purge(lambda: made.put(time.monotonic()), "03:30", missed=True)
    made.get(timeout=SOON_S)
    deadline_s = time.monotonic() + SOON_S
    while not schedule.jobs() and time.monotonic() < deadline_s:
        time.sleep(0.02)
    [job] = schedule.jobs()
    assert job.next_run_time.astimezone().strftime("%H:%M") == "03:30"
    assert made.empty()


def test_the_purge_is_due_at_its_time_of_day(schedule: Schedule) -> None:
    schedule.set_purge(lambda: None, "03:30")

    [job] = [job for job in schedule.jobs() if job.id == "#purge"]
    assert job.next_run_time.astimezone().strftime("%H:%M") == "03:30"

    schedule.set_purge(lambda: None, None)
    assert schedule.jobs() == []


# -- Watching: real directories ----------------------------------------------------------------------------------------


@pytest.fixture
def woken() -> SimpleQueue[str]:
    return SimpleQueue()


@pytest.fixture
def watching(woken: SimpleQueue[str]) -> Iterator[Watching]:
    made = Watching(woken.put)
    made.start()
    yield made
    made.stop()


def drained(woken: SimpleQueue[str]) -> None:
    time.sleep(0.5)
    while not woken.empty():
        woken.get()


def append(file: Path) -> None:
    with file.open("a") as opened:
        opened.write("line\n")


def rename(file: Path) -> None:
    file.rename(file.with_suffix(".1"))


def create(file: Path) -> None:
    (file.parent / "new").touch()


def create_below(file: Path) -> None:
    below = file.parent / "eventlog_v2_app"
    below.mkdir()
    time.sleep(0.5)
    (below / "events_1").write_text("line\n")


@pytest.mark.parametrize("change", [append, rename, create, create_below])
def test_a_write_wakes_the_source_that_reads_there(
    tmp_path: Path, watching: Watching, woken: SimpleQueue[str], change: Callable[[Path], None]
) -> None:
    file = tmp_path / "log"
    file.touch()
    watching.watch([("a", str(tmp_path))])
    drained(woken)

    change(file)

    assert woken.get(timeout=SOON_S) == "a"


def test_reading_a_file_wakes_no_source(tmp_path: Path, watching: Watching, woken: SimpleQueue[str]) -> None:
    file = tmp_path / "log"
    file.write_text("line\n")
    watching.watch([("a", str(tmp_path))])
    drained(woken)

    file.read_text()
    list(tmp_path.iterdir())

    time.sleep(0.5)
    assert woken.empty()


def test_a_missing_or_replaced_directory_is_watched_once_it_exists(
    tmp_path: Path, watching: Watching, woken: SimpleQueue[str]
) -> None:
    directory = tmp_path / "late"
    watching.watch([("a", str(directory))])

    for name in ("first", "second"):
        if directory.exists():
            directory.rename(tmp_path / "old")
        directory.mkdir()
        watching.watch([("a", str(directory))])
        drained(woken)
        append(directory / name)
        assert woken.get(timeout=SOON_S) == "a"


def test_two_sources_may_watch_one_directory_independently(
    tmp_path: Path, watching: Watching, woken: SimpleQueue[str]
) -> None:
    both = [("a", str(tmp_path)), ("b", str(tmp_path))]
    watching.watch(both)
    append(tmp_path / "log")
    assert {woken.get(timeout=SOON_S), woken.get(timeout=SOON_S)} <= {"a", "b"}

    watching.watch(both[1:])
    drained(woken)
    append(tmp_path / "log")
    seen = {woken.get(timeout=SOON_S)}
    time.sleep(0.5)
    seen.update(woken.get() for _ in range(woken.qsize()))

    assert seen == {"b"}


def test_a_requested_job_waits_for_its_turn_and_blocks_the_source(schedule: Schedule, runs: Runs) -> None:
    runs.gates["a"] = threading.Event()
    schedule.set_sources({"a": 3_600})
    assert runs.next() == "a begins"
    results: SimpleQueue[object] = SimpleQueue()
    asked = threading.Event()

    def job() -> str:
        runs.events.put("job begins")
        assert asked.wait(SOON_S)
        runs.events.put("job ends")
        return "its result"

    waiting = threading.Thread(target=lambda: results.put(schedule.run_in_turn("a", job)))
    waiting.start()
    assert runs.nothing_for(0.3)
    runs.gates["a"].set()
    assert [runs.next(), runs.next()] == ["a ends", "job begins"]
    assert schedule.running() == ["a"]
    schedule.wake("a")
    assert runs.nothing_for(0.5)
    asked.set()

    assert [runs.next(), runs.next(), runs.next()] == ["job ends", "a begins", "a ends"]
    assert results.get(timeout=SOON_S) == "its result"
    waiting.join()


def test_a_waiting_job_is_not_started_after_a_stop(schedule: Schedule, runs: Runs) -> None:
    runs.gates["a"] = threading.Event()
    schedule.set_sources({"a": 3_600})
    assert runs.next() == "a begins"
    results: SimpleQueue[object] = SimpleQueue()
    waiting = threading.Thread(target=lambda: results.put(schedule.run_in_turn("a", lambda: "done")))
    waiting.start()
    schedule.stop()

    assert results.get(timeout=SOON_S) is None
    waiting.join()


def test_a_requested_job_of_an_unscheduled_source_runs_at_once(schedule: Schedule) -> None:
    assert schedule.run_in_turn("other", lambda: 3) == 3
