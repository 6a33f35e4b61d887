"""Runs of the YARN extractor without a pipeline: plans, records, and the contents of its services."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from typing import Any

import orjson

from extractors.yarn import Yarn
from navlin.model.keys import EntityType, Key, RelationType
from navlin.model.plan import Plan, Positions
from navlin.model.records import Entity, Position, Record, Reject, Relation
from navlin.model.source import HDFS, HIVE, YARN, Estate, Source, source_id
from tests.services.rest import RestServer

NOW_MS = 1_800_000_000_000
MINUTE_MS = 60_000
SOURCE = Source(source_id("c", "YARN-1"), YARN, "YARN-1", "c")
NAMENODE = Source(source_id("c", "HDFS-1"), HDFS, "HDFS-1", "c", ("hdfs://ns1",))
METASTORE = Source(source_id("c", "HIVE-1"), HIVE, "HIVE-1", "c", ("thrift://hms:9083",))
ESTATE = Estate("c", (SOURCE, NAMENODE, METASTORE))


def app(number: int, name: str | None = "nightly", type: str = "SPARK", **more: Any) -> dict[str, Any]:
    """An application as the ResourceManager reports it. By default, it started ten minutes ago and ran for one second."""
    started_ms = NOW_MS - 10 * MINUTE_MS + number
    return {
        "id": f"application_1799000000000_{number:04d}",
        "name": name,
        "applicationType": type,
        "user": "etl",
        "queue": "root.batch",
        "state": "FINISHED",
        "finalStatus": "SUCCEEDED",
        "progress": 100.0,
        "trackingUrl": "N/A",
        "diagnostics": "",
        "clusterId": 1_799_000_000_000,
        "applicationTags": "",
        "startedTime": started_ms,
        "finishedTime": started_ms + 1_000,
        "memorySeconds": 2_048,
        "vcoreSeconds": 2,
        **more,
    }


def running(number: int, **more: Any) -> dict[str, Any]:
    return app(number, state="RUNNING", finalStatus="UNDEFINED", finishedTime=0, **more)


def job(number: int, name: str = "word count", **more: Any) -> dict[str, Any]:
    """The MapReduce job of application ``number``, as the JobHistoryServer reports it."""
    started_ms = NOW_MS - 10 * MINUTE_MS + number
    return {
        "id": f"job_1799000000000_{number:04d}",
        "name": name,
        "user": "etl",
        "queue": "root.batch",
        "state": "SUCCEEDED",
        "submitTime": started_ms,
        "startTime": started_ms + 100,
        "finishTime": started_ms + 900,
        "mapsTotal": 1,
        **more,
    }


@dataclass
class Extracted:
    """A plan, and all records read for it."""

    plan: Plan
    records: list[Record] = field(default_factory=list)

    @property
    def executions(self) -> dict[str, Entity]:
        return self._entities(EntityType.OPERATION_EXECUTION)

    @property
    def operations(self) -> dict[str, Entity]:
        return self._entities(EntityType.OPERATION)

    @property
    def rejects(self) -> list[Reject]:
        return [each for each in self.records if isinstance(each, Reject)]

    def relations(self, kind: RelationType) -> list[Relation]:
        return [each for each in self.records if isinstance(each, Relation) and each.type is kind]

    @property
    def flows(self) -> set[tuple[str, str]]:
        return {(named(r.ep1), named(r.ep2)) for r in self.relations(RelationType.DATA_FLOW)}

    @property
    def reasons(self) -> dict[str, list[str]]:
        """Map the name of each operation to the reasons why it is incomplete."""
        return {name: each.attributes.get("incompleteReasons", []) for name, each in self.operations.items()}

    @property
    def run_for(self) -> set[tuple[str, str, str]]:
        """(source type and name of the logical entity, name of the application) of each LOGICAL_PHYSICAL relation."""
        return {
            (r.ep1.source.type, r.ep1.name, r.ep2.name) for r in self.relations(RelationType.LOGICAL_PHYSICAL)
        }

    def _entities(self, kind: EntityType) -> dict[str, Entity]:
        found = [each for each in self.records if isinstance(each, Entity) and each.key.type is kind]
        return {each.key.name: each for each in found}


def named(key: Key) -> str:
    return key.file_system_path or key.name


class Following:
    """An extractor that keeps its positions from run to run, as in the pipeline."""

    def __init__(self, *services: RestServer, history: RestServer | None = None, **settings: Any) -> None:
        histories = (history.url,) if history else ()
        urls = tuple(service.url for service in services)
        self.extractor = Yarn(SOURCE, ESTATE, urls, histories, **settings)
        self.positions: dict[str, Any] = {}

    def plan(self, *, complete: bool = False) -> Plan:
        return self.extractor.plan(Positions(dict(self.positions), NOW_MS, complete))

    def run(self, *, complete: bool = False) -> Extracted:
        extracted = Extracted(self.plan(complete=complete))
        for split in extracted.plan.splits:
            extracted.records += self.extractor.read(pickle.loads(pickle.dumps(split)))  # noqa: S301 - pickled by this test
        yielded = [each for each in extracted.records if isinstance(each, Position)]
        for position in (*yielded, *extracted.plan.positions):
            self.positions[position.key] = orjson.loads(orjson.dumps(position.value))
            if position.value is None:
                del self.positions[position.key]
        return extracted

    def is_quiet(self) -> bool:
        plan = self.plan()
        news = any(self.positions.get(each.key) != each.value for each in plan.positions)
        return not plan.splits and not plan.covers and not news
