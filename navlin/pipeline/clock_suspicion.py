"""Checks this machine's clock against the source's clock, and against the machine's boot-time clock, which never jumps.

Reads are ordered by their time. After a read made while the clock is ahead, all later reads would look older and be
ignored. So a pulled source is not run while the clock is suspect. The next complete listing corrects earlier wrong
stamps (`navlin.index.schema.stamp`).
"""

from __future__ import annotations

from typing import Final

from navlin.model.plan import SourceTime

TOLERANCE_MS: Final = 600_000
"""Maximum accepted difference between two clocks, in ms. Kerberos allows only five minutes."""
_UNITS: Final = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"))


class SuspectClock(Exception):
    """This machine's clock contradicts another clock; the message names that clock and the difference."""


def clock_suspicion(now_ms: int, source_time: SourceTime | None, jump_ms: int) -> str:
    """Return why a read must not be stamped with ``now_ms``; "" if the clock can be trusted.

    ``jump_ms`` is the jump of this machine's clock since it was last trusted. The jump is ignored if the source gives
    its exact time.
    """
    if source_time is not None:
        ahead_ms = now_ms - source_time.at_ms
        if source_time.exact and ahead_ms > TOLERANCE_MS:
            return f"this machine's clock is {span_in_words(ahead_ms)} ahead of the clock of {source_time.of}; {_REMEDY}"
        if -ahead_ms > TOLERANCE_MS:
            return f"this machine's clock is {span_in_words(-ahead_ms)} behind the clock of {source_time.of}; {_REMEDY}"
        if source_time.exact:
            return ""
    if abs(jump_ms) > TOLERANCE_MS:
        way = "forward" if jump_ms > 0 else "back"
        return (
            f"this machine's clock jumped {way} by {span_in_words(abs(jump_ms))} while navlin ran;"
            " if it is right now, confirm that with `systemctl reload navlin`"
        )
    return ""


def span_in_words(span_ms: int) -> str:
    """Format a duration in the largest unit with a count of at least two, such as ``30 d``."""
    for unit_ms, name in _UNITS:
        if span_ms >= 2 * unit_ms:
            return f"{span_ms // unit_ms} {name}"
    return f"{span_ms // 1000} s"


_REMEDY: Final = "nothing is read until they agree: set both by the same time service"
