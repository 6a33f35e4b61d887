"""Converts datasets to hive_db, hive_table with storage and columns, hdfs_path, aws_s3_v2_*, or DataSet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from navlin.export.atlas import names
from navlin.export.atlas.entities import (
    AtlasEntity,
    Change,
    Deletion,
    Ref,
    Rename,
    Upsert,
    annotation_attributes,
    custom,
    labels,
)
from navlin.export.atlas.names import Namespace
from navlin.export.values import ColumnName, DatasetName, ExportedColumn, ExportedDataset, Renamed

_ACTIONS: Final = {
    (read, write, execute): name
    for name, (read, write, execute) in {
        "NONE": (False, False, False),
        "EXECUTE": (False, False, True),
        "WRITE": (False, True, False),
        "WRITE_EXECUTE": (False, True, True),
        "READ": (True, False, False),
        "READ_EXECUTE": (True, False, True),
        "READ_WRITE": (True, True, False),
        "ALL": (True, True, True),
    }.items()
}


def changes(dataset: ExportedDataset, namespace: Namespace) -> Iterator[Change]:
    """Yield the changes in Atlas for a dataset and for its deleted columns."""
    name = dataset.name
    if dataset.deleted:
        yield Deletion(reference(name, namespace))
        return
    match names.type_of(name):
        case "hive_db":
            yield Upsert((_database(dataset, namespace),))
        case "hive_table":
            table = _table(dataset, namespace)
            columns = (_column(each, dataset, index, namespace) for each, index in _placed(dataset))
            yield Upsert((table, _storage(dataset, namespace), *columns))
        case "hdfs_path":
            yield Upsert((_hdfs_path(dataset, namespace),))
        case "DataSet":
            yield Upsert((_asset("DataSet", dataset, namespace),))
        case _:
            yield Upsert(tuple(_on_s3(dataset, namespace)))
    for column in dataset.deleted_columns:
        if name.is_table:
            yield Deletion(column_reference(column, namespace))


def renamed(rename: Renamed, namespace: Namespace) -> Iterator[Change]:
    """Yield the renames in the order in which Atlas's hook sends them: columns, storage, then the table itself, so that
    nothing below the table still has the old name."""
    before, after = rename.before, rename.after
    for column in rename.columns:
        new = names.of_column(after, column, namespace)
        yield Rename(Ref("hive_column", names.of_column(before, column, namespace)), {"qualifiedName": new})
    storage = {"qualifiedName": names.of_storage(after, namespace)}
    yield Rename(Ref("hive_storagedesc", names.of_storage(before, namespace)), storage)
    table = {
        "qualifiedName": names.of_dataset(after, namespace),
        "name": after.name.lower(),
        "aliases": [before.name.lower()],
    }
    yield Rename(reference(before, namespace), table)


def reference(name: DatasetName, namespace: Namespace) -> Ref:
    return Ref(names.type_of(name), names.of_dataset(name, namespace))


def column_reference(column: ColumnName, namespace: Namespace) -> Ref:
    return Ref("hive_column", names.of_column(column.dataset, column.name, namespace))


# -- Tables ----------------------------------------------------------------------------------------------------------------


def _asset(type_name: str, dataset: ExportedDataset, namespace: Namespace, **more: Any) -> AtlasEntity:
    found, name = dataset.details, dataset.name
    attributes = {
        "qualifiedName": names.of_dataset(name, namespace),
        "name": name.name,
        "description": found.comment or None,
        "owner": found.owner or None,
        **annotation_attributes(dataset.annotations),
        **more,
    }
    return AtlasEntity(
        type_name, attributes, labels=labels(dataset.annotations), custom=custom(name.id, dataset.annotations)
    )


def _database(dataset: ExportedDataset, namespace: Namespace) -> AtlasEntity:
    name = dataset.name
    return _asset(
        "hive_db",
        dataset,
        namespace,
        name=name.name.lower(),
        clusterName=namespace.of(name.source),
        location=dataset.details.storage.location or None,
        parameters=dict(dataset.details.parameters) or None,
    )


def _table(dataset: ExportedDataset, namespace: Namespace) -> AtlasEntity:
    found, name = dataset.details, dataset.name
    view = name.type == "VIEW"
    kind = found.kind or ("VIRTUAL_VIEW" if view else None)
    table = _asset(
        "hive_table",
        dataset,
        namespace,
        name=name.name.lower(),
        createTime=found.created_ms or None,
        lastAccessTime=found.accessed_ms or None,
        description=None,
        comment=found.comment or None,
        parameters=dict(found.parameters) or None,
        tableType=kind,
        temporary=found.temporary,
        viewOriginalText=found.text or None if view else None,
        viewExpandedText=found.text or None if view else None,
    )
    ends: dict[str, Ref | tuple[Ref, ...]] = {}
    # An engine may have recorded a table without its database.
    if name.database:
        database = f"{name.database.lower()}@{namespace.of(name.source)}"
        ends["db"] = Ref("hive_db", database, "hive_table_db")
    return AtlasEntity(table.type, table.attributes, ends, table.labels, table.custom)


def _storage(dataset: ExportedDataset, namespace: Namespace) -> AtlasEntity:
    stored = dataset.details.storage
    serde = {
        "name": stored.serde_name or None,
        "serializationLib": stored.serde_library or None,
        "parameters": dict(stored.serde_parameters) or None,
    }
    attributes = {
        "qualifiedName": names.of_storage(dataset.name, namespace),
        "location": stored.location or None,
        "inputFormat": stored.input_format or None,
        "outputFormat": stored.output_format or None,
        "compressed": stored.compressed,
        "serdeInfo": _struct("hive_serde", serde) if any(serde.values()) else None,
        "bucketCols": list(stored.bucket_columns) or None,
        "sortCols": [_order(each) for each in stored.sort_columns] or None,
    }
    table = reference(dataset.name, namespace).at("hive_table_storagedesc")
    return AtlasEntity("hive_storagedesc", attributes, {"table": table})


def _order(column: str) -> dict[str, Any]:
    name, _, direction = column.rpartition(" ")
    return _struct("hive_order", {"col": name, "order": 1 if direction == "ASC" else 0})


def _placed(dataset: ExportedDataset) -> Iterator[tuple[ExportedColumn, int]]:
    """Yield (column, index): first the ordinary columns, then the partition keys, both numbered from 0."""
    for kind in (False, True):
        of_kind = [column for column in dataset.columns if column.partition_key is kind]
        yield from ((column, index) for index, column in enumerate(of_kind))


def _column(
    column: ExportedColumn, dataset: ExportedDataset, index: int, namespace: Namespace
) -> AtlasEntity:
    name = column.name
    attributes = {
        "qualifiedName": names.of_column(name.dataset, name.name, namespace),
        "name": name.name.lower(),
        # The type is unknown if only a statement mentions the column.
        "type": column.details.type,
        "comment": column.details.comment or None,
        "owner": dataset.details.owner or None,
        "position": index,
        **annotation_attributes(column.annotations),
    }
    # Two relationships have an end named `table`. Without the type of the relationship, Atlas treats every column as an
    # ordinary column.
    relationship = "hive_table_partitionkeys" if column.partition_key else "hive_table_columns"
    return AtlasEntity(
        "hive_column",
        attributes,
        {"table": reference(name.dataset, namespace).at(relationship)},
        labels(column.annotations),
        custom(name.id, column.annotations),
    )


# -- Paths -----------------------------------------------------------------------------------------------------------------


def _hdfs_path(dataset: ExportedDataset, namespace: Namespace) -> AtlasEntity:
    found, name = dataset.details, dataset.name
    authority = name.authority.partition("://")[2]
    return _asset(
        "hdfs_path",
        dataset,
        namespace,
        path=names.uri(name),
        clusterName=namespace.of(name.source),
        # An authority with a port is a host; an authority without a port is a nameservice.
        nameServiceId=authority if authority and ":" not in authority else None,
        isFile=name.type == "FILE",
        createTime=found.created_ms or None,
        modifiedTime=found.modified_ms or None,
        fileSize=found.size_bytes,
        numberOfReplicas=found.replication,
        group=found.group or None,
        posixPermissions=permissions(found.permissions),
    )


def permissions(text: str) -> dict[str, Any] | None:
    """Convert permissions such as ``rwxr-x--t`` to Atlas's struct. Return None for any other text."""
    if len(text) != 9 or not set(text) <= set("rwx-tTsS"):
        return None

    def action(part: str) -> str:
        return _ACTIONS[part[0] == "r", part[1] == "w", part[2] in "xts"]

    user, group, others = (action(text[at : at + 3]) for at in (0, 3, 6))
    sticky = text[8] in "tT"
    return _struct("fs_permissions", {"user": user, "group": group, "others": others, "sticky": sticky})


def _on_s3(dataset: ExportedDataset, namespace: Namespace) -> Iterator[AtlasEntity]:
    """Yield the bucket, each parent directory, and the path itself, each contained in the previous one."""
    name = dataset.name
    above = names.bucket(name)
    whole = _asset(names.type_of(name), dataset, namespace)
    if whole.type == "aws_s3_v2_bucket":
        yield AtlasEntity(
            whole.type,
            {**whole.attributes, "name": above.partition("://")[2]},
            {},
            whole.labels,
            whole.custom,
        )
        return
    bucket = {"qualifiedName": f"{above}@{namespace.of(name.source)}", "name": above.partition("://")[2]}
    container = AtlasEntity("aws_s3_v2_bucket", bucket)
    yield container
    *directories, last = [part for part in name.name.split("/") if part]
    prefix = "/"
    for directory in directories:
        prefix += f"{directory}/"
        container = AtlasEntity(
            "aws_s3_v2_directory",
            {
                "qualifiedName": f"{above}{prefix}@{namespace.of(name.source)}",
                "name": directory,
                "objectPrefix": prefix,
            },
            _contained(container),
        )
        yield container
    own: dict[str, Any] = {"name": last}
    if whole.type == "aws_s3_v2_directory":
        own["objectPrefix"] = f"{prefix}{last}/"
    else:
        own |= {"size": dataset.details.size_bytes, "lastModifiedTime": dataset.details.modified_ms or None}
    yield AtlasEntity(
        whole.type, {**whole.attributes, **own}, _contained(container), whole.labels, whole.custom
    )


def _contained(container: AtlasEntity) -> dict[str, Ref | tuple[Ref, ...]]:
    return {"container": container.ref.at("aws_s3_v2_container_contained")}


def _struct(type_name: str, attributes: dict[str, Any]) -> dict[str, Any]:
    return {"typeName": type_name, "attributes": {k: v for k, v in attributes.items() if v is not None}}
