"""The columns of a table or file, each with the columns that it is computed from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Final

from navlin.index.graph.details import Annotations, ColumnDetails
from navlin.index.graph.entity import StoredEntity
from navlin.index.solr.solr import Solr
from navlin.index.solr.solr_query import phrase
from navlin.model.keys import RelationType
from navlin.query.answer import Direction, Node
from navlin.query.column_flows import lineage_with_expressions, made_of_data
from navlin.query.options import WalkOptions
from navlin.query.search import search

MOST_COLUMNS: Final = 2_000


@dataclass(frozen=True, slots=True)
class ColumnRow:
    """A column as in its source, with the user-written fields. ``origins`` are the columns one hop upstream that this
    column is computed from."""

    entity: StoredEntity
    details: ColumnDetails
    annotations: Annotations
    origins: tuple[Node, ...]
    expressions: tuple[str, ...]
    """The computations of this column from ``origins``, as the engines recorded them."""


def columns_of(solr: Solr, entity: StoredEntity) -> Iterator[ColumnRow]:
    """Yield the columns in the order of the table, then columns without a known order. Deleted columns come last."""
    query = f"type:FIELD AND firstClassParentId:{phrase(entity.id)}"
    found = search(solr, query, limit=MOST_COLUMNS)
    if not found.documents:
        return
    origins, expressions = _origins(solr, entity)
    for column in sorted(found.entities, key=lambda each: (each.deleted, *_order(each))):
        yield ColumnRow(
            column,
            ColumnDetails.of(column),
            Annotations.of(column),
            tuple(origins[column.id]),
            tuple(expressions[column.id]),
        )


def _order(column: StoredEntity) -> tuple[float, str]:
    index = column.column_index
    return (inf if index is None else index, column.own_name)


def _origins(solr: Solr, entity: StoredEntity) -> tuple[dict[str, list[Node]], dict[str, list[str]]]:
    """Return two mappings: column id → the columns that it is computed from, and column id → the expressions."""
    options = WalkOptions(Direction.UPSTREAM, depth=1, columns=True, control_flow=True, unlinked=True)
    answer, texts = lineage_with_expressions(solr, entity.id, options)
    nodes = {node.id: node for node in answer.nodes}
    origins: dict[str, list[Node]] = defaultdict(list)
    expressions: dict[str, list[str]] = defaultdict(list)
    edges = [edge for edge in answer.edges if nodes[edge.source].type == nodes[edge.target].type == "FIELD"]
    of_data = made_of_data(edges)
    for edge in edges:
        data = edge.type == RelationType.DATA_FLOW
        if data:
            origins[edge.target].append(nodes[edge.source])
        if data or edge.target not in of_data:
            new = texts[edge.type, edge.source, edge.target]
            expressions[edge.target] += [each for each in new if each not in expressions[edge.target]]
    return origins, expressions
