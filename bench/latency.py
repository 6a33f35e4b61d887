"""Time until a line that Impala appends to its lineage file is searchable and linked, with ``navlin serve`` running.

    python -m bench latency [--appends 200]

It starts its own service with its own Solr; the tables that the lines name are already in the index, as if from a metastore.
A line counts as through when a search finds its statement and both its table and its column are linked to it. Lines follow
after random pauses of up to a second, each once the one before it is through.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench._index import REPOSITORY
from bench._machine import load_of_machine
from bench._options import options
from bench._shown import percentile, table_of
from navlin.index.schema.fields import ELEMENTS, RELATIONS, RUNS
from navlin.index.schema.stamp import Stamp
from navlin.index.solr.solr import Solr
from navlin.index.write.documents import entity_envelope
from navlin.index.write.writing import Outcome, write
from navlin.model.keys import Key, column_key, table_key
from navlin.model.records import Entity
from navlin.model.source import HIVE, Source, source_id
from navlin.solr_server.embedded import running_solr
from tests.support.served_daemon import record

PATIENCE_S = 120.0
LONGEST_PAUSE_S = 1.0
ASK_EVERY_S = 0.01
NOW_MS = 1_800_000_000_000
METASTORE = Source(source_id("bench", "HIVE-1"), HIVE, "HIVE-1", "bench")

CONFIGURATION = """\
[navlin]
cluster = "bench"
state_directory = "state"

[[source]]
name = "IMPALA-1"
extractor = "impala_events"
directory = "{lineage}"

# Nobody listens there: its tables are in the index by other means.
[[source]]
name = "HIVE-1"
extractor = "hms"
uris = ["thrift://127.0.0.1:9"]
interval_s = 86400
"""


def keys(name: str) -> tuple[Key, Key]:
    table = table_key(METASTORE, "bench", name)
    return table, column_key(table, "id")


def lay_tables(solr: Solr, appends: int) -> None:
    """Index the tables as a run of the metastore's extractor would."""
    names = ["origin", *(f"t{number}" for number in range(appends + 1))]
    entities = [Entity(key, NOW_MS) for name in names for key in keys(name)]
    judged = [(entity_envelope(entity), Outcome.NEW) for entity in entities]
    list(write(solr, ELEMENTS, judged, Stamp("bench##1", NOW_MS)))
    for core in (ELEMENTS, RELATIONS):
        solr.commit(core, soft=True)


@contextmanager
def served(home: Path, appends: int) -> Iterator[tuple[Solr, list[dict[str, Any]]]]:
    """Start a service, and yield its Solr and its log."""
    lineage = home / "lineage"
    lineage.mkdir()
    (home / "navlin.toml").write_text(CONFIGURATION.format(lineage=lineage))
    process = subprocess.Popen(
        [sys.executable, "-m", "navlin", "--config", str(home / "navlin.toml"), "serve"],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    log: list[dict[str, Any]] = []

    def listen() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            log.append(json.loads(line) if line.startswith("{") else {"event": line.strip()})

    threading.Thread(target=listen, daemon=True).start()
    try:
        deadline_s = time.monotonic() + PATIENCE_S
        while not any(line.get("event") == "navlin ready" for line in log):
            if time.monotonic() > deadline_s or process.poll() is not None:
                sys.exit(f"navlin did not start: {log[-5:]}")
            time.sleep(0.2)
        address = running_solr(home / "state")
        assert address is not None
        with Solr(address) as solr:
            lay_tables(solr, appends)
            yield solr, log
    finally:
        process.terminate()
        process.wait(60)


def append(lineage: Path, number: int, solr: Solr) -> float:
    """Append one line. Return the seconds until it is searchable and linked."""
    table, column = keys(f"t{number}")
    linked = f"endpoint2Ids:({table.identity} OR {column.identity}) AND type:DATA_FLOW AND unlinked:false"
    began = time.perf_counter()
    with (lineage / "impala_lineage_log_1.0-1700000000000").open("a") as file:
        file.write(record(number, f"bench.t{number}", "bench.origin"))
    while time.perf_counter() - began < PATIENCE_S:
        if solr.count(RELATIONS, linked) == 2 and solr.count(ELEMENTS, f'queryText:"bench.t{number}"'):
            return time.perf_counter() - began
        time.sleep(ASK_EVERY_S)
    sys.exit(f"line {number} was not through after {PATIENCE_S:.0f} s")


def measure(home: Path, appends: int) -> Table:
    rng = random.Random(5)
    with served(home, appends) as (solr, log):
        warm_s = append(home / "lineage", appends, solr)
        begun = load_of_machine()
        taken = []
        for number in range(appends):
            time.sleep(rng.uniform(0, LONGEST_PAUSE_S))
            taken.append(append(home / "lineage", number, solr))
        solr.commit(RUNS, soft=True)
        runs_ms = [line["took_ms"] for line in log if line.get("event") == "run finished"]
        failed = [
            line for line in log if line.get("event") == "run failed" and line.get("source") == "IMPALA-1"
        ]
    shown = table_of(
        "what",
        figures=("p50", "p90", "p99", "most"),
        title=f"{appends} lines appended to a lineage file",
        caption=f"load of the machine {begun} to {load_of_machine()}; {len(failed)} runs failed",
    )
    run_s = [each / 1000 for each in runs_ms[1:]]
    for what, values in (("searchable and linked", taken), ("a whole run, to its record", run_s)):
        each_s = (statistics.median(values), percentile(values, 0.9), percentile(values, 0.99), max(values))
        shown.add_row(what, *(f"{each:.2f} s" for each in each_s))
    shown.add_row("the first line after the start", f"{warm_s:.2f} s")
    return shown


def main() -> None:
    given = options(__doc__, appends=200).parse_args()
    with tempfile.TemporaryDirectory() as directory:
        Console().print(measure(Path(directory), given.appends))


if __name__ == "__main__":
    main()
