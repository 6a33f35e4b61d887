"""Find missing parts of a rolling log by their numbers.

Spark numbers the parts of a rolling log from 1. Spark's history server replaces all parts up to a number with a
``.compact`` part. It keeps the events of executions that were still open, and drops all other events.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from extractors.spark.forms import LogPart
from extractors.spark.lines import Mark

_NUMBER: Final = re.compile(r"events_(\d+)_.*?(\.compact)?$")

Range = tuple[int, int]


def number_of(part: str) -> int:
    """Return the number in the name of a rolling log's part; 0 for parts of other logs."""
    found = _NUMBER.match(part)
    return int(found[1]) if found else 0


def is_compact(part: str) -> bool:
    """Whether a part replaces all parts up to its number."""
    found = _NUMBER.match(part)
    return bool(found and found[2])


@dataclass(frozen=True, slots=True)
class ResumePoint:
    """The position from which to resume a rolling log if the part at the mark no longer exists.

    ``anew`` is true if that is the start of a compacted part. A compacted part begins with the application's own
    events, so the earlier state is replaced.
    """

    mark: Mark
    anew: bool


def entry_behind(mark: Mark, parts: tuple[LogPart, ...]) -> ResumePoint | None:
    """Return the position from which to resume. Return None if the part at the mark exists, or if the log must be read
    from its beginning.
    """
    number = number_of(mark.part)
    if not number or any(part.name == mark.part for part in parts):
        return None
    behind = next(
        (part for part in parts if number_of(part.name) > number or _stands_for(part, number)), None
    )
    if behind is None:
        return None
    return ResumePoint(Mark(behind.name, 0, 0), is_compact(behind.name))


def _stands_for(part: LogPart, number: int) -> bool:
    return is_compact(part.name) and number_of(part.name) >= number


def lost_parts(
    missing: Iterable[Range], passed: Range, seen: Mapping[str, int], mark: Mark | None
) -> Iterator[str]:
    """Yield a message for each range of missing parts whose numbers are in the range ``passed``. All ranges are
    inclusive. ``seen`` maps names of parts to their last known sizes. Everything before ``mark`` has been read.
    """
    for first, last in missing:
        first, last = max(first, passed[0]), min(last, passed[1])
        if first > last:
            continue
        unread = sum(
            size - (mark.restart if mark and mark.part == name else 0)
            for name, size in seen.items()
            if first <= number_of(name) <= last
        )
        if first == last and mark and number_of(mark.part) == first and unread == 0:
            continue  # read to its end before it was removed
        parts = f"part {first} is" if first == last else f"parts {first} to {last} are"
        bytes_ = f"; {unread} bytes of it were seen but not read" if unread else ""
        yield f"{parts} missing, and no compacted part replaces it{bytes_}"
