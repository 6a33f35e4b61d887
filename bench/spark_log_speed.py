"""Speed of turning Spark's event logs into records, compared with a scan for relevant lines and with parsing all JSON.

    python -m bench spark_log_speed [--logs DIRECTORY…] [--tasks 20000] [--rounds 3]

Each directory is one that `spark_events` follows; ``--tasks`` has Spark write one first, with the log of a statement with
that many tasks, typical because few of its lines matter. Three readings in turns, so that other load affects them alike:
records, with operations and their columns; a scan that decompresses, splits lines and looks at their first bytes, the least
that a reader can do; and every line parsed as JSON. On one core, and on two, each log going to one of them.
On one core CPU time is measured, on two elapsed time.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from urllib.parse import quote

import orjson
from rich.console import Console
from rich.table import Table

from bench._machine import load_of_machine
from extractors.spark.events import NotAnEvent, kind_of
from extractors.spark.lines import LogLines
from extractors.spark.spark_events import LogSplit, SparkEvents
from navlin.model.plan import Positions
from navlin.model.records import Entity, Relation, Split
from navlin.model.source import SPARK, Estate, Source

SOURCE = Source("spark-1", SPARK, "SPARK-1", "bench")
NOW_MS = 4_000_000_000_000
"""A time long after every log here was written, so that all applications count as ended."""
MAX_LINE_BYTES = 512 << 20


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--logs", nargs="+", type=Path, default=[], metavar="DIRECTORY")
    arguments.add_argument("--tasks", type=int, default=20_000, help="0: no log of our own")
    arguments.add_argument("--rounds", type=int, default=3)
    given = arguments.parse_args()
    table = Table("logs", "MB", "events", "records", *_COLUMNS, title="MB of event log a second")
    with tempfile.TemporaryDirectory(prefix="navlin-bench-") as scratch:
        own = [written(Path(scratch), given.tasks)] if given.tasks else []
        for directory in (*own, *given.logs):
            table.add_row(*measured(directory, given.rounds))
    console = Console()
    console.print(table)
    console.print(f"MB as Spark wrote them, without compression; load of the machine {load_of_machine()}")


_COLUMNS = ("to records", "scan", "JSON", "to records, two cores", "scan, two cores", "records : scan")

Reading = Callable[[SparkEvents, Split], tuple[int, int]]


def measured(directory: Path, rounds: int) -> list[str]:
    """Return the measurements of a directory as one row of the table. Raises OSError if the directory cannot be
    listed."""
    extractor = SparkEvents(SOURCE, Estate("bench", (SOURCE,)), str(directory), max_line_bytes=MAX_LINE_BYTES)
    splits = extractor.plan(Positions({}, NOW_MS)).splits
    size = sum(as_written(extractor, split) for split in splits) / 1e6
    rates: dict[str, list[float]] = {name: [] for name in _COLUMNS[:-1]}
    counts = dict.fromkeys(_COLUMNS, (0, 0))
    with ProcessPoolExecutor(2) as pool:
        list(pool.map(len, ([], [])))  # starts the processes before anything is measured
        for _ in range(rounds):
            for name, reading in zip(_COLUMNS, (records, scanned, parsed), strict=False):
                started = time.process_time()
                found = [reading(extractor, split) for split in splits]
                rates[name].append(size / (time.process_time() - started))
                counts[name] = (sum(one for one, _ in found), sum(other for _, other in found))
            for name, reading in zip(_COLUMNS[3:], (records, scanned), strict=False):
                started = time.perf_counter()
                list(pool.map(partial(reading, extractor), splits))
                rates[name].append(size / (time.perf_counter() - started))
    medians = {name: statistics.median(each) for name, each in rates.items()}
    share = medians["to records"] / medians["scan"]
    return [
        directory.name,
        f"{size:.1f}",
        f"{counts['scan'][0]:,}",
        f"{counts['to records'][1]:,}",
        *(f"{medians[name]:.0f}" for name in _COLUMNS[:-1]),
        f"{share:.2f}",
    ]


def _lines(extractor: SparkEvents, split: Split) -> Iterator[bytes]:
    if isinstance(split, LogSplit):
        lines = LogLines(
            extractor.place,
            split.parts,
            None,
            last_line=True,
            max_line_bytes=MAX_LINE_BYTES,
            max_bytes=1 << 60,
        )
        yield from (line.data for line in lines)


def written(scratch: Path, tasks: int) -> Path:
    """Run a statement with this many tasks, and return the directory of its event log."""
    logs = scratch / f"{tasks} tasks"
    logs.mkdir()
    statement = f"session.range({tasks * 10}, numPartitions={tasks}).selectExpr('id', 'id % 7 as k')"
    program = (
        "from pyspark.sql import SparkSession\n"
        "session = SparkSession.builder.master('local[2]').config('spark.ui.enabled', 'false')"
        f".config('spark.eventLog.enabled', 'true').config('spark.eventLog.dir', 'file://{quote(str(logs))}')"
        ".getOrCreate()\n"
        f"{statement}.where('k = 1').groupBy('k').count().write.parquet('file://{scratch}/counted')\n"
        "session.stop()\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, cwd=scratch)
    return logs


def as_written(extractor: SparkEvents, split: Split) -> int:
    return sum(len(line) for line in _lines(extractor, split))


def records(extractor: SparkEvents, split: Split) -> tuple[int, int]:
    """Return the number of entities and the number of all records of a log."""
    runs = extracted = 0
    todo = [split]
    while todo:
        for record in extractor.read(todo.pop()):
            match record:
                case Split():
                    todo.append(record)
                case Entity() | Relation():
                    extracted += 1
                    runs += isinstance(record, Entity)
                case _:
                    pass
    return runs, extracted


def scanned(extractor: SparkEvents, split: Split) -> tuple[int, int]:
    """Return the number of lines of a log and the number of relevant ones."""
    lines = matter = 0
    for line in _lines(extractor, split):
        lines += 1
        try:
            matter += kind_of(line) is not None
        except NotAnEvent:
            continue
    return lines, matter


def parsed(extractor: SparkEvents, split: Split) -> tuple[int, int]:
    """Return the number of lines of a log and the number of those that are JSON."""
    lines = good = 0
    for line in _lines(extractor, split):
        lines += 1
        try:
            orjson.loads(line)
            good += 1
        except orjson.JSONDecodeError:
            continue
    return lines, good


if __name__ == "__main__":
    main()
