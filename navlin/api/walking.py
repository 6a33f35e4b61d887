"""Walks of the graph take turns, and on a busy machine they give way to what else it does."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from anyio import CapacityLimiter, to_thread

T = TypeVar("T")

WALKS_IN_ALL: Final = max(1, (os.cpu_count() or 1) // 2)
"""How many walk at the same time, beside all other questions: a walk takes as long as fifty searches, which do not wait for
it, and a processor by itself: of Python's here and of Solr's."""
REST: Final = 1.0
"""After a walk the next one waits for this times the time in which a task had to wait for a processor meanwhile.

Beside 100 events/s on two processors 50 users got 1.8 lineages a second with 0.5, and the slowest of a hundred events took
1.6 times as long as without users; with 1.0 they got 1.6 lineages, and it took no longer."""
PRESSURE: Final = Path("/proc/pressure/cpu")
_WAITED_US = re.compile(r"^some .*total=(\d+)", re.MULTILINE)


class Walking:
    """The turns of one process. Its method is for one event loop."""

    def __init__(
        self,
        most: int = WALKS_IN_ALL,
        pressure: Path = PRESSURE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``pressure`` is the kernel's file of how long tasks of the whole machine waited for a processor (pressure stall
        information, PSI). Where there is none, as in RHEL unless its kernel is given ``psi=1``, nobody gives way.
        ``clock`` measures, in seconds, how long a walk takes."""
        self._turns, self._threads = CapacityLimiter(most), CapacityLimiter(most)
        self._pressure, self._clock = pressure, clock

    async def run(self, work: Callable[[], T]) -> T:
        """Does the work in a thread when it is its turn, and returns what it returns. The answer does not wait for the rest
        after it."""
        turn = object()
        await self._turns.acquire_on_behalf_of(turn)
        waited_s, begun_s = self._waited_s(), self._clock()
        try:
            return await to_thread.run_sync(work, limiter=self._threads)
        finally:
            waited_s = self._waited_s() - waited_s
            rest_s = REST * min(max(waited_s, 0.0), self._clock() - begun_s)
            asyncio.get_running_loop().call_later(rest_s, self._turns.release_on_behalf_of, turn)

    def _waited_s(self) -> float:
        try:
            found = _WAITED_US.search(self._pressure.read_text())
        except (OSError, ValueError):
            return 0.0
        return int(found[1]) / 1e6 if found else 0.0
