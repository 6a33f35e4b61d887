"""Converts operations to job events and executions to run events, with inputs, outputs and column lineage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from navlin.export.openlineage.datasets import tags_of
from navlin.export.openlineage.names import Naming, event, facet, own_facet, run_id
from navlin.export.values import (
    ColumnName,
    DatasetEnd,
    DatasetName,
    ExportedExecution,
    ExportedOperation,
    ExportedRun,
    FlowRole,
    RunName,
)
from navlin.index.graph.details import PartDetails

_ENDED: Final = {
    "": "COMPLETE",
    "SUCCEEDED": "COMPLETE",
    "FINISHED": "COMPLETE",
    "FAILED": "FAIL",
    "ERROR": "FAIL",
    "KILLED": "ABORT",
}
"""Status of an execution → event type. With any other status, the result is unknown."""
_SUBTYPES: Final = frozenset({"IDENTITY", "TRANSFORMATION", "AGGREGATION"})


def job_events(operation: ExportedOperation, naming: Naming) -> Iterator[dict[str, Any]]:
    """Yield the event of an operation whose lineage no run event contains: the operation of a view, or one whose last
    execution did not complete."""
    if operation.deleted or (operation.latest is not None and _ended(operation.latest) == "COMPLETE"):
        return
    time_ms = operation.latest.details.as_of_ms if operation.latest is not None else operation.runs.last_ms
    yield event("JobEvent", time_ms, **_described(operation, naming))


def run_events(run: ExportedRun, naming: Naming, *, parent: bool) -> Iterator[dict[str, Any]]:
    """Yield the events of an execution (the start, and the end or the present state), each with all known details."""
    execution, about = run.execution, run.execution.details
    facets: dict[str, Any] = {
        "navlin_run": own_facet(
            "run",
            principal=about.principal,
            application=about.application,
            queryId=about.query_id,
            status=about.status,
        )
    }
    if parent:
        facets["parent"] = _parent(run, naming)
    described = _described(run.operation, naming)
    named = {"runId": run_id(execution.id), "facets": facets}
    ended = _ended(execution)
    if about.started_ms and about.started_ms != about.ended_ms:
        yield event("RunEvent", about.started_ms, eventType="START", run=named, **described)
    if about.error:
        error = facet("errorMessage", {"message": about.error, "programmingLanguage": "UNKNOWN"})
        named = {**named, "facets": {**facets, "errorMessage": error}}
    if ended or not about.started_ms:
        kind = ended or "OTHER"
        yield event("RunEvent", about.ended_ms or about.as_of_ms, eventType=kind, run=named, **described)
    elif about.status == "RUNNING":
        yield event("RunEvent", about.as_of_ms, eventType="RUNNING", run=named, **described)


def _ended(execution: ExportedExecution) -> str:
    return _ENDED.get(execution.details.status.upper(), "")


def _parent(run: ExportedRun, naming: Naming) -> dict[str, Any]:
    """Return the facet of the parent: the workflow run with this run as a step, or the run that executes it; otherwise
    the source, for consumers that require a parent."""
    above: RunName | None = next(iter((*run.execution.run_for, *run.execution.run_as)), None)
    source = run.operation.source if above is None else above.source
    identity, name = (source.id, source.name or source.type) if above is None else (above.id, above.name)
    job = {"namespace": naming.of_jobs(source), "name": name}
    return facet("parent", {"run": {"runId": run_id(identity)}, "job": job})


# -- Inputs and outputs of an operation ----------------------------------------------------------------------------------


def _described(operation: ExportedOperation, naming: Naming) -> dict[str, Any]:
    lineage = _ColumnLineage(operation, naming)
    return {
        "job": {**naming.job(operation), "facets": _job_facets(operation)},
        "inputs": [_input(end, naming) for end in operation.inputs if not end.deleted],
        "outputs": [
            _named(end, naming) | {"facets": lineage.facets(end.dataset)}
            for end in operation.outputs
            if not end.deleted
        ],
    }


def _named(end: DatasetEnd, naming: Naming) -> dict[str, Any]:
    return {**naming.dataset(end.dataset), "facets": {}}


def _input(end: DatasetEnd, naming: Naming) -> dict[str, Any]:
    """Return an input dataset. If the input is only control flow, navlin's own facet says so, because the column
    lineage may be unknown."""
    only_decides = {"navlin_flow": own_facet("flow", flow="CONTROL")} if end.flow is FlowRole.CONTROL else {}
    return {**_named(end, naming), "inputFacets": only_decides}


def _job_facets(operation: ExportedOperation) -> dict[str, Any]:
    statement = operation.statement
    kind = {
        "processingType": "BATCH",
        "integration": statement.engine or operation.source.type or "NAVLIN",
        "jobType": statement.type or "QUERY",
    }
    facets: dict[str, Any] = {"jobType": facet("jobType", kind)}
    if statement.text:
        dialect = {"dialect": statement.engine.lower()} if statement.engine else {}
        facets["sql"] = facet("sql", {"query": statement.text, **dialect})
    if statement.incomplete:
        facets["navlin_job"] = own_facet("job", incomplete=list(statement.incomplete_reasons) or ["unknown"])
    if operation.annotations.description:
        facets["documentation"] = facet(
            "documentation", {"description": operation.annotations.description}, "DocumentationJobFacet"
        )
    if tags := [*tags_of(operation.annotations)]:
        facets["tags"] = facet("tags", {"tags": tags}, "TagsJobFacet")
    return facets


class _ColumnLineage:
    def __init__(self, operation: ExportedOperation, naming: Naming) -> None:
        self._naming = naming
        self._fields: dict[str, dict[str, list[dict[str, Any]]]] = {}
        self._rows: dict[str, list[dict[str, Any]]] = {}
        for part in operation.columns:
            data = [
                self._input(each, _direct(part.details))
                for each in part.inputs_of(FlowRole.DATA)
                if each.name
            ]
            control = [
                self._input(each, {"type": "INDIRECT"})
                for each in part.inputs_of(FlowRole.CONTROL)
                if each.name
            ]
            for column in part.outputs:
                if column.name:
                    of_dataset = self._fields.setdefault(column.dataset.id, {})
                    _add(of_dataset.setdefault(column.name, []), [*data, *control])
                else:
                    _add(self._rows.setdefault(column.dataset.id, []), control)

    def facets(self, name: DatasetName) -> dict[str, Any]:
        """Return the facet of an output, or nothing if the source columns are unknown."""
        fields, rows = self._fields.get(name.id, {}), self._rows.get(name.id, [])
        if not fields and not rows:
            return {}
        content: dict[str, Any] = {
            "fields": {column: {"inputFields": each} for column, each in fields.items()}
        }
        return {"columnLineage": facet("columnLineage", {**content, **({"dataset": rows} if rows else {})})}

    def _input(self, column: ColumnName, how: dict[str, Any]) -> dict[str, Any]:
        return {**self._naming.dataset(column.dataset), "field": column.name, "transformations": [how]}


def _direct(details: PartDetails) -> dict[str, Any]:
    how: dict[str, Any] = {"type": "DIRECT"}
    if details.transformation in _SUBTYPES:
        how["subtype"] = details.transformation
    if details.expression:
        how["description"] = details.expression
    return how


def _add(known: list[dict[str, Any]], more: list[dict[str, Any]]) -> None:
    """Add source columns to ``known``, each once, with all its transformations."""
    for each in more:
        named = (each["namespace"], each["name"], each["field"])
        same = next((one for one in known if (one["namespace"], one["name"], one["field"]) == named), None)
        if same is None:
            # Copy the column, because several output columns share a control column, which may also be data for one of
            # them.
            known.append({**each, "transformations": [*each["transformations"]]})
        else:
            same["transformations"] += [
                one for one in each["transformations"] if one not in same["transformations"]
            ]
