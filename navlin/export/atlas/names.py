"""Qualified names in the form of Atlas's own hooks, because Atlas takes entities with the same qualified name for the
same entity, whoever sends them.

The forms are those of the Hive and Impala hooks (apache/atlas, AtlasHiveHookContext, AtlasPathExtractorUtil): names of
tables are in lower case; the namespace and paths keep their case.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from navlin.export.values import DatasetEnd, DatasetName, ExportedOperation
from navlin.index.graph.sources import KnownSource
from navlin.model.source import HDFS, S3

OUTPUT_NAMED: Final = frozenset(
    "CREATETABLE CREATETABLE_AS_SELECT CREATEVIEW ALTERVIEW_AS ALTERTABLE_LOCATION".split()
)
"""Kinds of statements whose process is named only after the table or view that they create or change."""
WRITE_TYPES: Final = {
    "INSERT": "INSERT",
    "INSERT_OVERWRITE": "INSERT_OVERWRITE",
    "UPSERT": "INSERT",
    "UPDATE": "UPDATE",
    "DELETE": "DELETE",
    "MERGE": "UPDATE",
}
"""Kind of statement → Atlas's kind of write, for the statements that the hooks call QUERY."""
QUERY: Final = "QUERY"
WITH_CLAUSE: Final = "QUERY_WITH_CLAUSE"


UNKNOWN_CLUSTER: Final = "cm"


@dataclass(frozen=True, slots=True)
class Namespace:
    """The namespace after the @ in names: the chosen namespace, or else the cluster of the source."""

    chosen: str = ""

    def of(self, source: KnownSource) -> str:
        return self.chosen or source.cluster or UNKNOWN_CLUSTER


def type_of(name: DatasetName) -> str:
    match name.type:
        case "DATABASE":
            return "hive_db"
        case "TABLE" | "VIEW":
            return "hive_table"
        case "DIRECTORY" | "FILE" | "S3BUCKET" if name.source.type == S3:
            if name.type == "S3BUCKET" or name.name.strip("/") == "":
                return "aws_s3_v2_bucket"
            return "aws_s3_v2_object" if name.type == "FILE" else "aws_s3_v2_directory"
        case "DIRECTORY" | "FILE" | "S3BUCKET":
            return "hdfs_path"
    return "DataSet"


def of_dataset(name: DatasetName, namespace: Namespace) -> str:
    """Return the qualifiedName of a database, table, view, path or other dataset."""
    match type_of(name):
        case "hive_db":
            return f"{name.name.lower()}@{namespace.of(name.source)}"
        case "hive_table":
            return f"{name.full_name.lower()}@{namespace.of(name.source)}"
        case "hdfs_path" if name.source.type == HDFS:
            return f"{uri(name)}@{namespace.of(name.source)}"
        case "hdfs_path":
            # The hook has no type for other file systems.
            return uri(name).lower()
        case "aws_s3_v2_bucket":
            return f"{bucket(name)}@{namespace.of(name.source)}"
        case "aws_s3_v2_object":
            return f"{bucket(name)}{name.name}@{namespace.of(name.source)}"
        case "aws_s3_v2_directory":
            return f"{bucket(name)}{name.name.rstrip('/')}/@{namespace.of(name.source)}"
    return f"{name.source.name}.{name.name}@{namespace.of(name.source)}"


def of_column(table: DatasetName, column: str, namespace: Namespace) -> str:
    """Return the qualifiedName of a column."""
    return f"{table.full_name.lower()}.{column.lower()}@{namespace.of(table.source)}"


def of_storage(table: DatasetName, namespace: Namespace) -> str:
    """Return the qualifiedName of a table's storage descriptor: the table's qualifiedName with the suffix
    ``_storage``."""
    return f"{of_dataset(table, namespace)}_storage"


def uri(path: DatasetName) -> str:
    """Return a path with its scheme and authority."""
    if path.authority == "file://":
        return f"file:{path.name}"
    return f"{path.authority}{path.name}"


def bucket(path: DatasetName) -> str:
    """Return the bucket of a path on S3 with the scheme of Hadoop's own client, such as ``s3a://bucket``."""
    host = path.authority.partition("://")[2] or path.name.strip("/")
    return f"s3a://{host}"


# -- Processes -------------------------------------------------------------------------------------------------------------


def operation_kind(operation: ExportedOperation) -> str:
    """Return the kind of a statement as the hooks call it. A statement that reads or writes rows is a QUERY."""
    kind = operation.statement.type
    if kind in WRITE_TYPES or kind in ("", "SELECT"):
        kind = QUERY
    if kind == QUERY and operation.statement.engine == "IMPALA" and operation.statement.with_clause:
        return WITH_CLAUSE
    return kind


def of_process(
    operation: ExportedOperation,
    inputs: Iterable[DatasetEnd],
    outputs: Iterable[DatasetEnd],
    namespace: Namespace,
) -> str:
    """Return the qualifiedName of a Hive or Impala process."""
    kind = operation_kind(operation)
    # For sorting inputs and outputs, Hive writes a table as db@table.
    between = "." if operation.statement.engine == "IMPALA" else "@"
    read_ends, written_ends = _sorted(inputs, between), _sorted(outputs, between)
    if kind in OUTPUT_NAMED:
        for end in written_ends:
            if end.dataset.is_table:
                return of_dataset(end.dataset, namespace) + _created(end)
    write = WRITE_TYPES.get(operation.statement.type, "INSERT") if kind == QUERY else ""
    if kind in (QUERY, WITH_CLAUSE):
        # Files that a query reads or writes are not part of its name.
        read_ends, written_ends = (
            [end for end in ends if not end.dataset.is_path] for ends in (read_ends, written_ends)
        )
    read = "".join(f":{_part(end, namespace)}" for end in read_ends)
    before = f":{write}:" if write else ":"
    written = "".join(before + _part(end, namespace) for end in written_ends)
    return f"{kind}{read}->{written}"


def _sorted(ends: Iterable[DatasetEnd], between: str) -> list[DatasetEnd]:
    def name(end: DatasetEnd) -> tuple[str, str]:
        database, own = end.dataset.database, end.dataset.name
        full = f"{database}{between}{own}" if database else own
        return full.lower(), full

    return sorted(ends, key=name)


def _part(end: DatasetEnd, namespace: Namespace) -> str:
    # In the name of a process, the namespace is also in lower case.
    return of_dataset(end.dataset, namespace).lower().replace("/", "") + _created(end)


def _created(end: DatasetEnd) -> str:
    return f":{end.created_ms}" if end.created_ms else ""
