"""Removes literals from the statements and other texts in an extractor's records (``[redaction] literals = "all"``).

The identity and path of a key do not change; only display names lose literals.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from navlin.model.keys import EntityType, Key
from navlin.model.records import Entity, Record, Reject, Relation
from navlin.model.redaction.literals import length_of, name_without_literals, without_literals, without_quoted
from navlin.model.source import HIVE, IMPALA, SPARK

_NAMED_BY_TEXTS: Final = frozenset(
    (EntityType.OPERATION, EntityType.SUB_OPERATION, EntityType.OPERATION_EXECUTION)
)
_ESCAPES: Final = frozenset((HIVE, IMPALA, SPARK))
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
    " inputs outputs wfIds edgeType transformation jobNamespace sparkVersion queue hiveQueryId hiveSessionId"
    " dbURL dbTable dbUser dbColumnExpression".split()
)
"""Attributes with names, ids and locations, which remain unchanged."""
_OF_TABLES: Final = frozenset(("queryText", "params", "serdeProps", "viewOriginalText", "viewExpandedText"))
"""Attributes of a table or view that may contain statements. All other attributes are names and user-written texts, and
remain unchanged."""


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
    if isinstance(value, Mapping):
        return {inner: _value(key, name, each) for inner, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_value(key, name, each) for each in value]
    return value


def _text(key: Key, name: str, text: str) -> str:
    escapes = key.source.type in _ESCAPES
    if key.type not in _NAMED_BY_TEXTS:
        return without_literals(text, escapes=escapes) if name in _OF_TABLES else text
    if name in _STAY:
        return text
    if name in _NO_TOKENS or (name == "expression" and key.source.type == SPARK):
        return length_of(text)
    if name in _SENTENCES:
        return without_quoted(text)
    if name in _STATEMENTS or name == "expression":
        return without_literals(text, escapes=escapes)
    return name_without_literals(text, escapes=escapes)
