"""Walks of the graph on a busy machine: what they leave to others, and what that costs those who ask."""

from __future__ import annotations

import time
from pathlib import Path

import anyio
import pytest

from navlin.api.walking import PRESSURE, REST, Walking

WALK_S = 1.5
"""Long beside what a busy machine takes for anything else here."""


def pressed(file: Path, waited_s: float) -> None:
    """The kernel's file as Linux writes it, with so many seconds in which something waited for a processor."""
    of_all = "full avg10=0.00 avg60=0.00 avg300=0.00 total=0"
    file.write_text(f"some avg10=61.00 avg60=9.10 avg300=2.00 total={round(waited_s * 1e6)}\n{of_all}\n")


def pause_after_a_walk(file: Path, waited_s: float, fails: bool = False) -> float:
    """From the end of a walk, during which something waited so long, to the begin of the next one. Asserts that the answer
    to the first came at once."""
    walking = Walking(most=1, pressure=file)
    ended_s: list[float] = []

    def walk() -> str:
        time.sleep(WALK_S)
        if waited_s:
            pressed(file, 100 + waited_s)
        ended_s.append(time.monotonic())
        if fails:
            raise ValueError("no such table")
        return "the first"

    async def both() -> float:
        try:
            assert await walking.run(walk) == "the first"
            assert not fails
        except ValueError:
            assert fails
        assert time.monotonic() - ended_s[0] < WALK_S * REST
        return await walking.run(time.monotonic)

    return anyio.run(both) - ended_s[0]


@pytest.mark.parametrize("fails", [False, True])
def test_after_a_walk_for_which_others_waited_the_next_one_waits_as_long(tmp_path: Path, fails: bool) -> None:
    file = tmp_path / "cpu"
    pressed(file, 100)
    pause_s = pause_after_a_walk(file, WALK_S, fails)
    assert pause_s >= 0.9 * REST * WALK_S


def test_never_does_the_next_walk_wait_for_longer_than_that_took(tmp_path: Path) -> None:
    file = tmp_path / "cpu"
    pressed(file, 100)
    assert pause_after_a_walk(file, 3_600) < 5 * WALK_S


@pytest.mark.parametrize("file", ["absent", "unchanged", "other"])
def test_a_walk_for_which_nobody_waited_is_followed_at_once(tmp_path: Path, file: str) -> None:
    pressure = tmp_path / "cpu"
    if file == "unchanged":
        pressed(pressure, 100)
    elif file == "other":
        pressure.write_text("what a later kernel may write\n")
    assert pause_after_a_walk(pressure, 0) < 0.8 * REST * WALK_S


def test_the_kernel_of_this_machine_is_understood() -> None:
    if not PRESSURE.exists():
        pytest.skip("this kernel has no pressure stall information")
    assert Walking()._waited_s() > 0
