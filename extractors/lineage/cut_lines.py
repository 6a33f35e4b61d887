"""Lines that a program which ships logs has cut at its limit, recognized by their length."""

from __future__ import annotations

from typing import Final

LIMITS: Final = (
    (7_900, 8_192, "rsyslog, whose maxMessageSize is 8k unless it is set"),
    (16_383, 16_384, "a container's runtime, which splits lines at 16 KiB"),
    (65_500, 65_536, "syslog-ng, whose log-msg-size is 64 KiB unless it is set"),
    (1_048_570, 1_048_576, "the OpenTelemetry Collector, whose max_log_size is 1MiB unless it is set"),
    (10_485_750, 10_485_760, "Filebeat, whose message_max_bytes is 10 MiB unless it is set"),
)
"""(fewest bytes, most bytes, program) of lines as they arrive if a program cuts them. rsyslog's own header counts
towards its limit."""


def cut_by(line: bytes) -> str:
    """Return which program may have cut a line, as the end of a sentence; "" if its length fits none, or it ends as a
    record does."""
    if line.rstrip().endswith(b"}"):
        return ""
    for fewest, most, program in LIMITS:
        if fewest <= len(line) <= most:
            return f"the line has {len(line):,} bytes: it may have been cut by {program}"
    return ""
