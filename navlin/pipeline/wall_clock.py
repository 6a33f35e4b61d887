"""This machine's clock, checked for jumps against the boot-time clock, which never jumps."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from typing import Final

NOTICED_S = 1.0
"""Minimum jump, in seconds. Smaller differences are corrections of the clock, or arise because the two clocks are not
read at the same moment."""


def since_boot_s() -> float:
    """Return the seconds since this machine started, including time in suspension."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def kernel_is_synchronized() -> bool:
    """Whether a time service synchronizes this machine's clock, according to the kernel (adjtimex(2)).

    Setting the clock by hand clears the kernel's flag; a time service sets it again when the clock agrees. False if
    unknown.
    """
    try:
        state = ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(_TIMEX_BYTES))
    except (AttributeError, OSError):
        return False
    return 0 <= int(state) < _TIME_ERROR


_TIMEX_BYTES: Final = 512
"""Buffer size, larger than struct timex on any platform. Because all bytes are zero, adjtimex reads the state without
changing it."""
_TIME_ERROR: Final = 5


class WallClock:
    """The wall clock, with detection of jumps. Thread-safe."""

    def __init__(
        self,
        wall_s: Callable[[], float] = time.time,
        steady_s: Callable[[], float] = since_boot_s,
        synchronized: Callable[[], bool] = kernel_is_synchronized,
    ) -> None:
        """``wall_s`` returns epoch seconds, ``steady_s`` seconds since some fixed moment, and ``synchronized`` whether
        a time service synchronizes the clock."""
        self._wall_s, self.steady_s, self._synchronized = wall_s, steady_s, synchronized
        self._lock = threading.Lock()
        self._believed_s = self._seen_s = self._offset_s()

    def now_s(self) -> float:
        """Return the current time in epoch seconds."""
        return self._wall_s()

    def now_ms(self) -> int:
        """Return the current time in epoch ms."""
        return round(self._wall_s() * 1000)

    def at_s(self, steady_s: float) -> float:
        """Convert a time of the steady clock to epoch seconds, using the present difference between the two clocks."""
        return steady_s + self._offset_s()

    def jump_ms(self) -> int:
        """Return the jump of the clock since it was last trusted, in ms. A clock synchronized by a time service is
        trusted."""
        with self._lock:
            jump_s = self._offset_s() - self._believed_s
            if abs(jump_s) > NOTICED_S and self._synchronized():
                self._believed_s = self._offset_s()
                return 0
            return round(jump_s * 1000)

    def new_jump_s(self) -> float:
        """Return the jump of the clock since the last call, in seconds; 0 if it is too small to matter."""
        with self._lock:
            offset_s = self._offset_s()
            jump_s = offset_s - self._seen_s
            self._seen_s = offset_s
            return jump_s if abs(jump_s) > NOTICED_S else 0.0

    def believe(self) -> None:
        """Trust the clock as it is now, because a user has checked it or another clock agrees."""
        with self._lock:
            self._believed_s = self._offset_s()

    def _offset_s(self) -> float:
        return self._wall_s() - self.steady_s()
