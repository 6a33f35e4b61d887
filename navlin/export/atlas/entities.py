"""Atlas entities, references to entities, and changes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from navlin.index.graph.details import Annotations

LABEL_CHARS: Final = 50
CUSTOM_KEY_CHARS: Final = 50
CUSTOM_VALUE_CHARS: Final = 500
"""Maximum lengths of labels, and of the keys and values of custom attributes, in Atlas. Labels and keys may contain
only letters, digits, dashes and underscores."""
_NO_WORD: Final = re.compile(r"[^A-Za-z0-9_-]+")
IDENTITY: Final = "navlin_id"
"""Name of the custom attribute that holds navlin's identity of the entity."""


CLEARED: Final = object()
"""Value of an attribute that a user removed."""


@dataclass(frozen=True, slots=True)
class Ref:
    """A reference to an entity. ``relationship`` is the type of the relationship if the reference is an end of a
    relationship, else ""."""

    type: str
    qualified_name: str
    relationship: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """Type and name, which identify the entity."""
        return self.type, self.qualified_name

    def at(self, relationship: str) -> Ref:
        """Return a copy of this reference as an end of a relationship of the given type."""
        return Ref(self.type, self.qualified_name, relationship)

    def to_json(self, guids: Mapping[tuple[str, str], str] | None = None) -> dict[str, Any]:
        """Return the JSON for Atlas. ``guids`` maps keys to the guids in the same request; a known guid is included."""
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
    """An entity; ``ends`` maps relationship attributes to the entities at the other end. Attributes and labels that are
    None are left out, so that Atlas keeps their present values. An attribute that is `CLEARED` becomes empty."""

    type: str
    attributes: Mapping[str, Any]
    ends: Mapping[str, Ref | tuple[Ref, ...]] = field(default_factory=dict)
    labels: tuple[str, ...] | None = None
    custom: Mapping[str, str] = field(default_factory=dict)

    @property
    def ref(self) -> Ref:
        return Ref(self.type, str(self.attributes["qualifiedName"]))

    def to_json(self, guids: Mapping[tuple[str, str], str]) -> dict[str, Any]:
        """Return the JSON for Atlas. ``guids`` maps keys to the guids in the same request."""
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
    """The entities of one dataset or operation, sent together: first the main entity, then the entities that depend on
    it."""

    entities: tuple[AtlasEntity, ...]


@dataclass(frozen=True, slots=True)
class Deletion:
    """A deleted entity. Atlas also deletes the entities that the deleted entity owns."""

    ref: Ref


@dataclass(frozen=True, slots=True)
class Rename:
    """An entity that keeps its guid under a new name. ``attributes`` are the new attributes."""

    ref: Ref
    attributes: Mapping[str, Any]


Change = Upsert | Deletion | Rename


def numbered(entities: Iterable[AtlasEntity]) -> dict[tuple[str, str], str]:
    """Return key → guid for the entities of one request. The guids are -1, -2 and so on, in the order of the
    entities."""
    keys = dict.fromkeys(entity.ref.key for entity in entities)
    return {key: f"-{number}" for number, key in enumerate(keys, start=1)}


def unique(entities: Iterable[AtlasEntity]) -> Iterator[AtlasEntity]:
    """Yield the first entity with each key."""
    seen = set()
    for entity in entities:
        if entity.ref.key not in seen:
            seen.add(entity.ref.key)
            yield entity


def labels(annotations: Annotations) -> tuple[str, ...] | None:
    """Return user-written and inherited tags as labels; None if there are none and no user removed any."""
    found = (_NO_WORD.sub("_", tag)[:LABEL_CHARS] for tag in (*annotations.tags, *annotations.inherited_tags))
    return tuple(dict.fromkeys(each for each in found if each.strip("_"))) or (
        () if annotations.edited else None
    )


def custom(identity: str, annotations: Annotations) -> dict[str, str]:
    """Return navlin's identity and user-written properties as custom attributes."""
    found = {IDENTITY: identity}
    for key, values in annotations.properties.items():
        if text := ", ".join(values):
            found[_NO_WORD.sub("_", key)[:CUSTOM_KEY_CHARS]] = text[:CUSTOM_VALUE_CHARS]
    return found


def annotation_attributes(annotations: Annotations) -> dict[str, Any]:
    """Return the user-written attributes of an Asset. An attribute that a user removed is cleared, because Atlas keeps
    attributes that are left out."""
    found = {"displayName": annotations.name, "userDescription": annotations.description}
    empty = dict.fromkeys(found, CLEARED) if annotations.edited else {}
    return {**empty, **{name: value for name, value in found.items() if value}}


def _known(value: Any) -> bool:
    # Required attributes may be empty; for other empty attributes, callers pass None.
    return value is not None
