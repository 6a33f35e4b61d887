"""The processes that the demo starts, and their descendants: however it ends, none of them remains."""

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

# Looked up here, because little may be done between fork and exec.
_PRCTL: Final = ctypes.CDLL(None).prctl
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
AGAIN_S: Final = 1.0
"""Longest time for an interrupt to break off the work."""
DEATH_S: Final = 30.0
"""Longest time for the system to end killed processes."""


class Interrupted(BaseException):
    """A signal requests the end. Not an Exception, so that it is not taken for a failure."""


@contextmanager
def interruptible() -> Iterator[None]:
    """A context in which SIGINT, SIGTERM and SIGHUP raise `Interrupted`.

    Afterwards no signal interrupts an orderly end. But it kills all remaining processes, because a person who presses
    Ctrl-C again will not wait any longer.
    """
    inside = True

    def handle(_number: int, _frame: FrameType | None) -> None:
        if inside:
            # Python discards exceptions raised while it forks or finalizes: then it is raised again.
            signal.setitimer(signal.ITIMER_REAL, AGAIN_S)
            raise Interrupted
        _kill(_descendants())

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # A user who started it with `nohup` wants it to continue without a terminal.
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
    """For ``preexec_fn``: the child is killed when the thread that starts it ends, even by kill -9."""
    _PRCTL(_PR_SET_PDEATHSIG, signal.SIGKILL)


def adopt_orphans() -> None:
    """From now on a descendant whose parent ends becomes a child of this process, so that `kill_all` finds it.

    YARN's containers are such: each has a session of its own, and looks for its ResourceManager for a quarter of an
    hour.
    """
    _PRCTL(_PR_SET_CHILD_SUBREAPER, 1)


def kill_all() -> None:
    """Kills every descendant, even those started meanwhile, and waits for their end."""
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
        with suppress(OSError):  # it has just ended
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    found = [os.getpid()]
    for pid in found:
        found.extend(child for child, parent in parents.items() if parent == pid)
    return found[1:]
