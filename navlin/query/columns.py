"""Columns inside a diagram of tables.

The columns come from the operations that the diagram of the tables passes through. An edge between columns is shown
only inside an edge between their tables, so the two levels cannot disagree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from navlin.index.graph.entity import TABLE_TYPES, StoredEntity
from navlin.index.graph.filters import EntityFilter
from navlin.index.graph.graph import entity_of
from navlin.model.keys import RelationType
from navlin.query.answer import CutNode, CutReason, Direction, Edge, Lineage
from navlin.query.column_locations import one_column, pairs_of
from navlin.query.contract import Walked, contract
from navlin.query.options import PASSED_TYPES, WalkOptions
from navlin.query.reading import WalkReader
from navlin.query.whole_tables import PARTS

MAX_PARTS: Final = 20_000
"""Maximum number of sub-operations read."""
COLUMNS_A_NODE: Final = 10
"""Maximum number of columns shown, as a multiple of the maximum number of nodes."""
CONTAINED: Final = frozenset({"FIELD", "SUB_OPERATION"})
"""Types that are shown inside another node."""

_COLUMNS: Final = EntityFilter(("FIELD",))


def with_columns(reader: WalkReader, walked: Walked, lineage: Lineage) -> Lineage:
    """Add the columns that flow into one another along the edges of ``lineage``, and the edges between the columns."""
    options = reader.options
    (parts, more), (made, more_made) = reader.all_children(
        [(_operations(walked), PARTS), (_made_directly(walked), _COLUMNS)], MAX_PARTS
    )
    inner = _column_graph(reader, parts, made, lineage)
    _join_columns(reader, inner, walked)
    node_ids = {node.id for node in lineage.nodes}
    shown = {each for each, entity in inner.entities.items() if _shown(entity, node_ids, options)}
    # Columns of tables that could not be shown for lack of room. Nothing beyond these columns is shown either.
    stops = {
        each
        for each, entity in inner.entities.items()
        if entity.type == "FIELD"
        and each not in shown
        and each not in inner.located
        and not _hidden(entity, walked, options)
    }
    parents = {each: entity.parent_id for each, entity in inner.entities.items()}
    frame = {(edge.source, edge.target) for edge in lineage.edges}
    edges = [
        edge
        for way in contract(inner, sorted(shown), sorted(stops))
        if way.source in shown and way.target in shown
        for edge in [way.edge(inner)]
        for outer in fold_edges([edge], parents)
        if (outer.source, outer.target) in frame
    ]
    kept, cut = _within(edges, options.max_nodes * COLUMNS_A_NODE)
    nodes = [inner.node(each) for each in kept]
    cuts = list(lineage.truncated_at)
    if cut or more or more_made:
        start = lineage.node(lineage.start)
        cuts.append(CutNode(start.id, start.name, Direction.BOTH, CutReason.COLUMNS))
    inside = tuple(edge for edge in edges if edge.source in kept and edge.target in kept)
    return replace(
        lineage, nodes=(*lineage.nodes, *nodes), edges=(*lineage.edges, *inside), truncated_at=tuple(cuts)
    )


def with_tables(reader: WalkReader, lineage: Lineage) -> Lineage:
    """Add the tables that contain the columns of a walk that began at a column."""
    node_ids = {node.id for node in lineage.nodes}
    wanted = [node.parent for node in lineage.nodes if node.type == "FIELD" and node.parent not in node_ids]
    tables = Walked(entities=reader.entities(filter(None, wanted)))
    return replace(lineage, nodes=(*lineage.nodes, *map(tables.node, tables.entities)))


def _operations(walked: Walked) -> list[str]:
    ends = (end for flow in walked.flows.values() for end in (flow.ep1, flow.ep2))
    return list(dict.fromkeys(end.id for end in ends if end.type == "OPERATION"))


def _made_directly(walked: Walked) -> list[str]:
    """Return the ids of the tables that data flows into without an operation: views whose texts the linker parsed."""
    direct = (
        flow for flow in walked.flows.values() if PASSED_TYPES.isdisjoint((flow.ep1.type, flow.ep2.type))
    )
    return list(dict.fromkeys(flow.ep2.id for flow in direct if flow.ep2.type in TABLE_TYPES))


def _column_graph(
    reader: WalkReader, parts: list[StoredEntity], made: list[StoredEntity], lineage: Lineage
) -> Walked:
    """Return the graph of columns, sub-operations and the flows between them, including the columns ``made`` without an
    operation."""
    inner = Walked(entities={part.id: part for part in parts})
    part_ids, made_ids = list(inner.entities), [column.id for column in made]
    flows = reader.all_flows({Direction.DOWNSTREAM: part_ids, Direction.UPSTREAM: [*part_ids, *made_ids]})
    # Leave out flows made by operations outside the diagram.
    flows = [each for each in flows if each.ep1.type != "SUB_OPERATION" or each.ep1.id in inner.entities]
    ends = {end.id: end for each in flows for end in (each.ep1, each.ep2) if end.id not in inner.entities}
    known = reader.entities(ends)
    named = {node.name.casefold(): node.id for node in lineage.nodes}
    for each, end in ends.items():
        if each in known:
            inner.entities[each] = known[each]
        elif reader.options.unlinked:
            table = named.get(end.name.rpartition(".")[0].casefold(), "")
            inner.entities[each] = replace(entity_of(end), parent_id=table)
            inner.placeholders.add(each)
    for flow in flows:
        if flow.ep1.id in inner.entities and flow.ep2.id in inner.entities:
            inner.add_flow(flow)
    return inner


def _join_columns(reader: WalkReader, inner: Walked, outer: Walked) -> None:
    """Join columns of paths with the same columns of the tables stored there."""
    columns = [each for each in inner.entities.values() if each.physical]
    pairs = list(pairs_of(columns, outer))
    inner.entities.update(reader.entities(each for each, _, _ in pairs if each not in inner.entities))
    for table_column, path_column, relation in pairs:
        if table_column in inner.entities:
            ends = inner.entities[table_column], inner.entities[path_column]
            inner.add_alias(one_column(*ends, relation))
            if relation.ep2.id in outer.located:
                inner.located.add(path_column)


def _shown(entity: StoredEntity, node_ids: set[str], options: WalkOptions) -> bool:
    if entity.parent_id not in node_ids or (entity.deleted and not options.deleted):
        return False
    return entity.type != "SUB_OPERATION" or options.operations


def _hidden(column: StoredEntity, outer: Walked, options: WalkOptions) -> bool:
    """Whether a column is hidden because it or its table is deleted. The walk passes through hidden columns."""
    table = outer.entities.get(column.parent_id)
    return not options.deleted and (column.deleted or (table is not None and table.deleted))


def _within(edges: list[Edge], limit: int) -> tuple[dict[str, None], bool]:
    """Return the first ``limit`` ends of edges, and whether there are more."""
    ends = dict.fromkeys(end for edge in edges for end in (edge.source, edge.target))
    return dict.fromkeys(list(ends)[:limit]), len(ends) > limit


# -- Folding of columns into tables, in one place only, so that both levels of a diagram agree -------------------------


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
