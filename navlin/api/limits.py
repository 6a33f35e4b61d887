"""What one user, and one request, may take of a process that serves all."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from anyio import CapacityLimiter

from navlin.api.answers import Problem
from navlin.api.walking import Walking

MOST_BODY_BYTES: Final = 16 << 20
"""Clients of Navigator's send queries with ten thousand ids."""
MOST_DISCARDED_BYTES: Final = 64 << 20
"""What is read of a body that is refused, so that whoever sends it gets the answer."""
DISCARDED_WITHIN_S: Final = 1.0
"""For how long the next piece of it is awaited: a header may announce what never comes."""
AT_ONCE: Final = 8
"""How many questions of one user are answered at the same time."""


IN_ALL: Final = max(4, 2 * (os.cpu_count() or 1))
"""How many questions of all users are answered at the same time; others wait. More would only share the processors, and
take them from extraction."""
TURN_S: Final = 0.5
"""For how long one of these goes on if its answer comes in pieces, before another has its turn."""


@dataclass(slots=True)
class Questions:
    """The questions that are being answered, by user."""

    most: int = AT_ONCE
    limiter: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(IN_ALL))
    walking: Walking = field(default_factory=Walking)
    _running: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def of(self, user: str) -> Iterator[None]:
        """Counts one question for as long as the context lasts. Raises `Problem` (429) if it is one too many."""
        with self._lock:
            if self._running[user] >= self.most:
                raise Problem(429, f"{self.most} questions of yours are being answered: wait for one of them")
            self._running[user] += 1
        try:
            yield
        finally:
            with self._lock:
                self._running[user] -= 1
                if not self._running[user]:
                    del self._running[user]
