"""The time of a source's next run. No clock and no waiting in here: every method gets the time, in seconds."""

from __future__ import annotations

from dataclasses import dataclass

WAKE_S = 0.1
"""From a wake-up to the run. Anything that follows at once (the rest of a burst of writes) is read by the same run."""
REST_S = 1.0
"""The longest rest of a source that is woken all the time."""
HURRIED = 0.8
"""The share of its interval within which new data should be indexed: a run after a rest may take longer than the last
one."""


@dataclass(slots=True)
class DueTime:
    """The due time of one source: an interval after its last run ended, or shortly after a wake-up.

    The same for pull and push: a push polls at its interval, and wake-ups only make it sooner. A wake-up during a run
    leads to another run, because the run may already be past the change. A source that is woken all the time rests as
    long as its last run took, a second at most, and less if its runs are long: a run then finds more to do, and the cost
    of a run is paid less often.
    """

    interval_s: float
    due_s: float | None
    """None while it runs."""
    woken: bool = False
    begun_s: float = 0.0
    rested_s: float = 0.0
    """Time from which a wake-up leads to a run."""

    @property
    def running(self) -> bool:
        """Whether a run has begun and not ended."""
        return self.due_s is None

    def begin(self, now_s: float) -> None:
        self.due_s, self.begun_s = None, now_s
        self.woken = False

    def end(self, now_s: float) -> float:
        """Ends a run, successful or not; returns the next due time."""
        took_s = now_s - self.begun_s
        # Data written just after a run began waits for its end, for the rest, and for the end of the next run.
        within_s = HURRIED * self.interval_s - 2 * took_s
        self.rested_s = now_s + max(WAKE_S, min(took_s, REST_S, within_s))
        self.due_s = self.rested_s if self.woken else now_s + self.interval_s
        self.woken = False
        return self.due_s

    def wake(self, now_s: float) -> float | None:
        """Asks for an early run. Returns the new due time, or None if unchanged."""
        if self.due_s is None:
            self.woken = True
            return None
        soon_s = max(now_s + WAKE_S, self.rested_s)
        if self.due_s <= soon_s:
            return None
        self.due_s = soon_s
        return self.due_s

    def set_interval(self, interval_s: float, now_s: float) -> float | None:
        """Changes the interval. Returns the new due time, or None if unchanged."""
        self.interval_s = interval_s
        if self.due_s is None or self.due_s <= now_s + interval_s:
            return None
        self.due_s = now_s + interval_s
        return self.due_s
