"""``navlin serve`` as systemd runs it: its log, its messages to systemd, and its child processes."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from navlin.index.schema.fields import ELEMENTS
from navlin.index.solr.solr import Solr, SolrError
from navlin.solr_server.embedded import running_solr

ROOT = Path(__file__).parents[2]
AFTERWARDS_S = 300.0
PATIENCE_S = 240.0
"""Timeout for steps that take seconds on an idle machine."""

CONFIGURATION = """\
[navlin]
cluster = "daemon"
state_directory = "state"

[solr]
memory = "512m"

[log]
level = "debug"

[[source]]
name = "IMPALA-1"
extractor = "impala_events"
directory = "{home}/impala"

# Nobody listens there: a source that fails at every interval.
[[source]]
name = "HIVE-1"
extractor = "hms"
uris = ["thrift://127.0.0.1:9"]
interval_s = 1
"""


def record(number: int, target: str, origin: str = "daemon.origin") -> str:
    """A line of Impala's lineage log: the column id of ``origin`` is written to the column id of ``target``."""
    text = " ".join(["INSERT INTO", target, "SELECT id FROM", origin])
    column = {"tableName": target, "tableCreateTime": 1_700_000_000}
    source = {"tableName": origin, "tableCreateTime": 1_700_000_000}
    return (
        json.dumps(
            {
                "queryText": text,
                "queryId": f"{number:016x}:0000000000000001",
                "hash": f"{number:032x}",
                "user": "etl",
                "timestamp": 1_700_000_000 + number,
                "endTime": 1_700_000_001 + number,
                "edges": [{"sources": [1], "targets": [0], "edgeType": "PROJECTION"}],
                "vertices": [
                    {"id": 0, "vertexType": "COLUMN", "vertexId": "id", "metadata": column},
                    {"id": 1, "vertexType": "COLUMN", "vertexId": f"{origin}.id", "metadata": source},
                ],
            }
        )
        + "\n"
    )


class Served:
    """A running ``navlin serve``, with its log and its messages to systemd."""

    def __init__(
        self, home: Path, *, environment: Mapping[str, str] = os.environ, before: Sequence[str] = ()
    ) -> None:
        """Start ``navlin serve``. ``before`` is a prefix of the command line."""
        self.home = home
        self.file = home / "navlin.toml"
        self.state = home / "state"
        self.state.mkdir(exist_ok=True)
        launcher = self.state / "solr-launcher"
        if not launcher.exists():
            # Share the compiled launcher among all tests, together with the class data archive that is written when
            # Solr first stops.
            launcher.symlink_to(ROOT / ".jars" / "solr-launcher")
        self.log: list[dict[str, Any]] = []
        self.reported: list[str] = []
        self._numbers = iter(range(1, 1_000_000))
        (home / "notify").unlink(missing_ok=True)
        self._manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._manager.bind(str(home / "notify"))
        environment = {**environment, "NOTIFY_SOCKET": str(home / "notify"), "WATCHDOG_USEC": "60000000"}
        self.process = subprocess.Popen(
            [*before, sys.executable, "-m", "navlin", "--config", str(self.file), "serve"],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        threading.Thread(target=self._read_log, daemon=True).start()
        threading.Thread(target=self._receive, daemon=True).start()

    def _read_log(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            # Java processes write plain text to the same stream.
            self.log.append(json.loads(line) if line.startswith("{") else {"event": line.strip()})

    def _receive(self) -> None:
        with suppress(OSError):  # the socket is closed at the end of the test
            while True:
                self.reported.extend(self._manager.recv(4_096).decode().splitlines())

    def until(self, condition: Callable[[], Any], what: str) -> Any:
        """Wait until a condition returns a true value, and return it. Fails with the end of the log if that takes too
        long.
        """
        deadline = time.monotonic() + PATIENCE_S
        ended_s = 0.0
        while time.monotonic() < deadline:
            if found := condition():
                return found
            if self.process.poll() is not None:
                # The process has ended: wait only a little longer, for its children to end.
                ended_s = ended_s or time.monotonic()
                deadline = min(deadline, ended_s + AFTERWARDS_S)
            time.sleep(0.05)
        reported = "\n".join(map(str, self.log[-30:]))
        pytest.fail(
            f"{what}: not within {PATIENCE_S:.0f} s (exit code {self.process.poll()}); log:\n{reported}"
        )

    def logged(self, event: str, *, after: int = 0, **fields: Any) -> dict[str, Any]:
        """Wait for a log line with this event and these fields, starting at line ``after``, and return it."""

        def find() -> dict[str, Any] | None:
            for line in self.log[after:]:
                if line.get("event") == event and all(
                    line.get(key) == value for key, value in fields.items()
                ):
                    return line
            return None

        found: dict[str, Any] = self.until(find, f"the log's {event!r} {fields or ''}")
        return found

    def append(self, target: str) -> None:
        """Append a record for the table ``target`` to Impala's log."""
        with (self.home / "impala" / "impala_lineage_log_1.0-1700000000000").open("a") as file:
            file.write(record(next(self._numbers), target))

    def runs(self, source: str) -> bool:
        """Whether the daemon reports that a source is running."""
        due_s = json.loads((self.state / "daemon.json").read_bytes())["due_s"]
        return source in due_s and due_s[source] is None

    def find(self, query: str) -> int:
        """The number of entities that the running Solr finds; 0 if it does not answer."""
        address = running_solr(self.state)
        if address is None:
            return 0
        try:
            with Solr(address) as solr:
                return solr.count(ELEMENTS, query)
        except SolrError:
            return 0

    def ask(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "navlin", "--config", str(self.file), *arguments]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S)

    def children(self) -> list[int]:
        """Process ids of all descendants."""
        parents = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    stat = (entry / "stat").read_text().rpartition(")")[2].split()
                except OSError:
                    continue
                parents[int(entry.name)] = int(stat[1])
        found = [self.process.pid]
        for pid in found:
            found.extend(child for child, parent in parents.items() if parent == pid)
        return found[1:]

    def running(self, words: str) -> list[int]:
        """Process ids of the descendants whose command line contains ``words``."""
        return [pid for pid in self.children() if words in Path(f"/proc/{pid}/cmdline").read_text()]

    def java(self, words: str) -> int:
        """Process id of the first descendant whose command line contains ``words``; fails if there is none."""
        found = self.running(words)
        if not found:
            pytest.fail(f"no child with {words} on its command line")
        return found[0]

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self._manager.close()


def served(home: Path, solr_jars: Path) -> Served:
    (home / "impala").mkdir()
    (home / "navlin.toml").write_text(CONFIGURATION.format(home=home))
    return ready(Served(home))


def ready(started: Served) -> Served:
    try:
        started.until(lambda: "READY=1" in started.reported, "READY=1")
    except BaseException:
        started.end()
        raise
    return started


def gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()
