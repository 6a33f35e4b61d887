"""Index size on disk for a million entities and a million relations, of an HDFS and of a metastore.

    python -m bench size [--documents 200000]

Each source goes through the pipeline into its own empty index, which is then merged to the size at which a core settles.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

from bench._made_sources import FILLINGS, Filling
from navlin.index.admin.cores import CORES
from navlin.index.schema.fields import ELEMENTS, RELATIONS
from navlin.index.solr.solr import Solr
from navlin.pipeline.run import Pipeline
from navlin.pipeline.session import end_session, start_session
from navlin.shipped import CONF
from navlin.solr_server.embedded import EmbeddedSolr, SolrSettings

REPOSITORY = Path(__file__).parents[1]
MILLION = 1_000_000
SETTLE_S = 120.0


@contextmanager
def indexed(folder: Path, spark: SparkSession, filling: Filling) -> Iterator[Solr]:
    """Start a Solr with an index of one source."""
    jars = REPOSITORY / ".jars" / "solr"
    settings, cache = SolrSettings(memory="2g"), jars.parent / "solr-launcher"
    with (
        EmbeddedSolr(folder, jars, CONF / "solr", cores=CORES, settings=settings, cache=cache) as server,
        Solr(server.address) as solr,
    ):
        record = Pipeline(server.address, lambda: spark, lambda: round(time.time() * 1000)).run(
            filling.registration, filling.extractor
        )
        assert not record.error and not record.failures, (record.error, record.failures)
        yield solr


def size_of(solr: Solr, core: str) -> tuple[int, int]:
    """Merge a core to one segment. Return its number of documents and its size in bytes."""
    solr.client(core).optimize(waitSearcher=True)
    deadline_s, before = time.monotonic() + SETTLE_S, -1
    while True:
        # Solr deletes the files of merged segments with a short delay.
        index = solr.admin("cores", {"action": "STATUS", "core": core})["status"][core]["index"]
        if index["sizeInBytes"] == before or time.monotonic() > deadline_s:
            return int(index["numDocs"]), before
        before = int(index["sizeInBytes"])
        time.sleep(1)


def measure(folder: Path, documents_each: int) -> Table:
    shown = Table(title="merged to one segment")
    for heading in ("of", "core", "documents", "on disk", "a million"):
        shown.add_column(heading, justify="left" if heading in ("of", "core") else "right")
    spark = start_session(folder / "scratch", settings={"spark.executorEnv.PYTHONPATH": str(REPOSITORY)})
    try:
        for name in ("hdfs", "tables"):
            with indexed(folder / name, spark, FILLINGS[name](folder, documents_each)) as solr:
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
    arguments.add_argument("--documents", type=int, default=200_000, help="approximate number of each kind")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        Console().print(measure(Path(directory), given.documents))


if __name__ == "__main__":
    main()
