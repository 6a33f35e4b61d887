"""Origin of a table or column, as one document for readers who must be able to rely on it, such as auditors.

The document contains the whole upstream with statements, executions, times and users; the uncertain points in the
upstream, with the reasons; how up to date the index is; and user edits. Deleted entities and placeholders are included
and marked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Any, Final, NamedTuple

from navlin.index.graph.entity import STATEMENT, WHOLE, StoredEntity
from navlin.index.graph.executions import KnownExecutions, executions_of, latest_executions
from navlin.index.graph.filters import RelationFilter
from navlin.index.graph.graph import Graph
from navlin.index.graph.unlinked import UNKNOWN_REASON, why_unlinked
from navlin.index.journal.freshness import SourceFreshness, freshness_of_sources
from navlin.index.journal.purges import purged_before_ms
from navlin.index.journal.rejects import rejected
from navlin.index.schema.fields import solr_date
from navlin.index.solr.solr import Solr
from navlin.model.keys import RelationType
from navlin.model.plurals import counted
from navlin.query.answer import Direction, Edge, Lineage, Node
from navlin.query.bounds import MAX_NODES, WALK_S
from navlin.query.data_flows import STATEMENTS, between_data
from navlin.query.edits import History, history
from navlin.query.lineage import UnknownEntity, in_time, lineage_of
from navlin.query.options import WalkOptions
from navlin.query.show import group_fields
from navlin.query.statement_names import statement_names

LISTED: Final = 10
"""Maximum number of executions listed per operation; the document also has their count."""
MOST_EDITS: Final = 1_000
"""Maximum number of edits listed; the document also has their count."""
_FLOWS: Final = (RelationType.DATA_FLOW, RelationType.CONTROL_FLOW)
_UNLINKED_INPUTS: Final = RelationFilter(_FLOWS, unlinked=True, deleted=False)
REASONS_LOOKED_UP: Final = 100
"""Maximum number of missing ends whose reason is looked up."""


class UncertaintyKind(StrEnum):
    """Kind of uncertainty in the upstream."""

    INFERRED = "inferred"
    """A path was assumed to belong to a table because it is inside the table's location."""
    PARSED = "parsed"
    """navlin parsed a flow from SQL; no engine reported it."""
    INCOMPLETE = "incomplete"
    """Some inputs or outputs of an operation, or of a view, are unknown."""
    UNLINKED = "unlinked"
    """An entity is referenced, but the index does not contain it."""
    UNREAD = "unread"
    """An entity is located where no configured source reads, so it is known only from references."""
    TRUNCATED = "truncated"
    """There is more than the document shows."""
    REJECTED = "rejected"
    """Records of a source in the upstream could not be parsed; if no statement is known, records of any source."""


@dataclass(frozen=True, slots=True)
class UncertainPoint:
    """An uncertain point in the upstream. ``what`` is the name of the entity, edge or source, ``why`` the reason in
    words."""

    kind: UncertaintyKind
    what: str
    why: str
    id: str
    """Id of the entity, or of an edge's target; empty for a source."""

    def to_json(self) -> dict[str, Any]:
        """JSON keys: kind, what, why, id (of the entity, or of an edge's target; empty for a source)."""
        return {"kind": self.kind.value, "what": self.what, "why": self.why, "id": self.id}


@dataclass(frozen=True, slots=True)
class UpstreamStatement:
    """An operation or view in the upstream: the text, the inputs and outputs in the upstream, and the executions."""

    entity: StoredEntity
    title: str
    """Display name."""
    reads: tuple[Node, ...]
    makes: tuple[Node, ...]
    executions: KnownExecutions
    listed: tuple[StoredEntity, ...]

    def to_json(self) -> dict[str, Any]:
        """JSON keys: id, name, label (the name for people), type, sourceType, text, incomplete, reasons, reads and
        makes (names), executions (count, purged, since, last, lastPrincipal, listed)."""
        known = self.executions
        return {
            "id": self.entity.id,
            "name": self.entity.name,
            "label": self.title,
            "type": self.entity.type,
            "sourceType": self.entity.source_type,
            "text": self.entity.text or self.entity.own_name,
            "incomplete": self.entity.incomplete,
            "reasons": list(_reasons(self.entity)),
            "reads": [each.name for each in self.reads],
            "makes": [each.name for each in self.makes],
            "executions": {
                "count": known.count,
                "purged": known.purged,
                "since": solr_date(known.first_ms) if known.first_ms else None,
                "last": solr_date(known.last_ms) if known.last_ms else None,
                "lastPrincipal": known.principal or None,
                "listed": [dict(execution.as_indexed) for execution in self.listed],
            },
        }


@dataclass(frozen=True, slots=True)
class Evidence:
    """Evidence of an entity's origin. ``people`` are the current user-written fields, ``edits`` the changes to these
    fields. Purges have removed executions up to ``purged_before_ms`` (epoch ms; 0: never)."""

    made_ms: int
    entity: StoredEntity
    people: Mapping[str, Any]
    edits: History
    upstream: Lineage
    statements: tuple[UpstreamStatement, ...]
    uncertainties: tuple[UncertainPoint, ...]
    freshness: tuple[SourceFreshness, ...]
    purged_before_ms: int

    @property
    def flows(self) -> Lineage:
        """The upstream as flows from data to data, which pass through statements."""
        return between_data(self.upstream, STATEMENTS)

    def to_json(self) -> dict[str, Any]:
        """made, entity, people (fields, edits: the newest, editCount), upstream (as lineage), statements, doubts, index
        (sources, purgedBefore)."""
        fields = group_fields(self.entity.as_presented)
        return {
            "made": solr_date(self.made_ms),
            "entity": {
                "id": self.entity.id,
                "name": self.entity.name,
                "type": self.entity.type,
                "sourceType": self.entity.source_type,
                "deleted": self.entity.deleted,
                "fields": {**fields.extractor, **fields.technical},
            },
            "people": {
                "fields": dict(self.people),
                "edits": [each.to_json() for each in self.edits.edits],
                "editCount": self.edits.total,
            },
            "upstream": self.upstream.to_json(),
            "statements": [each.to_json() for each in self.statements],
            "doubts": [each.to_json() for each in self.uncertainties],
            "index": {
                "sources": [each.to_json() for each in self.freshness],
                "purgedBefore": solr_date(self.purged_before_ms) if self.purged_before_ms else None,
            },
        }


def evidence(
    solr: Solr, start: str, now_ms: int, *, max_nodes: int = MAX_NODES, max_s: float = WALK_S
) -> Evidence:
    """Build the document for the entity with the id ``start``, as of ``now_ms``, from a walk of about ``max_s`` seconds
    at most. Raises `UnknownEntity`."""
    entity = Graph(solr).entities_of([start], WHOLE).get(start)
    if entity is None:
        raise UnknownEntity(f"nothing in the index has the id {start}")
    options = evidence_options(max_nodes, max_s)
    of = in_time(solr, options, lambda graph, left: upstream_evidence(graph, start, left))
    read = freshness_of_sources(solr)
    return Evidence(
        now_ms,
        entity,
        group_fields(entity.as_presented).people,
        history(solr, start, limit=MOST_EDITS),
        of.upstream,
        of.statements,
        (*of.uncertainties, *_rejected(solr, of.upstream, of.statements, read)),
        read,
        purged_before_ms(solr),
    )


def evidence_options(max_nodes: int, max_s: float) -> WalkOptions:
    return WalkOptions(
        Direction.UPSTREAM,
        columns=True,
        operations=True,
        deleted=True,
        control_flow=True,
        unlinked=True,
        max_nodes=max_nodes,
        max_s=max_s,
    )


class UpstreamEvidence(NamedTuple):
    """The part of an `Evidence` that the graph has. ``uncertainties`` are without those of rejected records."""

    upstream: Lineage
    statements: tuple[UpstreamStatement, ...]
    uncertainties: tuple[UncertainPoint, ...]


def upstream_evidence(graph: Graph, start: str, options: WalkOptions) -> UpstreamEvidence:
    """Return the evidence as read from ``graph``. Raises `UnknownEntity`."""
    upstream = lineage_of(graph, start, options)
    statements = tuple(_statements(graph, upstream))
    return UpstreamEvidence(upstream, statements, tuple(_uncertainties(graph, upstream, statements)))


# -- Statements ----------------------------------------------------------------------------------------------------------


def _statements(graph: Graph, upstream: Lineage) -> Iterator[UpstreamStatement]:
    """Yield the statements in the upstream, nearest first."""
    wanted: dict[str, None] = {}
    for node in upstream.nodes:
        if node.type in ("OPERATION", "VIEW"):
            wanted[node.id] = None
        elif node.type == "SUB_OPERATION" and node.parent:
            wanted[node.parent] = None
    # Texts are too large for a memory.
    known = Graph(graph.solr).entities_of(wanted, STATEMENT)
    operations = [each for each in wanted if each in known and known[each].type == "OPERATION"]
    executions = executions_of(graph, map(known.__getitem__, operations))
    listed = latest_executions(graph, operations, LISTED)
    names = statement_names(graph, {each: known[each].name for each in operations})
    reads, makes = _ends(upstream)
    for each in wanted:
        if each in known and (known[each].type == "OPERATION" or known[each].text):
            view = known[each].type != "OPERATION"
            yield UpstreamStatement(
                known[each],
                names.get(each, known[each].name),
                tuple(reads.get(each, {}).values()),
                (Node.of(known[each]),) if view else tuple(makes.get(each, {}).values()),
                executions.get(each, KnownExecutions()),
                tuple(listed.get(each, ())),
            )


def _ends(upstream: Lineage) -> tuple[dict[str, dict[str, Node]], dict[str, dict[str, Node]]]:
    """Return operation id → inputs, and operation id → outputs, for the operations in the upstream; inputs and outputs
    are by id. Sub-operations count as their operation."""
    nodes = {node.id: node for node in upstream.nodes}
    reads: dict[str, dict[str, Node]] = {}
    makes: dict[str, dict[str, Node]] = {}
    for edge in (each for each in upstream.edges if each.type in _FLOWS):
        source, target = nodes[edge.source], nodes[edge.target]
        for near, far, ends in ((target, source, reads), (source, target, makes)):
            statement = near.parent if near.type == "SUB_OPERATION" else near.id
            ends.setdefault(statement, {})[far.id] = far
    return reads, makes


# -- Doubts --------------------------------------------------------------------------------------------------------------

_WHY: Final = {
    UncertaintyKind.INFERRED: "a path was attributed to a table, because it lies in the table's location",
    UncertaintyKind.PARSED: "navlin parsed it from an SQL text; no engine reported it",
    UncertaintyKind.INCOMPLETE: "not all inputs or outputs of the operation that made it are known",
}


def _uncertainties(
    graph: Graph, upstream: Lineage, statements: Sequence[UpstreamStatement]
) -> Iterator[UncertainPoint]:
    flows = between_data(upstream, STATEMENTS)
    names = {node.id: node.title for node in flows.nodes}
    for kind in _WHY:
        for edge in flows.edges:
            if _is(edge, kind):
                yield UncertainPoint(
                    kind, f"{names[edge.source]} → {names[edge.target]}", _WHY[kind], edge.target
                )
    for statement in statements:
        for reason in _reasons(statement.entity):
            yield UncertainPoint(UncertaintyKind.INCOMPLETE, statement.title, reason, statement.entity.id)
    placeholders = [node for node in upstream.nodes if node.placeholder]
    why = why_unlinked(graph, [node.id for node in islice(placeholders, REASONS_LOOKED_UP)])
    for node in placeholders:
        reason = _unlinked(*why[node.id]) if node.id in why else "not found in the index"
        yield UncertainPoint(UncertaintyKind.UNLINKED, node.name, reason, node.id)
    yield from _unlinked_beside(graph, upstream, statements)
    for node in upstream.nodes:
        if node.granted:
            yield UncertainPoint(
                UncertaintyKind.UNREAD,
                node.name,
                "its location is not covered by any configured source",
                node.id,
            )
    for cut in upstream.truncated_at:
        yield UncertainPoint(UncertaintyKind.TRUNCATED, cut.name, cut.reason.words, cut.id)


def _unlinked_beside(
    graph: Graph, upstream: Lineage, statements: Sequence[UpstreamStatement]
) -> Iterator[UncertainPoint]:
    """Yield the missing inputs that statements in the upstream of a column read for other columns. The upstream of a
    table has all inputs, unless the walk was cut, which is a separate uncertainty."""
    if upstream.node(upstream.start).type != "FIELD":
        return
    titles = {each.entity.id: each.title for each in statements}
    seen = {node.id for node in upstream.nodes}
    # The table of a missing column is known only from the column's name.
    tables = {node.name.rpartition(".")[0].casefold() for node in upstream.nodes if node.placeholder}
    unlinked = graph.relations(_UNLINKED_INPUTS, of=titles, sides=(2,))
    for relation in islice(unlinked, REASONS_LOOKED_UP):
        read = relation.ep1
        if read.id not in seen and read.name.casefold() not in tables:
            seen.add(read.id)
            because = _unlinked(relation.unlinked_reason, relation.unlinked_since)
            why = f"{titles[relation.ep2.id]} reads it for other columns; {because}"
            yield UncertainPoint(UncertaintyKind.UNLINKED, read.name, why, read.id)


def _rejected(
    solr: Solr, upstream: Lineage, statements: Sequence[UpstreamStatement], read: Sequence[SourceFreshness]
) -> Iterator[UncertainPoint]:
    """Yield an uncertainty per source with rejected records, because a rejected record may belong to a statement that wrote
    data in the upstream. Sources outside the upstream count only if no statement is known."""
    on_path = {node.source_id for node in upstream.nodes} | {each.entity.source_id for each in statements}
    for each in read:
        if each.rejects and (not statements or each.source.id in on_path):
            first, _ = rejected(solr, 1, source_id=each.source.id)
            newest = f", the newest in {first[0].where}: {first[0].reason}" if first else ""
            yield UncertainPoint(
                UncertaintyKind.REJECTED,
                each.source.name,
                f"{counted(each.rejects, 'record')} could not be read{newest}",
                "",
            )


def _is(edge: Edge, kind: UncertaintyKind) -> bool:
    return {
        UncertaintyKind.INFERRED: edge.inferred,
        UncertaintyKind.PARSED: edge.parsed,
        UncertaintyKind.INCOMPLETE: edge.incomplete,
    }[kind]


def _reasons(entity: StoredEntity) -> Iterable[str]:
    if entity.incomplete and not entity.incomplete_reasons:
        yield "it is incomplete, and no reason was given"
    yield from entity.incomplete_reasons
    if entity.unparsed_reason:
        yield entity.unparsed_reason


def _unlinked(reason: str, at: str) -> str:
    since = f", since {at[:10]} {at[11:19]} UTC" if at else ""
    return f"{reason or UNKNOWN_REASON}{since}"
