"""Converts datasets to dataset events: columns, locations, descriptions from users and sources, tags, and deletion."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from navlin.export.openlineage.names import Naming, event, facet
from navlin.export.values import ExportedDataset, Renamed
from navlin.index.graph.details import Annotations

_TYPES: Final = {
    "TABLE": "TABLE",
    "VIEW": "VIEW",
    "DIRECTORY": "DIRECTORY",
    "FILE": "FILE",
    "S3BUCKET": "BUCKET",
}


def events(dataset: ExportedDataset, naming: Naming) -> Iterator[dict[str, Any]]:
    """Yield the event of a dataset. There is none for a database, because in OpenLineage databases are only part of
    names."""
    if dataset.name.type == "DATABASE":
        return
    details = dataset.details
    time_ms = max(details.created_ms, details.modified_ms, dataset.deleted_ms)
    gone = {"lifecycleStateChange": facet("lifecycleStateChange", {"lifecycleStateChange": "DROP"})}
    facets = gone if dataset.deleted else _facets(dataset, naming)
    yield event("DatasetEvent", time_ms, dataset={**naming.dataset(dataset.name), "facets": facets})


def rename(renamed: Renamed, naming: Naming) -> dict[str, Any]:
    """Return the event of a renamed table."""
    changed = facet(
        "lifecycleStateChange",
        {"lifecycleStateChange": "RENAME", "previousIdentifier": naming.dataset(renamed.before)},
    )
    named = {**naming.dataset(renamed.after), "facets": {"lifecycleStateChange": changed}}
    return event("DatasetEvent", renamed.time_ms, dataset=named)


def _facets(dataset: ExportedDataset, naming: Naming) -> dict[str, Any]:
    facets: dict[str, Any] = {
        "datasetType": facet("datasetType", {"datasetType": _TYPES.get(dataset.name.type, "DATASET")})
    }
    if dataset.columns:
        fields = []
        for place, column in enumerate(dataset.columns, 1):
            text = column.annotations.description or column.details.comment
            about = {"type": column.details.type, "description": text}
            named = {"name": column.name.name, "ordinal_position": place}
            fields.append(named | {name: value for name, value in about.items() if value})
        facets["schema"] = facet("schema", {"fields": fields})
    if links := _links(dataset, naming):
        facets["symlinks"] = facet("symlinks", {"identifiers": links})
    if text := dataset.annotations.description or dataset.details.comment:
        facets["documentation"] = facet("documentation", {"description": text})
    if dataset.details.owner:
        facets["ownership"] = facet("ownership", {"owners": [{"name": dataset.details.owner}]})
    tags = [{"key": "navlin_id", "value": dataset.name.id, "source": "navlin"}, *tags_of(dataset.annotations)]
    tags += [tag | {"field": each.name.name} for each in dataset.columns for tag in tags_of(each.annotations)]
    facets["tags"] = facet("tags", {"tags": tags})
    return facets


def _links(dataset: ExportedDataset, naming: Naming) -> list[dict[str, str]]:
    """Return the locations of a table; none for any other dataset."""
    locations = dataset.locations if dataset.name.is_table else ()
    return [{**naming.dataset(each), "type": "LOCATION"} for each in locations]


def tags_of(annotations: Annotations) -> Iterator[dict[str, str]]:
    """Yield user-written tags and properties as tags."""
    for tag in annotations.tags:
        yield {"key": tag, "value": "true", "source": "USER"}
    for key, values in annotations.properties.items():
        yield {"key": key, "value": ", ".join(values), "source": "USER"}
