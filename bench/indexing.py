"""How fast the pipeline fills an empty index, beside plain pysolr that posts the very same documents.

    python -m bench indexing [--tables 6000] [--columns 15] [--rounds 3]

Both write into one Solr, navlin into its own cores and pysolr (batches of 1,000, two threads) into two more of the same
schema, in turns; each ends with a hard commit. A first round, which is not counted, warms both of their JVMs up. At last
the same records are run again: nothing changed.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pysolr
from rich.console import Console
from rich.table import Table as Shown

from bench._machine import load_of_machine
from navlin.index.cores import CORES
from navlin.index.fields import ELEMENTS, RELATIONS
from navlin.index.runs import RunRecord
from navlin.index.solr import Solr
from navlin.index.state import held_in_range, in_batches
from navlin.model.extractor import PULL, Extractor, Registration
from navlin.model.keys import Key, RelationType, column_key, database_key, table_key
from navlin.model.plan import Plan, Positions
from navlin.model.records import Covered, Entity, Record, Relation, Split
from navlin.model.source import HIVE, Estate, Source, source_id
from navlin.pipeline.run import Pipeline
from navlin.pipeline.session import start_session
from navlin.shipped import CONF
from navlin.solr_server.embedded import EmbeddedSolr, SolrSettings

REPOSITORY = Path(__file__).parents[1]
PLAIN = {ELEMENTS: "plain_elements", RELATIONS: "plain_relation"}
TABLES_IN_SPLIT = 200
PLAIN_BATCH = 1_000
PLAIN_THREADS = 2
AT_MS = 1_800_000_000_000


@dataclass(frozen=True, slots=True)
class Tables(Split):
    """The tables of these numbers."""

    first: int
    before: int

    @property
    def name(self) -> str:
        return f"tables {self.first} to {self.before - 1}"


@dataclass(frozen=True, slots=True)
class Made(Extractor):
    """A metastore that is made up: tables of columns, each column flowing into the one of the next table."""

    source: Source
    estate: Estate
    tables: int
    columns: int

    def plan(self, positions: Positions) -> Plan:
        firsts = range(0, self.tables, TABLES_IN_SPLIT)
        splits = tuple(Tables(first, min(first + TABLES_IN_SPLIT, self.tables)) for first in firsts)
        return Plan(splits, covers=(Covered("/", positions.now_ms),))

    def read(self, split: Split) -> Iterator[Record]:
        assert isinstance(split, Tables)
        for number in range(split.first, split.before):
            table = self._table(number)
            if number < 50:
                yield Entity(database_key(self.source, f"database_{number}"), AT_MS)
            yield Entity(table, AT_MS, _of_table(number), {"numRows": number, "totalSize": 12_345_678})
            for position in range(self.columns):
                column = column_key(table, f"column_{position}_of_some_length")
                yield Entity(column, AT_MS, _of_column(position))
                flows_to = column_key(self._table(number + 1), f"column_{position}_of_some_length")
                if position % 3 == 0:
                    yield Relation(RelationType.DATA_FLOW, column, flows_to, column.tree_path, AT_MS)

    def _table(self, number: int) -> Key:
        return table_key(self.source, f"database_{number % 50}", f"a_table_with_a_name_{number}")


MADE = Registration("made", HIVE, PULL, 1, Made)


def _of_table(number: int) -> dict[str, Any]:
    return {
        "owner": f"owner_{number % 30}",
        "created": AT_MS - number,
        "lastModified": AT_MS - number // 2,
        "lastModifiedBy": "etl",
        "originalDescription": f"what table {number} is for, in a line of ordinary length, as people write them",
        "inputFormat": "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
        "outputFormat": "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat",
        "serDeLibName": "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe",
        "partitionColNames": ["ds", "region"],
        "tableType": "MANAGED_TABLE",
        "compressed": False,
        "bucketing_version": "2",
        "spark.sql.sources.provider": "parquet",
    }


def _of_column(position: int) -> dict[str, Any]:
    return {
        "dataType": ("bigint", "string", "decimal(18,2)")[position % 3],
        "originalDescription": f"column {position}, as its comment explains it",
        "fieldIndex": position,
        "owner": "etl",
        "created": AT_MS,
        "lastModified": AT_MS,
        "lastModifiedBy": "etl",
        "classification": "internal",
        "quality": "checked",
        "unit": "EUR",
    }


def seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def post_plainly(solr: Solr, core: str, documents: list[dict[str, Any]]) -> None:
    """What one writes in an afternoon: pysolr, batches, threads."""

    def post(batch: list[dict[str, Any]]) -> None:
        client = pysolr.Solr(f"{solr.address.url}/{core}", auth=solr.session.auth, timeout=120)
        client.add(batch, commit=False)

    with ThreadPoolExecutor(PLAIN_THREADS) as threads:
        list(threads.map(post, in_batches(documents, PLAIN_BATCH)))


def empty(solr: Solr, *cores: str) -> None:
    for core in cores:
        solr.client(core).delete(q="*:*")
        solr.commit(core, soft=False)


def measure(server: EmbeddedSolr, scratch: Path, tables: int, columns: int, rounds: int) -> Shown:
    """Both ways in turns, and a run over what is there already."""
    source = Source(source_id("bench", "made"), HIVE, "made", "bench")
    extractor = Made(source, Estate("bench", (source,)), tables, columns)
    spark = start_session(scratch, settings={"spark.executorEnv.PYTHONPATH": str(REPOSITORY)})
    pipeline = Pipeline(server.address, lambda: spark, lambda: round(time.time() * 1000))
    begun_steps: list[tuple[str, float]] = []

    def run() -> RunRecord:
        begun_steps.clear()
        record = pipeline.run(
            MADE, extractor, step=lambda name: begun_steps.append((name, time.perf_counter()))
        )
        begun_steps.append(("end", time.perf_counter()))
        assert not record.error, record.error
        assert not record.failures, record.failures
        return record

    def steps() -> list[tuple[str, float]]:
        return [(name, ended - begun) for (name, begun), (_, ended) in pairwise(begun_steps)]

    loads = [load_of_machine()]
    with Solr(server.address) as solr:
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
        export_s = seconds(lambda: [deque(held_in_range(solr, core, source.id), 0) for core in PLAIN])
    spark.stop()
    written = sum(len(each) for each in documents.values())
    wide = sum(len(document) for each in documents.values() for document in each) / written
    shown = Shown(
        title=f"{written:,} documents of {wide:.0f} fields, median of {rounds} rounds",
        caption=f"load of the machine from round to round: {', '.join(loads)}",
    )
    for heading in ("what", "time", "documents/s", "of plain pysolr"):
        shown.add_column(heading, justify="left" if heading == "what" else "right")
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
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--tables", type=int, default=6_000)
    arguments.add_argument("--columns", type=int, default=15)
    arguments.add_argument("--rounds", type=int, default=3)
    given = arguments.parse_args()
    jars = REPOSITORY / ".jars" / "solr"
    with (
        tempfile.TemporaryDirectory() as directory,
        EmbeddedSolr(
            Path(directory) / "state",
            jars,
            CONF / "solr",
            settings=SolrSettings(memory="2g"),
            cores=(*CORES, *PLAIN.values()),
            cache=jars.parent / "solr-launcher",
        ) as server,
    ):
        scratch = Path(directory) / "scratch"
        Console().print(measure(server, scratch, given.tables, given.columns, given.rounds))


if __name__ == "__main__":
    main()
