"""Index size on disk for a million entities and a million relations, of an HDFS and of a metastore.

    python -m bench size [--documents 200000]

Each source goes through the pipeline into its own empty index, which is then merged to the size at which a core settles.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench._index import REPOSITORY, own_solr
from bench._made_sources import FILLINGS
from bench._options import options
from bench._shown import table_of
from navlin.index.schema.fields import ELEMENTS, RELATIONS
from navlin.index.solr.solr import Solr
from navlin.pipeline.run import Pipeline
from navlin.pipeline.session import end_session, start_session

MILLION = 1_000_000
SETTLE_S = 120.0


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
    shown = table_of(
        "of", "core", figures=("documents", "on disk", "a million"), title="merged to one segment"
    )
    spark = start_session(folder / "scratch", settings={"spark.executorEnv.PYTHONPATH": str(REPOSITORY)})
    try:
        for name in ("hdfs", "tables"):
            filling = FILLINGS[name](folder, documents_each)
            with own_solr(folder / name, memory="2g") as solr:
                pipeline = Pipeline(solr.address, lambda: spark, lambda: round(time.time() * 1000))
                record = pipeline.run(filling.registration, filling.extractor)
                assert not record.error and not record.failures, (record.error, record.failures)
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
    given = options(__doc__, documents=200_000).parse_args()
    with tempfile.TemporaryDirectory() as directory:
        Console().print(measure(Path(directory), given.documents))


if __name__ == "__main__":
    main()
