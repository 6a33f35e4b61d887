"""Readable names of fields, so that people need not know the names in the index."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from navlin.index.schema.fields import USER_PREFIXES

_PREFIX: Final = re.compile(f"^({'|'.join(('tp_', *USER_PREFIXES))})")
_BORDER: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_+")
_SHOUTED: Final = re.compile(r"[A-Z]{2,}")
CALLED: Final[Mapping[str, str]] = {
    "identity": "id",
    "originalName": "name in the source",
    "originalDescription": "comment in the source",
    "name": "display name",
    "parentPath": "parent",
    "firstClassParentId": "parent id",
    "metaClassName": "class",
    "packageName": "package",
    "asOf": "time of the record",
    "extractorRunId": "run that wrote it",
    "partitionColNames": "partition columns",
    "fileSystemPath": "path",
    "inheritedTag": "inherited tags",
}
"""Readable names of fields whose index names, split into words, would explain nothing."""
_TYPES: Final = {"FIELD": "column", "SUB_OPERATION": "column expression", "OPERATION_EXECUTION": "execution"}
_INITIALS: Final = frozenset({"HDFS", "YARN", "S3", "SDK", "JDBC"})
"""Source types that are written in capitals; other types are capitalized like names."""
STATE_WORDS: Final[Mapping[str, str]] = {"unlinked": "unresolved"}
"""Field → readable state, where the field's name is not the word that people read."""
_RELATED: Final[Mapping[tuple[str, bool], str]] = {
    ("DATA_FLOW", True): "Upstream (data)",
    ("DATA_FLOW", False): "Downstream (data)",
    ("CONTROL_FLOW", True): "Filtered by (control flow)",
    ("CONTROL_FLOW", False): "Filters (control flow)",
    ("PARENT_CHILD", True): "Parent",
    ("PARENT_CHILD", False): "Children",
    ("LOGICAL_PHYSICAL", True): "Backs table or runs operation",
    ("LOGICAL_PHYSICAL", False): "Stored at or executed as",
    ("INSTANCE_OF", True): "Execution of",
    ("INSTANCE_OF", False): "Executions",
}


_EDGES: Final[Mapping[str, str]] = {
    "DATA_FLOW": "data",
    "CONTROL_FLOW": "control",
    "LOGICAL_PHYSICAL": "stored at",
    "INSTANCE_OF": "execution",
    "PARENT_CHILD": "contains",
}


def edge_words(kind: str) -> str:
    """Return a readable name for a type of relation, as read from its first end to its second: "stored at" for
    LOGICAL_PHYSICAL."""
    return _EDGES.get(kind, kind.lower().replace("_", " "))


def relation_words(kind: str, incoming: bool) -> str:
    """Return a readable name for a type of relation, as seen from one of the two entities. ``incoming`` is True if this
    entity is the second end."""
    return _RELATED.get((kind, incoming), "Other relations")


def type_words(kind: str) -> str:
    """Return a readable name for a type of entity, such as "column" for FIELD."""
    return _TYPES.get(kind, kind.lower().replace("_", " "))


def engine_words(source_type: str) -> str:
    """Return a readable name for a source type: HIVE becomes "Hive"; initials such as HDFS stay."""
    if source_type == "MAPREDUCE":
        return "MapReduce"
    return source_type if source_type in _INITIALS else source_type.title()


def field_words(field: str) -> str:
    """Return a readable field name: ``tp_columnIndex`` becomes "column index". A property in a namespace keeps its
    name, because users chose the name."""
    if field in CALLED:
        return CALLED[field]
    own = _PREFIX.sub("", field)
    if "." in own:
        return own
    parts = _BORDER.split(own)
    return " ".join(each if _SHOUTED.match(each) else each.lower() for each in parts if each) or field
