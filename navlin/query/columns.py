"""The columns inside a picture of tables.

They are those of the very operations that the tables' picture passes through, and an edge between columns is drawn only
inside an edge between their tables: the two levels cannot disagree.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from navlin.query.answer import Cut, Direction, Edge, Lineage, Reason
from navlin.query.column_locations import one_column, pairs_of
from navlin.query.contract import Graph, contract, node_of
from navlin.query.fold import fold_edges
from navlin.query.hops import Arc, Hops, Thing
from navlin.query.knowledge import OPERATION_TYPES
from navlin.query.locations import TABLE_TYPES
from navlin.query.options import Options

MAX_PARTS: Final = 20_000
"""How many parts of operations are looked at."""
COLUMNS_A_NODE: Final = 10
"""How many columns may be drawn, for each node that may be."""


def with_columns(hops: Hops, graph: Graph, lineage: Lineage, options: Options) -> Lineage:
    """Adds the columns that flow into one another along the edges of ``lineage``, and their edges."""
    operations = _operations(graph)
    parts, more = hops.children(operations, "SUB_OPERATION", MAX_PARTS)
    made, more_made = hops.children(_made_directly(graph), "FIELD", MAX_PARTS, deleted=True)
    more = more or more_made
    inner = _column_graph(hops, parts, made, lineage, options)
    _join_columns(hops, inner, graph)
    drawn = {node.id for node in lineage.nodes}
    shown = {each for each, thing in inner.things.items() if _shown(thing, drawn, options)}
    # A column of a table that would be drawn, were there room: nothing is drawn past it either.
    stops = {
        each
        for each, thing in inner.things.items()
        if thing.type == "FIELD"
        and each not in shown
        and each not in inner.located
        and not _hidden(thing, graph, options)
    }
    parents = {each: thing.parent for each, thing in inner.things.items()}
    frame = {(edge.source, edge.target) for edge in lineage.edges}
    edges = [
        edge
        for edge in contract(inner, sorted(shown), sorted(stops))
        if edge.source in shown and edge.target in shown
        for outer in fold_edges([edge], parents)
        if (outer.source, outer.target) in frame
    ]
    kept, cut = _within(edges, options.max_nodes * COLUMNS_A_NODE)
    nodes = [node_of(inner.things[each]) for each in kept]
    cuts = list(lineage.truncated_at)
    if cut or more:
        start = lineage.node(lineage.start)
        cuts.append(Cut(start.id, start.name, Direction.BOTH, Reason.COLUMNS))
    inside = tuple(edge for edge in edges if edge.source in kept and edge.target in kept)
    return replace(
        lineage, nodes=(*lineage.nodes, *nodes), edges=(*lineage.edges, *inside), truncated_at=tuple(cuts)
    )


def with_tables(hops: Hops, lineage: Lineage) -> Lineage:
    """Adds the tables that contain the columns of a walk that began at a column."""
    drawn = {node.id for node in lineage.nodes}
    wanted = [node.parent for node in lineage.nodes if node.type == "FIELD" and node.parent not in drawn]
    tables = hops.entities(filter(None, wanted))
    return replace(lineage, nodes=(*lineage.nodes, *(node_of(thing) for thing in tables.values())))


def _operations(graph: Graph) -> list[str]:
    ends = (end for arc in graph.flows.values() for end in (arc.ep1, arc.ep2))
    return list(dict.fromkeys(end.id for end in ends if end.type == "OPERATION"))


def _made_directly(graph: Graph) -> list[str]:
    """What data flows into without an operation: views that the linker knows from their texts."""
    direct = (arc for arc in graph.flows.values() if OPERATION_TYPES.isdisjoint((arc.ep1.type, arc.ep2.type)))
    return list(dict.fromkeys(arc.ep2.id for arc in direct if arc.ep2.type in TABLE_TYPES))


def _column_graph(
    hops: Hops, parts: list[Thing], made: list[Thing], lineage: Lineage, options: Options
) -> Graph:
    """Columns and parts of operations, and the flows between them; columns that are ``made`` without an operation too."""
    inner = Graph({part.id: part for part in parts})
    arcs: list[Arc] = []
    for side, ids in ((1, list(inner.things)), (2, [*inner.things, *(column.id for column in made)])):
        found = hops.relations(ids, side, options.flow_types, options.max_fan_out).arcs
        arcs.extend(arc for each in found.values() for arc in each if options.unlinked or not arc.unlinked)
    # What operations outside of the picture make is not in it.
    arcs = [arc for arc in arcs if arc.ep1.type != "SUB_OPERATION" or arc.ep1.id in inner.things]
    ends = {end.id: end for arc in arcs for end in (arc.ep1, arc.ep2) if end.id not in inner.things}
    known = hops.entities(ends)
    named = {node.name.casefold(): node.id for node in lineage.nodes}
    for each, end in ends.items():
        if each in known:
            inner.things[each] = known[each]
        elif options.unlinked:
            table = named.get(end.name.rpartition(".")[0].casefold(), "")
            inner.things[each] = replace(end, placeholder=True, parent=table)
    for arc in arcs:
        if arc.ep1.id in inner.things and arc.ep2.id in inner.things:
            inner.add_flow(arc)
    return inner


def _join_columns(hops: Hops, inner: Graph, outer: Graph) -> None:
    """Columns of paths that are columns of the tables which lie there."""
    columns = [each for each in inner.things.values() if each.physical]
    pairs = list(pairs_of(columns, outer))
    inner.things.update(hops.entities(each for each, _, _ in pairs if each not in inner.things))
    for table_column, path_column, arc in pairs:
        if table_column in inner.things:
            inner.add_alias(one_column(inner.things[table_column], inner.things[path_column], arc))
            if arc.ep2.id in outer.located:
                inner.located.add(path_column)


def _shown(thing: Thing, drawn: set[str], options: Options) -> bool:
    if thing.parent not in drawn or (thing.deleted and not options.deleted):
        return False
    return thing.type != "SUB_OPERATION" or options.operations


def _hidden(column: Thing, outer: Graph, options: Options) -> bool:
    """Whether a column is not drawn because it, or its table, is deleted: then the walk passes through."""
    table = outer.things.get(column.parent)
    return not options.deleted and (column.deleted or (table is not None and table.deleted))


def _within(edges: list[Edge], limit: int) -> tuple[set[str], bool]:
    """The first ``limit`` ends of edges, and whether there are more."""
    ends = dict.fromkeys(end for edge in edges for end in (edge.source, edge.target))
    return set(list(ends)[:limit]), len(ends) > limit
