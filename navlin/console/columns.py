"""The columns of a table or a file, and where each comes from, in a line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from navlin.index.entity import StoredEntity
from navlin.index.solr import Solr
from navlin.index.solr_query import phrase
from navlin.query.answer import Direction, Node
from navlin.query.lineage import lineage
from navlin.query.options import Options
from navlin.query.search import search

MOST_COLUMNS: Final = 2_000


@dataclass(frozen=True, slots=True)
class Column:
    """A column as its source has it, what people wrote of it, and the columns that it is made from, one hop up."""

    entity: StoredEntity
    data_type: str
    comment: str
    name: str
    description: str
    tags: tuple[str, ...]
    origins: tuple[Node, ...]


def columns_of(solr: Solr, entity: StoredEntity) -> Iterator[Column]:
    """The columns in their order in the table; those that are deleted come last."""
    query = f"type:FIELD AND firstClassParentId:{phrase(entity.id)}"
    found = search(solr, query, limit=MOST_COLUMNS)
    if not found.documents:
        return
    origins = _origins(solr, entity)
    pairs = [(StoredEntity.of(each), each) for each in found.documents]
    pairs.sort(key=lambda pair: (pair[0].deleted, pair[0].column_index or 0, pair[0].own_name))
    for column, document in pairs:
        words = column.words
        yield Column(
            column,
            str(document.get("dataType", "")),
            str(document.get("originalDescription", "")),
            str(words.get("name", "")),
            str(words.get("description", "")),
            tuple(map(str, words.get("tags", ()))),
            tuple(origins[column.id]),
        )


def _origins(solr: Solr, entity: StoredEntity) -> dict[str, list[Node]]:
    answer = lineage(solr, entity.id, Options(Direction.UPSTREAM, depth=1, columns=True))
    nodes = {node.id: node for node in answer.nodes}
    origins: dict[str, list[Node]] = defaultdict(list)
    for edge in answer.edges:
        source, target = nodes[edge.source], nodes[edge.target]
        if source.type == target.type == "FIELD" and edge.type == "DATA_FLOW":
            origins[target.id].append(source)
    return origins
