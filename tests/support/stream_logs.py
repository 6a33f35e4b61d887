"""Streaming queries as they appear in event logs, and the lineage read from them."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from navlin.model.keys import EntityType, Key, RelationType
from navlin.model.records import Entity
from tests.support.spark_logs import Extracted, application, log_start, node, read_once, start, write_log
from tests.support.spark_plans import Op, op, printed

QUERY, RUN = "d1807a09-0408-49c4-82f0-07253e4d6a08", "40cb62c9-ae96-4cd5-8f53-b70c70dda84a"
STREAMING = "org.apache.spark.sql.streaming.StreamingQueryListener$Query"


@dataclass(frozen=True)
class Seen:
    """The lineage of one streaming query. ``columns`` maps columns to ``data | control`` with flags; ``unknown`` lists
    unknown inputs. ``complete`` is true if the operation is not marked incomplete.
    """

    inputs: set[str]
    outputs: set[str]
    columns: dict[str, str]
    complete: bool
    unknown: list[str]


def seen(extracted: Extracted, name: str) -> Seen:
    """Return the lineage of the query with this name; paths are shortened to their last component."""
    [operation] = [each for each in extracted.operations if each.key.name.endswith(f": {name}")]
    identity = operation.key.identity
    flows = [
        each
        for each in extracted.relations.values()
        if each.type in (RelationType.DATA_FLOW, RelationType.CONTROL_FLOW)
    ]
    columns: dict[str, str] = {}
    for part in _parts(extracted, operation):
        sides = {
            kind: sorted(named(each.ep1) for each in flows if each.ep2 == part.key and each.type is kind)
            for kind in (RelationType.DATA_FLOW, RelationType.CONTROL_FLOW)
        }
        text = f"{', '.join(sides[RelationType.DATA_FLOW])} | {', '.join(sides[RelationType.CONTROL_FLOW])}"
        flags = [flag for flag in ("inferred", "opaque", "incomplete") if part.attributes.get(flag)]
        for each in flows:
            if each.ep1 == part.key:
                columns[named(each.ep2)] = " ".join((text.strip(" "), *flags)).strip()
    return Seen(
        {named(each.ep1) for each in flows if each.ep2.identity == identity},
        {named(each.ep2) for each in flows if each.ep1.identity == identity},
        columns,
        not operation.attributes.get("incomplete"),
        list(operation.attributes.get("unknownInputs") or []),
    )


def _parts(extracted: Extracted, operation: Entity) -> list[Entity]:
    return [
        each
        for each in extracted.entities.values()
        if each.key.type is EntityType.SUB_OPERATION and each.key.parent == operation.key
    ]


def named(key: Key) -> str:
    if key.type is EntityType.FIELD and key.parent is not None:
        return f"{named(key.parent)}.{key.name}"
    if key.file_system_path:
        return key.name
    return f"{key.parent.name}.{key.name}" if key.parent else key.name


def executions(extracted: Extracted) -> dict[str, Entity]:
    return {str(each.attributes["operation"]).rpartition(": ")[2]: each for each in extracted.executions}


def to(output: str, **columns: str) -> dict[str, str]:
    return {f"{output}.{column}": flow for column, flow in columns.items()}


# -- Lines of a log -----------------------------------------------------------------------------------------------


def batch(number: int = 0, *, run: str = RUN) -> dict[str, Any]:
    return {"description": f"clicks\nid = {QUERY}\nrunId = {run}\nbatch = {number}"}


def progress(
    sources: list[Any], sink: str = "FileSink[hdfs://nn/out]", *, at: str = "2026-01-01"
) -> dict[str, Any]:
    described = [each if isinstance(each, dict) else {"description": each} for each in sources]
    return {
        "Event": STREAMING + "ProgressEvent",
        "progress": {
            "id": QUERY,
            "runId": RUN,
            "name": "clicks",
            "timestamp": f"{at}T00:00:00.000Z",
            "sources": [{"numInputRows": 1, **each} for each in described],
            "sink": {"description": sink},
        },
    }


def scanned(root: Op, *leaves: dict[str, Any], number: int = 0, **more: Any) -> dict[str, Any]:
    """The start of a micro-batch with this plan. ``leaves`` are the leaf nodes of its tree."""
    [tree] = leaves if "Scan" in root.name else [node(root.name, root.name, *leaves)]
    return start(number, (copy.deepcopy(tree), printed(root)), **{**batch(), **more})


def stream_scan(columns: str, text: str) -> tuple[Op, dict[str, Any]]:
    """``MicroBatchScan`` as printed, and as a node of the tree."""
    block = f"Output [{columns.count('#')}]: [{columns}]\n{text}"
    return op("MicroBatchScan", block), node("MicroBatchScan", f"MicroBatchScan[{columns}] {text}")


def file_scan(columns: str, location: str, table: str = "") -> tuple[Op, dict[str, Any]]:
    name = f"Scan parquet {table}"
    block = f"Output [{columns.count('#')}]: [{columns}]\nBatched: true"
    return op(name, block), node(
        name, f"FileScan parquet {table}[{columns}] Batched: true", location=location
    )


def rows(columns: str, made: str = "MapPartitionsRDD[5]") -> tuple[Op, dict[str, Any]]:
    block = (
        f"Output [{columns.count('#')}]: [{columns}]\nArguments: [{columns}], {made} at start, ExistingRDD"
    )
    return op("Scan ExistingRDD", block), node("Scan ExistingRDD", f"Scan ExistingRDD[{columns}]")


def extracted_of(tmp_path: Path, *log_events: dict[str, Any]) -> Extracted:
    write_log(tmp_path, log_start(), application(), *log_events)
    return read_once(tmp_path)


def started(**more: Any) -> dict[str, Any]:
    event = {"Event": STREAMING + "StartedEvent", "id": QUERY, "runId": RUN, "name": "clicks"}
    return event | {"timestamp": "2026-01-01T00:00:00.000Z"} | more


def terminated(exception: str | None = None) -> dict[str, Any]:
    return {"Event": STREAMING + "TerminatedEvent", "id": QUERY, "runId": RUN, "exception": exception}


KAFKA = stream_scan("key#1, value#2", "class org.apache.spark.sql.kafka010.KafkaSourceProvider$KafkaScan")
ICEBERG = stream_scan("id#1L, v#2", "IcebergScan(table=ice.db.src, schemaId=0, snapshotId=7, branch=null)")
OLD_ICEBERG = stream_scan("id#1L, v#2", "ice.db.src [filters=]")
MEMORY = stream_scan("value#1", "MemoryStreamDataSource")
DELTA = file_scan("id#1L, v#2", "TahoeBatchFileIndex(1 paths)[hdfs://nn/lake/t]")
DELTA_TABLE = file_scan("id#1L, v#2", "TahoeBatchFileIndex(1 paths)[hdfs://nn/lake/t]", "spark_catalog.d.t")
TWO_FILES = file_scan("id#1L, v#2", "InMemoryFileIndex(2 paths)[hdfs://nn/in/part-1, ...]")
