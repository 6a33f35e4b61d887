"""An entity in Navigator's JSON: every key of its type, in Navigator's spelling, and null for a missing value.

Clients fail on a missing key, but not on an unknown one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

from navlin.edit.models import properties_of
from navlin.index.schema.fields import DATES, MANAGED_PREFIXES
from navlin.index.solr.solr import Solr

SOURCE_TYPES: Final = frozenset(
    "NONE MAPREDUCE YARN HDFS HIVE PIG IMPALA OOZIE SDK SQOOP SPARK S3 CLUSTER".split()
)
"""The source types that Navigator's SDK knows. The SDK does not load a source of any other type."""
SHOWN_AS: Final = {"LOCAL": "HDFS"}
"""Source type that only navlin has → the nearest one in Navigator."""
SPELLED: Final = {
    "serDeName": "serdeName",
    "serDeLibName": "serdeLibName",
    "partitionColNames": "partColNames",
    "partitionColValues": "partColValues",
}
"""Field of the index → key of the JSON, for fields with different names."""

_ALL: Final = (
    "identity type sourceType sourceId originalName name description originalDescription tags properties customProperties"
    " technicalProperties parentPath firstClassParentId extractorRunId deleted deleteTime userEntity internalType"
    " metaClassName packageName owner created lastModified"
).split()
_PATH: Final = (
    "fileSystemPath size blockSize replication permissions group mimeType lastAccessed ezKeyName".split()
)
_TABLE: Final = (
    "fileSystemPath inputFormat outputFormat serdeName serdeLibName serdeProps compressed partColNames partColValues"
    " clusteredByColNames sortByColNames params lastModifiedBy lastAccessed"
).split()
_OPERATION: Final = (
    "queryText queryHash unparsed wfIds inputs outputs operationType engineType mapper reducer inputRecursive outputKey"
    " outputValue"
).split()
_EXECUTION: Final = (
    "principal started ended inputs outputs jobId wfInstId operation status engineType".split()
)
KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "FILE": (*_ALL, *_PATH),
    "DIRECTORY": (*_ALL, *_PATH),
    "S3BUCKET": (*_ALL, *_PATH, "bucketName", "region", "ownerId"),
    "DATASET": (*_ALL, *_PATH),
    "DATABASE": (*_ALL, "fileSystemPath", "params"),
    "TABLE": (*_ALL, *_TABLE),
    "VIEW": (*_ALL, *_TABLE, "queryText"),
    "PARTITION": (*_ALL, *_TABLE),
    "FIELD": (*_ALL, "dataType", "fileSystemPath"),
    "OPERATION": (*_ALL, *_OPERATION),
    "SUB_OPERATION": (*_ALL, *_OPERATION),
    "OPERATION_EXECUTION": (*_ALL, *_EXECUTION),
    "SOURCE": (
        *_ALL,
        *"clusterName sourceUrl sourceExtractIteration sourceTemplate hmsDbHost hmsDbName hmsDbPort hmsDbUser".split(),
    ),
}
"""Entity type → the keys that every entity of this type has."""
_OWN_NAMES: Final = {"up_": "properties", "tp_": "technicalProperties"}
_NOT_SHOWN: Final = frozenset(
    "_version_ digest treePath writer asOf firstSeen recreated granted serves sourceWords queryTextFull inheritedTag".split()
)


class EntityForm:
    """Converts entities to JSON for one response. Multi-valued managed properties are always lists, even with one
    value. Their names are read from the index on first use."""

    def __init__(self, solr: Solr) -> None:
        self._solr = solr

    def __call__(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Return the JSON as `entity_json` does, with multi-valued managed properties as lists."""
        shown = entity_json(document)
        for namespace, properties in shown["customProperties"].items():
            for name, value in properties.items():
                if not isinstance(value, list) and (namespace, name) in self._several:
                    properties[name] = [value]
        return shown

    @cached_property
    def _several(self) -> frozenset[tuple[str, str]]:
        return frozenset(name for name, each in properties_of(self._solr).items() if each.multi_valued)


def entity_json(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON of an entity, from its fields in the index (including those that are not stored). A managed
    property with one value is that value, not a list."""
    shown: dict[str, Any] = dict.fromkeys(KEYS.get(document.get("type", ""), _ALL))
    shown["customProperties"] = {}
    shown["deleted"] = shown["userEntity"] = False
    for field, value in document.items():
        if field in _NOT_SHOWN:
            continue
        if field.startswith(MANAGED_PREFIXES):
            prefix, _, name = field.partition("_")
            namespace, _, key = name.partition(".")
            properties = shown["customProperties"].setdefault(namespace, {})
            # A typed value takes precedence over the text from which it was converted.
            if prefix != "cp" or key not in properties:
                properties[key] = _one_or_all(value)
        elif kind := _OWN_NAMES.get(field[:3]):
            shown[kind] = {**(shown[kind] or {}), field[3:]: _one_or_all(value)}
        else:
            shown[SPELLED.get(field, field)] = _date(value) if field in DATES else value
    shown["sourceType"] = source_type_shown(str(shown["sourceType"]))
    if text := document.get("queryTextFull"):
        shown["queryText"] = text
    return shown


def source_type_shown(source_type: str) -> str:
    """Return a source type as Navigator's clients know it."""
    shown = SHOWN_AS.get(source_type, source_type)
    return shown if shown in SOURCE_TYPES else "NONE"


def _date(text: str) -> str:
    """Return a date with milliseconds, which Solr leaves out if they are 0. Clients parse only this pattern."""
    return text if "." in text else text.replace("Z", ".000Z")


def _one_or_all(value: Any) -> Any:
    return value[0] if isinstance(value, list) and len(value) == 1 else value
