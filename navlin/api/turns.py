"""Turns: each user can run only a few operations at once, and a waiting caller blocks no thread."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from anyio import CapacityLimiter


@dataclass(slots=True)
class Turns:
    """Limits each user to ``most`` operations at once. For a single event loop."""

    most: int
    _of: dict[str, tuple[CapacityLimiter, int]] = field(default_factory=dict)

    @asynccontextmanager
    async def turn(self, user: str) -> AsyncIterator[None]:
        """Wait for a turn of this user. The turn lasts until the context ends."""
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
