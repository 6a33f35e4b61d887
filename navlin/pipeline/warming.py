"""Warming Spark up: the first use of a session and of its Python workers costs seconds, which no event should wait for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from navlin.index.envelope import ENVELOPE_COLUMNS
from navlin.model.extractor import PUSH, Extractor, Registration
from navlin.model.keys import operation_key
from navlin.model.plan import Plan, Positions
from navlin.model.records import Covered, Entity, Record, Split
from navlin.model.source import Estate, Source, source_id
from navlin.pipeline.reading import read_splits
from navlin.pipeline.run import Pipeline


def warm_up(pipeline: Pipeline, extractors: Sequence[Extractor]) -> None:
    """Makes the Python workers, loads the extractors' modules in them, and takes the way of a run once, dry.

    Nothing is written. What goes wrong is for the first real run to meet, and to tell.
    """
    spark = pipeline.spark()
    cores = spark.sparkContext.defaultParallelism
    frame = spark.createDataFrame([(b"",)] * cores, "split binary").repartition(cores)
    frame.mapInArrow(_read_nothing(extractors), ENVELOPE_COLUMNS).collect()
    source = Source(source_id("", "warming"), "WARMING", "warming", "")
    extractor = _OneOperation(source, Estate("", (source,)))
    pipeline.run(Registration("warming", source.type, PUSH, 1, _OneOperation), extractor, dry_run=True)


def _read_nothing(
    extractors: Sequence[Extractor],
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    readers = [read_splits(extractor) for extractor in extractors]

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            for reader in readers:
                yield from reader(())

    return read


@dataclass(frozen=True, slots=True)
class _Whole(Split):
    @property
    def name(self) -> str:
        return "warming"


@dataclass(frozen=True, slots=True)
class _OneOperation(Extractor):
    """An extractor whose source has one operation in it."""

    source: Source
    estate: Estate

    def plan(self, positions: Positions) -> Plan:
        return Plan((_Whole(),))

    def read(self, split: Split) -> Iterator[Record]:
        operation = operation_key(self.source, "warming", ())
        yield Entity(operation, 0)
        yield Covered(operation.tree_path, 0, reported=True)
