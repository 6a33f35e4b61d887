"""Edits as Navigator's clients write them: what stays, what goes, and what is replaced by its rules.

PUT replaces: ``name``, ``description``, ``properties`` that are absent stay, null erases them; ``tags`` that are absent or
null stay, [] is none; ``customProperties`` that are absent or null stay, and so does each property in it that is not named.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from navlin.edit.managed import managed_fields
from navlin.edit.models import Properties as Registered
from navlin.edit.values import BadValue
from navlin.edit.words import Properties, Tags, Words, properties, tags, texts

_TEXTS: Final = ("name", "description")


def put_words(registered: Registered, given: Any) -> Words:
    """The words of a body of PUT. Raises `BadValue`; keys that are no person's are ignored."""
    if not isinstance(given, Mapping):
        raise BadValue("the body must be an object")
    only: Mapping[str, str] | None = None
    if "properties" in given:
        only = properties(given["properties"] or {})
    return Words(
        texts({name: given[name] for name in _TEXTS if name in given}),
        Tags(only=None if given.get("tags") is None else tags(given["tags"])),
        Properties(only=only),
        managed_fields(registered, given.get("customProperties") or {}),
    )
