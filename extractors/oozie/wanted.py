"""The splits of a plan, and the state that is remembered of coordinators, of bundles, and of jobs that could not be
read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from extractors.oozie.answers import JobKind
from navlin.model.records import Position, Split, first_of

REMEMBERED, UNREAD = "job ", "unread "
"""Prefixes of the keys of two kinds of positions: for a coordinator or bundle that was read, and for a job that could
not be read. The job's id follows.
"""
FIRST_RETRY_MS: Final = 600_000
"""Delay before an unread job is requested a second time. It doubles with each attempt."""


@dataclass(frozen=True, slots=True)
class JobToRead:
    """A job to read. ``tries`` is the number of failed attempts, ``may_wait`` whether it may be tried again later.

    For a coordinator, all actions up to number ``done`` have ended and were read, except ``numbers``, which ran again.
    ``fingerprint`` is that of the list. ``is_remembered`` is False if there is no room to remember the job.
    """

    id: str
    fingerprint: str = ""
    done: int = 0
    numbers: tuple[int, ...] = ()
    is_remembered: bool = True
    tries: int = 0
    may_wait: bool = True


@dataclass(frozen=True, slots=True)
class JobsSplit(Split):
    """Some jobs of one kind, as of ``now_ms`` by Oozie's clock. ``page`` is the number of actions in one answer."""

    kind: JobKind
    wanted: tuple[JobToRead, ...]
    now_ms: int
    page: int

    @property
    def name(self) -> str:
        return first_of([each.id for each in self.wanted])


@dataclass(frozen=True, slots=True)
class LeftOutSplit(Split):
    """Notes about jobs that a plan had to leave out: ``counts`` are pairs of (sentence, number). ``place`` is Oozie's
    URL.
    """

    place: str
    counts: tuple[tuple[str, int], ...]

    @property
    def name(self) -> str:
        return "jobs beyond the bounds"


@dataclass(frozen=True, slots=True)
class Remembered:
    """A coordinator or bundle that was read: its fingerprint in the list, the number up to which all of its actions
    have ended, and whether later actions have not ended.
    """

    fingerprint: str
    done: int = 0
    open: bool = False

    def position(self, identity: str) -> Position:
        return Position(self.key(identity), [self.fingerprint, self.done, int(self.open)])

    @staticmethod
    def key(identity: str) -> str:
        return f"{REMEMBERED}{identity}"

    @classmethod
    def of(cls, value: Sequence[Any]) -> Remembered:
        """Restore it from the value of its `position`."""
        fingerprint, done, is_open = value
        return cls(fingerprint, done, bool(is_open))


@dataclass(frozen=True, slots=True)
class UnreadJob:
    """A job that could not be read: the number of attempts so far, and the time of the last one (epoch ms)."""

    id: str
    tries: int
    asked_ms: int

    @property
    def due_ms(self) -> int:
        return self.asked_ms + (FIRST_RETRY_MS << self.tries - 1)

    def position(self) -> Position:
        return Position(self.key(self.id), [self.tries, self.asked_ms])

    @staticmethod
    def key(identity: str) -> str:
        return f"{UNREAD}{identity}"

    @classmethod
    def of(cls, identity: str, value: Sequence[Any]) -> UnreadJob:
        """Restore it from the value of its `position`."""
        tries, asked_ms = value
        return cls(identity, tries, asked_ms)
