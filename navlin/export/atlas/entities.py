"""Entities of Atlas, and references to them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from navlin.export.values import Words

LABEL_CHARS: Final = 50
CUSTOM_KEY_CHARS: Final = 50
CUSTOM_VALUE_CHARS: Final = 500
"""Atlas's limits for labels and custom attributes; both may contain only letters, digits, dashes and underscores."""
_NO_WORD: Final = re.compile(r"[^A-Za-z0-9_-]+")
IDENTITY: Final = "navlin_id"
"""The custom attribute with navlin's identity of the entity."""


CLEARED: Final = object()
"""Value of an attribute that somebody removed."""


@dataclass(frozen=True, slots=True)
class Ref:
    """A reference to an entity; ``relationship`` is the type of the relationship whose end it is."""

    type: str
    qualified_name: str
    relationship: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """The part that identifies the entity."""
        return self.type, self.qualified_name

    def at(self, relationship: str) -> Ref:
        """The same reference as an end of a relationship."""
        return Ref(self.type, self.qualified_name, relationship)

    def to_json(self, guids: Mapping[tuple[str, str], str] | None = None) -> dict[str, Any]:
        """The form that Atlas reads, with the guid of the entity in its request, if any."""
        found: dict[str, Any] = {
            "typeName": self.type,
            "uniqueAttributes": {"qualifiedName": self.qualified_name},
        }
        if guids and (guid := guids.get(self.key)):
            found["guid"] = guid
        if self.relationship:
            found["relationshipType"] = self.relationship
        return found


@dataclass(frozen=True, slots=True)
class AtlasEntity:
    """An entity with its ends of relationships. Attributes and labels that are None are left out, and Atlas keeps their
    present values; an attribute that is `CLEARED` becomes empty."""

    type: str
    attributes: Mapping[str, Any]
    ends: Mapping[str, Ref | tuple[Ref, ...]] = field(default_factory=dict)
    labels: tuple[str, ...] | None = None
    custom: Mapping[str, str] = field(default_factory=dict)

    @property
    def ref(self) -> Ref:
        """The reference to this entity."""
        return Ref(self.type, str(self.attributes["qualifiedName"]))

    def to_json(self, guids: Mapping[tuple[str, str], str]) -> dict[str, Any]:
        """The form that Atlas reads."""
        found: dict[str, Any] = {
            "typeName": self.type,
            "guid": guids[self.ref.key],
            "attributes": {
                name: None if value is CLEARED else value
                for name, value in self.attributes.items()
                if _known(value)
            },
        }
        ends = {
            name: [each.to_json(guids) for each in end] if isinstance(end, tuple) else end.to_json(guids)
            for name, end in self.ends.items()
        }
        if ends:
            found["relationshipAttributes"] = ends
        if self.labels is not None:
            found["labels"] = list(self.labels)
        if self.custom:
            found["customAttributes"] = dict(self.custom)
        return found


@dataclass(frozen=True, slots=True)
class Upsert:
    """The entities of one dataset or operation: the main one, then those that depend on it. Sent together."""

    entities: tuple[AtlasEntity, ...]


@dataclass(frozen=True, slots=True)
class Deletion:
    """A deleted entity; Atlas deletes its parts with it."""

    ref: Ref


@dataclass(frozen=True, slots=True)
class Rename:
    """An entity that keeps its guid under a new name. ``attributes`` are its new ones."""

    ref: Ref
    attributes: Mapping[str, Any]


Change = Upsert | Deletion | Rename


def numbered(entities: Iterable[AtlasEntity]) -> dict[tuple[str, str], str]:
    """A guid for each entity of one request: negative numbers, in their order."""
    keys = dict.fromkeys(entity.ref.key for entity in entities)
    return {key: f"-{number}" for number, key in enumerate(keys, start=1)}


def unique(entities: Iterable[AtlasEntity]) -> Iterator[AtlasEntity]:
    """Yields the first entity of each name."""
    seen = set()
    for entity in entities:
        if entity.ref.key not in seen:
            seen.add(entity.ref.key)
            yield entity


def labels(words: Words) -> tuple[str, ...] | None:
    """People's tags as labels; None if there are none, and nobody removed any."""
    found = (_NO_WORD.sub("_", tag)[:LABEL_CHARS] for tag in (*words.tags, *words.inherited_tags))
    return tuple(dict.fromkeys(each for each in found if each.strip("_"))) or (() if words.edited else None)


def custom(identity: str, words: Words) -> dict[str, str]:
    """navlin's identity and people's properties as custom attributes."""
    found = {IDENTITY: identity}
    for key, values in words.properties.items():
        if text := ", ".join(values):
            found[_NO_WORD.sub("_", key)[:CUSTOM_KEY_CHARS]] = text[:CUSTOM_VALUE_CHARS]
    return found


def worded(words: Words) -> dict[str, Any]:
    """The attributes of an Asset that people fill in. Atlas keeps those left out, so those that somebody removed are
    cleared."""
    found = {"displayName": words.name, "userDescription": words.description}
    empty = dict.fromkeys(found, CLEARED) if words.edited else {}
    return {**empty, **{name: value for name, value in found.items() if value}}


def _known(value: Any) -> bool:
    # Required attributes may be empty; callers pass None for other empty ones.
    return value is not None
