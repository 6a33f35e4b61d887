"""Turns: each user may do only a few things at once, and a waiting caller blocks no thread."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from anyio import CapacityLimiter


@dataclass(slots=True)
class Turns:
    """At most ``most`` at once for each user. For one event loop."""

    most: int
    _of: dict[str, tuple[CapacityLimiter, int]] = field(default_factory=dict)

    @asynccontextmanager
    async def turn(self, user: str) -> AsyncIterator[None]:
        """Waits for a turn of this user's, which lasts as long as the context."""
        turns, asking = self._of.get(user) or (CapacityLimiter(self.most), 0)
        self._of[user] = turns, asking + 1
        turn = object()
        try:
            await turns.acquire_on_behalf_of(turn)
            try:
                yield
            finally:
                turns.release_on_behalf_of(turn)
        finally:
            turns, asking = self._of[user]
            if asking > 1:
                self._of[user] = turns, asking - 1
            else:
                del self._of[user]
