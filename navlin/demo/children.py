"""Child processes of the demo and their descendants. None remains, however the demo ends."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Final

# Looked up early, because little may be done between fork and exec.
_PRCTL: Final = ctypes.CDLL(None).prctl
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
AGAIN_S: Final = 1.0
"""Seconds after which an interrupt that has not stopped the work is raised again."""
DEATH_S: Final = 30.0
"""Maximum time for the system to end killed processes."""


class Interrupted(BaseException):
    """A signal has requested the end of the demo. Not an Exception, so that handlers of failures do not catch it."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise `Interrupted` on SIGINT, SIGTERM and SIGHUP within this context.

    Afterwards, a signal does not interrupt the shutdown, but kills all remaining processes, because a user who presses
    Ctrl-C again will not wait any longer.
    """
    inside = True

    def handle(_number: int, _frame: FrameType | None) -> None:
        if inside:
            # Raised again later, because Python discards exceptions raised while it forks or finalizes.
            signal.setitimer(signal.ITIMER_REAL, AGAIN_S)
            raise Interrupted
        _kill(_descendants())

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # After a start with `nohup`, the demo must continue without a terminal.
        if number is not signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handle)
    signal.signal(signal.SIGALRM, handle)
    try:
        yield
    finally:
        inside = False
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        signal.setitimer(signal.ITIMER_REAL, 0)


def end_with_parent() -> None:
    """As ``preexec_fn``, let the system kill the child when the thread that starts it ends, even by kill -9."""
    _PRCTL(_PR_SET_PDEATHSIG, signal.SIGKILL)


def adopt_orphans() -> None:
    """Make this process the new parent of orphaned descendants, so that `kill_all` finds them.

    YARN containers need this: each has its own session, and keeps looking for its ResourceManager for 15 minutes.
    """
    _PRCTL(_PR_SET_CHILD_SUBREAPER, 1)


def kill_all() -> None:
    """Kill all descendants, even those started meanwhile, and wait until they have ended."""
    deadline_s = time.monotonic() + DEATH_S
    while (pids := _descendants()) and time.monotonic() < deadline_s:
        _kill(pids)
        for pid in pids:
            with suppress(ChildProcessError):  # a grandchild: it becomes a child when its parent has ended
                os.waitpid(pid, os.WNOHANG)
        time.sleep(0.02)


def _kill(pids: list[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _descendants() -> list[int]:
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # the process has just ended
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    found = [os.getpid()]
    for pid in found:
        found.extend(child for child, parent in parents.items() if parent == pid)
    return found[1:]
