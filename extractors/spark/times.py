"""Times in Spark's records. A time at which no Spark can have written a record is invalid."""

from __future__ import annotations

from datetime import datetime
from typing import Final

EARLIEST_MS: Final = 1_262_304_000_000
"""2010, before Spark existed. Times in seconds, and clocks that count since boot, are below this value."""
LATEST_MS: Final = 4_102_444_800_000
"""2100. Later times were counted in microseconds or nanoseconds. The value is fixed, so that a log is always read the same
way."""


def instant(value: object) -> int:
    """Return the epoch ms of a valid number of epoch ms, or of an ISO text with a time zone; 0 for anything else."""
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
