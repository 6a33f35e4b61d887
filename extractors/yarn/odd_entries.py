"""Entries of YARN's lists that are not as a service writes them: without an id, or with values of another type.

An entry stays in the list from round to round. So a position holds the hashes of the entries that were reported, and
an entry becomes a reject once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from extractors.yarn.applications import ENDED, PLACEHOLDERS, UNFINISHED, number_of
from navlin.model.records import Reject, Split
from navlin.model.redaction import sample

ODD: Final = "odd"
"""Key of a position: the hashes of the odd entries that were listed last, sorted."""
MAX_ODD: Final = 1_000
"""Maximum number of odd entries that are told apart. Further ones are counted together."""
_TEXTS: Final = ("name", "user", "queue", "state", "finalStatus", "applicationType", "diagnostics")
_NUMBERS: Final = ("startedTime", "finishedTime", "memorySeconds", "vcoreSeconds")
_JOB_TEXTS: Final = ("name", "user", "queue", "state")
_JOB_NUMBERS: Final = ("submitTime", "startTime", "finishTime")
_SHOWN: Final = ("id", *_TEXTS, *_NUMBERS, *_JOB_NUMBERS)
_VALUE_CHARS: Final = 100


@dataclass(frozen=True, slots=True)
class OddEntry:
    """One entry, or several with the same values. ``place`` is the application's id, or the URL of the service if the
    entry has no id. ``sample`` has the values that navlin reads, as JSON.
    """

    place: str
    reason: str
    sample: str
    count: int = 1

    @property
    def hash(self) -> str:
        """Hash of the entry's values, in 12 hexadecimal digits."""
        known = json.dumps([self.place, self.reason, self.sample]).encode()
        return hashlib.blake2b(known, digest_size=6).hexdigest()

    def reject(self) -> Reject:
        return Reject(self.place, self.reason, sample=self.sample, count=self.count)


@dataclass(frozen=True, slots=True)
class OddSplit(Split):
    """Odd entries that were not reported before. Reading this split yields a reject for each of them."""

    entries: tuple[OddEntry, ...]

    @property
    def name(self) -> str:
        return "entries of YARN's lists that cannot be read as they are"


class OddEntries:
    """The odd entries of one service's list. ``without_id`` counts those without an id."""

    def __init__(self, url: str = "") -> None:
        self._url = url
        self._found: dict[str, OddEntry] = {}
        self._further = 0
        self.without_id = 0

    def take_without_id(self, payload: Mapping[str, Any]) -> None:
        self.without_id += 1
        reason = (
            "the entry has no id of an application" if payload else "the entry is empty, or is not an object"
        )
        self._add(OddEntry(self._url, reason, _sample_of(payload)))

    def take_application(self, identity: str, payload: Mapping[str, Any]) -> None:
        """Note the values of an application that are of another type, or outside of Java's range, and its state if no
        release of YARN has it.
        """
        reasons = [*_of_another_type(payload, _TEXTS, _NUMBERS)]
        state = payload.get("state")
        if "state" not in reasons and str(state or "").upper() not in (*ENDED, *UNFINISHED):
            reasons.append("state")
        self._take(identity, payload, reasons)

    def take_job(self, identity: str, payload: Mapping[str, Any]) -> None:
        """Note the values of a job that are of another type, or outside of Java's range."""
        self._take(identity, payload, [*_of_another_type(payload, _JOB_TEXTS, _JOB_NUMBERS)])

    def entries(self) -> tuple[OddEntry, ...]:
        """Return the odd entries, in the order of the list; the last one may be the number of further entries."""
        further = (OddEntry(self._url, "further entries cannot be read as they are", "", self._further),)
        return (*self._found.values(), *(further if self._further else ()))

    def _take(self, identity: str, payload: Mapping[str, Any], names: Sequence[str]) -> None:
        if names:
            reason = f"these values are unknown, because they cannot be read: {', '.join(names)}"
            self._add(OddEntry(identity, reason, _sample_of(payload)))

    def _add(self, entry: OddEntry) -> None:
        if known := self._found.get(entry.hash):
            self._found[entry.hash] = replace(known, count=known.count + 1)
        elif len(self._found) < MAX_ODD:
            self._found[entry.hash] = entry
        else:
            self._further += 1


def hashes_of(entries: Sequence[OddEntry], kept: Collection[str]) -> list[str] | None:
    """Return the value of the position `ODD` for the entries that are listed now, and the hashes ``kept`` of a service
    that did not answer; None if there are none.
    """
    return sorted({*kept, *(each.hash for each in entries)})[: 2 * MAX_ODD + 2] or None


def _of_another_type(
    payload: Mapping[str, Any], texts: Sequence[str], numbers: Sequence[str]
) -> Iterator[str]:
    for name in texts:
        if isinstance(payload.get(name), (dict, list, bool)):
            yield name
    for name in numbers:
        value = payload.get(name)
        is_unknown = value is None or (isinstance(value, str) and value.strip().lower() in PLACEHOLDERS)
        if not is_unknown and number_of(value) is None:
            yield name


def _sample_of(payload: Mapping[str, Any]) -> str:
    values = {name: _bounded(payload[name]) for name in _SHOWN if name in payload}
    return sample(json.dumps(values, ensure_ascii=False).encode(errors="replace")) if values else ""


def _bounded(value: Any) -> Any:
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "a list"
    return value[:_VALUE_CHARS] if isinstance(value, str) else value
