"""Creates an archive of the classes that Spark loads in a run, so that every later start is quicker.

It runs as a separate process (``python -m navlin.pipeline.archiving DIRECTORY``), because it takes half a minute of CPU
time, and because a process can have only one Spark at a time.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

# `make` runs this module every time, so the other modules are imported only if there is something to do.
from navlin.pipeline.spark_jvm import archive_in

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from navlin.pipeline.warming import Numbered

WRITE_S: Final = 900.0
"""Maximum time for the JVM to write the archive, in seconds. It is long because the JVM runs at the lowest priority."""


def make_archive(directory: Path) -> Path:
    """Create the class archive for the installed Java and Spark jars in ``directory``, and remove archives for other
    versions; do neither if the archive exists. Return the path of the archive. The file is missing if the JVM did not
    write it, for example because the operator has Spark started in another way."""
    archive = archive_in(directory)
    if archive.exists():
        return archive
    from navlin.pipeline.session import end_session, start_session

    directory.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=directory, prefix=_unfinished()) as folder:
        unfinished = Path(folder) / archive.name
        session = start_session(Path(folder) / "scratch", archive=unfinished, record=True)
        use_as_a_run_does(session)
        end_session(session, wait_s=WRITE_S)
        if unfinished.exists():
            unfinished.replace(archive)
    for other in directory.glob("spark-*.jsa"):
        if other != archive:
            other.unlink(missing_ok=True)
    return archive


def use_as_a_run_does(spark: SparkSession) -> None:
    """Run the same kinds of Spark jobs as a run, but without an index: read a few operations, sort them into ranges,
    and count them."""
    from pyspark.sql import functions as F

    from navlin.pipeline.frames import in_ranges, rows_of_splits
    from navlin.pipeline.materialised import materialised
    from navlin.pipeline.reconciling import COUNTED, OUTCOME_COLUMNS
    from navlin.pipeline.warming import Numbered, operations

    splits = [Numbered(number) for number in range(2 * spark.sparkContext.defaultParallelism)]
    with ExitStack() as stack:
        rows = rows_of_splits(spark, operations(len(splits)), splits, stack)
        rows.where(F.col("core").startswith("#")).collect()
        for ranges in (1, 2):
            outcomes = materialised(
                in_ranges(spark, [rows, rows], ranges).mapInArrow(_count, OUTCOME_COLUMNS), stack
            )
            outcomes.where(F.col("outcome") == COUNTED).collect()
    spark.sparkContext.parallelize(splits, len(splits)).map(_name).collect()


def _count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    from navlin.pipeline.reconciling import COUNTED, OUTCOME_SCHEMA

    rows = [("", COUNTED, "", sum(batch.num_rows for batch in batches), "")]
    yield pa.RecordBatch.from_pylist(
        [dict(zip(OUTCOME_SCHEMA.names, row, strict=True)) for row in rows], OUTCOME_SCHEMA
    )


def _name(split: Numbered) -> str:
    return split.name


def main() -> None:
    """Run the command line. With ``--with-parent``, give up when standard input is closed."""
    parser = argparse.ArgumentParser(description="Make the archive of Spark's classes.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--with-parent", action="store_true")
    given = parser.parse_args()
    directory = given.directory.absolute()
    signal.signal(signal.SIGTERM, lambda *_: _give_up(directory))
    if given.with_parent:
        threading.Thread(target=_end_with_parent, args=(directory,), daemon=True).start()
    os.nice(19)
    make_archive(directory)


def _unfinished() -> str:
    return f".making-{os.getpid()}-"


def _end_with_parent(directory: Path) -> None:
    sys.stdin.read()
    _give_up(directory)


def _give_up(directory: Path) -> None:
    """Exit without the archive. Left alone, the JVM would still write it, for up to a minute and into a folder that
    nobody removes."""
    for children in Path("/proc/self/task").glob("*/children"):
        for child in map(int, children.read_text().split()):
            with suppress(ProcessLookupError, ChildProcessError):
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
    for folder in directory.glob(f"{_unfinished()}*"):
        shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


if __name__ == "__main__":
    main()
