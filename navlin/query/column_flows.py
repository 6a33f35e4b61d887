"""Column lineage for people: the columns directly before and after a column, the statements between, and the
expressions computed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from navlin.index.graph.entity import PART as PART_FIELDS
from navlin.index.graph.graph import Graph
from navlin.index.graph.remembered import answered
from navlin.index.solr.solr import Solr
from navlin.model.keys import RelationType
from navlin.query.answer import Direction, Edge, Lineage, Node
from navlin.query.data_flows import between_data
from navlin.query.lineage import lineage_of
from navlin.query.options import WalkOptions
from navlin.query.statement_names import PART

Expressions = dict[tuple[str, str, str], tuple[str, ...]]
"""(type, source, target) of an edge → its expressions; () if there are none."""


@dataclass(frozen=True, slots=True)
class ColumnNeighbour:
    """A flow to or from the column. ``other`` is one hop away: a column, or a table or path if the columns are unknown.
    ``expressions`` show how the target is computed from the source, as recorded by the engines. A control flow into the
    column has expressions only if no data flow makes the column (``count(1)``); a control flow from the column has
    none."""

    other: Node
    edge: Edge
    incoming: bool
    expressions: tuple[str, ...]

    @property
    def through(self) -> tuple[Node, ...]:
        """The statements and other hidden entities that the flow passes through."""
        return self.edge.via


def column_flows(solr: Solr, column: str) -> Iterator[ColumnNeighbour]:
    """Yield the flows into and out of the column with this id, including control flow and placeholders, without deleted
    entities. At most `WalkOptions.max_fan_out` relations of a node are read. The first step raises `UnknownEntity`."""
    options = WalkOptions(Direction.BOTH, depth=1, control_flow=True, unlinked=True)
    answer, expressions = lineage_with_expressions(solr, column, options)
    nodes = {node.id: node for node in answer.nodes}
    drawn = {(edge.type, edge.source, edge.target): edge for edge in between_data(answer).edges}
    of_data = made_of_data(drawn.values())
    for key, edge in drawn.items():
        if column in (edge.source, edge.target) and edge.type.endswith("_FLOW"):
            incoming = edge.target == column
            other = nodes[edge.source if incoming else edge.target]
            computed = edge.type == RelationType.DATA_FLOW or (incoming and column not in of_data)
            yield ColumnNeighbour(other, edge, incoming, expressions.get(key, ()) if computed else ())


def made_of_data(edges: Iterable[Edge]) -> set[str]:
    """Return the ids of the targets of data flows. The expressions of other columns are with their control flows."""
    return {edge.target for edge in edges if edge.type == RelationType.DATA_FLOW}


def lineage_with_expressions(solr: Solr, start: str, options: WalkOptions) -> tuple[Lineage, Expressions]:
    """Return the lineage, and the expressions of its edges between columns or sub-operations. Raises
    `UnknownEntity`."""

    def ask(graph: Graph) -> tuple[Lineage, Expressions]:
        answer = lineage_of(graph, start, options)
        return answer, expressions_of(graph, answer)

    return answered(solr, ask)


def expressions_of(graph: Graph, lineage: Lineage) -> Expressions:
    """Return the expressions of each edge. They are those of the last sub-operation that the edge passes through, because
    it makes the target. An expression that only names the source is left out."""
    nodes = {node.id: node for node in lineage.nodes}
    parts: dict[tuple[str, str, str], dict[str, None]] = defaultdict(dict)
    for edge in lineage.edges:
        made_by = [hop.id for hop in edge.via if hop.type == PART]
        parts[edge.type, edge.source, edge.target].update(dict.fromkeys(made_by[-1:]))
    known = graph.entities_of({each for of in parts.values() for each in of}, PART_FIELDS)
    found: Expressions = {}
    for key, of in parts.items():
        texts = dict.fromkeys(known[each].expression for each in of if each in known)
        own = nodes[key[1]].name.rpartition(".")[2].casefold()
        found[key] = tuple(each for each in texts if each and each.rpartition(".")[2].casefold() != own)
    return found
