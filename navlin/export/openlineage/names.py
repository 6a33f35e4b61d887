"""The names of datasets, jobs and runs, and the common form of events and facets."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from navlin.export.values import DatasetName, ExportedOperation
from navlin.index.graph.sources import KnownSource

PRODUCER: Final = "urn:navlin:openlineage"
_SPEC: Final = "https://openlineage.io/spec"
_CORE: Final = f"{_SPEC}/2-0-2/OpenLineage.json#/$defs/"
_FACETS: Final = {
    "columnLineage": ("1-2-0", "ColumnLineageDatasetFacet"),
    "datasetType": ("1-0-1", "DatasetTypeDatasetFacet"),
    "documentation": ("1-1-0", "DocumentationDatasetFacet"),
    "errorMessage": ("1-0-1", "ErrorMessageRunFacet"),
    "jobType": ("2-0-4", "JobTypeJobFacet"),
    "lifecycleStateChange": ("1-0-1", "LifecycleStateChangeDatasetFacet"),
    "ownership": ("1-0-1", "OwnershipDatasetFacet"),
    "parent": ("1-2-0", "ParentRunFacet"),
    "schema": ("1-2-0", "SchemaDatasetFacet"),
    "sql": ("1-1-0", "SQLJobFacet"),
    "symlinks": ("1-0-1", "SymlinksDatasetFacet"),
    "tags": ("1-0-0", "TagsDatasetFacet"),
}
"""Facet → (version, definition in the specification)."""
EARLIEST_MS: Final = 946_684_800_000
"""Time of events without a known time: the year 2000, which is constant and earlier than any real time."""
_RUNS: Final = uuid.UUID("6f0c7a52-3d0e-5c0b-9d5a-5f1f7d1f0a11")
"""UUID namespace of the run ids."""


@dataclass(frozen=True, slots=True)
class Naming:
    """Names for one export. ``namespace`` is the namespace of jobs; "" for the name of the cluster."""

    namespace: str = ""

    def dataset(self, name: DatasetName) -> dict[str, str]:
        """Return the namespace and name of a dataset."""
        authority = name.authority or _unknown(name)
        if name.is_table:
            return _table(name, authority)
        if name.is_path:
            if authority.startswith("file:"):
                return {"namespace": "file", "name": name.name}
            key = name.name.lstrip("/") or "/"
            return {"namespace": authority, "name": key if authority.startswith("s3:") else name.name}
        return {"namespace": authority, "name": name.name}

    def job(self, operation: ExportedOperation) -> dict[str, str]:
        """Return the namespace and name of an operation. The name never contains the text of a query."""
        source = operation.source
        return {"namespace": self.of_jobs(source), "name": f"{source.name or source.type}.{operation.id}"}

    def of_jobs(self, source: KnownSource) -> str:
        """Return the namespace for the jobs of a source."""
        return self.namespace or source.cluster or "navlin"


def run_id(identity: str) -> str:
    """Return the id of a run, which depends only on ``identity``."""
    return str(uuid.uuid5(_RUNS, identity))


def _table(name: DatasetName, authority: str) -> dict[str, str]:
    if authority.startswith("arn:aws:glue:"):
        return {"namespace": authority, "name": f"table/{name.database}/{name.name}"}
    if authority.startswith("jdbc:"):
        return {"namespace": authority.removeprefix("jdbc:"), "name": name.full_name}
    return {"namespace": f"hive://{authority.partition('://')[2] or authority}", "name": name.full_name}


def _unknown(name: DatasetName) -> str:
    """Return an authority, derived from the cluster of the source, for a dataset without a known authority."""
    source = name.source
    if name.is_table:
        return f"thrift://{source.cluster or source.name or 'unknown'}"
    if name.is_path:
        return f"{source.type.lower() or 'hdfs'}://{source.cluster or source.name or 'unknown'}"
    return source.name or source.type.lower() or "unknown"


def event(kind: str, time_ms: int, **more: Any) -> dict[str, Any]:
    """Return an event. ``kind`` is RunEvent, JobEvent or DatasetEvent."""
    return {"eventTime": moment(time_ms), "producer": PRODUCER, "schemaURL": _CORE + kind, **more}


def facet(name: str, content: Mapping[str, Any], definition: str = "") -> dict[str, Any]:
    """Return a facet. ``definition`` replaces the usual definition of a facet with this name; for example, the same
    facet has different definitions for jobs and for datasets."""
    version, usual = _FACETS[name]
    defined = definition or usual
    return {
        "_producer": PRODUCER,
        "_schemaURL": f"{_SPEC}/facets/{version}/{defined}.json#/$defs/{defined}",
        **content,
    }


def own_facet(name: str, **content: Any) -> dict[str, Any]:
    """Return one of navlin's own facets, without empty values."""
    known = {key: value for key, value in content.items() if value}
    return {"_producer": PRODUCER, "_schemaURL": f"{PRODUCER}:{name}:1-0-0", **known}


def moment(time_ms: int) -> str:
    """Format a time for events. A time that is unknown or before `EARLIEST_MS` becomes `EARLIEST_MS`."""
    whole_s, rest_ms = divmod(max(time_ms, EARLIEST_MS), 1_000)
    return f"{datetime.fromtimestamp(whole_s, UTC):%Y-%m-%dT%H:%M:%S}.{rest_ms:03d}Z"
