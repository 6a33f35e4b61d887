"""Measurements during an attack: response times, memory, and the time until a new line is found."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from pathlib import Path

from tests.attacks.house import House, free_port

BARE = """
import socket, sys
s = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=512)
while True:
    c, _ = s.accept()
    try:
        c.settimeout(5); c.recv(4096)
        c.sendall(b"HTTP/1.1 200 OK\\r\\ncontent-length: 3\\r\\nconnection: close\\r\\n\\r\\nok\\n")
    except OSError:
        pass
    c.close()
"""


def rss_mib(pid: int, what: str = "VmRSS") -> float:
    try:
        found = re.search(what + r":\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0.0
    return int(found[1]) / 1024 if found else 0.0


class Watch:
    """Measurements during an attack: response times of three URLs compared with a bare listener, memory of the web
    process, and the time until a line of Impala is found.
    """

    def __init__(self, own: House, line: bool = True) -> None:
        self.own, self.line = own, line
        self.ended = threading.Event()
        self.times: dict[str, list[float]] = {"bare": [], "/healthz": [], "/readyz": [], "/metrics": []}
        self.failed: list[str] = []
        self.most_mib = 0.0
        self.found_s: float | None = None
        self.bare_port = free_port()

    def __enter__(self) -> Watch:
        self.bare = subprocess.Popen([sys.executable, "-c", BARE, str(self.bare_port)])
        time.sleep(0.5)
        self.metrics = "Bearer " + self.own.token("admin")
        self.web = self.own.web_pid()
        # The first question waits for the first snapshot, as after an idle time.
        self.own.ask("/metrics", user=None, limit_s=30, headers={"Authorization": self.metrics})
        self.threads = [
            threading.Thread(target=run, daemon=True) for run in (self._ask, self._weigh, self._find)
        ]
        for thread in self.threads:
            thread.start()
        return self

    def _ask(self) -> None:
        while not self.ended.is_set():
            for name, times in self.times.items():
                path, port = ("/", self.bare_port) if name == "bare" else (name, self.own.port)
                more = {"Authorization": self.metrics} if name == "/metrics" else {}
                # One address has so many connections and no more: the attack takes those of another one.
                answer = self.own.ask(
                    path, user=None, port=port, limit_s=30, headers=more, source="127.0.0.7"
                )
                times.append(answer.seconds)
                if name != "bare" and answer.status != 200:
                    self.failed.append(f"{name}: {answer.status}")
            time.sleep(0.05)

    def _weigh(self) -> None:
        while not self.ended.wait(0.3):
            self.most_mib = max(self.most_mib, rss_mib(self.web))

    def _find(self) -> None:
        if self.line and not self.ended.wait(2):
            self.found_s = self.own.line_s()

    def __exit__(self, *error: object) -> None:
        self.threads[2].join(100)
        self.ended.set()
        for thread in self.threads[:2]:
            thread.join(40)
        self.bare.kill()
        self.bare.wait()
        if error[0] is not None:
            return
        p99 = {name: sorted(times)[int(len(times) * 0.99)] for name, times in self.times.items() if times}
        for name in ("/healthz", "/readyz", "/metrics"):
            beyond_ms = (p99.get(name, 30) - p99.get("bare", 0)) * 1000
            what = f"meanwhile {name}: p99 {beyond_ms:.0f} ms more than a bare listener, of {len(self.times[name])}"
            self.own.room.see(beyond_ms <= 100, what)
        self.own.room.see(not self.failed, f"meanwhile these answered each time {self.failed[:3]}")
        self.own.room.see(
            self.most_mib < 300, f"meanwhile the web process had {self.most_mib:.0f} MiB at most"
        )
        if self.line:
            limit_s = max(5.0, 2 * self.own.quiet_s)
            found_s = 999.0 if self.found_s is None else self.found_s
            self.own.room.see(
                found_s <= limit_s,
                f"meanwhile a line of Impala was found in {found_s:.1f} s (limit {limit_s:.1f})",
            )
