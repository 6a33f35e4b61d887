"""A million relations exported in each format: speed, memory, and the cost of exporting only a few changes.

    python -m bench exporting [--tables 20000] [--operations 55000] [--changed 550] [--targets atlas,datahub,…]

The row "read alone" reads the index without writing a format. Each export runs in its own process, so that its memory
is measured separately. For the changes, the index is as if a second run had rewritten the last ``--changed`` operations,
with their sub-operations and relations.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from bench._index import ENGINE, HMS, Filler, entity, flow, own_solr
from bench._machine import load_of_machine, peak_mib
from bench._options import options
from bench._shown import table_of
from navlin.export.choosing import Selection
from navlin.export.target import targets
from navlin.export.writing import ExportQuestion, PositionFile, write_file
from navlin.index.journal.runs import RunRecord, Status, save_run
from navlin.index.schema.fields import ELEMENTS, RELATIONS, RUNS
from navlin.index.solr.solr import Solr, SolrAddress
from navlin.model.identity import run_id
from navlin.model.keys import Key, column_key, operation_key, sub_operation_key, table_key

COLUMNS: Final = tuple("abcde")
READ_ALONE: Final = "read alone"
FIRST_MS: Final = 1_700_000_000_000
HOUR_MS: Final = 3_600_000


@dataclass(frozen=True, slots=True)
class Made:
    """Result of an export: seconds, megabytes, peak memory (MiB), lines and operations written."""

    seconds: float
    megabytes: float
    most_mib: float
    records: int
    operations: int


# -- The index -----------------------------------------------------------------------------------------------------------


def fill(solr: Solr, tables: int, operations: int, changed: int) -> None:
    """Index tables of five columns, and operations that read two tables and write one, column by column.

    The index looks as if two runs had written the operations: the first run all, and the second the last
    ``changed`` again."""
    rng = random.Random(7)
    every = [table_key(HMS, f"db{number % 200}", f"t{number}") for number in range(tables)]
    with Filler(solr) as filler:
        for table in every:
            for key in (table, *(column_key(table, name) for name in COLUMNS)):
                filler.put(ELEMENTS, entity(key) | _stamp(HMS.id, 1))
        for number in range(operations):
            one, other, target = rng.sample(every, 3)
            iteration = 2 if number >= operations - changed else 1
            for core, document in _operation(number, (one, other), target):
                filler.put(core, document | _stamp(ENGINE.id, iteration))
    for source, iteration in ((HMS, 1), (ENGINE, 1), (ENGINE, 2)):
        started_ms = FIRST_MS + iteration * HOUR_MS
        save_run(
            solr,
            RunRecord(
                source.name, source.id, iteration, Status.FINISHED, started_ms, started_ms + 1, version=-1
            ),
        )
    solr.commit(RUNS, soft=False)


def _operation(number: int, sources: tuple[Key, Key], target: Key) -> Iterator[tuple[str, dict[str, Any]]]:
    text = f"-- {number}: {target.name} of {sources[0].name} and {sources[1].name}"
    operation = operation_key(ENGINE, text, ())
    yield ELEMENTS, entity(operation) | {"queryText": text, "operationType": "INSERT"}
    yield from ((RELATIONS, flow(source, operation)) for source in sources)
    yield RELATIONS, flow(operation, target)
    for name in COLUMNS:
        part = sub_operation_key(operation, name)
        yield ELEMENTS, entity(part)
        yield from ((RELATIONS, flow(column_key(source, name), part)) for source in sources)
        yield RELATIONS, flow(part, column_key(target, name))


def _stamp(source: str, iteration: int) -> dict[str, str]:
    return {"extractorRunId": run_id(source, iteration)}


# -- An export, in a process of its own ------------------------------------------------------------------------------------


def export(address: SolrAddress, name: str, since_run: str, folder: Path) -> Made:
    """Export everything, or the changes since a run, into a file, and remove the file."""
    known = targets()
    selection = Selection(since_run=since_run)
    with Solr(address) as solr:
        began = time.perf_counter()
        if name == READ_ALONE:
            question = ExportQuestion(known["atlas"], selection, None)
            records = operations = size = 0
            for batch in question.batches(solr):
                records += len(batch.items)
        else:
            target, file = known[name], folder / "exported"
            question = ExportQuestion(target, selection, target.options())
            done = write_file(solr, question, file, PositionFile(folder / "position"), lambda _: None)
            records, operations, size = done.records, done.counts["operations"], file.stat().st_size
            file.unlink()
        seconds = time.perf_counter() - began
    return Made(seconds, size / 1e6, peak_mib(os.getpid()), records, operations)


def in_a_process(address: SolrAddress, name: str, since_run: str, folder: Path) -> Made:
    # The process is spawned, because a fork would start with this process's memory.
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(export, address, name, since_run, folder).result()


def main() -> None:
    parser = options(__doc__, tables=20_000, operations=55_000, changed=550)
    parser.add_argument("--targets", default=",".join(targets()))
    given = parser.parse_args()
    names = [READ_ALONE, *given.targets.split(",")]
    with (
        tempfile.TemporaryDirectory() as state,
        tempfile.TemporaryDirectory() as folder,
        own_solr(Path(state)) as solr,
    ):
        fill(solr, given.tables, given.operations, given.changed)
        counts = solr.count(ELEMENTS), solr.count(RELATIONS)
        made = {
            (name, since): in_a_process(solr.address, name, since, Path(folder))
            for name in names
            for since in ("", run_id(ENGINE.id, 1))
        }
    console = Console()
    console.print(f"{counts[0]:,} entities, {counts[1]:,} relations; load: {load_of_machine()}")
    headings = ("lines", "MB", "s", "relations a second", "MiB", "changes: s", "of the whole", "MiB")
    shown = table_of("form", figures=headings)
    for name in names:
        every, few = made[name, ""], made[name, run_id(ENGINE.id, 1)]
        shown.add_row(
            name,
            f"{every.records:,}",
            f"{every.megabytes:,.0f}",
            f"{every.seconds:.1f}",
            f"{counts[1] / every.seconds:,.0f}",
            f"{every.most_mib:.0f}",
            f"{few.seconds:.2f}",
            f"{few.seconds / every.seconds:.1%}",
            f"{few.most_mib:.0f}",
        )
    console.print(shown)
    console.print(f"changed: {given.changed / given.operations:.1%} of the operations")


if __name__ == "__main__":
    main()
