"""Validate times in Spark's records. A time is invalid if no version of Spark can have written a record then."""

from __future__ import annotations

from datetime import datetime
from typing import Final

EARLIEST_MS: Final = 1_262_304_000_000
"""The year 2010, before Spark existed. Times in seconds and times since boot are below this value."""
LATEST_MS: Final = 4_102_444_800_000
"""The year 2100. Later times were counted in microseconds or nanoseconds. The limit is fixed, so that a log is always
read in the same way.
"""


def instant(value: object) -> int:
    """Return the time in epoch ms, given as a valid number of epoch ms or an ISO string with a time zone; 0 for
    anything else.
    """
    if isinstance(value, str):
        try:
            at = datetime.fromisoformat(value)
        except ValueError:
            return 0
        value = at.timestamp() * 1000 if at.tzinfo else None
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return 0
    return int(value) if EARLIEST_MS <= value < LATEST_MS else 0


def no_time(what: str, value: object) -> str:
    """Return the message for a missing or invalid time."""
    return f"{what} {str(value)[:40]!r}, which is not a time" if value is not None else f"{what} no time"
