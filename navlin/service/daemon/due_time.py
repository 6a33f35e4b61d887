"""Computes the time of the next run of a source. This module has no clock and does not wait. Every method gets the
present time, in seconds."""

from __future__ import annotations

from dataclasses import dataclass

WAKE_S = 0.1
"""Delay between a wake-up and the run, in seconds, so that one run reads a whole burst of writes."""
REST_S = 1.0
"""Maximum rest after a run of a source that is woken continuously, in seconds."""
HURRIED = 0.8
"""Share of the interval within which new data should be indexed. It is below 1 because a run after a rest may take
longer than the last run."""


@dataclass(slots=True)
class DueTime:
    """The due time of one source: one interval after the last run ended, or shortly after a wake-up.

    Pull and push sources are treated alike, so a push source is polled at its interval, or sooner after a wake-up. A
    wake-up during a run leads to another run, because the present run may already be past the change. A source that is
    woken continuously rests after each run as long as the run took, but at most `REST_S`, and less if runs are long.
    Resting means fewer runs, each with more to read, and so less overhead.
    """

    interval_s: float
    due_s: float | None
    """Time of the next run, in seconds; None during a run."""
    woken: bool = False
    begun_s: float = 0.0
    rested_s: float = 0.0
    """End of the rest. Before this time, a wake-up does not lead to a run."""

    @property
    def running(self) -> bool:
        return self.due_s is None

    def begin(self, now_s: float) -> None:
        self.due_s, self.begun_s = None, now_s
        self.woken = False

    def end(self, now_s: float) -> float:
        """End a run, successful or not, and return the next due time."""
        took_s = now_s - self.begun_s
        # Data written just after a run began waits for the end of that run, for the rest, and for the end of the next
        # run.
        within_s = HURRIED * self.interval_s - 2 * took_s
        self.rested_s = now_s + max(WAKE_S, min(took_s, REST_S, within_s))
        self.due_s = self.rested_s if self.woken else now_s + self.interval_s
        self.woken = False
        return self.due_s

    def wake(self, now_s: float) -> float | None:
        """Ask for an early run. Return the new due time, or None if unchanged."""
        if self.due_s is None:
            self.woken = True
            return None
        soon_s = max(now_s + WAKE_S, self.rested_s)
        if self.due_s <= soon_s:
            return None
        self.due_s = soon_s
        return self.due_s

    def set_interval(self, interval_s: float, now_s: float) -> float | None:
        """Change the interval. Return the new due time, or None if unchanged."""
        self.interval_s = interval_s
        if self.due_s is None or self.due_s <= now_s + interval_s:
            return None
        self.due_s = now_s + interval_s
        return self.due_s
