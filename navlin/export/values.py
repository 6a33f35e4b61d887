"""What is exported, as values: datasets, operations whole, and runs. No target needs to know how the index keeps them.

A reading yields `Item`s so that what is named stands before what names it: renames, databases, tables and views, what
operations read and write besides, then the operations, each followed by its runs. An item may come twice, alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from navlin.index.details import (
    ColumnDetails,
    Details,
    ExecutionDetails,
    PartDetails,
    StatementDetails,
    Words,
)
from navlin.index.sources import KnownSource

__all__ = [
    "ColumnDetails",
    "Details",
    "ExecutionDetails",
    "KnownSource",
    "PartDetails",
    "StatementDetails",
    "Words",
]


class Flow(StrEnum):
    """DATA: values reach the other side. CONTROL: what is read only decides which rows, or which values."""

    DATA = "data"
    CONTROL = "control"


@dataclass(frozen=True, slots=True)
class DatasetName:
    """What names a dataset in any target.

    ``type`` is DATABASE, TABLE, VIEW, DIRECTORY, FILE, S3BUCKET or DATASET. ``database`` is that of a table or view;
    ``name`` is a table's or database's own name as its source spells it, a path (absolute, without scheme and authority), or
    whatever names another dataset. ``source`` knows the cluster and the authorities (`authority`).
    """

    id: str
    type: str
    source: KnownSource
    name: str
    database: str = ""

    @property
    def authority(self) -> str:
        """Where a path lies: ``hdfs://ns1``, ``s3://bucket``, ``file://``; "" if unknown. Of a table its metastore."""
        return next(iter(self.source.serves), "")

    @property
    def is_table(self) -> bool:
        """Whether it is a table or view of a metastore."""
        return self.type in ("TABLE", "VIEW")

    @property
    def is_path(self) -> bool:
        """Whether it is a file, a directory or a bucket."""
        return self.type in ("DIRECTORY", "FILE", "S3BUCKET")

    @property
    def full_name(self) -> str:
        """``db.table``, or the name."""
        return f"{self.database}.{self.name}" if self.database else self.name


@dataclass(frozen=True, slots=True)
class ColumnName:
    """A column of a dataset. ``name`` is "" for the dataset as a whole: of some edges that is all that is known."""

    id: str
    dataset: DatasetName
    name: str


@dataclass(frozen=True, slots=True)
class Column:
    """A column with what its source and people say of it. ``partition_key``: the table is partitioned by it."""

    name: ColumnName
    details: ColumnDetails
    words: Words
    partition_key: bool = False


@dataclass(frozen=True, slots=True)
class Dataset:
    """A database, table, view, path or other dataset, whole.

    ``columns`` are in their order, partition keys last; ``deleted_columns`` are those that went since the run from which
    changes are read. ``locations`` are the paths where a table lies, as far as they are in the index; ``details.storage``
    has the location as the metastore spells it. ``deleted``: it is gone, since ``deleted_ms`` (epoch ms; 0: unknown), and
    its name is all that counts. ``placeholder``: the index has no such entity, or has it no more: only operations name it.
    """

    name: DatasetName
    details: Details = field(default_factory=Details)
    words: Words = field(default_factory=Words)
    columns: tuple[Column, ...] = ()
    deleted_columns: tuple[ColumnName, ...] = ()
    locations: tuple[DatasetName, ...] = ()
    deleted: bool = False
    deleted_ms: int = 0
    placeholder: bool = False


@dataclass(frozen=True, slots=True)
class End:
    """One end of an operation: a dataset that it reads or writes, once a side.

    ``created_ms`` is when the table had been created, as the engine recorded it, else as its metastore does (epoch ms;
    0: unknown). ``tables`` are those that lie at a path: what goes into it goes into them. ``deleted``: it is flagged
    deleted by now. ``incomplete``: of this end not all is known.
    """

    dataset: DatasetName
    flow: Flow = Flow.DATA
    created_ms: int = 0
    tables: tuple[End, ...] = ()
    temporary: bool = False
    deleted: bool = False
    inferred: bool = False
    incomplete: bool = False


@dataclass(frozen=True, slots=True)
class Unlinked:
    """An end of an operation that the index does not have. ``reason`` is the linker's; ``name`` as the record has it."""

    id: str
    name: str
    type: str
    source_type: str
    output: bool
    flow: Flow
    reason: str


@dataclass(frozen=True, slots=True)
class ColumnEnd:
    """One end of a column's lineage."""

    column: ColumnName
    flow: Flow = Flow.DATA


@dataclass(frozen=True, slots=True)
class ColumnLineage:
    """A part of an operation: what its output columns are made of (DATA) and what decides over them (CONTROL).

    ``id`` is the sub-operation's, or the relation's where no engine told of an operation. Ends that are unlinked or flagged
    deleted are left out, unless placeholders are asked for. ``outputs`` may be empty: the result went to a person, who saw
    it under the ``label``.
    """

    id: str
    inputs: tuple[ColumnEnd, ...]
    outputs: tuple[ColumnName, ...]
    details: PartDetails = field(default_factory=PartDetails)
    label: str = ""

    def inputs_of(self, flow: Flow) -> Iterator[ColumnName]:
        """The input columns of one kind."""
        return (each.column for each in self.inputs if each.flow is flow)


@dataclass(frozen=True, slots=True)
class RunName:
    """A run of another system: the YARN application that carried a query out, the workflow that it was a step of."""

    id: str
    name: str
    source: KnownSource


@dataclass(frozen=True, slots=True)
class LastRun:
    """What is known of an operation's executions: how many, those that were purged too, and when the last one started."""

    count: int = 0
    last_ms: int = 0
    principal: str = ""


@dataclass(frozen=True, slots=True)
class Operation:
    """A statement or job, whole: whatever of it changed, all of this is sent again.

    ``name`` is what is shown, on one line. ``inputs`` and ``outputs`` have each dataset once a side, sorted by name;
    ``unlinked`` are further ends, of which no more is known. ``latest`` is the last execution that the index has.

    ``derived``: no engine told of it. Its ``id`` is then that of its one output: the linker read a view's text, which is
    ``statement.text``, or a person or program stated where the dataset comes from.
    """

    id: str
    name: str
    source: KnownSource
    statement: StatementDetails
    inputs: tuple[End, ...] = ()
    outputs: tuple[End, ...] = ()
    columns: tuple[ColumnLineage, ...] = ()
    unlinked: tuple[Unlinked, ...] = ()
    words: Words = field(default_factory=Words)
    latest: Execution | None = None
    runs: LastRun = field(default_factory=LastRun)
    derived: bool = False
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class Execution:
    """One execution. ``run_as`` are runs that carried it out (YARN), ``run_for`` those that it carried out (Oozie)."""

    id: str
    details: ExecutionDetails
    run_as: tuple[RunName, ...] = ()
    run_for: tuple[RunName, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """An execution beside its operation: the last one, or each, follows its operation as an item of its own."""

    operation: Operation
    execution: Execution


@dataclass(frozen=True, slots=True)
class Renamed:
    """A table or view that its metastore renamed since the run from which changes are read; of several renames in a row from
    the first name to the last. ``columns`` are those that it had before. What it is now comes as a dataset later on; its
    old name is not exported as deleted."""

    before: DatasetName
    after: DatasetName
    columns: tuple[str, ...] = ()
    time_ms: int = 0


@dataclass(frozen=True, slots=True)
class Removed:
    """What a purge removed: the index knows its id alone. ``kind`` is entity or relation."""

    kind: str
    id: str


Item = Renamed | Dataset | Operation | Run | Removed
