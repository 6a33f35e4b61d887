# ruff: noqa: S608 (no SQL here reaches a database)
"""Records that attacks write: lines of Impala, events of OpenLineage, event logs of Spark."""

from __future__ import annotations

import json
import time
import uuid
from typing import Any


def impala_record(table: str, source: str = "shop.origin", text: str = "", **other: Any) -> dict[str, Any]:
    now_s = int(time.time())
    return {
        "queryText": text or f"insert into {table} select a from {source}",
        "queryId": f"{uuid.uuid4().hex[:16]}:{uuid.uuid4().hex[:16]}",
        "hash": uuid.uuid4().hex,
        "user": "ann",
        "timestamp": now_s - 2,
        "endTime": now_s - 1,
        "edges": [{"sources": [1], "targets": [0], "edgeType": "PROJECTION"}],
        "vertices": [
            {"id": 0, "vertexType": "COLUMN", "vertexId": f"{table}.a"},
            {"id": 1, "vertexType": "COLUMN", "vertexId": f"{source}.a"},
        ],
        **other,
    }


def event(
    kind: str,
    run: str,
    job: str,
    inputs: list[str] | None = None,
    outputs: list[str] | None = None,
    sql: str = "",
    when_s: float | None = None,
    **facets: Any,
) -> dict[str, Any]:
    """An OpenLineage run event. Inputs and outputs are dataset names in the namespace `pg://h:1`."""
    at = time.gmtime(time.time() if when_s is None else when_s)
    job_facets = {"sql": {"_producer": "p", "_schemaURL": "s", "query": sql}} if sql else {}
    return {
        "eventType": kind,
        "eventTime": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", at),
        "run": {"runId": run, "facets": facets},
        "job": {"namespace": "attacks", "name": job, "facets": job_facets},
        "inputs": [{"namespace": "pg://h:1", "name": name} for name in inputs or []],
        "outputs": [{"namespace": "pg://h:1", "name": name} for name in outputs or []],
        "producer": "attacks",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
    }


def spark_log(application: str, out: str, description: str = "insert", execution: int = 0) -> bytes:
    """An event log with one SQL execution, which reads file:/data/in and writes `out`."""
    sql = "org.apache.spark.sql.execution.ui.SparkListenerSQLExecution"
    now_ms = int(time.time() * 1000)
    plan = (
        "== Physical Plan ==\nExecute InsertIntoHadoopFsRelationCommand (2)\n+- Scan csv  (1)\n\n\n"
        "(1) Scan csv \nOutput [1]: [a#1]\nBatched: false\nLocation: InMemoryFileIndex [file:/data/in]\n"
        "ReadSchema: struct<a:string>\n\n(2) Execute InsertIntoHadoopFsRelationCommand\nInput [1]: [a#1]\n"
        f"Arguments: {out}, false, CSV, [path={out}], Overwrite, [a]\n\n"
    )
    write = "Execute InsertIntoHadoopFsRelationCommand"
    scan = {
        "nodeName": "Scan csv ",
        "simpleString": "FileScan csv [a#1] Batched: false",
        "children": [],
        "metadata": {"Location": "InMemoryFileIndex(1 paths)[file:/data/in]"},
        "metrics": [],
    }
    info = {
        "nodeName": write,
        "simpleString": f"{write} {out}, false, CSV, [path={out}], Overwrite, [a]",
        "children": [scan],
        "metadata": {},
        "metrics": [],
    }
    start = {
        "Event": sql + "Start",
        "executionId": execution,
        "description": description,
        "details": "",
        "physicalPlanDescription": plan,
        "sparkPlanInfo": info,
        "time": now_ms,
    }
    lines: list[dict[str, Any]] = [
        {"Event": "SparkListenerLogStart", "Spark Version": "3.5.1"},
        {
            "Event": "SparkListenerApplicationStart",
            "App Name": "a",
            "App ID": application,
            "Timestamp": now_ms,
            "User": "u",
        },
        start,
        {"Event": sql + "End", "executionId": execution, "time": now_ms + 1, "errorMessage": ""},
        {"Event": "SparkListenerApplicationEnd", "Timestamp": now_ms + 2},
    ]
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)
