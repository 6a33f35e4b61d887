"""How much disk the index takes for a million entities and a million relations, of an HDFS and of a metastore.

    python -m bench size [--inodes 200000] [--tables 6000] [--columns 15]

Each goes through the pipeline into an empty index of its own, which is then merged to what a core settles at.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

from bench.indexing import MADE, Made
from extractors.hdfs import Hdfs
from navlin.index.cores import CORES
from navlin.index.fields import ELEMENTS, RELATIONS
from navlin.index.solr import Solr
from navlin.model.extractor import EXTRACTORS, Extractor, Registration
from navlin.model.source import HDFS, HIVE, Estate, Source, source_id
from navlin.pipeline.run import Pipeline
from navlin.pipeline.session import end_session, start_session
from navlin.shipped import CONF
from navlin.solr_server.embedded import EmbeddedSolr, SolrSettings
from tests.support.large_images import write_large_image

REPOSITORY = Path(__file__).parents[1]
MILLION = 1_000_000
SETTLE_S = 120.0


@contextmanager
def indexed(
    folder: Path, spark: SparkSession, registration: Registration, extractor: Extractor
) -> Iterator[Solr]:
    """An index of one source."""
    jars = REPOSITORY / ".jars" / "solr"
    settings, cache = SolrSettings(memory="2g"), jars.parent / "solr-launcher"
    with (
        EmbeddedSolr(folder, jars, CONF / "solr", cores=CORES, settings=settings, cache=cache) as server,
        Solr(server.address) as solr,
    ):
        record = Pipeline(server.address, lambda: spark, lambda: round(time.time() * 1000)).run(
            registration, extractor
        )
        assert not record.error and not record.failures, (record.error, record.failures)
        yield solr


def size_of(solr: Solr, core: str) -> tuple[int, int]:
    """Documents and bytes of a core, merged to one segment."""
    solr.client(core).optimize(waitSearcher=True)
    deadline_s, before = time.monotonic() + SETTLE_S, -1
    while True:
        # Files of merged segments go a moment later.
        index = solr.admin("cores", {"action": "STATUS", "core": core})["status"][core]["index"]
        if index["sizeInBytes"] == before or time.monotonic() > deadline_s:
            return int(index["numDocs"]), before
        before = int(index["sizeInBytes"])
        time.sleep(1)


def measure(folder: Path, inodes: int, tables: int, columns: int) -> Table:
    image = write_large_image(folder / f"fsimage_{inodes:019}", inodes).path
    hdfs = Source(source_id("bench", "HDFS"), HDFS, "HDFS", "bench", ("hdfs://bench",))
    hive = Source(source_id("bench", "made"), HIVE, "made", "bench")
    estate = Estate("bench", (hdfs,), spool=str(folder / "spool"))
    sources: dict[str, Callable[[], tuple[Registration, Extractor]]] = {
        "an HDFS": lambda: (
            EXTRACTORS["hdfs"],
            Hdfs(hdfs, estate, "hdfs://bench", image=str(image), events=False, exclude=()),
        ),
        "a metastore": lambda: (MADE, Made(hive, Estate("bench", (hive,)), tables, columns)),
    }
    shown = Table(title="merged to one segment")
    for heading in ("of", "core", "documents", "on disk", "a million"):
        shown.add_column(heading, justify="left" if heading in ("of", "core") else "right")
    spark = start_session(folder / "scratch", settings={"spark.executorEnv.PYTHONPATH": str(REPOSITORY)})
    try:
        for name, made in sources.items():
            with indexed(folder / name.replace(" ", "-"), spark, *made()) as solr:
                for core in (ELEMENTS, RELATIONS):
                    documents, size_bytes = size_of(solr, core)
                    a_million = size_bytes / documents * MILLION
                    shown.add_row(
                        name,
                        core,
                        f"{documents:,}",
                        f"{size_bytes / 1e6:,.1f} MB",
                        f"{a_million / 1e6:,.0f} MB",
                    )
    finally:
        end_session(spark)
    return shown


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--inodes", type=int, default=200_000)
    arguments.add_argument("--tables", type=int, default=6_000)
    arguments.add_argument("--columns", type=int, default=15)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        Console().print(measure(Path(directory), given.inodes, given.tables, given.columns))


if __name__ == "__main__":
    main()
