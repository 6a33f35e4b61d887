"""The exported values: datasets, whole operations, and runs. Targets need no knowledge of the index's storage.

Each `Item` is exported before the items that refer to it: renames, databases, tables and views, other inputs and
outputs of operations, then the operations, each followed by its runs. An item may come twice, unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from navlin.index.graph.details import (
    Annotations,
    ColumnDetails,
    Details,
    ExecutionDetails,
    PartDetails,
    StatementDetails,
)
from navlin.index.graph.entity import PurgedExecutions
from navlin.index.graph.sources import KnownSource
from navlin.index.journal.removals import Removal


class FlowRole(StrEnum):
    """DATA: values flow to the output. CONTROL: the input only determines which rows or values flow."""

    DATA = "data"
    CONTROL = "control"


@dataclass(frozen=True, slots=True)
class DatasetName:
    """The name of a dataset for any target.

    ``type`` is DATABASE, TABLE, VIEW, DIRECTORY, FILE, S3BUCKET or DATASET. ``database`` is the database of a table or
    view; ``name`` is a table's or database's own name in its source's spelling, a path (absolute, without scheme and
    authority), or the name of another dataset. ``source`` has the cluster and the authorities (`authority`).
    """

    id: str
    type: str
    source: KnownSource
    name: str
    database: str = ""

    @property
    def authority(self) -> str:
        """Authority of a path (``hdfs://ns1``, ``s3://bucket``, ``file://``) or of a table's metastore; "" if
        unknown."""
        return next(iter(self.source.serves), "")

    @property
    def is_table(self) -> bool:
        """Whether the dataset is a table or view of a metastore."""
        return self.type in ("TABLE", "VIEW")

    @property
    def is_path(self) -> bool:
        """Whether the dataset is a file, a directory or a bucket."""
        return self.type in ("DIRECTORY", "FILE", "S3BUCKET")

    @property
    def full_name(self) -> str:
        """``db.table``, or the name alone if there is no database."""
        return f"{self.database}.{self.name}" if self.database else self.name


@dataclass(frozen=True, slots=True)
class ColumnName:
    """A column of a dataset. ``name`` is "" if an edge names only the dataset as a whole."""

    id: str
    dataset: DatasetName
    name: str


@dataclass(frozen=True, slots=True)
class ExportedColumn:
    """A column with details from its source (``details``) and from users (``annotations``). ``partition_key``: the table is
    partitioned by this column."""

    name: ColumnName
    details: ColumnDetails
    annotations: Annotations
    partition_key: bool = False


@dataclass(frozen=True, slots=True)
class ExportedDataset:
    """A whole database, table, view, path or other dataset.

    ``columns`` are in table order, partition keys last; ``deleted_columns`` are those deleted since the run from which
    changes are read. ``locations`` are the paths of a table, as far as they are in the index; ``details.storage`` has
    the location in the metastore's spelling. ``deleted``: the dataset was deleted at ``deleted_ms`` (epoch ms; 0:
    unknown), and only its name counts. ``placeholder``: the index does not have the dataset (any more); only operations
    mention it.
    """

    name: DatasetName
    details: Details = field(default_factory=Details)
    annotations: Annotations = field(default_factory=Annotations)
    columns: tuple[ExportedColumn, ...] = ()
    deleted_columns: tuple[ColumnName, ...] = ()
    locations: tuple[DatasetName, ...] = ()
    deleted: bool = False
    deleted_ms: int = 0
    placeholder: bool = False


@dataclass(frozen=True, slots=True)
class DatasetEnd:
    """One end of an operation: a dataset that the operation reads or writes, once per side.

    ``created_ms`` is the creation time of the table, from the engine's record, or else from its metastore (epoch ms; 0:
    unknown). ``tables`` are the tables located at a path; data written to the path is written to these tables.
    ``deleted``: the dataset has been flagged deleted. ``incomplete``: not everything is known about this end.
    """

    dataset: DatasetName
    flow: FlowRole = FlowRole.DATA
    created_ms: int = 0
    tables: tuple[DatasetEnd, ...] = ()
    temporary: bool = False
    deleted: bool = False
    inferred: bool = False
    incomplete: bool = False


@dataclass(frozen=True, slots=True)
class UnlinkedEnd:
    """An end of an operation that is not in the index. ``reason`` comes from the linker, ``name`` from the record."""

    id: str
    name: str
    type: str
    source_type: str
    output: bool
    flow: FlowRole
    reason: str


@dataclass(frozen=True, slots=True)
class ColumnEnd:
    """An input column, and how it affects the output."""

    column: ColumnName
    flow: FlowRole = FlowRole.DATA


@dataclass(frozen=True, slots=True)
class ColumnLineage:
    """A sub-operation: output columns, input columns whose values flow to them (DATA), and input columns that only
    control which values flow (CONTROL).

    ``id`` identifies the sub-operation, or the output column if no engine recorded an operation. Ends that are unlinked
    or flagged deleted are left out, unless placeholders are requested. ``outputs`` is empty if the result went to a
    user; if so, ``label`` is the column's name in the result.
    """

    id: str
    inputs: tuple[ColumnEnd, ...]
    outputs: tuple[ColumnName, ...]
    details: PartDetails = field(default_factory=PartDetails)
    label: str = ""

    def inputs_of(self, flow: FlowRole) -> Iterator[ColumnName]:
        """Yield the input columns with this kind of flow."""
        return (each.column for each in self.inputs if each.flow is flow)


@dataclass(frozen=True, slots=True)
class RunName:
    """A run of another system: the YARN application that executed a query, or the workflow in which the query was a
    step."""

    id: str
    name: str
    source: KnownSource


@dataclass(frozen=True, slots=True)
class ExportedOperation:
    """A whole statement or job. After any change, the whole operation is exported again.

    ``name`` is for display, on one line. ``inputs`` and ``outputs`` have each dataset once per side, sorted by name;
    ``unlinked`` are further ends, whose datasets are unknown. ``latest`` is the last execution in the index.

    ``derived``: no engine recorded the operation, and ``id`` is the id of the only output. Either the linker read the
    text of a view, which is ``statement.text``, or a person or program stated the dataset's inputs.
    """

    id: str
    name: str
    source: KnownSource
    statement: StatementDetails
    inputs: tuple[DatasetEnd, ...] = ()
    outputs: tuple[DatasetEnd, ...] = ()
    columns: tuple[ColumnLineage, ...] = ()
    unlinked: tuple[UnlinkedEnd, ...] = ()
    annotations: Annotations = field(default_factory=Annotations)
    latest: ExportedExecution | None = None
    runs: PurgedExecutions = field(default_factory=PurgedExecutions)
    derived: bool = False
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class ExportedExecution:
    """One execution of an operation. ``run_as`` are the runs that carried out the execution (YARN), ``run_for`` the
    workflow runs with the execution as a step (Oozie)."""

    id: str
    details: ExecutionDetails
    run_as: tuple[RunName, ...] = ()
    run_for: tuple[RunName, ...] = ()


@dataclass(frozen=True, slots=True)
class ExportedRun:
    """An execution with its operation. Either the last execution or every execution is exported, as a separate item
    after the operation."""

    operation: ExportedOperation
    execution: ExportedExecution


@dataclass(frozen=True, slots=True)
class Renamed:
    """A table or view that a metastore renamed since the run from which changes are read. Several renames in a row are
    combined into one, from the first name to the last. ``columns`` are the names of the columns under the first name.
    The renamed table follows as a dataset; its first name is not exported as deleted."""

    before: DatasetName
    after: DatasetName
    columns: tuple[str, ...] = ()
    time_ms: int = 0


Item = Renamed | ExportedDataset | ExportedOperation | ExportedRun | Removal
