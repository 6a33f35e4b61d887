"""Removes literals from the texts that leave an extractor (``[redaction] literals = "all"``): its records, the note of
its plan, and its errors.

The identity and path of a key do not change; only display names lose literals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

from navlin.index.schema.fields import USER_PREFIXES
from navlin.model.extractor import Extractor
from navlin.model.keys import EntityType, Key
from navlin.model.plan import Plan
from navlin.model.records import Entity, Record, Reject, Relation
from navlin.model.redaction.literals import (
    length_of,
    masking,
    name_without_literals,
    without_literals,
    without_quoted,
)
from navlin.model.source import HIVE, IMPALA, PIG, SPARK
from navlin.pipeline.failing import in_words

_NAMED_BY_TEXTS: Final = frozenset(
    (EntityType.OPERATION, EntityType.SUB_OPERATION, EntityType.OPERATION_EXECUTION)
)
_ESCAPES: Final = frozenset((HIVE, IMPALA, SPARK, PIG))
"""Systems in which a backslash escapes a quote in a statement."""
_STATEMENTS: Final = frozenset(("queryText", "dbWhere"))
_NO_TOKENS: Final = frozenset(
    ("errorMessage", "diagnostics", "unknownInputs", "filters", "joins", "groupedBy")
)
"""Attributes with error messages of engines, or with expressions whose literals Spark prints without quotes. Each text
is replaced by its length."""
_SENTENCES: Final = frozenset(("incompleteReasons",))
_STAY: Final = frozenset(
    "internalType engineType operationType principal owner status jobId executionId attempt queryHash fileSystemPath"
    " inputs outputs wfIds wfInstId oozieParent bundleId applicationPath definitionHash frequency edgeType transformation"
    " jobNamespace sparkVersion queue hiveQueryId hiveSessionId dbURL dbTable dbUser dbColumnExpression".split()
)
"""Attributes with names, ids and locations, which remain unchanged."""
_OF_SCRIPTS: Final = frozenset(("stores", "jobs"))
"""Attributes of a Pig script with the names of its stores, their columns, and its relations, which remain unchanged."""
_OF_DATA: Final = frozenset(
    "internalType owner group permissions created lastModified lastAccessed lastModifiedBy tableType fileSystemPath"
    " inputFormat outputFormat serDeName serDeLibName partitionColNames partitionColValues clusteredByColNames"
    " sortByColNames avroSchemaUrl dataType datasetNamespace datasetType storageLayer fileFormat"
    " originalDescription name description tags sourceTags".split()
)
"""Attributes of databases, tables, columns, partitions, paths and datasets that remain unchanged: names, types,
locations, and texts that users wrote as descriptions. Attributes that are not listed here are masked."""
_STATISTICS: Final = frozenset(("numRows", "rawDataSize", "totalSize", "numFiles"))
_PARAMETERS: Final = frozenset(("params", "serdeProps"))
_NAMING_PARAMETERS: Final = frozenset(
    "comment path metadata_location previous_metadata_location avro.schema.url kudu.table_name hbase.table.name"
    " spark.sql.sources.provider storage_handler table_type view.default.database".split()
)
_NAMING_PREFIXES: Final = ("view.catalogAndNamespace.", "view.query.out.")
"""Keys, and prefixes of keys, of parameters whose values are names, locations or comments. The value of any other
parameter is a literal of the statement that set it."""
_SWITCHES: Final = frozenset(("true", "false"))


class ExtractorFailed(Exception):
    """An extractor raised an error. The message is the error's message without literals."""


@contextmanager
def masked(extractor: Extractor) -> Iterator[None]:
    """Mask literals within the block if the extractor's estate requires it, also in the errors that the block raises.

    Raises `ExtractorFailed` instead of any other error if literals are masked.
    """
    masks = extractor.estate.masks_literals
    with masking(masks):
        try:
            yield
        except Exception as error:
            if not masks:
                raise
            raise ExtractorFailed(without_quoted(in_words(error))) from None


def plan_without_literals(plan: Plan) -> Plan:
    """Return a plan whose note has no literals."""
    return replace(plan, note=without_quoted(plan.note))


def without_literals_in(record: Record) -> Record:
    """Return an entity, relation or reject without literals. Other records are unchanged; a listing contains only
    paths."""
    match record:
        case Entity():
            return replace(
                record,
                key=_key(record.key),
                attributes=_attributes(record.key, record.attributes),
                volatile=_attributes(record.key, record.volatile),
            )
        case Relation():
            ep1, ep2 = _key(record.ep1), _key(record.ep2)
            operation = ep1 if ep1.type in _NAMED_BY_TEXTS else ep2
            return replace(record, ep1=ep1, ep2=ep2, attributes=_attributes(operation, record.attributes))
        case Reject():
            return replace(record, reason=without_quoted(record.reason), sample=length_of(record.sample))
        case _:
            return record


def _key(key: Key) -> Key:
    parent = _key(key.parent) if key.parent is not None else None
    name = key.name
    if key.type in _NAMED_BY_TEXTS:
        name = name_without_literals(name, escapes=key.source.type in _ESCAPES)
    same = name == key.name and parent is key.parent
    return key if same else replace(key, name=name, parent=parent)


def _attributes(key: Key, attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: _value(key, name, value) for name, value in attributes.items()}


def _value(key: Key, name: str, value: Any) -> Any:
    if isinstance(value, str):
        return _text(key, name, value)
    if name in _PARAMETERS and isinstance(value, Mapping):
        return {inner: _parameter(inner, each) for inner, each in value.items()}
    if isinstance(value, Mapping):
        return {inner: _value(key, name, each) for inner, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_value(key, name, each) for each in value]
    return value


def _text(key: Key, name: str, text: str) -> str:
    escapes = key.source.type in _ESCAPES
    if name in _STATEMENTS:
        return without_literals(text, escapes=escapes)
    if key.type not in _NAMED_BY_TEXTS:
        counted = name in _STATISTICS and text.isdecimal()
        return text if counted or name in _OF_DATA or name.startswith(USER_PREFIXES) else length_of(text)
    if name in _STAY or name in _OF_SCRIPTS:
        return text
    if name in _NO_TOKENS or (name == "expression" and key.source.type == SPARK):
        return length_of(text)
    if name in _SENTENCES:
        return without_quoted(text)
    if name == "expression":
        return without_literals(text, escapes=escapes)
    return name_without_literals(text, escapes=escapes)


def _parameter(name: str, value: Any) -> Any:
    if not isinstance(value, str) or value.lower() in _SWITCHES:
        return value
    stays = name in _NAMING_PARAMETERS or name.startswith(_NAMING_PREFIXES)
    return value if stays else length_of(value)
