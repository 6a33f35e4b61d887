"""Entities by what people wrote on them."""

from __future__ import annotations

from collections.abc import Iterator

from navlin.index import solr_query as q
from navlin.index.entity import WORDS, StoredEntity
from navlin.index.fields import ELEMENTS
from navlin.index.query_text import asked
from navlin.index.query_tree import Query
from navlin.index.solr import Solr


def worded(solr: Solr, query: Query) -> Iterator[StoredEntity]:
    """The entities that match and are not flagged deleted, by id, with people's fields."""
    # What was written a moment ago counts.
    solr.commit(ELEMENTS, soft=True)
    for document in solr.cursor(ELEMENTS, asked(query), WORDS, filters=["-deleted:true"]):
        yield StoredEntity.of(document)


def with_property(solr: Solr, field: str) -> Iterator[StoredEntity]:
    """The entities on which a person wrote this field, flagged deleted or not, by id, with people's fields."""
    for document in solr.cursor(ELEMENTS, q.EVERYTHING, WORDS, filters=[q.present(field)]):
        yield StoredEntity.of(document)
