"""A time of day by this machine's clock: once on each day, on those on which clocks are changed too."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta


def next_s(at: str, after_s: float) -> float:
    """When it is that time next (epoch seconds), later than a moment."""
    return next(each for each in _around(at, after_s) if each > after_s)


def last_s(at: str, until_s: float) -> float:
    """When it was that time last (epoch seconds), up to a moment."""
    return max(each for each in _around(at, until_s) if each <= until_s)


def _around(at: str, moment_s: float) -> Iterator[float]:
    today = datetime.fromtimestamp(moment_s).date()  # noqa: DTZ006  # the zone of this machine
    # A day more on both sides: where a clock is set back over midnight, yesterday's may be later than now.
    return (_on(today + timedelta(days), at) for days in range(-2, 3))


def _on(day: date, at: str) -> float:
    # Of two moments of that time it is the first; where the clock passes over it, the moment at which it would have been.
    return datetime.combine(day, time.fromisoformat(at)).timestamp()
