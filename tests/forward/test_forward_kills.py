"""Agent and navlin are killed at random while logs grow, are renamed and roll. Each byte arrives once."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from navlin.access.host_tokens import HostTokens
from navlin.forward import agent
from tests.support.other_hosts import NO_INDEX, SOURCES
from tests.support.web import CONFIGURATION

BETWEEN_S = (0.3, 3.0)
"""Shortest and longest time between two kills."""
COMPLETE_WITHIN_S = 600.0


class Writer(threading.Thread):
    """Writes lines in halves and rolls a log of random bytes, until it is told to end."""

    def __init__(self, logs: Path, seed: str) -> None:
        super().__init__()
        self.logs, self.random, self.ended = logs, random.Random(seed), threading.Event()
        self.rolling = logs / "spark" / "eventlog_v2_app_1"
        self.rolling.mkdir(parents=True)
        (logs / "impala").mkdir()

    def run(self) -> None:
        number, part = 0, 1
        lines = (self.logs / "impala" / "impala_lineage_log_1.0-0").open("ab", buffering=0)
        rolled = (self.rolling / "events_1_app_1").open("ab", buffering=0)
        while not self.ended.is_set():
            line = b'{"queryText": "%d %s"}\n' % (number, b"x" * self.random.randrange(10, 20_000))
            half = self.random.randrange(len(line))
            lines.write(line[:half])
            self.ended.wait(0.01)
            lines.write(line[half:])
            rolled.write(self.random.randbytes(self.random.randrange(1, 60_000)))
            number += 1
            if self.random.random() < 0.01:
                os.rename(lines.name, f"{lines.name}.1")
                lines.close()
                lines = (self.logs / "impala" / f"impala_lineage_log_1.0-{number}").open("ab", buffering=0)
            if self.random.random() < 0.02:
                rolled.close()
                part += 1
                rolled = (self.rolling / f"events_{part}_app_1").open("ab", buffering=0)
            self.ended.wait(0.02)
        lines.close()
        rolled.close()


class Processes:
    """A navlin web at a fixed port and an agent, each started again after it was killed."""

    def __init__(self, home: Path, logs: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.home = home
        text = CONFIGURATION.format(url=NO_INDEX.url, user="").replace("port = 0", f"port = {port}")
        (home / "navlin.toml").write_text(text + SOURCES)
        (home / "solr.password").write_text("")
        (home / "token").write_text(HostTokens(home / "state").add("one", ("IMPALA-1", "SPARK-1"), 0))
        web = [sys.executable, "-m", "navlin", "--config", str(home / "navlin.toml"), "web"]
        forward = [sys.executable, agent.__file__, "--url", f"http://127.0.0.1:{port}/navlin"]
        forward += ["--token-file", str(home / "token"), "--poll", "0.2"]
        forward += ["--source", f"IMPALA-1={logs / 'impala'}", "--source", f"SPARK-1={logs / 'spark'}"]
        self.commands = {"web": web, "agent": forward}
        self.running = {name: self.start(name) for name in self.commands}

    def start(self, name: str) -> subprocess.Popen[bytes]:
        with (self.home / f"{name}.log").open("ab") as log:
            return subprocess.Popen(self.commands[name], stderr=log)

    def kill(self, name: str) -> None:
        self.running[name].send_signal(signal.SIGKILL)
        self.running[name].wait()
        self.running[name] = self.start(name)

    def end(self) -> None:
        for each in self.running.values():
            each.kill()
            each.wait()


def contents(directory: Path) -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    for each in sorted(directory.rglob("*")):
        try:
            found += [(str(each.relative_to(directory)), each.read_bytes())] if each.is_file() else []
        except FileNotFoundError:
            continue  # it was renamed at this moment
    return found


def forward_through_kills(home: Path, seed: str, kills: int) -> None:
    logs, chosen = home / "logs", random.Random(seed)
    writer = Writer(logs, seed)
    processes = Processes(home, logs)
    try:
        writer.start()
        for number in range(2 * kills):
            time.sleep(chosen.uniform(*BETWEEN_S))
            processes.kill(("web", "agent")[number % 2])
        writer.ended.set()
        writer.join()
        top, deadline_s = home / "state" / "forwarded" / "hosts" / "one", time.monotonic() + COMPLETE_WITHIN_S
        pairs = (("impala", "IMPALA-1"), ("spark", "SPARK-1"))
        while not all(contents(logs / of) == contents(top / source) for of, source in pairs):
            if time.monotonic() > deadline_s:
                names = {of: [name for name, _ in contents(top / source)] for of, source in pairs}
                pytest.fail(f"not complete: {names}")
            time.sleep(1.0)
        # Nothing is there twice either: each file has one id.
        ids = [each for each in (top / ".ids").rglob("*") if each.is_file()]
        assert len(ids) == sum(len(contents(logs / of)) for of, _ in pairs)
    finally:
        writer.ended.set()
        processes.end()


@pytest.mark.services
def test_each_byte_arrives_once_though_both_ends_are_killed(tmp_path: Path) -> None:
    forward_through_kills(tmp_path, "1", 3)


@pytest.mark.soak
def test_each_byte_arrives_once_though_both_ends_are_killed_often(tmp_path: Path, seed: str) -> None:
    forward_through_kills(tmp_path, seed, 50)
