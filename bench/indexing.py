"""Speed of the pipeline filling an empty index, compared with plain pysolr posting the very same documents.

    python -m bench indexing [--of tables operations flows hdfs directories] [--documents 200000] [--rounds 3]

The index is filled from a metastore's tables, an engine's log, relations alone, an HDFS image, and that image's directories
alone, one after the other. Both write into one Solr in turns, navlin into its own cores and pysolr (batches of 1,000, two
threads) into two more of the same schema; each ends with a hard commit. A first round, which is not counted, warms up
the JVMs of both. Finally the same records are run again, with nothing changed.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pysolr
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

from bench._index import REPOSITORY, own_solr
from bench._machine import load_of_machine
from bench._made_sources import FILLINGS, Filling
from bench._options import options
from bench._shown import table_of
from navlin.index.admin.cores import CORES
from navlin.index.graph.state import stored_in_range
from navlin.index.journal.runs import RunRecord
from navlin.index.schema.fields import ELEMENTS, RELATIONS
from navlin.index.solr.solr import Solr
from navlin.model.batches import in_batches
from navlin.pipeline.run import Pipeline
from navlin.pipeline.session import start_session

PLAIN = {ELEMENTS: "plain_elements", RELATIONS: "plain_relation"}
PLAIN_BATCH = 1_000
PLAIN_THREADS = 2


def seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def post_plainly(solr: Solr, core: str, documents: list[dict[str, Any]]) -> None:
    """Post the documents with the obvious code: pysolr, batches, threads."""

    def post(batch: Sequence[dict[str, Any]]) -> None:
        client = pysolr.Solr(f"{solr.address.url}/{core}", auth=solr.session.auth, timeout=120)
        client.add(list(batch), commit=False)

    with ThreadPoolExecutor(PLAIN_THREADS) as threads:
        list(threads.map(post, in_batches(documents, PLAIN_BATCH)))


def empty(solr: Solr, *cores: str) -> None:
    for core in cores:
        solr.client(core).delete(q="*:*")
        solr.commit(core, soft=False)


def measure(solr: Solr, spark: SparkSession, name: str, filling: Filling, rounds: int) -> Table:
    """Measure navlin and pysolr in turns, and then a run over unchanged records."""
    source = filling.extractor.source
    pipeline = Pipeline(solr.address, lambda: spark, lambda: round(time.time() * 1000))
    begun_steps: list[tuple[str, float]] = []

    def run() -> RunRecord:
        begun_steps.clear()
        record = pipeline.run(
            filling.registration,
            filling.extractor,
            complete=True,
            step=lambda name: begun_steps.append((name, time.perf_counter())),
        )
        begun_steps.append(("end", time.perf_counter()))
        assert not record.error, record.error
        assert not record.failures, record.failures
        return record

    def steps() -> list[tuple[str, float]]:
        return [(name, ended - begun) for (name, begun), (_, ended) in pairwise(begun_steps)]

    loads = [load_of_machine()]
    documents: dict[str, list[dict[str, Any]]] = {}
    plain_s, navlin_s = [], []
    parts: list[tuple[str, float]] = []
    for number in range(rounds + 1):
        empty(solr, *CORES)
        navlin_s.append(seconds(run))
        parts = steps()
        if not documents:
            documents = {core: list(solr.cursor(core, "*:*", "*")) for core in PLAIN}
            for document in (each for core in PLAIN for each in documents[core]):
                del document["_version_"]
        empty(solr, *PLAIN.values())
        plain_s.append(seconds(partial(plainly, solr, documents)))
        loads.append(load_of_machine())
        Console(stderr=True).print(
            f"round {number}: navlin {navlin_s[-1]:.1f} s, plain {plain_s[-1]:.1f} s, load {loads[-1]}"
        )
    again_s = seconds(run)
    export_s = seconds(lambda: [deque(stored_in_range(solr, core, source.id), 0) for core in PLAIN])
    written = sum(len(each) for each in documents.values())
    wide = sum(len(document) for each in documents.values() for document in each) / written
    shown = table_of(
        "what",
        figures=("time", "documents/s", "of plain pysolr"),
        title=f"{name}: {written:,} documents of {wide:.0f} fields, median of {rounds} rounds;"
        f" {filling.units:,} {filling.unit}, {filling.units / statistics.median(navlin_s[1:]):,.0f}/s",
        caption=f"load of the machine from round to round: {', '.join(loads)}",
    )
    plain, navlin = statistics.median(plain_s[1:]), statistics.median(navlin_s[1:])
    ratio = statistics.median(p / n for p, n in zip(plain_s[1:], navlin_s[1:], strict=True))
    shown.add_row("plain pysolr, two threads", f"{plain:.1f} s", f"{written / plain:,.0f}", "1.00")
    shown.add_row(
        "navlin, from plan to run record", f"{navlin:.1f} s", f"{written / navlin:,.0f}", f"{ratio:.2f}"
    )
    for name, took in parts:
        shown.add_row(f"  {name} (last round)", f"{took:.1f} s", "", "")
    shown.add_row("navlin again, nothing changed", f"{again_s:.1f} s", f"{written / again_s:,.0f}", "")
    for name, took in steps():
        shown.add_row(f"  {name}", f"{took:.1f} s", "", "")
    shown.add_row("  its export alone, in one thread", f"{export_s:.1f} s", "", "")
    return shown


def plainly(solr: Solr, documents: Mapping[str, list[dict[str, Any]]]) -> None:
    for core, plain in PLAIN.items():
        post_plainly(solr, plain, documents[core])
    for plain in PLAIN.values():
        solr.commit(plain, soft=False)


def main() -> None:
    arguments = options(__doc__, documents=200_000, rounds=3)
    arguments.add_argument("--of", nargs="+", choices=FILLINGS, default=list(FILLINGS))
    given = arguments.parse_args()
    with (
        tempfile.TemporaryDirectory() as directory,
        own_solr(Path(directory) / "state", *PLAIN.values(), memory="2g") as solr,
    ):
        folder = Path(directory)
        settings = {"spark.executorEnv.PYTHONPATH": str(REPOSITORY)}
        spark = start_session(folder / "scratch", settings=settings)
        for name in given.of:
            filling = FILLINGS[name](folder, given.documents)
            Console().print(measure(solr, spark, name, filling, given.rounds))
        spark.stop()


if __name__ == "__main__":
    main()
