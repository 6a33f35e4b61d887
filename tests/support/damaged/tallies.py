"""Reading damaged records as a Spark task does, and counting them by damage and outcome."""

from __future__ import annotations

import pickle
import random
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import orjson
import pyarrow as pa

from navlin.model.extractor import Extractor
from navlin.model.records import Split
from navlin.model.source import HIVE, Estate, Source, source_id
from navlin.pipeline.reading import ReadSummary, read_splits, summarize
from tests.support import damage

LONGEST_S: Final = 120.0
"""Timeout for reading one split of at most a few hundred records on a shared machine, in seconds."""
FILES_A_PLAN: Final = 100
LARGEST_BYTES: Final = 40_000
"""Size limit for records of the corpora, in bytes. Larger records are left out, because smaller ones show the same
behaviour.
"""
TEXTS_ON_THE_WIRE: Final = tuple(
    each for each in damage.ODD_TEXTS if "\ud800" not in each and "\udc00" not in each
)
"""Unusual texts that Thrift and an fsimage can represent, which excludes half surrogate pairs."""


class Outcome(StrEnum):
    VALID = "still valid"
    REJECTED = "rejected with its place"
    PASSED_OVER = "no record of ours any more"
    """By a rule of the format, the text is no longer a record, for example a blank line or a line of another logger."""
    WHOLE = "the whole refused"
    """The whole image or response is refused: its split fails with an error that names it, and nothing in it is used.
    """


class Damaged(AssertionError):
    """Raised if a damaged record had an unacceptable effect."""


@dataclass(slots=True)
class Tally:
    """Number of records by (name of the damage, outcome)."""

    counts: Counter[tuple[str, Outcome]] = field(default_factory=Counter)

    def add(self, way: str, outcome: Outcome) -> None:
        self.counts[way, outcome] += 1

    @property
    def total(self) -> int:
        return self.counts.total()

    def of(self, outcome: Outcome) -> int:
        return sum(count for (_, each), count in self.counts.items() if each is outcome)

    def __str__(self) -> str:
        by_outcome = ", ".join(f"{self.of(each)} {each}" for each in Outcome if self.of(each))
        return f"{self.total} damaged in {len({way for way, _ in self.counts})} ways: {by_outcome}"


@dataclass(frozen=True, slots=True)
class Task:
    documents: tuple[dict[str, Any], ...]
    summary: ReadSummary

    @property
    def executions(self) -> set[str]:
        return {each["identity"] for each in self.documents if each["type"] == "OPERATION_EXECUTION"}


Reader = Callable[[Path, random.Random, int, Sequence[Path]], Tally]
"""Function that damages and reads a given number of records of a source, in a separate directory. The last argument
lists directories of the corpora, if available.
"""


@contextmanager
def in_time(what: str) -> Iterator[None]:
    """Raise `Damaged` if the block takes longer than `LONGEST_S`."""

    def too_long(*_: object) -> None:
        raise Damaged(f"{what} takes more than {LONGEST_S} s")

    before = signal.signal(signal.SIGALRM, too_long)
    signal.setitimer(signal.ITIMER_REAL, LONGEST_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def in_a_task(extractor: Extractor, *splits: Split) -> Task:
    """Read splits, and all further splits that they yield, as Spark tasks do."""
    documents: list[dict[str, Any]] = []
    summary = ReadSummary()
    waiting = splits
    while waiting:
        pickled = pa.array([pickle.dumps(each) for each in waiting], pa.binary())
        batch = pa.RecordBatch.from_arrays([pickled], names=["split"])
        rows = [row for out in read_splits(extractor)([batch]) for row in out.to_pylist()]
        elements = (row for row in rows if row["core"] == "nav_elements")
        documents += (orjson.loads(row["document"]) | {"identity": row["identity"]} for row in elements)
        of_round = summarize(rows)
        summary, waiting = summary + of_round, of_round.splits
    # Leave out granted entities of other sources.
    return Task(tuple(each for each in documents if each.get("sourceId") == extractor.source.id), summary)


def damaged_source(name: str, kind: str) -> tuple[Source, Estate]:
    hive = Source(source_id("damaged", "HIVE-1"), HIVE, "HIVE-1", "damaged", ("thrift://hms:9083",))
    source = (
        hive if kind == HIVE and name == "hms" else Source(source_id("damaged", name), kind, name, "damaged")
    )
    return source, Estate("damaged", tuple(dict.fromkeys((hive, source))))
