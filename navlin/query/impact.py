"""Impact of dropping or changing a table, column or path: the entities made from it, and the operations that make these
entities, by owner.

One downstream walk finds the impact. Entities that carry the data are wrong without it. Entities that the data only
controls (through a filter or join condition) have different rows without it.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from navlin.index.graph.entity import OWNED, StoredEntity
from navlin.index.graph.executions import KnownExecutions, executions_of
from navlin.index.graph.graph import Graph
from navlin.index.schema.fields import solr_date
from navlin.index.solr.solr import Solr
from navlin.model.keys import RelationType
from navlin.query.answer import CutNode, Direction, Edge, Lineage, Node
from navlin.query.bounds import FOLLOWED, MAX_WALKED, WALK_S
from navlin.query.columns import CONTAINED
from navlin.query.lineage import in_time, lineage_of
from navlin.query.options import MAX_FAN_OUT, WalkOptions
from navlin.query.statement_names import statement_names

COLUMNS: Final = (
    "owner",
    "type",
    "name",
    "carries",
    "inferred",
    "parsed",
    "incomplete",
    "lastExecution",
    "lastPrincipal",
    "executions",
    "executionsSince",
    "truncated",
    "id",
)
"""Columns of the CSV output."""

LISTED: Final = 500
"""Maximum number of affected entities that a page or a terminal shows; the CSV file has all."""
WALKED_A_NODE: Final = 10
"""Maximum number of operations, locations and nodes visited per table or path that may be followed."""
_NOTHING: Final = KnownExecutions()


@dataclass(frozen=True, slots=True)
class Affected:
    """A table, column, path or operation downstream. ``carries``: data of the start is in the entity, or flows through
    it; otherwise only control flow reaches the entity.

    ``executions`` are those of the operation itself or, for other entities, of all operations that make the entity from
    the start.
    """

    node: Node
    owner: str
    carries: bool
    executions: KnownExecutions
    inferred: bool = False
    """Whether every path to the entity passes an inferred location."""
    parsed: bool = False
    """Whether every path to the entity passes a flow that navlin parsed from a text."""
    incomplete: bool = False
    """Whether an operation with unknown inputs or outputs made the entity."""

    def to_json(self) -> dict[str, Any]:
        """JSON keys: id, name, label (the name for people), type, owner, carries (data or decision), inferred, parsed,
        incomplete, lastExecution, lastPrincipal, executions (known ones, and those that a purge removed),
        executionsSince (null if older ones were removed)."""
        known = self.executions
        since = solr_date(known.first_ms) if known.first_ms and not known.purged else None
        return {
            "id": self.node.id,
            "name": self.node.name,
            "label": self.node.title,
            "type": self.node.type,
            "owner": self.owner,
            "carries": "data" if self.carries else "decision",
            "inferred": self.inferred,
            "parsed": self.parsed,
            "incomplete": self.incomplete,
            "lastExecution": solr_date(known.last_ms) if known.last_ms else None,
            "lastPrincipal": known.principal or None,
            "executions": known.count + known.purged,
            "executionsSince": since,
        }


@dataclass(frozen=True, slots=True)
class Impact:
    """Affected entities, sorted by owner; the owner of the most entities comes first."""

    start: Node
    affected: tuple[Affected, ...]
    truncated_at: tuple[CutNode, ...]
    unlinked: int
    """Number of flows met but not followed because one end is unknown."""

    @property
    def owners(self) -> dict[str, list[Affected]]:
        """Owner → affected entities; "" for entities without an owner."""
        owners: dict[str, list[Affected]] = {}
        for each in self.affected:
            owners.setdefault(each.owner, []).append(each)
        return owners

    @property
    def total(self) -> dict[str, int]:
        """Type → number of affected entities, tables first."""
        return dict(Counter(each.node.type for each in sorted(self.affected, key=_rank)))

    def listed(self, most: int) -> Impact:
        """Return a copy with at most ``most`` affected entities: tables, views and paths before statements, statements
        before columns."""
        kept = {each.node.id for each in sorted(self.affected, key=_rank)[:most]}
        return replace(self, affected=tuple(each for each in self.affected if each.node.id in kept))

    @property
    def cut_words(self) -> str:
        """Sentence that says where the walk was truncated; "" if it was not."""
        if not self.truncated_at:
            return ""
        first = self.truncated_at[0]
        others = len({each.id for each in self.truncated_at}) - 1
        where = f"at {first.name}" + (f" and {others:,} more" if others else "")
        return f"Results are truncated {where}: {first.reason.words}."

    def to_json(self) -> dict[str, Any]:
        """start, counts (by type, data and decision), owners (owner, affected), truncated, truncatedAt, unlinked."""
        counts: dict[str, dict[str, int]] = {}
        for each in self.affected:
            of_type = counts.setdefault(each.node.type, {"data": 0, "decision": 0})
            of_type["data" if each.carries else "decision"] += 1
        return {
            "start": self.start.to_json(),
            "counts": dict(sorted(counts.items())),
            "owners": [
                {"owner": owner or None, "affected": [each.to_json() for each in affected]}
                for owner, affected in self.owners.items()
            ],
            "truncated": bool(self.truncated_at),
            "truncatedAt": [cut.to_json() for cut in self.truncated_at],
            "unlinked": self.unlinked,
        }

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield rows for CSV with `COLUMNS`: one per affected entity, and one that says where there is more, if the
        walk was cut."""
        for each in self.affected:
            yield {**each.to_json(), "name": each.node.title}
        for cut in self.truncated_at[:1]:
            yield {"id": cut.id, "name": cut.name, "truncated": self.cut_words}


def impact(solr: Solr, start: str, *, max_nodes: int = FOLLOWED, max_s: float = WALK_S) -> Impact:
    """Return the impact of the entity with the id ``start``, following at most ``max_nodes`` tables and paths for about
    ``max_s`` seconds. Raises `UnknownEntity`."""
    options = impact_options(max_nodes, max_s)
    return in_time(solr, options, lambda graph, left: impact_of(graph, start, left))


def impact_options(max_nodes: int, max_s: float) -> WalkOptions:
    return WalkOptions(
        Direction.DOWNSTREAM,
        columns=True,
        operations=True,
        control_flow=True,
        readers=True,
        max_nodes=max_nodes,
        max_fan_out=max(MAX_FAN_OUT, max_nodes),
        # Operations and locations are walked, too, and do not count towards the maximum of nodes.
        max_walked=max(MAX_WALKED, WALKED_A_NODE * max_nodes),
        max_s=max_s,
    )


def impact_of(graph: Graph, start: str, options: WalkOptions) -> Impact:
    """Return the impact as read from ``graph``. Raises `UnknownEntity`."""
    walked = lineage_of(graph, start, options)
    picture = _ReachedEntities.of(walked)
    shown = [each for each in walked.nodes if each.id in picture.affected]
    boxes = {each.id for each in shown if each.type not in CONTAINED}
    entities = graph.entities_of({*boxes, *picture.operations, *picture.parents}, OWNED)
    jobs = [entities[each] for each in picture.operations if each in entities]
    executions = executions_of(graph, jobs)
    titles = statement_names(graph, {each.id: each.name for each in jobs})
    names = {each.id: replace(Node.of(each), label=titles[each.id]) for each in jobs}
    affected = [
        _affected(each, picture, entities, executions)
        for each in (
            *(each for each in shown if each.type not in CONTAINED or each.type == "FIELD"),
            *(names[each] for each in picture.jobs_of_parts if each in names),
        )
    ]
    return Impact(walked.node(start), _by_owner(affected), walked.truncated_at, walked.unlinked)


@dataclass(frozen=True, slots=True)
class _ReachedEntities:
    """The entities that a walk reached. Entities in ``certain`` are reached by a path without inferred relations,
    entities in ``stated`` by a path without parsed relations."""

    nodes: dict[str, Node]
    data: set[str]
    affected: set[str]
    certain: set[str]
    stated: set[str]
    incomplete: set[str]
    made_by: dict[str, set[str]]
    """Id of an output → ids of the operations that make it."""

    @classmethod
    def of(cls, walked: Lineage) -> _ReachedEntities:
        nodes = {node.id: node for node in walked.nodes}
        # Dropping a path also drops the table stored there, which is the same data.
        same = {
            edge.source
            for edge in walked.edges
            if edge.type == RelationType.LOGICAL_PHYSICAL and edge.target == walked.start
        }
        starts = {walked.start, *same}
        if nodes[walked.start].type == "PARTITION":
            # Readers of the table also read the partition.
            starts |= {nodes[walked.start].parent} & nodes.keys()
        starts |= {each.id for each in walked.nodes if each.type == "FIELD" and each.parent in starts}
        flows = [
            each for each in walked.edges if each.type in (RelationType.DATA_FLOW, RelationType.CONTROL_FLOW)
        ]
        every = _reached(starts, flows)
        data = _reached(starts, (each for each in flows if each.type == RelationType.DATA_FLOW))
        made_by: dict[str, set[str]] = {}
        for edge in flows:
            maker = nodes[edge.source]
            if maker.type == "OPERATION":
                made_by.setdefault(edge.target, set()).add(maker.id)
            elif maker.type == "SUB_OPERATION":
                for made in (edge.target, nodes[edge.target].parent):
                    made_by.setdefault(made, set()).add(maker.parent)
        picture = cls(
            nodes,
            data | same,
            every | same,
            _reached(starts, (each for each in flows if not each.inferred)) | same,
            _reached(starts, (each for each in flows if not each.parsed)) | same,
            {each.target for each in flows if each.incomplete},
            made_by,
        )
        own = starts - same | {nodes[walked.start].parent}
        return picture._with_boxes(own)

    def _with_boxes(self, own: Collection[str]) -> _ReachedEntities:
        """Count the tables and operations of reached columns and sub-operations as reached, except those of the
        start."""
        for reached in (self.data, self.affected, self.certain, self.stated, self.incomplete):
            boxes = {self.nodes[each].parent for each in reached if self.nodes[each].type in CONTAINED}
            reached |= boxes
            reached -= {*own, ""}
        return self

    @property
    def operations(self) -> set[str]:
        """Ids of all operations that are reached, either themselves or through a sub-operation."""
        shown = {
            each for each in self.affected if each in self.nodes and self.nodes[each].type == "OPERATION"
        }
        return shown | self.jobs_of_parts

    @property
    def jobs_of_parts(self) -> set[str]:
        """Ids of operations that are reached through a sub-operation and are not nodes themselves, as in a walk from
        column to column."""
        parts = (self.nodes[each] for each in self.affected if each in self.nodes)
        return {each.parent for each in parts if each.type == "SUB_OPERATION"} - self.nodes.keys()

    @property
    def parents(self) -> set[str]:
        """Ids of the tables of the columns in the walk."""
        return {each.parent for each in self.nodes.values() if each.type == "FIELD" and each.parent}


def _reached(starts: Iterable[str], flows: Iterable[Edge]) -> set[str]:
    onward: dict[str, list[str]] = {}
    for flow in flows:
        onward.setdefault(flow.source, []).append(flow.target)
    seen = set(starts)
    queue = deque(seen)
    while queue:
        for each in onward.get(queue.popleft(), ()):
            if each not in seen:
                seen.add(each)
                queue.append(each)
    return seen


def _affected(
    node: Node,
    picture: _ReachedEntities,
    entities: dict[str, StoredEntity],
    executions: dict[str, KnownExecutions],
) -> Affected:
    makers = (node.id,) if node.type == "OPERATION" else picture.made_by.get(node.id, ())
    known = _together(executions[each] for each in makers if each in executions)
    owned = entities.get(node.parent if node.type == "FIELD" else node.id)
    # Statements and jobs have no owner; the user who ran them last is the person to ask.
    owner = known.principal if node.type == "OPERATION" else owned.owner if owned is not None else ""
    return Affected(
        node,
        owner,
        node.id in picture.data,
        known,
        inferred=node.id not in picture.certain,
        parsed=node.id not in picture.stated,
        incomplete=node.id in picture.incomplete,
    )


def _together(each_known: Iterable[KnownExecutions]) -> KnownExecutions:
    together = _NOTHING
    for known in each_known:
        latest = max(together, known, key=lambda each: each.last_ms)
        together = KnownExecutions(
            together.count + known.count,
            together.purged + known.purged,
            min(filter(None, (together.first_ms, known.first_ms)), default=0),
            latest.last_ms,
            latest.principal,
        )
    return together


def _by_owner(affected: Iterable[Affected]) -> tuple[Affected, ...]:
    owners: dict[str, list[Affected]] = {}
    for each in affected:
        owners.setdefault(each.owner, []).append(each)
    ordered = sorted(owners.items(), key=lambda owned: (not owned[0], -len(owned[1]), owned[0]))
    return tuple(
        each
        for _, owned in ordered
        for each in sorted(owned, key=lambda one: (not one.carries, _rank(one), one.node.type, one.node.name))
    )


def _rank(affected: Affected) -> int:
    """Rank tables and paths before statements, and statements before columns."""
    return {"OPERATION": 1, "FIELD": 2}.get(affected.node.type, 0)
