"""A Java child process queried over a pipe. The time to wait for a response is limited, and the last error output is
kept."""

from __future__ import annotations

import os
import select
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

ENDING_S: Final = 1.0
"""Time for a process that closed its pipe to end with its own exit code."""
WHOLE: Final = 4
"""Maximum time for a whole response, as a multiple of the allowed silence."""
MOST_LINE_BYTES: Final = 64 << 20
MOST_BYTES: Final = 1 << 29
"""Maximum number of bytes that `take` returns. navlin's Java programs never send this much, nor lines of
`MOST_LINE_BYTES`."""
_CHUNK_BYTES: Final = 1 << 20
_LAST_WORDS_BYTES: Final = 2_000


class Ended(Exception):
    """The program ended without a response; the message gives the exit code and the last error output."""


class JavaChild:
    """One Java process and the pipe to it. Not thread-safe. Raises OSError if the process does not start.

    ``silence_s`` is the longest silence while a response is awaited; the whole response, counted from `send`, may take
    `WHOLE` times as long.
    """

    def __init__(self, command: Sequence[str], silence_s: float) -> None:
        self._silence_s = silence_s
        self._begun_s = time.monotonic()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C must reach only navlin, which stops this child itself
        )
        self._received = bytearray()
        self._last_words = bytearray()
        self._listening = threading.Thread(target=self._listen, name="java-stderr", daemon=True)
        self._listening.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def runs(self) -> bool:
        return self._process.poll() is None

    def send(self, data: bytes) -> None:
        """Send a request. Raises `Ended`."""
        assert self._process.stdin is not None
        self.go_on()
        try:
            self._process.stdin.write(data)
            self._process.stdin.flush()
        except BrokenPipeError:
            raise Ended(self.end(ENDING_S)) from None

    def go_on(self) -> None:
        """Restart the time limit for a response, or for its next part."""
        self._begun_s = time.monotonic()

    def line(self) -> bytes:
        """Return the next line, without its line break. Raises `Ended` or TimeoutError; ValueError if it is too
        long."""
        searched = 0
        while (end := self._received.find(b"\n", searched)) < 0:
            searched = len(self._received)
            if searched > MOST_LINE_BYTES:
                raise ValueError(f"a line of more than {MOST_LINE_BYTES >> 20} MiB")
            self._receive()
        line = bytes(self._received[:end])
        del self._received[: end + 1]
        return line

    def take(self, count: int) -> bytes:
        """Return the next ``count`` bytes. Raises `Ended` or TimeoutError; ValueError if ``count`` exceeds
        `MOST_BYTES`."""
        if not 0 <= count <= MOST_BYTES:
            raise ValueError(f"{count} bytes")
        while len(self._received) < count:
            self._receive()
        data = bytes(self._received[:count])
        del self._received[:count]
        return data

    def end(self, wait_s: float = 0.0) -> str:
        """Close the pipes, wait up to ``wait_s`` for the process to end, then kill the process. Return a sentence with
        its exit code and last error output. May be called after the process has ended."""
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with suppress(OSError):
                stream.close()
        if wait_s:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(wait_s)
        self._process.kill()
        code = self._process.wait()
        self._listening.join(ENDING_S)
        words = " ".join(bytes(self._last_words).decode(errors="replace").split())
        return f"ended with code {code}: {words}" if words else f"ended with code {code} and wrote nothing"

    def _receive(self) -> None:
        assert self._process.stdout is not None
        waiting = select.poll()
        waiting.register(self._process.stdout, select.POLLIN)
        left_s = self._begun_s + WHOLE * self._silence_s - time.monotonic()
        if not waiting.poll(max(0.0, min(self._silence_s, left_s)) * 1000) or left_s <= 0:
            raise TimeoutError
        data = os.read(self._process.stdout.fileno(), _CHUNK_BYTES)
        if not data:
            raise Ended(self.end(ENDING_S))
        self._received += data

    def _listen(self) -> None:
        """Read the program's standard error until it closes, because a full pipe would block the program."""
        assert self._process.stderr is not None
        with self._process.stderr as lines:
            for line in lines:
                self._last_words += line
                del self._last_words[:-_LAST_WORDS_BYTES]
