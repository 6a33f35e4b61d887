"""Runs of the HDFS extractor without a pipeline: plans, rows read, and the state kept between runs."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from extractors.hdfs import Hdfs
from navlin.model.plan import Plan, Positions
from navlin.model.records import Covered, Listing, Position, Record, Reject, Split
from navlin.model.tree import contains

NOW_MS = 1_800_000_000_000
MINUTE_MS = 60_000
Row = dict[str, Any]


@dataclass
class Run:
    """A plan, and all splits and records read for it."""

    plan: Plan
    splits: list[Split] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)

    @property
    def rows(self) -> dict[str, Row]:
        """Path → row. If a path was read twice, the row with the later time wins."""
        found: dict[str, tuple[int, Row]] = {}
        for listing in self.listings:
            for path, row in rows_of(listing):
                if path not in found or found[path][0] < listing.as_of_ms:
                    found[path] = (listing.as_of_ms, row)
        return {path: row for path, (_, row) in found.items()}

    @property
    def listings(self) -> list[Listing]:
        return [one for one in self.records if isinstance(one, Listing)]

    @property
    def rejects(self) -> list[Reject]:
        return [one for one in self.records if isinstance(one, Reject)]

    @property
    def covers(self) -> list[Covered]:
        return [*self.plan.covers, *(one for one in self.records if isinstance(one, Covered))]

    @property
    def positions(self) -> dict[str, Any]:
        read = [one for one in self.records if isinstance(one, Position)]
        return {one.key: one.value for one in (*read, *self.plan.positions)}

    def is_gone(self, path: str) -> bool:
        """Whether a previously known path counts as deleted after this run."""
        tree = path.replace("%", "%25")
        return path not in self.rows and any(
            contains(cover.path, tree) and (not cover.matching or re.fullmatch(cover.matching, tree))
            for cover in self.covers
        )


def rows_of(listing: Listing) -> Iterator[tuple[str, Row]]:
    """Yield (path, attributes) for each row of a listing, without attributes that are None. The names of volatile
    attributes begin with ``~``.
    """
    columns = {"directory": listing.directories, **listing.attributes}
    columns |= {f"~{name}": column for name, column in listing.volatile.items()}
    plain = {name: _plain(column) for name, column in columns.items()}
    for at, path in enumerate(_plain(listing.paths)):
        yield path, {name: column[at] for name, column in plain.items() if column[at] is not None}


def _plain(column: Any) -> list[Any]:
    return column.to_pylist() if hasattr(column, "to_pylist") else list(column)


@dataclass
class Follower:
    """Runs an extractor repeatedly, a minute apart, and keeps its positions as the pipeline does."""

    hdfs: Hdfs
    saved: dict[str, Any] = field(default_factory=dict)
    known: dict[str, Row] = field(default_factory=dict)
    now_ms: int = NOW_MS

    def run(self, *, complete: bool = False, later_ms: int = MINUTE_MS) -> Run:
        self.now_ms += later_ms
        done = Run(self.hdfs.plan(Positions(self.saved, self.now_ms, complete)))
        waiting = list(done.plan.splits)
        while waiting:
            split: Split = pickle.loads(pickle.dumps(waiting.pop(0)))  # noqa: S301  # pickled by this test, as Spark does
            done.splits.append(split)
            for record in self.hdfs.read(split):
                if isinstance(record, Split):
                    waiting.append(record)
                else:
                    done.records.append(record)
        self.saved |= done.positions
        for path in [path for path in self.known if done.is_gone(path)]:
            del self.known[path]
        self.known |= done.rows
        return done
