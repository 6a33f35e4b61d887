"""Edits in the form that Navigator's clients send. Navigator's rules decide which fields are kept, erased or replaced.

In a PUT, ``name``, ``description`` and ``properties`` are kept if absent, and erased by null. ``tags`` are kept if
absent or null, and erased by []. ``customProperties`` are kept if absent or null; if given, only the named properties
change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from navlin.edit.annotation_changes import AnnotationChanges, Properties, Tags, properties, tags, texts
from navlin.edit.managed import managed_fields
from navlin.edit.models import Properties as Registered
from navlin.edit.values import BadValue

_TEXTS: Final = ("name", "description")


def changes_of_put(registered: Registered, given: Any) -> AnnotationChanges:
    """Convert the body of a PUT to `AnnotationChanges`. Raises `BadValue`. Keys that are not user-written fields are
    ignored."""
    if not isinstance(given, Mapping):
        raise BadValue("the body must be an object")
    only: Mapping[str, str] | None = None
    if "properties" in given:
        # An empty list is refused, unlike an empty object, which erases all properties.
        only = properties(_given(given, "properties"))
    return AnnotationChanges(
        texts({name: given[name] for name in _TEXTS if name in given}),
        Tags(only=None if given.get("tags") is None else tags(given["tags"])),
        Properties(only=only),
        managed_fields(registered, _given(given, "customProperties")),
    )


def changes_of_sdk(registered: Registered, given: Mapping[str, Any]) -> AnnotationChanges:
    """Convert an object that the SDK sends, with change sets, to `AnnotationChanges`; null leaves a field unchanged. Raises
    `BadValue`."""
    custom = _given(given, "customProperties")
    if isinstance(custom, Mapping):
        custom = {namespace: _without_nulls(named) for namespace, named in custom.items()}
    changed_tags, changed = (
        _change_set("tags", given.get("tags")),
        _change_set("properties", given.get("properties")),
    )
    return AnnotationChanges(
        texts({name: given[name] for name in _TEXTS if given.get(name) is not None}),
        Tags(
            None if changed_tags["set"] is None else tags(changed_tags["set"]),
            tags(changed_tags["add"] or []),
            tags(changed_tags["del"] or []),
        ),
        Properties(
            None if changed["set"] is None else properties(changed["set"]),
            properties(changed["add"] or {}),
            _keys(changed["del"] or []),
        ),
        managed_fields(registered, custom),
    )


def _given(given: Mapping[str, Any], key: str) -> Any:
    """Return the value of a key in the body; an empty object if the key is absent or null."""
    value = given.get(key)
    return {} if value is None else value


def _change_set(what: str, given: Any) -> Mapping[str, Any]:
    """Return a mapping with the keys ``set``, ``add`` and ``del``; each is None if absent."""
    if given is None or isinstance(given, Mapping):
        return {key: (given or {}).get(key) for key in ("set", "add", "del")}
    raise BadValue(f"{what} must be a change set with add, del and set, not {given!r:.40}")


def _keys(given: Any) -> tuple[str, ...]:
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise BadValue("del of properties must be a list of keys")
    return tuple(given)


def _without_nulls(named: Any) -> Any:
    return (
        {key: each for key, each in named.items() if each is not None}
        if isinstance(named, Mapping)
        else named
    )
