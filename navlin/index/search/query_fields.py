"""Fields in users' queries: their spellings, the fields that only relations have, and the clauses for fields whose
stored form differs from the queried one.

Values are in Solr's syntax: a word with its escapes and wildcards, a quoted phrase, a range.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Final

from navlin.index.schema.fields import (
    ELEMENTS,
    KNOWN,
    LINKER_FIELDS,
    MANAGED_PREFIXES,
    PIPELINE_FIELDS,
    RELATIONS,
    USER_FIELDS,
)
from navlin.index.schema.stored_form import CLASSES, DERIVED, PACKAGE
from navlin.model.keys import RelationType

TWINS: Final[Mapping[str, str]] = {
    "id": "identity",
    "srcId": "sourceId",
    "ep1Ids": "endpoint1Ids",
    "ep2Ids": "endpoint2Ids",
    "ep1Type": "endpoint1Type",
    "ep2Type": "endpoint2Type",
    "ep1SourceType": "endpoint1SourceType",
    "ep2SourceType": "endpoint2SourceType",
    "ep1SourceId": "endpoint1SourceId",
    "ep2SourceId": "endpoint2SourceId",
    "serdeName": "serDeName",
    "serdeLibName": "serDeLibName",
    "partColNames": "partitionColNames",
}
"""Other spellings of a field → its name in the index."""

ANY_TEXT: Final = "anyText"
"""The field in which a word without a field is searched, in addition to `WORD_FIELDS`; it combines fields that match
exactly."""
WORD_FIELDS: Final = ("originalName", "name", "tags", "owner", "principal", "jobId", "mimeType")
CONSTANTS: Final = frozenset(
    "type sourceType endpoint1Type endpoint2Type endpoint1SourceType endpoint2SourceType".split()
)
"""Fields whose values are upper-case words."""
REWRITTEN: Final = DERIVED | {"writer"}
"""Fields that are queried by special clauses (see `clause`)."""

WORDS_ALONE: Final = frozenset({"queryText", ANY_TEXT})
"""Fields for which the index keeps only words, no values. Their values cannot be counted, because Solr would load all
of them into memory."""

TYPE: Final = "type"

CASELESS: Final = frozenset(
    "owner group principal lastModifiedBy clusterName tableType engineType originalName name tags inheritedTag".split()
)
"""Fields whose terms are lower case in the index. Solr folds the text that it analyses, but not ``{!terms}``."""

RELATION_ONLY: Final = frozenset(
    "endpoint1Ids endpoint2Ids endpoint1Type endpoint2Type endpoint1SourceType endpoint2SourceType endpoint1SourceId"
    " endpoint2SourceId endpoint1Name endpoint2Name claimedIds unlinked unlinkedReason unlinkedSince rule"
    " userSpecified propagatable namespace".split()
)
"""Fields that only relations have. A query that names such a field searches relations."""
_RELATION_TYPES: Final = frozenset(RelationType)
_OTHERS: Final = (
    "identity type sourceType sourceId packageName metaClassName queryText granted serves".split()
)


_RANGE = re.compile(r"([\[{])(.+) TO (.+)([\]}])", re.DOTALL)
_PLAIN = re.compile(r'(?:\\.|[^\\"*?~])+', re.DOTALL)
"""A word without wildcards or distance."""
_FUZZY = re.compile(r"~\d*\.?\d*$")


def field_named(name: str) -> str:
    """Return the index's name for a field, given in one of its spellings or as ``namespace.key`` of a custom
    property."""
    if "." in name and not name.startswith(("up_", "tp_", *MANAGED_PREFIXES)):
        return "cp_" + name
    return TWINS.get(name, name)


def field_names() -> list[str]:
    """Return all fields that a query may name, in the index's spelling, without properties."""
    return sorted(
        {
            *_OTHERS,
            *KNOWN,
            *PIPELINE_FIELDS,
            *LINKER_FIELDS,
            *USER_FIELDS,
            *RELATION_ONLY,
            *CASELESS,
            *CONSTANTS,
        }
    )


def core_asked(fields: Collection[str], types: Collection[str]) -> str:
    """Return the core that a query searches. It is `RELATIONS` if the query names a field of relations, or only types
    of relations (upper case)."""
    if not RELATION_ONLY.isdisjoint(fields):
        return RELATIONS
    return RELATIONS if types and _RELATION_TYPES.issuperset(types) else ELEMENTS


def value_of(field: str, value: str) -> str:
    """Return a value in the field's form. Only ASCII is upper-cased, because some other letters become two letters in
    upper case."""
    return value.upper() if field in CONSTANTS and value.isascii() else value


def clause(field: str, value: str) -> str | None:
    """Return the clause for a value of a field ("" for a word without a field); None if the clause is simply
    ``field:value``."""
    match field:
        case "":
            return None if value == "*" or _RANGE.fullmatch(value) else _any_field(value)
        case "writer":
            return f"(writer:{value} sourceId:{value})"
        case "packageName" if _matches(value)(PACKAGE):
            return f"(packageName:{value} (*:* -packageName:[* TO *]))"
        case "packageName":
            return f"packageName:{value}"
        case "internalType":
            return f"(internalType:{value}{_of_class(value)})"
        case "metaClassName":
            return f"(metaClassName:{value} internalType:{value}{_of_class(value)})"
    return None


def _any_field(value: str) -> str:
    words = " ".join(f"{field}:{value}" for field in WORD_FIELDS)
    # Unless the word is quoted, Solr would match any part of a compound word.
    parts = f'"{value}"' if _PLAIN.fullmatch(value) else value
    return f"({ANY_TEXT}:{parts} {words} type:{value_of('type', value)})"


def _of_class(value: str) -> str:
    """Return clauses for the entities whose class follows from their type."""
    matches = _matches(value)
    types: dict[str, list[str]] = {}
    for (source_type, entity_type), own_class in CLASSES.items():
        if matches(own_class):
            types.setdefault(source_type, []).append(entity_type)
    return "".join(
        f" (+sourceType:{source_type} +type:({' '.join(entity_types)}) -internalType:[* TO *])"
        for source_type, entity_types in types.items()
    )


def _matches(value: str) -> Callable[[str], bool]:
    if found := _RANGE.fullmatch(value):
        return lambda text: _in_range(text, *found.groups())
    if value.startswith('"'):
        exact = re.sub(r"\\(.)", r"\1", _FUZZY.sub("", value)[1:-1])
        return lambda text: text == exact
    parts = re.findall(r"\\.|.", _FUZZY.sub("", value), re.DOTALL)
    wild = {"*": ".*", "?": "."}
    pattern = re.compile("".join(wild.get(part) or re.escape(part[-1]) for part in parts), re.DOTALL)
    return lambda text: pattern.fullmatch(text) is not None


def _in_range(text: str, opened: str, first: str, last: str, closed: str) -> bool:
    low, high = first.strip('"'), last.strip('"')
    above = low == "*" or text > low or (text == low and opened == "[")
    return above and (high == "*" or text < high or (text == high and closed == "]"))
