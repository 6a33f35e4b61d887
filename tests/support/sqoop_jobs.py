"""Configurations of Sqoop's jobs, and the records that the YARN extractor makes of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from navlin.model.keys import EntityType, Key, RelationType
from navlin.model.records import Relation
from navlin.model.source import Estate
from tests.services.rest import JobHistory, ResourceManager
from tests.support.yarn_rounds import ESTATE, Extracted, Following, app, job

URL = "jdbc:postgresql://db:5432/shop"
TABLE_IMPORT: dict[str, Any] = {
    "mapreduce.job.map.class": "org.apache.sqoop.mapreduce.TextImportMapper",
    "mapreduce.jdbc.url": URL,
    "mapreduce.jdbc.username": "etl",
    "mapreduce.jdbc.input.table.name": '"public"."orders"',
    "mapreduce.jdbc.input.field.names": '"id","amount"',
    "mapreduce.output.fileoutputformat.outputdir": "hdfs://ns1/data/orders",
    "mapreduce.job.working.dir": "hdfs://ns1/user/etl",
    "fs.defaultFS": "hdfs://ns1",
}
EXPORT: dict[str, Any] = {
    "mapreduce.job.map.class": "org.apache.sqoop.mapreduce.TextExportMapper",
    "mapreduce.jdbc.url": URL,
    "mapreduce.jdbc.output.table.name": '"public"."totals"',
    "mapreduce.jdbc.output.field.names": '"customer","total"',
    "mapreduce.input.fileinputformat.inputdir": "hdfs://ns1/data/totals",
    "sqoop.mapreduce.export.table.class": "totals",
    "fs.defaultFS": "hdfs://ns1",
}
QUERY_IMPORT: dict[str, Any] = {
    **{name: value for name, value in TABLE_IMPORT.items() if ".input." not in name},
    "mapreduce.jdbc.input.query": "SELECT o.id, c.name AS customer FROM orders o JOIN crm.customers c"
    " ON o.customer = c.id WHERE o.amount > 1 AND $CONDITIONS",
}


def captured(corpora: Path, name: str) -> dict[str, Any]:
    """Return the properties of a job's configuration as a real JobHistoryServer answered them."""
    conf = orjson.loads((corpora / "seed-systems" / "sqoop" / f"conf-{name}.json").read_bytes())["conf"]
    return {each["name"]: each["value"] for each in conf["property"]}


def extracted(
    *configurations: dict[str, Any], state: str = "SUCCEEDED", estate: Estate = ESTATE
) -> Extracted:
    """Return the records of jobs that ran one after the other, read in one run of the extractor."""
    with ResourceManager() as resource_manager, JobHistory() as history:
        for number, properties in enumerate(configurations, 1):
            named = str(properties.get("mapreduce.job.name", "ORDERS.jar"))
            resource_manager.apps.append(app(number, named, "MAPREDUCE", finalStatus=state))
            history.jobs.append(job(number, named, state=state))
            history.configurations[f"job_1799000000000_{number:04d}"] = properties
        following = Following(resource_manager, history=history)
        following.extractor = replace(following.extractor, estate=estate)
        return following.run()


def without_yarn(found: Extracted) -> Extracted:
    """Return the same without the operations and executions of YARN itself."""
    kept = [each for each in found.records if getattr(each, "key", None) is None or not _of_yarn(each)]
    return Extracted(found.plan, kept)


def _of_yarn(record: Any) -> bool:
    return str(getattr(record, "attributes", {}).get("internalType", "")).startswith("yarn_")


def columns_of(found: Extracted) -> dict[str, str]:
    """Map each written column to its sources: ``table.column table.column | columns that control``. Columns that
    control all columns alike have the key ``*``.
    """
    sources: dict[str, dict[RelationType, set[str]]] = {}
    outputs: dict[str, set[str]] = {}
    names: dict[str, str] = {}
    for each in (each for each in found.records if isinstance(each, Relation)):
        if each.ep2.type is EntityType.SUB_OPERATION and each.type in (
            RelationType.DATA_FLOW,
            RelationType.CONTROL_FLOW,
        ):
            names[each.ep2.identity] = each.ep2.name
            sources.setdefault(each.ep2.identity, {}).setdefault(each.type, set()).add(shown(each.ep1))
        elif each.ep1.type is EntityType.SUB_OPERATION and each.type is RelationType.DATA_FLOW:
            names[each.ep1.identity] = each.ep1.name
            outputs.setdefault(each.ep1.identity, set()).add(shown(each.ep2))
    told = {}
    for identity, name in names.items():
        kinds = sources.get(identity, {})
        data = " ".join(sorted(kinds.get(RelationType.DATA_FLOW, ())))
        control = " ".join(sorted(kinds.get(RelationType.CONTROL_FLOW, ())))
        written = "*" if name == "predicate" else " ".join(sorted(outputs.get(identity, {name})))
        told[written] = f"{data} | {control}".strip()
    return told


def shown(key: Key) -> str:
    """Return a readable name of a table, a directory or a column."""
    if key.type is EntityType.FIELD:
        above = key.parent
        assert above is not None
        return f"{shown(above)}.{key.name}"
    if key.file_system_path:
        return key.file_system_path
    return f"{key.parent_path.strip('/')}.{key.name}" if key.parent_path else key.name
