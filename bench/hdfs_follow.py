"""navlin following a real NameNode under random operations, compared with fresh images document by document.

    python -m bench hdfs_follow [--operations 10000] [--every 500] [--gaps 2] [--kills 4] [--seed 1] [--among 1000000]

After every ``--every`` operations navlin follows, an image is saved, read as a new source, and all documents of both are
compared. In between the NameNode forgets edits that were not followed yet, and navlin's process is killed while it follows.
At the end it measures a round without any change, and one with ten changed files; and both once more among very many
files.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import SparkSession
from rich.console import Console
from rich.progress import track
from rich.table import Table

from bench._machine import load_of_machine
from bench.linking_growth import commit, put
from navlin.index.admin.cores import CORES
from navlin.index.journal.runs import RunRecord, Status
from navlin.index.schema.fields import ELEMENTS, RELATIONS
from navlin.index.schema.stamp import Stamp
from navlin.index.solr.solr import Solr
from navlin.index.write.documents import entity_envelope
from navlin.model.identity import run_id
from navlin.model.keys import EntityType, listed_path_key
from navlin.model.records import Entity
from navlin.pipeline.session import start_session
from navlin.shipped import CONF
from navlin.solr_server.embedded import EmbeddedSolr
from tests.services.hadoop import Hadoop
from tests.services.hdfs import Writer
from tests.support.hdfs_estate import FIRST_MS, HdfsEstate, Killed, differences
from tests.support.hdfs_operations import Operations

REPOSITORY = Path(__file__).parents[1]
FORGETFUL = {"dfs.namenode.num.extra.edits.retained": "2", "dfs.namenode.num.checkpoints.retained": "1"}
STEPS = ("read", "reconcile and write", "link", "save")
QUIET_ROUNDS = 50
TEN_FILES_ROUNDS = 7
FILES_IN_DIRECTORY = 1_000


@dataclass
class Figures:
    compared: int = 0
    documents: int = 0
    unlike: list[str] = field(default_factory=list)
    rounds_s: list[float] = field(default_factory=list)
    images_s: list[float] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    reached: list[str] = field(default_factory=list)


@dataclass
class Bench:
    """An HDFS, and navlin following it."""

    hadoop: Hadoop
    happening: Operations
    estate: HdfsEstate
    scratch: Path
    console: Console
    figures: Figures = field(default_factory=Figures)

    def follow(self) -> RunRecord:
        begun_s = time.perf_counter()
        record = self.estate.follow()
        took_s = time.perf_counter() - begun_s
        if record.status not in (Status.FINISHED, Status.IDLE) or record.failures:
            sys.exit(f"a run failed: {record}")
        if record.note:
            self.figures.notes.append(record.note)
            self.figures.images_s.append(took_s)
            return self.follow()  # events since the image
        self.figures.rounds_s.append(took_s)
        return record

    def compare(self) -> None:
        self.hadoop.save_namespace()
        followed = self.estate.documents()
        unlike = differences(followed, self.estate.fresh())
        self.figures.compared += 1
        self.figures.documents += len(followed)
        self.figures.unlike += unlike
        summary = f"{self.happening.done} operations: {len(followed)} documents, {len(unlike)} unlike"
        self.console.print(f"{summary}; round {self.figures.rounds_s[-1]:.1f} s", highlight=False)
        for line in unlike[:5]:
            self.console.print(f"  {line}", highlight=False)

    def gap(self) -> None:
        """Make the NameNode forget new edits before navlin follows them."""
        for _ in range(2):
            self.happening.do(20)
            self.hadoop.roll_edits()
            self.hadoop.save_namespace()

    def kill(self, step: str) -> None:
        """Start to follow in a separate process, and kill that process at a step."""
        process = Killed(self.estate, self.scratch / f"scratch-{self.happening.done}")
        try:
            self.figures.reached.append(process.follow_until(step)[-1])
        finally:
            process.kill()
        self.estate.now_ms += 100_000


def run(bench: Bench, operations: int, every: int, gaps: int, kills: int, rng: random.Random) -> None:
    """Run all operations, with gaps and kills at random points between them."""
    bench.follow()
    turns = max(1, operations // every)
    mishaps = [*(("gap", ""),) * gaps, *(("kill", STEPS[n % len(STEPS)]) for n in range(kills))]
    at = dict(zip(rng.sample(range(turns), min(turns, len(mishaps))), mishaps, strict=False))
    for turn in range(turns):
        bench.happening.do(every)
        match at.get(turn):
            case ("gap", _):
                bench.gap()
            case ("kill", step):
                bench.kill(step)
        bench.follow()
        bench.compare()


@dataclass(frozen=True, slots=True)
class Rounds:
    """Costs of single rounds over an index of ``documents``."""

    documents: int
    quiet_ms: tuple[float, ...]
    ten_s: tuple[float, ...]
    ten_written: set[int]


def rounds(bench: Bench) -> Rounds:
    """Measure rounds without any change, and rounds after ten files have changed."""
    documents = bench.estate.solr.count(ELEMENTS) + bench.estate.solr.count(RELATIONS)
    while bench.follow().status is not Status.IDLE:
        pass
    quiet = []
    for _ in range(QUIET_ROUNDS):
        begun_s = time.perf_counter()
        record = bench.estate.follow()
        quiet.append((time.perf_counter() - begun_s) * 1000)
        if record.status is not Status.IDLE:
            sys.exit(f"something happened after all: {record}")
    files = [path for path, directory in bench.happening.things.items() if not directory][:10]
    took_s, written = [], set()
    for _ in range(TEN_FILES_ROUNDS):
        for path in files:
            bench.happening.writer.append(path, b"ten")
        begun_s = time.perf_counter()
        written.add(bench.estate.follow().counts.changed)
        took_s.append(time.perf_counter() - begun_s)
    return Rounds(documents, tuple(quiet), tuple(took_s), written)


def fill(bench: Bench, files: int) -> None:
    """Add this many files to the index, as if an earlier run had written them."""
    source = bench.estate.extractor().source
    stamp = Stamp(run_id(source.id, 1), FIRST_MS)
    for first in track(range(0, files, FILES_IN_DIRECTORY), "filling the index", transient=True):
        paths = [f"/filler/d{first}/f{number}" for number in range(min(FILES_IN_DIRECTORY, files - first))]
        keys = [listed_path_key(source, path, EntityType.FILE) for path in paths]
        put(bench.estate.solr, [entity_envelope(Entity(key, FIRST_MS)) for key in keys], stamp)
    commit(bench.estate.solr)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--operations", type=int, default=10_000)
    parser.add_argument("--every", type=int, default=500, help="operations between two comparisons")
    parser.add_argument("--gaps", type=int, default=2)
    parser.add_argument("--kills", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--among", type=int, default=1_000_000, help="files in the index at the end; 0: only those"
    )
    options = parser.parse_args()
    console = Console()
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), options, console)


def measure(folder: Path, options: argparse.Namespace, console: Console) -> None:
    jars = REPOSITORY / ".jars"
    launchers = jars / "hadoop-launcher"
    spark: list[SparkSession] = []

    def session() -> SparkSession:
        if not spark:
            spark.append(start_session(folder / "spark"))
        return spark[0]

    with (
        EmbeddedSolr(
            folder / "state", jars / "solr", CONF / "solr", cores=CORES, cache=jars / "solr-launcher"
        ) as server,
        Hadoop(folder / "hadoop", jars / "hadoop", cache=launchers, settings=FORGETFUL) as hadoop,
        Writer(hadoop, launchers) as writer,
        Solr(server.start()) as solr,
    ):
        bench = Bench(
            hadoop,
            Operations(writer, "/data", options.seed),
            _estate(solr, session, folder, hadoop),
            folder,
            console,
        )
        console.print(f"seed {options.seed}", highlight=False)
        begun_s = time.perf_counter()
        run(
            bench, options.operations, options.every, options.gaps, options.kills, random.Random(options.seed)
        )
        took_s = time.perf_counter() - begun_s
        bench.happening.close()
        measured = [rounds(bench)]
        if options.among:
            fill(bench, options.among)
            measured.append(rounds(bench))
        console.print(summary(bench, measured, took_s, options.every))
        for running in spark:
            running.stop()
    if bench.figures.unlike:
        sys.exit(1)


def summary(bench: Bench, measured: list[Rounds], took_s: float, every: int) -> Table:
    figures = bench.figures
    images = f"{len(figures.images_s)}, {statistics.median(figures.images_s):.1f} s (median)"
    table = Table(title="following a NameNode", show_header=False)
    table.add_row("operations", f"{bench.happening.done} in {took_s:.0f} s, comparisons included")
    table.add_row(
        "comparisons with a fresh image", f"{figures.compared}, {figures.documents} documents in all"
    )
    table.add_row("documents unlike", str(len(figures.unlike)))
    table.add_row("whole images", images)
    table.add_row("of them after a gap", str(sum("no edits" in note for note in figures.notes)))
    table.add_row("killed at", ", ".join(figures.reached) or "never")
    table.add_row(
        f"a round after {every} operations", f"{statistics.median(figures.rounds_s):.1f} s (median)"
    )
    for each in measured:
        among = f"among {each.documents:,} documents"
        quiet = f"{statistics.median(each.quiet_ms):.1f} ms (median), at most {max(each.quiet_ms):.1f} ms"
        table.add_row(f"a round in which nothing happened, {among}", quiet)
        seconds = f"{statistics.median(each.ten_s):.1f} s (median), at most {max(each.ten_s):.1f} s"
        ten = f"{seconds}; documents written: {', '.join(map(str, each.ten_written))}"
        table.add_row(f"a round after ten files changed, {among}", ten)
    table.add_row("load of the machine", load_of_machine())
    return table


def _estate(solr: Solr, session: Callable[[], SparkSession], folder: Path, hadoop: Hadoop) -> HdfsEstate:
    settings = {"url": hadoop.url, "hadoop_configuration_directory": str(hadoop.configuration_directory)}
    return HdfsEstate(solr, session, folder / "spool", settings)
