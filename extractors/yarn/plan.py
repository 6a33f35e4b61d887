"""Decide what to read from YARN: applications and jobs that are new or have changed since the last read.

Applications are read after their end. An application is open if it had not ended when it was last listed, or if it
waits for its job's history. The positions hold ended and open applications, so a round without changes yields nothing.
Windows use the services' own times, and overlap, because an application is listed a moment after its finish time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

import orjson

from extractors.odd_entries import ODD, OddEntries, OddSplit, hashes_of
from extractors.rest import NotThere, RestError, RestService
from extractors.yarn.applications import (
    ENDED,
    FORGOTTEN,
    UNFINISHED,
    MapReduceJob,
    Seen,
    YarnApplication,
    restored,
    saved,
    to_application,
    to_job,
)
from extractors.yarn.engine_runs import KeptRuns
from extractors.yarn.odd_values import READ, odd_in_application, odd_in_job
from extractors.yarn.splits import BeyondSplit, SeenSplit, UnansweredSplit
from extractors.yarn.windows import in_windows
from navlin.model.plan import Plan, Positions, SourceTime
from navlin.model.records import Position, Split
from navlin.model.shares import shares

APPLICATIONS: Final = "/ws/v1/cluster/apps"
JOBS: Final = "/ws/v1/history/mapreduce/jobs"
FINISHED, JOBS_FINISHED = "finished_ms", "jobs finished_ms"
"""Keys of positions: the newest end seen of an application, and of a job (epoch ms, by the clock of the service that
lists it).
"""
ENDED_BEFORE, OPEN = "settled", "open"
"""Keys of two positions. `ENDED_BEFORE`: id of an ended application → [its end, its job's end, fingerprint of the data
read]. `OPEN`: id of an open application → its data (`saved`).
"""
UNREAD: Final = "unread "
"""Prefix of the key of a position for a job whose configuration could not be fetched. The application's id follows."""
RETRIED_A_RUN: Final = 20
FIRST_RETRY_MS: Final = 600_000
"""Delay before an unread configuration is requested a second time. It doubles with each attempt."""
SLOW_APPLICATIONS: Final = 3
"""Number of requests by id that may fail in one run. After that, the remaining applications wait for the next run."""
MAX_OPEN, MAX_OPEN_OF_USER = 20_000, 10_000
"""Maximum number of open applications remembered, in total and per user."""
MAX_OPEN_BYTES, MAX_OPEN_BYTES_OF_USER = 16 << 20, 8 << 20
MAX_ENDED: Final = 100_000
"""Maximum number of applications remembered as read. Further ones are read again as long as they are listed."""
MAX_UNREAD, MAX_UNREAD_OF_USER = 2_000, 1_000
"""Maximum number of jobs whose configurations are requested again, in total and per user."""
APPLICATIONS_A_SPLIT: Final = 2_000
JOBS_A_SPLIT: Final = 100
"""Number of jobs in one split. It is low because the JobHistoryServer reads a history file for each job."""


@dataclass(frozen=True, slots=True)
class YarnPlanning:
    """Settings of a plan: the overlap of windows, the time for which an ended MapReduce application waits for its
    history, and the maximum number of entries in one response.
    """

    overlap_ms: int
    history_wait_ms: int
    page: int

    def plan(
        self, resource_manager: RestService, history: RestService | None, before: SavedYarnState
    ) -> Plan:
        """Return the plan of a run. If nothing has changed, this costs two requests, and one to the JobHistoryServer."""
        # The history is listed first, so that the ResourceManager already knows every job in it.
        jobs, odd_jobs, unanswered = self._jobs(history, before) if history else ({}, OddEntries(), "")
        applications, odd, silent = self._applications(resource_manager, before)
        ends = [application.finished_ms for application in applications.values()]
        newest_ms = max([before.finished_ms, *ends])
        newest_job_ms = max([before.job_ms, *(job.finished_ms for job in jobs.values())])
        sorting = _Sorting(
            before,
            resource_manager.now_ms or newest_ms,
            self.history_wait_ms if history else 0,
            history_answers=not unanswered,
        )
        for identity in sorted(applications.keys() | jobs.keys()):
            sorting.take(Seen(identity, applications.get(identity), jobs.get(identity)))
        still_open = _shared(sorting.open)
        beyond = sorting.give_up(sorting.open.keys() - still_open.keys(), applications)
        now_ms = resource_manager.now_ms or newest_ms
        kept = KeptRuns.of(before.kept, now_ms)
        odd_entries = (*odd.entries(), *odd_jobs.entries())
        reach_ms = self.overlap_ms + self.history_wait_ms
        positions = (
            Position(FINISHED, max(newest_ms, sorting.hidden_end_ms)),
            Position(JOBS_FINISHED, newest_job_ms),
            Position(ENDED_BEFORE, sorting.ended_since(newest_ms - reach_ms, newest_job_ms - reach_ms)),
            Position(OPEN, still_open),
            Position(ODD, hashes_of(odd_entries, before.odd if unanswered else ())),
            *(Position(key, None) for key in kept.forgotten),
        )
        splits: list[Split] = [*_splits(sorting.new, now_ms, _may_wait(before.unread, sorting.new))]
        if beyond:
            splits.append(BeyondSplit(resource_manager.url, tuple(sorted(beyond.items()))))
        if odd_news := tuple(each for each in odd_entries if each.hash not in before.odd):
            splits.append(OddSplit(odd_news))
        if unanswered:
            splits.append(UnansweredSplit(unanswered))
        elif history:
            new = {seen.id for seen in sorting.new}
            splits += (each.split(now_ms) for each in before.due(now_ms) if each.seen.id not in new)
        splits = [_with_kept(each, kept) if isinstance(each, SeenSplit) else each for each in splits]
        splits += kept.to_merge()
        notes = [
            f"{service.url}: {each.without_id} entries have no id"
            for service, each in ((resource_manager, odd), (history, odd_jobs))
            if service and each.without_id
        ]
        notes += silent
        # Nothing is covered, because an application that the ResourceManager no longer knows did run nevertheless.
        clock_ms = resource_manager.now_ms
        clock = SourceTime(clock_ms, f"the ResourceManager {resource_manager.url}") if clock_ms else None
        return Plan(tuple(splits), positions, covers=(), note="; ".join(notes), source_time=clock)

    # -- The JobHistoryServer ------------------------------------------------------------------------------------------

    def _jobs(
        self, history: RestService, before: SavedYarnState
    ) -> tuple[dict[str, MapReduceJob], OddEntries, str]:
        """Return id of the application → job, for the jobs of the window; the odd entries; and the error if the jobs
        could not be listed, otherwise "".
        """
        waiting = [app.finished_ms for app in before.open.values() if app.ended and app.finished_ms]
        begin_ms = max(0, min([before.job_ms, *waiting]) - self.overlap_ms)
        jobs, odd = {}, OddEntries(history.url, READ)
        try:
            for payload in in_windows(history, JOBS, {}, ("jobs", "job", "finishTime"), begin_ms, self.page):
                if job := to_job(payload):
                    identity = job.id.replace("job_", "application_", 1)
                    jobs[identity] = job
                    odd.take(identity, payload, odd_in_job(payload))
                else:
                    odd.take_without_id(payload)
        except RestError as error:
            return {}, OddEntries(), str(error)
        return jobs, odd, ""

    # -- The ResourceManager -------------------------------------------------------------------------------------------

    def _applications(
        self, service: RestService, before: SavedYarnState
    ) -> tuple[dict[str, YarnApplication], OddEntries, list[str]]:
        """Return id → application, for applications that have not ended, that ended in the window, or that were open
        before; the odd entries; and notes about open applications whose requests failed, and which keep their state.
        """
        fewer = {"deSelects": "resourceRequests"}
        without_end = {**fewer, "states": ",".join(UNFINISHED)}
        listed = service.entries(APPLICATIONS, ("apps", "app"), without_end)
        # The clock may have gone back, if another instance responded.
        newest_ms = min(before.finished_ms, service.now_ms or before.finished_ms)
        begin_ms = max(0, newest_ms - self.overlap_ms)
        with_end = {**fewer, "states": ",".join(ENDED)}
        names = ("apps", "app", "finishedTime")
        ended = in_windows(service, APPLICATIONS, with_end, names, begin_ms, self.page)
        odd = OddEntries(service.url, READ)
        found = _by_id([*listed, *ended], odd)
        silent: list[str] = []
        for identity, application in before.open.items():
            if identity in found:
                continue
            found[identity] = application
            if len(silent) < SLOW_APPLICATIONS:
                try:
                    found[identity] = self._asked(service, application)
                except RestError as error:
                    silent.append(f"{identity} stays as it was: {error}")
        return found, odd, silent

    def _asked(self, service: RestService, application: YarnApplication) -> YarnApplication:
        try:
            listed = service.entries(f"{APPLICATIONS}/{application.id}", ("app",))
        except NotThere:
            listed = []
        found = _by_id(listed, OddEntries())
        forgotten = application if application.ended else replace(application, state=FORGOTTEN)
        return found.get(application.id, forgotten)


@dataclass(frozen=True, slots=True)
class UnreadConfiguration:
    """A job whose configuration could not be fetched. ``tries`` is the number of requests so far, ``asked_ms`` the
    time of the last one (epoch ms).
    """

    seen: Seen
    tries: int
    asked_ms: int

    @property
    def due_ms(self) -> int:
        return self.asked_ms + (FIRST_RETRY_MS << self.tries - 1 if self.tries else 0)

    def split(self, now_ms: int) -> SeenSplit:
        return SeenSplit(
            (self.seen,),
            configured=True,
            now_ms=now_ms,
            unread=True,
            tries=self.tries,
            may_wait=frozenset({self.seen.id}),
        )

    def position(self) -> Position:
        application, job = self.seen.application, self.seen.job
        value = {
            "application": application and saved(application),
            "job": job and asdict(job),
            "tries": self.tries,
            "asked_ms": self.asked_ms,
        }
        return Position(self.key(self.seen), [value])

    @staticmethod
    def key(seen: Seen) -> str:
        return f"{UNREAD}{seen.id}"

    @classmethod
    def of(cls, identity: str, value: Sequence[Any]) -> UnreadConfiguration:
        """Return a job restored from the value of its `position`."""
        (only,) = value
        application, job = only["application"], only["job"]
        seen = Seen(identity, application and restored(application), job and MapReduceJob(**job))
        return cls(seen, only["tries"], only["asked_ms"])


@dataclass(frozen=True, slots=True)
class SavedYarnState:
    """The saved positions."""

    finished_ms: int = 0
    job_ms: int = 0
    ended: Mapping[str, list[Any]] = field(default_factory=dict)
    open: Mapping[str, YarnApplication] = field(default_factory=dict)
    unread: Sequence[UnreadConfiguration] = ()
    odd: Sequence[str] = ()
    """Value of the position `ODD`."""
    kept: Mapping[str, Any] = field(default_factory=dict)
    """Positions of `extractors.yarn.engine_runs`."""

    def due(self, now_ms: int) -> list[UnreadConfiguration]:
        """Return the jobs whose configurations are due to be requested again: those that have waited longest, up to
        `RETRIED_A_RUN`.
        """
        due = sorted((each for each in self.unread if each.due_ms <= now_ms), key=lambda each: each.asked_ms)
        return due[:RETRIED_A_RUN]

    @classmethod
    def of(cls, positions: Positions) -> SavedYarnState:
        values = positions.values
        unread = [
            UnreadConfiguration.of(key.removeprefix(UNREAD), value)
            for key, value in values.items()
            if key.startswith(UNREAD)
        ]
        still_open = {each: restored(value) for each, value in values.get(OPEN, {}).items()}
        if positions.complete:
            return cls(open=still_open, unread=unread, kept=values)
        ends = (values.get(FINISHED, 0), values.get(JOBS_FINISHED, 0))
        return cls(*ends, values.get(ENDED_BEFORE, {}), still_open, unread, values.get(ODD) or (), values)


class _Sorting:
    """Sorts the listed applications into applications already read, applications to read (``new``) and open ones to
    remember (``open``).
    """

    def __init__(self, before: SavedYarnState, now_ms: int, wait_ms: int, *, history_answers: bool) -> None:
        self._before, self._now_ms, self._wait_ms = before, now_ms, wait_ms
        self._history_answers = history_answers
        self._ended = dict(before.ended)
        self.new: list[Seen] = []
        self.open: dict[str, Any] = {}
        self.hidden_end_ms = 0
        """The current time (epoch ms) if the ResourceManager hides the end time of any application from navlin's user;
        else 0.
        """

    def take(self, seen: Seen) -> None:
        application = seen.application
        if application is not None and not application.ended and application.state != FORGOTTEN:
            self._keep_open(application)
        elif application is not None and self._waits(seen, application):
            # A forgotten application keeps its state until its history can be requested.
            self._keep_open(application if application.ended else self._before.open[seen.id])
        elif not self._is_read(seen):
            self._take_ended(seen)

    def give_up(self, identities: Iterable[str], applications: Mapping[str, YarnApplication]) -> Counter[str]:
        """Stop remembering these open applications. Those that only wait for their history are read without it. Return
        user → number of running applications that are no longer remembered.
        """
        beyond: Counter[str] = Counter()
        for application in (applications[each] for each in sorted(identities)):
            if application.ended:
                self._take_ended(Seen(application.id, application))
            else:
                beyond[application.user] += 1
        return beyond

    def ended_since(self, finished_ms: int, job_ms: int) -> dict[str, list[Any]]:
        """Return the ended applications that may be listed again, as id → entry of `ENDED_BEFORE`. If there are too
        many, return the newest.
        """
        recent = {
            each: entry
            for each, entry in self._ended.items()
            if entry[0] >= max(1, finished_ms) or entry[1] >= max(1, job_ms)
        }
        if len(recent) <= MAX_ENDED:
            return recent
        return dict(sorted(recent.items(), key=lambda each: -max(each[1][:2]))[:MAX_ENDED])

    def _keep_open(self, application: YarnApplication) -> None:
        self.open[application.id] = saved(application)
        # A MapReduce job's operation is known only from the configuration, which is available after the job's end.
        if application.ended or (application.mapreduce and self._wait_ms):
            return
        if self._before.open.get(application.id) != application:
            self.new.append(Seen(application.id, application))

    def _waits(self, seen: Seen, application: YarnApplication) -> bool:
        """Whether a job's history may still arrive. A job that was killed early never has one."""
        if not self._wait_ms or not application.mapreduce or seen.job or seen.id in self._ended:
            return False
        if not self._history_answers:
            return True
        # The current time lacks milliseconds and may be another instance's, so it may be earlier than the end.
        return application.ended and abs(self._now_ms - application.finished_ms) < self._wait_ms

    def _is_read(self, seen: Seen) -> bool:
        entry = self._ended.get(seen.id)
        if entry is None:
            return False
        application, job = seen.application, seen.job
        if application is None or (application.mapreduce and self._wait_ms and not (job and not entry[1])):
            # The windows of the two services differ. If only one service lists an entry now, both listed it before.
            return True
        return bool(entry[2] == seen.fingerprint())

    def _take_ended(self, seen: Seen) -> None:
        application, job = seen.application, seen.job
        end_ms = 0
        if application is not None:
            end_ms = application.finished_ms or self._now_ms
            if not application.finished_ms and application.ended:
                self.hidden_end_ms = end_ms
        self._ended[seen.id] = [end_ms, job.finished_ms if job else 0, seen.fingerprint()]
        self.new.append(seen)


def _by_id(listed: Iterable[Mapping[str, Any]], odd: OddEntries) -> dict[str, YarnApplication]:
    """Return id → application, and add what is odd to ``odd``. The later of two entries with the same id takes
    precedence.
    """
    found: dict[str, YarnApplication] = {}
    for payload in listed:
        application = to_application(payload)
        if application is None:
            odd.take_without_id(payload)
        else:
            found[application.id] = application
            odd.take(application.id, payload, odd_in_application(payload))
    return found


def _shared(still_open: Mapping[str, Any]) -> dict[str, Any]:
    """Return the open applications to remember, within each user's share."""
    of_users: dict[str, list[tuple[str, Any, int]]] = {}
    for identity, value in still_open.items():
        size_bytes = len(orjson.dumps(value))
        of_users.setdefault(value.get("user", ""), []).append((identity, value, size_bytes))
    counts = {user: len(each) for user, each in of_users.items()}
    sizes = {user: sum(size_bytes for _, _, size_bytes in each) for user, each in of_users.items()}
    numbers = shares(counts, of_one=MAX_OPEN_OF_USER, in_all=MAX_OPEN)
    all_bytes = shares(sizes, of_one=MAX_OPEN_BYTES_OF_USER, in_all=MAX_OPEN_BYTES)
    kept: dict[str, Any] = {}
    for user, applications in of_users.items():
        left, left_bytes = numbers[user], all_bytes[user]
        for identity, value, size_bytes in applications:
            if left and size_bytes <= left_bytes:
                left, left_bytes = left - 1, left_bytes - size_bytes
                kept[identity] = value
    return kept


def _may_wait(unread: Sequence[UnreadConfiguration], new: Sequence[Seen]) -> frozenset[str]:
    """Return the ids of new jobs whose configurations may be requested again, within each user's share."""
    waiting = Counter(each.seen.job.user for each in unread if each.seen.job)
    jobs = {seen.id: seen.job.user for seen in new if seen.job}
    room = shares(waiting + Counter(jobs.values()), of_one=MAX_UNREAD_OF_USER, in_all=MAX_UNREAD)
    found = []
    for identity, user in jobs.items():
        if waiting[user] < room[user]:
            waiting[user] += 1
            found.append(identity)
    return frozenset(found)


def _with_kept(split: SeenSplit, kept: KeptRuns) -> SeenSplit:
    users = {seen.user for seen in split.seen} if split.configured else set()
    return replace(split, kept=kept.of_users(users)) if users else split


def _splits(new: Sequence[Seen], now_ms: int, may_wait: frozenset[str]) -> Iterator[SeenSplit]:
    with_jobs = [seen for seen in new if seen.job]
    without = [seen for seen in new if not seen.job]
    for at in range(0, len(without), APPLICATIONS_A_SPLIT):
        yield SeenSplit(tuple(without[at : at + APPLICATIONS_A_SPLIT]), now_ms=now_ms)
    for at in range(0, len(with_jobs), JOBS_A_SPLIT):
        some = tuple(with_jobs[at : at + JOBS_A_SPLIT])
        waiting = may_wait.intersection(seen.id for seen in some)
        yield SeenSplit(some, configured=True, now_ms=now_ms, may_wait=waiting)
