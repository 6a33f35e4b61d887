"""Impact compared with lineage of the same entities with the same options: impact must not be slower.

    python -m bench impact [--operations N] [--starts N] [--rounds N]

Every operation has some executions. The answers take turns; the ratio is between the medians.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.lineage_walk import ENGINE, all_tables, entity, fill, flow, own_solr, percentile, put
from navlin.index.schema.fields import ELEMENTS, RELATIONS, solr_date
from navlin.index.solr.solr import Solr
from navlin.model.keys import execution_key, operation_key
from navlin.query.answer import Direction
from navlin.query.impact import impact
from navlin.query.lineage import lineage
from navlin.query.options import Options

EXECUTIONS = 3
BEGAN_MS = 1_767_225_600_000
SAME_PICTURE = Options(Direction.DOWNSTREAM, columns=True, operations=True, control_flow=True, readers=True)


def fill_executions(solr: Solr, operations: int) -> None:
    documents: dict[str, list[dict[str, Any]]] = {ELEMENTS: [], RELATIONS: []}
    for number in range(operations):
        operation = operation_key(ENGINE, f"insert {number}", ())
        for run in range(EXECUTIONS):
            key, at_ms = execution_key(operation, f"run {number} {run}"), BEGAN_MS + run * 86_400_000
            fields = {"principal": f"user{number % 20}", "started": solr_date(at_ms), "asOf": at_ms}
            put(solr, documents, ELEMENTS, {**entity(key), **fields})
            put(solr, documents, RELATIONS, {**flow(operation, key), "type": "INSTANCE_OF", "asOf": at_ms})
    for core in documents:
        put(solr, documents, core, None)
        solr.commit(core, soft=False)


def seconds(ask: Callable[[], object]) -> float:
    began = time.perf_counter()
    ask()
    return time.perf_counter() - began


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--operations", type=int, default=30_000)
    arguments.add_argument("--starts", type=int, default=20)
    arguments.add_argument("--rounds", type=int, default=3)
    asked = arguments.parse_args()
    with tempfile.TemporaryDirectory() as state, own_solr(Path(state)) as solr:
        fill(solr, asked.operations)
        fill_executions(solr, asked.operations)
        starts = [
            each.identity for each in random.Random(11).sample(all_tables(asked.operations), asked.starts)
        ]
        answers: dict[str, Callable[[str], object]] = {
            "lineage, as it is asked most": lambda start: lineage(solr, start),
            "lineage of the same picture": lambda start: lineage(solr, start, SAME_PICTURE),
            "impact": lambda start: impact(solr, start),
        }
        taken: dict[str, list[float]] = {name: [] for name in answers}
        for round_number in range(asked.rounds + 1):
            for start in starts:
                for name, answer in answers.items():
                    took_s = seconds(lambda answer=answer, start=start: answer(start))  # type: ignore[misc]
                    if round_number:  # the first round warms Solr's caches
                        taken[name].append(took_s)
    table = Table("answer", "p50 ms", "p95 ms", "of impact's p50")
    impacts = statistics.median(taken["impact"])
    for name, took in taken.items():
        middle = statistics.median(took)
        table.add_row(
            name, f"{middle * 1000:.0f}", f"{percentile(took, 0.95) * 1000:.0f}", f"{impacts / middle:.2f}"
        )
    Console().print(table)


if __name__ == "__main__":
    main()
