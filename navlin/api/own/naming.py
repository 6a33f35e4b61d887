"""The entity that a caller names: ``db.table``, ``db.table.column``, a path, or an id."""

from __future__ import annotations

from navlin.api.answers import Problem
from navlin.index.entity import StoredEntity
from navlin.index.solr import Solr
from navlin.query.names import AmbiguousName, UnclearName, UnknownName, entity_named


def entity_id(solr: Solr, name: str) -> str:
    """Its id. Raises `Problem`: 404 with what is near, 409 with those that may be meant."""
    try:
        return entity_named(solr, name).id
    except UnknownName as error:
        raise Problem(404, str(error), suggestions=list(map(_shown, error.suggestions))) from error
    except AmbiguousName as error:
        raise Problem(409, str(error), candidates=list(map(_shown, error.candidates))) from error
    except UnclearName as error:
        raise Problem(404, str(error)) from error


def _shown(entity: StoredEntity) -> dict[str, object]:
    return {
        "id": entity.id,
        "name": entity.name,
        "type": entity.type,
        "sourceType": entity.source_type,
        "deleted": entity.deleted,
    }
