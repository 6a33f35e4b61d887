"""Lookup of entities by their user metadata."""

from __future__ import annotations

from collections.abc import Iterator

from navlin.index.graph.entity import WORDS, StoredEntity
from navlin.index.schema.fields import ELEMENTS
from navlin.index.search.print_query import asked
from navlin.index.search.query_tree import Query
from navlin.index.solr import solr_query as q
from navlin.index.solr.solr import Solr


def worded(solr: Solr, query: Query) -> Iterator[StoredEntity]:
    """Yield the live entities that match, ordered by id, with user fields."""
    # Include recent edits.
    solr.commit(ELEMENTS, soft=True)
    for document in solr.cursor(ELEMENTS, asked(query), WORDS, filters=["-deleted:true"]):
        yield StoredEntity.of(document)


def with_property(solr: Solr, field: str) -> Iterator[StoredEntity]:
    """Yield the entities with this user field, deleted or not, ordered by id, with all user fields."""
    for document in solr.cursor(ELEMENTS, q.EVERYTHING, WORDS, filters=[q.present(field)]):
        yield StoredEntity.of(document)
