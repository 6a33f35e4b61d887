"""Speed of turning an fsimage into records and documents, compared with Hadoop's OfflineImageViewerPB on the same image.

    python -m bench fsimage [--inodes 1000000] [--rounds 3] [--growth 200000,500000,1000000,3000000] [--documents 200000]

The image is generated: blocks, deep and wide directories, names as Spark and Hive give them, and the sub-sections that the
viewer needs for its two threads. Readers run in turns, each in its own process, timed from start to end. The growth ends
with the time and memory for 70 million inodes, extrapolated linearly from its sizes. `--documents 0` leaves Solr out.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table as Shown

from bench._machine import load_of_machine
from extractors.hdfs import Hdfs
from navlin.index.admin.cores import CORES
from navlin.model.extractor import EXTRACTORS
from navlin.model.source import HDFS, Estate, Source, source_id
from navlin.pipeline.run import Pipeline
from navlin.pipeline.session import start_session
from navlin.shipped import CONF
from navlin.solr_server.embedded import EmbeddedSolr, SolrSettings
from tests.support.large_images import LargeImage, write_large_image

REPOSITORY = Path(__file__).parents[1]
VIEWER = "org.apache.hadoop.hdfs.tools.offlineImageViewer.OfflineImageViewerPB"
SUB_SECTIONS = 12
"""Default of dfs.image.parallel.target.sections."""
FAR = 70_000_000
MIB = 1024 * 1024
WIDTH = 130
"""Width of the table if the output is a file."""


@dataclass(frozen=True, slots=True)
class Taken:
    """Resources that one reader used for one image."""

    whole_s: float
    processor_s: float
    rows: int
    peaks_bytes: tuple[int, ...]
    """Peak memory of each of the reader's processes."""
    prepare_s: float = 0.0
    read_s: float = 0.0
    scratch_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Bench:
    """The working directory, and the memory limits of the readers."""

    folder: Path
    memory_mib: int
    heap: str
    console: Console = field(default_factory=lambda: Console(stderr=True))

    def navlin(self, image: LargeImage, what: str, processes: int) -> Taken:
        scratch = self.folder / "scratch"
        scratch.mkdir()
        command = [sys.executable, "-m", "bench._image_reader", str(image.path), str(scratch), what]
        command += [str(processes), str(self.memory_mib)]
        figures_file = self.folder / "figures"
        whole_s, used = self._timed(command, REPOSITORY, figures_file)
        shutil.rmtree(scratch)
        figures = json.loads(figures_file.read_bytes())
        assert figures["rows"] == image.inodes, f"{figures['rows']} rows of {image.inodes} inodes"
        return Taken(
            whole_s,
            used.ru_utime + used.ru_stime,
            figures["rows"],
            tuple(figures["peaks_bytes"]),
            figures["prepare_s"],
            figures["read_s"],
            figures["scratch_bytes"],
        )

    def viewer(self, image: LargeImage, threads: int) -> Taken:
        """Run the viewer as one process with this many threads, writing tab-separated lines to a file."""
        found = importlib.util.find_spec("pyspark")
        assert found is not None and found.submodule_search_locations
        spark_jars = Path(next(iter(found.submodule_search_locations))) / "jars"
        hadoop_jars = REPOSITORY / ".jars" / "hadoop"
        assert hadoop_jars.is_dir(), "Hadoop's jars are missing: `make jars` fetches them"
        into = self.folder / "lines"
        command = ["java", f"-Xmx{self.heap}", "-cp", f"{hadoop_jars}/*:{spark_jars}/*", VIEWER]
        command += ["-i", str(image.path), "-p", "Delimited", "-m", str(threads), "-o", str(into)]
        whole_s, used = self._timed(command, self.folder, self.folder / "viewer.out")
        with into.open("rb") as lines:
            rows = sum(chunk.count(b"\n") for chunk in iter(lambda: lines.read(MIB), b"")) - 1
        for file in self.folder.glob("lines*"):
            file.unlink()
        assert rows == image.inodes, f"{rows} lines of {image.inodes} inodes"
        return Taken(whole_s, used.ru_utime + used.ru_stime, rows, (used.ru_maxrss * 1024,))

    def _timed(self, command: list[str], directory: Path, into: Path) -> tuple[float, resource.struct_rusage]:
        """Return the wall time of a process, and its resource usage including the children that it waited for. The
        process's output goes to a file."""
        errors = self.folder / "errors"
        begun = time.perf_counter()
        with into.open("wb") as output, errors.open("wb") as error:
            process = subprocess.Popen(command, cwd=directory, stdout=output, stderr=error)
            _, status, used = os.wait4(process.pid, 0)
        whole_s = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0, errors.read_text()[-2_000:]
        return whole_s, used

    def image(self, inodes: int) -> LargeImage:
        begun = time.perf_counter()
        made = write_large_image(self.folder / f"fsimage_{inodes:019}", inodes, sub_sections=SUB_SECTIONS)
        took_s = time.perf_counter() - begun
        self.console.print(
            f"{made.inodes:,} inodes, {made.image_bytes / MIB:,.0f} MiB, made in {took_s:.0f} s"
        )
        return made


def side_by_side(bench: Bench, inodes: int, rounds: int) -> Shown:
    """Run every reader in turns on the same image."""
    image = bench.image(inodes)
    ways: dict[str, Callable[[], Taken]] = {
        "viewer -m 1": partial(bench.viewer, image, 1),
        "viewer -m 2": partial(bench.viewer, image, 2),
        "records, 1 process": partial(bench.navlin, image, "rows", 1),
        "records, 2 processes": partial(bench.navlin, image, "rows", 2),
        "documents, 1 process": partial(bench.navlin, image, "envelopes", 1),
        "documents, 2 processes": partial(bench.navlin, image, "envelopes", 2),
    }
    taken: dict[str, list[Taken]] = {name: [] for name in ways}
    loads = [load_of_machine()]
    for number in range(rounds):
        for name, work in ways.items():
            taken[name].append(work())
            bench.console.print(f"round {number + 1}: {name}: {taken[name][-1].whole_s:.2f} s")
        loads.append(load_of_machine())
    image.path.unlink()
    shown = Shown(
        title=f"{image.inodes:,} inodes, {image.image_bytes / MIB:,.0f} MiB, median of {rounds} rounds",
        caption=f"load of the machine from round to round: {', '.join(loads)}",
    )
    for heading in ("into", "of -m 1", "of -m 2", "by CPU", "inodes/s", "time", "CPU", "first pass", "peaks"):
        shown.add_column(heading, justify="left" if heading == "into" else "right", no_wrap=True)
    one, two = taken["viewer -m 1"], taken["viewer -m 2"]
    for name, every in taken.items():
        median_s = statistics.median(each.whole_s for each in every)
        prepare_s = statistics.median(each.prepare_s for each in every)
        shown.add_row(
            name,
            f"{_ratio(one, every):.2f}",
            f"{_ratio(two, every):.2f}",
            f"{_processor_ratio(one, every):.2f}",
            f"{image.inodes / median_s:,.0f}",
            f"{median_s:.2f} s",
            f"{statistics.median(each.processor_s for each in every):.2f} s",
            f"{prepare_s:.2f} s" if prepare_s else "",
            _mib(every[-1].peaks_bytes),
        )
    return shown


def growth(bench: Bench, sizes: list[int]) -> Shown:
    """Run two processes on images of growing size, and extrapolate linearly to a far larger image."""
    taken: dict[int, Taken] = {}
    for inodes in sizes:
        image = bench.image(inodes)
        taken[inodes] = bench.navlin(image, "rows", 2)
        bench.console.print(f"{inodes:,}: {taken[inodes].whole_s:.2f} s")
        image.path.unlink()
    shown = Shown(
        title="growth, into records, 2 processes", caption=f"load of the machine: {load_of_machine()}"
    )
    for heading in ("inodes", "time", "CPU", "first pass", "rows", "inodes/s", "peaks", "scratch"):
        shown.add_column(heading, justify="right", no_wrap=True)
    for inodes, each in taken.items():
        shown.add_row(*_growth_row(f"{inodes:,}", inodes, each))
    if len(sizes) > 1:
        shown.add_section()
        shown.add_row(*_growth_row(f"{FAR:,} by the line", FAR, _far(taken)))
    return shown


def into_solr(bench: Bench, inodes: int) -> Shown:
    """Run the pipeline, from the plan to the run record, into an empty index as the daemon does, and again with
    nothing changed."""
    image = bench.image(inodes)
    source = Source(source_id("bench", "HDFS"), HDFS, "HDFS", "bench", ("hdfs://bench",))
    estate = Estate("bench", (source,), spool=str(bench.folder / "spool"))
    hdfs = Hdfs(source, estate, "hdfs://bench", image=str(image.path), events=False, exclude=())
    jars = REPOSITORY / ".jars" / "solr"
    shown = Shown(title=f"{image.inodes:,} inodes into Solr", caption=f"load: {load_of_machine()}")
    for heading in ("what", "time", "inodes/s"):
        shown.add_column(heading, justify="left" if heading == "what" else "right", no_wrap=True)
    with EmbeddedSolr(
        bench.folder / "state",
        jars,
        CONF / "solr",
        cores=CORES,
        settings=SolrSettings(memory="2g"),
        cache=jars.parent / "solr-launcher",
    ) as server:
        environment = {"spark.executorEnv.PYTHONPATH": str(REPOSITORY)}
        spark = start_session(bench.folder / "spark", settings=environment)
        pipeline = Pipeline(server.address, lambda: spark, lambda: round(time.time() * 1000))
        for what in ("an empty index", "nothing changed"):
            begun = time.perf_counter()
            record = pipeline.run(EXTRACTORS["hdfs"], hdfs, complete=True)
            took_s = time.perf_counter() - begun
            assert not record.error and not record.failures, (record.error, record.failures)
            shown.add_row(what, f"{took_s:.1f} s", f"{image.inodes / took_s:,.0f}")
        spark.stop()
    image.path.unlink()
    return shown


def _growth_row(name: str, inodes: int, each: Taken) -> tuple[str, ...]:
    return (
        name,
        f"{each.whole_s:.1f} s",
        f"{each.processor_s:.1f} s",
        f"{each.prepare_s:.1f} s",
        f"{each.read_s:.1f} s",
        f"{inodes / each.whole_s:,.0f}",
        _mib(each.peaks_bytes),
        f"{each.scratch_bytes / MIB:,.0f} MiB",
    )


def _far(taken: dict[int, Taken]) -> Taken:
    """Extrapolate to `FAR` inodes by least squares. Memory is extrapolated by the line through the two largest
    images, because its limit takes effect only on large images."""

    def at_far(values: list[float]) -> float:
        sizes = list(map(float, taken))[-len(values) :]
        slope, intercept = statistics.linear_regression(sizes, values)
        return slope * FAR + intercept

    every = list(taken.values())
    peaks = zip(*(each.peaks_bytes for each in every[-2:]), strict=True)
    return Taken(
        at_far([each.whole_s for each in every]),
        at_far([each.processor_s for each in every]),
        FAR,
        tuple(round(at_far([float(peak) for peak in process])) for process in peaks),
        at_far([each.prepare_s for each in every]),
        at_far([each.read_s for each in every]),
        round(at_far([float(each.scratch_bytes) for each in every])),
    )


def _ratio(slower: list[Taken], faster: list[Taken]) -> float:
    """Return the median speed-up over the rounds. Other load on the machine affects both readers of a round."""
    return statistics.median(a.whole_s / b.whole_s for a, b in zip(slower, faster, strict=True))


def _processor_ratio(slower: list[Taken], faster: list[Taken]) -> float:
    """Return the median ratio of CPU times over the rounds. Other load affects CPU time far less than wall time."""
    return statistics.median(a.processor_s / b.processor_s for a, b in zip(slower, faster, strict=True))


def _mib(peaks_bytes: tuple[int, ...]) -> str:
    return " + ".join(f"{peak / MIB:,.0f}" for peak in peaks_bytes) + " MiB"


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--inodes", type=int, default=1_000_000, help="of the image that all read")
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--growth", default="200000,500000,1000000,3000000", help="sizes, or nothing")
    arguments.add_argument("--documents", type=int, default=200_000, help="inodes that go into Solr, or 0")
    arguments.add_argument("--memory", type=int, default=64, help="MiB that navlin's first pass may have")
    arguments.add_argument("--heap", default="6g", help="what the viewer's JVM may have")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        bench = Bench(Path(directory), given.memory, given.heap)
        console = Console() if sys.stdout.isatty() else Console(width=WIDTH)
        if given.inodes:
            console.print(side_by_side(bench, given.inodes, given.rounds))
        if given.growth:
            console.print(growth(bench, [int(size) for size in given.growth.split(",")]))
        if given.documents:
            console.print(into_solr(bench, given.documents))


if __name__ == "__main__":
    main()
