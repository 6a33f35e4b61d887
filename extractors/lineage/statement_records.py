"""Convert a recorded statement to an operation, with one sub-operation per edge.

This is for engines that record the columns used by each statement (vertices) and the flows between them (edges):
Impala's lineage log and Hive's LineageLogger.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from extractors.lineage.operations import Execution, Flow, Operation, SubOperation
from extractors.lineage.statements import StatementEffect, StatementKind, reads_from
from navlin.model.gaps import READS_UNNAMED, SEARCHED_CHARS
from navlin.model.keys import (
    EntityType,
    Key,
    RelationType,
    application_key,
    column_key,
    execution_key,
    location_key,
    operation_key,
    sub_operation_key,
    table_key,
)
from navlin.model.records import Record, Reject
from navlin.model.redaction import bounded
from navlin.model.source import YARN, Estate, Source

EXPRESSION_BYTES = 4_096
NAME_BYTES = 2_000
"""Maximum length of the name of an operation (a statement's text) or sub-operation (a list of columns)."""


class EdgeType(StrEnum):
    """PROJECTION: values of the sources flow to the targets. PREDICATE: the sources only decide which rows flow."""

    PROJECTION = "PROJECTION"
    PREDICATE = "PREDICATE"


class StatementGap(StrEnum):
    """Unknown parts of a statement, as reasons why its operation is incomplete."""

    READ = "its record does not name the tables that it reads"
    WRITTEN = "its record does not name the table that it writes"
    FILES = "its record does not name the files that it writes"
    PART = "a part of its record could not be read"
    SOURCE = "its record names a source that is not a column of a table"
    VIEW = "its record does not tell which column of the view is which of the query"
    DIRECTORY = "its record does not tell what goes to the table and what to the directory"


@dataclass(frozen=True, slots=True)
class Vertex:
    """One end of an edge. ``name`` is the whole name in the record: ``db.table.column.nested``.

    Without ``table``, the vertex is a label of a result, not a column; without ``column``, it is a whole table.
    ``created_ms`` is the table's creation time, which distinguishes the table from one recreated under the same name.
    """

    name: str
    database: str = ""
    table: str = ""
    column: str = ""
    table_type: str = ""
    created_ms: int | None = None

    @property
    def table_name(self) -> str:
        return f"{self.database}.{self.table}"


@dataclass(frozen=True, slots=True)
class RecordEdge:
    """A flow from sources to targets. ``missing`` is the reason why more ends, named in the record, are unknown.
    ``expression`` computes the targets, or is the condition. ``transformation`` is IDENTITY if values are passed on
    unchanged, otherwise TRANSFORMATION. ``expression`` and ``transformation`` are "" if the record does not have them.
    """

    type: EdgeType
    sources: tuple[Vertex, ...]
    targets: tuple[Vertex, ...]
    missing: StatementGap | None = None
    expression: str = ""
    transformation: str = ""


@dataclass(frozen=True, slots=True)
class StatementRecord:
    """Contents of one record: a statement that ran once. ``run`` distinguishes this run from all other runs in the
    source.

    ``location`` is the database, name and URI of the table that the statement creates. ``jobs`` are the ids of the
    YARN jobs that carried the statement out. ``operation`` and ``execution`` are further attributes of these two
    entities. ``rejects`` are unreadable parts of the record; if there are any, the record covers nothing.
    ``odd_times`` are impossible times in the record, which do not affect the rest.
    """

    text: str
    run: str
    as_of_ms: int
    kind: StatementKind
    edges: tuple[RecordEdge, ...] = ()
    text_hash: str = ""
    location: tuple[str, str, str] | None = None
    jobs: tuple[str, ...] = ()
    operation: dict[str, Any] = field(default_factory=dict)
    execution: dict[str, Any] = field(default_factory=dict)
    rejects: tuple[Reject, ...] = ()
    odd_times: tuple[Reject, ...] = ()


@dataclass(frozen=True, slots=True)
class EngineTypes:
    """An engine's ``engineType``, and the internal types of its operations, sub-operations and executions."""

    type: str
    operation: str
    sub_operation: str
    execution: str


class Catalog:
    """Keys of a metastore's tables and columns that records name, as claims. The keys are cached, because records name
    only few different tables.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._tables: dict[tuple[str, str, str], Key] = {}
        self._columns: dict[tuple[str, str], Key] = {}

    def table(self, vertex: Vertex) -> Key:
        named = (vertex.database, vertex.table, vertex.table_type)
        if (key := self._tables.get(named)) is None:
            kind = EntityType.VIEW if vertex.table_type.lower() == "view" else EntityType.TABLE
            key = self._tables[named] = table_key(self._source, vertex.database, vertex.table, kind)
        return key

    def column(self, vertex: Vertex) -> Key:
        table = self.table(vertex)
        named = (table.identity, vertex.column)
        if (key := self._columns.get(named)) is None:
            key = self._columns[named] = column_key(table, vertex.column)
        return key


@dataclass(frozen=True, slots=True)
class StatementRecords:
    """Convert statements of one source to records. ``default_fs`` completes locations without a host. ``yarn`` is the
    address of the YARN that ran the jobs, needed if several are configured.
    """

    source: Source
    estate: Estate
    engine: EngineTypes
    catalog: Catalog
    default_fs: str = ""
    yarn: str = ""

    def of(self, statement: StatementRecord) -> Iterator[Record]:
        """Yield all records of a statement. If the record is complete, the statement covers its operation, so that it
        corrects an older read.
        """
        operation = self._operation(statement)
        yield from operation.records()
        yield from statement.odd_times
        for reject in statement.rejects:
            yield replace(reject, tree_path=operation.key.tree_path)

    def _operation(self, statement: StatementRecord) -> Operation:
        tables = _Tables(statement.edges)
        inputs = {name: self.catalog.table(vertex) for name, vertex in tables.inputs.items()}
        outputs = {name: self.catalog.table(vertex) for name, vertex in tables.outputs.items()}
        ends = tuple(key.identity for key in (*inputs.values(), *outputs.values()))
        text = bounded(statement.text)
        key = operation_key(self.source, statement.text, ends, name=bounded(text, NAME_BYTES))
        reasons = _missing(statement, inputs, outputs)
        incomplete = bool(reasons)
        shared = {
            "engineType": self.engine.type,
            "operationType": statement.kind.name,
            "inputs": [bounded(name, NAME_BYTES) for name in sorted(inputs)],
            "outputs": [bounded(name, NAME_BYTES) for name in sorted(outputs)],
            **({"incomplete": True, "incompleteReasons": reasons} if reasons else {}),
        }
        return Operation(
            key,
            statement.as_of_ms,
            {
                "internalType": self.engine.operation,
                "queryText": text,
                "queryHash": statement.text_hash,
                **shared,
                **statement.operation,
            },
            Execution(
                execution_key(key, statement.run),
                statement.as_of_ms,
                {"internalType": self.engine.execution, **shared, **statement.execution},
                run_as=[application_key(self.estate.serving(YARN, self.yarn), job) for job in statement.jobs],
            ),
            ages=not outputs,
            inputs=tuple(
                Flow(end, _of_table(tables.inputs[name], incomplete=False), tables.types[name])
                for name, end in inputs.items()
            ),
            outputs=tuple(
                Flow(end, _of_table(tables.outputs[name], incomplete=incomplete))
                for name, end in outputs.items()
            ),
            parts=self._parts(key, statement.edges),
            locations=self._locations(statement),
            covers=not statement.rejects,
            nested=True,
        )

    def _parts(self, operation: Key, edges: Iterable[RecordEdge]) -> Iterator[SubOperation]:
        seen: set[str] = set()
        for edge in edges:
            sources = sorted({vertex.name for vertex in edge.sources})
            targets = sorted({vertex.name for vertex in edge.targets})
            part = f"{edge.type} {', '.join(sources)} -> {', '.join(targets)}"
            if edge.expression:
                part += f" = {edge.expression}"
            if part in seen:
                continue
            seen.add(part)
            outputs = [bounded(name) for name in targets]
            name = bounded(", ".join(outputs), NAME_BYTES) or str(edge.type)
            yield SubOperation(
                sub_operation_key(operation, part, name=name),
                {
                    "internalType": self.engine.sub_operation,
                    "engineType": self.engine.type,
                    "edgeType": str(edge.type),
                    "expression": bounded(edge.expression, EXPRESSION_BYTES),
                    "transformation": edge.transformation,
                    "inputs": [bounded(name) for name in sources],
                    "outputs": outputs,
                    **({"incomplete": True} if edge.missing else {}),
                },
                [Flow(key, type=_FLOWS[edge.type]) for key in self._keys(edge.sources)],
                [Flow(key) for key in self._keys(edge.targets)],
            )

    def _keys(self, vertices: Iterable[Vertex]) -> Iterable[Key]:
        """Return the key of each column or table once. Two fields nested in one column give one claim."""
        keys = {}
        for vertex in vertices:
            if vertex.table:
                key = self.catalog.column(vertex) if vertex.column else self.catalog.table(vertex)
                keys[key.identity] = key
        return keys.values()

    def _locations(self, statement: StatementRecord) -> Iterator[tuple[Key, Key]]:
        if statement.location is not None:
            database, table, uri = statement.location
            path = location_key(self.estate, uri, self.default_fs)
            yield self.catalog.table(Vertex("", database, table)), path


def _missing(statement: StatementRecord, inputs: Collection[str], outputs: Collection[str]) -> list[str]:
    """Return the reasons why a statement's operation is incomplete; empty if nothing is missing."""
    effect = statement.kind.effect
    reasons: list[str] = sorted({edge.missing for edge in statement.edges if edge.missing})
    if statement.rejects and StatementGap.PART not in reasons:
        reasons.append(StatementGap.PART)
    # If the written table is missing, tables that are read may be missing as well.
    if effect.writes and not outputs:
        reasons.append(StatementGap.FILES if effect is StatementEffect.WRITES_FILES else StatementGap.WRITTEN)
    if not inputs and effect.reads and reads_from(statement.text):
        # The tables can be looked for in the text, unless more than their names is missing.
        searched = not reasons and len(statement.text) <= SEARCHED_CHARS
        reasons.append(READS_UNNAMED if searched else StatementGap.READ)
    return list(map(str, reasons))


_FLOWS = {EdgeType.PROJECTION: RelationType.DATA_FLOW, EdgeType.PREDICATE: RelationType.CONTROL_FLOW}


class _Tables:
    """Edges folded to tables, by table name: inputs, outputs, and the flow type of each input. A data flow outweighs a
    control flow.
    """

    def __init__(self, edges: Iterable[RecordEdge]) -> None:
        self.inputs: dict[str, Vertex] = {}
        self.outputs: dict[str, Vertex] = {}
        self.types: dict[str, RelationType] = {}
        for edge in edges:
            flow = _FLOWS[edge.type]
            for vertex in edge.sources:
                if vertex.table:
                    _add(self.inputs, vertex)
                    if self.types.get(vertex.table_name) is not RelationType.DATA_FLOW:
                        self.types[vertex.table_name] = flow
            for vertex in edge.targets:
                if vertex.table:
                    _add(self.outputs, vertex)


def _add(tables: dict[str, Vertex], vertex: Vertex) -> None:
    # The vertex with the newest creation time represents the table.
    known = tables.get(vertex.table_name)
    if known is None or (known.created_ms or 0) < (vertex.created_ms or 0):
        tables[vertex.table_name] = vertex


def _of_table(vertex: Vertex, *, incomplete: bool) -> dict[str, Any]:
    attributes: dict[str, Any] = {"tableCreateTime": vertex.created_ms, "tableType": vertex.table_type}
    if incomplete:
        attributes["incomplete"] = True
    return {name: value for name, value in attributes.items() if value}
