"""Names in requests: of an entity (``db.table``, ``db.table.column``, a path, or an id), or of a saved search."""

from __future__ import annotations

import re
from typing import Final

from navlin.access.roles import Role
from navlin.api.answers import Problem
from navlin.api.endpoint import Asked
from navlin.index.entity import StoredEntity
from navlin.index.filters import RelationFilter
from navlin.index.graph import Graph
from navlin.index.solr import Solr
from navlin.query.names import AmbiguousName, UnclearName, UnknownName, entity_named
from navlin.query.saved import UnknownSearch, query_named

_ID: Final = re.compile(r"[0-9a-f]{32}")


def entity_id(solr: Solr, name: str) -> str:
    """The id of the entity of this name. Raises `Problem`: 404 with similar names, 409 with the candidates of an
    ambiguous one."""
    try:
        return entity_named(solr, name).id
    except UnknownName as error:
        raise Problem(404, str(error), suggestions=list(map(_shown, error.suggestions))) from error
    except AmbiguousName as error:
        raise Problem(409, str(error), candidates=list(map(_shown, error.candidates))) from error
    except UnclearName as error:
        raise Problem(404, str(error)) from error


def walked_id(solr: Solr, name: str, *, unlinked: bool) -> str:
    """The same; with ``unlinked``, also the id of an entity that was referenced but never extracted."""
    if unlinked and _ID.fullmatch(name) and Graph(solr).ends_among([name], RelationFilter(deleted=False)):
        return name
    return entity_id(solr, name)


def query_of(asked: Asked, query: str, saved: str) -> str:
    """The query that was typed, or that is saved under a name. Raises `Problem`."""
    if bool(query) == bool(saved):
        raise Problem(400, "query must be given, or saved: one of the two")
    if query:
        return query
    administrator = asked.user.role is Role.ADMINISTRATOR
    try:
        return query_named(asked.solr, saved, asked.user.name, administrator=administrator)
    except UnknownSearch as error:
        raise Problem(404, str(error)) from error


def _shown(entity: StoredEntity) -> dict[str, object]:
    return {
        "id": entity.id,
        "name": entity.name,
        "type": entity.type,
        "sourceType": entity.source_type,
        "deleted": entity.deleted,
    }
