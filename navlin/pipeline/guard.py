"""The plausibility guard: a full listing that loses too much needs a person's confirmation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

WATER_MS: Final = 7 * 86_400_000
"""Time for which a source's largest size counts."""


@dataclass(frozen=True, slots=True)
class HighWater:
    """The most entities that a source held recently, and the time of that, epoch ms. Entities reported as dropped are
    subtracted."""

    most: int = 0
    at_ms: int = 0

    def after(self, live: int, *, reported: int, now_ms: int) -> HighWater:
        """The high water after a run that leaves ``live`` entities, and in which the source reported ``reported`` as
        gone."""
        most = self.most - reported
        if live >= most or not 0 <= now_ms - self.at_ms < WATER_MS:
            return HighWater(live, now_ms)
        return HighWater(most, self.at_ms)


@dataclass(frozen=True, slots=True)
class Guard:
    """Up to ``floor`` entities may be gone whatever the ratio (a single table may well have been dropped); beyond it, no
    more than ``ratio`` of the source's entities, present or recent. An empty listing is never believed."""

    ratio: float = 0.5
    floor: int = 20

    def doubt(self, *, lost: int, held: int, read: int, water: HighWater | None = None) -> str:
        """The reason why a loss is not believed; "" if it is."""
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
