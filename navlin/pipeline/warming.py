"""Warms Spark up. The first use of a session and of its Python workers takes seconds, which would delay the first
event."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from navlin.model.extractor import PUSH, Extractor, Registration
from navlin.model.keys import operation_key
from navlin.model.plan import Plan, Positions
from navlin.model.records import Covered, Entity, Record, Split
from navlin.model.source import Estate, Source, source_id
from navlin.pipeline.run import Pipeline


def warm_up(pipeline: Pipeline, extractors: Sequence[Extractor]) -> None:
    """Start a Python worker for each core, load the modules of the extractors in the workers, and make one dry run.

    Nothing is written. An error is not reported, because the first real run fails with the same error.
    """
    extractor = operations(pipeline.spark().sparkContext.defaultParallelism, extractors)
    pipeline.run(
        Registration("warming", extractor.source.type, PUSH, 1, OperationEach), extractor, dry_run=True
    )


def operations(splits: int, extractors: Sequence[Extractor] = ()) -> OperationEach:
    """Return an extractor with ``splits`` splits of one operation each. ``extractors`` are pickled together with the
    returned extractor, so that the workers load the modules of all extractors."""
    source = Source(source_id("", "warming"), "WARMING", "warming", "")
    return OperationEach(source, Estate("", (source,)), splits, tuple(extractors))


@dataclass(frozen=True, slots=True)
class Numbered(Split):
    number: int

    @property
    def name(self) -> str:
        return f"warming {self.number}"


@dataclass(frozen=True, slots=True)
class OperationEach(Extractor):
    """An extractor that reads one operation from each split."""

    source: Source
    estate: Estate
    splits: int
    others: tuple[Extractor, ...]

    def plan(self, positions: Positions) -> Plan:
        return Plan(tuple(map(Numbered, range(self.splits))))

    def read(self, split: Split) -> Iterator[Record]:
        operation = operation_key(self.source, split.name, ())
        yield Entity(operation, 0)
        yield Covered(operation.tree_path, 0, reported=True)
