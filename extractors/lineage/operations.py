"""A lineage record of an engine → its operation, the operation's parts, one execution, and what flows between them.

For engines that write down, for each statement, the columns it touched (vertices) and how (edges): Impala's lineage log,
Hive's LineageLogger. The structure is Navigator's:

    table  ── DATA_FLOW | CONTROL_FLOW ──▶ operation ── DATA_FLOW ──▶ table
    column ── DATA_FLOW | CONTROL_FLOW ──▶ sub-operation ── DATA_FLOW ──▶ column      one sub-operation an edge
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from extractors.lineage.redaction import bounded, clean, redact
from extractors.lineage.statements import Kind
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
from navlin.model.records import Covered, Depth, Entity, Record, Reject, Relation
from navlin.model.source import YARN, Estate, Source

EXPRESSION_BYTES = 4_096
NAME_BYTES = 2_000
"""How much of a statement, or of a list of columns, makes the name of what has none."""


class EdgeType(StrEnum):
    """PROJECTION: values of the sources reach the targets. PREDICATE: the sources decide which rows do."""

    PROJECTION = "PROJECTION"
    PREDICATE = "PREDICATE"


@dataclass(frozen=True, slots=True)
class Vertex:
    """One end of an edge. ``name`` is what the record calls it, whole: ``db.table.column.nested``.

    Without ``table`` it is a label of a result, and nobody's column; without ``column``, a table as a whole.
    ``created_ms`` is when the table was created, so that one created anew under its name can be told from it.
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
class Edge:
    """``incomplete``: the record names further ends that are not known.

    ``expression`` is how the targets are computed, or what decides, and ``transformation`` IDENTITY where values are
    passed on as they are, TRANSFORMATION where they are not; "" where the record does not say.
    """

    type: EdgeType
    sources: tuple[Vertex, ...]
    targets: tuple[Vertex, ...]
    incomplete: bool = False
    expression: str = ""
    transformation: str = ""


@dataclass(frozen=True, slots=True)
class Statement:
    """What one record says: a statement that ran once. ``run`` is what tells this run from all others of the source.

    ``location``: the database and table that the statement creates, and the URI where. ``jobs``: ids of the YARN jobs that
    carried it out. ``operation`` and ``execution`` are further attributes of each. ``rejects`` are parts of the record that
    would not read: such a record covers nothing. ``odd_times`` are times in it that cannot be any: the rest of it stands.
    """

    text: str
    run: str
    as_of_ms: int
    kind: Kind
    edges: tuple[Edge, ...] = ()
    text_hash: str = ""
    location: tuple[str, str, str] | None = None
    jobs: tuple[str, ...] = ()
    operation: dict[str, Any] = field(default_factory=dict)
    execution: dict[str, Any] = field(default_factory=dict)
    rejects: tuple[Reject, ...] = ()
    odd_times: tuple[Reject, ...] = ()


@dataclass(frozen=True, slots=True)
class Engine:
    """What things are called that an engine ran: ``engineType``, and the three internal types."""

    type: str
    operation: str
    sub_operation: str
    execution: str


class Catalog:
    """The tables and columns of a metastore that records name, as claims. Keeps those it made: records name few."""

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
class Operations:
    """Turns statements of one source into records. ``default_fs`` completes locations without a host, ``yarn`` is the
    address of the YARN that ran their jobs, where several are configured."""

    source: Source
    estate: Estate
    engine: Engine
    catalog: Catalog
    default_fs: str = ""
    yarn: str = ""

    def records(self, statement: Statement) -> Iterator[Record]:
        """All that a statement's record says. One that was read whole covers its operation: it corrects an older reading."""
        flows = _Flows(statement.edges)
        inputs = {name: self.catalog.table(vertex) for name, vertex in flows.inputs.items()}
        outputs = {name: self.catalog.table(vertex) for name, vertex in flows.outputs.items()}
        ends = tuple(key.identity for key in (*inputs.values(), *outputs.values()))
        text = clean(statement.text)
        operation = operation_key(self.source, statement.text, ends, name=bounded(text, NAME_BYTES))
        as_of_ms, ages = statement.as_of_ms, not outputs
        # A record without the table that was written may have lost what was read as well.
        lost = statement.kind.effect.writes and not outputs
        incomplete = lost or bool(statement.rejects) or any(edge.incomplete for edge in statement.edges)
        shared = {
            "engineType": self.engine.type,
            "operationType": statement.kind.name,
            "inputs": [bounded(name, NAME_BYTES) for name in sorted(inputs)],
            "outputs": [bounded(name, NAME_BYTES) for name in sorted(outputs)],
            **({"incomplete": True} if incomplete else {}),
        }
        yield Entity(
            operation,
            as_of_ms,
            {
                "internalType": self.engine.operation,
                "queryText": text,
                "queryHash": statement.text_hash,
                **shared,
                **statement.operation,
            },
            ages=ages,
        )
        execution = execution_key(operation, statement.run)
        yield Entity(
            execution,
            as_of_ms,
            {"internalType": self.engine.execution, **shared, **statement.execution},
            ages=True,
        )
        yield from self._jobs(execution, statement)
        for name, key in inputs.items():
            attributes = _of_table(flows.inputs[name], incomplete=False)
            yield _relation(flows.types[name], key, operation, operation, as_of_ms, attributes, ages=ages)
        for name, key in outputs.items():
            attributes = _of_table(flows.outputs[name], incomplete=incomplete)
            yield _relation(
                RelationType.DATA_FLOW, operation, key, operation, as_of_ms, attributes, ages=False
            )
        yield from self._parts(operation, statement.edges, as_of_ms, ages=ages)
        yield from self._location(operation, statement)
        yield from statement.odd_times
        for reject in statement.rejects:
            yield replace(reject, tree_path=operation.tree_path)
        if not statement.rejects:
            yield Covered(operation.tree_path, as_of_ms, Depth.ALL, reported=True)

    def _parts(
        self, operation: Key, edges: Iterable[Edge], as_of_ms: int, *, ages: bool
    ) -> Iterator[Entity | Relation]:
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
            outputs = [clean(name) for name in targets]
            name = bounded(", ".join(outputs), NAME_BYTES) or str(edge.type)
            sub_operation = sub_operation_key(operation, part, name=name)
            yield Entity(
                sub_operation,
                as_of_ms,
                {
                    "internalType": self.engine.sub_operation,
                    "engineType": self.engine.type,
                    "edgeType": str(edge.type),
                    "expression": bounded(redact(edge.expression), EXPRESSION_BYTES),
                    "transformation": edge.transformation,
                    "inputs": [clean(name) for name in sources],
                    "outputs": outputs,
                    **({"incomplete": True} if edge.incomplete else {}),
                },
                ages=ages,
            )
            flow = _FLOWS[edge.type]
            for key in self._keys(edge.sources):
                yield _relation(flow, key, sub_operation, sub_operation, as_of_ms, {}, ages=ages)
            for key in self._keys(edge.targets):
                yield _relation(
                    RelationType.DATA_FLOW, sub_operation, key, sub_operation, as_of_ms, {}, ages=ages
                )

    def _keys(self, vertices: Iterable[Vertex]) -> Iterable[Key]:
        """Each column once: two fields nested in one column are one claim."""
        keys = {}
        for vertex in vertices:
            if vertex.table:
                key = self.catalog.column(vertex) if vertex.column else self.catalog.table(vertex)
                keys[key.identity] = key
        return keys.values()

    def _jobs(self, execution: Key, statement: Statement) -> Iterator[Relation]:
        for job in statement.jobs:
            run_as = application_key(self.estate.serving(YARN, self.yarn), job)
            kind = RelationType.LOGICAL_PHYSICAL
            yield _relation(kind, execution, run_as, execution, statement.as_of_ms, {}, ages=True)

    def _location(self, operation: Key, statement: Statement) -> Iterator[Relation]:
        if statement.location is None:
            return
        database, table, uri = statement.location
        target = self.catalog.table(Vertex("", database, table))
        path = location_key(self.estate, uri, self.default_fs)
        yield _relation(
            RelationType.LOGICAL_PHYSICAL,
            target,
            path,
            operation,
            statement.as_of_ms,
            {"hint": True},
            ages=False,
        )


_FLOWS = {EdgeType.PROJECTION: RelationType.DATA_FLOW, EdgeType.PREDICATE: RelationType.CONTROL_FLOW}


class _Flows:
    """The column level folded to tables: what data came from outweighs what was only looked at."""

    def __init__(self, edges: Iterable[Edge]) -> None:
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
    # The vertex that says most about the table stands for it.
    known = tables.get(vertex.table_name)
    if known is None or (known.created_ms or 0) < (vertex.created_ms or 0):
        tables[vertex.table_name] = vertex


def _of_table(vertex: Vertex, *, incomplete: bool) -> dict[str, Any]:
    attributes: dict[str, Any] = {"tableCreateTime": vertex.created_ms, "tableType": vertex.table_type}
    if incomplete:
        attributes["incomplete"] = True
    return {name: value for name, value in attributes.items() if value}


def _relation(
    kind: RelationType,
    ep1: Key,
    ep2: Key,
    owner: Key,
    as_of_ms: int,
    attributes: dict[str, Any],
    *,
    ages: bool,
) -> Relation:
    # Hex digits and a dash: nothing to encode in a path's component.
    path = f"{owner.tree_path}/{ep1.identity}-{ep2.identity}"
    return Relation(kind, ep1, ep2, path, as_of_ms, attributes, ages)
