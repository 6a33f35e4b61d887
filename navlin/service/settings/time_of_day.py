"""Occurrences of a time of day by this machine's clock. There is exactly one on each day, even if clocks are
changed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta


def next_s(at: str, after_s: float) -> float:
    """Return the first occurrence of the time of day ``at`` after ``after_s``. Both the result and ``after_s`` are
    epoch seconds."""
    return next(each for each in _around(at, after_s) if each > after_s)


def last_s(at: str, until_s: float) -> float:
    """Return the last occurrence of the time of day ``at`` up to ``until_s``. Both the result and ``until_s`` are epoch
    seconds."""
    return max(each for each in _around(at, until_s) if each <= until_s)


def _around(at: str, moment_s: float) -> Iterator[float]:
    today = datetime.fromtimestamp(moment_s).date()  # noqa: DTZ006  # the zone of this machine
    # There is an additional day on both sides because, if a clock is set back over midnight, yesterday's occurrence may
    # be later than now.
    return (_on(today + timedelta(days), at) for days in range(-2, 3))


def _on(day: date, at: str) -> float:
    # If the time occurs twice, the first occurrence is returned. If the clock skips the time, the moment is returned at
    # which the time would have occurred.
    return datetime.combine(day, time.fromisoformat(at)).timestamp()
