"""Reads whole datasets, operations and runs from the graph. A few hundred are read at a time, in few requests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from navlin.export.lineage import OwnerEnds
from navlin.export.names import LINEAGE_TYPES, EntityNames
from navlin.export.values import (
    ColumnLineage,
    ColumnName,
    DatasetName,
    ExportedColumn,
    ExportedDataset,
    ExportedExecution,
    ExportedOperation,
    ExportedRun,
)
from navlin.index.graph.details import (
    Annotations,
    ColumnDetails,
    Details,
    ExecutionDetails,
    PartDetails,
    StatementDetails,
)
from navlin.index.graph.entity import WHOLE, StoredEntity
from navlin.index.graph.executions import latest_executions
from navlin.index.graph.filters import EntityFilter, RelationFilter
from navlin.index.graph.graph import Graph
from navlin.index.graph.relation import EXPORTED, NAMED, StoredRelation
from navlin.model.batches import in_batches
from navlin.model.keys import RelationType

FLOWS: Final = (RelationType.DATA_FLOW.value, RelationType.CONTROL_FLOW.value)
EXECUTIONS_A_READ: Final = 1_000
_LOCATED: Final = RelationFilter((RelationType.LOGICAL_PHYSICAL,), deleted=False, unlinked=False)
_INSTANCES: Final = RelationFilter((RelationType.INSTANCE_OF,), deleted=False)
_DIRECT: Final = RelationFilter(FLOWS, deleted=False, ep1_types=LINEAGE_TYPES)
_DIRECT_COLUMNS: Final = RelationFilter(FLOWS, deleted=False, ep1_types=("FIELD",))


@dataclass(frozen=True, slots=True)
class ItemReader:
    """Reads whole datasets and operations of one graph.

    ``columns``: with columns and their lineage; ``texts``: with query texts and expressions; ``placeholders``: inputs
    and outputs also include ends that are unlinked or flagged deleted. ``edited`` are the ids of entities that users
    edited since the run from which changes are read.
    """

    graph: Graph
    names: EntityNames
    columns: bool = True
    texts: bool = True
    placeholders: bool = False
    edited: Container[str] = ()

    def _annotations(self, entity: StoredEntity) -> Annotations:
        return Annotations.of(entity, edited=entity.id in self.edited)

    # -- Datasets --------------------------------------------------------------------------------------------------------

    def datasets(
        self, entities: Sequence[StoredEntity], gone: Container[str] = ()
    ) -> Iterator[ExportedDataset]:
        """Yield the database, table, view, path or other dataset for each entity, in order. The entities must have been
        read with the fields `WHOLE`. ``gone`` includes the ids of deleted columns to list."""
        columns = self._columns(entities) if self.columns else {}
        locations = self._locations([each.id for each in entities if each.type in ("TABLE", "VIEW")])
        for entity in entities:
            name, found = self.names.dataset(entity), Details.of(entity)
            if not self.texts:
                found = replace(found, text="")
            if entity.deleted:
                yield ExportedDataset(
                    name, found, self._annotations(entity), deleted=True, deleted_ms=entity.deleted_ms
                )
                continue
            keys = {each.upper() for each in found.partition_columns}
            of_table = columns.get(entity.id, ())
            yield ExportedDataset(
                name,
                found,
                self._annotations(entity),
                tuple(
                    ExportedColumn(
                        ColumnName(each.id, name, each.own_name),
                        ColumnDetails.of(each),
                        self._annotations(each),
                        each.own_name.upper() in keys,
                    )
                    for each in of_table
                    if not each.deleted
                ),
                tuple(
                    ColumnName(each.id, name, each.own_name)
                    for each in of_table
                    if each.deleted and each.id in gone
                ),
                tuple(locations.get(entity.id, ())),
            )

    def _columns(self, entities: Iterable[StoredEntity]) -> dict[str, list[StoredEntity]]:
        parents = tuple(each.id for each in entities if each.type in LINEAGE_TYPES and not each.deleted)
        found: dict[str, list[StoredEntity]] = defaultdict(list)
        if parents:
            for column in self.graph.entities(EntityFilter(("FIELD",), parents=parents), fields=WHOLE):
                found[column.parent_id].append(column)
        for of_one in found.values():
            # Columns of a table that is only claimed have no position; they come last, sorted by name.
            of_one.sort(key=lambda each: (each.column_index is None, each.column_index or 0, each.own_name))
        return found

    def _locations(self, tables: Sequence[str]) -> dict[str, list[DatasetName]]:
        relations = self.graph.relations(_LOCATED, of=tables, sides=(1,), fields=NAMED) if tables else ()
        stated: dict[str, list[StoredRelation]] = defaultdict(list)
        for each in relations:
            stated[each.ep1.id].append(each)
        return {
            table: [
                self.names.unseen(each.ep2)
                for each in found
                # A location stated by another source counts only if the metastore states none.
                if each.first_hand or not any(other.first_hand for other in found)
            ]
            for table, found in stated.items()
        }

    # -- Operations ------------------------------------------------------------------------------------------------------

    def operations(self, entities: Sequence[StoredEntity]) -> Iterator[ExportedOperation]:
        """Yield the whole operation for each entity, in order. The entities must have been read with the fields
        `WHOLE`."""
        deleted = {each.id for each in entities if each.deleted}
        ids = [each.id for each in entities]
        parts = self._parts(ids) if self.columns else {}
        part_ids = [part.id for of_one in parts.values() for part in of_one]
        ends = OwnerEnds(self.graph, self.names, placeholders=self.placeholders)
        # The name of a deleted operation depends on its inputs and outputs, whose relations were flagged deleted as
        # well.
        ends.read(
            each
            for each in self._flows([*ids, *part_ids])
            if not each.deleted or each.ep1.id in deleted or each.ep2.id in deleted
        )
        latest = self._latest([each for each in ids if each not in deleted])
        for entity in entities:
            lineage = (self._lineage(part, ends) for part in parts.get(entity.id, ()))
            yield ExportedOperation(
                entity.id,
                self._shown(entity),
                self.names.source(entity.source_id, entity.source_type),
                self._statement(entity),
                ends.inputs(entity.id),
                ends.outputs(entity.id),
                tuple(each for each in lineage if each.inputs or each.outputs),
                ends.unlinked(entity.id),
                self._annotations(entity),
                latest.get(entity.id),
                entity.last_run,
                deleted=entity.deleted,
            )

    def derived(self, entities: Sequence[StoredEntity]) -> Iterator[ExportedOperation]:
        """Yield one operation for each dataset that has direct inputs, that is, flows without an operation in between.
        The entities must have been read with the fields `WHOLE`."""
        by_id = {each.id: each for each in entities}
        ends = OwnerEnds(self.graph, self.names, placeholders=self.placeholders)
        ends.read(self.graph.relations(_DIRECT, of=by_id, sides=(2,), fields=EXPORTED))
        into = [each for each in by_id if ends.inputs(each)]
        columns = self._columns(by_id[each] for each in into) if self.columns else {}
        column_ids = [column.id for of_one in columns.values() for column in of_one]
        if column_ids:
            ends.read(self.graph.relations(_DIRECT_COLUMNS, of=column_ids, sides=(2,), fields=EXPORTED))
        for each in into:
            entity, name = by_id[each], self.names.dataset(by_id[each])
            lineage = (
                ColumnLineage(column.id, inputs, (ColumnName(column.id, name, column.own_name),))
                for column in columns.get(each, ())
                if (inputs := ends.column_inputs(column.id))
            )
            yield ExportedOperation(
                each,
                entity.name,
                name.source,
                StatementDetails(
                    entity.source_type, "CREATEVIEW" if entity.type == "VIEW" else "", self._text(entity)
                ),
                ends.inputs(each),
                (ends.end(name, entity),),
                tuple(lineage),
                ends.unlinked(each),
                derived=True,
            )

    def runs(self, operation: ExportedOperation) -> Iterator[ExportedRun]:
        """Yield all executions of an operation, in the order in which their relations are read."""
        relations = self.graph.relations(_INSTANCES, of=[operation.id], sides=(1,), fields=NAMED)
        for batch in in_batches((each.ep2.id for each in relations), EXECUTIONS_A_READ):
            for execution in self._executions(batch).values():
                yield ExportedRun(operation, execution)

    # -- Inside ----------------------------------------------------------------------------------------------------------

    def _shown(self, entity: StoredEntity) -> str:
        if self.texts:
            return entity.name
        # The name of a statement contains its text.
        return f"{entity.source_type.lower()} operation {entity.id[:8]}"

    def _text(self, entity: StoredEntity) -> str:
        return entity.text if self.texts else ""

    def _statement(self, entity: StoredEntity) -> StatementDetails:
        found = StatementDetails.of(entity)
        return found if self.texts else replace(found, text="")

    def _flows(self, ids: Sequence[str]) -> Iterator[StoredRelation]:
        return self.graph.relations(RelationFilter(FLOWS), of=ids, fields=EXPORTED)

    def _parts(self, operations: Sequence[str]) -> dict[str, list[StoredEntity]]:
        found: dict[str, list[StoredEntity]] = defaultdict(list)
        where = EntityFilter(("SUB_OPERATION",), deleted=False, parents=tuple(operations))
        for part in self.graph.entities(where, fields=WHOLE):
            found[part.parent_id].append(part)
        return found

    def _lineage(self, part: StoredEntity, ends: OwnerEnds) -> ColumnLineage:
        found, label = PartDetails.of(part), part.own_name
        if not self.texts:
            found, label = replace(found, expression=""), ""
        return ColumnLineage(part.id, ends.column_inputs(part.id), ends.column_outputs(part.id), found, label)

    def _latest(self, operations: Sequence[str]) -> dict[str, ExportedExecution]:
        latest = latest_executions(self.graph, operations, 1)
        executions = self._executions([each.id for found in latest.values() for each in found])
        return {
            one: executions[found[0].id]
            for one, found in latest.items()
            if found and found[0].id in executions
        }

    def _executions(self, ids: Sequence[str]) -> dict[str, ExportedExecution]:
        """Return id → execution, in the order of ``ids``. Ids that the index does not have are left out."""
        entities = self.graph.entities_of(ids, WHOLE)
        run_as: dict[str, list[StoredRelation]] = defaultdict(list)
        run_for: dict[str, list[StoredRelation]] = defaultdict(list)
        for relation in self.graph.relations(_LOCATED, of=entities, fields=NAMED):
            if relation.ep1.id in entities:
                run_as[relation.ep1.id].append(relation)
            if relation.ep2.id in entities:
                run_for[relation.ep2.id].append(relation)
        return {
            each: ExportedExecution(
                each,
                ExecutionDetails.of(entities[each]),
                tuple({one.ep2.id: self.names.run(one.ep2) for one in run_as[each]}.values()),
                tuple({one.ep1.id: self.names.run(one.ep1) for one in run_for[each]}.values()),
            )
            for each in ids
            if each in entities
        }
