"""Values of YARN's lists that are of another type than a service writes, or outside of Java's range."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from extractors.yarn.applications import ENDED, PLACEHOLDERS, UNFINISHED, number_of

_TEXTS: Final = ("name", "user", "queue", "state", "finalStatus", "applicationType", "diagnostics")
_NUMBERS: Final = ("startedTime", "finishedTime", "memorySeconds", "vcoreSeconds")
_JOB_TEXTS: Final = ("name", "user", "queue", "state")
_JOB_NUMBERS: Final = ("submitTime", "startTime", "finishTime")
READ: Final = ("id", *_TEXTS, *_NUMBERS, *_JOB_NUMBERS)
"""Names of the values that navlin reads of an application or a job."""


def odd_in_application(payload: Mapping[str, Any]) -> list[str]:
    """Return the names of an application's values that cannot be read. A state that no release of YARN has is one of
    them.
    """
    names = [*_odd(payload, _TEXTS, _NUMBERS)]
    if "state" not in names and str(payload.get("state") or "").upper() not in (*ENDED, *UNFINISHED):
        names.append("state")
    return names


def odd_in_job(payload: Mapping[str, Any]) -> list[str]:
    """Return the names of a job's values that cannot be read."""
    return [*_odd(payload, _JOB_TEXTS, _JOB_NUMBERS)]


def _odd(payload: Mapping[str, Any], texts: Sequence[str], numbers: Sequence[str]) -> Iterator[str]:
    for name in texts:
        if isinstance(payload.get(name), dict | list | bool):
            yield name
    for name in numbers:
        value = payload.get(name)
        is_unknown = value is None or (isinstance(value, str) and value.strip().lower() in PLACEHOLDERS)
        if not is_unknown and number_of(value) is None:
            yield name
