"""Graph walks on a busy machine: resources left to other processes, and the delay for the caller."""

from __future__ import annotations

import time
from pathlib import Path

import anyio
import pytest

from navlin.api.walking import PRESSURE, REST, Walking

REST_S = 1.5 / REST
"""Duration of a walk, in seconds, after which the pause is long enough to be measured."""
HOUR_S = 3_600.0
SOON_S = 300.0
"""Time limit, in seconds. A pause of an hour would exceed it on any machine."""


def pressed(file: Path, waited_s: float) -> None:
    """Write the kernel's pressure file as Linux does. ``waited_s`` is the time that tasks waited for a processor."""
    of_all = "full avg10=0.00 avg60=0.00 avg300=0.00 total=0"
    file.write_text(f"some avg10=61.00 avg60=9.10 avg300=2.00 total={round(waited_s * 1e6)}\n{of_all}\n")


class Walks:
    """Two consecutive walks. By its own clock the first walk takes ``took_s``, during which tasks wait for a
    processor for ``waited_s``."""

    def __init__(self, file: Path, took_s: float, waited_s: float, fails: bool = False) -> None:
        self.events: list[str] = []
        self._file, self._took_s, self._waited_s, self._fails = file, took_s, waited_s, fails
        self._now_s = self._ended_s = 0.0
        self._walking = Walking(most=1, pressure=file, clock=lambda: self._now_s)

    def pause_s(self) -> float:
        """Return the seconds from the end of the first walk to the start of the second. Fail after `SOON_S`."""
        return anyio.run(self._both)

    async def _both(self) -> float:
        with anyio.fail_after(SOON_S):
            async with anyio.create_task_group() as asking:
                asking.start_soon(self._first)
                while not self.events:
                    await anyio.sleep(0.01)
                began_s = await self._walking.run(self._begin)
        return began_s - self._ended_s

    async def _first(self) -> None:
        try:
            assert await self._walking.run(self._walk) == "an answer"
        except ValueError:
            assert self._fails
        self.events.append("answered")

    def _walk(self) -> str:
        self.events.append("walks")
        self._now_s += self._took_s
        if self._waited_s:
            pressed(self._file, 100 + self._waited_s)
        self._ended_s = time.monotonic()
        if self._fails:
            raise ValueError("no such table")
        return "an answer"

    def _begin(self) -> float:
        self.events.append("walks again")
        return time.monotonic()


@pytest.mark.parametrize("fails", [False, True])
def test_a_walk_that_delayed_others_is_followed_by_a_pause(tmp_path: Path, fails: bool) -> None:
    file = tmp_path / "cpu"
    pressed(file, 100)
    walks = Walks(file, HOUR_S, REST_S, fails)
    assert walks.pause_s() >= 0.9 * REST * REST_S
    assert walks.events == ["walks", "answered", "walks again"], "the answer does not wait for the pause"


def test_the_pause_is_never_longer_than_the_walk(tmp_path: Path) -> None:
    file = tmp_path / "cpu"
    pressed(file, 100)
    assert Walks(file, REST_S, HOUR_S).pause_s() >= 0.9 * REST * REST_S


@pytest.mark.parametrize("file", ["absent", "unchanged", "other"])
def test_a_walk_that_delayed_no_process_is_followed_at_once(tmp_path: Path, file: str) -> None:
    pressure = tmp_path / "cpu"
    if file == "unchanged":
        pressed(pressure, 100)
    elif file == "other":
        pressure.write_text("what a later kernel may write\n")
    assert Walks(pressure, HOUR_S, 0).pause_s() < SOON_S


def test_the_pressure_file_of_this_kernel_is_read() -> None:
    if not PRESSURE.exists():
        pytest.skip("this kernel has no pressure stall information")
    assert Walking()._waited_s() > 0
