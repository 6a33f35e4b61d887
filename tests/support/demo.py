"""``navlin demo`` as a user runs it: started in one terminal and queried from another."""

from __future__ import annotations

import codecs
import os
import pty
import re
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
PATIENCE_S: Final = 900.0
"""Timeout for work that takes half a minute on an idle machine."""
AFTERWARDS_S: Final = 60.0
CTRL_C: Final = b"\x03"
COMMAND: Final = (sys.executable, "-m", "navlin", "demo")
SERVES: Final = "queryText:forecast"
"""Text in the last line that the demo prints before it serves."""


class Demo:
    """A running demo with a separate terminal and temporary directory."""

    def __init__(self, folder: Path, *command: str) -> None:
        self.folder = folder
        self.environment = {**os.environ, "TMPDIR": str(folder)}
        self.printed = ""
        self._terminal, inside = pty.openpty()
        self._closed = threading.Event()
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=self.environment,
            preexec_fn=lambda: os.login_tty(inside),
        )
        os.close(inside)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        printed = codecs.getincrementaldecoder("utf-8")()
        with suppress(OSError):  # reading fails once the last process has left the terminal
            while not self._closed.is_set():
                if select.select([self._terminal], [], [], 0.1)[0]:
                    text = printed.decode(os.read(self._terminal, 65_536)).replace("\r", "")
                    self.printed += re.sub(r"\x1b\[[0-9;]*m", "", text)
        self._closed.wait()
        os.close(self._terminal)

    def press(self, key: bytes) -> None:
        """Send a key to the demo's terminal. For Ctrl-C, the terminal sends SIGINT to all foreground processes."""
        os.write(self._terminal, key)

    def close_terminal(self) -> None:
        """Close the terminal, as closing its window does."""
        self._closed.set()
        self._reader.join()

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Wait for a condition; fail with the output so far if it is not met in time."""
        deadline_s = time.monotonic() + PATIENCE_S
        while not condition():
            if self.process.poll() is not None:
                deadline_s = min(deadline_s, time.monotonic() + AFTERWARDS_S)
            if time.monotonic() > deadline_s:
                code = self.process.poll()
                pytest.fail(f"{what}: never (exit code {code}); printed:\n{self.printed[-3000:]}")
            time.sleep(0.1)

    def until_printed(self, words: str) -> None:
        self.until(lambda: words in self.printed, words)

    def end(self) -> int:
        """Wait until the demo ends, and return its exit code."""
        return self.process.wait(PATIENCE_S)

    def processes(self) -> dict[int, str]:
        """Map the ids of all processes related to the demo to their command lines. Related means that the working
        directory, the environment or the command line contains the demo's directory.
        """
        found = {}
        for directory in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # the process has just ended
                command = (directory / "cmdline").read_bytes()
                about = b"%s\0%s\0%s" % (
                    command,
                    (directory / "environ").read_bytes(),
                    os.fsencode(os.readlink(directory / "cwd")),
                )
                if os.fsencode(self.folder) in about:
                    found[int(directory.name)] = command.replace(b"\0", b" ").decode(errors="replace")
        return found

    def left(self) -> list[str]:
        """Processes and files of the demo that still exist."""
        return [*self.processes().values(), *map(str, self.folder.iterdir())]

    def close(self) -> None:
        while running := self.processes():
            for pid in running:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.poll()
            time.sleep(0.05)
        self.process.wait()
        self.close_terminal()


def offered(demo: Demo) -> list[str]:
    """The commands that the demo prints for use in another terminal."""
    return re.findall(r"^  (/.*|cat .*)$", demo.printed.partition("until Ctrl-C")[2], re.MULTILINE)


def printed_address(demo: Demo) -> tuple[str, str, str]:
    """(URL, user, password) of the console, as the demo prints them."""
    found = re.search(
        r"^console: (http://127\.0\.0\.1:\d+)  user: (\S+)  password: (\S+)\s*$", demo.printed, re.M
    )
    assert found is not None, demo.printed
    url, user, password = found.groups()
    return url, user, password


def pasted(demo: Demo, command: str) -> subprocess.CompletedProcess[str]:
    """Run a command as in another terminal, with ``/`` as the working directory."""
    return subprocess.run(
        ["sh", "-c", command],
        cwd="/",
        env=demo.environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
