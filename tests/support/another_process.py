"""A second navlin process with its own Spark session, which runs the pipeline on request.

Run as a program (``python -m tests.support.another_process``), this module is that process. It reads one order per line
from stdin, and writes each run's status to stdout.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from queue import Empty, SimpleQueue

from navlin.index.solr.solr import Solr, SolrAddress
from navlin.pipeline.session import start_session
from tests.support.killed_runs import REPOSITORY, session_of
from tests.support.pipeline_estate import SmallEstate

LONGEST_S = 240.0
ENDED = "the process ended"


class AnotherProcess:
    """A process that executes one run at a time. `send` signals all processes of its session, as systemd does."""

    def __init__(self, folder: Path, scratch: Path) -> None:
        self._folder = folder
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.another_process", str(scratch)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=REPOSITORY,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
            text=True,
            start_new_session=True,
        )
        self._came_to: SimpleQueue[str] = SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._came_to.put(line.strip())
        self._came_to.put(ENDED)

    def run(self, kind: str, address: SolrAddress, cluster: str, now_ms: int) -> None:
        """Start a run, ``pull`` or ``follow``; `came_to` waits for its end."""
        assert self._process.stdin is not None
        order = {"kind": kind, "address": asdict(address), "cluster": cluster, "now_ms": now_ms}
        self._process.stdin.write(json.dumps({**order, "folder": str(self._folder)}) + "\n")
        self._process.stdin.flush()

    def came_to(self, *, wait_s: float = LONGEST_S) -> str:
        """Return the status of the run, `ENDED` if the process was killed, or "" if neither happens within ``wait_s``."""
        try:
            return self._came_to.get(timeout=wait_s)
        except Empty:
            return ""

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def send(self, number: signal.Signals) -> None:
        for pid in session_of(self._process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def kill_the_driver_alone(self) -> None:
        """Kill only the driver, and leave its children to end by themselves."""
        self._process.kill()
        self._process.wait()

    def kill_its_java(self) -> None:
        for pid in session_of(self._process.pid):
            with suppress(OSError):
                if "java" in os.readlink(f"/proc/{pid}/exe"):
                    os.kill(pid, signal.SIGKILL)

    def close(self) -> None:
        self.send(signal.SIGKILL)
        self._process.wait()


def main() -> None:
    spark = start_session(Path(sys.argv[1]), settings={"spark.executorEnv.PYTHONPATH": str(REPOSITORY)})
    for line in sys.stdin:
        order = json.loads(line)
        with Solr(SolrAddress(**order["address"])) as solr:
            estate = SmallEstate(solr, lambda: spark, Path(order["folder"]), cluster=order["cluster"])
            estate.now_ms = order["now_ms"]
            record = estate.pull() if order["kind"] == "pull" else estate.follow()
        sys.stdout.write(f"{record.status}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
