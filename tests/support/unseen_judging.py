"""Comparison of the lineage that navlin reads from an input in ``data/unseen`` with the expected lineage."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from tests.support.unseen_inputs import Edges, Told, edges_of
from tests.support.unseen_truths import (
    ALSO_READ,
    ALSO_TRUE,
    ASKED_AGAIN,
    INEXACT,
    ONLY_IF_COLUMNS_LACK,
    VIEWS,
    WRITTEN_FROM_NOTHING,
    Edge,
    Truth,
)

OPERATION: Final = "the operation"


@dataclass
class Judgement:
    """Lists of texts: wrong edges, missing edges without a flag, flags although the input is complete, and all flags."""

    wrong: list[str]
    silent: list[str]
    needless: list[str]
    flags: list[str]

    @property
    def verdict(self) -> str:
        named = {"wrong": self.wrong, "silent": self.silent, "needless flag": self.needless}
        return next(
            (name for name, found in named.items() if found), "flagged rightly" if self.flags else "right"
        )


def judged(told: Told, truth: Truth) -> Judgement:
    edges = edges_of(told, truth)
    if _is_refused_archive(told, truth):
        return Judgement([], [], [], ["the archive is rejected as a whole"])
    silent = _silent(edges, told, truth)
    needless = edges.flags if truth.complete and not truth.may_doubt else []
    return Judgement(sorted(_wrong(edges, truth)), silent, needless, edges.flags)


def _is_refused_archive(told: Told, truth: Truth) -> bool:
    zips = truth.may_doubt and truth.name.startswith("z_")
    return zips and not told.entities and len(told.rejects) == 1 and "zip" in told.rejects[0].reason


def _wrong(edges: Edges, truth: Truth) -> Iterator[str]:
    view = VIEWS.get(truth.name)
    also = ALSO_TRUE.get(truth.name, set())
    for source, target in _other_edges(edges.tables, truth.tables | also):
        reads_alone = not any(_is_between(edge, source, target) for edge in edges.columns)
        known = source in truth.sources | truth.targets | ALSO_READ.get(truth.name, set())
        if source != target and source != view and not (reads_alone and known):
            yield f"{source} → {target}"
    for edge in _other_edges(edges.columns, truth.columns | also):
        inexact = truth.name in INEXACT and "opaque" in edges.marks[edge]
        through = (
            view is not None and edge[0].startswith(view + ".") and _through(edge, truth) <= truth.columns
        )
        if not inexact and not through and _table_of(edge[0], truth) != _table_of(edge[1], truth):
            yield f"{edge[0]} → {edge[1]}"
    read = truth.sources | truth.targets | ALSO_READ.get(truth.name, set())
    written = truth.targets | WRITTEN_FROM_NOTHING.get(truth.name, set())
    yield from (f"{name} → {OPERATION}" for name in edges.read if _folded(name) not in map(_folded, read))
    yield from (
        f"{OPERATION} → {name}" for name in edges.written if _folded(name) not in map(_folded, written)
    )


def _silent(edges: Edges, told: Told, truth: Truth) -> list[str]:
    through = {
        made for edge in edges.columns for made in _through(edge, truth) if truth.name in VIEWS
    } & truth.columns
    lacking = [
        *sorted(_other_edges(truth.tables, edges.tables)),
        *sorted(_other_edges(truth.columns, edges.columns | through)),
    ]
    untold = [
        edge
        for edge in lacking
        if not _is_doubted(edge[1], edges, truth) and not _waits(edge[1], told, truth)
    ]
    # An operation without a named target accounts for the missing edges of one target.
    adrift = len({_table_of(target, truth) for _, target in untold}) <= edges.adrift
    found = [] if adrift else [f"{source} → {target}" for source, target in untold]
    exempt = truth.name in ONLY_IF_COLUMNS_LACK and not lacking
    marked = any(edges.marks.values()) or _has_waiting(told, truth)
    if not truth.complete and not edges.flags and not marked and not exempt:
        found.append("nothing is flagged")
    return found


def _other_edges(edges: Iterable[Edge], known: Iterable[Edge]) -> set[Edge]:
    """Return the edges that are not in ``known``. Case is ignored except in HDFS paths, because engines fold it."""
    folded = {(_folded(source), _folded(target)) for source, target in known}
    return {(source, target) for source, target in edges if (_folded(source), _folded(target)) not in folded}


def _folded(name: str) -> str:
    return name if name.startswith("hdfs:") else name.lower()


def _is_between(edge: Edge, source: str, target: str) -> bool:
    return all(
        _folded(column).startswith((_folded(table) + ".", _folded(table) + "#"))
        for column, table in zip(edge, (source, target), strict=True)
    )


def _is_doubted(target: str, edges: Edges, truth: Truth) -> bool:
    doubted = {_folded(each) for each in edges.doubted}
    return not doubted.isdisjoint({_folded(target), _folded(_table_of(target, truth))})


def _table_of(name: str, truth: Truth) -> str:
    """The table that contains a column, according to the expected lineage; the name itself if the expected lineage has
    none.
    """
    tables = [
        each
        for each in truth.sources | truth.targets
        if re.match(re.escape(each) + "[.#]", name, re.IGNORECASE)
    ]
    return max(tables, key=len, default=name)


def _through(edge: Edge, truth: Truth) -> set[Edge]:
    """The expected edges that replace an edge from a view's column."""
    return {(source, edge[1]) for source, target in truth.columns if target == edge[0]}


def _has_waiting(told: Told, truth: Truth) -> bool:
    """Whether a missing job is in the next plan or has a saved position."""
    job, _ = ASKED_AGAIN.get(truth.name, ("", ""))
    number = job.removeprefix("job_")
    return bool(job) and (job in told.still or any(number in key for key in told.saved))


def _waits(target: str, told: Told, truth: Truth) -> bool:
    return _has_waiting(told, truth) and target == ASKED_AGAIN[truth.name][1]
