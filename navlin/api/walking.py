"""Walks of the graph take turns, and on a busy machine they yield to other work.

A walk whose response is sent in pieces is split into turns of `navlin.api.limits.TURN_S`.
"""

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
"""Maximum number of concurrent walks. A walk takes as long as fifty searches, and keeps a whole processor busy, for
Python here and for Solr. Searches do not wait for walks."""
REST: Final = 1.0
"""Length of the pause after a walk, as a factor of the time for which tasks had to wait for a processor during the walk,
or of the walk's own time if that is shorter. With 100 events/s on two processors, 50 users got 1.8 lineages a second at
0.5, and the slowest of a hundred events took 1.6 times as long as without users; at 1.0 they got 1.6 lineages, and the
events took no longer."""
PRESSURE: Final = Path("/proc/pressure/cpu")
_WAITED_US = re.compile(r"^some .*total=(\d+)", re.MULTILINE)


class Walking:
    """The turns of one process. For a single event loop."""

    def __init__(
        self,
        most: int = WALKS_IN_ALL,
        pressure: Path = PRESSURE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``pressure`` is the kernel's file with the time that tasks of the whole machine waited for a processor
        (pressure stall information, PSI). If it does not exist, as in RHEL unless the kernel is booted with ``psi=1``,
        walks do not yield. ``clock`` measures, in seconds, the duration of a walk."""
        # Two limiters, because a turn lasts longer than its thread by the pause.
        self._turns, self._threads = CapacityLimiter(most), CapacityLimiter(most)
        self._pressure, self._clock = pressure, clock

    async def run(self, work: Callable[[], T]) -> T:
        """Run the work in a thread when its turn comes, and return the result at once. Only the next turn waits for the
        pause after the walk."""
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
