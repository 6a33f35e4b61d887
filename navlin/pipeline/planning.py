"""What a run starts from: the positions that were saved, and the plan that its extractor makes of them.

Here a clock is doubted before anything is stamped by it, and a split that failed is left out until it is due again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from navlin.index.runs import HELD_BACK, MISSING, SavedPositions, Status, last_run, load_positions
from navlin.index.solr import Solr
from navlin.model.extractor import PUSH, Extractor, Registration
from navlin.model.plan import Plan, Positions
from navlin.model.records import Position, Reject
from navlin.model.redaction.literals import masking
from navlin.pipeline.clock_doubt import TOLERANCE_MS, ClockInDoubt, clock_doubt, span_in_words
from navlin.pipeline.fingerprint import fingerprint, settings_hash, why_read_again
from navlin.pipeline.reading import ReadSummary
from navlin.pipeline.wall_clock import WallClock

FIRST_RETRY_MS, LAST_RETRY_MS = 5_000, 600_000
"""A split that fails is held back, longer each time, while the others go on."""
ASIDE_AFTER: Final = 8
"""After so many failures in a row, half an hour after the first one, a split is set aside: it is tried once an hour."""
ASIDE_MS: Final = 3_600_000
SET_ASIDE: Final = (
    "it is set aside and tried once an hour: reading it failed {} times in a row, the last time: {}"
)


@dataclass(frozen=True, slots=True)
class Planner:
    """Plans the runs of one source. ``clock`` gives epoch ms."""

    solr: Solr
    registration: Registration
    extractor: Extractor
    clock: Callable[[], int]
    wall_clock: WallClock | None = None

    def plan(self, *, complete: bool) -> tuple[SavedPositions, Plan]:
        """What was saved, and what to read. Raises `ClockInDoubt`, and what the extractor raises."""
        kind = fingerprint(self.registration, self.extractor)
        before = load_positions(self.solr, self.extractor.source.id, kind)
        values = {
            key: value for key, value in before.values.items() if not key.startswith((HELD_BACK, MISSING))
        }
        failed = {name: value["times"] for name, value in _held_back(before.values)}
        went_back = self._clock_went_back()
        with masking(self.extractor.estate.masks_literals):
            plan = self.extractor.plan(Positions(values, self.clock(), complete or bool(went_back), failed))
        self._believe_clock(plan)
        if went_back:
            return before, _noted(plan, went_back)
        if plan.splits and not values and before.outdated:
            plan = _noted(plan, why_read_again(before.outdated.values(), kind))
        return before, self._without_waiting(plan, before.values) if failed and not complete else plan

    def set_aside(self, failures: Mapping[str, str], before: Mapping[str, Any]) -> Iterator[Reject]:
        """A reject for each split that is set aside from now on. ``failures`` are messages by the names of the splits."""
        for name, message in failures.items():
            if _times_after(name, before) == ASIDE_AFTER:
                yield Reject(name, SET_ASIDE.format(ASIDE_AFTER, message))

    def held_back(self, summary: ReadSummary, plan: Plan, before: Mapping[str, Any]) -> Iterator[Position]:
        """What to remember of splits that failed, and to forget of those that did not."""
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
            yield Position(HELD_BACK + name, value)
        # One that another split yields is in no plan, and may be yielded no more when what it stood for was read otherwise.
        done = {split.name for split in plan.splits}
        waiting = self._waiting(before) - done - summary.failures.keys()
        for name, _ in _held_back(before):
            if name not in waiting and name not in summary.failures:
                yield Position(HELD_BACK + name, None)

    def _waiting(self, before: Mapping[str, Any]) -> set[str]:
        """The names of the splits that are not due yet."""
        now_ms, settings = self.clock(), settings_hash(self.extractor)
        # Other settings, be it only a longer timeout, may mend what failed: then it is tried at once.
        return {
            name
            for name, value in _held_back(before)
            if value["until_ms"] > now_ms and value.get("settings") == settings
        }

    def _without_waiting(self, plan: Plan, before: Mapping[str, Any]) -> Plan:
        waiting = self._waiting(before)
        ready = tuple(split for split in plan.splits if split.name not in waiting)
        if len(ready) == len(plan.splits):
            # What is due and not planned any more, such as a file that was removed, is held back no longer.
            over = {name for name, _ in _held_back(before)} - waiting - {split.name for split in ready}
            forgotten = tuple(Position(HELD_BACK + name, None) for name in over)
            return replace(plan, positions=(*plan.positions, *forgotten))
        # Without those splits the plan covers nothing, and what it knew beforehand is not so yet.
        return replace(plan, splits=ready, covers=(), positions=())

    def _believe_clock(self, plan: Plan) -> None:
        jump_ms = self.wall_clock.jump_ms() if self.wall_clock else 0
        doubt = clock_doubt(self.clock(), plan.source_time, jump_ms)
        if doubt and self.registration.mode is not PUSH:
            raise ClockInDoubt(doubt)
        if self.wall_clock and not doubt and plan.source_time is not None and plan.source_time.exact:
            self.wall_clock.believe()

    def _clock_went_back(self) -> str:
        """Why all is to be read anew, in words: the last reading was made by a clock that was ahead of the one of now."""
        if self.registration.mode is PUSH:
            return ""
        last = last_run(self.solr, self.extractor.source.id, Status.FINISHED, Status.HELD)
        ahead_ms = last.started_ms - self.clock() if last else 0
        if ahead_ms <= TOLERANCE_MS:
            return ""
        return f"the last run was made by a clock that was {span_in_words(ahead_ms)} ahead"


def has_news(plan: Plan, before: Mapping[str, Any]) -> bool:
    """Whether a plan knows positions beforehand that were not saved."""
    return any(before.get(position.key) != position.value for position in plan.positions)


def _held_back(before: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Name and what is remembered of each split that failed."""
    for key, value in before.items():
        if key.startswith(HELD_BACK):
            yield key.removeprefix(HELD_BACK), value


def _times_after(name: str, before: Mapping[str, Any]) -> int:
    """How many times in a row a split has failed that has now failed once more."""
    return int(before.get(HELD_BACK + name, {"times": 0})["times"]) + 1


def _noted(plan: Plan, reason: str) -> Plan:
    return replace(plan, note="; ".join(filter(None, (reason, plan.note))))
