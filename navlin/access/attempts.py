"""Guessing is made slow: after some wrong passwords for one name from one address, none is looked at for a while."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

FREE: Final = 5
"""So many wrong ones in a row cost nothing: people mistype."""
FIRST_WAIT_S: Final = 1.0
MOST_WAIT_S: Final = 900.0
REMEMBERED: Final = 10_000
"""Of so many names and addresses; those whose wait ends first are forgotten first."""


@dataclass(slots=True)
class Attempts:
    """Wrong attempts by (address, name), in whatever case: a directory takes ANN for ann. ``clock`` gives monotonic seconds.
    May be shared by threads."""

    clock: Callable[[], float]
    _wrong: dict[tuple[str, str], tuple[int, float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def wait_s(self, address: str, name: str) -> float:
        """For how many seconds no attempt is looked at; 0 if one may be made."""
        with self._lock:
            _, until_s = self._wrong.get((address, name.casefold()), (0, 0.0))
        return max(0.0, until_s - self.clock())

    def wrong(self, address: str, name: str) -> None:
        """Counts a wrong attempt: from the sixth in a row on, the wait doubles with each."""
        with self._lock:
            count, _ = self._wrong.pop((address, name.casefold()), (0, 0.0))
            wait_s = min(MOST_WAIT_S, FIRST_WAIT_S * 2 ** min(count - FREE, 20)) if count >= FREE else 0.0
            self._wrong[address, name.casefold()] = (count + 1, self.clock() + wait_s)
            if len(self._wrong) > REMEMBERED:
                # Not the oldest: with names made up, anybody could free a name of its wait.
                del self._wrong[min(self._wrong, key=lambda each: self._wrong[each][1])]

    def right(self, address: str, name: str) -> None:
        """Forgets the wrong ones."""
        with self._lock:
            self._wrong.pop((address, name.casefold()), None)
