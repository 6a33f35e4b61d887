"""When a source runs next. No clock and no waiting in here: every method is told the time, in seconds."""

from __future__ import annotations

from dataclasses import dataclass

WAKE_S = 0.1
"""From a wake-up to the run. What else happens meanwhile (a burst of writes, say) is part of it."""


@dataclass(slots=True)
class Beat:
    """One source's beat: a run is due an interval after the last one ended, or shortly after a wake-up.

    Pull and push alike: for a push the interval is the poll that counts, and wake-ups only make it sooner. One that
    comes while the source runs leads to another run, because what it tells of may have been passed already.
    """

    interval_s: float
    due_s: float | None
    """None while it runs."""
    woken: bool = False

    @property
    def running(self) -> bool:
        """Whether a run has begun and not ended."""
        return self.due_s is None

    def begin(self) -> None:
        """A run begins."""
        self.due_s = None
        self.woken = False

    def end(self, now_s: float) -> float:
        """A run ended, well or not; returns when the next is due."""
        self.due_s = now_s + (WAKE_S if self.woken else self.interval_s)
        self.woken = False
        return self.due_s

    def wake(self, now_s: float) -> float | None:
        """Something may have happened; returns when to run now, or None if nothing changes by it."""
        if self.due_s is None:
            self.woken = True
            return None
        if self.due_s <= now_s + WAKE_S:
            return None
        self.due_s = now_s + WAKE_S
        return self.due_s

    def pace(self, interval_s: float, now_s: float) -> float | None:
        """Another interval from now on; returns when to run now, or None if nothing changes by it."""
        self.interval_s = interval_s
        if self.due_s is None or self.due_s <= now_s + interval_s:
            return None
        self.due_s = now_s + interval_s
        return self.due_s
