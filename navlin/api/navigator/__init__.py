"""Navigator's API, below ``/api/v2`` to ``/api/v14``, in the form that its public clients send and read. All versions
are alike.

A new endpoint is one module here, named in `ENDPOINTS`, and one test.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from navlin.api.endpoint import Endpoint
from navlin.api.navigator import (
    entities,
    entity_edits,
    interactive,
    lineage,
    maintenance,
    models,
    plugin,
    relations,
    schemas,
    solr,
)

OLDEST: Final = 2
NEWEST: Final = 14
ENDPOINTS: Final[tuple[Endpoint, ...]] = (
    entities.LIST,
    entities.PAGE,
    entities.ONE,
    entity_edits.PUT_BULK,
    entity_edits.PUT,
    relations.LIST,
    relations.PAGE,
    relations.ONE,
    interactive.FIND,
    interactive.FIND_BY_BODY,
    interactive.SUGGEST,
    lineage.COLUMNS,
    schemas.FIELDS,
    *models.ENDPOINTS,
    plugin.PLUGIN,
    plugin.REGISTER,
    maintenance.PURGE,
    maintenance.RUNNING,
    maintenance.HISTORY,
)
"""Endpoints below each version."""
UNVERSIONED: Final[tuple[Endpoint, ...]] = (lineage.EXPORT, *solr.ENDPOINTS)
"""Endpoints below the root of the server."""


def addresses() -> Iterator[tuple[str, str, Endpoint]]:
    """Yield (path, name in the metrics, endpoint) for every path."""
    for version in range(OLDEST, NEWEST + 1):
        yield from ((f"/api/v{version}{each.path}", f"/api/v*{each.path}", each) for each in ENDPOINTS)
    yield from ((each.path, each.path, each) for each in UNVERSIONED)
