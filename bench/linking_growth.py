"""Checks that linking costs the same at any index size: 1,000 new relations over a small index and a large one.

    python -m bench linking_growth [--small 100000] [--large 3000000] [--relations 1000] [--rounds 7]

The index holds what a metastore and an HDFS contribute: partitions, each with its directory, files and location. The new
relations are an engine's: it reads and writes paths inside partitions, tables, and entities that do not exist yet.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from bench._machine import load_of_machine
from linker import link
from linker.linking import Linking
from navlin.index.admin.cores import CORES
from navlin.index.schema.envelope import Envelope
from navlin.index.schema.fields import ELEMENTS, RELATIONS
from navlin.index.schema.stamp import Stamp
from navlin.index.solr.solr import Solr
from navlin.index.write.documents import entity_envelope, relation_envelope
from navlin.index.write.rewriting import WRITE_BATCH
from navlin.index.write.writing import Outcome, write
from navlin.model.batches import in_batches
from navlin.model.identity import run_id
from navlin.model.keys import (
    EntityType,
    Key,
    RelationType,
    listed_path_key,
    operation_key,
    partition_key,
    path_key,
    table_key,
)
from navlin.model.records import Entity, Relation
from navlin.model.source import HDFS, HIVE, SPARK, Source, source_id
from navlin.shipped import CONF
from navlin.solr_server.embedded import EmbeddedSolr, SolrSettings

REPOSITORY = Path(__file__).parents[1]
HMS = Source(source_id("bench", "hms"), HIVE, "hms", "bench", ("thrift://hms:9083",))
FILES = Source(source_id("bench", "hdfs"), HDFS, "hdfs", "bench", ("hdfs://nn:8020",))
ENGINE = Source(source_id("bench", "spark"), SPARK, "spark", "bench")
AT_MS = 1_800_000_000_000
WARM_UP_ROUNDS = 5
FILES_IN_PARTITION = 4
PARTITIONS_IN_TABLE = 200
DOCUMENTS_OF_PARTITION = 5 + 2 * FILES_IN_PARTITION
"""The partition and its directory, each with the relation to its parent; the location; and each file with its
relation to its parent."""


def partition(number: int) -> tuple[Key, str]:
    """Return the key of a partition, and the path of its location."""
    table = table_key(HMS, f"db{number // 100_000}", f"t{number // PARTITIONS_IN_TABLE}")
    name = f"ds={number % PARTITIONS_IN_TABLE}"
    return partition_key(table, name), f"/warehouse/{table.name}/{name}"


def estate(first: int, before: int) -> Iterator[Envelope]:
    """Yield the records that the metastore and HDFS have for partitions ``first`` up to but not including
    ``before``."""
    for number in range(first, before):
        key, directory = partition(number)
        if number % PARTITIONS_IN_TABLE == 0 and key.parent is not None:
            yield entity_envelope(Entity(key.parent, AT_MS))
        yield entity_envelope(Entity(key, AT_MS))
        lies = Relation(RelationType.LOGICAL_PHYSICAL, key, path_key(FILES, directory), key.tree_path, AT_MS)
        yield relation_envelope(lies, HMS.id)
        yield entity_envelope(Entity(listed_path_key(FILES, directory, EntityType.DIRECTORY), AT_MS))
        for file in range(FILES_IN_PARTITION):
            path = f"{directory}/part-{file:05d}-c000.snappy.parquet"
            yield entity_envelope(Entity(listed_path_key(FILES, path, EntityType.FILE), AT_MS))


def flows(round_number: int, count: int, partitions: int) -> Iterator[Envelope]:
    """Yield an engine's new relations: one third each with a path inside a partition, a table, and an unknown path."""
    step = max(1, partitions // count)
    for number in range(count):
        key, directory = partition((number * step + round_number) % partitions)
        operation = operation_key(ENGINE, f"round {round_number} statement {number}", ())
        ends = (
            path_key(FILES, f"{directory}/hour={round_number}"),
            key.parent or key,
            path_key(FILES, f"/elsewhere/{round_number}/{number}"),
        )
        yield entity_envelope(Entity(operation, AT_MS))
        end = ends[number % len(ends)]
        yield relation_envelope(
            Relation(RelationType.DATA_FLOW, end, operation, operation.tree_path, AT_MS), ENGINE.id
        )


def put(solr: Solr, envelopes: Iterator[Envelope] | list[Envelope], stamp: Stamp) -> None:
    for core in (ELEMENTS, RELATIONS):
        new = [(envelope, Outcome.NEW) for envelope in envelopes if envelope.core == core]
        for batch in in_batches(new, WRITE_BATCH):
            list(write(solr, core, batch, stamp))


def grow(solr: Solr, first: int, before: int) -> None:
    """Index the partitions ``first`` up to but not including ``before``."""
    step = 500
    starts = range(first, before, step)
    stamp = Stamp(run_id(HMS.id, 1), AT_MS)

    def fill(start: int) -> None:
        put(solr, list(estate(start, min(start + step, before))), stamp)

    with ThreadPoolExecutor(3) as threads:
        for _ in track(threads.map(fill, starts), "filling the index", total=len(starts), transient=True):
            pass
    commit(solr)


def commit(solr: Solr) -> None:
    for core in (ELEMENTS, RELATIONS):
        solr.commit(core, soft=True)


def measure(solr: Solr, rounds: range, count: int, partitions: int) -> list[float]:
    """Return the seconds that linking took in each round. Preceding rounds, which are not counted, warm up caches
    and the JVM."""
    took_s = []
    for number in chain(range(rounds.stop, rounds.stop + WARM_UP_ROUNDS), rounds):
        stamp = Stamp(run_id(ENGINE.id, number), AT_MS)
        put(solr, list(flows(number, count, partitions)), stamp)
        commit(solr)
        began = time.perf_counter()
        link(Linking(solr, AT_MS, stamp.run_id, (stamp.run_id,)))
        took_s.append(time.perf_counter() - began)
    return took_s[WARM_UP_ROUNDS:]


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--small", type=int, default=100_000, help="documents in the small index")
    arguments.add_argument("--large", type=int, default=3_000_000, help="documents in the large one")
    arguments.add_argument("--relations", type=int, default=1_000)
    arguments.add_argument("--rounds", type=int, default=7)
    asked = arguments.parse_args()
    console = Console()
    table = Table("documents", "partitions", "linking, median s", "least", "most", "ratio")
    with (
        tempfile.TemporaryDirectory() as state,
        EmbeddedSolr(
            Path(state),
            REPOSITORY / ".jars" / "solr",
            CONF / "solr",
            cores=CORES,
            settings=SolrSettings(memory="2g"),
            cache=REPOSITORY / ".jars" / "solr-launcher",
        ) as server,
        Solr(server.start()) as solr,
    ):
        filled, medians = 0, []
        for at, documents in enumerate((asked.small, asked.large)):
            partitions = documents // DOCUMENTS_OF_PARTITION
            grow(solr, filled, partitions)
            filled = partitions
            rounds = range(1 + at * 1_000, 1 + at * 1_000 + asked.rounds)
            took_s = measure(solr, rounds, asked.relations, partitions)
            medians.append(statistics.median(took_s))
            table.add_row(
                f"{solr.count(ELEMENTS) + solr.count(RELATIONS):,}",
                f"{partitions:,}",
                f"{medians[-1]:.2f}",
                f"{min(took_s):.2f}",
                f"{max(took_s):.2f}",
                f"{medians[-1] / medians[0]:.2f}",
            )
    console.print(table)
    console.print(f"{asked.relations:,} new relations each round; {load_of_machine()}")


if __name__ == "__main__":
    main()
