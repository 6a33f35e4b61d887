"""Checks that damaged Spark plans cannot stop the column lineage reader: 100,000 of them, and 10 MB texts meant to be slow.

    python -m bench plan_mutations [--count 100000] [--size 10000000] [--seed 1]

Every text must give lineage or be reported as unknown. Prints the longest time for one text and the memory for all; ends
with 1 if one was too slow, raised an exception, or gave neither.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from itertools import islice

from rich.console import Console
from rich.table import Table

from bench._machine import load_of_machine
from tests.support.spark_mutations import monsters, mutations, plans
from tests.support.spark_plans import written_of

SECONDS_A_DAMAGED_PLAN = 2.0
SECONDS_A_MEGABYTE = 4.0
VIEW, INSERT = "Execute CreateViewCommand", "Execute InsertIntoHadoopFsRelationCommand"
ARGUMENTS = "Arguments: file:/w, false, Parquet, [], Append, `c`.`d`.`o`, serde, [x]"


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--count", type=int, default=100_000)
    arguments.add_argument("--size", type=int, default=10_000_000)
    arguments.add_argument("--seed", type=int, default=1)
    given = arguments.parse_args()
    table = Table("texts", "of", "read", "flagged", "longest s", "CPU s", title=f"seed {given.seed}")
    well = damaged(table, given.count, given.seed) & large(table, given.size)
    console = Console()
    console.print(table)
    memory_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    console.print(f"{memory_mb:.0f} MB at most; load of the machine {load_of_machine()}")
    sys.exit(0 if well else 1)


def damaged(table: Table, count: int, seed: int) -> bool:
    """Read plans with one to eight mutations each. Return whether each gave lineage or a flag within the time
    limit."""
    by_text = {text: f"Arguments: {arguments}" if arguments else "" for text, arguments in plans()}
    read = flagged = 0
    longest = 0.0
    began = time.process_time()
    well = True
    for place, (text, block) in enumerate(by_text.items()):
        command = VIEW if "CreateView" in text else INSERT
        for mutation in islice(mutations([text], seed + place), count // len(by_text)):
            started = time.process_time()
            columns = written_of(mutation, command, block)
            longest = max(longest, time.process_time() - started)
            read += bool(columns.flows)
            flagged += not columns.complete
            # A view without its command writes nothing.
            well = well and (bool(columns.flows) or not columns.complete or command == VIEW)
    spent = time.process_time() - began
    table.add_row(
        f"{count:,}", "damaged plans", f"{read:,}", f"{flagged:,}", f"{longest:.3f}", f"{spent:.0f}"
    )
    return well and longest < SECONDS_A_DAMAGED_PLAN


def large(table: Table, size: int) -> bool:
    """Read one text of each kind that is built to be slow. Return whether all were read within the time limit."""
    well = True
    for name in monsters(1_000):
        text = monsters(size)[name]
        started = time.process_time()
        columns = written_of(text, block=ARGUMENTS)
        spent = time.process_time() - started
        results = [str(int(bool(columns.flows))), str(int(not columns.complete))]
        table.add_row("1", f"{name}, {len(text) / 1e6:.0f} MB", *results, f"{spent:.2f}", f"{spent:.1f}")
        well = well and spent < SECONDS_A_MEGABYTE * max(1.0, size / 1e6)
    return well


if __name__ == "__main__":
    main()
