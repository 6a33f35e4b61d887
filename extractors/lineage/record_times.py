"""Read times in engines' records: determine their unit, and whether they are plausible.

Hive's and Impala's records use seconds; Impala's first builds counted milliseconds. Hive computes ``duration`` = now -
start in milliseconds and ``timestamp`` = start / 1000. If Hive took the start from a clock that does not count epoch
ms, the end (the sum of both) is still right, but the start is useless.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

SECONDS_BELOW: Final = 100_000_000_000
"""Limit below which a time is in seconds (until the year 5138), and above which it is in milliseconds (since 1973)."""
EARLIEST_MS: Final = 946_684_800_000
"""The year 2000, before any of these engines existed."""
AHEAD_MS: Final = 86_400_000
"""Maximum time by which the clock of an engine's host may be ahead."""
MAX_DURATION_MS: Final = 400 * 86_400_000


@dataclass(slots=True)
class RecordTimes:
    """The times of one record. ``latest_ms`` is a time by which the record had been written (epoch ms). ``problems``
    has a reason for each impossible time.
    """

    latest_ms: int
    problems: list[str] = field(default_factory=list)

    def read(self, record: Mapping[str, Any], name: str) -> int | None:
        """Return the named time in epoch ms; None if it is missing or impossible."""
        value = record.get(name)
        if value is None:
            return None
        milliseconds = self._to_ms(number(value))
        if milliseconds is None:
            self.problems.append(f"{name} {value!r:.40} is not a time")
        return milliseconds

    def span(self, record: Mapping[str, Any]) -> tuple[int | None, int | None]:
        """Return the start and end of a Hive statement in epoch ms; None for each that is unknown."""
        begun, took = record.get("timestamp"), record.get("duration")
        if begun is None or took is None:
            return self.read(record, "timestamp"), None
        timestamp, duration = number(begun), number(took)
        started_ms = self._to_ms(timestamp)
        if timestamp is None or duration is None:
            self.problems.append(f"timestamp {begun!r:.40} and duration {took!r:.40} are not times")
            return started_ms, None
        if started_ms is not None and 0 <= duration < MAX_DURATION_MS:
            return started_ms, started_ms + duration
        ended_ms = timestamp * 1000 + duration
        if self._can_be(ended_ms):
            return None, ended_ms
        self.problems.append(f"timestamp {begun!r:.40} and duration {took!r:.40} are not times")
        return started_ms, None

    def _to_ms(self, value: int | None) -> int | None:
        """Convert epoch seconds or milliseconds to milliseconds."""
        if value is None:
            return None
        milliseconds = value * 1000 if value < SECONDS_BELOW else value
        return milliseconds if self._can_be(milliseconds) else None

    def _can_be(self, milliseconds: int) -> bool:
        return EARLIEST_MS <= milliseconds <= self.latest_ms + AHEAD_MS


def number(value: Any) -> int | None:
    """Return an integer from a number or a string; None for anything else."""
    try:
        return int(value) if not isinstance(value, bool) else None
    except (TypeError, ValueError, OverflowError):
        return None
