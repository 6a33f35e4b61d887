"""Names with generated ids, and kinds of dependency, as in the documents of Cloudera and Atlas, which differ from the
hooks.

A generated id is derived from the operation instead of random, so exporting twice changes nothing.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

from navlin.export.atlas import names
from navlin.export.atlas.entities import Ref
from navlin.export.values import ColumnLineage, ExportedExecution, ExportedOperation, FlowRole

ID_DIGITS: Final = 12


def dependency(part: ColumnLineage) -> str:
    """Return the kind of dependency: SIMPLE (the value of the input, unchanged), EXPRESSION (computed), or SCRIPT (made
    by user code).

    Hive records an expression for a computed column, and none for a column made by a script.
    """
    about = part.details
    if about.opaque:
        return "SCRIPT"
    if about.expression or about.transformation not in ("", "IDENTITY"):
        return "EXPRESSION"
    inputs = [*part.inputs_of(FlowRole.DATA)]
    as_it_is = about.transformation == "IDENTITY" or (len(inputs) == 1 and inputs[0].name)
    return "SIMPLE" if as_it_is else "SCRIPT"


def process_name(operation: ExportedOperation, namespace: names.Namespace) -> str:
    """Return the documented name of a process: ``db.table@cluster:id`` for an Impala query, the text in lower case for
    a Hive query, "" for all others."""
    if operation.statement.engine == "HIVE":
        return operation.statement.text.strip().lower()
    if operation.statement.engine != "IMPALA":
        return ""
    table = next((end for end in operation.outputs if end.dataset.is_table), None)
    return "" if table is None else f"{names.of_dataset(table.dataset, namespace)}:{generated(operation.id)}"


def process_attributes(
    operation: ExportedOperation, kind: str, inputs: tuple[Ref, ...], outputs: tuple[Ref, ...]
) -> dict[str, Any]:
    """Return the attributes of a process in which the documents differ from the hooks. The name is the text of the
    query."""
    if kind not in ("impala_process", "hive_process"):
        return {}
    text = operation.statement.text.strip()
    return {
        "name": text or operation.name,
        "inputs": [each.to_json() for each in inputs],
        "outputs": [each.to_json() for each in outputs],
    }


def execution_attributes(
    operation: ExportedOperation, execution: ExportedExecution, process: str
) -> dict[str, Any]:
    """Return the attributes of an execution in which the documents differ from the hooks. The qualifiedName is
    ``process:start in epoch ms:generated id``, the name ``text:start in epoch ms``."""
    run, text = execution.details, operation.statement.text.strip()
    name = f"{text or operation.name}:{run.started_ms}"
    found = {"qualifiedName": f"{process}:{run.started_ms}:{generated(execution.id)}", "name": name}
    if operation.statement.engine == "IMPALA":
        started = datetime.fromtimestamp(run.started_ms / 1000, UTC)
        found["queryId"] = f"impala_{started:%Y%m%d%H%M%S}_{run.query_id or generated(execution.id)}"
    return {**found, "queryText": text}


def generated(identity: str) -> str:
    """Derive a decimal number from an identity. An identity that is not hexadecimal is returned unchanged."""
    try:
        return str(int(identity[:ID_DIGITS], 16))
    except ValueError:
        return identity
