"""Display names of statements and jobs: the name itself plus the outputs, so that five statements of one job can be
told apart. A statement that moves no data is named by the objects it creates or changes, a statement that only reads by
its inputs.

Sub-operations and executions have the display name of their statement.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from navlin.index.graph.entity import CHANGING
from navlin.index.graph.graph import Graph
from navlin.index.graph.neighbours import Wanted
from navlin.model.keys import RelationType
from navlin.query.answer import Edge, Lineage, Node

OWN_CHARS: Final = 80
WRITES_NAMED: Final = 3
WRITES_READ: Final = 100
"""Maximum number of outputs, or of inputs, read per statement."""
_CHANGE: Final = re.compile(r"(CREATE|ALTER|DROP|TRUNCATE)_?([A-Z]\w*)\Z(?<!AS_SELECT)")
PART: Final = "SUB_OPERATION"
STATEMENT: Final = "OPERATION"
EXECUTION: Final = "OPERATION_EXECUTION"
NAMED_BY_STATEMENT: Final = frozenset({PART, STATEMENT, EXECUTION})


def statement_name(own: str, writes: Iterable[str], *, cut: bool = False, between: str = " → ") -> str:
    """Return a display name such as ``nightly revenue → shop.revenue``: a statement's own name, the first outputs, and
    the number of further outputs. ``cut`` is True if the statement has more outputs than given. If the own name is not
    shortened and contains all outputs, only the own name is returned."""
    short = own if len(own) <= OWN_CHARS else f"{own[: OWN_CHARS - 1]}…"
    outputs = sorted(set(writes))
    if short == own and all(_names(own, each) for each in outputs):
        return short
    others = len(outputs) - WRITES_NAMED
    more = f" and {'more than ' if cut else ''}{others} more" if others > 0 else ""
    return f"{short}{between}{', '.join(outputs[:WRITES_NAMED])}{more}"


def _names(text: str, name: str) -> bool:
    """Whether the text contains the name, and not only as a part of a longer name."""
    at = text.find(name)
    while at >= 0:
        before, after = text[:at][-1:], text[at + len(name) :][:1]
        if not any(each.isalnum() or each in "_." for each in (before, after) if each):
            return True
        at = text.find(name, at + 1)
    return False


def statement_names(graph: Graph, own: Mapping[str, str]) -> dict[str, str]:
    """Return statement id → display name. ``own`` maps ids of statements to their own names."""
    if not own:
        return {}
    flows = (RelationType.DATA_FLOW.value,)
    [written] = graph.neighbours([Wanted(list(own), 1, flows, WRITES_READ)])
    names = {
        each: statement_name(own[each], (one.ep2.name for one in relations), cut=each in written.cut)
        for each, relations in written.relations.items()
        if relations
    }
    # A statement that moves no data has no relations to its objects, but its own fields list the objects that it
    # creates, alters or drops.
    changing = graph.entities_of((each for each in own if each not in names), CHANGING)
    for each, entity in changing.items():
        if entity.outputs:
            names[each] = statement_name(own[each], entity.outputs, between=_change(entity.operation_type))
    if reading := [each for each in own if each not in names]:
        [read] = graph.neighbours([Wanted(reading, 2, flows, WRITES_READ)])
        for each in reading:
            ends = (one.ep1.name for one in read.relations.get(each, ()))
            names[each] = statement_name(own[each], ends, cut=each in read.cut, between=" ← ")
    return names


def _change(operation_type: str) -> str:
    """Return the text between a statement's name and the names of the objects it changes: ``: create table `` for
    CREATETABLE."""
    kind = _CHANGE.match(operation_type.upper())
    return f": {kind[1]} {kind[2].strip('_').replace('_', ' ')}".lower() + " " if kind else " → "


def names_of_statements(
    graph: Graph, ends: Mapping[str, str], known: Mapping[str, str] | None = None
) -> dict[str, tuple[str, str]]:
    """Return id → (statement's id, its display name), for each statement, sub-operation and execution whose statement
    is known. ``ends`` maps ids to types, ``known`` maps ids of statements read so far to their own names."""
    parts = graph.entities_of(each for each, kind in ends.items() if kind == PART)
    holders = {each: part.parent_id for each, part in parts.items() if part.parent_id}
    holders |= _run_of(graph, [each for each, kind in ends.items() if kind == EXECUTION])
    holders.update((each, each) for each, kind in ends.items() if kind == STATEMENT)
    own = dict(known or {})
    missing = graph.entities_of(each for each in holders.values() if each not in own)
    own.update((each, entity.name) for each, entity in missing.items())
    names = statement_names(
        graph, {each: own[each] for each in dict.fromkeys(holders.values()) if each in own}
    )
    return {each: (holder, names[holder]) for each, holder in holders.items() if holder in names}


def _run_of(graph: Graph, executions: Sequence[str]) -> dict[str, str]:
    """Return execution id → statement id, for each execution that belongs to exactly one statement."""
    if not executions:
        return {}
    [runs] = graph.neighbours([Wanted(executions, 2, (RelationType.INSTANCE_OF.value,), WRITES_READ)])
    of = {
        each: {one.ep1.id for one in relations if one.ep1.type == STATEMENT}
        for each, relations in runs.relations.items()
    }
    return {each: min(statements) for each, statements in of.items() if len(statements) == 1}


def with_statement_names(graph: Graph, lineage: Lineage) -> Lineage:
    """Return the lineage with display names on the statements that it shows or passes through, and on their
    sub-operations and executions."""
    passed = {hop.id: hop for edge in lineage.edges for hop in edge.via}
    shown = [*lineage.nodes, *passed.values()]
    kinds = {each.id: each.type for each in shown if each.type in NAMED_BY_STATEMENT and not each.placeholder}
    own = {each.id: each.name for each in shown if each.type == STATEMENT and each.name != each.id}
    named = names_of_statements(graph, kinds, own)
    if not named:
        return lineage
    hops = {each: named_hop(hop, named) for each, hop in passed.items() if each in named}
    return replace(
        lineage,
        nodes=tuple(_named_node(each, named) for each in lineage.nodes),
        edges=tuple(_named_edge(edge, hops) for edge in lineage.edges),
        truncated_at=tuple(
            replace(cut, name=named[cut.id][1]) if cut.id in named else cut for cut in lineage.truncated_at
        ),
    )


def _named_edge(edge: Edge, hops: Mapping[str, Node]) -> Edge:
    if not edge.via:
        return edge
    via = tuple([hops.get(hop.id, hop) for hop in edge.via])
    return Edge(edge.source, edge.target, edge.type, via, edge.inferred, edge.incomplete, edge.parsed)


def _named_node(node: Node, named: Mapping[str, tuple[str, str]]) -> Node:
    if node.id not in named:
        return node
    name = named[node.id][1]
    # Executions of one statement are shown next to each other, and their own names distinguish them.
    return node.labelled(f"{name} · {node.name}" if node.type == EXECUTION else name, node.parent)


def named_hop(hop: Node, named: Mapping[str, tuple[str, str]]) -> Node:
    """Return the hop with the display name of its statement; ``named`` is as returned by `names_of_statements`."""
    if hop.id not in named:
        return hop
    statement, label = named[hop.id]
    if hop.type == EXECUTION:
        # An execution needs no parent, because it has its own page.
        return hop.labelled(label, hop.parent)
    return hop.labelled(label, statement if statement != hop.id else "")
