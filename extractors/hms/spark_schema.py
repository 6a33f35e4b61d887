"""Read the columns of a Spark data source table. Spark stores them in table parameters if Hive's schema cannot hold
them.

``spark.sql.sources.schema`` holds the schema as JSON. A long schema is cut into ``….part.0``, ``….part.1`` and so on
(Spark's HiveExternalCatalog). Hive then sees no columns, or a single ``col array<string>``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from extractors.hms.idl import FieldSchema

SCHEMA = "spark.sql.sources.schema"

_HIVE_NAMES = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}
_CHAR_OR_VARCHAR = "__CHAR_VARCHAR_TYPE_STRING"


def hides_columns(columns: Sequence[FieldSchema]) -> bool:
    """Whether Hive sees no columns, or only Spark's placeholder."""
    return not columns or (
        len(columns) == 1 and columns[0].name == "col" and columns[0].type == "array<string>"
    )


def spark_columns(parameters: Mapping[str, str]) -> list[FieldSchema] | None:
    """Return the columns that Spark recorded, including its partition columns, with Hive's type names; None if Spark
    recorded none.

    Raises ValueError if the schema cannot be read, because a part is missing or is not JSON.
    """
    text = _schema_text(parameters)
    if text is None:
        return None
    try:
        return [_column(field) for field in orjson.loads(text)["fields"]]
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{SCHEMA} is not a schema: {error}") from error


def _schema_text(parameters: Mapping[str, str]) -> str | None:
    count = parameters.get(f"{SCHEMA}.numParts")
    if count is None:
        return parameters.get(SCHEMA)
    # The number may be arbitrary. If it is greater than the number of parameters, a part is missing in any case.
    parts = [parameters.get(f"{SCHEMA}.part.{i}") for i in range(min(_number(count), len(parameters) + 1))]
    if None in parts:
        raise ValueError(f"{SCHEMA}.part.{parts.index(None)} of {count} is missing")
    return "".join(part for part in parts if part is not None)


def _number(count: str) -> int:
    try:
        return int(count)
    except ValueError:
        raise ValueError(f"{SCHEMA}.numParts is not a number: {count[:100]!r}") from None


def _column(field: Mapping[str, Any]) -> FieldSchema:
    metadata = field.get("metadata") or {}
    kind = metadata.get(_CHAR_OR_VARCHAR) or _hive_type(field["type"])
    return FieldSchema(str(field["name"]), str(kind), metadata.get("comment"))


def _hive_type(kind: Any) -> str:
    match kind:
        case str():
            return _HIVE_NAMES.get(kind, kind)
        case {"type": "struct", "fields": list() as fields}:
            parts = (f"{field['name']}:{_hive_type(field['type'])}" for field in fields)
            return f"struct<{','.join(parts)}>"
        case {"type": "array", "elementType": element}:
            return f"array<{_hive_type(element)}>"
        case {"type": "map", "keyType": key, "valueType": value}:
            return f"map<{_hive_type(key)},{_hive_type(value)}>"
        case {"type": "udt", "sqlType": stored}:
            return _hive_type(stored)
    return str(kind)
