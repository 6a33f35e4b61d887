"""Converts datasets and operations to SQLFlow's elements."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from navlin.export.sqlflow.model import (
    PSEUDO_ROWS,
    SYSTEM,
    ColumnRelation,
    DbObject,
    Dlineage,
    FlowType,
    ObjectColumn,
    ObjectKind,
    RelationEnd,
    end_to_end,
    number,
)
from navlin.export.sqlflow.spool import Placed
from navlin.export.sqlflow.statements import (
    EXTERNAL,
    RENAMES,
    clause_of,
    effect_of,
    external_process,
    process_of,
)
from navlin.export.values import (
    ColumnLineage,
    ColumnName,
    DatasetName,
    ExportedDataset,
    ExportedOperation,
    Item,
)
from navlin.export.values import DatasetEnd as OperationEnd
from navlin.export.values import FlowRole as ItemFlow

EXPRESSION_CHARS: Final = 1_000
_CALL: Final = re.compile(r"\w+\s*\([^()]*\)\Z")
_VENDORS: Final = {"HIVE": "dbvhive", "IMPALA": "dbvimpala", "SPARK": "dbvsparksql"}
_FLOWS: Final = {ItemFlow.DATA: FlowType.FDD, ItemFlow.CONTROL: FlowType.FDR}


class ItemElements(NamedTuple):
    """The elements for one item: objects with their servers, and lineage."""

    placed: tuple[Placed, ...]
    lineage: Dlineage


def elements_of(item: Item) -> ItemElements | None:
    """Return the elements for an item; None for databases, runs and deleted items, which the model does not have."""
    match item:
        case ExportedDataset(name=DatasetName(type="DATABASE")) | ExportedDataset(deleted=True):
            return None
        case ExportedDataset():
            return _dataset(item)
        case ExportedOperation(deleted=False):
            return _OfOperation(item).made() if _inputs(item) or _live(item.outputs) else None
    return None


# -- Objects -------------------------------------------------------------------------------------------------------------


def uri_of(name: DatasetName) -> str:
    """Return a path with its scheme and authority, as far as these are known."""
    return name.authority + name.name


def _object(name: DatasetName) -> DbObject:
    identity = number(name.id)
    if name.is_path:
        uri = uri_of(name)
        return DbObject(ObjectKind.PATH, identity, uri, "path", uri=uri)
    kind = ObjectKind.VIEW if name.type == "VIEW" else ObjectKind.TABLE
    return DbObject(kind, identity, name.full_name, kind.value, schema=name.database)


def _placed(name: DatasetName, found: DbObject) -> Placed:
    source = name.source
    return Placed(source.name or source.id, _VENDORS.get(source.type, "dbvgeneric"), found)


def _column(name: ColumnName) -> ObjectColumn:
    return ObjectColumn(number(name.id), name.name) if name.name else _rows(name.dataset)


def _rows(name: DatasetName) -> ObjectColumn:
    """Return the column that represents all rows of a dataset. For a path, SQLFlow uses the URI."""
    if name.is_path:
        return ObjectColumn(number(name.id, "uri"), f"uri={uri_of(name)}")
    return ObjectColumn(number(name.id, PSEUDO_ROWS), PSEUDO_ROWS, SYSTEM)


def _end(column: ObjectColumn, parent: DbObject, clause: str = "") -> RelationEnd:
    return RelationEnd(column.id, column.name, parent.id, parent.name, column.source, clause)


def _dataset(item: ExportedDataset) -> ItemElements:
    """Return the elements for a dataset; for an external table, they include the paths of its data."""
    table = replace(_object(item.name), columns=tuple(_column(each.name) for each in item.columns))
    if item.details.kind != "EXTERNAL_TABLE" or not item.locations:
        return ItemElements((_placed(item.name, table),), Dlineage(objects=(table,)))
    process, rows = external_process(item.name.id), _rows(item.name)
    table = replace(table, columns=(*table.columns, rows), processes=(process.id,))
    paths = [replace(_object(each), columns=(_rows(each),)) for each in item.locations]
    relation = ColumnRelation(
        number(item.name.id, "external table", "relation"),
        FlowType.FDD,
        EXTERNAL.effect,
        _end(rows, table),
        tuple(_end(each.columns[0], each) for each in paths),
        process.id,
    )
    placed = [_placed(item.name, table), *map(_placed, item.locations, paths)]
    return ItemElements(tuple(placed), Dlineage((process,), (table, *paths), (relation,)))


# -- Operations ----------------------------------------------------------------------------------------------------------


def _live(ends: Iterable[OperationEnd]) -> dict[str, OperationEnd]:
    """Return id → end for the ends that are not deleted. A path is followed by the tables at that location."""
    found: dict[str, OperationEnd] = {}
    for end in (one for each in ends for one in (each, *each.tables)):
        if not end.deleted:
            found.setdefault(end.dataset.id, end)
    return found


def _inputs(operation: ExportedOperation) -> dict[str, OperationEnd]:
    """Return id → end for the inputs of an operation. The input of a rename is kept, although no dataset has that name
    any more."""
    if operation.statement.type not in RENAMES:
        return _live(operation.inputs)
    return {end.dataset.id: end for end in operation.inputs}


@dataclass(slots=True)
class _OfOperation:
    operation: ExportedOperation
    placed: dict[int, Placed] = field(default_factory=dict)
    columns: dict[int, dict[int, ObjectColumn]] = field(default_factory=dict)
    relations: dict[int, ColumnRelation] = field(default_factory=dict)

    def made(self) -> ItemElements:
        operation = self.operation
        process = process_of(operation)
        outputs = [each.dataset for each in _live(operation.outputs).values()]
        if operation.derived:
            self._of_derived()
        else:
            for part in operation.columns:
                self._of_part(part, decides_rows=part.details.edge_type == "PREDICATE")
        for name in outputs:
            self._known(name)
        self._between_datasets(outputs)
        written = {number(each.id) for each in outputs}
        placed = [
            each._replace(
                object=replace(
                    each.object,
                    columns=tuple(self.columns.get(each.object.id, {}).values()),
                    processes=(process.id,) if each.object.id in written else (),
                )
            )
            for each in self.placed.values()
        ]
        relations = tuple(replace(each, process=process.id) for each in self.relations.values())
        return ItemElements(
            tuple(placed), Dlineage((process,), tuple(each.object for each in placed), relations)
        )

    # -- Parts ---------------------------------------------------------------------------------------------------------

    def _of_part(self, part: ColumnLineage, *, decides_rows: bool) -> None:
        """Add the relations of a sub-operation. Targets are the output columns of the sub-operation or, with
        ``decides_rows``, the PseudoRows of its output datasets."""
        targets = list(self._rows_of(part) if decides_rows else self._columns_of(part))
        clause = clause_of(self.operation.statement.text) if decides_rows else ""
        data = [self._column_end(each) for each in part.inputs_of(ItemFlow.DATA)]
        control = [self._column_end(each, clause) for each in part.inputs_of(ItemFlow.CONTROL)]
        if part.details.transformation == "AGGREGATION" and not control:
            # This is an aggregation over all rows, so the number of rows determines the result.
            control = list(
                {end.id: end for end in map(self._rows_of_data, part.inputs_of(ItemFlow.DATA))}.values()
            )
        if self._computed(part) and (data or control) and not decides_rows:
            result = self._result_of(part)
            inner = "function" if _CALL.match(part.details.expression) else "select"
            self._relate(FlowType.FDD, inner, result, data)
            self._relate(FlowType.FDR, inner, result, control)
            data, control = [result], []
        effect = effect_of(self.operation)
        for target in targets:
            self._relate(FlowType.FDD, effect, target, data)
            self._relate(FlowType.FDR, effect, target, control)

    def _of_derived(self) -> None:
        """Add the columns of a view, as the linker read them. Control inputs that all columns share control the
        rows."""
        parts = self.operation.columns
        deciding = [{each.id: each for each in part.inputs_of(ItemFlow.CONTROL)} for part in parts]
        shared = set.intersection(*map(set, deciding)) if deciding else set()
        for part in parts:
            own = tuple(
                each for each in part.inputs if each.flow is ItemFlow.DATA or each.column.id not in shared
            )
            self._of_part(replace(part, inputs=own), decides_rows=False)
        if shared:
            inputs = tuple(each for each in parts[0].inputs if each.column.id in shared)
            self._of_part(replace(parts[0], inputs=inputs), decides_rows=True)

    def _computed(self, part: ColumnLineage) -> bool:
        return bool(part.details.expression) and part.details.transformation != "IDENTITY"

    def _result_of(self, part: ColumnLineage) -> RelationEnd:
        """Add a result set with the expression as its column, and return that column."""
        expression = " ".join(part.details.expression.split())[:EXPRESSION_CHARS]
        kind = "function" if _CALL.match(expression) else "select_list"
        return self._in_result_set(
            number(part.id, "result set"), kind, ObjectColumn(number(part.id, "expression"), expression)
        )

    def _columns_of(self, part: ColumnLineage) -> Iterator[RelationEnd]:
        """Yield the output columns of a sub-operation. For the result of a query, yield a column with the label."""
        for each in part.outputs:
            yield self._column_end(each)
        if not part.outputs:
            label = part.label or PSEUDO_ROWS
            column = ObjectColumn(
                number(self.operation.id, "result", label), label, "" if part.label else SYSTEM
            )
            yield self._in_result_set(self._result_id, "select_list", column)

    def _rows_of_data(self, name: ColumnName) -> RelationEnd:
        return self._rows_end(name.dataset)

    def _rows_of(self, part: ColumnLineage) -> Iterator[RelationEnd]:
        for name in {each.dataset.id: each.dataset for each in part.outputs}.values():
            yield self._rows_end(name)
        if not part.outputs:
            yield self._result_rows()

    # -- Datasets ------------------------------------------------------------------------------------------------------

    def _between_datasets(self, outputs: Iterable[DatasetName]) -> None:
        """Add the flows between datasets that the relations of their columns do not imply."""
        inputs = _inputs(self.operation).values()
        targets = [(number(each.id), self._rows_end(each)) for each in outputs]
        if inputs and not targets:
            targets = [(self._result_id, self._result_rows())]
        shown = self._shown()
        for identity, target in targets:
            for flow in FlowType:
                sources = [
                    self._rows_end(each.dataset)
                    for each in inputs
                    if _FLOWS[each.flow] is flow
                    and shown.get((number(each.dataset.id), identity)) not in (flow, FlowType.FDD)
                ]
                self._relate(flow, effect_of(self.operation), target, sources)

    def _shown(self) -> dict[tuple[int, int], FlowType]:
        """Return (source id, target id) → flow, for the flows between objects that the relations of their columns
        imply."""
        lineage = Dlineage(
            (), tuple(each.object for each in self.placed.values()), tuple(self.relations.values())
        )
        shown: dict[tuple[int, int], FlowType] = {}
        for relation in end_to_end(lineage):
            for source in relation.sources:
                pair = (source.parent_id, relation.target.parent_id)
                if shown.get(pair) is not FlowType.FDD:
                    shown[pair] = relation.type
        return shown

    def _known(self, name: DatasetName) -> DbObject:
        identity = number(name.id)
        if identity not in self.placed:
            self.placed[identity] = _placed(name, _object(name))
        return self.placed[identity].object

    def _column_end(self, name: ColumnName, clause: str = "") -> RelationEnd:
        return _end(_column(name), self._known(name.dataset), clause)

    def _rows_end(self, name: DatasetName) -> RelationEnd:
        return _end(_rows(name), self._known(name))

    @property
    def _result_id(self) -> int:
        return number(self.operation.id, "result set")

    def _result_rows(self) -> RelationEnd:
        return self._in_result_set(
            self._result_id,
            "select_list",
            ObjectColumn(number(self.operation.id, PSEUDO_ROWS), PSEUDO_ROWS, SYSTEM),
        )

    def _in_result_set(self, identity: int, kind: str, column: ObjectColumn) -> RelationEnd:
        found = DbObject(ObjectKind.RESULTSET, identity, f"RS-{identity}", kind)
        self.placed.setdefault(identity, _placed_by(self.operation, found))
        return _end(column, found)

    def _relate(
        self, flow: FlowType, effect: str, target: RelationEnd, sources: Iterable[RelationEnd]
    ) -> None:
        """Add a relation with one target, if there are sources. Further sources with the same flow and target are added
        to the same relation."""
        found = {each.id: each for each in sources}
        if not found:
            return
        identity = number(self.operation.id, flow, str(target.id))
        known = self.relations.get(identity)
        if known is not None:
            found = {each.id: each for each in (*known.sources, *found.values())}
        self.relations[identity] = ColumnRelation(identity, flow, effect, target, tuple(found.values()))
        for end in (target, *found.values()):
            column = ObjectColumn(end.id, end.column, end.source)
            self.columns.setdefault(end.parent_id, {}).setdefault(end.id, column)


def _placed_by(operation: ExportedOperation, found: DbObject) -> Placed:
    source = operation.source
    return Placed(source.name or source.id, _VENDORS.get(operation.statement.engine, "dbvgeneric"), found)
