"""Time that navlin takes to start, for small runs, and to answer: `serve` until it is ready, cold runs, one command.

    python -m bench starting [--rounds 3] [--tables 2000] [--before DIR]

Each figure is of processes as a person starts them, with their own embedded Solr. ``--before`` is a checkout of an older
version: the two are measured in turns on the same inputs, so that their ratio holds even under other load. CPU is that of
all processes of a command, its Solr and Spark included.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue

from rich.console import Console
from rich.table import Table

from bench._machine import load_of_machine
from bench.hms_read import fill
from navlin.cli.invocation import Exit
from tests.services.metastore import Metastore
from tests.support.served_daemon import record

REPOSITORY = Path(__file__).parents[1]
PATIENCE_S = 900.0
CHANGED = 10
COLUMNS = 20
INDEX = """\
[navlin]
cluster = "bench"
state_directory = "{state}"

[solr]
jars_directory = "{jars}/solr"
"""
IMPALA = """
[[source]]
name = "IMPALA-1"
extractor = "impala_events"
directory = "{lineage}"
"""
METASTORE = """
[[source]]
name = "HIVE-1"
extractor = "hms"
uris = ["{uri}"]
"""


@dataclass(frozen=True, slots=True)
class Took:
    """Elapsed seconds and CPU seconds."""

    whole_s: float
    processor_s: float


class Navlin:
    """One version of navlin, with its own state directory."""

    def __init__(self, checkout: Path, home: Path) -> None:
        self.checkout, self.home = checkout.resolve(), home
        self.file, self.lineage = home / "navlin.toml", home / "lineage"
        self.lineage.mkdir(parents=True)
        self.state = home / "state"
        self.lines = 0

    def empty(self) -> None:
        """Remove the index and the spool, but keep compiled files."""
        shutil.rmtree(self.state / "solr", ignore_errors=True)
        shutil.rmtree(self.state / "spool", ignore_errors=True)

    def configure(self, *sources: str, **values: object) -> None:
        jars = REPOSITORY / ".jars"
        text = INDEX + "".join(sources)
        self.file.write_text(text.format(state=self.state, jars=jars, lineage=self.lineage, **values))

    def append(self, lines: int) -> None:
        with (self.lineage / "impala_lineage_log_1.0-1700000000000").open("a") as log:
            for number in range(self.lines, self.lines + lines):
                log.write(record(number, f"bench.t{number}", "bench.origin"))
        self.lines += lines

    def _start(self, *arguments: str) -> subprocess.Popen[str]:
        # The checkout precedes the installed package, because it is Python's working directory and on the path of
        # Spark's workers.
        return subprocess.Popen(
            [sys.executable, "-m", "navlin", "--config", str(self.file), *arguments],
            cwd=self.checkout,
            env={**os.environ, "PYTHONPATH": str(self.checkout), "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str) -> Took:
        """Run a command, and measure it from start to end."""
        before_s, began_s = _processors_s(), time.perf_counter()
        process = self._start(*arguments)
        out, error = process.communicate(timeout=PATIENCE_S)
        if process.returncode not in (Exit.OK, Exit.NOTHING):
            sys.exit(f"navlin {' '.join(arguments)} of {self.checkout}: {error or out}")
        return Took(time.perf_counter() - began_s, _processors_s() - before_s)

    @contextmanager
    def serving(self) -> Iterator[tuple[float, subprocess.Popen[str], Queue[dict[str, object]]]]:
        """Run `serve`, and yield the seconds until it is ready, the process, and the log from then on."""
        began_s = time.perf_counter()
        process = self._start("serve")
        log: Queue[dict[str, object]] = Queue()
        threading.Thread(target=_read_log, args=(process, log), daemon=True).start()
        threading.Thread(target=lambda: process.stdout and process.stdout.read(), daemon=True).start()
        try:
            _await(log, "navlin ready", self.checkout)
            yield time.perf_counter() - began_s, process, log
        finally:
            process.terminate()
            process.wait(PATIENCE_S)


def _read_log(process: subprocess.Popen[str], log: Queue[dict[str, object]]) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        log.put(json.loads(line) if line.startswith("{") else {"event": line.strip()})
    log.put({"event": "ended"})


def _await(log: Queue[dict[str, object]], event: str, checkout: Path, **fields: object) -> None:
    last: object = "nothing"
    try:
        while True:
            line = log.get(timeout=PATIENCE_S)
            if line.get("event") == event and all(line.get(name) == value for name, value in fields.items()):
                return
            if line.get("event") == "ended":
                sys.exit(f"navlin of {checkout} ended: {last}")
            last = line
    except Empty:
        sys.exit(f"navlin of {checkout} did not come to '{event}': {last}")


def _processors_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(navlin: Navlin, metastore: Metastore | None) -> dict[str, Took]:
    """Measure one round of one version."""
    found: dict[str, Took] = {}
    navlin.empty()
    navlin.configure(IMPALA)
    for what in ("serve, until it is ready, new index", "serve, until it is ready"):
        before_s = _processors_s()
        with navlin.serving() as (ready_s, process, log):
            if what.endswith("ready"):
                found["a search beside serve"] = navlin.run("search", "type:TABLE", "--json")
                if metastore is not None:
                    navlin.configure(IMPALA, METASTORE, uri=metastore.uri)
                    began_s = time.perf_counter()
                    process.send_signal(signal.SIGHUP)
                    _await(log, "run finished", navlin.checkout, source="HIVE-1")
                    found["a metastore, by a serve that runs"] = Took(time.perf_counter() - began_s, 0.0)
                    navlin.configure(IMPALA)
        found[what] = Took(ready_s, _processors_s() - before_s)
    navlin.append(CHANGED)
    found[f"extract of {CHANGED} changes, cold"] = navlin.run("extract", "IMPALA-1")
    found["a search, cold"] = navlin.run("search", "type:TABLE", "--json")
    if metastore is not None:
        navlin.empty()
        navlin.configure(METASTORE, uri=metastore.uri)
        found["a metastore, cold, empty index"] = navlin.run("extract", "HIVE-1")
    return found


def shown(rounds: list[dict[str, dict[str, Took]]], title: str) -> Table:
    table = Table(title=title, caption=f"load of the machine {load_of_machine()}")
    versions = list(rounds[0])
    for heading in ("what", *versions, *(["before : now"] if len(versions) > 1 else []), "CPU now"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    for what in rounds[0]["now"]:
        whole = {version: [each[version][what].whole_s for each in rounds] for version in versions}
        cells = [f"{statistics.median(whole[version]):.1f} s" for version in versions]
        if len(versions) > 1:
            ratios = (old / new for old, new in zip(whole["before"], whole["now"], strict=True))
            cells.append(f"{statistics.median(ratios):.2f}")
        processor_s = statistics.median(each["now"][what].processor_s for each in rounds)
        table.add_row(what, *cells, f"{processor_s:.1f} s" if processor_s else "")
    return table


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--tables", type=int, default=2_000, help="of the metastore; 0 leaves it out")
    arguments.add_argument("--before", type=Path, metavar="DIR", help="a checkout of another version")
    given = arguments.parse_args()
    jars = REPOSITORY / ".jars"
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        versions = {"now": Navlin(REPOSITORY, home / "now")}
        if given.before:
            versions = {"before": Navlin(given.before, home / "before"), **versions}
        (home / "metastore").mkdir()
        metastore = Metastore(home / "metastore", jars / "hive-metastore", short_lived=False)
        title = f"median of {given.rounds} rounds"
        try:
            if given.tables:
                metastore.start()
                fill(metastore, given.tables, COLUMNS)
                title = f"a metastore of {given.tables:,} tables of {COLUMNS} columns; {title}"
            rounds = [
                {
                    name: measure(navlin, metastore if given.tables else None)
                    for name, navlin in versions.items()
                }
                for _ in range(given.rounds)
            ]
        finally:
            metastore.kill()
    Console(width=None if sys.stdout.isatty() else 130).print(shown(rounds, title))


if __name__ == "__main__":
    main()
