"""Compares records with the documents in the index, and writes the changes, in a Spark task.

A task has the records in one range of identities, sorted by core and identity. The task merges them with the documents
in the same order. An identity that is only among the records is new; an identity that is only in the index may be gone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from typing import Final, Protocol

import pyarrow as pa
from pyspark import TaskContext

from linker.linking import Linking
from linker.resolve_endpoints import marked
from navlin.index.graph.state import StoredState, claimed, look_up, stored_in_range
from navlin.index.schema.envelope import Envelope
from navlin.index.schema.fields import ELEMENTS, RELATIONS
from navlin.index.schema.stamp import Stamp
from navlin.index.solr.solr import Solr, SolrAddress
from navlin.index.write.documents import Document
from navlin.index.write.reassigned_executions import follow_operations
from navlin.index.write.renames import RenamedValues
from navlin.index.write.rewriting import WRITE_BATCH
from navlin.index.write.writing import Outcome, outcome_of, write
from navlin.model.batches import in_batches
from navlin.model.records import Covered
from navlin.model.tree import ROOT
from navlin.pipeline.comparison import Comparison, StateAccess
from navlin.pipeline.covering import Coverage

OUTCOME_SCHEMA: Final = pa.schema(
    [
        ("core", pa.string()),
        ("outcome", pa.string()),
        ("identity", pa.string()),
        ("as_of", pa.int64()),
        ("note", pa.string()),
    ]
)
OUTCOME_COLUMNS: Final = "core string, outcome string, identity string, as_of long, note string"
"""Columns of `OUTCOME_SCHEMA` in Spark's notation. A task yields one row per core and kind of outcome, with the count
in ``as_of``, and one row per document that is gone or was refused."""

GONE: Final = "gone"
GONE_REPORTED: Final = "gone, as the source reported"
REFUSED: Final = "refused"
COUNTED: Final = "counted"
LINKED: Final = "linked"
"""Additional outcome of a new relation whose ends were found before the relation was written."""
_UNMARKED: Final[Document] = {"unlinked": True}
CORES: Final = (ELEMENTS, RELATIONS)
PREFIX_DIGITS: Final = 4
PREFIXES: Final = 16**PREFIX_DIGITS


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """Parameters of a reconciling task, pickled for Spark."""

    address: SolrAddress
    writer: str
    stamp: Stamp
    coverage: Coverage
    follows_events: bool
    purged_before_ms: int
    comparison: Comparison
    carried: Mapping[str, Mapping[str, StoredState]] = field(default_factory=dict)
    """Core → id → document at or below the covered paths, if the driver read the documents (`StateAccess.CARRIED`)."""
    dry_run: bool = False
    renamed: RenamedValues = RenamedValues()  # noqa: RUF009  # it is frozen
    reads_again: bool = False
    """Whether the run reads records again. If so, executions keep their operations for now: `linker.superseded` moves
    the executions later, and removes the operations that they leave."""


def range_bounds(index: int, ranges: int) -> tuple[str, str]:
    """Return the bounds [low, high) of one of ``ranges`` equal ranges of identities; "" for an open end."""
    low = -(-index * PREFIXES // ranges)
    high = -(-(index + 1) * PREFIXES // ranges)
    return (
        "" if index == 0 else f"{low:0{PREFIX_DIGITS}x}",
        "" if index == ranges - 1 else f"{high:0{PREFIX_DIGITS}x}",
    )


def reconcile(task: Reconciliation) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that a Spark task maps over its sorted envelopes. The function yields one batch of outcome
    rows."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        partition = TaskContext.get()
        low, high = range_bounds(partition.partitionId() if partition else 0, task.comparison.ranges)
        rows = _OutcomeRows()
        by_core = groupby(_envelopes(batches), key=attrgetter("core"))
        core, envelopes = next(by_core, ("", iter(())))
        with Solr(task.address) as solr:
            for each in CORES:
                of_core: Iterator[Envelope] = iter(())
                if core == each:
                    of_core = envelopes
                _reconcile_core(solr, task, each, of_core, _state(solr, task, each, low, high), rows)
                if core == each:
                    core, envelopes = next(by_core, ("", iter(())))
        yield rows.as_batch()

    return run


class IndexedState(Protocol):
    """Access to the documents in the index. Ids must be looked up in ascending order."""

    def of(self, ids: list[str]) -> dict[str, StoredState]:
        """Return id → document for the ids that exist."""
        ...

    def unasked(self) -> Iterator[StoredState]:
        """Yield the documents at and below the covered paths that no call of ``of`` has looked up. Call this only once,
        after the last ``of``."""
        ...


class _Nothing:
    """Access for a source without documents in the index."""

    def of(self, ids: list[str]) -> dict[str, StoredState]:
        return {}

    def unasked(self) -> Iterator[StoredState]:
        return iter(())


class _Carried:
    """Access for a task that carries the documents at and below the covered paths; other ids are looked up."""

    def __init__(self, solr: Solr, core: str, carried: Mapping[str, StoredState]) -> None:
        self._solr, self._core, self._carried = solr, core, carried
        self._asked: set[str] = set()

    def of(self, ids: list[str]) -> dict[str, StoredState]:
        self._asked.update(ids)
        found = {identity: self._carried[identity] for identity in ids if identity in self._carried}
        return found | look_up(self._solr, self._core, [each for each in ids if each not in found])

    def unasked(self) -> Iterator[StoredState]:
        return (stored for identity, stored in self._carried.items() if identity not in self._asked)


class _Exported:
    """Access that streams the documents of one range at and below the covered paths alongside the records; both are
    sorted by identity. Other ids are looked up, unless the run covers everything."""

    def __init__(self, solr: Solr, task: Reconciliation, core: str, low: str, high: str) -> None:
        self._solr, self._core, self._everything = solr, core, task.coverage.everything
        below = (ROOT,) if self._everything else tuple(task.coverage.by_path)
        self._stored = stored_in_range(solr, core, task.writer, low, high, below=below)
        self._next = next(self._stored, None)
        self._passed: list[StoredState] = []

    def of(self, ids: list[str]) -> dict[str, StoredState]:
        found: dict[str, StoredState] = {}
        for identity in ids:
            while self._next is not None and self._next.identity < identity:
                self._passed.append(self._next)
                self._next = next(self._stored, None)
            if self._next is not None and self._next.identity == identity:
                found[identity] = self._next
                self._next = next(self._stored, None)
        if self._everything:
            return found
        return found | look_up(self._solr, self._core, [each for each in ids if each not in found])

    def unasked(self) -> Iterator[StoredState]:
        yield from self._passed
        if self._next is not None:
            yield self._next
        yield from self._stored


def _state(solr: Solr, task: Reconciliation, core: str, low: str, high: str) -> IndexedState:
    match task.comparison.state:
        case StateAccess.NOTHING:
            return _Nothing()
        case StateAccess.CARRIED:
            in_range = {
                identity: stored
                for identity, stored in task.carried.get(core, {}).items()
                if low <= identity and (not high or identity < high)
            }
            return _Carried(solr, core, in_range)
        case StateAccess.EXPORTED:
            return _Exported(solr, task, core, low, high)


def _reconcile_core(
    solr: Solr,
    task: Reconciliation,
    core: str,
    envelopes: Iterator[Envelope],
    state: IndexedState,
    rows: _OutcomeRows,
) -> None:
    renamed = task.renamed if core == ELEMENTS else None
    newest = (next(versions) for _, versions in groupby(envelopes, key=attrgetter("identity")))
    for batch in in_batches(newest, WRITE_BATCH):
        stored = state.of([envelope.identity for envelope in batch])
        foreign = [e.identity for e in batch if e.writer != task.writer and e.identity not in stored]
        stored |= look_up(solr, core, foreign)
        records = _without_unclaimed(
            solr,
            [(each, _compared(task, each, stored.get(each.identity), core, rows)) for each in batch],
        )
        counted: list[Outcome] = [outcome for _, outcome in records if outcome in _NOT_WRITTEN]
        if task.dry_run:
            counted = [outcome for _, outcome in records]
        else:
            marks = _marks(solr, task, core, records)
            if not task.reads_again:
                changed = (each for each, outcome in records if outcome is Outcome.CHANGED)
                follow_operations(solr, changed, task.stamp)
            for envelope, outcome, reason in write(solr, core, records, task.stamp, renamed, marks):
                counted.append(outcome)
                if outcome is Outcome.REFUSED:
                    rows.refused(core, envelope.identity, f"{envelope.tree_path}: {reason}")
                elif outcome in _NEW and not marks.get(envelope.identity, _UNMARKED)["unlinked"]:
                    rows.count(core, [LINKED])
        rows.count(core, counted)
    for left in state.unasked():
        covered = task.coverage.of(left.tree_path)
        if covered and not left.deleted and task.stamp.counted(left.as_of_ms) <= covered.as_of_ms:
            rows.gone(core, covered, left.identity, left.tree_path)


_NEW: Final = (Outcome.NEW, Outcome.WITHDRAWN)
_NOT_WRITTEN: Final = (Outcome.UNCHANGED, Outcome.LATE, Outcome.PURGED, Outcome.UNCLAIMED)


def _marks(
    solr: Solr, task: Reconciliation, core: str, records: list[tuple[Envelope, Outcome]]
) -> Mapping[str, Document]:
    if core != RELATIONS:
        return {}
    linking = Linking(solr, task.stamp.now_ms, task.stamp.run_id)
    return marked(linking, (envelope for envelope, outcome in records if outcome in _NEW))


def _without_unclaimed(solr: Solr, records: list[tuple[Envelope, Outcome]]) -> list[tuple[Envelope, Outcome]]:
    marked = [e.identity for e, outcome in records if outcome is Outcome.NEW and e.where_claimed]
    unclaimed = set(marked) - claimed(solr, marked) if marked else ()
    return [(e, Outcome.UNCLAIMED if e.identity in unclaimed else outcome) for e, outcome in records]


def _compared(
    task: Reconciliation, envelope: Envelope, stored: StoredState | None, core: str, rows: _OutcomeRows
) -> Outcome:
    covered = task.coverage.of(envelope.tree_path) if not envelope.placeholder else None
    if (
        covered
        and stored
        and not stored.deleted
        and max(task.stamp.counted(stored.as_of_ms), envelope.as_of) < covered.as_of_ms
    ):
        # A newer listing of the parent no longer contains this entity.
        rows.gone(core, covered, envelope.identity, envelope.tree_path)
        return Outcome.LATE
    outcome = outcome_of(
        envelope,
        stored,
        covered_as_of_ms=task.coverage.known_as_of_ms(covered),
        follows_events=task.follows_events,
        purged_before_ms=task.purged_before_ms,
        stamp=task.stamp,
    )
    if outcome is Outcome.UNCHANGED and core == ELEMENTS and task.renamed.concerns(envelope.tree_path):
        # The source may report the same data as for the previous entity at this path, but the user-written fields
        # belong to that entity.
        return Outcome.CHANGED
    return outcome


class _OutcomeRows:
    """The outcome rows of a task. They are few, because outcomes are counted here."""

    def __init__(self) -> None:
        self._rows: list[tuple[str, str, str, int, str]] = []
        self._counts: Counter[tuple[str, str]] = Counter()

    def gone(self, core: str, covered: Covered, identity: str, tree_path: str) -> None:
        outcome = GONE_REPORTED if covered.reported else GONE
        self._rows.append((core, outcome, identity, covered.as_of_ms, tree_path))
        self._counts[core, outcome] += 1

    def refused(self, core: str, identity: str, reason: str) -> None:
        self._rows.append((core, REFUSED, identity, 1, reason))

    def count(self, core: str, outcomes: Iterable[str]) -> None:
        self._counts.update((core, str(outcome)) for outcome in outcomes)

    def as_batch(self) -> pa.RecordBatch:
        counted = [(core, COUNTED, "", count, outcome) for (core, outcome), count in self._counts.items()]
        rows = [*self._rows, *counted]
        columns = [
            pa.array([row[at] for row in rows], column.type) for at, column in enumerate(OUTCOME_SCHEMA)
        ]
        return pa.RecordBatch.from_arrays(columns, schema=OUTCOME_SCHEMA)


def _envelopes(batches: Iterable[pa.RecordBatch]) -> Iterator[Envelope]:
    for batch in batches:
        columns = [column.to_pylist() for column in batch.columns]
        yield from map(Envelope._make, zip(*columns, strict=True))
