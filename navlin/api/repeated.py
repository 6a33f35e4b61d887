"""A value that a thread computes repeatedly, so that callers get the last result at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final, Generic, TypeVar

import anyio
import structlog

log = structlog.stdlib.get_logger(__name__)
T = TypeVar("T")
_LOOKED_EVERY_S: Final = 0.02


class Repeated(Generic[T]):
    """Results of ``find``, computed every ``every_s`` seconds. The computation pauses if `wait` was not called for
    ``until_unasked_s`` seconds. The thread begins with the first `wait`, and ends with the process."""

    def __init__(self, name: str, find: Callable[[], T], *, every_s: float, until_unasked_s: float) -> None:
        self._name, self._find = name, find
        self._every_s, self._until_unasked_s = every_s, until_unasked_s
        self._found: tuple[T | None, float] = (None, float("-inf"))
        self._asked_s = 0.0
        self._wanted = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def last(self) -> tuple[T | None, float]:
        """The last result and its age in seconds; (None, infinity) if there has been no result."""
        found, at_s = self._found
        return found, time.monotonic() - at_s

    async def wait(self, most_age_s: float, within_s: float) -> None:
        """Wait until the last result is no older than ``most_age_s``, for up to ``within_s`` seconds. Blocks no
        thread."""
        self._asked_s = time.monotonic()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()
        self._wanted.set()
        with anyio.move_on_after(within_s):
            while self.last[1] > most_age_s:
                await anyio.sleep(_LOOKED_EVERY_S)

    def _run(self) -> None:
        while True:
            self._wanted.wait()
            begun_s = time.monotonic()
            try:
                # The age counts from the start of the computation, because the result may describe the state at that
                # time.
                self._found = (self._find(), begun_s)
            except Exception as error:
                log.error("background refresh failed", what=self._name, exc_info=error)
            if time.monotonic() - self._asked_s > self._until_unasked_s:
                self._wanted.clear()
                continue
            time.sleep(max(0.0, begun_s + self._every_s - time.monotonic()))
