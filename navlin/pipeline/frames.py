"""Builds the Spark data frames of a run: splits → rows read; rows → sorted ranges of identities; outcomes → missing
entities."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from navlin.index.schema.envelope import ENVELOPE_COLUMNS
from navlin.index.schema.fields import ELEMENTS
from navlin.model.extractor import Extractor
from navlin.model.records import Split
from navlin.pipeline.materialised import SharedFolder, materialised, on_one_machine
from navlin.pipeline.missing import BELOW_FIRST, MissingEntities, topmost
from navlin.pipeline.reading import read_splits
from navlin.pipeline.reading_here import read_here
from navlin.pipeline.reconciling import CORES, GONE, PREFIX_DIGITS, PREFIXES


def rows_of_splits(
    spark: SparkSession, extractor: Extractor, splits: Sequence[Split], until: ExitStack
) -> DataFrame:
    """Return the envelopes and control rows read from some splits. These rows are computed only once: at first use if
    Spark runs on one machine, otherwise now. Closing ``until`` frees the rows.

    If executors are on other machines, splits that can only be read on this machine are read by this process or its
    children. Raises `ReaderEnded` if a child exits before it has read everything.
    """
    if on_one_machine(spark):
        return materialised(_read_by_tasks(spark, extractor, splits), until)
    here = [split for split in splits if split.local or extractor.local]
    there = [split for split in splits if not (split.local or extractor.local)]
    rows = [_read_here(spark, extractor, here, until)] if here else []
    rows += [materialised(_read_by_tasks(spark, extractor, there), until)] if there else []
    return rows[0] if len(rows) == 1 else rows[0].unionAll(rows[1])


def _read_by_tasks(spark: SparkSession, extractor: Extractor, splits: Sequence[Split]) -> DataFrame:
    frame = spark.createDataFrame(pa.table({"split": [pickle.dumps(split) for split in splits]}))
    at_once = spark.sparkContext.defaultParallelism
    if len(splits) > at_once:  # otherwise each split already has its own partition
        frame = frame.repartition(min(len(splits), 4 * at_once))
    return frame.mapInArrow(read_splits(extractor), ENVELOPE_COLUMNS)


def _read_here(
    spark: SparkSession, extractor: Extractor, splits: Sequence[Split], until: ExitStack
) -> DataFrame:
    folder = SharedFolder(spark)
    until.callback(folder.remove)
    scratch = str(spark.sparkContext.getConf().get("spark.local.dir")).partition(",")[0]
    with TemporaryDirectory(dir=scratch, prefix="read-") as local:
        for file in read_here(extractor, splits, Path(local)):
            folder.put(file)
    return spark.read.schema(ENVELOPE_COLUMNS).parquet(folder.url)


def in_ranges(spark: SparkSession, rounds: Sequence[DataFrame], ranges: int) -> DataFrame:
    """Return the envelopes of all rounds, without control rows, in one partition for each of ``ranges`` equal ranges of
    identities. Each partition is sorted by core and identity, with the newest envelope of an identity first.

    The ranges must be those of `navlin.pipeline.reconciling.range_bounds`.
    """
    frame = spark.createDataFrame([], ENVELOPE_COLUMNS) if not rounds else rounds[0]
    for more in rounds[1:]:
        frame = frame.unionAll(more)
    frame = frame.where(F.col("core").isin(*CORES))
    if ranges == 1:
        # Even an empty frame needs a partition, because the partition's task finds the documents that are gone.
        frame = frame.coalesce(1) if rounds else frame.repartition(1)
    else:
        prefix = F.conv(F.substring("identity", 1, PREFIX_DIGITS), 16, 10).cast("long")
        frame = frame.repartitionById(ranges, F.floor(prefix * ranges / PREFIXES).cast("int"))
    return frame.sortWithinPartitions("core", "identity", F.desc("as_of"), F.desc("digest"))


def missing_in(outcomes: DataFrame) -> MissingEntities:
    """Return the topmost paths whose entities are missing in a full listing although no event reported their deletion,
    with the number of missing entities at and below each path. The column ``note`` of ``outcomes`` is the tree path."""
    rows = outcomes.where((F.col("core") == ELEMENTS) & (F.col("outcome") == GONE))
    rows = rows.select(F.translate("note", "/", BELOW_FIRST).alias("path")).orderBy("path")
    return topmost(row["path"].replace(BELOW_FIRST, "/") for row in rows.toLocalIterator())
