"""The answers of a real Oozie 5.2.1: each job, part, link and path in them, and nothing else.

The server still lists workflows about which there is no answer. They count as purged since they were listed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from navlin.model.identity import identify
from navlin.model.keys import EntityType, RelationType
from navlin.model.records import Entity
from navlin.model.source import HDFS, OOZIE, YARN, Estate, Source, source_id
from tests.services.oozie import refused
from tests.services.rest import Answer, Query, RestServer, as_json
from tests.support.oozie_rounds import SOURCE, Following, children, named, physical
from tests.support.yarn_rounds import Extracted

SUFFIX = "-261126212143752-oozie-root-"
NAMENODE = Source(source_id("c", "HDFS-1"), HDFS, "HDFS-1", "c", ("hdfs://nn1.example:8020",))
RESOURCES = Source(source_id("c", "YARN-1"), YARN, "YARN-1", "c", ("http://rm1.example:8088",))
ESTATE = Estate("c", (SOURCE, NAMENODE, RESOURCES))


def wf(number: int) -> str:
    return f"{number:07d}{SUFFIX}W"


COORDINATOR, BUNDLE = f"0000003{SUFFIX}C", f"0000002{SUFFIX}B"


class Captured(RestServer):
    """Serves the captured answers. ``workflows`` is the file with the list of workflows; ``infos`` maps ids to files, or
    to answers themselves.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(now_ms=1_795_815_000_000)
        self.folder = folder
        self.workflows = "jobs-wf.json"
        self.infos: dict[str, Any] = {
            wf(4): "wf-info.json",
            wf(5): "wf-of-coord.json",
            COORDINATOR: "coord-info.json",
            BUNDLE: "bundle-info.json",
        }
        self.definitions = {wf(4): "wf-definition.xml", COORDINATOR: "coord-definition.xml"}
        self.routes["/oozie/v2/jobs"] = self._list
        self.routes["/oozie/v2/job/"] = self._job

    def loaded(self, name: str) -> Any:
        return json.loads((self.folder / name).read_text())

    def _list(self, _: str, query: Query) -> Answer:
        if query.get("filter", "").startswith("status=RUNNING"):
            return as_json(self.loaded("empty.json"))
        files = {"wf": self.workflows, "coordinator": "jobs-coord.json", "bundle": "jobs-bundle.json"}
        return as_json(self.loaded(files[query["jobtype"]]))

    def _job(self, path: str, query: Query) -> Answer:
        job = path.rpartition("/")[2]
        if query["show"] == "definition" and job in self.definitions:
            return (
                200,
                {"Content-Type": "application/xml"},
                (self.folder / self.definitions[job]).read_bytes(),
            )
        if query["show"] == "info" and job in self.infos:
            info = self.infos[job]
            return as_json(self.loaded(info) if isinstance(info, str) else info)
        if query["show"] == "info" and job == f"{COORDINATOR}@1":
            return as_json(self.loaded("coord-action.json"))
        return refused("E0604", f"Job does not exist [{job}]")


@pytest.fixture
def captured(corpora: Path) -> Iterator[Captured]:
    with Captured(corpora / "seed-systems" / "oozie") as server:
        yield server


@pytest.fixture
def following(captured: Captured) -> Following:
    return Following(captured, estate=ESTATE)


@pytest.fixture
def read(following: Following) -> Extracted:
    return following.run()


def entity(read: Extracted, kind: EntityType, name: str) -> Entity:
    found = [each for each in read.records if isinstance(each, Entity) and each.key.type is kind]
    # An operation may be written once for each batch that has a run of it.
    return next(each for each in found if each.key.name == name)


def test_every_application_is_an_operation_keyed_by_its_path(read: Extracted) -> None:
    assert {name: each.key.identity for name, each in read.operations.items()} == {
        "orders-wf": identify(SOURCE.id, "WORKFLOW", "/apps/wf", "orders-wf"),
        "daily-small": identify(SOURCE.id, "WORKFLOW", "/apps/small", "daily-small"),
        "daily-coord": identify(SOURCE.id, "COORDINATOR", "/apps/coord"),
        "daily-bundle": identify(SOURCE.id, "BUNDLE", "/apps/bundle"),
    }
    assert {name: each.attributes["operationType"] for name, each in read.operations.items()} == {
        "orders-wf": "WORKFLOW",
        "daily-small": "WORKFLOW",
        "daily-coord": "COORDINATOR",
        "daily-bundle": "BUNDLE",
    }
    assert read.operations["orders-wf"].attributes["queryText"].startswith('<workflow-app xmlns="uri:oozie')
    assert read.operations["daily-coord"].attributes["frequency"] == "1"


def test_every_run_is_an_execution_with_its_times_and_its_status(read: Extracted) -> None:
    shown = {
        name: tuple(each.attributes.get(field) for field in ("status", "principal", "started", "ended"))
        for name, each in read.executions.items()
    }
    assert shown == {
        wf(4): ("SUCCEEDED", "alice", 1_795_728_302_000, 1_795_728_396_000),
        wf(5): ("SUCCEEDED", "alice", 1_795_728_306_000, 1_795_728_312_000),
        f"{COORDINATOR}@1": ("SUCCEEDED", "alice", 1_795_728_303_000, 1_795_728_314_000),
        f"{COORDINATOR}@2": ("SUCCEEDED", "alice", 1_795_728_303_000, 1_795_728_324_000),
        f"{COORDINATOR}@3": ("SUCCEEDED", "alice", 1_795_728_303_000, 1_795_728_330_000),
        BUNDLE: ("SUCCEEDED", "alice", 1_795_728_298_000, None),
    }
    assert read.executions[f"{COORDINATOR}@1"].attributes["nominalTime"] == "2026-11-20T00:00Z"
    assert read.executions[wf(4)].key.identity == identify(SOURCE.id, wf(4))


def test_every_action_is_a_part_and_no_control_node_is(read: Extracted) -> None:
    found = {
        each.key.identity: (
            each.key.parent.name if each.key.parent else "",
            each.key.name,
            each.attributes["operationType"],
        )
        for each in read.records
        if isinstance(each, Entity) and each.key.type is EntityType.SUB_OPERATION
    }
    orders = identify(SOURCE.id, "WORKFLOW", "/apps/wf", "orders-wf")
    assert set(found.values()) == {
        ("orders-wf", "prepare", "fs"),
        ("orders-wf", "say", "shell"),
        ("orders-wf", "copy", "map-reduce"),
        ("orders-wf", "sub", "sub-workflow"),
        ("daily-small", "touch", "fs"),
    }
    assert found[identify(orders, "copy")][1] == "copy"


def test_runs_lead_to_their_applications_on_yarn(read: Extracted) -> None:
    assert physical(read) == {
        (wf(4), "application_1795726916337_0004", "copy"),
        (wf(4), "application_1795726916337_0007", "copy"),
        (wf(4), "application_1795726916337_0005", "say"),
    }
    [yarn] = {each.ep2.source.name for each in read.relations(RelationType.LOGICAL_PHYSICAL)}
    assert yarn == "YARN-1"


def test_a_bundle_leads_to_its_coordinator_and_that_to_its_workflows(read: Extracted) -> None:
    assert children(read) == {
        ("daily-bundle", "daily-coord"),
        ("daily-coord", "daily-small"),
        (f"{COORDINATOR}@1", wf(5)),
    }


def test_data_flows_through_the_coordinator_and_through_the_action_that_copied(read: Extracted) -> None:
    flows = read.relations(RelationType.DATA_FLOW)
    assert {(named(each.ep1), named(each.ep2), bool(each.attributes.get("inferred"))) for each in flows} == {
        ("/data/in/2026/11/19", "daily-coord", True),
        ("/data/in/2026/11/20", "daily-coord", True),
        ("daily-coord", "/data/daily/20261120", True),
        ("/data/pig/orders", "copy", False),
        ("copy", "/data/oozie/out/2026-11-20", False),
    }
    sources = {end.source.name for each in flows for end in (each.ep1, each.ep2) if end.file_system_path}
    assert sources == {"HDFS-1"}


def test_a_job_that_was_purged_since_it_was_listed_is_no_reject(read: Extracted, captured: Captured) -> None:
    listed = {wf(number) for number in (0, 1, 4, 5, 6, 7, 8)}
    asked = {path.rpartition("/")[2] for path, query in captured.asked if query.get("show") == "info"}
    assert listed <= asked
    assert read.rejects == []


def test_nothing_more_is_read_until_something_changes(read: Extracted, following: Following) -> None:
    assert read.records
    assert following.is_quiet()


def test_a_repeated_run_keeps_its_id_and_is_another_execution(
    captured: Captured, following: Following
) -> None:
    following.run()
    captured.workflows = "after-rerun.json"
    [again] = [each for each in captured.loaded("after-rerun.json")["workflows"] if each["id"] == wf(0)]
    captured.infos[wf(0)] = {**again, "appPath": "/apps/small"}
    read = following.run()
    # A further workflow of the coordinator's first action was listed, and is gone. So that action was read again.
    assert read.executions.keys() == {wf(0), f"{COORDINATOR}@1"}
    execution = read.executions[wf(0)]
    assert execution.key.identity == identify(SOURCE.id, wf(0), "1")
    assert execution.key.name == wf(0)
    assert execution.attributes["started"] == 1_795_729_147_000
    assert following.is_quiet()


def test_an_answer_about_another_job_is_rejected(captured: Captured, following: Following) -> None:
    captured.infos[wf(0)] = "wf-of-coord.json"
    [reject] = following.run().rejects
    assert (reject.sample, reject.place) == (wf(0), f"{captured.url}/oozie/v2/job/{wf(0)}")
    assert "not about this job" in reject.reason


def test_no_password_of_a_configuration_is_kept(read: Extracted, following: Following) -> None:
    assert "hunter2" not in repr(read.records)
    assert "hunter2" not in repr(following.positions)


def test_the_sources_type_is_oozie(read: Extracted) -> None:
    assert {each.key.source.type for each in read.operations.values()} == {OOZIE}
