"""Lineage as a table: a row for each node, and a row for each edge with its statement, expression, engine and
certainty."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from navlin.index.graph.entity import LISTED, StoredEntity
from navlin.index.graph.executions import KnownExecutions, executions_of
from navlin.index.graph.graph import Graph
from navlin.index.schema.fields import solr_date
from navlin.index.solr.solr import Solr
from navlin.query.answer import Edge, Lineage, Node
from navlin.query.column_flows import Expressions, expressions_of
from navlin.query.data_flows import between_data
from navlin.query.options import WalkOptions
from navlin.query.page import sources_by_id
from navlin.query.starts import lineage_named
from navlin.query.statement_names import STATEMENT

TEXT_CHARS: Final = 4_000
"""Maximum length of a statement's text in a row. The page of the statement has the whole text."""
COLUMNS: Final = (
    "kind",
    "type",
    "name",
    "from",
    "to",
    "statement",
    "expression",
    "engine",
    "certainty",
    "owner",
    "tags",
    "database",
    "source",
    "lastRun",
    "deleted",
    "through",
    "statementText",
    "id",
    "fromId",
    "toId",
    "statementId",
)
"""Columns of the CSV output, and keys of a JSON line. ``kind`` is node, edge or truncated; other cells that a kind does
not have are empty, and its JSON lines lack these keys."""
_EDGE_TYPES: Final = {"DATA_FLOW": "data", "CONTROL_FLOW": "control", "LOGICAL_PHYSICAL": "stored at"}
_TABLES: Final = frozenset({"TABLE", "VIEW"})


@dataclass(frozen=True, slots=True)
class _Facts:
    """Fields of the entities of a lineage, the executions of its statements, and the names of sources by id."""

    entities: Mapping[str, StoredEntity]
    runs: Mapping[str, KnownExecutions]
    sources: Mapping[str, str]


def lineage_table(solr: Solr, name: str, options: WalkOptions) -> Iterator[Mapping[str, Any]]:
    """Return the rows of a lineage: nodes, then edges between data, then places where there is more. Columns are always
    included. ``name`` is as for `lineage_named`, which raises the same errors.

    ``certainty`` is recorded, or any of inferred, parsed and incomplete; that of a node may be placeholder. ``lastRun``
    of a node is that of the statements around it. ``through`` has the other hidden entities on the way. A statement's
    text is cut after `TEXT_CHARS`. The ``type`` of a truncated row is the reason.
    """
    # Statements are in the rows of the edges, so they are not nodes.
    walked = lineage_named(solr, name, replace(options, columns=True, operations=False))
    expressions = expressions_of(Graph(solr), walked)
    answer = between_data(walked)
    return _rows(answer, expressions, _facts_of(solr, answer))


def _rows(answer: Lineage, expressions: Expressions, facts: _Facts) -> Iterator[Mapping[str, Any]]:
    nodes = {node.id: node for node in answer.nodes}
    yield from _node_rows(answer, facts)
    for edge in answer.edges:
        yield _edge_row(edge, nodes, expressions.get((edge.type, edge.source, edge.target), ()), facts)
    for cut in answer.truncated_at:
        yield {"kind": "truncated", "type": cut.reason.value, "name": cut.name, "id": cut.id}


def _facts_of(solr: Solr, answer: Lineage) -> _Facts:
    graph = Graph(solr)
    statements = {hop.id for edge in answer.edges for hop in edge.via if hop.type == STATEMENT}
    entities = graph.entities_of({*statements, *(node.id for node in answer.nodes)}, LISTED)
    runs = executions_of(graph, (entities[each] for each in sorted(statements) if each in entities))
    return _Facts(entities, runs, sources_by_id(solr))


def _node_rows(answer: Lineage, facts: _Facts) -> Iterator[Mapping[str, Any]]:
    last_ms: dict[str, int] = defaultdict(int)
    for edge in answer.edges:
        for end in (edge.source, edge.target):
            last_ms[end] = max(last_ms[end], _last_ms(edge, facts))
    for node in answer.nodes:
        entity = facts.entities.get(node.id)
        tags = (*entity.tags, *entity.inherited_tags) if entity else ()
        yield {
            "kind": "node",
            "type": node.type,
            "name": node.title,
            "engine": node.source_type,
            "certainty": "placeholder" if node.placeholder else "recorded",
            "owner": entity.owner if entity else "",
            "tags": list(dict.fromkeys(tags)),
            "database": _database(node),
            "source": facts.sources.get(node.source_id, ""),
            "lastRun": _date(last_ms[node.id]),
            "deleted": node.deleted,
            "id": node.id,
        }


def _edge_row(
    edge: Edge, nodes: Mapping[str, Node], expressions: Iterable[str], facts: _Facts
) -> Mapping[str, Any]:
    statements = [hop for hop in edge.via if hop.type == STATEMENT]
    # The last statement on the way makes the target.
    last = statements[-1] if statements else None
    entity = facts.entities.get(last.id) if last else None
    return {
        "kind": "edge",
        "type": _EDGE_TYPES.get(edge.type, edge.type.lower()),
        "from": nodes[edge.source].title,
        "to": nodes[edge.target].title,
        "statement": last.title if last else "",
        "expression": "\n".join(expressions),
        "engine": (entity.engine or entity.source_type) if entity else "",
        "certainty": _certainty(edge),
        "lastRun": _date(_last_ms(edge, facts)),
        "through": [hop.title for hop in edge.via if hop is not last],
        "statementText": entity.query_text[:TEXT_CHARS] if entity else "",
        "fromId": edge.source,
        "toId": edge.target,
        "statementId": last.id if last else "",
    }


def _certainty(edge: Edge) -> str:
    flags = {"inferred": edge.inferred, "parsed": edge.parsed, "incomplete": edge.incomplete}
    return ", ".join(name for name, flagged in flags.items() if flagged) or "recorded"


def _last_ms(edge: Edge, facts: _Facts) -> int:
    """Start of the last known execution of the statements on an edge, epoch ms; 0 if none is known."""
    return max((facts.runs[hop.id].last_ms for hop in edge.via if hop.id in facts.runs), default=0)


def _date(at_ms: int) -> str | None:
    return solr_date(at_ms) if at_ms else None


def _database(node: Node) -> str:
    """Return the database of a table or of a table's column; "" for other nodes."""
    parts = node.name.split(".")
    if node.type in _TABLES:
        return ".".join(parts[:-1])
    return ".".join(parts[:-2]) if node.type == "FIELD" and not node.name.startswith("/") else ""
