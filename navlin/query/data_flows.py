"""Lineage between data only, for people: edges pass through statements and sub-operations."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Final

from navlin.model.keys import RelationType
from navlin.query.answer import Edge, Lineage, Node
from navlin.query.statement_names import PART, STATEMENT, named_hop

FLOWS: Final = frozenset({RelationType.DATA_FLOW.value, RelationType.CONTROL_FLOW.value})
PARTS: Final = frozenset({PART})
STATEMENTS: Final = frozenset({PART, STATEMENT})


def between_data(lineage: Lineage, hidden: Collection[str] = PARTS) -> Lineage:
    """Return the lineage without nodes of the ``hidden`` types. The flows into a hidden node are joined with the flows
    that leave the node. A node without incoming or without outgoing flows stays, and so does the start. A sub-operation
    that stays is replaced by its statement."""
    nodes = {node.id: node for node in lineage.nodes}
    edges = {_key(edge): _through_statements(edge) for edge in lineage.edges}
    for node in lineage.nodes:
        if node.type in hidden and node.id != lineage.start:
            _pass_through(node, edges)
    statements = {each.id: _of_statement(each) for each in nodes.values() if each.type == PART}
    drawn = _merged(_renamed(edge, statements) for edge in edges.values())
    ends = {end for edge in drawn for end in (edge.source, edge.target)}
    kept = {
        shown.id: shown
        for node in lineage.nodes
        for shown in [statements.get(node.id, node)]
        if node.id == lineage.start or shown.id in ends or node.type not in hidden
    }
    return replace(lineage, nodes=tuple(kept.values()), edges=drawn)


def statements_of(steps: Iterable[Node], named: Mapping[str, tuple[str, str]]) -> tuple[Node, ...]:
    """Return a path with the display names of its statements. Each sub-operation is replaced by its statement, and no
    statement occurs twice."""
    return _once(map(_of_statement, (named_hop(step, named) for step in steps)))


def _key(edge: Edge) -> tuple[str, str, str]:
    return (edge.type, edge.source, edge.target)


def _pass_through(node: Node, edges: dict[tuple[str, str, str], Edge]) -> None:
    into = [edge for edge in edges.values() if edge.target == node.id and edge.type in FLOWS]
    out = [edge for edge in edges.values() if edge.source == node.id and edge.type in FLOWS]
    if not into or not out:
        return
    for edge in (*into, *out):
        del edges[_key(edge)]
    for one in into:
        for other in out:
            joined = _joined(one, _of_statement(node), other)
            edges[_key(joined)] = _better(edges.get(_key(joined)), joined)


def _joined(one: Edge, hop: Node, other: Edge) -> Edge:
    steers = RelationType.CONTROL_FLOW in (one.type, other.type)
    return Edge(
        one.source,
        other.target,
        (RelationType.CONTROL_FLOW if steers else RelationType.DATA_FLOW).value,
        _once((*one.via, hop, *other.via)),
        one.inferred or other.inferred,
        one.incomplete or other.incomplete,
        one.parsed or other.parsed,
    )


def _better(known: Edge | None, edge: Edge) -> Edge:
    """Merge two edges between the same ends. The result is certain if either edge is certain, and incomplete if either
    edge is incomplete."""
    if known is None:
        return edge
    return replace(
        known,
        via=_once((*known.via, *edge.via)),
        inferred=known.inferred and edge.inferred,
        incomplete=known.incomplete or edge.incomplete,
        parsed=known.parsed and edge.parsed,
    )


def _merged(edges: Iterable[Edge]) -> tuple[Edge, ...]:
    """Merge the edges between each pair of ends; a data flow replaces a control flow between the same ends."""
    found: dict[tuple[str, str, str], Edge] = {}
    for edge in edges:
        found[_key(edge)] = _better(found.get(_key(edge)), edge)
    return tuple(
        edge
        for edge in found.values()
        if edge.type != RelationType.CONTROL_FLOW
        or (RelationType.DATA_FLOW.value, edge.source, edge.target) not in found
    )


def _renamed(edge: Edge, statements: dict[str, Node]) -> Edge:
    ends = (statements[each].id if each in statements else each for each in (edge.source, edge.target))
    source, target = ends
    return replace(edge, source=source, target=target)


def _through_statements(edge: Edge) -> Edge:
    return replace(edge, via=_once(map(_of_statement, edge.via))) if edge.via else edge


def _of_statement(part: Node) -> Node:
    """Return the statement of a sub-operation, if it is known; otherwise, and for any other node, the node itself."""
    if part.type != PART or not part.parent:
        return part
    return replace(part, id=part.parent, name=part.title, type=STATEMENT, parent="")


def _once(hops: Iterable[Node]) -> tuple[Node, ...]:
    return tuple({hop.id: hop for hop in hops}.values())
