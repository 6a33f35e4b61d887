"""Converts operations and runs to processes of Hive, Impala and Spark, with executions, column lineage and DDL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from navlin.export.atlas import documented, names
from navlin.export.atlas.catalog import column_reference, reference
from navlin.export.atlas.entities import (
    AtlasEntity,
    Change,
    Deletion,
    Ref,
    Upsert,
    annotation_attributes,
    custom,
    labels,
    unique,
)
from navlin.export.atlas.names import Namespace
from navlin.export.values import (
    ColumnLineage,
    ColumnName,
    DatasetEnd,
    ExportedExecution,
    ExportedOperation,
    ExportedRun,
    FlowRole,
)
from navlin.index.graph.details import ExecutionDetails

INPUTS: Final = "dataset_process_inputs"
OUTPUTS: Final = "process_dataset_outputs"
NO_PLAN: Final = "Not Supported"
DDL: Final = frozenset({*names.OUTPUT_NAMED, "CREATETABLE", "ALTERTABLE_RENAME", "ALTERVIEW_RENAME"})
"""Kinds of statements that change a table itself."""
RENAMES: Final = frozenset({"ALTERTABLE_RENAME", "ALTERVIEW_RENAME"})
_NAMESPACED: Final = {"HIVE": "hive", "IMPALA": "impala", "SPARK": "spark"}


@dataclass(frozen=True, slots=True)
class Form:
    """Options for the form of processes. With ``as_documented``, processes have the form in the documents instead of
    the form that the hooks create (`documented`)."""

    namespace: Namespace = field(default_factory=Namespace)
    as_documented: bool = False


def changes(operation: ExportedOperation, form: Form) -> Iterator[Change]:
    """Yield the changes in Atlas for an operation. There are none if the operation writes nothing or is a rename,
    because a rename is not a process in Atlas."""
    if operation.statement.type in RENAMES:
        return
    if operation.deleted:
        yield Deletion(Ref(type_of(operation), qualified_name(operation, form)))
        return
    inputs, outputs = (
        _references(operation.inputs, form, INPUTS),
        _references(operation.outputs, form, OUTPUTS),
    )
    if not outputs:
        return
    process = _process(operation, form, inputs, outputs)
    application = list(_application(operation.latest)) if process.type == "spark_process" else []
    if application:
        ends = {**process.ends, "application": application[0].ref.at("spark_application_processes")}
        process = replace(process, ends=ends)
    lineage = _column_lineage(operation, process, form)
    yield Upsert((*application, process, *lineage))


def run_changes(run: ExportedRun, form: Form) -> Iterator[Change]:
    """Yield the changes in Atlas for an execution, in addition to the changes for its operation."""
    operation, execution = run.operation, run.execution
    kind = type_of(operation)
    if kind == "spark_process":
        # Spark processes have no executions: each execution is a separate process, and the last one was already sent.
        if operation.latest is None or execution.id != operation.latest.id:
            yield from changes(replace(operation, latest=execution), form)
        return
    found = [*_ddl(operation, execution.details, form)]
    executed = kind in ("hive_process", "impala_process") and operation.statement.type not in RENAMES
    if executed and _live(operation.outputs):
        found.insert(0, _execution(operation, execution, form))
    if found:
        yield Upsert(tuple(found))


def type_of(operation: ExportedOperation) -> str:
    """Return Atlas's type for the process of an operation; a plain Process for engines without a type in Atlas."""
    engine = _NAMESPACED.get(operation.statement.engine)
    return f"{engine}_process" if engine else "Process"


def qualified_name(operation: ExportedOperation, form: Form) -> str:
    if form.as_documented and (name := documented.process_name(operation, form.namespace)):
        return name
    match type_of(operation):
        case "spark_process":
            return _spark_name(operation)
        case "Process":
            return f"{operation.source.name}.{operation.id}@{form.namespace.of(operation.source)}"
    return names.of_process(operation, operation.inputs, operation.outputs, form.namespace)


def _spark_name(operation: ExportedOperation) -> str:
    """Return the name of a Spark process. No hook defines the form of this name. Like existing connectors, navlin uses
    the ids of the application and the execution."""
    run = operation.latest.details if operation.latest is not None else ExecutionDetails()
    number = run.execution_id or run.name.rpartition("-exec.")[2]
    return f"{run.application}.{number}" if run.application and number else operation.id


# -- Processes -------------------------------------------------------------------------------------------------------------


def _process(
    operation: ExportedOperation, form: Form, inputs: tuple[Ref, ...], outputs: tuple[Ref, ...]
) -> AtlasEntity:
    kind, name = type_of(operation), qualified_name(operation, form)
    latest = operation.latest.details if operation.latest is not None else ExecutionDetails()
    text = _text(operation)
    attributes: dict[str, Any] = {
        "qualifiedName": name,
        "name": name,
        **annotation_attributes(operation.annotations),
    }
    started_ms = latest.started_ms or operation.runs.last_ms
    match kind:
        case "hive_process" | "impala_process":
            attributes |= {
                "startTime": started_ms,
                "endTime": latest.ended_ms or started_ms,
                # These attributes belong to the execution. Atlas requires them here as well, so they are empty.
                "userName": "",
                "queryText": "",
                "queryId": "",
                "queryPlan": NO_PLAN,
                "operationType": names.operation_kind(operation),
                "recentQueries": [text] if text else None,
            }
            if kind == "hive_process":
                attributes["clusterName"] = form.namespace.of(operation.source)
        case "spark_process":
            number = latest.execution_id
            attributes |= {
                "name": operation.name,
                "executionId": int(number) if number.isdecimal() else None,
                "currUser": latest.principal or None,
                "queryText": operation.statement.text or None,
            }
        case _:
            attributes["name"] = operation.name
    if form.as_documented:
        attributes |= documented.process_attributes(operation, kind, inputs, outputs)
    return AtlasEntity(
        kind,
        attributes,
        {"inputs": inputs, "outputs": outputs},
        labels(operation.annotations),
        custom(operation.id, operation.annotations),
    )


def _execution(operation: ExportedOperation, execution: ExportedExecution, form: Form) -> AtlasEntity:
    kind, process = type_of(operation), qualified_name(operation, form)
    run = execution.details
    name = f"{process}:{run.started_ms}:{run.ended_ms or run.started_ms}"
    attributes: dict[str, Any] = {
        "qualifiedName": name,
        "name": name,
        "startTime": run.started_ms,
        "endTime": run.ended_ms or run.started_ms,
        "userName": run.principal,
        "queryText": _text(operation),
        "queryId": run.query_id,
        "queryPlan": NO_PLAN,
        # No engine's log names the host that ran it.
        "hostName": "",
    }
    if form.as_documented:
        attributes |= documented.execution_attributes(operation, execution, process)
    relationship = f"{kind}_process_executions"
    return AtlasEntity(
        f"{kind}_execution",
        attributes,
        {"process": Ref(kind, process, relationship)},
        custom={"navlin_id": execution.id},
    )


def _application(execution: ExportedExecution | None) -> Iterator[AtlasEntity]:
    if execution is None or not (application := execution.details.application):
        return
    attributes = {
        "qualifiedName": application,
        "name": application,
        "currentUser": execution.details.principal or None,
    }
    yield AtlasEntity("spark_application", attributes)


def _ddl(operation: ExportedOperation, run: ExecutionDetails, form: Form) -> Iterator[AtlasEntity]:
    """Yield the statement that created or changed a table, if its text is known."""
    tables = [end for end in _live(operation.outputs) if end.dataset.is_table]
    text = operation.statement.text
    if operation.statement.type not in DDL or not tables or not text or not run.started_ms:
        return
    engine = operation.statement.engine.lower()
    table = reference(tables[0].dataset, form.namespace)
    attributes = {
        "qualifiedName": f"{text if engine == 'impala' else table.qualified_name}:{run.started_ms}",
        "serviceType": engine,
        "execTime": run.started_ms,
        "queryText": text,
        "userName": run.principal,
    }
    yield AtlasEntity("hive_table_ddl", attributes, {"table": table.at("hive_table_ddl_queries")})


# -- Columns ---------------------------------------------------------------------------------------------------------------


def _column_lineage(operation: ExportedOperation, process: AtlasEntity, form: Form) -> Iterable[AtlasEntity]:
    """Return one entity for each name of an output column, with the inputs from all sub-operations."""
    if process.type == "Process":
        return ()
    made: dict[str, tuple[list[ColumnLineage], dict[ColumnName, None]]] = {}
    for part in operation.columns:
        if not any(True for _ in part.inputs_of(FlowRole.DATA)):
            continue
        for column in part.outputs:
            if column.name and column.dataset.is_table:
                parts, columns = made.setdefault(column.name.lower(), ([], {}))
                parts.append(part)
                columns[column] = None
    return unique(
        _made_of(name, parts, [*columns], operation, process, form) for name, (parts, columns) in made.items()
    )


def _made_of(
    name: str,
    parts: Sequence[ColumnLineage],
    columns: Sequence[ColumnName],
    operation: ExportedOperation,
    process: AtlasEntity,
    form: Form,
) -> AtlasEntity:
    qualified = f"{process.attributes['qualifiedName']}:{name}"
    sources = dict.fromkeys(
        _column_end(column, form).at(INPUTS) for part in parts for column in part.inputs_of(FlowRole.DATA)
    )
    attributes: dict[str, Any] = {"qualifiedName": qualified, "name": qualified}
    query = "query"
    match process.type:
        case "hive_process":
            expression = next((part.details.expression for part in parts if part.details.expression), "")
            # Atlas's type definition has this misspelling.
            attributes |= {
                "depenendencyType": documented.dependency(parts[0]),
                "expression": expression or None,
            }
            type_name, relationship = "hive_column_lineage", "hive_process_column_lineage"
        case "impala_process":
            kind = documented.dependency(parts[0]) if form.as_documented else "PROJECTION"
            attributes["dependencyType"] = kind
            type_name, relationship = "impala_column_lineage", "impala_process_column_lineage"
        case _:
            query, type_name, relationship = (
                "process",
                "spark_column_lineage",
                "spark_process_column_lineages",
            )
    return AtlasEntity(
        type_name,
        attributes,
        {
            "inputs": tuple(sources),
            "outputs": tuple(column_reference(each, form.namespace).at(OUTPUTS) for each in columns),
            query: process.ref.at(relationship),
        },
    )


def _column_end(column: ColumnName, form: Form) -> Ref:
    """Return the reference to a column. For a whole table, or for a path, whose columns have no type in Atlas, return
    the reference to the dataset."""
    if column.name and column.dataset.is_table:
        return column_reference(column, form.namespace)
    return reference(column.dataset, form.namespace)


# -- Inside ----------------------------------------------------------------------------------------------------------------


def _references(ends: Iterable[DatasetEnd], form: Form, relationship: str) -> tuple[Ref, ...]:
    """Return a reference to each dataset, once. A path is followed by the tables at that location; otherwise Atlas's
    lineage would stop at the path."""
    found = (
        reference(each.dataset, form.namespace).at(relationship)
        for end in _live(ends)
        for each in (end, *_live(end.tables))
    )
    return tuple(dict.fromkeys(found))


def _live(ends: Iterable[DatasetEnd]) -> list[DatasetEnd]:
    # Deleted datasets are left out, because Atlas refuses any entity that refers to a deleted one.
    return [end for end in ends if not end.deleted]


def _text(operation: ExportedOperation) -> str:
    return operation.statement.text.strip().lower()
