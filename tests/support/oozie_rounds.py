"""Runs of the Oozie extractor without a pipeline: plans, records, and the contents of its server."""

from __future__ import annotations

import pickle
from typing import Any
from xml.sax.saxutils import escape

import orjson

from extractors.oozie import Oozie
from navlin.model.keys import Key, RelationType
from navlin.model.plan import Plan, Positions
from navlin.model.records import Position, Record, Split
from navlin.model.source import HDFS, HIVE, OOZIE, YARN, Estate, Source, source_id
from tests.services.oozie import OozieServer, gmt
from tests.services.rest import RestServer
from tests.support.yarn_rounds import Extracted

NOW_MS = 1_800_000_000_000
SECOND_MS, MINUTE_MS, HOUR_MS = 1_000, 60_000, 3_600_000
SOURCE = Source(source_id("c", "OOZIE-1"), OOZIE, "OOZIE-1", "c")
NAMENODE = Source(source_id("c", "HDFS-1"), HDFS, "HDFS-1", "c", ("hdfs://ns1",))
METASTORE = Source(source_id("c", "HIVE-1"), HIVE, "HIVE-1", "c", ("thrift://hms:9083",))
RESOURCES = Source(source_id("c", "YARN-1"), YARN, "YARN-1", "c", ("http://rm1:8088",))
ESTATE = Estate("c", (SOURCE, NAMENODE, METASTORE, RESOURCES))


def identity(number: int, kind: str = "W") -> str:
    return f"{number:07d}-261126212143752-oozie-root-{kind}"


def conf(**values: str) -> str:
    """Return a configuration as Oozie prints it. In the names, __ replaces a dot. Each configuration has a password, as
    users write them."""
    properties = {
        "db.password": "hunter2",
        **{name.replace("__", "."): value for name, value in values.items()},
    }
    return "<configuration>\r\n{}</configuration>".format(
        "".join(
            f"  <property>\r\n    <name>{name}</name>\r\n    <value>{escape(value)}</value>\r\n  </property>\r\n"
            for name, value in properties.items()
        )
    )


def workflow(number: int, *actions: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a workflow in the form of Oozie's answer. By default, it was created ``number`` seconds after an hour ago,
    and ran for one second.
    """
    created_ms = NOW_MS - HOUR_MS + number * SECOND_MS
    made = {
        "id": identity(number),
        "appName": "daily",
        "appPath": "hdfs://ns1/apps/daily",
        "externalId": None,
        "parentId": None,
        "user": "etl",
        "group": None,
        "acl": None,
        "run": 0,
        "status": "SUCCEEDED",
        "createdTime": gmt(created_ms),
        "startTime": gmt(created_ms),
        "endTime": gmt(created_ms + SECOND_MS),
        "lastModTime": gmt(created_ms + SECOND_MS),
        "conf": conf(),
        "consoleUrl": "http://oozie1:11000/oozie?job=" + identity(number),
        "toString": "Workflow id[…]",
        **more,
    }
    made["actions"] = [{**each, "id": f"{made['id']}@{each['name']}"} for each in actions]
    return made


def running(number: int, *actions: dict[str, Any], **more: Any) -> dict[str, Any]:
    return workflow(number, *actions, **{"status": "RUNNING", "endTime": None, **more})


def action(name: str, type: str = "shell", **more: Any) -> dict[str, Any]:
    """Return an action of a workflow in the form of Oozie's answer."""
    return {
        "name": name,
        "type": type,
        "status": "OK",
        "conf": "",
        "externalId": "-",
        "externalChildIDs": None,
        "externalStatus": "OK",
        "consoleUrl": "-",
        "startTime": gmt(NOW_MS - HOUR_MS),
        "endTime": gmt(NOW_MS - HOUR_MS),
        "errorCode": None,
        "errorMessage": None,
        "transition": "end",
        "data": None,
        "toString": "Action name[…]",
        **more,
    }


def coordinator(number: int, *actions: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a coordinator in the form of Oozie's answer, created ``number`` seconds after an hour ago."""
    made = {
        "coordJobId": identity(number, "C"),
        "coordJobName": "hourly",
        "coordJobPath": "hdfs://ns1/apps/hourly",
        "bundleId": None,
        "status": "RUNNING",
        "user": "etl",
        "frequency": "1",
        "timeUnit": "HOUR",
        "timeZone": "UTC",
        "createdTime": gmt(NOW_MS - HOUR_MS + number * SECOND_MS),
        "startTime": gmt(NOW_MS - HOUR_MS),
        "endTime": None,
        "lastAction": None,
        "nextMaterializedTime": None,
        "pauseTime": None,
        "conf": conf(nameNode="hdfs://ns1"),
        "toString": "Coordinator application id[…]",
        **more,
    }
    made["actions"] = [{**each, "id": f"{made['coordJobId']}@{each['actionNumber']}"} for each in actions]
    return made


def coordinator_action(number: int, status: str = "SUCCEEDED", **more: Any) -> dict[str, Any]:
    return {
        "actionNumber": number,
        "status": status,
        "nominalTime": gmt(NOW_MS - HOUR_MS + number * MINUTE_MS),
        "createdTime": gmt(NOW_MS - HOUR_MS),
        "lastModifiedTime": gmt(NOW_MS - HOUR_MS + SECOND_MS),
        "externalId": None,
        "missingDependencies": "",
        "errorCode": None,
        "errorMessage": None,
        "type": None,
        **more,
    }


def bundle(number: int, **more: Any) -> dict[str, Any]:
    return {
        "bundleJobId": identity(number, "B"),
        "bundleJobName": "everything",
        "bundleJobPath": "hdfs://ns1/apps/bundle",
        "bundleCoordJobs": [],
        "status": "RUNNING",
        "user": "etl",
        "createdTime": gmt(NOW_MS - HOUR_MS + number * SECOND_MS),
        "kickoffTime": None,
        "startTime": None,
        "endTime": None,
        "pauseTime": None,
        "timeUnit": "NONE",
        "conf": conf(),
        **more,
    }


def definition(*actions: str, name: str = "daily", more: str = "") -> str:
    """Return the definition of a workflow with these actions, each a shell action."""
    shell = "".join(
        f'<action name="{each}"><shell xmlns="uri:oozie:shell-action:1.0"><exec>true</exec></shell>'
        '<ok to="end"/><error to="fail"/></action>'
        for each in actions
    )
    begin = f'<workflow-app xmlns="uri:oozie:workflow:1.0" name="{name}">{more}<start to="end"/>'
    return f'{begin}{shell}<end name="end"/></workflow-app>'


def named(key: Key) -> str:
    return key.file_system_path or key.name


class Following:
    """An extractor that keeps its positions from run to run, as in the pipeline."""

    def __init__(self, *servers: RestServer, **settings: Any) -> None:
        urls = tuple(f"{server.url}/oozie" for server in servers)
        self.extractor = Oozie(SOURCE, settings.pop("estate", ESTATE), urls, **settings)
        self.positions: dict[str, Any] = {}

    def plan(self, *, complete: bool = False) -> Plan:
        return self.extractor.plan(Positions(dict(self.positions), NOW_MS, complete))

    def read(self, split: Split) -> list[Record]:
        return list(self.extractor.read(pickle.loads(pickle.dumps(split))))  # noqa: S301 - pickled by this test

    def run(self, *, complete: bool = False) -> Extracted:
        extracted = Extracted(self.plan(complete=complete))
        for split in extracted.plan.splits:
            extracted.records += self.read(split)
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


def children(extracted: Extracted) -> set[tuple[str, str]]:
    """Return the (parent, child) names of the stated PARENT_CHILD relations."""
    return {(each.ep1.name, each.ep2.name) for each in extracted.relations(RelationType.PARENT_CHILD)}


def physical(extracted: Extracted) -> set[tuple[str, str, Any]]:
    """Return the (run, application, action) of the LOGICAL_PHYSICAL relations."""
    return {
        (each.ep1.name, each.ep2.name, each.attributes["oozieAction"])
        for each in extracted.relations(RelationType.LOGICAL_PHYSICAL)
    }


def serving(*jobs: dict[str, Any], **definitions: str) -> OozieServer:
    """Return a server with these jobs. ``definitions`` are those of all jobs of a kind: W, C or B."""
    server = OozieServer()
    add(server, *jobs, **definitions)
    return server


def add(server: OozieServer, *jobs: dict[str, Any], **definitions: str) -> None:
    """Add jobs to a server, or replace them."""
    for job in jobs:
        key = next(job[field] for field in ("id", "coordJobId", "bundleJobId") if field in job)
        server.jobs[key] = job
        if key[-1] in definitions:
            server.definitions[key] = definitions[key[-1]]
