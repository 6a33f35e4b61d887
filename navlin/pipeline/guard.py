"""The plausibility guard: if a full listing misses too many entities, a user must confirm their deletion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

HIGH_WATER_MARK_MS: Final = 7 * 86_400_000
"""Time for which the largest size of a source is remembered, in ms."""


@dataclass(frozen=True, slots=True)
class HighWaterMark:
    """The largest recent number of entities of a source (``most``), and the time it was reached (``at_ms``, epoch ms).
    Entities reported as dropped are subtracted."""

    most: int = 0
    at_ms: int = 0

    def after(self, live: int, *, reported: int, now_ms: int) -> HighWaterMark:
        """Return the high-water mark after a run that leaves ``live`` entities, and in which the source reported
        ``reported`` entities as dropped."""
        most = self.most - reported
        if live >= most or not 0 <= now_ms - self.at_ms < HIGH_WATER_MARK_MS:
            return HighWaterMark(live, now_ms)
        return HighWaterMark(most, self.at_ms)


@dataclass(frozen=True, slots=True)
class Guard:
    """Limits of a plausible loss. The loss is compared with the source's present entities, and the loss since the
    recent maximum is compared with that maximum. Both are plausible up to ``floor`` entities, because a single table
    may well have been dropped, and beyond that up to the share ``ratio``. A loss found by an empty listing is never
    plausible."""

    ratio: float = 0.5
    floor: int = 20

    def why_implausible(
        self, *, lost: int, stored: int, read: int, high_water_mark: HighWaterMark | None = None
    ) -> str:
        """Return why the loss of ``lost`` of the ``stored`` entities in the index is not plausible; "" if it is. ``read``
        is the number of records read."""
        if lost == 0:
            return ""
        if read == 0:
            return f"nothing was read, so all {stored} entities in the index would be flagged deleted"
        if lost > self.floor and lost > self.ratio * stored:
            return f"{lost} of {stored} entities would be flagged deleted, more than {self.ratio:.0%}"
        most = high_water_mark.most if high_water_mark else 0
        since = most - stored + lost
        if lost > 0 and since > self.floor and since > self.ratio * most:
            return f"{stored - lost} of the {most} entities of recent days would remain, fewer than {self.ratio:.0%}"
        return ""
