"""Details of one entity: fields, relations, executions, inherited tags, and the flows of a column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from navlin.index.graph.entity import EXECUTION_LISTED, LAST_RUN, WHOLE, StoredEntity
from navlin.index.graph.filters import EntityFilter, RelationFilter
from navlin.index.graph.graph import Graph
from navlin.index.graph.relation import End, Side, StoredRelation
from navlin.index.schema.fields import Owner, owner_of, solr_date
from navlin.index.solr.solr import Solr
from navlin.model.keys import RelationType
from navlin.query.column_flows import ColumnNeighbour, column_flows
from navlin.query.inherited import Inherited, inherited_by
from navlin.query.lineage import UnknownEntity
from navlin.query.statement_names import NAMED_BY_STATEMENT, PART, STATEMENT, names_of_statements

LISTED: Final = 10
"""Maximum number of relations of one kind, and of executions, listed in addition to their number."""
WRITERS_LOOKED_AT: Final = 1_000

_WRITTEN_TYPES: Final = frozenset({"TABLE", "VIEW", "FILE", "DIRECTORY", "S3BUCKET", "DATASET"})
_LIVE: Final = RelationFilter(deleted=False)
_DELETED: Final = RelationFilter(deleted=True)
_RUNS: Final = RelationFilter((RelationType.INSTANCE_OF,), deleted=False)
_WRITES: Final = RelationFilter((RelationType.DATA_FLOW,), deleted=False, ep1_types=("OPERATION",))


@dataclass(frozen=True, slots=True)
class FieldGroups:
    """Fields of a document by owner: the extractor that read the document, people, the linker, and navlin's own stamps.
    ``technical`` are the extractor's properties that the model does not name (``tp_``)."""

    extractor: Mapping[str, Any]
    technical: Mapping[str, Any]
    people: Mapping[str, Any]
    linker: Mapping[str, Any]
    navlin: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Related:
    """A relation and its other end."""

    relation: StoredRelation
    end: End
    title: str = ""
    """Display name of the end."""

    def to_json(self) -> dict[str, Any]:
        """JSON keys: id, name, label (the name for people), type, deleted, unlinked, reason, since."""
        return {
            "id": self.end.id,
            "name": self.end.name,
            "label": self.title,
            "type": self.end.type,
            "deleted": self.relation.deleted,
            "unlinked": self.relation.unlinked,
            "reason": self.relation.unlinked_reason or None,
            "since": self.relation.unlinked_since or None,
        }


@dataclass(frozen=True, slots=True)
class RelationGroup:
    """The relations of one type at one side of an entity. ``incoming`` is True if the entity is the second end."""

    type: str
    incoming: bool
    count: int
    """Number of live relations."""
    deleted: int
    listed: tuple[Related, ...]

    @property
    def of_parts(self) -> bool:
        """Whether the group leads to sub-operations; people are shown the flows through these instead."""
        return any(each.end.type == PART for each in self.listed)

    def to_json(self) -> dict[str, Any]:
        """JSON keys: type, direction (in or out), count, deleted, listed."""
        return {
            "type": self.type,
            "direction": "in" if self.incoming else "out",
            "count": self.count,
            "deleted": self.deleted,
            "listed": [related.to_json() for related in self.listed],
        }


@dataclass(frozen=True, slots=True)
class Executions:
    """Executions of an operation, or of the operations that write a table or path. ``last`` and ``last_principal``
    include executions that a purge has removed. A listed execution may lack ``started``."""

    count: int
    operations: int
    last: str
    last_principal: str
    listed: tuple[StoredEntity, ...]
    statements: Mapping[str, str] = field(default_factory=dict)
    """Id of a listed execution → id of its statement or, in `ShownEntity`, the statement's display name."""

    def title(self, run: StoredEntity) -> str:
        """Return the display name of a listed execution, which is its statement's name."""
        return self.statements.get(run.id, run.own_name or run.id)

    def to_json(self) -> dict[str, Any]:
        """JSON keys: count, operations, last, lastPrincipal, listed (documents of executions, each with label, the name
        for people)."""
        return {
            "count": self.count,
            "operations": self.operations,
            "last": self.last or None,
            "lastPrincipal": self.last_principal or None,
            "listed": [{**run.as_indexed, "label": self.title(run)} for run in self.listed],
        }


@dataclass(frozen=True, slots=True)
class ShownEntity:
    """One entity: its fields, relations, executions, and unlinked relations."""

    entity: StoredEntity
    title: str
    """Display name."""
    fields: FieldGroups
    relations: tuple[RelationGroup, ...]
    executions: Executions
    unlinked_count: int
    unlinked: tuple[Related, ...]
    """The first unlinked relations."""
    inherited: tuple[Inherited, ...] = ()
    """Tags that the entity inherits, with the paths."""
    flows: tuple[ColumnNeighbour, ...] = ()
    """For a column, the flows into and out of it."""

    @property
    def relations_for_people(self) -> tuple[RelationGroup, ...]:
        """Groups that lead neither to sub-operations nor to an operation's executions, which have a list of their own."""
        return tuple(
            group for group in self.relations if not (group.of_parts or self._listed_as_executions(group))
        )

    def _listed_as_executions(self, group: RelationGroup) -> bool:
        return group.type == RelationType.INSTANCE_OF and not group.incoming and self.executions.count > 0

    def to_json(self) -> dict[str, Any]:
        """id, name, label (the name for people), type, sourceType, deleted, fields by owner, inherited (as in
        `Inherited`), relations, executions, unlinked."""
        groups = self.fields
        return {
            "id": self.entity.id,
            "name": self.entity.name,
            "label": self.title,
            "type": self.entity.type,
            "sourceType": self.entity.source_type,
            "deleted": self.entity.deleted,
            "fields": {
                "extractor": dict(groups.extractor),
                "technical": dict(groups.technical),
                "people": dict(groups.people),
                "linker": dict(groups.linker),
                "navlin": dict(groups.navlin),
            },
            "inherited": [each.to_json() for each in self.inherited],
            "relations": [group.to_json() for group in self.relations],
            "executions": self.executions.to_json(),
            "unlinked": {
                "count": self.unlinked_count,
                "listed": [{"relation": each.relation.type, **each.to_json()} for each in self.unlinked],
            },
        }


def show(solr: Solr, entity: str) -> ShownEntity:
    """Return the details of the entity with the id ``entity``. Raises `UnknownEntity`."""
    graph = Graph(solr)
    shown = graph.entities_of([entity], WHOLE).get(entity)
    if shown is None:
        raise UnknownEntity(f"nothing in the index has the id {entity}")
    unlinked, count = graph.unlinked_relations(entity, LISTED)
    waiting = [Related(each, each.ep2 if entity == each.ep1.id else each.ep1) for each in unlinked]
    groups = tuple(_relations(graph, entity))
    executions = _executions(graph, shown)
    related = [*(each for group in groups for each in group.listed), *waiting]
    ends = {each.end.id: each.end.type for each in related}
    ends |= dict.fromkeys(executions.statements.values(), STATEMENT)
    statements = {
        each: kind for each, kind in {**ends, entity: shown.type}.items() if kind in NAMED_BY_STATEMENT
    }
    names = {each: name for each, (_, name) in names_of_statements(graph, statements).items()}
    return ShownEntity(
        shown,
        names.get(entity, shown.name),
        group_fields(shown.as_presented),
        tuple(replace(group, listed=_titled(group.listed, names)) for group in groups),
        replace(executions, statements=_named(executions.statements, names)),
        count,
        _titled(waiting, names),
        inherited_by(solr, shown),
        tuple(column_flows(solr, entity)) if shown.type == "FIELD" else (),
    )


def _named(statements: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    return {run: names[of] for run, of in statements.items() if of in names}


def _titled(related: Iterable[Related], names: Mapping[str, str]) -> tuple[Related, ...]:
    return tuple(replace(each, title=names.get(each.end.id, each.end.name)) for each in related)


def group_fields(document: Mapping[str, Any]) -> FieldGroups:
    """Group a document's fields by owner; fields that only serve the index are left out."""
    groups: dict[str, dict[str, Any]] = {owner.value: {} for owner in Owner}
    for name, value in sorted(document.items()):
        if owner := owner_of(name):
            groups[owner.value][name] = value
    return FieldGroups(**groups)


# -- Relations -------------------------------------------------------------------------------------------------------------


def _relations(graph: Graph, entity: str) -> Iterable[RelationGroup]:
    sides: tuple[tuple[Side, Side], ...] = ((2, 1), (1, 2))
    for near, far in sides:
        # Deleted relations are counted separately and listed last.
        live, deleted = (graph.relations_by_type(entity, near, state) for state in (_LIVE, _DELETED))
        for kind in sorted(live.keys() | deleted.keys()):
            stated, _ = graph.latest_relations([entity], near, RelationFilter((kind,)), LISTED)
            # A relation stated by two sources counts as one, as in lineage.
            listed = {(each.end(far).id, each.deleted): each for each in reversed(stated)}
            again = Counter(each.deleted for each in stated)
            again.subtract(each.deleted for each in listed.values())
            yield RelationGroup(
                kind,
                near == 2,
                live.get(kind, 0) - again[False],
                deleted.get(kind, 0) - again[True],
                tuple(Related(each, each.end(far)) for each in reversed(listed.values())),
            )


# -- Executions ------------------------------------------------------------------------------------------------------------


def _executions(graph: Graph, entity: StoredEntity) -> Executions:
    if entity.type == "OPERATION":
        operations, purged = [entity.id], [entity]
    elif entity.type in _WRITTEN_TYPES:
        writes, _ = graph.latest_relations([entity.id], 2, _WRITES, WRITERS_LOOKED_AT)
        operations = list(dict.fromkeys(relation.ep1.id for relation in writes))
        purged = list(graph.entities(EntityFilter(has_last_run=True), ids=operations, fields=LAST_RUN))
    else:
        operations, purged = [], []
    if not operations:
        return Executions(0, 0, "", "", ())
    runs, count = graph.latest_relations(operations, 1, _RUNS, LISTED)
    found = graph.entities_of((run.ep2.id for run in runs), EXECUTION_LISTED)
    latest = [found[run.ep2.id] for run in runs if run.ep2.id in found]
    listed = sorted(latest, key=lambda execution: execution.started_ms, reverse=True)
    last_ms, principal = max(
        [
            (0, ""),
            *((execution.started_ms, execution.principal) for execution in listed),
            *((operation.last_run.last_ms, operation.last_run.principal) for operation in purged),
        ]
    )
    return Executions(
        count + sum(operation.last_run.count for operation in purged),
        len(operations),
        solr_date(last_ms) if last_ms else "",
        principal,
        tuple(listed),
        {run.ep2.id: run.ep1.id for run in runs if run.ep2.id in found},
    )
