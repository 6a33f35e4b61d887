"""Times as Spark's records have them. What no Spark can have written at that time is no time, whatever made it."""

from __future__ import annotations

from datetime import datetime
from typing import Final

EARLIEST_MS: Final = 1_262_304_000_000
"""2010: before there was a Spark. Seconds, and what a clock counts since the machine started, lie before it."""
LATEST_MS: Final = 4_102_444_800_000
"""2100: a time behind it was counted in microseconds or nanoseconds. No clock is asked: a log reads the same each time."""


def instant(value: object) -> int:
    """Epoch milliseconds of a number of them, or of an ISO text with its zone; 0 for what is no time."""
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
    """Says that something has a time that is none."""
    return f"{what} {str(value)[:40]!r}, which is no time" if value is not None else f"{what} no time"
