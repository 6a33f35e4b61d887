"""Validation of events against OpenLineage's own JSON schemas: the event schema and the schema of each facet."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker  # type: ignore[import-untyped]
from referencing import Registry, Resource

Json = dict[str, Any]
CORE = "https://openlineage.io/spec/2-0-2/OpenLineage.json"
OWN = "urn:navlin:openlineage:"


class Schemas:
    """All JSON schemas below a folder."""

    def __init__(self, folder: Path) -> None:
        contents = [json.loads(file.read_text()) for file in folder.rglob("*.json")]
        resources = [(each["$id"], Resource.from_contents(each)) for each in contents]
        self._registry: Registry[Any] = Registry().with_resources(resources)
        self._known = {name for name, _ in resources}

    def problems(self, event: Json) -> list[str]:
        """Return the errors in an event. Its schemaURL determines the schema of the event."""
        found = list(self._against(event, event["schemaURL"]))
        for where, name, facet in _facets(event):
            url = facet.get("_schemaURL", "")
            if url.startswith(OWN):
                continue
            if url.partition("#")[0] not in self._known:
                found.append(f"{where}.{name} names an unknown schema {url!r}")
                continue
            found += [f"{where}.{name}: {each}" for each in self._against(facet, url)]
            # The schema file of a facet also defines the name under which the facet may appear.
            file = url.partition("#")[0]
            found += [f"{where}.{name}: {each}" for each in self._against({name: facet}, file)]
            if name not in self._registry.contents(file)["properties"]:
                found.append(f"{where}.{name} is no facet of {file}")
        return found

    def _against(self, value: Any, url: str) -> Iterator[str]:
        validator = Draft202012Validator(
            {"$ref": url}, registry=self._registry, format_checker=FormatChecker()
        )
        for error in validator.iter_errors(value):
            yield f"{error.json_path}: {error.message[:300]}"


def _facets(event: Json) -> Iterator[tuple[str, str, Json]]:
    places: list[tuple[str, Json]] = [
        (name, event[name]) for name in ("run", "job", "dataset") if name in event
    ]
    for side in ("inputs", "outputs"):
        places += [(f"{side}[{number}]", each) for number, each in enumerate(event.get(side, []))]
    for where, holder in places:
        for kind in ("facets", "inputFacets", "outputFacets"):
            for name, facet in holder.get(kind, {}).items():
                yield where, name, facet
