"""A child program of navlin and the connection to it; a shell script replaces Java."""

from __future__ import annotations

import os
import signal
import time

import pytest

from navlin.java_child import Ended, JavaChild

SILENCE_S = 20.0


def child(script: str, silence_s: float = SILENCE_S) -> JavaChild:
    return JavaChild(["sh", "-c", script], silence_s)


def test_lines_and_bytes_are_read_as_written() -> None:
    echo = child("exec cat")
    echo.send(b"first\nsec")
    assert echo.line() == b"first"
    echo.send(b"ond\n\0\n\1rest")
    assert echo.line() == b"second"
    assert echo.take(3) == b"\0\n\1"
    assert echo.take(4) == b"rest"

    assert echo.runs
    assert echo.end(SILENCE_S) == "ended with code 0 and wrote nothing"
    assert not echo.runs


def test_an_exited_child_is_reported_with_its_error_output() -> None:
    failing = child("read question; echo 'no room' >&2; echo 'for a heap' >&2; exit 7")
    failing.send(b"anything\n")

    with pytest.raises(Ended, match=r"^ended with code 7: no room for a heap$"):
        failing.line()


def test_a_killed_child_has_a_negative_code() -> None:
    killed = child("exec cat")
    os.kill(killed.pid, signal.SIGKILL)

    with pytest.raises(Ended, match=r"^ended with code -9 and wrote nothing$"):
        killed.take(1)


def test_endless_error_output_does_not_block_the_child() -> None:
    complaining = child("yes complaint | head -c 1000000 >&2; echo done; exec cat")

    assert complaining.line() == b"done"
    assert len(complaining.end(SILENCE_S)) < 2_100


def test_a_silent_child_times_out() -> None:
    silent = child("exec sleep 1000", silence_s=0.1)

    with pytest.raises(TimeoutError):
        silent.take(1)
    assert silent.end() == "ended with code -9 and wrote nothing"
    assert silent.end() == "ended with code -9 and wrote nothing", "once more is harmless"


def test_an_answer_dripping_byte_by_byte_times_out() -> None:
    dripping = child("while printf x; do sleep 0.05; done", silence_s=0.5)
    begun_s = time.monotonic()

    with pytest.raises(TimeoutError):
        dripping.line()

    # Without a limit, reading would continue forever.
    assert 1.5 < time.monotonic() - begun_s < 60
    dripping.end()


def test_an_endless_answer_is_given_up() -> None:
    endless = child("exec cat /dev/zero")

    with pytest.raises(ValueError, match="a line of more than 64 MiB"):
        endless.line()

    endless.end()


@pytest.mark.parametrize("count", [-1, (512 << 20) + 1])
def test_an_impossible_byte_count_is_refused(count: int) -> None:
    announcing = child("exec cat")

    with pytest.raises(ValueError, match=f"{count} bytes"):
        announcing.take(count)

    announcing.end()
