"""Aggregation of column lineage to table lineage, to check that both levels agree."""

from __future__ import annotations

from dataclasses import replace

from navlin.query.answer import Lineage
from navlin.query.columns import CONTAINED, fold_edges


def fold(lineage: Lineage) -> Lineage:
    """Return the lineage aggregated to tables and operations."""
    drawn = {node.id for node in lineage.nodes}
    parents = {
        node.id: node.parent for node in lineage.nodes if node.type in CONTAINED and node.parent in drawn
    }
    nodes = tuple(node for node in lineage.nodes if node.id not in parents)
    start = parents.get(lineage.start, lineage.start)
    return replace(lineage, start=start, nodes=nodes, edges=fold_edges(lineage.edges, parents))
