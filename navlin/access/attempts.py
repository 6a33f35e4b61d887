"""Throttling of password guesses. After several wrong passwords for a name, or from an address, further attempts are
refused for a while. The counts are in memory, for one process.

Nobody is locked out: strangers do not slow down a user at an address from which that user has logged in before, and
sessions and tokens need no password.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Final

FIRST_WAIT_S: Final = 1.0
FREE: Final = 5
"""Consecutive failures allowed for one name from one address, before delays begin."""
MOST_WAIT_S: Final = 900.0
FREE_OF_NAME: Final = 10
"""Failures allowed for one name from all addresses together, so that 60 addresses have 10 guesses, not 300. A right
password does not reset them; `FORGOTTEN_AFTER_S` does."""
MOST_WAIT_OF_NAME_S: Final = 300.0
FREE_OF_ADDRESS: Final = 20
"""Failures allowed for all names from one address, which many people may share. A right password does not reset them;
`FORGOTTEN_AFTER_S` does."""
MOST_WAIT_OF_ADDRESS_S: Final = 60.0
FORGOTTEN_AFTER_S: Final = 3_600.0
"""Time after the end of a wait until the count of wrong attempts is reset, if no further one follows."""
REMEMBERED: Final = 10_000
"""Maximum number of counters of each kind; those whose wait ends first are evicted first."""


@dataclass(slots=True)
class _Counts:
    """Counters of wrong attempts. ``_wrong`` maps a key to (number of attempts, monotonic time in seconds
    until which further attempts are refused)."""

    free: int
    most_wait_s: float
    _wrong: dict[object, tuple[int, float]] = field(default_factory=dict)

    def wait_s(self, key: object, now_s: float) -> float:
        return max(0.0, self._wrong.get(key, (0, 0.0))[1] - now_s)

    def wrong(self, key: object, now_s: float) -> None:
        count, until_s = self._wrong.pop(key, (0, 0.0))
        if until_s + FORGOTTEN_AFTER_S < now_s:
            count = 0
        wait_s = (
            min(self.most_wait_s, FIRST_WAIT_S * 2 ** min(count - self.free, 20))
            if count >= self.free
            else 0.0
        )
        self._wrong[key] = (count + 1, now_s + wait_s)
        if len(self._wrong) > REMEMBERED:
            # Do not evict the oldest counter: otherwise anybody could end the wait for a name by trying made-up names.
            del self._wrong[min(self._wrong, key=lambda each: self._wrong[each][1])]

    def forget(self, key: object) -> None:
        self._wrong.pop(key, None)

    def __len__(self) -> int:
        return len(self._wrong)


@dataclass(slots=True)
class Attempts:
    """Counts of wrong attempts by name and by address. Names ignore case, because a directory takes ANN for ann.
    ``clock`` returns monotonic seconds. ``known`` is whether the name has logged in from the address before: then only
    the counter of name and address is used. Thread-safe."""

    clock: Callable[[], float]
    _of_both: _Counts = field(default_factory=lambda: _Counts(FREE, MOST_WAIT_S))
    _of_name: _Counts = field(default_factory=lambda: _Counts(FREE_OF_NAME, MOST_WAIT_OF_NAME_S))
    _of_address: _Counts = field(default_factory=lambda: _Counts(FREE_OF_ADDRESS, MOST_WAIT_OF_ADDRESS_S))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def wait_s(self, address: str, name: str, *, known: bool = False) -> float:
        """Return the number of seconds for which attempts are refused; 0 if an attempt is allowed."""
        with self._lock:
            return max(counts.wait_s(key, self.clock()) for counts, key in self._counts(address, name, known))

    def wrong(self, address: str, name: str, *, known: bool = False) -> None:
        """Count a wrong attempt. Each attempt beyond the allowed failures doubles the wait."""
        with self._lock:
            for counts, key in self._counts(address, name, known):
                counts.wrong(key, self.clock())

    def right(self, address: str, name: str) -> None:
        """Forget the wrong attempts for this name from this address. They still count against the name elsewhere and
        against the address."""
        with self._lock:
            for counts, key in self._counts(address, name, known=True):
                counts.forget(key)

    def _counts(self, address: str, name: str, known: bool) -> list[tuple[_Counts, object]]:
        name, network = name.casefold(), network_of(address)
        of_both: list[tuple[_Counts, object]] = [(self._of_both, (network, name))]
        if known:
            return of_both
        return [*of_both, (self._of_name, name), (self._of_address, network)]


def network_of(address: str) -> str:
    """Return the /64 network of an IPv6 address, because one customer usually has a whole /64. For an
    IPv4-mapped one, return the IPv4 address. Return any other text unchanged."""
    try:
        found = ip_address(address)
    except ValueError:
        return address
    if not isinstance(found, IPv6Address):
        return str(found)
    if found.ipv4_mapped:
        return str(found.ipv4_mapped)
    return str(ip_network((int(found) >> 64 << 64, 64)))
