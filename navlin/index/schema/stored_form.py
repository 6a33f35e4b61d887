"""The stored form of a document in Solr: without fields derived from others, which are added when the document is read.

Every field of a document costs indexing time, and there are tens of millions of files. So a document does not repeat
facts that its type or its path implies.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from navlin.index.schema.fields import ELEMENTS

Document = dict[str, Any]

PACKAGE: Final = "nav"
"""The ``packageName`` of everything that navlin's extractors read."""
CLASSES: Final[Mapping[tuple[str, str], str]] = {
    ("HIVE", "DATABASE"): "hv_database",
    ("HIVE", "TABLE"): "hv_table",
    ("HIVE", "VIEW"): "hv_view",
    ("HIVE", "FIELD"): "hv_column",
    ("HIVE", "PARTITION"): "hv_partition",
    ("HIVE", "OPERATION"): "hv_query",
    ("HIVE", "SUB_OPERATION"): "hv_query_part",
    ("HIVE", "OPERATION_EXECUTION"): "hv_query_execution",
    ("HDFS", "FILE"): "fselement",
    ("HDFS", "DIRECTORY"): "fselement",
    ("IMPALA", "OPERATION"): "impala_operation",
    ("IMPALA", "SUB_OPERATION"): "impala_sub_operation",
    ("IMPALA", "OPERATION_EXECUTION"): "impala_operation_execution",
    ("SPARK", "OPERATION"): "spark_operation",
    ("SPARK", "SUB_OPERATION"): "spark_sub_operation",
    ("SPARK", "OPERATION_EXECUTION"): "spark_operation_execution",
    ("YARN", "OPERATION"): "yarn_operation",
    ("YARN", "OPERATION_EXECUTION"): "yarn_operation_execution",
    ("PIG", "OPERATION"): "pig_operation",
    ("PIG", "OPERATION_EXECUTION"): "pig_op_exec",
    ("S3", "S3BUCKET"): "s3_bucket",
    ("S3", "DIRECTORY"): "s3_object",
    ("S3", "FILE"): "s3_object",
    ("OOZIE", "OPERATION"): "oozie_operation",
    ("OOZIE", "OPERATION_EXECUTION"): "oozie_operation_execution",
}
"""(source type, entity type) → Navigator's class of the entity (``internalType``, ``metaClassName``). The extractor may
name another class."""
DERIVED: Final = frozenset({"internalType", "metaClassName", "packageName"})
"""Fields of an entity that are stored only if they differ from the values implied by its type. Therefore a query for
such a field becomes a query for types (`navlin.index.search.query_fields`), and the field cannot be used for counts or
sorting."""
_PATHS: Final = frozenset({"FILE", "DIRECTORY"})


def stored(core: str, document: Mapping[str, Any]) -> Document:
    """Return a document without the fields that `whole` adds."""
    if core != ELEMENTS:
        return dict(document)
    derived = _derived(document)
    return {name: value for name, value in document.items() if derived.get(name) != value}


def whole(core: str, document: Mapping[str, Any]) -> Document:
    """Return a stored document with its derived fields."""
    return {**_derived(document), **document} if core == ELEMENTS else dict(document)


def tree_path_of(document: Mapping[str, Any]) -> str:
    """Return the tree path of a stored document; that of a file is derived from its path."""
    path: str = document.get("treePath", "")
    return path or _tree_path(document.get("fileSystemPath", ""))


def class_of(source_type: str, entity_type: str) -> str | None:
    """Return Navigator's class of an entity, None if Navigator has no such class."""
    return CLASSES.get((source_type, entity_type))


def _derived(document: Mapping[str, Any]) -> Document:
    derived: Document = {"packageName": PACKAGE}
    own = document.get("internalType") or class_of(document.get("sourceType", ""), document.get("type", ""))
    if own:
        derived["metaClassName"] = own
    if "sourceId" in document:
        derived["writer"] = document["sourceId"]
    if document.get("type") in _PATHS and "fileSystemPath" in document:
        derived["treePath"] = _tree_path(document["fileSystemPath"])
    if standard := class_of(document.get("sourceType", ""), document.get("type", "")):
        derived["internalType"] = standard
    return derived


def _tree_path(path: str) -> str:
    return path.replace("%", "%25")
