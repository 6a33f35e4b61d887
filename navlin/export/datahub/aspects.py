"""Aspects of DataHub entities as JSON values, following DataHub's own schemas."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from navlin.export.datahub.names import ACTOR, DatahubUrns, engine, platform_urn, tag, user
from navlin.export.values import ExportedColumn, ExportedDataset, ExportedOperation, ExportedRun
from navlin.index.graph.details import Annotations, ExecutionDetails

Aspect = dict[str, Any]

SUB_TYPES: Final = {
    "TABLE": "Table",
    "VIEW": "View",
    "DIRECTORY": "Folder",
    "FILE": "File",
    "S3BUCKET": "S3 bucket",
}
INFERRED: Final = 0.5
"""Confidence score of lineage that navlin inferred."""
_TYPES: Final = {
    "boolean": "Boolean",
    **dict.fromkeys(
        ("tinyint", "smallint", "int", "integer", "bigint", "long", "short", "byte", "float", "double"),
        "Number",
    ),
    **dict.fromkeys(("decimal", "numeric", "real"), "Number"),
    **dict.fromkeys(("string", "varchar", "char"), "String"),
    "binary": "Bytes",
    "date": "Date",
    **dict.fromkeys(("timestamp", "timestamp_ntz", "timestamplocaltz", "interval"), "Time"),
    "array": "Array",
    "map": "Map",
    "struct": "Record",
    "uniontype": "Union",
}
"""First word of a column type in Hive, Impala or Spark → DataHub's type."""
_FIRST_WORD: Final = re.compile(r"\w+")

UNDER_WAY: Final = frozenset({"RUNNING", "ACCEPTED", "SUBMITTED", "NEW", "NEW_SAVING", "UNKNOWN"})
"""Statuses of runs that have not ended, or whose end is unknown."""
RESULTS: Final = {
    "SUCCEEDED": "SUCCESS",
    "FINISHED": "SUCCESS",
    "FAILED": "FAILURE",
    "ERROR": "FAILURE",
    "KILLED": "FAILURE",
}
"""Status of a run → DataHub's result. A run killed before it began is `SKIPPED`."""
SKIPPED: Final = "SKIPPED"


def stamp(time_ms: int, actor: str = ACTOR) -> Aspect:
    """Return an audit stamp. ``time_ms`` is 0 if the time is unknown."""
    return {"time": time_ms, "actor": actor}


# -- Databases and datasets ----------------------------------------------------------------------------------------------


def container(item: ExportedDataset, env: str) -> Aspect:
    """Return the ``containerProperties`` of a database."""
    return {**_described(item), "name": item.annotations.name or item.name.name, "env": env}


def dataset(item: ExportedDataset) -> Aspect:
    """Return the ``datasetProperties`` of a table, view, path or other dataset."""
    location = item.details.storage.location
    found = {
        **_described(item),
        "name": item.annotations.name or item.name.name,
        "qualifiedName": item.name.full_name,
    }
    if item.details.modified_ms:
        found["lastModified"] = {"time": item.details.modified_ms}
    # DataHub refuses anything but a URI.
    if "://" in location and not re.search(r"\s", location):
        found["uri"] = location
    return found


def _described(item: ExportedDataset) -> Aspect:
    found: Aspect = {"customProperties": _of_dataset(item)}
    if description := _description(item.annotations, item.details.comment):
        found["description"] = description
    if item.details.created_ms:
        found["created"] = {"time": item.details.created_ms}
    return found


def _description(annotations: Annotations, comment: str) -> str:
    """Return the user-written description, or else the source's comment."""
    return annotations.description or comment


def _of_dataset(item: ExportedDataset) -> dict[str, str]:
    """Return the properties for which DataHub has no field."""
    details = item.details
    storage = details.storage
    return {
        **details.parameters,
        **_filled(
            {
                "tableType": details.kind,
                "location": storage.location,
                "inputFormat": storage.input_format,
                "outputFormat": storage.output_format,
                "serDeLibName": storage.serde_library,
                "partitionColNames": ", ".join(details.partition_columns),
                "clusteredByColNames": ", ".join(storage.bucket_columns),
                "sortByColNames": ", ".join(storage.sort_columns),
                "group": details.group,
                "permissions": details.permissions,
                "replication": "" if details.replication is None else str(details.replication),
            }
        ),
        **_of_annotations(item.annotations),
        **_of_source(item.name.id, item.name.source.name),
    }


def _of_annotations(annotations: Annotations) -> dict[str, str]:
    return {
        **{key: ", ".join(values) for key, values in annotations.properties.items()},
        **_filled({"inheritedTags": ", ".join(annotations.inherited_tags)}),
    }


def _of_source(identity: str, source: str) -> dict[str, str]:
    return {"navlin.identity": identity, **_filled({"navlin.source": source})}


def _filled(texts: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in texts.items() if text}


def schema(item: ExportedDataset, names: DatahubUrns, *, tags: bool) -> Aspect:
    """Return the ``schemaMetadata`` of a dataset. The columns are in table order, with partition keys last."""
    return {
        "schemaName": item.name.full_name,
        "platform": platform_urn(names.platform(item.name)),
        "version": 0,
        "hash": "",
        "platformSchema": {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}},
        "fields": [_field(each, names, tags=tags) for each in item.columns],
    }


def _field(column: ExportedColumn, names: DatahubUrns, *, tags: bool) -> Aspect:
    found: Aspect = {
        "fieldPath": names.field_path(column.name),
        "nullable": True,
        "type": {"type": {f"com.linkedin.schema.{type_of(column.details.type)}Type": {}}},
        "nativeDataType": column.details.type,
        "recursive": False,
        "isPartitioningKey": column.partition_key,
    }
    if description := _description(column.annotations, column.details.comment):
        found["description"] = description
    if column.annotations.name:
        found["label"] = column.annotations.name
    if tags and column.annotations.tags:
        found["globalTags"] = global_tags(column.annotations.tags)
    return found


def type_of(native: str) -> str:
    """Return DataHub's type for a type of Hive, Impala or Spark; Null if the type is unknown."""
    word = _FIRST_WORD.match(native.strip().lower())
    return _TYPES.get(word[0] if word else "", "Null")


def view(item: ExportedDataset) -> Aspect:
    """Return the ``viewProperties`` of a view, with its text."""
    materialized = item.details.kind == "MATERIALIZED_VIEW"
    return {"materialized": materialized, "viewLogic": item.details.text, "viewLanguage": "SQL"}


def ownership(owner: str) -> Aspect:
    """Return the ``ownership``, with the owner according to the source."""
    owners = [{"owner": user(owner), "type": "TECHNICAL_OWNER", "source": {"type": "SERVICE"}}]
    return {"owners": owners, "lastModified": stamp(0)}


def global_tags(names: Iterable[str]) -> Aspect:
    return {"tags": [{"tag": tag(each)} for each in names]}


# -- Operations ----------------------------------------------------------------------------------------------------------


def flow(item: ExportedOperation, env: str) -> Aspect:
    """Return the ``dataFlowInfo`` of the source of an operation."""
    source = item.source
    known = _filled({"cluster": source.cluster, "navlin.sourceType": source.type})
    return {"name": source.name or source.id, "env": env, "customProperties": known}


def job(item: ExportedOperation, flow_urn: str, env: str, deciding: Iterable[str]) -> Aspect:
    """Return the ``dataJobInfo`` of an operation. ``deciding`` are the columns that determine which rows the operation
    writes."""
    statement, runs = item.statement, item.runs
    ends = {
        "unlinked": ", ".join(each.name for each in item.unlinked),
        "incomplete": "; ".join(statement.incomplete_reasons) or ("yes" if statement.incomplete else ""),
    }
    known = {
        "operationType": statement.type,
        "controlFlow": ", ".join(deciding),
        **ends,
        "executions": str(runs.count) if runs.count else "",
        "lastPrincipal": runs.principal,
        **_of_annotations(item.annotations),
        **_of_source(item.id, item.source.name),
    }
    found: Aspect = {
        "name": item.annotations.name or item.name or item.id,
        "type": {"string": "SQL" if statement.text else engine(item).upper()},
        "flowUrn": flow_urn,
        "env": env,
        "customProperties": _filled(known),
    }
    if description := item.annotations.description or statement.text:
        found["description"] = description
    return found


# -- Executions ----------------------------------------------------------------------------------------------------------


def run(item: ExportedRun) -> Aspect:
    """Return the ``dataProcessInstanceProperties`` of a run."""
    operation, details = item.operation, item.execution.details
    found: Aspect = {
        "name": details.name or operation.name or item.execution.id,
        "created": stamp(details.started_ms or details.as_of_ms, user(details.principal)),
        "customProperties": _filled(
            {
                "status": details.status,
                "principal": details.principal,
                "queryId": details.query_id,
                "jobId": details.application,
                "computeEngine": details.compute_engine,
                "errorMessage": details.error,
                "runAs": ", ".join(each.name for each in item.execution.run_as),
                "runFor": ", ".join(each.name for each in item.execution.run_for),
                **_of_source(item.execution.id, operation.source.name),
            }
        ),
    }
    if kind := _process_type(item):
        found["type"] = kind
    return found


def _process_type(item: ExportedRun) -> str:
    """Return the process type of a run; "" if unknown."""
    if item.operation.statement.type == "STREAM":
        return "STREAMING"
    return "BATCH_SCHEDULED" if item.execution.run_for else ""


def kind_of(operation: ExportedOperation) -> str:
    """Return the kind of job: the type of the statement, or else the engine."""
    return operation.statement.type or engine(operation).upper()


def run_events(item: ExportedRun) -> Iterator[Aspect]:
    """Yield each ``dataProcessInstanceRunEvent``: the start, and the end if known. DataHub replaces an event that has
    the same id and time, so sending an event again makes no duplicate."""
    details, identity = item.execution.details, item.execution.id
    began_ms = details.started_ms or details.ended_ms or details.as_of_ms
    result = result_of(details)
    if result != SKIPPED:
        yield _event(began_ms, "STARTED", identity)
    if details.status in UNDER_WAY or not (details.status or details.ended_ms):
        return
    ended_ms = details.ended_ms or max(began_ms, details.as_of_ms)
    event = _event(ended_ms, "COMPLETE", identity)
    if result:
        event["result"] = {"type": result, "nativeResultType": engine(item.operation)}
    if details.started_ms and details.ended_ms:
        event["durationMillis"] = max(0, details.ended_ms - details.started_ms)
    yield event


def result_of(details: ExecutionDetails) -> str:
    """Return DataHub's result of a run; "" if unknown."""
    if details.status == "KILLED" and not details.started_ms:
        return SKIPPED
    return RESULTS.get(details.status, "")


def _event(time_ms: int, status: str, identity: str) -> Aspect:
    return {
        "timestampMillis": time_ms,
        "status": status,
        "attempt": 1,
        "messageId": f"{identity}-{status}",
        "partitionSpec": {"partition": "FULL_TABLE_SNAPSHOT", "type": "FULL_TABLE", "timePartition": None},
    }
