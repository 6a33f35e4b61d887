"""Decide which jobs to read: those that are new or have changed since the last read, and those that have not ended.

The first plan lists all jobs. Later plans list workflows by their last change, back to shortly before the newest known
change. The time of a change has a precision of one second and comes from the clock of the server that made the change.
Workflows that have not ended are read in each round, because the time of their last change does not change with their
actions. Older servers cannot sort by change. There, workflows are listed by creation, so a workflow that was run again
is noticed only while it runs.

The lists of coordinators and bundles do not contain the last change, so each job is compared with its remembered
fingerprint. A coordinator's actions may change while the coordinator itself does not. Such changes are noticed by the
workflows that the actions started.

Nothing counts as deleted, because Oozie purges its jobs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from extractors.odd_entries import ODD, OddSplit, hashes_of
from extractors.oozie.answers import JobKind, Listed, coordinator_of
from extractors.oozie.server import BY_CHANGE, RUNNING, OozieServer
from extractors.oozie.wanted import (
    REMEMBERED,
    UNREAD,
    JobsSplit,
    JobToRead,
    LeftOutSplit,
    Remembered,
    UnreadJob,
)
from extractors.rest import BadRequest
from navlin.model.batches import in_batches
from navlin.model.plan import Plan, Positions, SourceTime
from navlin.model.records import Position, Split
from navlin.model.shares import shares

CHANGED, CREATED = "workflows changed_ms", "workflows created_ms"
"""Keys of positions: the newest known change and the newest known creation of a workflow (epoch ms, by Oozie's clocks).
"""
RECENT, OPEN = "recent", "open"
"""Keys of two positions. `RECENT`: id of a workflow that was read and may be listed again → its fingerprint. `OPEN`: id
of a workflow that has not ended → its user.
"""
MAX_RECENT: Final = 100_000
"""Maximum number of workflows remembered as read. Others are read again as long as they are listed."""
MAX_OPEN, MAX_OPEN_OF_USER = 20_000, 10_000
"""Maximum number of open workflows remembered, in total and per user."""
MAX_REMEMBERED: Final = 20_000
"""Maximum number of coordinators and bundles remembered as read. Others are read again as long as they are listed."""
MAX_UNREAD: Final = 2_000
"""Maximum number of jobs that are requested again after they could not be read."""
RETRIED_A_RUN: Final = 20
A_SPLIT: Final = {JobKind.WORKFLOW: 100, JobKind.COORDINATOR: 10, JobKind.BUNDLE: 100}
"""Kind → number of jobs in one split."""

NOT_REMEMBERED: Final = (
    "{} running workflows of {} are not remembered, because there are too many: this server cannot list workflows by"
    " their last change, so the end of one that is not listed again stays unknown"
)
CUT: Final = "a list has more jobs than navlin reads at once"


@dataclass(frozen=True, slots=True)
class SavedOozieState:
    """The saved positions."""

    changed_ms: int = 0
    created_ms: int = 0
    recent: Mapping[str, str] = field(default_factory=dict)
    open: Mapping[str, str] = field(default_factory=dict)
    remembered: Mapping[str, Remembered] = field(default_factory=dict)
    unread: Mapping[str, UnreadJob] = field(default_factory=dict)
    odd: Sequence[str] = ()
    """Value of the position `ODD`."""

    @classmethod
    def of(cls, positions: Positions) -> SavedOozieState:
        values = positions.values
        remembered = {
            key.removeprefix(REMEMBERED): Remembered.of(value)
            for key, value in values.items()
            if key.startswith(REMEMBERED)
        }
        unread = {
            identity: UnreadJob.of(identity, value)
            for key, value in values.items()
            if key.startswith(UNREAD) and (identity := key.removeprefix(UNREAD))
        }
        still_open = values.get(OPEN, {})
        if positions.complete:
            everything = {each: Remembered("") for each in remembered}
            return cls(open=still_open, remembered=everything, unread=unread)
        times = (values.get(CHANGED, 0), values.get(CREATED, 0))
        return cls(*times, values.get(RECENT, {}), still_open, remembered, unread, values.get(ODD) or ())


@dataclass(frozen=True, slots=True)
class Planning:
    """Settings of a plan: how far lists reach back before the newest known change or creation, and the number of
    entries in one answer.
    """

    overlap_ms: int
    page: int

    def plan(self, oozie: OozieServer, before: SavedOozieState) -> Plan:
        """Return the plan of a run. If nothing has changed and nothing runs, this costs four requests."""
        workflows = _Workflows(oozie, before, self)
        workflows.list_all()
        schedules = [
            (kind, list(self._schedules(oozie, kind, before, workflows)))
            for kind in (JobKind.COORDINATOR, JobKind.BUNDLE)
        ]
        now_ms = oozie.now_ms or workflows.changed_ms
        retries = _Retries(before.unread, now_ms)
        splits: list[Split] = [
            JobsSplit(kind, some, now_ms, self.page)
            for kind, jobs in ((JobKind.WORKFLOW, workflows.wanted()), *schedules)
            for some in in_batches(retries.among(kind, jobs), A_SPLIT[kind])
        ]
        kept, beyond = workflows.kept_open()
        counts = [(NOT_REMEMBERED.format(n, user or "nobody"), n) for user, n in sorted(beyond.items())]
        counts += [(CUT, oozie.cut)] if oozie.cut else []
        if counts:
            splits.append(LeftOutSplit(oozie.url, tuple(counts)))
        odd = oozie.odd.entries()
        if odd_news := tuple(each for each in odd if each.hash not in before.odd):
            splits.append(OddSplit(odd_news))
        positions = (
            Position(CHANGED, workflows.changed_ms),
            Position(CREATED, workflows.created_ms),
            Position(RECENT, workflows.recent()),
            Position(OPEN, kept),
            # Later rounds do not list every entry.
            Position(ODD, hashes_of(odd, before.odd)),
        )
        note = f"{oozie.url}: {oozie.odd.without_id} entries have no id" if oozie.odd.without_id else ""
        clock = SourceTime(oozie.now_ms, f"Oozie {oozie.url}") if oozie.now_ms else None
        return Plan(tuple(splits), positions, covers=(), note=note, source_time=clock)

    def _schedules(
        self, oozie: OozieServer, kind: JobKind, before: SavedOozieState, workflows: _Workflows
    ) -> Iterator[JobToRead]:
        """Yield the coordinators, or bundles, that are new, have changed, or have actions that may have changed."""
        known = {each: value for each, value in before.remembered.items() if kind_of(each) is kind}
        touched = workflows.actions if kind is JobKind.COORDINATOR else {}
        room = MAX_REMEMBERED - len(before.remembered)
        sought = touched.keys() | {each for each, value in known.items() if value.open}
        # Purged jobs are forgotten only if the whole list is read. That must happen before there is no more room.
        whole = not (known and before.changed_ms and workflows.sorts and room > MAX_REMEMBERED // 2)
        chosen = "" if whole else BY_CHANGE
        fingerprints: dict[str, str] = {}
        for page in oozie.pages(kind, chosen, self.page):
            fingerprints.update((each.id, each.fingerprint) for each in page)
            news = {each.id for each in page if _is_new(each, known)}
            sought |= news
            if chosen and not news:
                break
        if whole:
            sought |= known.keys() - fingerprints.keys()
        for identity in sorted(sought):
            old = known.get(identity, Remembered(""))
            room -= identity not in known
            yield JobToRead(
                identity,
                fingerprints.get(identity, old.fingerprint),
                old.done,
                tuple(sorted(each for each in touched.get(identity, ()) if each <= old.done)),
                is_remembered=identity in known or room >= 0,
            )


class _Workflows:
    """Lists workflows, and separates those to read from those already read."""

    def __init__(self, oozie: OozieServer, before: SavedOozieState, planning: Planning) -> None:
        self._oozie, self._before, self._planning = oozie, before, planning
        self._listed: dict[str, Listed] = {}
        self.sorts = True
        """Whether the server can list jobs by their last change."""
        self.changed_ms, self.created_ms = before.changed_ms, before.created_ms
        self.actions: dict[str, set[int]] = defaultdict(set)
        """Coordinator → numbers of its actions that started a workflow to read."""

    def list_all(self) -> None:
        """List the workflows of this round. Raises a `RestError`."""
        if not self._before.changed_ms:
            self._list("")
        else:
            try:
                self.sorts = self._list(BY_CHANGE, _changed_ms, self._before.changed_ms)
            except BadRequest:
                self.sorts = False
            if not self.sorts:
                self._list("", _created_ms, self._before.created_ms)
            self._list(RUNNING)
        for each in self._to_read():
            if coordinator := coordinator_of(each.parent):
                self.actions[coordinator[0]].add(coordinator[1])
        self.changed_ms = self._newest(self.changed_ms, _changed_ms)
        self.created_ms = self._newest(self.created_ms, _created_ms)

    def wanted(self) -> list[JobToRead]:
        """Return the workflows to read. Those of one application follow one another, because they share a definition."""
        listed = sorted(self._to_read(), key=lambda each: (each.name, each.created_ms, each.id))
        unlisted = sorted(self._before.open.keys() - self._listed.keys())
        return [JobToRead(each) for each in (*(each.id for each in listed), *unlisted)]

    def recent(self) -> dict[str, str]:
        """Return the ended workflows that will be listed again, as id → fingerprint. If there are too many, return the
        newest.
        """
        time, newest_ms = (_changed_ms, self.changed_ms) if self.sorts else (_created_ms, self.created_ms)
        since_ms = newest_ms - self._planning.overlap_ms
        ended = [each for each in self._listed.values() if each.ended and time(each) >= since_ms]
        newest = sorted(ended, key=lambda each: (-time(each), each.id))[:MAX_RECENT]
        return {each.id: each.fingerprint for each in newest}

    def kept_open(self) -> tuple[dict[str, str], Counter[str]]:
        """Return the open workflows to remember, as id → user, within each user's share; and user → number of those
        whose end may stay unknown because they are not remembered.
        """
        of_users: dict[str, list[str]] = defaultdict(list)
        for each in self._listed.values():
            if not each.ended:
                of_users[each.user].append(each.id)
        counts = {user: len(each) for user, each in of_users.items()}
        room = shares(counts, of_one=MAX_OPEN_OF_USER, in_all=MAX_OPEN)
        kept = {each: user for user, ids in of_users.items() for each in sorted(ids)[: room[user]]}
        beyond = Counter({user: count - room[user] for user, count in counts.items() if count > room[user]})
        return dict(sorted(kept.items())), Counter() if self.sorts else beyond

    def _list(self, chosen: str, time: Callable[[Listed], int] | None = None, newest_ms: int = 0) -> bool:
        """List workflows, back to shortly before ``newest_ms`` if they are sorted by a ``time``. Return False if they
        are not sorted by change as requested.
        """
        since_ms = newest_ms - self._planning.overlap_ms
        for page in self._oozie.pages(JobKind.WORKFLOW, chosen, self._planning.page):
            times = [at_ms for each in page if time is not None and (at_ms := time(each))]
            if chosen == BY_CHANGE and times != sorted(times, reverse=True):
                return False
            self._listed.update((each.id, each) for each in page)
            if times and times[-1] < since_ms:
                break
        return True

    def _to_read(self) -> Iterator[Listed]:
        before = self._before
        time, newest_ms = (_changed_ms, before.changed_ms) if self.sorts else (_created_ms, before.created_ms)
        since_ms = newest_ms - self._planning.overlap_ms
        for each in self._listed.values():
            is_read = before.recent.get(each.id) == each.fingerprint or 0 < time(each) < since_ms
            if not each.ended or each.id in before.open or not is_read:
                yield each

    def _newest(self, before_ms: int, time: Callable[[Listed], int]) -> int:
        """Return the newest known time, but at most the server's current time, because a time in the future would hide
        everything that happens before it.
        """
        newest_ms = max([before_ms, *map(time, self._listed.values())])
        return min(newest_ms, self._oozie.now_ms) if self._oozie.now_ms else newest_ms


class _Retries:
    """Adds the jobs that could not be read and are due again, and leaves out those that are not due."""

    def __init__(self, unread: Mapping[str, UnreadJob], now_ms: int) -> None:
        self._unread = unread
        due = sorted(
            (each for each in unread.values() if each.due_ms <= now_ms), key=lambda each: each.asked_ms
        )
        self._due = {each.id: each for each in due[:RETRIED_A_RUN]}
        self._room = MAX_UNREAD - len(unread)

    def among(self, kind: JobKind, jobs: Sequence[JobToRead]) -> Iterator[JobToRead]:
        """Yield the jobs of a kind to read now."""
        for each in jobs:
            if each.id in self._due:
                yield replace(each, tries=self._due[each.id].tries)
            elif each.id not in self._unread:
                self._room -= 1
                yield replace(each, may_wait=self._room >= 0)
        listed = {each.id for each in jobs}
        for identity, unread in self._due.items():
            if identity not in listed and kind_of(identity) is kind:
                yield JobToRead(identity, tries=unread.tries)


def kind_of(identity: str) -> JobKind:
    """Return the kind of a job, by the last letter of its id."""
    return next(kind for kind in JobKind if identity.endswith(kind.letter))


def _is_new(listed: Listed, known: Mapping[str, Remembered]) -> bool:
    return listed.id not in known or known[listed.id].fingerprint != listed.fingerprint


def _changed_ms(listed: Listed) -> int:
    return listed.modified_ms


def _created_ms(listed: Listed) -> int:
    return listed.created_ms
