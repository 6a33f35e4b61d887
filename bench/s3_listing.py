"""Speed of a bucket filling an empty index, compared with HDFS's image; and of listing it again with nothing changed.

    python -m bench s3_listing [--objects 200000] [--rounds 3]

The bucket is that of a real server (versitygw) on this machine, which takes processor time, too. An image of as many inodes
is read in turns with it, into an empty index each time. A first round, which is not counted, warms up the JVMs. "The
listing alone" reads the same ranges of keys in as many processes as there are processors, without an index. The bucket is
listed again with all of its objects in the index, and with its directories alone, which is the default.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench._index import JARS, REPOSITORY, own_solr
from bench._machine import load_of_machine
from bench._made_sources import Filling, image
from bench._options import options
from bench._shown import table_of
from bench.indexing import empty, seconds
from extractors.s3 import S3
from navlin.index.admin.cores import CORES
from navlin.index.journal.runs import RunRecord
from navlin.model.extractor import EXTRACTORS
from navlin.model.plan import Positions
from navlin.model.records import Split
from navlin.model.source import S3 as S3_TYPE
from navlin.model.source import Estate, Source, source_id
from navlin.pipeline.run import Pipeline
from navlin.pipeline.session import start_session
from tests.services.versitygw import REGION, Versitygw, built, running_versitygw
from tests.support.s3_buckets import DIRECTORIES, fill_bucket
from tests.support.s3_rounds import settings_of_credentials

BUCKET = "lake"
MORE_S = 2.0
"""Time that a run may take longer than the listing alone if nothing changed."""


def of_bucket(server: Versitygw, folder: Path, objects: int) -> Filling:
    """Return a bucket with this number of objects, and an extractor that reads them all."""
    source = Source(source_id("bench", "S3"), S3_TYPE, "S3", "bench", (f"s3://{BUCKET}",))
    estate = Estate("bench", (source,))
    fill_bucket(server.bucket(BUCKET), objects)
    credentials = settings_of_credentials(folder)
    s3 = S3(source, estate, BUCKET, server.url, REGION, entries="all", **credentials)
    return Filling(EXTRACTORS["s3"], s3, "entities", 1 + DIRECTORIES + objects)


def of_directories(bucket: Filling) -> Filling:
    """Return a filling that reads the same bucket, and keeps its directories alone."""
    assert isinstance(bucket.extractor, S3)
    return Filling(
        bucket.registration, replace(bucket.extractor, entries="directories"), "entities", 1 + DIRECTORIES
    )


def list_alone(extractor: S3, processes: ProcessPoolExecutor) -> None:
    """List the bucket in ranges, and make the records."""
    waiting = list(extractor.plan(Positions({}, round(time.time() * 1000))).splits)
    while waiting:
        further = list(processes.map(partial(_read, extractor), waiting))
        waiting = [split for each in further for split in each]


def _read(extractor: S3, split: Split) -> list[Split]:
    return [record for record in extractor.read(split) if isinstance(record, Split)]


def measure(server: Versitygw, folder: Path, objects: int, rounds: int) -> Table:
    hdfs, s3 = image(folder, 2 * objects), of_bucket(server, folder, objects)
    assert isinstance(s3.extractor, S3)
    with own_solr(folder / "state", memory="2g") as solr, ProcessPoolExecutor() as processes:
        spark = start_session(folder / "scratch", settings={"spark.executorEnv.PYTHONPATH": str(REPOSITORY)})
        pipeline = Pipeline(solr.address, lambda: spark, lambda: round(time.time() * 1000))

        def run(of: Filling) -> RunRecord:
            record = pipeline.run(of.registration, of.extractor, complete=True)
            assert not record.error, record.error
            assert not record.failures, record.failures
            return record

        default = of_directories(s3)
        took: dict[str, list[float]] = {"hdfs": [], "s3": [], "alone": [], "again": [], "default": []}
        for number in range(rounds + 1):
            for name, of in (("hdfs", hdfs), ("s3", s3)):
                empty(solr, *CORES)
                took[name].append(seconds(partial(run, of)))
            took["alone"].append(seconds(partial(list_alone, s3.extractor, processes)))
            took["again"].append(seconds(partial(run, s3)))
            empty(solr, *CORES)
            run(default)
            took["default"].append(seconds(partial(run, default)))
            last = ", ".join(f"{name} {each[-1]:.1f} s" for name, each in took.items())
            Console(stderr=True).print(f"round {number}: {last}, load {load_of_machine()}")
        spark.stop()
    middle = {name: statistics.median(each[1:]) for name, each in took.items()}
    rates = {"hdfs": hdfs.units / middle["hdfs"], "s3": s3.units / middle["s3"]}
    table = table_of(
        "what",
        figures=("time", "entities/s", "ratio"),
        title=f"{objects:,} objects, median of {rounds} rounds",
    )
    table.add_row("HDFS, an image", f"{middle['hdfs']:.1f} s", f"{rates['hdfs']:,.0f}", "1.00")
    table.add_row(
        "S3, a bucket", f"{middle['s3']:.1f} s", f"{rates['s3']:,.0f}", f"{rates['s3'] / rates['hdfs']:.2f}"
    )
    table.add_row("the listing alone", f"{middle['alone']:.1f} s", f"{s3.units / middle['alone']:,.0f}", "")
    allowed_s = middle["alone"] + MORE_S
    for name, kept in (("again", "objects"), ("default", "directories")):
        took_s = middle[name]
        table.add_row(
            f"S3 again, nothing changed, {kept} kept", f"{took_s:.1f} s", f"{s3.units / took_s:,.0f}", ""
        )
        table.add_row(f"  of the listing alone and {MORE_S:.0f} s", "", "", f"{took_s / allowed_s:.2f}")
    return table


def main() -> None:
    given = options(__doc__, objects=200_000, rounds=3).parse_args()
    with (
        tempfile.TemporaryDirectory() as directory,
        running_versitygw(built(JARS), Path(directory) / "versitygw") as server,
    ):
        Console().print(measure(server, Path(directory), given.objects, given.rounds))


if __name__ == "__main__":
    main()
