"""Entities that programs own: check the fields that a program sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from navlin.edit.values import BadValue
from navlin.index.people.user_entities import SDK_SOURCE, user_fields
from navlin.index.schema.fields import DATES, KNOWN, date_ms
from navlin.model.identity import identify
from navlin.model.keys import EntityType

ID_CHARS: Final = 255
_TYPES: Final = tuple(each.value for each in EntityType if each is not EntityType.SOURCE)
_NOT_SAID: Final = frozenset(
    "identity sourceType sourceId type namespace packageName name description tags properties customProperties deleted"
    " deleteTime userEntity extractorRunId technicalProperties firstClassParentId sourceWords".split()
)
"""Keys that do not describe a program's entity: its identity, user-written fields, and navlin's own fields."""
_WITH_PARENT: Final = frozenset({"FIELD", "SUB_OPERATION", "PARTITION"})


@dataclass(frozen=True, slots=True)
class Own:
    """An entity that a program owns; ``fields`` maps fields of the index to the values that the program sets."""

    id: str
    type: str
    namespace: str
    fields: Mapping[str, Any]


def own_entity(given: Mapping[str, Any], parents: Mapping[str, str]) -> Own:
    """Convert a JSON object of source type SDK to an entity. ``parents`` maps ids of children to ids of parents, as
    stated by the accompanying relations. Raises `BadValue`."""
    kind, namespace = given.get("type"), given.get("namespace")
    if kind not in _TYPES:
        raise BadValue(f"type {kind!s:.40} is not one of [{', '.join(_TYPES)}]")
    if not isinstance(namespace, str) or not namespace:
        raise BadValue("it has no namespace")
    identity = _identity(given, namespace, kind)
    if identity == SDK_SOURCE:
        raise BadValue("that identity belongs to the SOURCE of everything that programs write")
    said = {
        key: _value(key, value) for key, value in given.items() if key not in _NOT_SAID and value is not None
    }
    if kind in _WITH_PARENT and identity in parents:
        said["firstClassParentId"] = parents[identity]
    if "internalType" not in said and "metaClassName" in said:
        said["internalType"] = said["metaClassName"]
    said.pop("metaClassName", None)
    fields = user_fields(said)
    if given.get("deleted") is True:
        fields |= {"deleted": True, "deleteTime": _time_ms("deleteTime", given.get("deleteTime") or 0)}
    elif given.get("deleted") is False:
        fields |= {"deleted": False, "deleteTime": None}
    return Own(identity, kind, namespace, fields)


def _identity(given: Mapping[str, Any], namespace: str, kind: str) -> str:
    identity = given.get("identity")
    if identity is None or identity == "":
        name = given.get("originalName")
        if not isinstance(name, str) or not name:
            raise BadValue("it has neither an identity nor an originalName")
        return identify(namespace, kind, name, str(given.get("parentPath") or ""))
    if not isinstance(identity, str) or len(identity) > ID_CHARS or not identity.isprintable():
        raise BadValue(f"{identity!r:.60} is not an identity")
    return identity


def _value(key: str, value: Any) -> Any:
    if key in DATES:
        return _time_ms(key, value)
    if isinstance(value, Mapping) or (
        isinstance(value, list) and not all(isinstance(each, str) for each in value)
    ):
        raise BadValue(f"{key} must be a text, a number, a truth value or a list of texts")
    convert = KNOWN.get(key)
    if convert in (int, bool) and not isinstance(value, int):
        raise BadValue(f"{key} must be {'a whole number' if convert is int else 'true or false'}")
    return value


def _time_ms(key: str, value: Any) -> int:
    """Convert a date from the SDK, ISO or epoch ms, to epoch ms."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    try:
        return date_ms(value)
    except (TypeError, ValueError):
        raise BadValue(f"{key} must be a date, not {value!r:.40}") from None
