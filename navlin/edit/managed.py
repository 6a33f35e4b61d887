"""Managed properties: check a client's values against the registered properties, and convert them to fields.

Values of an unregistered property are stored by their type: texts, whole numbers, numbers or booleans.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from navlin.edit.models import Properties, Property, matcher
from navlin.edit.values import BadValue, checked
from navlin.index.schema.fields import MANAGED, MANAGED_PREFIXES, solr_date

_TRUTH: Final = {"true": True, "false": False}
_INT_BITS: Final = 31
_MOST_MS: Final = 60_000_000_000_000
"""Maximum distance of a date from 1970, in ms: some 1,900 years, which Python's dates can represent."""


def managed_fields(registered: Properties, given: Any) -> dict[str, Sequence[Any] | None]:
    """Convert ``{namespace: {name: value or list}}`` to fields; None, "" and [] erase a property. Raises `BadValue`."""
    if not isinstance(given, Mapping):
        raise BadValue(f"customProperties must be an object of namespaces, not {given!r:.40}")
    fields: dict[str, Sequence[Any] | None] = {}
    for namespace, named in given.items():
        if not isinstance(named, Mapping):
            raise BadValue(f"customProperties of {namespace!s:.60} must be an object, not {named!r:.40}")
        for name, value in named.items():
            fields |= managed_field(registered.get((namespace, name)), namespace, name, value)
    return fields


def managed_field(
    registered: Property | None, namespace: str, name: str, value: Any
) -> dict[str, Sequence[Any] | None]:
    """Return the fields of one property; None, "" and [] erase it. Raises `BadValue`."""
    if not namespace or "." in namespace or not name:
        raise BadValue(f"{namespace!s:.60}.{name!s:.60} cannot be the name of a managed property")
    values = [each for each in (value if isinstance(value, list) else [value]) if each not in (None, "")]
    # Erase the fields of all types: the property may have been stored under another type before it was registered.
    fields: dict[str, Sequence[Any] | None] = dict.fromkeys(
        f"{prefix}{namespace}.{name}" for prefix in MANAGED_PREFIXES
    )
    if not values:
        return fields
    if registered is None:
        prefix = _prefix_of(f"{namespace}.{name}", values)
    else:
        values = _fitting(registered, values)
        prefix = MANAGED[registered.type]
    field = f"{prefix}{namespace}.{name}"
    fields[field] = checked(field, values)
    return fields


def _prefix_of(name: str, values: Sequence[Any]) -> str:
    kinds = {type(value) for value in values}
    if kinds == {str}:
        return MANAGED["TEXT"]
    if kinds == {bool}:
        return MANAGED["BOOLEAN"]
    if kinds == {int}:
        return MANAGED["LONG"]
    if kinds <= {int, float}:
        return MANAGED["DOUBLE"]
    raise BadValue(f"{name} must have texts, numbers or truth values, all of one kind")


def _fitting(of: Property, values: Sequence[Any]) -> list[Any]:
    if len(values) > 1 and not of.multi_valued:
        raise BadValue(f"{of.name} takes one value, not {len(values)}")
    return [_fit(of, value) for value in values]


def _fit(of: Property, value: Any) -> Any:
    match of.type:
        case "BOOLEAN":
            fit = _TRUTH.get(value.lower()) if isinstance(value, str) else value
            return _wanted(of, value, fit if isinstance(fit, bool) else None, "true or false")
        case "INTEGER" | "LONG":
            bits = _INT_BITS if of.type == "INTEGER" else 63
            whole = _number(value, int)
            fits = whole is not None and -(1 << bits) <= whole < 1 << bits
            return _wanted(of, value, whole if fits else None, f"a whole number of {bits + 1} bits")
        case "FLOAT" | "DOUBLE":
            return _wanted(of, value, _number(value, float), "a number")
        case "DATE" if isinstance(value, Mapping):
            # The SDK uses Joda's dates, which Jackson writes as objects with all their fields.
            ms = _number(value.get("millis"), int)
            fits = ms is not None and abs(ms) <= _MOST_MS
            return _wanted(of, value, solr_date(ms) if fits else None, "a date")
    if not isinstance(value, str):
        raise BadValue(f"{of.name} must be a text, not {value!r:.40}")
    if of.type == "ENUM" and value not in of.enum_values:
        raise BadValue(f"{value:.200} is not one of [{', '.join(of.enum_values)}]")
    if of.max_length is not None and len(value) > of.max_length:
        raise BadValue(f"{of.name} has {len(value):,} characters, but may have at most {of.max_length:,}")
    if of.pattern and not matcher(of.pattern)(value):
        raise BadValue(f"{value:.200} does not match the pattern {of.pattern} of {of.name}")
    return value


def _number(value: Any, kind: type) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if kind is int and isinstance(value, float):
        return int(value) if value.is_integer() else None
    try:
        return kind(value)
    except (ValueError, OverflowError):
        return None


def _wanted(of: Property, value: Any, fit: Any, words: str) -> Any:
    if fit is None:
        raise BadValue(f"{of.name} must be {words}, not {value!r:.40}")
    return fit
