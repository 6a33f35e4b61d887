"""Serialisation of position values as JSON. Their strings may be names that are not UTF-8."""

from __future__ import annotations

from typing import Any, Final

import orjson

from navlin.model.raw_names import raw, stored, texts_by

_NUL: Final = b"\\u0000"


def dumps(value: Any) -> bytes:
    """Serialise a value as JSON, with its strings in their stored form."""
    try:
        data = orjson.dumps(value)
    except orjson.JSONEncodeError:
        return orjson.dumps(texts_by(stored, value))
    return orjson.dumps(texts_by(stored, value)) if _NUL in data else data


def loads(data: str | bytes) -> Any:
    """Parse the JSON that `dumps` returns."""
    value = orjson.loads(data)
    odd = _NUL.decode() in data if isinstance(data, str) else _NUL in data
    return texts_by(raw, value) if odd else value
