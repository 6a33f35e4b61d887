"""Solr's date math, such as ``NOW/DAY-1YEAR``: check texts, and approximate times."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

DAY_MS: Final = 86_400_000
_UNITS_MS: Final = {
    "YEAR": 365 * DAY_MS,
    "MONTH": 30 * DAY_MS,
    "DAY": DAY_MS,
    "DATE": DAY_MS,
    "HOUR": 3_600_000,
    "MINUTE": 60_000,
    "SECOND": 1_000,
    "MILLI": 1,
    "MILLISECOND": 1,
}
_UNIT: Final = "YEARS?|MONTHS?|DAYS?|DATE|HOURS?|MINUTES?|SECONDS?|MILLIS?|MILLISECONDS?"
_STEPS: Final = rf"(?:[+-]\d{{1,6}}(?:{_UNIT})|/(?:{_UNIT}))"
_MOMENT: Final = re.compile(rf"(NOW|\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{{1,3}})?Z)({_STEPS}{{0,10}})")
_GAP: Final = re.compile(rf"(?:\+\d{{1,6}}(?:{_UNIT})){{1,4}}")
_STEP: Final = re.compile(rf"([+-])(\d{{1,6}})({_UNIT})")


def moment_ms(text: str, now_ms: int) -> int | None:
    """Return the approximate time (epoch ms) of a date; None if the text is not a date. Years have 365 days, months 30,
    and nothing is rounded."""
    if (found := _MOMENT.fullmatch(text)) is None:
        return None
    if found[1] == "NOW":
        begin_ms = now_ms
    else:
        try:
            begin_ms = round(datetime.fromisoformat(found[1]).astimezone(UTC).timestamp() * 1000)
        except (ValueError, OverflowError):
            return None
    return begin_ms + _sum_ms(found[2])


def gap_ms(text: str) -> int | None:
    """Return the approximate length (ms) of a gap such as ``+1MONTH``; None if the text is not a gap, or the length is
    zero."""
    return (_sum_ms(text) or None) if _GAP.fullmatch(text) else None


def _sum_ms(steps: str) -> int:
    total = 0
    for sign, number, unit in _STEP.findall(steps):
        length = int(number) * _UNITS_MS[unit.removesuffix("S")]
        total += length if sign == "+" else -length
    return total
