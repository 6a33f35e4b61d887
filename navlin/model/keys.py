"""Natural keys: the naming components of each kind of entity, in one place.

The owner of an entity and every claimant make its `Key` with the same function, so that its identity is always computed
in the same way. Names are upper-cased where the system folds case (Hive), never in paths; the original spelling is kept
for display.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from urllib.parse import urlsplit

from navlin.model.identity import identify, operation_id
from navlin.model.redaction import redact, without_credentials
from navlin.model.source import HDFS, LOCAL, S3, Estate, Source
from navlin.model.tree import ROOT, below, parent_of, tree_path


class EntityType(StrEnum):
    """Navigator's entity types."""

    DATABASE = "DATABASE"
    TABLE = "TABLE"
    VIEW = "VIEW"
    PARTITION = "PARTITION"
    FIELD = "FIELD"
    FILE = "FILE"
    DIRECTORY = "DIRECTORY"
    DATASET = "DATASET"
    OPERATION = "OPERATION"
    OPERATION_EXECUTION = "OPERATION_EXECUTION"
    SUB_OPERATION = "SUB_OPERATION"
    SOURCE = "SOURCE"


class RelationType(StrEnum):
    """Navigator's relation types, endpoint1 → endpoint2: source → target, parent → child, logical → physical,
    template → instance."""

    DATA_FLOW = "DATA_FLOW"
    CONTROL_FLOW = "CONTROL_FLOW"
    PARENT_CHILD = "PARENT_CHILD"
    LOGICAL_PHYSICAL = "LOGICAL_PHYSICAL"
    INSTANCE_OF = "INSTANCE_OF"


@dataclass(frozen=True, slots=True)
class Key:
    """The key of an entity. It suffices to find the entity, to show it, and, if no source serves it, to create a
    placeholder.

    ``name`` is the originalName as seen, ``tree_path`` the path in the source's tree, ``parent_path`` Navigator's
    parentPath; ``file_system_path`` is set if the key itself is a path. ``parent`` is the key of the container: an
    operation is the parent of its sub-operations and, as INSTANCE_OF, of its executions.
    """

    type: EntityType
    identity: str
    source: Source
    name: str
    tree_path: str
    parent_path: str | None = None
    file_system_path: str | None = None
    parent: Key | None = None


def parent_relation(child_type: str) -> RelationType:
    """Return the type of the relation that an entity's parent implies."""
    executed = child_type == EntityType.OPERATION_EXECUTION
    return RelationType.INSTANCE_OF if executed else RelationType.PARENT_CHILD


# -- Hive: names folded to upper case in the key ------------------------------------------------------------------


def database_key(source: Source, database: str) -> Key:
    folded = database.upper()
    return Key(EntityType.DATABASE, identify(source.id, folded), source, database, tree_path(folded))


def table_key(source: Source, database: str, table: str, kind: EntityType = EntityType.TABLE) -> Key:
    """Return the key of a table or a view. Tables and views share one name space, so the id does not depend on the
    kind."""
    parent = database_key(source, database)
    identity = identify(source.id, database.upper(), table.upper())
    path = below(parent.tree_path, table.upper())
    return Key(kind, identity, source, table, path, f"/{database}", parent=parent)


def column_id(source_id: str, database: str, table: str, column: str) -> str:
    """Return the identity of a column, for callers that have names but no Key."""
    return identify(source_id, database.upper(), table.upper(), column.upper())


def column_key(table: Key, column: str) -> Key:
    """Return the key of a column (or a partition key) of a table or view made by `table_key`."""
    database = table.parent.name if table.parent else ""
    identity = column_id(table.source.id, database, table.name, column)
    path = below(table.tree_path, column.upper())
    return Key(
        EntityType.FIELD, identity, table.source, column, path, f"/{database}/{table.name}", parent=table
    )


PARTITIONS = "#partitions"
"""The branch below a table that holds its partitions, so that reading the table again covers the columns but not the
partitions."""


def partition_key(table: Key, name: str) -> Key:
    """Return the key of the partition with this name in the metastore, ``ds=2026-01-01/region=eu``. Values keep their
    case, as in paths."""
    identity = identify(table.source.id, *_names(table), PARTITIONS, name)
    path = below(table.tree_path, PARTITIONS, name)
    return Key(
        EntityType.PARTITION,
        identity,
        table.source,
        name,
        path,
        f"{table.parent_path}/{table.name}",
        parent=table,
    )


def _names(table: Key) -> tuple[str, str]:
    return (table.parent.name.upper() if table.parent else "", table.name.upper())


# -- Paths: never folded ----------------------------------------------------------------------------------------------

_LOCAL_SCHEMES = frozenset({"file", "local"})
_S3_SCHEMES = frozenset({"s3", "s3a", "s3n"})


def split_location(uri: str, default_fs: str = "") -> tuple[str, str, str]:
    """Return the (source type, authority, path) of a location: ``hdfs://nn:8020/a/b`` is (HDFS, ``hdfs://nn:8020``,
    ``/a/b``).

    ``default_fs`` (``fs.defaultFS``) replaces a missing scheme or host. ``file:/x`` and ``file:///x`` are the same, and
    so are s3, s3a and s3n. Trailing and doubled slashes do not count. Plans and configurations may hold any text, so a
    text that is not a location (`is_location`) becomes a path of that name, which matches nothing.
    """
    if not is_location(uri):
        uri = f"/{uri}"
    parts = urlsplit(uri, allow_fragments=False) if "://" in uri or uri[:1] != "/" else urlsplit("")
    scheme, host = parts.scheme.lower(), _without_password(parts.netloc)
    raw = uri if uri[:1] == "/" else _after_authority(uri)
    base = urlsplit(default_fs if is_location(default_fs) else "")
    if not scheme:
        scheme, host = base.scheme.lower(), base.netloc
    elif not host and scheme == base.scheme.lower():
        host = base.netloc
    path = "/" + "/".join(part for part in raw.split("/") if part)
    if scheme in _LOCAL_SCHEMES:
        return LOCAL, "file://", path
    if scheme in _S3_SCHEMES:
        return S3, f"s3://{host}", path
    if scheme == "viewfs":
        # Whatever the mount table, paths of viewfs are not those of a NameNode.
        return HDFS, f"viewfs://{host}", path
    if scheme in ("", "hdfs", "webhdfs", "swebhdfs"):
        return HDFS, f"hdfs://{host}" if host else "", path
    return scheme.upper(), f"{scheme}://{host}", path


def is_location(uri: str) -> bool:
    """Whether a text can be a location; ``hdfs://[::1`` cannot."""
    try:
        urlsplit(uri)
    except ValueError:
        return False
    return True


def wrong_default_fs(default_fs: str) -> Iterator[tuple[str, str]]:
    """Yield the problem of the setting ``default_fs`` if it is not a location, as (setting, message)."""
    if not is_location(default_fs):
        yield (
            "default_fs",
            f"default_fs: {default_fs!r} is not the address of a file system: write hdfs://ns1",
        )


def _without_password(netloc: str) -> str:
    # A container before the @ (abfs://data@account) is part of the address; credentials (s3a://key:secret@bucket) are
    # not.
    before, at, host = netloc.rpartition("@")
    return host if at and ":" in before else netloc


def _after_authority(uri: str) -> str:
    # Do not use urlsplit's path, because a `?` or `#` in a file's name belongs to the name.
    rest = uri.split(":", 1)[1] if ":" in uri.split("/", 1)[0] else uri
    if rest.startswith("//"):
        return rest[2:].partition("/")[2]
    return rest


def path_key(source: Source, path: str, kind: EntityType = EntityType.DIRECTORY) -> Key:
    """Return the key of a file or directory by its absolute path, case kept."""
    if path == "/":
        return Key(kind, identify(source.id, "/"), source, "/", "/", None, "/")
    above = parent_of(path)
    name = path.rsplit("/", 1)[1]
    return Key(kind, identify(source.id, path), source, name, path.replace("%", "%25"), above, path)


def listed_path_key(source: Source, path: str, kind: EntityType) -> Key:
    """Return the key of a file or directory that its own file system lists, with the directory above as parent."""
    key = path_key(source, path, kind)
    return key if path == "/" else replace(key, parent=path_key(source, parent_of(path)))


def location_key(
    estate: Estate, uri: str, default_fs: str = "", kind: EntityType = EntityType.DIRECTORY
) -> Key:
    """Return the key of the file or directory at a location, for a claim, whichever source serves the location."""
    source_type, authority, path = split_location(uri, default_fs)
    return path_key(estate.serving(source_type, authority), path, kind)


_PARTITION_COMPONENT = re.compile(r"[^=/]+=.*", re.DOTALL)


def surely_of_table(location: str, path: str) -> bool:
    """Whether a path below a table's location certainly belongs to that table, because only ``k=v`` directories lie
    between."""
    below_it = path[len(location) :] if location != ROOT else path
    return all(_PARTITION_COMPONENT.fullmatch(part) for part in below_it.split("/") if part)


COLUMNS = "#columns"
"""The branch for columns of paths. It is outside the file system's own tree, because a file system lists no columns, so
its listings must not cover them."""


def path_column_id(path_id: str, column: str) -> str:
    """Return the identity of a column of the data at a path."""
    return identify(path_id, COLUMNS, column.upper())


def path_column_key(path: Key, column: str) -> Key:
    """Return the key of a column of the data at a path; the path's key is made by `path_key` or `location_key`.

    No file system knows columns, so no other source will ever report the column. The claiming source grants the column,
    whether or not the path's source is configured. Case is folded, as in the engines that read such data.
    """
    return Key(
        EntityType.FIELD,
        path_column_id(path.identity, column),
        replace(path.source, configured=False),
        column,
        below(COLUMNS + path.tree_path.removesuffix("/"), column.upper()),
        path.file_system_path,
        path.file_system_path,
        parent=path,
    )


# -- Datasets: by a namespace and a name in it ------------------------------------------------------------------------------

DATASETS = "datasets"
"""The branch of a source's tree for datasets that are neither tables of a metastore nor paths."""


def dataset_key(source: Source, namespace: str, name: str) -> Key:
    """Return the key of a dataset, such as the table ``db.schema.table`` in the namespace ``postgres://host:5432``.
    Case is kept, because it is unknown whether the database folds it."""
    shown, place = redact(name), without_credentials(namespace)
    identity = identify(source.id, place, shown)
    return Key(EntityType.DATASET, identity, source, shown, tree_path(DATASETS, place, shown))


def dataset_column_key(dataset: Key, column: str) -> Key:
    """Return the key of a column of a dataset made by `dataset_key`."""
    identity = identify(dataset.identity, column.upper())
    path = below(dataset.tree_path, column.upper())
    return Key(EntityType.FIELD, identity, dataset.source, column, path, f"/{dataset.name}", parent=dataset)


# -- Operations ---------------------------------------------------------------------------------------------------------

OPERATIONS, EXECUTIONS = "operations", "executions"
"""Branches of a source's tree. Reading a record covers its operation's branch, never the operation's executions."""


def operation_key(source: Source, text: str, end_ids: tuple[str, ...], *, name: str = "") -> Key:
    """Return the key of a distinct statement or plan: ``text`` identifies it, ``name`` is shown."""
    identity = operation_id(source.id, text, end_ids)
    return Key(EntityType.OPERATION, identity, source, name or text, tree_path(OPERATIONS, identity))


def sub_operation_key(operation: Key, part: str, *, name: str = "") -> Key:
    """Return the key of a sub-operation. ``part`` identifies the sub-operation within the operation, and is the same
    each time the record is read; ``name`` is shown."""
    identity = identify(operation.identity, part)
    path = below(operation.tree_path, identity)
    return Key(EntityType.SUB_OPERATION, identity, operation.source, name or part, path, parent=operation)


def execution_key(operation: Key, run: str) -> Key:
    """Return the key of one run of an operation; ``run`` is the engine's own id of the run (unique within the source)."""
    return replace(claimed_execution_key(operation.source, run), parent=operation)


def claimed_execution_key(source: Source, run: str) -> Key:
    """Return the key of one run by the engine's own id, for callers that do not know its operation."""
    identity = identify(source.id, run)
    return Key(EntityType.OPERATION_EXECUTION, identity, source, run, tree_path(EXECUTIONS, identity))


def placeholder_execution_key(source: Source, run: str) -> Key:
    """Return the key of a run on a system whose source reports no runs. An example is a Hive query that YARN names,
    because the metastore's source reports no runs.

    The claiming source grants the run, whether or not the system's source is configured. The run's tree path is outside
    the branches that the claiming source's listings cover.
    """
    key = claimed_execution_key(replace(source, configured=False), run)
    return replace(key, tree_path=below(f"#{EXECUTIONS}", key.identity))


# Bounded, because a record may hold anything, and Python refuses to convert thousands of digits to a number.
_YARN_ID = re.compile(r"(?:application|job|appattempt)_(\d{1,19})_(\d{1,19})(?:_\d+)*\Z")


def application_id(name: str) -> str | None:
    """Return the id of the YARN application that a name denotes; None if it denotes none. ``application_1_0002``,
    ``job_1_0002`` and, in old documents, ``job_1_2_2`` denote the same application."""
    if (found := _YARN_ID.match(name)) is None:
        return None
    return f"application_{found[1]}_{int(found[2]):04d}"


def application_key(source: Source, application: str, operation: Key | None = None) -> Key:
    """Return the key of a YARN application, which is the run of its ``operation``. ``application`` is any id that
    `application_id` accepts.

    Claiming sources do not know the operation. Raises ValueError for any other id.
    """
    if (run := application_id(application)) is None:
        raise ValueError(f"{application!r} is not the id of a YARN application")
    return replace(claimed_execution_key(source, run), parent=operation)


def pig_execution_key(source: Source, script_id: str, job_name: str, plan_hash: str) -> Key:
    """Return the key of one run of a Pig script, with the script as its parent. The ids have Navigator's form, which
    does not include the source."""
    operation = identify(job_name, plan_hash)
    parent = Key(EntityType.OPERATION, operation, source, job_name, tree_path(OPERATIONS, operation))
    run = identify(script_id)
    return Key(
        EntityType.OPERATION_EXECUTION, run, source, script_id, tree_path(EXECUTIONS, run), parent=parent
    )
