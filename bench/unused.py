"""Time to judge every table of a large estate as used or unused, and to find everything that inherits a tag there.

    python -m bench unused [--tables N] [--tagged N]

Every table has its own directory with some files; nine of ten are read by an operation, a tenth of these long ago. One
table in ten has a last read as a purge leaves it. The tagged columns are the first in chains of ten tables. The memory is
that of a separate process, which asks and counts.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench._machine import load_of_machine
from bench.lineage_walk import ENGINE, HMS, entity, flow, own_solr, put
from navlin.index.journal.runs import RunRecord, Status, save_positions, save_run
from navlin.index.schema.fields import ELEMENTS, RELATIONS, RUNS, solr_date
from navlin.index.solr.solr import Solr, SolrAddress
from navlin.model.image_positions import ENTRIES
from navlin.model.keys import EntityType, Key, column_key, execution_key, operation_key, path_key, table_key
from navlin.model.records import Position
from navlin.model.source import HDFS, HIVE, IMPALA, SPARK, Source, source_id
from navlin.query.inherited import Word, inherited
from navlin.query.unused import DAY_MS, Question, unused
from navlin.query.unused_report import Totals, counted

FILES = Source(source_id("bench", "hdfs"), HDFS, "hdfs", "bench", ("hdfs://bench",))
NOW_MS = 1_767_225_600_000
LONG_AGO_MS = NOW_MS - 300 * DAY_MS
DAYS = 90
FILES_A_TABLE = 3
CHAIN = 10
FILE_BYTES = 1 << 20


def fill(solr: Solr, tables: int, tagged: int) -> None:
    documents: dict[str, list[dict[str, Any]]] = {ELEMENTS: [], RELATIONS: []}
    for source in (HMS, ENGINE, FILES):
        fields = {"identity": source.id, "type": "SOURCE", "sourceType": source.type, "sourceId": source.id}
        put(solr, documents, ELEMENTS, {**fields, "originalName": source.name, "deleted": False})
        save_run(solr, RunRecord(source.name, source.id, 1, Status.FINISHED, NOW_MS - 1_000, NOW_MS))
    save_positions(solr, FILES.id, "bench", [Position(ENTRIES, "all")], {})
    for number in range(tables):
        put_table(solr, documents, number)
        if number % 10:
            put_reader(solr, documents, number)
        if number % CHAIN == 0 and number // CHAIN < tagged:
            column = entity(column_key(table(number), "a"))
            put(solr, documents, ELEMENTS, {**column, "tags": ["PII"]})
    for core in documents:
        put(solr, documents, core, None)
        solr.commit(core, soft=False)
    solr.commit(RUNS, soft=False)


def table(number: int) -> Key:
    return table_key(HMS, f"db{number % 50}", f"t{number}")


def put_table(solr: Solr, documents: dict[str, list[dict[str, Any]]], number: int) -> None:
    key, place = table(number), f"/data/t{number}"
    created = {
        "created": solr_date(LONG_AGO_MS),
        "firstSeen": solr_date(LONG_AGO_MS),
        "owner": f"o{number % 20}",
    }
    if number % 10 == 0:
        created |= {"lastRead": solr_date(LONG_AGO_MS), "lastReadBy": "etl"}
    put(solr, documents, ELEMENTS, {**entity(key), **created})
    put(solr, documents, ELEMENTS, entity(column_key(key, "a")))
    directory = path_key(FILES, place)
    below = {"contentFiles": FILES_A_TABLE, "contentSize": FILES_A_TABLE * FILE_BYTES}
    put(solr, documents, ELEMENTS, {**entity(directory), "fileSystemPath": place, **below})
    put(
        solr,
        documents,
        RELATIONS,
        {**flow(key, directory), "type": "LOGICAL_PHYSICAL", "endpoint2Name": place},
    )
    times = {"lastModified": solr_date(LONG_AGO_MS), "lastAccessed": solr_date(LONG_AGO_MS)}
    for part in range(FILES_A_TABLE):
        path = f"{place}/part-{part}"
        file = entity(path_key(FILES, path, EntityType.FILE))
        put(solr, documents, ELEMENTS, {**file, **times, "fileSystemPath": path, "size": FILE_BYTES})


def put_reader(solr: Solr, documents: dict[str, list[dict[str, Any]]], number: int) -> None:
    at_ms = LONG_AGO_MS if number % 100 < 10 else NOW_MS - DAY_MS
    operation = operation_key(ENGINE, f"insert {number}", ())
    put(solr, documents, ELEMENTS, entity(operation))
    execution = execution_key(operation, f"run {number}")
    put(solr, documents, ELEMENTS, {**entity(execution), "started": solr_date(at_ms), "principal": "etl"})
    put(solr, documents, RELATIONS, {**flow(operation, execution), "type": "INSTANCE_OF", "asOf": at_ms})
    source, target = table(number - 1), table(number)
    for ep1, ep2 in ((source, operation), (operation, target)):
        put(solr, documents, RELATIONS, {**flow(ep1, ep2), "asOf": at_ms})
    columns = column_key(source, "a"), column_key(target, "a")
    put(solr, documents, RELATIONS, {**flow(*columns), "asOf": at_ms})


def judge(address: SolrAddress) -> tuple[float, float, Totals, int]:
    """Return the seconds until the first unused table and until the last table, the totals, and the peak memory
    (KiB)."""
    console, totals = Console(stderr=True), Totals()
    question = Question(DAYS, NOW_MS, (HIVE.lower(), IMPALA.lower(), SPARK.lower()), despite_gaps=True)

    def progress(done: int, every: int) -> None:
        if done % 10_000 == 0:
            console.print(f"{done:,} of {every:,} tables after {time.perf_counter() - began:.1f} s")

    with Solr(address) as solr:
        began, first_s = time.perf_counter(), 0.0
        _, judged = unused(solr, question, progress)
        for _ in counted(judged, totals):
            first_s = first_s or time.perf_counter() - began
        judged_s = time.perf_counter() - began
    return first_s, judged_s, totals, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--tables", type=int, default=100_000)
    arguments.add_argument("--tagged", type=int, default=1_000)
    asked = arguments.parse_args()
    with tempfile.TemporaryDirectory() as state, own_solr(Path(state)) as solr:
        fill(solr, asked.tables, asked.tagged)
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            first_s, judged_s, totals, asking_kb = pool.apply(judge, (solr.address,))
        began = time.perf_counter()
        reached = sum(len(origin.inherited) for origin in inherited(solr, Word("PII")))
        inherited_s = time.perf_counter() - began
    shown = Table("answer", "over", "seconds", "a second", "found")
    tables = f"{asked.tables:,} tables"
    found = ", ".join(f"{count:,} {verdict}" for verdict, count in totals.tables.items())
    shown.add_row("unused, the first table", tables, f"{first_s:.1f}", "", "")
    shown.add_row("unused, all", tables, f"{judged_s:.1f}", f"{asked.tables / judged_s:,.0f}", found)
    tagged = f"{asked.tagged:,} tagged columns"
    rate = f"{asked.tagged / inherited_s:,.0f}"
    shown.add_row("inherited", tagged, f"{inherited_s:.1f}", rate, f"{reached:,} columns")
    console = Console()
    console.print(shown)
    console.print(f"unused: at most {asking_kb / 1024:,.0f} MiB of memory; load: {load_of_machine()}")


if __name__ == "__main__":
    main()
