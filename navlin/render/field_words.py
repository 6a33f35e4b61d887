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
    "originalName": "name in its source",
    "originalDescription": "comment in its source",
    "name": "name given by people",
    "parentPath": "lies in",
    "firstClassParentId": "id of what contains it",
    "metaClassName": "class",
    "packageName": "package",
    "asOf": "time of its record",
    "extractorRunId": "run that wrote it",
    "partitionColNames": "partition columns",
    "fileSystemPath": "path",
    "inheritedTag": "inherited tags",
}
"""Readable names of fields whose index names, split into words, would explain nothing."""
_RELATED: Final[Mapping[tuple[str, bool], str]] = {
    ("DATA_FLOW", True): "Data comes from",
    ("DATA_FLOW", False): "Data goes to",
    ("CONTROL_FLOW", True): "Control flow from",
    ("CONTROL_FLOW", False): "Control flow to",
    ("PARENT_CHILD", True): "Lies in",
    ("PARENT_CHILD", False): "Contains",
    ("LOGICAL_PHYSICAL", True): "Holds or runs",
    ("LOGICAL_PHYSICAL", False): "Is kept or run as",
    ("INSTANCE_OF", True): "Is an execution of",
    ("INSTANCE_OF", False): "Was executed as",
}


def relation_words(kind: str, incoming: bool) -> str:
    """Return a readable name for a type of relation, as seen from one of the two entities. ``incoming`` is True if this
    entity is the second end."""
    return _RELATED.get((kind, incoming), "Other relations")


def type_words(kind: str) -> str:
    """Return a readable name for a type of entity: FIELD becomes "column", and both OPERATION and SUB_OPERATION become
    "operation"."""
    return {"FIELD": "column", "SUB_OPERATION": "operation"}.get(kind, kind.lower().replace("_", " "))


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
