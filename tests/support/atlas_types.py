"""Check entities against Atlas's own type definitions: report values that the server would silently drop or would
refuse.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

_NUMBERS: Final = {"int": int, "long": int, "date": int, "boolean": bool, "string": str}


class AtlasTypes:
    """The types defined by the models in a folder, including attributes and supertypes added by patches."""

    def __init__(self, models: Path) -> None:
        read = [json.loads(file.read_text()) for file in sorted(models.rglob("*.json"))]
        self.enums = {each["name"]: each for one in read for each in one.get("enumDefs", ())}
        self.structs = {each["name"]: each for one in read for each in one.get("structDefs", ())}
        self.entities = {each["name"]: each for one in read for each in one.get("entityDefs", ())}
        self.relationships = {each["name"]: each for one in read for each in one.get("relationshipDefs", ())}
        for patch in (each for one in read for each in one.get("patches", ())):
            if (patched := self.entities.get(patch["typeName"])) is None:
                continue
            patched.setdefault("attributeDefs", []).extend(patch.get("attributeDefs") or ())
            patched["superTypes"] = [*patched.get("superTypes", ()), *(patch.get("superTypes") or ())]

    def ancestry(self, type_name: str) -> Iterator[str]:
        yield type_name
        for above in self.entities.get(type_name, {}).get("superTypes") or ():
            yield from self.ancestry(above)

    def problems(self, entity: Mapping[str, Any]) -> Iterator[str]:
        kind = entity["typeName"]
        name = f"{kind} {entity['attributes'].get('qualifiedName')}"
        if kind not in self.entities:
            yield f"{name}: there is no such type"
            return
        defined = {
            each["name"]: each
            for one in self.ancestry(kind)
            for each in self.entities[one].get("attributeDefs", ())
        }
        yield from (f"{name}: {each}" for each in self._attributes(defined, entity["attributes"]))
        for end, given in entity.get("relationshipAttributes", {}).items():
            for reference in given if isinstance(given, list) else [given]:
                yield from (f"{name}.{end}: {each}" for each in self._reference(kind, end, reference))
        if kind == "hive_column" and "table" not in entity.get("relationshipAttributes", {}):
            yield f"{name}: a column without its table"
        for label in entity.get("labels", ()):
            if (
                len(label) > 50
                or not label.replace("-", "").replace("_", "").isalnum()
                or not label.isascii()
            ):
                yield f"{name}: {label!r} is no label"
        for key, value in entity.get("customAttributes", {}).items():
            plain = key.replace("-", "").replace("_", "")
            if len(key) > 50 or not plain.isalnum() or not plain.isascii() or len(value) > 500:
                yield f"{name}: {key!r} is no custom attribute"

    def _attributes(
        self, defined: Mapping[str, Mapping[str, Any]], given: Mapping[str, Any]
    ) -> Iterator[str]:
        yield from (f"{each} would be dropped silently" for each in given.keys() - defined.keys())
        for attribute, definition in defined.items():
            if attribute not in given:
                if not definition.get("isOptional", False):
                    yield f"{attribute} is required"
            elif not self._fits(definition["typeName"], given[attribute]):
                yield f"{attribute} is no {definition['typeName']}: {given[attribute]!r}"

    def _fits(self, type_name: str, value: Any) -> bool:
        if type_name.startswith("array<"):
            inner = type_name.removeprefix("array<").removesuffix(">")
            return isinstance(value, list) and all(self._fits(inner, each) for each in value)
        if type_name.startswith("map<"):
            return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())
        if type_name in self.enums:
            return value in {each["value"] for each in self.enums[type_name]["elementDefs"]}
        if type_name in self.structs:
            defined = {each["name"]: each for each in self.structs[type_name]["attributeDefs"]}
            return value["typeName"] == type_name and not [*self._attributes(defined, value["attributes"])]
        if type_name in _NUMBERS:
            return isinstance(value, _NUMBERS[type_name]) and (
                type_name == "boolean" or not isinstance(value, bool)
            )
        return isinstance(value, dict) and "typeName" in value

    def _reference(self, kind: str, end: str, reference: Mapping[str, Any]) -> Iterator[str]:
        relationship = self.relationships.get(reference.get("relationshipType", ""))
        if relationship is None:
            yield f"there is no relationship {reference.get('relationshipType')!r}"
            return
        ends = (relationship["endDef1"], relationship["endDef2"])
        for near, far in (ends, ends[::-1]):
            if near["name"] == end and near["type"] in self.ancestry(kind):
                if far["type"] not in self.ancestry(reference["typeName"]):
                    yield f"{reference['typeName']} is no {far['type']}"
                return
        yield f"a {kind} has no such end in {relationship['name']}"


def references(entity: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (type, qualifiedName) of each entity that ``entity`` refers to."""
    for given in entity.get("relationshipAttributes", {}).values():
        for each in given if isinstance(given, list) else [given]:
            yield each["typeName"], each["uniqueAttributes"]["qualifiedName"]


def dangling(requests: Iterable[Iterable[Mapping[str, Any]]]) -> list[str]:
    """Return the references that the server would refuse, because the entity is neither in the same request nor in an
    earlier one.
    """
    there: set[tuple[str, str]] = set()
    missing = []
    for request in requests:
        entities = list(request)
        there |= {(each["typeName"], each["attributes"]["qualifiedName"]) for each in entities}
        for each in entities:
            missing += [
                f"{each['attributes']['qualifiedName']} names {kind} {name}"
                for kind, name in references(each)
                if (kind, name) not in there
            ]
    return missing
