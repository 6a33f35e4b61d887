"""``navlin demo`` as a user runs it: in its own terminal, queried from another one."""

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
"""Limit for work that takes half a minute on a quiet machine."""
AFTERWARDS_S: Final = 60.0
CTRL_C: Final = b"\x03"
COMMAND: Final = (sys.executable, "-m", "navlin", "demo")
SERVES: Final = "queryText:forecast"
"""The last line printed before it serves."""


class Demo:
    """A running demo with its own terminal and its own temporary directory."""

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
        with suppress(OSError):  # the terminal closes with its last user
            while not self._closed.is_set():
                if select.select([self._terminal], [], [], 0.1)[0]:
                    text = printed.decode(os.read(self._terminal, 65_536)).replace("\r", "")
                    self.printed += re.sub(r"\x1b\[[0-9;]*m", "", text)
        self._closed.wait()
        os.close(self._terminal)

    def press(self, key: bytes) -> None:
        """Presses a key on its keyboard. The terminal turns Ctrl-C into a SIGINT to all processes in its foreground."""
        os.write(self._terminal, key)

    def close_terminal(self) -> None:
        """Does what closing its window does."""
        self._closed.set()
        self._reader.join()

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Waits for a condition; fails with the output so far if it does not come true."""
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
        """Waits for its end; returns its exit code."""
        return self.process.wait(PATIENCE_S)

    def processes(self) -> dict[int, str]:
        """All processes related to it: its directory is their working directory, or is in their environment or command
        line.
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
        """Processes and files that it left."""
        return [*self.processes().values(), *map(str, self.folder.iterdir())]

    def close(self) -> None:
        """Kills all its processes, whatever happened."""
        while running := self.processes():
            for pid in running:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.poll()
            time.sleep(0.05)
        self.process.wait()
        self.close_terminal()


def offered(demo: Demo) -> list[str]:
    """The commands that it prints for another terminal."""
    return re.findall(r"^  (/.*|cat .*)$", demo.printed.partition("until Ctrl-C")[2], re.MULTILINE)


def printed_address(demo: Demo) -> tuple[str, str, str]:
    """The console that it prints: its URL, a user and the password."""
    found = re.search(
        r"^console: (http://127\.0\.0\.1:\d+)  user: (\S+)  password: (\S+)\s*$", demo.printed, re.M
    )
    assert found is not None, demo.printed
    url, user, password = found.groups()
    return url, user, password


def pasted(demo: Demo, command: str) -> subprocess.CompletedProcess[str]:
    """Runs a command in another terminal, in any directory."""
    return subprocess.run(
        ["sh", "-c", command],
        cwd="/",
        env=demo.environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
