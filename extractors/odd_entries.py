"""Entries of a service's list that are not as the service writes them: without an id, or with values of another type.

An entry stays in the list from round to round. So a position holds the hashes of the entries that were reported, and
an entry becomes a reject once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from navlin.model.records import Reject, Split
from navlin.model.redaction import sample

ODD: Final = "odd"
"""Key of a position: the hashes of the odd entries that were reported, sorted."""
MAX_ODD: Final = 1_000
"""Maximum number of odd entries of a list that are told apart. Further ones are counted together."""
NO_ID: Final = "the entry has no id that can be read"
EMPTY: Final = "the entry is empty, or is not an object"
UNREAD: Final = "these values are unknown, because they cannot be read: {}"
_VALUE_CHARS: Final = 100


@dataclass(frozen=True, slots=True)
class OddEntry:
    """One entry, or several with the same values. ``place`` is the entry's id, or the URL of the service if the entry
    has no id. ``sample`` has the values that navlin reads, as JSON.
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
        # A reject is known by its place and reason, and entries without an id have the same.
        reason = f"{self.reason} (entry {self.hash})" if self.reason == NO_ID else self.reason
        return Reject(self.place, reason, sample=self.sample, count=self.count)


@dataclass(frozen=True, slots=True)
class OddSplit(Split):
    """Odd entries that were not reported before. Reading this split yields a reject for each of them."""

    entries: tuple[OddEntry, ...]

    @property
    def name(self) -> str:
        return "entries of lists that cannot be read as they are"


class OddEntries:
    """The odd entries of one service's list. ``read`` are the names of the values that navlin reads; ``without_id``
    counts the entries without an id.
    """

    def __init__(self, url: str = "", read: Sequence[str] = ()) -> None:
        self._url, self._names = url, read
        self._found: dict[str, OddEntry] = {}
        self._further = 0
        self.without_id = 0

    def take_without_id(self, payload: Mapping[str, Any]) -> None:
        self.without_id += 1
        self._add(OddEntry(self._url, NO_ID if payload else EMPTY, self._sample(payload)))

    def take(self, identity: str, payload: Mapping[str, Any], unread: Sequence[str]) -> None:
        """Take an entry whose values of the names ``unread`` cannot be read; nothing if there are none."""
        if unread:
            self._add(OddEntry(identity, UNREAD.format(", ".join(unread)), self._sample(payload)))

    def entries(self) -> tuple[OddEntry, ...]:
        """Return the odd entries, in the order of the list; the last one may be the number of further entries."""
        further = (OddEntry(self._url, "further entries cannot be read as they are", "", self._further),)
        return (*self._found.values(), *(further if self._further else ()))

    def _add(self, entry: OddEntry) -> None:
        if known := self._found.get(entry.hash):
            self._found[entry.hash] = replace(known, count=known.count + 1)
        elif len(self._found) < MAX_ODD:
            self._found[entry.hash] = entry
        else:
            self._further += 1

    def _sample(self, payload: Mapping[str, Any]) -> str:
        values = {name: _bounded(payload[name]) for name in self._names if name in payload}
        return sample(json.dumps(values, ensure_ascii=False).encode(errors="replace")) if values else ""


def hashes_of(entries: Sequence[OddEntry], kept: Collection[str]) -> list[str] | None:
    """Return the value of the position `ODD` for the entries that are listed now, and the hashes ``kept`` of entries
    that may be listed again, as far as there is room; None if there are none.
    """
    listed = {each.hash for each in entries}
    return sorted({*listed, *kept} if len(listed) + len(kept) <= 2 * (MAX_ODD + 1) else listed) or None


def _bounded(value: Any) -> Any:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    return value[:_VALUE_CHARS] if isinstance(value, str) else value
