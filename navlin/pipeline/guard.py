"""The plausibility guard: a full listing that loses too much is not believed without a person's word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

WATER_MS: Final = 7 * 86_400_000
"""For how long a source's largest size counts."""


@dataclass(frozen=True, slots=True)
class HighWater:
    """The most entities that a source held lately, and when that was, epoch ms. What it reported as dropped is off it."""

    most: int = 0
    at_ms: int = 0

    def after(self, live: int, *, reported: int, now_ms: int) -> HighWater:
        """After a run that leaves ``live`` entities, of which the source reported ``reported`` as gone."""
        most = self.most - reported
        if live >= most or not 0 <= now_ms - self.at_ms < WATER_MS:
            return HighWater(live, now_ms)
        return HighWater(most, self.at_ms)


@dataclass(frozen=True, slots=True)
class Guard:
    """Up to ``floor`` entities may be gone whatever the ratio (one of one table may well have been dropped); beyond it, no
    more than ``ratio`` of what the source held, by now or lately. A listing that came back with nothing at all is never
    believed."""

    ratio: float = 0.5
    floor: int = 20

    def doubt(self, *, lost: int, held: int, read: int, water: HighWater | None = None) -> str:
        """Why a loss is not believed, in words; empty if it is."""
        if lost == 0:
            return ""
        if read == 0:
            return f"nothing was read, and all of the {held} entities held would be flagged deleted"
        if lost > self.floor and lost > self.ratio * held:
            return f"{lost} of {held} entities would be flagged deleted, more than {self.ratio:.0%}"
        most = water.most if water else 0
        since = most - held + lost
        if lost > 0 and since > self.floor and since > self.ratio * most:
            return f"{held - lost} of the {most} entities of some days ago would be left, fewer than {self.ratio:.0%}"
        return ""
