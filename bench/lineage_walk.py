"""Lineage, impact, evidence and inherited tags over some hundred thousand relations: their time, number of requests, and
CPU by process.

    python -m bench lineage_walk [--operations 30000] [--starts 40] [--rounds 2] [--against CHECKOUT]

With ``--against`` the code of another checkout (``git worktree add``) answers the same questions in turns with this one,
each over its own index. Every question is asked once before any is measured. "first" is the time of that first answer,
for which nothing is remembered of the graph. "bare" is an answer's requests, sent again one after the other without
processing the results. "walk" and "names" are parts of an answer: the walk from entity to entity with the paths between
shown nodes, and the display names of statements; the rest is the comparison with the index, and what a question reads
beside the walk.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from bench._index import REPOSITORY, all_tables, fill, own_solr
from bench._machine import own_java, processor_s
from bench._options import options
from bench._shown import percentile, table_of
from navlin.index.schema.fields import ELEMENTS, RELATIONS
from navlin.index.solr.solr import Solr
from navlin.model.keys import Key, column_key
from navlin.query import lineage as answering
from navlin.query.column_flows import column_flows
from navlin.query.evidence import evidence
from navlin.query.impact import impact
from navlin.query.inherited import TagOrProperty, inherited
from navlin.query.lineage import lineage
from navlin.query.options import WalkOptions

Ask = Callable[[Solr, Key], int]
"""A question about a table, which returns the size of the answer."""


def _lineage(**options: Any) -> Ask:
    asked = WalkOptions(**options)
    return lambda solr, start: len(lineage(solr, start.identity, asked).nodes)


def _inherited(solr: Solr, start: Key) -> int:
    return sum(len(origin.inherited) for origin in inherited(solr, TagOrProperty(tag_of(start))))


ASKED: dict[str, Ask] = {
    "default": _lineage(),
    "one hop": _lineage(depth=1),
    "operations": _lineage(operations=True),
    "columns": _lineage(columns=True),
    "column flows": lambda solr, start: sum(1 for _ in column_flows(solr, column_key(start, "a").identity)),
    "impact": lambda solr, start: len(impact(solr, start.identity, max_nodes=20_000).affected),
    "evidence": lambda solr, start: len(evidence(solr, start.identity, 1).statements),
    "inherited": _inherited,
}


def tag_of(table: Key) -> str:
    return f"tag-of-{table.identity}"


# -- One code: a child process, asked line by line ------------------------------------------------------------------------


@dataclass
class Measured:
    """For each query: seconds, seconds of the same query before, seconds of its Solr requests sent again, seconds of its
    walk and of its names, number of requests, and size of the answer. For all queries together: CPU seconds of Solr and of
    this process."""

    walked: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    bare: list[float] = field(default_factory=list)
    walk: list[float] = field(default_factory=list)
    names: list[float] = field(default_factory=list)
    requests: list[int] = field(default_factory=list)
    nodes: list[int] = field(default_factory=list)
    solr_s: float = 0.0
    python_s: float = 0.0


class Recorder:
    """Records the requests sent to a Solr."""

    def __init__(self, solr: Solr) -> None:
        self.requests: list[tuple[Any, Any]] = []
        self._send = solr.session.request
        solr.session.request = self.request  # type: ignore[method-assign]  # it sends the same requests

    def request(self, *args: Any, **kwargs: Any) -> Any:
        self.requests.append((args, kwargs))
        return self._send(*args, **kwargs)

    def replay(self) -> float:
        """Send the recorded requests again. Return the seconds they take."""
        began = time.perf_counter()
        for args, kwargs in self.requests:
            self._send(*args, **kwargs)
        return time.perf_counter() - began


class Parts:
    """Measures the seconds spent in the parts of an answer, which are functions of `navlin.query.lineage`."""

    def __init__(self, *names: str) -> None:
        self.seconds = dict.fromkeys(names, 0.0)
        for name in names:
            setattr(answering, name, self._timed(name, getattr(answering, name)))

    def _timed(self, name: str, part: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            began = time.perf_counter()
            try:
                return part(*args, **kwargs)
            finally:
                self.seconds[name] += time.perf_counter() - began

        return timed

    def take(self, name: str) -> float:
        """Return the seconds of a part since the last call."""
        seconds, self.seconds[name] = self.seconds[name], 0.0
        return seconds


WALK, NAMES = "_walked", "with_statement_names"


def measure(solr: Solr, recorder: Recorder, parts: Parts, starts: list[Key], ask: Ask) -> Measured:
    measured, java = Measured(), own_java()
    for start in starts:
        # The first query warms Solr's caches. A new connection remembers nothing.
        began = time.perf_counter()
        with Solr(solr.address) as new:
            ask(new, start)
        measured.first.append(time.perf_counter() - began)
        ask(solr, start)
        recorder.requests.clear()
        for part in (WALK, NAMES):
            parts.take(part)
        solr_s, python_s, began = processor_s(java), time.process_time(), time.perf_counter()
        size = ask(solr, start)
        measured.walked.append(time.perf_counter() - began)
        measured.walk.append(parts.take(WALK))
        measured.names.append(parts.take(NAMES))
        measured.python_s += time.process_time() - python_s
        measured.solr_s += processor_s(java) - solr_s
        measured.requests.append(len(recorder.requests))
        measured.nodes.append(size)
        measured.bare.append(recorder.replay())
    return measured


def answer_lines(operations: int, starts: int) -> None:
    """Read names of query kinds, one per line, and write the measurements of each as a line of JSON."""
    with tempfile.TemporaryDirectory() as state, own_solr(Path(state)) as solr:
        fill(solr, operations)
        chosen = random.Random(11).sample(all_tables(operations), starts)
        solr.add_all(ELEMENTS, [{"identity": one.identity, "tags": {"set": [tag_of(one)]}} for one in chosen])
        solr.commit(ELEMENTS, soft=False)
        # A Solr in service has compiled its hot code; a Solr just started takes half as long again.
        for start in chosen:
            for ask in ASKED.values():
                ask(solr, start)
        recorder, parts = Recorder(solr), Parts(WALK, NAMES)
        print(json.dumps({"relations": solr.count(RELATIONS), "entities": solr.count(ELEMENTS)}), flush=True)
        for line in sys.stdin:
            print(json.dumps(vars(measure(solr, recorder, parts, chosen, ASKED[line.strip()]))), flush=True)


# -- All codes, in turns --------------------------------------------------------------------------------------------------


class Code:
    """The code of one checkout, in a separate process, which has the bench of this one by way of ``links``."""

    def __init__(self, name: str, checkout: Path, links: Path, operations: int, starts: int) -> None:
        self.name = name
        self.measured = {asked: Measured() for asked in ASKED}
        command = [sys.executable, __file__, "--child", f"--operations={operations}", f"--starts={starts}"]
        environment = {**os.environ, "PYTHONPATH": f"{links}{os.pathsep}{checkout}"}
        pipe = subprocess.PIPE
        self.child = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, text=True, cwd=checkout, env=environment
        )

    def read(self) -> dict[str, Any]:
        assert self.child.stdout is not None
        answer: dict[str, Any] = json.loads(self.child.stdout.readline())
        return answer

    def ask(self, asked: str) -> None:
        assert self.child.stdin is not None
        self.child.stdin.write(asked + "\n")
        self.child.stdin.flush()
        before, more = self.measured[asked], Measured(**self.read())
        for name, value in vars(more).items():
            setattr(before, name, getattr(before, name) + value)

    def close(self) -> None:
        assert self.child.stdin is not None
        self.child.stdin.close()
        self.child.wait()


def row(code: Code, asked: str) -> list[str]:
    measured = code.measured[asked]
    count = len(measured.walked)
    return [
        asked,
        code.name,
        f"{statistics.median(measured.nodes):.0f}",
        f"{statistics.mean(measured.requests):.0f}",
        f"{percentile(measured.walked, 0.5) * 1000:.1f}",
        f"{percentile(measured.walked, 0.95) * 1000:.0f}",
        f"{percentile(measured.walk, 0.5) * 1000:.1f}",
        f"{percentile(measured.names, 0.5) * 1000:.1f}",
        f"{percentile(measured.first, 0.5) * 1000:.0f}",
        f"{percentile(measured.bare, 0.5) * 1000:.0f}",
        f"{measured.solr_s / count * 1000:.0f}",
        f"{measured.python_s / count * 1000:.0f}",
    ]


def main() -> None:
    arguments = options(__doc__, operations=30_000, starts=40, rounds=2)
    arguments.add_argument("--against", type=Path, help="a checkout whose code is asked the same")
    arguments.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    asked = arguments.parse_args()
    if asked.child:
        answer_lines(asked.operations, asked.starts)
        return
    console = Console()
    checkouts = (
        {"this": REPOSITORY} if asked.against is None else {"against": asked.against, "this": REPOSITORY}
    )
    headings = (
        "size",
        "requests",
        "p50 ms",
        "p95 ms",
        "walk p50 ms",
        "names p50 ms",
        "first p50 ms",
        "bare p50 ms",
        "Solr's CPU ms",
        "Python's CPU ms",
    )
    table = table_of("asked", "code", figures=headings)
    with ExitStack() as stack:
        links = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (links / "bench").symlink_to(REPOSITORY / "bench")
        codes = [
            Code(name, path.resolve(), links, asked.operations, asked.starts)
            for name, path in checkouts.items()
        ]
        for code in codes:
            stack.callback(code.close)
            index = code.read()
            console.print(f"{code.name}: {index['relations']:,} relations, {index['entities']:,} entities")
        for name in ASKED:
            for _ in range(asked.rounds):
                for code in codes:
                    code.ask(name)
            for code in codes:
                table.add_row(*row(code, name))
    console.print(table)


if __name__ == "__main__":
    main()
