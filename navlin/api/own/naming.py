"""Names in requests: of an entity (``db.table``, ``db.table.column``, a path, or an id), or of a saved search."""

from __future__ import annotations

from navlin.access.roles import Role
from navlin.api.endpoint import Asked
from navlin.index.solr import Solr
from navlin.query.names import entity_named
from navlin.query.names import walked_id as walked_id
from navlin.query.saved import query_or_saved


def entity_id(solr: Solr, name: str) -> str:
    """Its id."""
    return entity_named(solr, name).id


def query_of(asked: Asked, query: str, saved: str) -> str:
    """The query that was typed, or that is saved under a name."""
    administrator = asked.user.role is Role.ADMINISTRATOR
    return query_or_saved(asked.solr, query, saved, asked.user.name, administrator=administrator)
