"""The daemon's schedule, in APScheduler: one job for each source, and one for the daily purge. Watched directories wake
sources early."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TypeVar

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.job import Job
from apscheduler.jobstores.base import JobLookupError
from apscheduler.schedulers.background import BackgroundScheduler

from navlin.pipeline.wall_clock import WallClock
from navlin.service.daemon.due_time import DueTime
from navlin.service.settings.time_of_day import next_s

AT_ONCE = 200
"""Maximum number of sources that run at the same time. Threads are created when needed; a source has at most one. The
purge takes one of them, too; `Schedule.run_in_turn` takes none."""
PURGE = "#purge"

Run = Callable[[str], None]
T = TypeVar("T")


class Schedule:
    """Runs sources when they are due, independently of each other, and each at most once at a time. Thread-safe.

    ``run(name)`` must not raise. The source is due again one interval after ``run`` returns, or shortly after if it was
    woken meanwhile.
    """

    def __init__(self, run: Run, *, clock: WallClock | None = None) -> None:
        self._run = run
        self._clock = clock or WallClock()
        # Intervals are measured with the monotonic clock.
        self._now_s = self._clock.steady_s
        self._due_times: dict[str, DueTime] = {}
        self._leaving: set[str] = set()
        self._lock = threading.RLock()
        self._ended = threading.Condition(self._lock)
        """Notified after each run, and when the schedule stops."""
        self._ending = False
        self._purge: tuple[Callable[[], None], str] | None = None
        """(purge function, time of day)."""
        self._scheduler = BackgroundScheduler(
            executors={"default": ThreadPoolExecutor(AT_ONCE)},
            # A late run is still started, but only once. Two instances are allowed because a run sets its own next
            # date. If that date arrives before APScheduler has noticed the end of the run, with one instance the job
            # would be dropped forever. The due time ensures that a source runs at most once at a time.
            job_defaults={"coalesce": True, "max_instances": 2, "misfire_grace_time": None},
            timezone=UTC,
        )

    def start(self) -> None:
        self._scheduler.start()

    @property
    def alive(self) -> bool:
        thread = self._scheduler._thread
        return thread is not None and thread.is_alive()

    def set_sources(self, intervals_s: Mapping[str, float]) -> None:
        """Set the sources. ``intervals_s`` maps names to seconds. A new source is due at once; a removed source that is
        running finishes. A changed interval brings a run forward but does not put it off."""
        with self._lock:
            for name in [name for name in self._due_times if name not in intervals_s]:
                # A running source is remembered until it has finished, so that it cannot run twice in parallel if it is
                # added again.
                if self._due_times[name].running:
                    self._leaving.add(name)
                else:
                    del self._due_times[name]
                    self._remove(name)
            self._leaving -= intervals_s.keys()
            for name, interval_s in intervals_s.items():
                if due_time := self._due_times.get(name):
                    self._due(name, due_time.set_interval(interval_s, self._now_s()))
                else:
                    self._due_times[name] = DueTime(interval_s, self._now_s())
                    self._due(name, self._now_s())

    def set_purge(self, purge: Callable[[], None], at: str | None, *, missed: bool = False) -> None:
        """Schedule the daily purge at a time of day by this machine's clock, such as "03:30" (ValueError for any other
        text); never if ``at`` is None. ``missed``: the last purge was missed, so also purge now.

        Purges are not kept apart from runs nor, if set again, from each other: ``purge`` must allow for that."""
        with self._lock:
            self._remove(PURGE)
            self._purge = None if at is None else (purge, at)
            self._due_to_purge(self._clock.now_s() if missed else None)

    def _due_to_purge(self, due_s: float | None = None) -> None:
        if self._purge is not None and not self._ending:
            due_s = next_s(self._purge[1], self._clock.now_s()) if due_s is None else due_s
            self._add(PURGE, self._purge_once, due_s)

    def _purge_once(self) -> None:
        with self._lock:
            purging = self._purge
        try:
            if purging is not None:
                purging[0]()
        finally:
            with self._lock:
                # A purge that was set meanwhile already has its own job.
                if self._purge is purging:
                    self._due_to_purge()

    def wake(self, name: str) -> None:
        """Run a source soon, because its data may have changed; if it is running, once more afterwards. Do nothing for an
        unknown source."""
        with self._lock:
            if due_time := self._due_times.get(name):
                self._due(name, due_time.wake(self._now_s()))

    def due_s(self) -> dict[str, float | None]:
        """Return name → due time of each source, in epoch seconds; None for a running source."""
        with self._lock:
            return {
                name: None if due_time.due_s is None else self._clock.at_s(due_time.due_s)
                for name, due_time in self._due_times.items()
            }

    def clock_jumped(self) -> None:
        """Adjust the due times of the sources to a jump of the clock, so that the time left stays the same. The purge
        moves to its next time of day."""
        with self._lock:
            for name, due_time in self._due_times.items():
                self._due(name, due_time.due_s)
            if any(job.id == PURGE for job in self.jobs()):
                self._due_to_purge()

    def jobs(self) -> list[Job]:
        """Return the jobs in the scheduler: the next run of each source that is not running, and the purge."""
        return list(self._scheduler.get_jobs())

    def running(self) -> list[str]:
        """Return the names of the running sources."""
        return [name for name, due_s in self.due_s().items() if due_s is None]

    def run_in_turn(self, name: str, run: Callable[[], T]) -> T | None:
        """Run a job of a source in this thread, as soon as no other job of that source runs, and return its result.

        Return None if the schedule ends first. A source that is not in the schedule is run at once, without waiting for
        another run. Raise the errors of ``run``. The source is due again one interval later, or sooner if woken.
        """
        with self._ended:
            while not self._ending and (due_time := self._due_times.get(name)) and due_time.running:
                self._ended.wait()
            if self._ending:
                return None
            if name not in self._due_times:
                return run()
            self._due_times[name].begin(self._now_s())
            self._remove(name)
        try:
            return run()
        finally:
            self._end_run(name)

    def stop(self) -> None:
        """Start no more runs. Runs in progress continue."""
        with self._ended:
            self._ending = True
            self._ended.notify_all()
        if self._scheduler.running:
            # Remove the jobs first, because a scheduler that is submitting due jobs could no longer remove them, and
            # would die with an error.
            self._scheduler.remove_all_jobs()
            self._scheduler.shutdown(wait=False)

    def _due(self, name: str, due_s: float | None) -> None:
        if due_s is None or self._ending:
            return
        self._add(name, self._once, self._clock.at_s(due_s), name)

    def _add(self, name: str, run: Callable[..., None], at_s: float, *arguments: str) -> None:
        # The job has a single date, and replaces the previous job with the same name. During a run there is no job, so
        # a source cannot run twice.
        date = datetime.fromtimestamp(at_s, UTC)
        self._scheduler.add_job(run, "date", run_date=date, args=arguments, id=name, replace_existing=True)

    def _once(self, name: str) -> None:
        with self._lock:
            due_time = self._due_times.get(name)
            if due_time is None or due_time.running or self._ending:
                return
            due_time.begin(self._now_s())
        try:
            self._run(name)
        finally:
            self._end_run(name)

    def _end_run(self, name: str) -> None:
        with self._ended:
            due_s = self._due_times[name].end(self._now_s())
            if name in self._leaving:
                self._leaving.discard(name)
                del self._due_times[name]
            else:
                self._due(name, due_s)
            self._ended.notify_all()

    def _remove(self, name: str) -> None:
        try:
            self._scheduler.remove_job(name)
        except JobLookupError:
            return
