"""Times in Spark's records. A time at which no Spark can have written is invalid, whatever its cause."""

from __future__ import annotations

from datetime import datetime
from typing import Final

EARLIEST_MS: Final = 1_262_304_000_000
"""2010: before Spark existed. Times in seconds, and clocks that count since boot, are below it."""
LATEST_MS: Final = 4_102_444_800_000
"""2100: later times were counted in microseconds or nanoseconds. Fixed, so that a log always reads the same."""


def instant(value: object) -> int:
    """Epoch ms of such a number, or of an ISO text with a time zone; 0 if invalid."""
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
    """The message for a missing or invalid time."""
    return f"{what} {str(value)[:40]!r}, which is no time" if value is not None else f"{what} no time"
