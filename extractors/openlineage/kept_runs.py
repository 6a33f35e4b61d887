"""Keep open and recently ended runs from one read to the next, and remember the abandoned runs.

If space is short, runs that have not ended are preferred to ended runs, and later runs to earlier ones. Every sender
has a share of the number and of the bytes, so that a large sender does not displace the runs of other senders. A run
abandoned before its end is remembered by the hash of its id, so that its operation is marked incomplete when more
events arrive.
"""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from navlin.model.shares import shares

RUNS: Final = "runs "
"""Prefix of the keys of positions that hold the states of runs; a number follows."""
SHARDS: Final = 16
GIVEN_UP: Final = "given up runs"
"""Key of the position that remembers runs abandoned before their end."""
KEEP_ENDED_MS: Final = 3_600_000
DAY_MS: Final = 86_400_000
KEEP_OPEN_MS: Final = 30 * DAY_MS
MAX_RUNS: Final = 10_000
MAX_RUNS_OF_SENDER: Final = 5_000
MAX_BYTES: Final = 24 << 20
"""Maximum size of all tracked runs. A heap of 1 GiB can hold this much in the several forms that exist during one
read.
"""
MAX_BYTES_OF_SENDER: Final = 12 << 20
MAX_REMEMBERED: Final = 2_000
"""Maximum number of abandoned runs remembered per sender. Beyond it, every run of the sender that does not begin with
a START is uncertain.
"""
MAX_SENDERS: Final = 100

_TOO_MANY: Final = "its sender has had more open runs than navlin keeps"
LOST: Final = f"the content of earlier events of this run is no longer known: {_TOO_MANY}"
MAYBE_LOST: Final = f"the content of earlier events of this run may no longer be known: {_TOO_MANY}"


class SavedRun(NamedTuple):
    """A run as stored in a position. ``seen_ms`` is the time (epoch ms) at which the run's last event was read,
    ``above`` the ids of its parent and root runs, and ``text`` the result of `Run.saved`.
    """

    run: str
    seen_ms: int
    ended: bool
    above: list[str]
    sender: str
    text: str

    def is_recent(self, now_ms: int) -> bool:
        """Whether more events of the run may arrive."""
        return now_ms - self.seen_ms <= (KEEP_ENDED_MS if self.ended else KEEP_OPEN_MS)


def choose(runs: Iterable[SavedRun], now_ms: int) -> tuple[list[SavedRun], list[SavedRun]]:
    """Split runs into those still tracked and those abandoned."""
    of_senders: dict[str, list[SavedRun]] = {}
    given_up: list[SavedRun] = []
    # Few more events are expected of an ended run.
    for each in sorted(runs, key=lambda each: (each.ended, -each.seen_ms, each.run)):
        recent = each.is_recent(now_ms)
        (of_senders.setdefault(each.sender, []) if recent else given_up).append(each)
    counts = {sender: len(each) for sender, each in of_senders.items()}
    sizes = {sender: sum(len(run.text) for run in each) for sender, each in of_senders.items()}
    runs_of = shares(counts, of_one=MAX_RUNS_OF_SENDER, in_all=MAX_RUNS)
    bytes_of = shares(sizes, of_one=MAX_BYTES_OF_SENDER, in_all=MAX_BYTES)
    known: list[SavedRun] = []
    for sender, of_sender in of_senders.items():
        left_runs, left_bytes = runs_of[sender], bytes_of[sender]
        for run in of_sender:
            if left_runs and len(run.text) <= left_bytes:
                left_runs, left_bytes = left_runs - 1, left_bytes - len(run.text)
                known.append(run)
            else:
                given_up.append(run)
    return known, given_up


def in_shards(known: Iterable[SavedRun]) -> dict[str, Any]:
    """Return key of a position → its runs, as JSON values."""
    shards: dict[str, list[list[Any]]] = {}
    for each in sorted(known, key=lambda each: each.run):
        shards.setdefault(f"{RUNS}{_digest(each.run)[0] % SHARDS:02d}", []).append(list(each))
    return shards


def of_shards(shards: Mapping[str, Any]) -> Iterator[SavedRun]:
    """Yield the runs in positions that `in_shards` created."""
    for key, shard in shards.items():
        if key.startswith(RUNS):
            for each in shard:
                yield SavedRun(*each)


class GivenUp:
    """Runs abandoned before their end, by sender. ``saved`` is an earlier result of `value`."""

    def __init__(self, saved: Mapping[str, Any], now_ms: int) -> None:
        self._today = now_ms // DAY_MS
        oldest = self._today - KEEP_OPEN_MS // DAY_MS - 1
        self._runs: dict[str, dict[str, int]] = {}
        self._beyond: dict[str, int] = {}
        """Sender → last day (days since 1970) on which more runs were abandoned than are remembered individually; -1
        if never.
        """
        for sender, (runs, beyond) in saved.items():
            recent = {run: day for run, day in runs.items() if day >= oldest}
            if recent or beyond >= oldest:
                self._runs[sender], self._beyond[sender] = recent, beyond

    def add(self, run: SavedRun) -> None:
        of_sender = self._runs.setdefault(run.sender, {})
        self._beyond.setdefault(run.sender, -1)
        if len(of_sender) < MAX_REMEMBERED or _short(run.run) in of_sender:
            of_sender[_short(run.run)] = self._today
        else:
            self._beyond[run.sender] = self._today
        if len(self._runs) > MAX_SENDERS:
            del self._runs[next(each for each in self._runs if each != run.sender)]

    def why_incomplete(self, run: str, sender: str, *, starts: bool) -> str:
        """Return the reason why an unknown run may be an abandoned one; "" if it is not. ``starts`` is true if its
        event is a START.
        """
        short = _short(run)
        if any(short in each for each in self._runs.values()):
            return LOST
        return MAYBE_LOST if not starts and self._beyond.get(sender, -1) >= 0 else ""

    def value(self) -> dict[str, Any] | None:
        """Return the value to save in the position; None if there is nothing to remember."""
        return {sender: [runs, self._beyond[sender]] for sender, runs in self._runs.items()} or None


def _digest(run: str) -> bytes:
    return hashlib.md5(run.encode("utf-8", "replace"), usedforsecurity=False).digest()


def _short(run: str) -> str:
    return urlsafe_b64encode(_digest(run)[:9]).decode()
