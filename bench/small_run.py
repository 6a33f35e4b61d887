"""Cost of a run that reads one record: processor time by step and process, Solr's requests, and Spark's jobs and stages.

    python -m bench small_run [--runs 30] [--against CHECKOUT]

Each run reads one new line of Impala's lineage log; the tables that it names are not in the index. With ``--against``
the code of another checkout (``git worktree add``) runs in turns with this one, each with its own Solr and Spark. The
first ten runs are not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession
from rich.console import Console

from bench._index import REPOSITORY, own_solr
from bench._machine import load_of_machine, own_java, processes, processor_s
from bench._options import options
from bench._shown import percentile, table_of
from extractors.impala_events import ImpalaEvents
from navlin.index.solr.connection import SolrSession
from navlin.index.solr.solr import Solr
from navlin.model.extractor import EXTRACTORS
from navlin.model.source import IMPALA, Estate, Source, source_id
from navlin.pipeline.run import Pipeline
from navlin.pipeline.session import start_session
from navlin.pipeline.warming import warm_up
from tests.support.served_daemon import record

WARMING: Final = 10
PROCESSES: Final = ("driver", "Spark", "workers", "Solr")
BEFORE: Final = "before plan"

# -- One code: a child process, asked line by line ------------------------------------------------------------------------


def requests_by_kind() -> Counter[str]:
    """Count the requests of this process to Solr from now on, by kind: the core and what is asked of it."""
    counts: Counter[str] = Counter()
    send = SolrSession.request

    def request(self: SolrSession, method: Any, url: Any, *args: Any, **kwargs: Any) -> Any:
        core, _, what = str(url).removeprefix(self.address.url).strip("/").partition("/")
        body = kwargs.get("data") or b""
        text = body if isinstance(body, bytes) else str(body).encode()
        if what.startswith("update") and b"<commit" in text:
            what = "soft commit" if b'softCommit="true"' in text else "commit"
        counts[f"{core} {what.partition('?')[0]}"] += 1
        return send(self, method, url, *args, **kwargs)

    SolrSession.request = request  # type: ignore[method-assign]  # it sends the same requests
    return counts


@dataclass
class Costs:
    """For each run: seconds. For all together: CPU seconds by step and process, and counts."""

    seconds: list[float] = field(default_factory=list)
    processor_s: dict[str, dict[str, float]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, other: Costs) -> None:
        self.seconds += other.seconds
        for step, of_step in other.processor_s.items():
            for process, seconds in of_step.items():
                known = self.processor_s.setdefault(step, {})
                known[process] = known.get(process, 0.0) + seconds
        for what, count in other.counts.items():
            self.counts[what] = self.counts.get(what, 0) + count


class Measured:
    """A source with its Solr and its Spark, which is run and measured."""

    def __init__(self, folder: Path, solr: Solr, java: int, spark: SparkSession) -> None:
        source = Source(source_id("bench", "impala"), IMPALA, "impala", "bench")
        self.log = folder / "impala_lineage_log_1.0-1700000000000"
        self.extractor = ImpalaEvents(source, Estate("bench", (source,)), str(folder), "*")
        self.pipeline = Pipeline(solr.address, lambda: spark, lambda: round(time.time() * 1000))
        self.solr_process, self.spark = java, spark
        gateway: Any = spark.sparkContext._gateway
        self.spark_process = int(gateway.proc.pid)
        self.lines = 0
        warm_up(self.pipeline, [self.extractor])

    def run(self, requests: Counter[str]) -> Costs:
        with self.log.open("a") as file:
            file.write(record(self.lines, f"bench.t{self.lines}"))
        self.lines += 1
        spent: dict[str, dict[str, float]] = defaultdict(dict)
        step, before = BEFORE, self._processor_s()

        def begin(name: str) -> None:
            nonlocal step, before
            now = self._processor_s()
            for process, seconds in now.items():
                spent[step][process] = spent[step].get(process, 0.0) + seconds - before[process]
            step, before = name, now

        requests.clear()
        jobs, stages = self._jobs()
        began_s = time.perf_counter()
        ended = self.pipeline.run(EXTRACTORS["impala_events"], self.extractor, step=begin)
        seconds = time.perf_counter() - began_s
        begin("")
        assert not ended.error, ended.error
        assert ended.counts.records, ended
        jobs_after, stages_after = self._jobs()
        spark = {"Spark: jobs": jobs_after - jobs, "Spark: stages": stages_after - stages}
        return Costs(
            [seconds], dict(spent), {**spark, **{f"Solr: {name}": n for name, n in requests.items()}}
        )

    def _jobs(self) -> tuple[int, int]:
        scheduler: Any = self.spark.sparkContext._jsc.sc().dagScheduler()
        return int(scheduler.numTotalJobs()), int(scheduler.nextStageId())

    def _processor_s(self) -> dict[str, float]:
        parents = processes()
        workers = [each for each in parents if _is_below(each, self.spark_process, parents)]
        own = (os.getpid(), self.spark_process, self.solr_process)
        driver_s, spark_s, solr_s = map(processor_s, own)
        return {
            "driver": driver_s,
            "Spark": spark_s,
            "workers": sum(processor_s(each, with_children=True) for each in workers),
            "Solr": solr_s,
        }


def _is_below(process: int, above: int, parents: dict[int, int]) -> bool:
    while process in parents:
        process = parents[process]
        if process == above:
            return True
    return False


def answer_lines() -> None:
    """For each line read, run once and write the costs as a line of JSON."""
    requests = requests_by_kind()
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        (folder / "log").mkdir()
        solr = stack.enter_context(own_solr(folder / "state"))
        java = own_java()
        spark = start_session(folder / "scratch")
        stack.callback(spark.stop)
        measured = Measured(folder / "log", solr, java, spark)
        for _ in range(WARMING):
            measured.run(requests)
        print("{}", flush=True)
        for _ in sys.stdin:
            print(json.dumps(vars(measured.run(requests))), flush=True)


# -- All codes, in turns --------------------------------------------------------------------------------------------------


class Code:
    """The code of one checkout, in a separate process, which has the bench of this one by way of ``links``."""

    def __init__(self, name: str, checkout: Path, links: Path) -> None:
        self.name, self.costs = name, Costs()
        environment = {**os.environ, "PYTHONPATH": f"{links}{os.pathsep}{checkout}"}
        command, pipe = [sys.executable, __file__, "--child"], subprocess.PIPE
        self.child = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, text=True, cwd=checkout, env=environment
        )
        self._read()

    def _read(self) -> dict[str, Any]:
        assert self.child.stdout is not None
        read: dict[str, Any] = json.loads(self.child.stdout.readline())
        return read

    def run(self) -> None:
        assert self.child.stdin is not None
        self.child.stdin.write("run\n")
        self.child.stdin.flush()
        self.costs.add(Costs(**self._read()))

    def close(self) -> None:
        assert self.child.stdin is not None
        self.child.stdin.close()
        self.child.wait()


def rows(codes: list[Code], runs: int) -> Iterator[list[str]]:
    """Yield the rows of the table: what, and a figure of each code."""

    def row(what: str, figure: Callable[[Costs], str]) -> list[str]:
        return [what, *(figure(code.costs) for code in codes)]

    def ms(costs: Costs, *, step: str | None = None, process: str | None = None) -> str:
        found = (
            seconds
            for name, of_step in costs.processor_s.items()
            for of, seconds in of_step.items()
            if step in (None, name) and process in (None, of)
        )
        return f"{sum(found) / runs * 1000:.0f} ms"

    def a_run(costs: Costs, *, what: str) -> str:
        return f"{costs.counts.get(what, 0) / runs:.1f}"

    yield row("a run, p50", lambda costs: f"{percentile(costs.seconds, 0.5) * 1000:.0f} ms")
    yield row("a run, p99", lambda costs: f"{percentile(costs.seconds, 0.99) * 1000:.0f} ms")
    yield row("processor time", ms)
    for process in PROCESSES:
        yield row(f"  {process}", partial(ms, process=process))
    for step in dict.fromkeys(step for code in codes for step in code.costs.processor_s):
        yield row(f"  step: {step}", partial(ms, step=step))
        for process in PROCESSES:
            yield row(f"    {process}", partial(ms, step=step, process=process))
    for what in sorted({what for code in codes for what in code.costs.counts}):
        yield row(what, partial(a_run, what=what))
    yield row("Solr: requests of the driver", lambda costs: f"{_requests(costs) / runs:.1f}")


def _requests(costs: Costs) -> int:
    return sum(count for what, count in costs.counts.items() if what.startswith("Solr: "))


def main() -> None:
    arguments = options(__doc__, runs=30)
    arguments.add_argument("--against", type=Path, help="a checkout whose code runs in turns with this one")
    arguments.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    asked = arguments.parse_args()
    if asked.child:
        answer_lines()
        return
    checkouts = {"this": REPOSITORY} | ({"against": asked.against} if asked.against else {})
    begun = load_of_machine()
    with ExitStack() as stack:
        links = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (links / "bench").symlink_to(REPOSITORY / "bench")
        codes = []
        for name, path in checkouts.items():
            codes.append(Code(name, path.resolve(), links))
            stack.callback(codes[-1].close)
        for _ in range(asked.runs):
            for code in codes:
                code.run()
        table = table_of("what", figures=[code.name for code in codes], title="a run with one record")
        for row in rows(codes, asked.runs):
            table.add_row(*row)
    table.caption = f"load of the machine {begun} to {load_of_machine()}"
    Console().print(table)


if __name__ == "__main__":
    main()
