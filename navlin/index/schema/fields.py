"""The fields of the cores: their names, the conversion of values, and the owner of each field.

Field names are those of Navigator's Solr, even if Navigator's entity JSON uses another name. Other attributes are
stored as technical properties ``tp_<name>``, so that a new extractor needs no new schema.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final

from navlin.model.redaction import MASK, is_secret, redact, redact_options

ELEMENTS: Final = "nav_elements"
RELATIONS: Final = "nav_relation"
RUNS: Final = "nav_runs"
EDITS: Final = "nav_edits"

INDEXED_TEXT_CHARS: Final = 8_000
"""Limit on the indexed part of an unbounded text. Lucene refuses a term of more than 32,766 bytes, and UTF-8 needs up
to four bytes a character."""
STORED_TEXT_CHARS: Final = 1_048_576
"""Maximum length of the stored copy of an unbounded text."""
CUT_NOTE: Final = " … [cut]"

# -- Owners ------------------------------------------------------------------------------------------------------------

PIPELINE_FIELDS: Final = frozenset(
    {"deleted", "deleteTime", "extractorRunId", "firstSeen", "recreated", "asOf", "digest"}
)
LAST_READ_FIELDS: Final = frozenset({"lastRead", "lastReadBy", "lastReadBelow"})
"""Summary of the reads that purge removed, kept on the table or path; ``lastReadBelow`` is for reads of removed
entities below a path."""
CONTENT_FIELDS: Final = frozenset(
    {"contentFiles", "contentSize", "contentSpace", "contentModified", "contentAccessed"}
)
"""Totals of the files below a directory, from the last complete image. Reading only the directory does not yield
them."""
INHERITED_TAG: Final = "inheritedTag"
LINKER_FIELDS: Final = frozenset(
    {
        "unlinked",
        "unlinkedReason",
        "unlinkedSince",
        "unparsedReason",
        INHERITED_TAG,
        "lastExecuted",
        "lastPrincipal",
        "purgedExecutions",
        *LAST_READ_FIELDS,
    }
)
"""Fields that the linker and purge write: the reasons why a relation is not linked or a view's text gave no lineage,
the tags inherited from upstream, and purge's summaries of removed executions, on the operation and on the entities that
the executions read."""
USER_FIELDS: Final = frozenset({"name", "description", "tags"})
USER_PROPERTY: Final = "up_"
"""Prefix of the key of a user's own property."""
NOT_INHERITED: Final = USER_PROPERTY + "notInherited"
"""The property with the tags that an entity must not inherit: tag names, separated by commas, or an asterisk for
all."""
MANAGED: Final[Mapping[str, str]] = {
    "TEXT": "cp_",
    "ENUM": "cp_",
    "INTEGER": "cpl_",
    "LONG": "cpl_",
    "FLOAT": "cpd_",
    "DOUBLE": "cpd_",
    "DATE": "cpt_",
    "BOOLEAN": "cpb_",
}
"""Type of a managed property → prefix of the field with the property's values. The rest of the field's name is
``namespace.name``."""
MANAGED_PREFIXES: Final = tuple(dict.fromkeys(MANAGED.values()))
USER_PREFIXES: Final = (USER_PROPERTY, *MANAGED_PREFIXES)
"""Field prefixes of user-defined properties and of managed properties, as in the schema."""
SOURCE_ANNOTATIONS: Final = "sourceWords"
"""The field with the names of the user fields whose values came from the source. Their values follow the source until a
user edits them."""
STAMPS: Final = frozenset(
    {
        "firstSeen",
        "deleteTime",
        "extractorRunId",
        "unlinkedSince",
        "_version_",
        "recreated",
        "sourceExtractIteration",
    }
)
"""navlin's own stamps. Only these fields may differ between two indexes built from the same inputs."""


INTERNAL_FIELDS: Final = frozenset({"identity", "_version_", "digest", "treePath"})
"""Fields for the index only."""
EPOCH_MS_FIELDS: Final = frozenset({"asOf", "deleteTime"})
"""Time fields stored as numbers (epoch ms)."""


class Owner(StrEnum):
    """The writer of a field. TECHNICAL is for extractors' properties that the model does not name."""

    EXTRACTOR = "extractor"
    TECHNICAL = "technical"
    PEOPLE = "people"
    LINKER = "linker"
    NAVLIN = "navlin"


def owner_of(field: str) -> Owner | None:
    """Return the writer of a field; None if the field is internal to the index."""
    if field in INTERNAL_FIELDS:
        return None
    if is_user_field(field):
        return Owner.PEOPLE
    if field.startswith("tp_"):
        return Owner.TECHNICAL
    if field in LINKER_FIELDS:
        return Owner.LINKER
    if field in PIPELINE_FIELDS or field in ("writer", "granted"):
        return Owner.NAVLIN
    return Owner.EXTRACTOR


def kept_on_rewrite(field: str) -> bool:
    """Whether a field of an indexed document stays when its extractor writes the document again."""
    return (
        field in USER_FIELDS
        or field in LINKER_FIELDS
        or field in ("firstSeen", "recreated")
        or field.startswith(USER_PREFIXES)
    )


@lru_cache(maxsize=4_096)
def is_user_field(field: str) -> bool:
    """Whether a field is user metadata."""
    return field in USER_FIELDS or field.startswith(USER_PREFIXES)


# -- Values ------------------------------------------------------------------------------------------------------------


def cut(text: str, limit_chars: int) -> str:
    """Return the text, or its beginning with a note that it was cut."""
    return text if len(text) <= limit_chars else text[: limit_chars - len(CUT_NOTE)] + CUT_NOTE


@lru_cache(maxsize=4_096)
def solr_date(moment_ms: int) -> str:
    """Format epoch ms as Solr writes dates, ``2014-08-25T19:07:17.652Z``."""
    whole_s, rest_ms = divmod(moment_ms, 1000)
    try:
        moment = datetime.fromtimestamp(whole_s, UTC)
    except (OverflowError, ValueError, OSError):
        moment, rest_ms = datetime.fromtimestamp(0, UTC), 0
    # %Y does not pad a year to four digits, which Solr requires.
    return f"{moment.year:04d}-{moment:%m-%dT%H:%M:%S}.{rest_ms:03d}Z"


def date_ms(text: str) -> int:
    """Return a date in Solr's format as epoch ms; a date without a zone is UTC."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)


SHORT_TEXT_CHARS: Final = 100


def _text(value: Any) -> str:
    text = str(value)
    return _short_text(text) if len(text) <= SHORT_TEXT_CHARS else _long_text(text)


def _long_text(text: str) -> str:
    # Redact before cutting, because half a secret may not be recognised.
    return _name(redact(text))


_short_text: Final = lru_cache(maxsize=16_384)(_long_text)
"""Cached, because owners, types and formats repeat in very many records."""


def _name(value: Any) -> str:
    text = cut(str(value), INDEXED_TEXT_CHARS)
    # A lone surrogate (from a name that is not UTF-8) cannot be sent as JSON.
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list | tuple | set | frozenset) else (value,)
    return [_text(item) for item in values]


def _stored(text: str) -> str:
    return cut(text, STORED_TEXT_CHARS).encode("utf-8", "replace").decode()


FIRST_DATE_MS: Final = 0
LAST_DATE_MS: Final = 4_102_444_799_999
"""1970 to 2099. Values outside this range are in another unit or from a wrong clock, not real dates."""


def is_date(value: Any) -> bool:
    """Whether a value can be a date in epoch ms."""
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and FIRST_DATE_MS <= value <= LAST_DATE_MS
    )


def odd_dates(attributes: Mapping[str, Any]) -> Iterator[str]:
    """Yield a text (name and value) for each impossible date among an entity's attributes. Such dates do not become
    fields."""
    for name in DATES:
        value = attributes.get(name)
        if value is not None and not is_date(value):
            yield f"{name} {value!r:.40}"


def _date(value: Any) -> str | None:
    return solr_date(int(value)) if is_date(value) else None


Convert = Callable[[Any], Any]

_TEXT = (
    "internalType originalName originalDescription parentPath fileSystemPath firstClassParentId owner group permissions"
    " lastModifiedBy mimeType ezKeyName inputFormat outputFormat serDeName serDeLibName serdeProps"
    " params dataType queryHash operationType engineType principal jobId operation mapper reducer outputKey outputValue"
    " scriptId dbURL dbTable dbUser dbWhere dbColumnExpression status bucketName region eTag encryption ownerId"
    " storageClass clusterName sourceUrl hmsDbHost hmsDbName hmsDbPort hmsDbUser tableType"
).split()
_TEXTS = (
    "inputs outputs wfIds partitionColNames partitionColValues clusteredByColNames sortByColNames"
    " incompleteReasons"
).split()
DATES: Final = "created lastModified lastAccessed started ended contentModified contentAccessed".split()
LONGS: Final = "size blockSize sourceExtractIteration contentFiles contentSize contentSpace".split()
INTS: Final = "replication depth".split()
BOOLEANS: Final = (
    "compressed inputRecursive unparsed implicit sourceTemplate inferred incomplete parsed opaque".split()
)

KNOWN: Final[Mapping[str, Convert]] = {
    **dict.fromkeys(("name", "description"), _text),
    "tags": _texts,
    **dict.fromkeys(_TEXT, _text),
    **dict.fromkeys(_TEXTS, _texts),
    **dict.fromkeys(DATES, _date),
    **dict.fromkeys(LONGS, int),
    **dict.fromkeys(INTS, int),
    **dict.fromkeys(BOOLEANS, bool),
}
"""Attribute that an extractor may give → conversion of the attribute's value. ``name``, ``description``, ``tags`` and
``up_…`` from an extractor are user metadata kept in the source (`SOURCE_ANNOTATIONS`)."""


def to_fields(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Convert an extractor's attributes to fields. Empty values are left out, and all texts are redacted.

    A mapping becomes one JSON text.
    """
    fields: dict[str, Any] = {}
    for name, value in attributes.items():
        if value is None or value == "" or value == [] or value == ():
            continue
        if name == "queryText":
            text = redact(str(value))
            fields["queryText"] = _name(text)
            if len(text) > INDEXED_TEXT_CHARS:
                fields["queryTextFull"] = _stored(text)
            continue
        field, convert = _field_for(name)
        # Most values are strings, and checking them for Mapping is slow and needless.
        if type(value) is not str and isinstance(value, Mapping):
            fields[field] = _name(json.dumps(redact_options(value), ensure_ascii=False))
        elif (converted := convert(value)) is not None:
            fields[field] = converted
    return fields


def name_fields(names: Mapping[str, str | None]) -> dict[str, Any]:
    """Return names (of tables, paths) as fields. Unlike the names of statements, they are not redacted."""
    return {field: _name(name) for field, name in names.items() if name}


def names_a_secret(attribute: str) -> bool:
    """Whether all values of an attribute are masked, because the attribute's name suggests a secret."""
    return attribute not in KNOWN and not attribute.startswith(USER_PREFIXES) and is_secret(attribute)


@lru_cache(maxsize=4_096)
def _field_for(attribute: str) -> tuple[str, Convert]:
    field = field_name(attribute)
    return field, KNOWN.get(attribute) or (_masked if names_a_secret(attribute) else _other)


def _masked(value: Any) -> str:
    return MASK


def _other(value: Any) -> str | list[str]:
    """Convert the value of an attribute that has no field in the model."""
    return _texts(value) if isinstance(value, list | tuple) else _text(_plain(value))


def field_name(attribute: str) -> str:
    """Return the name of the field that stores an attribute: the attribute's own name, or ``tp_…`` if the model does
    not name it."""
    return attribute if attribute in KNOWN or attribute.startswith("up_") else "tp_" + attribute


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
