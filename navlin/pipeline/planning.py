"""Prepares a run: loads the saved positions, and lets the extractor make a plan from them.

The clock is checked before a read is stamped with its time. A failed split is left out until its retry is due.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from navlin.index.journal.known_positions import KnownPositions
from navlin.index.journal.runs import BACKING_OFF, MISSING, SavedPositions, Status, last_run
from navlin.index.solr.solr import Solr
from navlin.model.extractor import PUSH, Extractor, Registration
from navlin.model.plan import Plan, Positions
from navlin.model.records import Position, Reject
from navlin.pipeline.clock_suspicion import TOLERANCE_MS, SuspectClock, clock_suspicion, span_in_words
from navlin.pipeline.fingerprint import fingerprint, settings_hash, why_read_again
from navlin.pipeline.masking_literals import masked, plan_without_literals
from navlin.pipeline.reading import ReadSummary
from navlin.pipeline.wall_clock import WallClock

FIRST_RETRY_MS, LAST_RETRY_MS = 5_000, 600_000
"""Base and maximum of the backoff of a failed split, in ms. The backoff doubles with each failure. Other splits are not
delayed."""
ASIDE_AFTER: Final = 8
"""Number of consecutive failures, within some 20 minutes, after which a split is set aside and retried only once an
hour."""
ASIDE_MS: Final = 3_600_000
SET_ASIDE: Final = (
    "it is set aside and retried once an hour: reading it failed {} times in a row, most recently with: {}"
)


@dataclass(frozen=True, slots=True)
class Planner:
    """Plans the runs of one source. ``clock`` returns epoch ms."""

    solr: Solr
    registration: Registration
    extractor: Extractor
    clock: Callable[[], int]
    wall_clock: WallClock | None = None
    known: KnownPositions = field(default_factory=KnownPositions)

    def plan(self, *, complete: bool) -> tuple[SavedPositions, Plan]:
        """Return the saved positions and the plan. Raises `SuspectClock` and the errors of the extractor."""
        kind = fingerprint(self.registration, self.extractor)
        before = self.known.load(self.solr, self.extractor.source.id, kind)
        values = {
            key: value for key, value in before.values.items() if not key.startswith((BACKING_OFF, MISSING))
        }
        failed = {name: value["times"] for name, value in _backing_off(before.values)}
        went_back = self._clock_went_back()
        with masked(self.extractor):
            plan = self.extractor.plan(Positions(values, self.clock(), complete or bool(went_back), failed))
        if self.extractor.estate.masks_literals:
            plan = plan_without_literals(plan)
        self._believe_clock(plan)
        if went_back:
            return before, _noted(plan, went_back)
        if plan.splits and not values and before.outdated:
            plan = _noted(plan, why_read_again(before.outdated.values(), kind))
        return before, self._without_waiting(plan, before.values) if failed and not complete else plan

    def set_aside(self, failures: Mapping[str, str], before: Mapping[str, Any]) -> Iterator[Reject]:
        """Yield a reject for each split that has just failed too often and is now set aside. ``failures`` maps split
        names to error messages."""
        for name, message in failures.items():
            if _times_after(name, before) == ASIDE_AFTER:
                yield Reject(name, SET_ASIDE.format(ASIDE_AFTER, message))

    def backing_off(self, summary: ReadSummary, plan: Plan, before: Mapping[str, Any]) -> Iterator[Position]:
        """Yield positions that save the backoff of failed splits, and positions that remove the backoff of splits that
        are done."""
        for name in summary.failures:
            failed = _times_after(name, before)
            aside = failed >= ASIDE_AFTER
            wait_ms = ASIDE_MS if aside else min(FIRST_RETRY_MS << failed, LAST_RETRY_MS)
            until_ms, settings = self.clock() + wait_ms, settings_hash(self.extractor)
            value = {
                "times": failed,
                "until_ms": until_ms,
                "error": summary.failures[name],
                "settings": settings,
            }
            yield Position(BACKING_OFF + name, value)
        # Splits yielded by other splits are not in the plan. The backoff of such a split is removed when it is due,
        # because it may never be yielded again if its data was read differently.
        done = {split.name for split in plan.splits}
        waiting = self._waiting(before) - done - summary.failures.keys()
        for name, _ in _backing_off(before):
            if name not in waiting and name not in summary.failures:
                yield Position(BACKING_OFF + name, None)

    def _waiting(self, before: Mapping[str, Any]) -> set[str]:
        """Return the names of the failed splits whose retry is not due yet."""
        now_ms, settings = self.clock(), settings_hash(self.extractor)
        # Changed settings, even just a longer timeout, may fix the failure, so the split is then retried at once.
        return {
            name
            for name, value in _backing_off(before)
            if value["until_ms"] > now_ms and value.get("settings") == settings
        }

    def _without_waiting(self, plan: Plan, before: Mapping[str, Any]) -> Plan:
        waiting = self._waiting(before)
        ready = tuple(split for split in plan.splits if split.name not in waiting)
        if len(ready) == len(plan.splits):
            # Remove the backoff of a split that is due but no longer planned, for example because its file was removed.
            over = {name for name, _ in _backing_off(before)} - waiting - {split.name for split in ready}
            forgotten = tuple(Position(BACKING_OFF + name, None) for name in over)
            return replace(plan, positions=(*plan.positions, *forgotten))
        # Without the waiting splits, the plan covers nothing, and its positions are not valid yet.
        return replace(plan, splits=ready, covers=(), positions=())

    def _believe_clock(self, plan: Plan) -> None:
        jump_ms = self.wall_clock.jump_ms() if self.wall_clock else 0
        suspicion = clock_suspicion(self.clock(), plan.source_time, jump_ms)
        if suspicion and self.registration.mode is not PUSH:
            raise SuspectClock(suspicion)
        if self.wall_clock and not suspicion and plan.source_time is not None and plan.source_time.exact:
            self.wall_clock.believe()

    def _clock_went_back(self) -> str:
        """Return the reason to read everything again if the clock was ahead during the last run; "" if it was not, or
        if the source is pushed."""
        if self.registration.mode is PUSH:
            return ""
        last = last_run(self.solr, self.extractor.source.id, Status.FINISHED, Status.HELD)
        ahead_ms = last.started_ms - self.clock() if last else 0
        if ahead_ms <= TOLERANCE_MS:
            return ""
        return f"the clock was {span_in_words(ahead_ms)} ahead during the last run"


def has_news(plan: Plan, before: Mapping[str, Any]) -> bool:
    """Whether a plan has positions that differ from the saved ones."""
    return any(before.get(position.key) != position.value for position in plan.positions)


def _backing_off(before: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield (name, saved value) of each failed split."""
    for key, value in before.items():
        if key.startswith(BACKING_OFF):
            yield key.removeprefix(BACKING_OFF), value


def _times_after(name: str, before: Mapping[str, Any]) -> int:
    """Return the number of consecutive failures of a split, including the present one."""
    return int(before.get(BACKING_OFF + name, {"times": 0})["times"]) + 1


def _noted(plan: Plan, reason: str) -> Plan:
    return replace(plan, note="; ".join(filter(None, (reason, plan.note))))
