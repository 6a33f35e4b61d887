"""Extractors for tests of the processes that read splits: one that ends its process, and one that never finishes."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass

from navlin.model.records import Record, Split
from navlin.pipeline.warming import OperationEach, operations


@dataclass(frozen=True, slots=True)
class Deadly(OperationEach):
    """Ends the process that reads a split."""

    def read(self, split: Split) -> Iterator[Record]:
        if split.name:
            os._exit(3)
        yield from ()


@dataclass(frozen=True, slots=True)
class Slow(OperationEach):
    """Reads a split for longer than any timeout."""

    def read(self, split: Split) -> Iterator[Record]:
        time.sleep(600)
        yield from ()


def made(kind: type[OperationEach]) -> OperationEach:
    of = operations(2)
    return kind(of.source, of.estate, of.splits, of.others)
