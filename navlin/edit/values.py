"""Values of user-written fields: the type of each field, and its form in the index."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from navlin.index.schema.fields import (
    INDEXED_TEXT_CHARS,
    STORED_TEXT_CHARS,
    USER_FIELDS,
    USER_PREFIXES,
    date_ms,
    is_user_field,
    solr_date,
)
from navlin.model.redaction import redact
from navlin.model.refusal import Refusal

FIELD_NAME_CHARS: Final = 255
MOST_CHARS: Final[Mapping[str, int]] = {"name": 500, "description": STORED_TEXT_CHARS}
"""Maximum lengths that differ from `INDEXED_TEXT_CHARS`: Navigator's API accepted names of 500 characters, and
descriptions of any length."""
TYPED: Final[Mapping[str, type]] = {"cpl_": int, "cpd_": float, "cpb_": bool}
"""Field prefix → type, for managed properties that are not texts."""


class BadValue(Refusal):
    """The field cannot have this value; the message says why."""


def checked(name: str, value: Any) -> Any:
    """Return a value as the index stores it, with secrets blanked. Raises `BadValue` if the field is not user-written
    or cannot have this value."""
    if not is_user_field(name):
        kinds = ", ".join([*sorted(USER_FIELDS), *(f"{prefix}…" for prefix in USER_PREFIXES)])
        raise BadValue(f"{name!r:.60} is not a field that people edit: those are {kinds}")
    if (
        len(name) > FIELD_NAME_CHARS
        or not name.isprintable()
        or name != name.strip()
        or name in USER_PREFIXES
    ):
        raise BadValue(f"{name!r:.60} cannot be the name of a field")
    if name == "tags" or name.startswith("cp"):
        values = value if isinstance(value, list) else [value]
        if not values:
            raise BadValue(f"{name} has no value")
        return [_checked_one(name, each) for each in values]
    return _checked_one(name, value)


def _checked_one(name: str, value: Any) -> Any:
    kind: type = TYPED.get(name[:4], str)
    right = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not right:
        raise BadValue(f"{name} must be {kind.__name__}, not {type(value).__name__} {value!r:.40}")
    if kind is int and not -(2**63) <= value < 2**63:
        raise BadValue(f"{name} is not a number of 64 bits")
    if kind is float and not math.isfinite(value):
        raise BadValue(f"{name} is not a number")
    if name.startswith("cpt_"):
        try:
            return solr_date(date_ms(value)).replace(".000Z", "Z")  # as Solr returns it
        except ValueError:
            raise BadValue(
                f"{name} has {value!r:.40}, which is not a date such as 2026-01-31T12:00:00Z"
            ) from None
    if kind is not str:
        return value
    if not value:
        raise BadValue(f"{name} has no value")
    most_chars = MOST_CHARS.get(name, INDEXED_TEXT_CHARS)
    if len(value) > most_chars:
        raise BadValue(f"{name} has {len(value):,} characters, but may have at most {most_chars:,}")
    if not value.isascii() and any("\ud800" <= each <= "\udfff" for each in value):
        raise BadValue(f"{name} is not valid UTF-8")
    return redact(value)
