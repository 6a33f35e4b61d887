"""Limits for each user and each request, in a process that serves all users."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from anyio import CapacityLimiter

from navlin.api.answers import HttpError
from navlin.api.turns import Turns
from navlin.api.walking import Walking

AT_ONCE: Final = 8
"""Maximum number of queries of one user that are answered at the same time."""


IN_ALL: Final = max(4, 2 * (os.cpu_count() or 1))
"""Maximum number of queries of all users that are answered at the same time; other queries wait. More of them would
only compete for the processors, with each other and with extraction."""
TURN_S: Final = 0.5
"""Time for which a response in pieces is computed before another response has its turn."""


@dataclass(slots=True)
class Questions:
    """The queries that are being answered, counted by user."""

    most: int = AT_ONCE
    limiter: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(IN_ALL))
    walking: Walking = field(default_factory=Walking)
    # One thread always remains for another user.
    turns: Turns = field(default_factory=lambda: Turns(IN_ALL - 1))
    walk_turns: Turns = field(default_factory=lambda: Turns(1))
    _running: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def require_room(self, user: str) -> None:
        """Raise `HttpError` (429) if the user already has the maximum number of running queries."""
        if self._running[user] >= self.most:
            raise HttpError(429, f"too many concurrent requests (limit {self.most})")

    @contextmanager
    def of(self, user: str) -> Iterator[None]:
        """Count one more running query of the user until the context ends. Raises `HttpError` (429) if that is one too
        many."""
        with self._lock:
            self.require_room(user)
            self._running[user] += 1
        try:
            yield
        finally:
            with self._lock:
                self._running[user] -= 1
                if not self._running[user]:
                    del self._running[user]
