"""OpenLineage events for tests, and the extracted lineage as readable text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from extractors.openlineage import OpenLineageEvents
from navlin.model.keys import EntityType, Key, RelationType
from navlin.model.plan import Plan, Positions
from navlin.model.records import Position, Record, Split
from navlin.model.source import HDFS, HIVE, YARN, Estate, Source, source_id
from tests.support.record_edges import Read

Json = dict[str, Any]

SDK_1 = Source(source_id("c", "OPENLINEAGE-1"), "SDK", "OPENLINEAGE-1", "c", claimable=False)
HIVE_1 = Source(source_id("c", "HIVE-1"), HIVE, "HIVE-1", "c", ("thrift://hms:9083",))
HDFS_1 = Source(source_id("c", "HDFS-1"), HDFS, "HDFS-1", "c", ("hdfs://ns1",))
YARN_1 = Source(source_id("c", "YARN-1"), YARN, "YARN-1", "c", ("http://rm:8088",))
ESTATE = Estate("c", (SDK_1, HIVE_1, HDFS_1, YARN_1))
RUN = "0195f3a1-0000-7000-8000-000000000001"
APPLICATION = "0195f3a1-0000-7000-8000-00000000000a"
AIRFLOW = "0195f3a1-0000-7000-8000-00000000000b"
FIRST_MS = 1_700_000_000_000
NOW_MS = FIRST_MS + 60_000


def dataset(namespace: str, name: str, **facets: Any) -> Json:
    return {"namespace": namespace, "name": name, "facets": facets}


def table(name: str, **facets: Any) -> Json:
    return dataset("hive://hms:9083", name, **facets)


def path(name: str, **facets: Any) -> Json:
    return dataset("hdfs://ns1", name, **facets)


def event(kind: str | None, at_s: float = 0, run: str = RUN, **more: Any) -> Json:
    """A run event, ``at_s`` seconds after the first one. The job is "daily" unless ``job`` gives another name."""
    at_ms = FIRST_MS + round(at_s * 1000)
    text = f"2023-11-14T22:{13 + (20 + at_ms // 1000 - FIRST_MS // 1000) // 60:02d}:{(20 + round(at_s)) % 60:02d}Z"
    name, run_facets, job_facets = (more.pop(each, {}) for each in ("job", "run_facets", "job_facets"))
    return {
        "eventTime": text,
        **({"eventType": kind} if kind else {}),
        "producer": "https://github.com/OpenLineage/OpenLineage/tree/1.40.0/integration/spark",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": run, "facets": run_facets},
        "job": {"namespace": "prod", "name": name or "daily", "facets": job_facets},
        "inputs": [],
        "outputs": [],
        **more,
    }


class Follower:
    """Reads a directory repeatedly, as the pipeline does."""

    def __init__(self, directory: Path, **settings: Any) -> None:
        self.directory = directory
        self.extractor = OpenLineageEvents(SDK_1, ESTATE, str(directory), **settings)
        # A saved position, so that the first read does not withdraw records that an earlier version may have written.
        self.saved: dict[str, Any] = {"runs 00": []}
        self.now_ms = NOW_MS

    def write(self, *events: Any, name: str = "events.jsonl") -> None:
        with (self.directory / name).open("a") as file:
            for each in events:
                file.write((each if isinstance(each, str) else json.dumps(each)) + "\n")

    def read(self, *events: Any, complete: bool = False) -> Read:
        """Append events to the log, and return the new records."""
        if events:
            self.write(*events)
        self.now_ms += 5_000
        plan: Plan = self.extractor.plan(Positions(dict(self.saved), self.now_ms, complete))
        splits: list[Split] = list(plan.splits)
        records: list[Record] = []
        positions = list(plan.positions)
        while splits:
            for record in self.extractor.read(splits.pop(0)):
                if isinstance(record, Split):
                    splits.append(record)
                elif isinstance(record, Position):
                    positions.append(record)
                else:
                    records.append(record)
        for position in positions:
            self.saved[position.key] = json.loads(json.dumps(position.value))
            if position.value is None:
                del self.saved[position.key]
        return Read(records)


def shown(key: Key) -> str:
    match key.type:
        case EntityType.OPERATION | EntityType.SUB_OPERATION:
            return key.type.lower()
        case EntityType.FIELD if key.parent is not None:
            return f"{shown(key.parent)}.{key.name}"
        case EntityType.DIRECTORY:
            return key.file_system_path or ""
        case EntityType.DATASET | EntityType.OPERATION_EXECUTION:
            return key.name
    return f"{key.parent.name}.{key.name}" if key.parent else key.name


def flows(got: Read, *through: EntityType) -> set[str]:
    wanted = through or (EntityType.OPERATION,)
    return {
        f"{'' if r.type is RelationType.DATA_FLOW else 'CONTROL '}{shown(r.ep1)} -> {shown(r.ep2)}"
        for r in got.relations
        if r.type in (RelationType.DATA_FLOW, RelationType.CONTROL_FLOW)
        and {r.ep1.type, r.ep2.type} & set(wanted)
    }


def columns(got: Read) -> dict[str, set[str]]:
    """Map each written column to its sources. Sources of control flow are prefixed with CONTROL."""
    found: dict[str, set[str]] = {}
    for part in got.of(EntityType.SUB_OPERATION):
        read = {
            f"{'' if r.type is RelationType.DATA_FLOW else 'CONTROL '}{shown(r.ep1)}"
            for r in got.relations
            if r.ep2 == part.key and r.type is not RelationType.PARENT_CHILD
        }
        for written in (r.ep2 for r in got.relations if r.ep1 == part.key):
            found[shown(written)] = found.get(shown(written), set()) | read
    return found


def statuses(got: Read) -> dict[str, str]:
    """Map the name of each execution to the latest status reported."""
    said = sorted(got.of(EntityType.OPERATION_EXECUTION), key=lambda each: each.as_of_ms)
    return {each.key.name: each.attributes["status"] for each in said}


def symlinks(*links: tuple[str, str, str]) -> Json:
    named = [dict(zip(("namespace", "name", "type"), link, strict=True)) for link in links]
    return {"symlinks": {"identifiers": named}}


def source(name: str, column: str, *told: Json, namespace: str = "hive://hms:9083") -> Json:
    return {
        "namespace": namespace,
        "name": name,
        "field": column,
        **({"transformations": list(told)} if told else {}),
    }


IDENTITY = {"type": "DIRECT", "subtype": "IDENTITY", "description": "", "masking": False}
SUM = {"type": "DIRECT", "subtype": "AGGREGATION", "description": "sum(amount)", "masking": False}
JOIN = {"type": "INDIRECT", "subtype": "JOIN", "description": "", "masking": False}
FILTER = {"type": "INDIRECT", "subtype": "FILTER"}


def wrote(facet: Json, inputs: tuple[str, ...] = ("a.a", "a.b")) -> Json:
    return event("COMPLETE", 1, inputs=[table(name) for name in inputs], outputs=[table("b.b", **facet)])


def of_fields(fields: dict[str, list[Json]], **more: Any) -> Json:
    return {
        "columnLineage": {"fields": {name: {"inputFields": each} for name, each in fields.items()}, **more}
    }


START = event("START", 0, inputs=[table("sales.orders")])
RUNNING = event("RUNNING", 5, inputs=[path("/landing/day=1")])
COMPLETE = event("COMPLETE", 10, outputs=[table("sales.daily")])
WHOLE = {"sales.orders -> operation", "/landing -> operation", "operation -> sales.daily"}
