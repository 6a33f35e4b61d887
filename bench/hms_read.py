"""Speed of the metastore's extractor, compared with a bare Thrift client that only fetches the same tables.

    python bench/hms_read.py [--tables 2000] [--columns 20] [--jars .jars/hive-metastore]

Starts a metastore in a temporary directory, fills it, and prints a table. Both sides run in one thread and in turns, so
that other load affects them alike.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from extractors.hms import HiveMetastore
from extractors.hms.client import connected
from extractors.hms.idl import Database
from navlin.model.plan import Plan, Positions
from navlin.model.records import Entity, Record, Split
from navlin.model.source import HIVE, Estate, Source, source_id
from tests.services.metastore import ALTER_TABLE, CREATE_DATABASE, CREATE_TABLE, Metastore, table

NOW_MS = 1_800_000_000_000
DATABASES = 4


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--tables", type=int, default=2_000)
    arguments.add_argument("--columns", type=int, default=20)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--jars", type=Path, default=Path(".jars/hive-metastore"))
    given = arguments.parse_args()
    with (
        tempfile.TemporaryDirectory() as directory,
        Metastore(Path(directory), given.jars, short_lived=False) as metastore,
    ):
        fill(metastore, given.tables, given.columns)
        measure(metastore, given.tables, given.columns, given.rounds)


def fill(metastore: Metastore, tables: int, columns: int) -> None:
    with connected(metastore.address) as client:
        for i in range(DATABASES):
            client.call(CREATE_DATABASE, Database(f"bench{i}", "", None, {}))
        for i in range(tables):
            types = {f"column_{c}": ("bigint", "string", "decimal(18,2)")[c % 3] for c in range(columns)}
            database, name = f"bench{i % DATABASES}", f"table_{i}"
            client.call(CREATE_TABLE, table(database, name, types))


def measure(metastore: Metastore, tables: int, columns: int, rounds: int) -> None:
    source = Source(source_id("bench", "HIVE"), HIVE, "HIVE", "bench")
    hms = HiveMetastore(source, Estate("bench", (source,)), (metastore.uri,))
    bare(metastore, hms.batch_size)  # the server's first responses are slow
    pairs = [
        (
            seconds(lambda: bare(metastore, hms.batch_size)),
            seconds(lambda: whole(hms, Positions(now_ms=NOW_MS))),
        )
        for _ in range(rounds)
    ]
    bare_s, whole_s = (statistics.median(side) for side in zip(*pairs, strict=True))
    ratio = statistics.median(fetched / read for fetched, read in pairs)

    first = hms.plan(Positions(now_ms=NOW_MS))
    saved = Positions({position.key: position.value for position in first.positions}, NOW_MS)
    quiet_s = statistics.median(seconds(lambda: hms.plan(saved)) for _ in range(50))
    with connected(metastore.address) as client:
        for found in client.tables("bench0", [f"table_{i * DATABASES}" for i in range(10)]):
            found.parameters = {**(found.parameters or {}), "comment": "changed"}
            client.call(ALTER_TABLE, "bench0", found.tableName, found)
    changed_s = statistics.median(seconds(lambda: whole(hms, saved)) for _ in range(10))

    shown = Table(title=f"{tables} tables of {columns} columns, median of {rounds} rounds")
    for heading in ("what", "time", "tables/s", "ratio"):
        shown.add_column(heading, justify="left" if heading == "what" else "right")
    shown.add_row("bare client, fetches only", f"{bare_s:.2f} s", f"{tables / bare_s:.0f}", "1.00")
    shown.add_row("plan and read", f"{whole_s:.2f} s", f"{tables / whole_s:.0f}", f"{ratio:.2f}")
    shown.add_row("plan, nothing changed", f"{quiet_s * 1000:.1f} ms", "", "")
    shown.add_row("plan and read, 10 changed", f"{changed_s * 1000:.1f} ms", f"{10 / changed_s:.0f}", "")
    Console().print(shown)


def bare(metastore: Metastore, at_once: int) -> int:
    """List names and fetch the tables without processing them."""
    fetched = 0
    with connected(metastore.address) as client:
        for database in client.databases():
            names = client.table_names(database)
            for at in range(0, len(names), at_once):
                fetched += len(client.tables(database, names[at : at + at_once]))
    return fetched


def whole(hms: HiveMetastore, positions: Positions) -> int:
    """Plan, then read every split and the splits that these yield. Return the number of entities."""
    plan: Plan = hms.plan(positions)
    waiting: list[Split] = list(plan.splits)
    entities = 0
    while waiting:
        record: Record
        for record in hms.read(waiting.pop()):
            if isinstance(record, Split):
                waiting.append(record)
            entities += isinstance(record, Entity)
    return entities


def seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
