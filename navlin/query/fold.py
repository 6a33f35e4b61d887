"""Fold columns into tables. No other module does this, so both levels of a diagram agree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from navlin.model.keys import RelationType
from navlin.query.answer import Edge

CONTAINED = frozenset({"FIELD", "SUB_OPERATION"})
"""Types that are shown inside another node."""


def fold_edges(edges: Iterable[Edge], parents: Mapping[str, str]) -> tuple[Edge, ...]:
    """Return edges between columns (and sub-operations) as edges between their containers, each pair once.

    The combined edge is a data flow if any of its column edges is, certain if any is certain, and incomplete if any is
    incomplete.
    """
    folded: dict[tuple[str, str], Edge] = {}
    for edge in edges:
        source, target = parents.get(edge.source, edge.source), parents.get(edge.target, edge.target)
        if (source, target) != (edge.source, edge.target):
            edge = replace(edge, source=source, target=target, via=())
        known = folded.get((source, target))
        folded[(source, target)] = edge if known is None else _merged(known, edge)
    return tuple(folded.values())


def _merged(one: Edge, other: Edge) -> Edge:
    kept = other if one.type == RelationType.CONTROL_FLOW and other.type == RelationType.DATA_FLOW else one
    return replace(
        kept,
        inferred=one.inferred and other.inferred,
        incomplete=one.incomplete or other.incomplete,
        parsed=one.parsed and other.parsed,
    )
