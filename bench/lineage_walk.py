"""Lineage answers over some hundred thousand relations: their time, number of requests, and CPU by process.

    python bench/lineage_walk.py [--operations N] [--starts N] [--rounds N] [--against CHECKOUT]

With ``--against`` the code of another checkout (``git worktree add``) answers the same questions in turns with this one,
each over its own index. Every question is asked once before any is measured. "bare" is an answer's requests, sent again
one after the other without processing the results.
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
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from navlin.index.schema.fields import ELEMENTS, RELATIONS
from navlin.index.solr.solr import Solr
from navlin.model.identity import relation_id
from navlin.model.keys import Key, RelationType, column_key, operation_key, sub_operation_key, table_key
from navlin.model.source import HIVE, IMPALA, Source, source_id
from navlin.query.lineage import lineage
from navlin.query.options import Options
from navlin.shipped import CONF

REPOSITORY = Path(__file__).parents[1]
HMS = Source(source_id("bench", "hms"), HIVE, "hms", "bench")
ENGINE = Source(source_id("bench", "impala"), IMPALA, "impala", "bench")
BATCH = 5_000
ASKED = {
    "default": Options(),
    "one hop": Options(depth=1),
    "operations": Options(operations=True),
    "columns": Options(columns=True),
}
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


# -- The index ---------------------------------------------------------------------------------------------------------


def fill(solr: Solr, operations: int) -> None:
    """Index tables of two columns in layers. Statements derive each table from one to four tables of earlier
    layers."""
    rng = random.Random(7)
    tables = all_tables(operations)
    documents: dict[str, list[dict[str, Any]]] = {ELEMENTS: [], RELATIONS: []}
    for table in tables:
        put(solr, documents, ELEMENTS, entity(table))
        for name in ("a", "b"):
            put(solr, documents, ELEMENTS, entity(column_key(table, name)))
    for number in range(operations):
        target = rng.randrange(50, len(tables))
        sources = {rng.randrange(max(0, target - 2_000), target) for _ in range(rng.randint(1, 4))}
        operation = operation_key(ENGINE, f"insert {number}", ())
        put(solr, documents, ELEMENTS, entity(operation))
        part = sub_operation_key(operation, "a")
        put(solr, documents, ELEMENTS, entity(part))
        flows = [(tables[each], operation) for each in sources] + [(operation, tables[target])]
        flows += [(column_key(tables[each], "a"), part) for each in sources]
        flows.append((part, column_key(tables[target], "a")))
        for ep1, ep2 in flows:
            put(solr, documents, RELATIONS, flow(ep1, ep2))
    for core in documents:
        put(solr, documents, core, None)
        solr.commit(core, soft=False)


def all_tables(operations: int) -> list[Key]:
    return [table_key(HMS, f"db{number % 50}", f"t{number}") for number in range(operations // 2)]


def entity(key: Key) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "identity": key.identity,
        "type": key.type.value,
        "sourceType": key.source.type,
        "originalName": key.name,
    }
    fields |= {"sourceId": key.source.id, "parentPath": key.parent_path, "deleted": False}
    if key.parent is not None:
        fields["firstClassParentId"] = key.parent.identity
    return fields


def flow(ep1: Key, ep2: Key) -> dict[str, Any]:
    identity = relation_id(RelationType.DATA_FLOW, ep1.identity, ep2.identity, ENGINE.id)
    fields: dict[str, Any] = {"identity": identity, "type": "DATA_FLOW", "writer": ENGINE.id, "asOf": 1}
    for side, end in ((1, ep1), (2, ep2)):
        fields[f"endpoint{side}Ids"] = [end.identity]
        fields[f"endpoint{side}Type"] = end.type.value
        fields[f"endpoint{side}SourceType"] = end.source.type
        fields[f"endpoint{side}SourceId"] = end.source.id
        fields[f"endpoint{side}Name"] = f"{(end.parent_path or '').strip('/')}.{end.name}".strip(".")
    return {**fields, "deleted": False, "unlinked": False, "claimedIds": [ep1.identity]}


def put(
    solr: Solr, documents: dict[str, list[dict[str, Any]]], core: str, document: dict[str, Any] | None
) -> None:
    if document is not None:
        documents[core].append(document)
    if len(documents[core]) >= BATCH or (document is None and documents[core]):
        added = solr.add(core, documents[core])
        assert not added.refused, added.refused[0]
        documents[core].clear()


@contextmanager
def own_solr(state: Path) -> Iterator[Solr]:
    """Start an embedded Solr with the code under test."""
    jars, cache = REPOSITORY / ".jars" / "solr", REPOSITORY / ".jars" / "solr-launcher"
    try:
        from navlin.index.admin.cores import CORES
        from navlin.solr_server.embedded import EmbeddedSolr

        server: Any = EmbeddedSolr(state, jars, CONF / "solr", cores=CORES, cache=cache)
    except ImportError:
        # The module of the class in earlier versions.
        server = import_module("navlin.index.embedded").EmbeddedSolr(state, jars, CONF / "solr")
    with server, Solr(server.start()) as solr:
        yield solr


# -- One code: a child process, asked line by line ------------------------------------------------------------------------


@dataclass
class Measured:
    """For each query: seconds, seconds of its Solr requests sent again, number of requests, and number of nodes.
    For all queries together: CPU seconds of Solr and of this process."""

    walked: list[float] = field(default_factory=list)
    bare: list[float] = field(default_factory=list)
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


def cpu_of_java() -> float:
    """Return the CPU seconds of the Solr that this process started. Raises LookupError."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = stat.read_text().partition("(")[2].rpartition(")")
        except OSError:
            continue
        fields = rest.split()
        if name == "java" and int(fields[1]) == os.getpid():
            return (int(fields[11]) + int(fields[12])) / TICKS_A_SECOND
    raise LookupError("no Solr runs")


def measure(solr: Solr, recorder: Recorder, starts: list[Key], options: Options) -> Measured:
    measured = Measured()
    for start in starts:
        # The first query warms Solr's caches.
        lineage(solr, start.identity, options)
        recorder.requests.clear()
        solr_s, python_s, began = cpu_of_java(), time.process_time(), time.perf_counter()
        answer = lineage(solr, start.identity, options)
        measured.walked.append(time.perf_counter() - began)
        measured.python_s += time.process_time() - python_s
        measured.solr_s += cpu_of_java() - solr_s
        measured.requests.append(len(recorder.requests))
        measured.nodes.append(len(answer.nodes))
        measured.bare.append(recorder.replay())
    return measured


def answer_lines(operations: int, starts: int) -> None:
    """Read names of query kinds, one per line, and write the measurements of each as a line of JSON."""
    with tempfile.TemporaryDirectory() as state, own_solr(Path(state)) as solr:
        fill(solr, operations)
        chosen = random.Random(11).sample(all_tables(operations), starts)
        # A Solr in service has compiled its hot code; a Solr just started takes half as long again.
        for start in chosen:
            for options in ASKED.values():
                lineage(solr, start.identity, options)
        recorder = Recorder(solr)
        print(json.dumps({"relations": solr.count(RELATIONS), "entities": solr.count(ELEMENTS)}), flush=True)
        for line in sys.stdin:
            print(json.dumps(vars(measure(solr, recorder, chosen, ASKED[line.strip()]))), flush=True)


# -- All codes, in turns --------------------------------------------------------------------------------------------------


class Code:
    """The code of one checkout, in a separate process."""

    def __init__(self, name: str, checkout: Path, operations: int, starts: int) -> None:
        self.name = name
        self.measured = {asked: Measured() for asked in ASKED}
        command = [sys.executable, __file__, "--child", f"--operations={operations}", f"--starts={starts}"]
        environment = {**os.environ, "PYTHONPATH": str(checkout)}
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


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def row(code: Code, asked: str) -> list[str]:
    measured = code.measured[asked]
    count = len(measured.walked)
    return [
        asked,
        code.name,
        f"{statistics.median(measured.nodes):.0f}",
        f"{statistics.mean(measured.requests):.0f}",
        f"{percentile(measured.walked, 0.5) * 1000:.0f}",
        f"{percentile(measured.walked, 0.95) * 1000:.0f}",
        f"{percentile(measured.bare, 0.5) * 1000:.0f}",
        f"{measured.solr_s / count * 1000:.0f}",
        f"{measured.python_s / count * 1000:.0f}",
    ]


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--operations", type=int, default=30_000)
    arguments.add_argument("--starts", type=int, default=40)
    arguments.add_argument("--rounds", type=int, default=2)
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
    codes = [Code(name, path.resolve(), asked.operations, asked.starts) for name, path in checkouts.items()]
    for code in codes:
        index = code.read()
        console.print(f"{code.name}: {index['relations']:,} relations, {index['entities']:,} entities")
    for name in ASKED:
        for _ in range(asked.rounds):
            for code in codes:
                code.ask(name)
    headings = ("asked", "code", "nodes", "requests", "p50 ms", "p95 ms", "bare p50 ms")
    table = Table(*headings, "Solr's CPU ms", "Python's CPU ms")
    for name in ASKED:
        for code in codes:
            table.add_row(*row(code, name))
    console.print(table)
    for code in codes:
        code.close()


if __name__ == "__main__":
    main()
