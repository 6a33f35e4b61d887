"""Determines the ends of operations and sub-operations from relations. There is one end per dataset and side, which is
either linked, or has a reason for not being linked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import Final, NamedTuple

from navlin.export.names import EntityNames, parents_of
from navlin.export.values import ColumnEnd, ColumnName, DatasetEnd, DatasetName, FlowRole, UnlinkedEnd
from navlin.index.graph.details import Details
from navlin.index.graph.entity import FLOW_END, PATH_TYPES, StoredEntity
from navlin.index.graph.filters import RelationFilter
from navlin.index.graph.graph import Graph
from navlin.index.graph.relation import NAMED, StoredRelation
from navlin.index.graph.relation import End as RelationEnd
from navlin.model.keys import RelationType

NOT_THERE: Final = "it is not in the index"
_PROCESS_TYPES: Final = frozenset({"OPERATION", "SUB_OPERATION"})
_TABLES_AT: Final = RelationFilter(
    (RelationType.LOGICAL_PHYSICAL,), deleted=False, unlinked=False, ep1_types=("TABLE",)
)


class _Met(NamedTuple):
    relation: StoredRelation
    far: RelationEnd
    output: bool


class OwnerEnds:
    """The inputs and outputs of some operations, sub-operations, datasets or columns (the *owners*), read together."""

    def __init__(self, graph: Graph, names: EntityNames, *, placeholders: bool) -> None:
        self._graph, self._names, self._placeholders = graph, names, placeholders
        self._met: dict[str, dict[tuple[str, bool], list[_Met]]] = defaultdict(lambda: defaultdict(list))
        self._entities: dict[str, StoredEntity] = {}
        self._tables_at: dict[str, list[StoredEntity]] = {}

    def read(self, relations: Iterable[StoredRelation]) -> None:
        """Read the entities at the ends of flows. The owner of a flow is the operation or sub-operation at one end; if
        there is none, the target of the flow."""
        # A relation written by a client may have several ids at one end.
        for relation in (each for one in relations for each in one.pairs()):
            if relation.ep1.type in _PROCESS_TYPES:
                owner, far, output = relation.ep1, relation.ep2, True
            else:
                owner, far, output = relation.ep2, relation.ep1, False
            self._met[owner.id][far.id, output].append(_Met(relation, far, output))
        far_ids = {far for met in self._met.values() for far, _ in met}
        entities = self._graph.entities_of(far_ids - self._entities.keys(), FLOW_END)
        entities |= parents_of(self._graph, entities.values(), FLOW_END)
        if self._placeholders:
            # The column is missing: check whether its table exists.
            far_ends = (same[0].far for met in self._met.values() for same in met.values())
            unseen = (
                end for end in far_ends if end.id not in entities and end.type in ("FIELD", "PARTITION")
            )
            entities |= self._graph.entities_of((self._names.unseen(end).id for end in unseen), FLOW_END)
        self._entities |= entities
        self._read_tables_at([each.id for each in entities.values() if each.type in PATH_TYPES])

    def inputs(self, owner: str) -> tuple[DatasetEnd, ...]:
        """Return the datasets that an owner reads, sorted by name."""
        return self._ends(owner, output=False)

    def outputs(self, owner: str) -> tuple[DatasetEnd, ...]:
        """Return the datasets that an owner writes, sorted by name."""
        return self._ends(owner, output=True)

    def unlinked(self, owner: str) -> tuple[UnlinkedEnd, ...]:
        """Return the ends that are not in the index, inputs first, sorted by name."""
        found = [
            UnlinkedEnd(met.far.id, met.far.name, met.far.type, met.far.source_type, met.output, flow, reason)
            for same in self._met[owner].values()
            if (reason := self._why_unlinked(same))
            for met, flow in [(same[0], _flow(same))]
        ]
        return tuple(sorted(found, key=lambda each: (each.output, each.name, each.id)))

    def column_inputs(self, owner: str) -> tuple[ColumnEnd, ...]:
        """Return the input columns of a sub-operation or column, data flows first, sorted by name."""
        found = [
            ColumnEnd(column, _flow(same))
            for (_, output), same in self._met[owner].items()
            if not output and (column := self._column(same)) is not None
        ]
        return tuple(
            sorted(found, key=lambda each: (each.flow is FlowRole.CONTROL, *_column_order(each.column)))
        )

    def column_outputs(self, owner: str) -> tuple[ColumnName, ...]:
        """Return the output columns of a sub-operation, sorted by name."""
        found = (self._column(same) for (_, output), same in self._met[owner].items() if output)
        return tuple(sorted((each for each in found if each is not None), key=_column_order))

    def end(self, name: DatasetName, entity: StoredEntity) -> DatasetEnd:
        """Return a dataset in the index as an end, without details from a relation."""
        found = Details.of(entity)
        return DatasetEnd(
            name, created_ms=found.created_ms, temporary=found.temporary, deleted=entity.deleted
        )

    # -- Inside ----------------------------------------------------------------------------------------------------------

    def _read_tables_at(self, paths: list[str]) -> None:
        if not paths:
            return
        found = list(self._graph.relations(_TABLES_AT, of=paths, sides=(2,), fields=NAMED))
        tables = self._graph.entities_of((each.ep1.id for each in found), FLOW_END)
        at: dict[str, dict[str, StoredEntity]] = defaultdict(dict)
        for each in found:
            if (table := tables.get(each.ep1.id)) is not None and not table.deleted:
                at[each.ep2.id][table.id] = table
        self._tables_at |= {path: [*of_path.values()] for path, of_path in at.items()}

    def _why_unlinked(self, same: list[_Met]) -> str:
        """Return why an end is not in the index; "" if the index has the end."""
        if self._entities.get(same[0].far.id) is not None:
            return ""
        return next((met.relation.unlinked_reason for met in same if met.relation.unlinked_reason), NOT_THERE)

    def _dataset(self, far: RelationEnd) -> tuple[DatasetName, StoredEntity | None] | None:
        """Return the dataset at an end, with its entity if the index has one. For a column or partition, return the
        dataset that contains it."""
        entity = self._entities.get(far.id)
        if entity is not None and entity.type in ("FIELD", "PARTITION"):
            entity = self._entities.get(entity.parent_id)
        if entity is not None:
            return self._names.dataset(entity), entity
        return (self._names.unseen(far), None) if self._placeholders else None

    def _ends(self, owner: str, *, output: bool) -> tuple[DatasetEnd, ...]:
        ends: dict[str, DatasetEnd] = {}
        for (_, is_output), same in self._met[owner].items():
            if is_output is not output or (found := self._dataset(same[0].far)) is None:
                continue
            name, entity = found
            end = self._end(name, entity, same)
            known = ends.get(name.id)
            ends[name.id] = end if known is None else _merged(known, end)
        return tuple(sorted(ends.values(), key=lambda end: _order(end.dataset)))

    def _end(self, name: DatasetName, entity: StoredEntity | None, same: list[_Met]) -> DatasetEnd:
        end = DatasetEnd(name) if entity is None else self.end(name, entity)
        relations = [met.relation for met in same]
        stated_ms = max((each.table_created_ms for each in relations), default=0)
        tables = [self.end(self._names.dataset(each), each) for each in self._tables_at.get(name.id, ())]
        return replace(
            end,
            flow=_flow(same),
            created_ms=stated_ms or end.created_ms,
            tables=tuple(sorted(tables, key=lambda each: _order(each.dataset))),
            inferred=all(each.inferred for each in relations),
            incomplete=any(each.incomplete for each in relations),
        )

    def _column(self, same: list[_Met]) -> ColumnName | None:
        far = same[0].far
        if (found := self._dataset(far)) is None:
            return None
        name, entity = found
        column = self._entities.get(far.id)
        table = entity or self._entities.get(name.id)
        if table is not None and not table.deleted:
            # Leave out a column that its table no longer has.
            if column is None or column.deleted:
                return None
        elif not self._placeholders:
            return None
        if far.type != "FIELD":
            return ColumnName(far.id, name, "")
        return ColumnName(
            far.id, name, column.own_name if column is not None else far.name.rpartition(".")[2]
        )


def _flow(same: Iterable[_Met]) -> FlowRole:
    data = any(met.relation.type == RelationType.DATA_FLOW for met in same)
    return FlowRole.DATA if data else FlowRole.CONTROL


def _merged(one: DatasetEnd, other: DatasetEnd) -> DatasetEnd:
    return replace(
        one,
        flow=FlowRole.DATA if FlowRole.DATA in (one.flow, other.flow) else FlowRole.CONTROL,
        created_ms=max(one.created_ms, other.created_ms),
        inferred=one.inferred and other.inferred,
        incomplete=one.incomplete or other.incomplete,
    )


def _order(name: DatasetName) -> tuple[str, str, str]:
    return name.full_name.lower(), name.full_name, name.id


def _column_order(column: ColumnName) -> tuple[str, str, str, str]:
    return *_order(column.dataset), column.name
