"""Operations and executions from the ResourceManager's applications."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from extractors import odd_entries
from extractors.rest import RestError
from navlin.index.journal.rejects import reject_documents
from navlin.model.identity import identify
from navlin.model.keys import RelationType
from navlin.model.records import Covered
from tests.services.rest import Answer, JobHistory, Query, ResourceManager, as_json
from tests.support.yarn_rounds import ESTATE, MINUTE_MS, NOW_MS, SOURCE, Following, app, job


def test_an_application_is_an_execution_of_the_operation_of_its_type_and_name(
    resource_manager: ResourceManager,
) -> None:
    log = "http://n1:8042/node/containerlogs/container_e17_1799000000000_0007_02_000001/etl"
    resource_manager.apps = [app(7, applicationTags="team-a, etl", amContainerLogs=log, diagnostics="null")]
    reported = Following(resource_manager).run()
    [operation] = reported.operations.values()
    [execution] = reported.executions.values()
    assert operation.key.identity == identify(SOURCE.id, "SPARK", "nightly")
    assert execution.key.identity == identify(SOURCE.id, "application_1799000000000_0007")
    assert execution.key.parent == operation.key
    assert execution.ages
    assert execution.as_of_ms == NOW_MS - 10 * MINUTE_MS + 1_007
    assert {name: value for name, value in execution.attributes.items() if value} == {
        "internalType": "yarn_operation_execution",
        "engineType": "SPARK",
        "operation": "nightly",
        "principal": "etl",
        "started": NOW_MS - 10 * MINUTE_MS + 7,
        "ended": NOW_MS - 10 * MINUTE_MS + 1_007,
        "status": "SUCCEEDED",
        "jobId": "application_1799000000000_0007",
        "queue": "root.batch",
        "applicationTags": ["team-a", "etl"],
        "attempts": 2,
        "memoryMbSeconds": 2_048,
        "vcoreSeconds": 2,
    }


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"state": "FINISHED", "finalStatus": "SUCCEEDED"}, "SUCCEEDED"),
        ({"state": "FINISHED", "finalStatus": "FAILED"}, "FAILED"),
        ({"state": "FINISHED", "finalStatus": "UNDEFINED"}, "FINISHED"),
        ({"state": "FAILED", "finalStatus": "FAILED"}, "FAILED"),
        ({"state": "KILLED", "finalStatus": "KILLED"}, "KILLED"),
        ({"state": "KILLED", "finalStatus": "UNDEFINED"}, "KILLED"),
        ({"state": "RUNNING", "finalStatus": "UNDEFINED", "finishedTime": 0}, "RUNNING"),
    ],
)
def test_an_execution_has_its_final_status_or_is_running(
    resource_manager: ResourceManager, fields: dict[str, Any], status: str
) -> None:
    resource_manager.apps = [app(1, **fields)]
    [execution] = Following(resource_manager).run().executions.values()
    assert execution.attributes["status"] == status
    assert bool(execution.attributes["ended"]) == (status != "RUNNING")


def test_diagnostics_are_bounded_and_redacted(resource_manager: ResourceManager) -> None:
    words = "AM failed, password=hunter2 " + "at java.lang.Thread\n" * 5_000
    resource_manager.apps = [app(1, state="FAILED", finalStatus="FAILED", diagnostics=words)]
    reported = Following(resource_manager).run()
    diagnostics = reported.executions["application_1799000000000_0001"].attributes["diagnostics"]
    assert diagnostics.startswith("AM failed")
    assert "hunter2" not in repr((reported.plan, reported.records))
    assert len(diagnostics) < 5_000


@pytest.mark.parametrize("empty", [{"apps": None}, {"apps": {}}, {}, {"apps": {"app": []}}, None])
def test_an_empty_answer_is_accepted_in_every_form(resource_manager: ResourceManager, empty: Any) -> None:
    resource_manager.routes["/ws/v1/cluster/apps"] = lambda *_: as_json(empty)
    plan = Following(resource_manager).plan()
    assert not plan.splits
    assert not plan.covers


def test_an_application_no_longer_listed_is_not_deleted(resource_manager: ResourceManager) -> None:
    resource_manager.apps = [app(1)]
    following = Following(resource_manager)
    assert following.run().executions
    resource_manager.apps = []
    for complete in (False, True):
        reported = following.run(complete=complete)
        assert not reported.plan.covers
        assert not any(isinstance(each, Covered) for each in reported.records)


def test_missing_new_or_mistyped_keys_are_tolerated(
    resource_manager: ResourceManager,
) -> None:
    bare = {"id": "application_1799000000000_10001", "state": "FINISHED", "finishedTime": NOW_MS - 5}
    odd = app(2, progress="NaN", memorySeconds="12", startedTime=-1, applicationTags=None, brandNew={"a": 1})
    resource_manager.apps = [bare, odd, {"state": "FINISHED", "finishedTime": NOW_MS}, app(3, name=None)]
    reported = Following(resource_manager).run()
    assert len(reported.executions) == 3
    assert reported.executions["application_1799000000000_10001"].attributes["engineType"] == "YARN"
    assert reported.executions["application_1799000000000_0002"].attributes["memoryMbSeconds"] == 12
    assert reported.plan.note == f"{resource_manager.url}: 1 entries have no id"


def test_a_damaged_entry_does_not_affect_the_others(resource_manager: ResourceManager) -> None:
    damaged = [b'"no object"', b'{"id": 7}', orjson.dumps(app(3)).replace(b'"nightly"', b'"\\ud800"')]
    damaged.append(orjson.dumps(app(4)).replace(b"2048", b"1" * 5_000))
    answer = b'{"apps": {"app": [' + b",".join((*damaged, orjson.dumps(app(5)))) + b"]}}"
    resource_manager.routes["/ws/v1/cluster/apps"] = lambda *_: (200, {}, answer)
    reported = Following(resource_manager).run()
    assert {each[-4:] for each in reported.executions} == {"0003", "0004", "0005"}
    # Each application is counted once among the running ones and once among the ended ones.
    assert reported.plan.note == f"{resource_manager.url}: 4 entries have no id"


def without_hash(reason: str) -> str:
    return reason.partition(" (entry ")[0]


def lists_ended(resource_manager: ResourceManager, entries: list[Any]) -> None:
    """Let the ResourceManager list these entries, whatever they are, among the ended applications."""

    def ended(_: str, query: Query) -> Answer:
        listed = {"apps": {"app": entries}} if "FINISHED" in query["states"] else {}
        return 200, {}, json.dumps(listed).encode()

    resource_manager.routes["/ws/v1/cluster/apps"] = ended


def test_each_odd_entry_is_a_reject_once_and_the_others_are_read(resource_manager: ResourceManager) -> None:
    no_id = "the entry has no id that can be read"
    empty = "the entry is empty, or is not an object"
    unread = "these values are unknown, because they cannot be read: "
    entries: list[Any] = [
        {**app(1), "id": "../../../../etc/passwd"},
        {**app(1), "id": "application_1799000000000_0001 OR *"},
        {**app(1), "id": None},
        None,
        7,
        app(2, startedTime="soon", finishedTime=10**40),
        app(3, state="WAT", finalStatus=[]),
        app(4, user={"name": "etl"}, memorySeconds=True),
        app(5),
    ]
    lists_ended(resource_manager, entries)
    following = Following(resource_manager)

    extracted = following.run()

    reported = {(each.place, without_hash(each.reason), each.count) for each in extracted.rejects}
    assert reported == {
        (resource_manager.url, no_id, 1),
        (resource_manager.url, empty, 2),
        ("application_1799000000000_0002", unread + "startedTime, finishedTime", 1),
        ("application_1799000000000_0003", unread + "finalStatus, state", 1),
        ("application_1799000000000_0004", unread + "user, memorySeconds", 1),
    }
    assert sum(each.count for each in extracted.rejects) == 8
    assert len(reject_documents("YARN-1", "id", "run", 0, extracted.rejects)) == 7
    assert {each[-4:] for each in extracted.executions} == {"0002", "0003", "0004", "0005"}
    assert following.run().rejects == []
    entries.append(app(6, user=["etl"]))
    assert [each.place[-4:] for each in following.run().rejects] == ["0006"]


def test_odd_entries_beyond_the_limit_are_counted_together(
    resource_manager: ResourceManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(odd_entries, "MAX_ODD", 3)
    lists_ended(resource_manager, [app(1), *({"id": f"odd {number}"} for number in range(10))])
    following = Following(resource_manager)
    extracted = following.run()
    assert [each.count for each in extracted.rejects] == [1, 1, 1, 7]
    assert len(extracted.executions) == 1
    assert len(following.positions["odd"]) == 4
    assert following.run().rejects == []


def test_an_odd_job_of_the_history_is_a_reject_once(
    resource_manager: ResourceManager, history: JobHistory
) -> None:
    listed = [{"id": "job_of_nobody"}, job(1, user=["etl"])]
    history.routes["/ws/v1/history/mapreduce/jobs"] = lambda *_: as_json({"jobs": {"job": listed}})
    following = Following(resource_manager, history=history)
    rejects = {(each.place, without_hash(each.reason)) for each in following.run().rejects}
    assert rejects >= {
        (history.url, "the entry has no id that can be read"),
        (
            "application_1799000000000_0001",
            "these values are unknown, because they cannot be read: user",
        ),
    }
    assert (history.url, "the entry has no id that can be read") not in {
        (each.place, without_hash(each.reason)) for each in following.run().rejects
    }


def test_a_deeply_nested_answer_fails_the_plan_and_names_the_service(
    resource_manager: ResourceManager,
) -> None:
    answer = b'{"apps": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    resource_manager.routes["/ws/v1/cluster/apps"] = lambda *_: (200, {}, answer)
    with pytest.raises(RestError, match=f"{resource_manager.url}.*nested too deeply"):
        Following(resource_manager).run()


def test_the_examples_of_hadoops_documentation_are_read(
    resource_manager: ResourceManager, corpora: Path
) -> None:
    listed = orjson.loads((corpora / "rest" / "yarn-rm" / "1176.json").read_bytes())
    single = orjson.loads((corpora / "rest" / "yarn-rm" / "1517.json").read_bytes())["app"]
    resource_manager.apps = [*listed["apps"]["app"], single]
    reported = Following(resource_manager).run()
    assert {
        (each.key.name, each.attributes["operation"], each.attributes["engineType"])
        for each in reported.executions.values()
    } == {
        ("application_1326815542473_0001", "word count", "MAPREDUCE"),
        ("application_1326815542473_0002", "Sleep job", "MAPREDUCE"),
        ("application_1326821518301_0005", "Sleep job", "Yarn"),
    }
    assert reported.executions["application_1326815542473_0001"].attributes["attempts"] == 1


def test_names_are_kept_whatever_characters_they_have(resource_manager: ResourceManager) -> None:
    names = ["a/b", "50 % off", "two\nlines", "café \U0001f600", "x##y", " "]
    resource_manager.apps = [app(number, name=name) for number, name in enumerate(names)]
    reported = Following(resource_manager).run()
    assert {each.key.identity for each in reported.operations.values()} == {
        identify(SOURCE.id, "SPARK", name) for name in names
    }
    assert all(each.key.tree_path.count("/") == 2 for each in reported.operations.values())


# -- Information in a name ----------------------------------------------------------------------------------------------


def test_a_hive_session_is_not_a_query(resource_manager: ResourceManager) -> None:
    session = "b5c1f2f4-4b1c-4f5e-9b0c-6a7d8e9f0a1b"
    resource_manager.apps = [app(1, name=f"HIVE-{session}", type="TEZ"), app(2, name=f"HIVE-{session}")]
    reported = Following(resource_manager).run()
    of_tez, of_spark = reported.executions.values()
    assert (of_tez.attributes["session"], of_tez.attributes["hiveSessionId"]) == (True, session)
    assert not of_spark.attributes["session"]
    assert not reported.run_for


def test_a_name_that_the_history_cuts_is_whole_and_the_same_in_every_run_of_an_action(
    resource_manager: ResourceManager, history: JobHistory
) -> None:
    action = "oozie:action:T=map-reduce:W=orders-wf:A=copy"
    for number in (1, 2):
        name = f"{action}:ID=000000{number}-261126212143752-oozie-root-W"
        resource_manager.apps.append(app(number, name=name, type="MAPREDUCE"))
        history.add(job(number, name="oozie:action:T=map-reduce:W=orders-w"), mapreduce_job_name=name)
    history.add(job(3, name="oozie:action:T=map-reduce:W=orders-w"), mapreduce_job_name=f"{action}2")
    operations = Following(resource_manager, history=history).run().operations
    assert sorted(operations) == [action, f"{action}2"]


def test_an_oozie_launch_is_recognized_by_its_name(resource_manager: ResourceManager) -> None:
    workflow = "0000004-121223003201296-oozie-oozi-W"
    names = [
        f"oozie:launcher:T=hive2:W=daily:A=load:ID={workflow}",
        f"oozie:action:T=map-reduce:W=a:A=b:ID=c:W=d:A=x=1:A=last:ID={workflow}",
        "oozie:launcher:T=spark:W=a name that was cut o",
        "oozie:launcher:T=shell:W=w:A=a:ID=0000004-121223003201296-oozie-oozi-C@12",
        "not oozie:launcher:T=x:W=y:A=z:ID=1-W",
    ]
    resource_manager.apps = [app(number, name=name) for number, name in enumerate(names)]
    reported = Following(resource_manager).run()
    shown = [
        tuple(each.attributes[f"oozie{what}"] for what in ("ActionType", "Workflow", "Action", "Launcher"))
        for each in reported.executions.values()
    ]
    assert shown == [
        ("hive2", "daily", "load", True),
        ("map-reduce", "a:A=b:ID=c:W=d:A=x=1", "last", None),
        ("spark", "a name that was cut o", "", True),
        ("shell", "w", "a", True),
        (None, None, None, None),
    ]
    assert [each.attributes.get("wfIds") for each in reported.executions.values()] == [
        [workflow], [workflow], None, ["0000004-121223003201296-oozie-oozi-C@12"], None,
    ]  # fmt: skip
    relations = reported.relations(RelationType.LOGICAL_PHYSICAL)
    assert {each.ep1.identity for each in relations if each.ep1.name == workflow} == {
        identify(ESTATE.serving("OOZIE").id, workflow)
    }
    assert len(relations) == 3
    assert {each.ep2.name[-4:] for each in relations} == {"0000", "0001", "0003"}
