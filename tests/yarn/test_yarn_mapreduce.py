"""MapReduce jobs in the JobHistoryServer: their inputs and outputs, and the queries or scripts that started them."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from extractors.rest import RestUnavailable
from extractors.yarn.splits import SeenSplit
from navlin.index.schema.fields import is_user_field
from navlin.model.identity import identify
from navlin.model.keys import RelationType
from navlin.model.records import Covered, Entity
from tests.services.rest import JobHistory, ResourceManager, as_json
from tests.support.stored import stored
from tests.support.yarn_rounds import (
    METASTORE,
    MINUTE_MS,
    NAMENODE,
    NOW_MS,
    SOURCE,
    Following,
    app,
    job,
    running,
)

MAPREDUCE = {"name": "word count", "type": "MAPREDUCE"}
WORDS: dict[str, str] = {
    "fs_defaultFS": "hdfs://ns1",
    "mapreduce_input_fileinputformat_inputdir": "hdfs://ns1/in/a,hdfs://ns1/in/b",
    "mapreduce_output_fileoutputformat_outputdir": "hdfs://ns1/out",
    "mapreduce_job_map_class": "org.example.Tokens",
    "mapreduce_job_reduce_class": "org.example.Sum",
}


def test_a_job_has_the_inputs_and_outputs_of_its_configuration(
    resource_manager: ResourceManager, history: JobHistory
) -> None:
    resource_manager.apps = [app(1, **MAPREDUCE)]
    history.add(
        job(1),
        **WORDS,
        mapreduce_job_output_key_class="Text",
        mapreduce_input_fileinputformat_input_dir_recursive="true",
        mapreduce_job_hdfs_servers_token="hunter2",
    )
    reported = Following(resource_manager, history=history).run()
    assert reported.flows == {("/in/a", "word count"), ("/in/b", "word count"), ("word count", "/out")}
    flows = reported.relations(RelationType.DATA_FLOW)
    assert {end.source.id for each in flows for end in (each.ep1, each.ep2)} == {SOURCE.id, NAMENODE.id}
    [operation] = reported.operations.values()
    ends = sorted(identify(NAMENODE.id, path) for path in ("/in/a", "/in/b", "/out"))
    named_by = ("word count", "org.example.Tokens", "org.example.Sum")
    assert operation.key.identity == identify(SOURCE.id, *named_by, *ends)
    assert not operation.ages
    assert {name: value for name, value in operation.attributes.items() if value} == {
        "internalType": "yarn_operation",
        "engineType": "MAPREDUCE",
        "mapper": "org.example.Tokens",
        "reducer": "org.example.Sum",
        "outputKey": "Text",
        "inputRecursive": True,
        "inputs": ["hdfs://ns1/in/a", "hdfs://ns1/in/b"],
        "outputs": ["hdfs://ns1/out"],
    }
    [execution] = reported.executions.values()
    assert execution.attributes["jobId"] == "job_1799000000000_0001"
    assert execution.attributes["memoryMbSeconds"] == 2_048
    assert [each.path for each in reported.records if isinstance(each, Covered)] == [operation.key.tree_path]
    assert "hunter2" not in stored(reported.records)


def test_runs_of_one_job_over_different_directories_are_separate_operations(
    resource_manager: ResourceManager, history: JobHistory
) -> None:
    days = [{**WORDS, "mapreduce_input_fileinputformat_inputdir": f"/in/{day}"} for day in (1, 2)]
    for number, day in enumerate(days, 1):
        output = {"mapreduce_output_fileoutputformat_outputdir": f"/out/{number}"}
        history.add(job(number), **{**day, **output})
    history.add(job(3), **{**days[0], "mapreduce_output_fileoutputformat_outputdir": "/out/1"})
    reported = Following(resource_manager, history=history).run()
    operations = {
        each.key.identity for each in reported.records if isinstance(each, Entity) and not each.ages
    }
    assert len(operations) == 2
    assert len(reported.executions) == 3


def test_a_directory_staged_by_sqoop_is_not_an_output_and_its_operation_is_withdrawn(
    resource_manager: ResourceManager, history: JobHistory
) -> None:
    staged = "hdfs://ns1/user/etl/_sqoop/7d6f_ORDERS"
    history.add(job(1, name="ORDERS.jar"), mapreduce_output_fileoutputformat_outputdir=staged)
    reported = Following(resource_manager, history=history).run()
    assert reported.reasons == {
        "ORDERS.jar": ["its data are in a directory from which Sqoop moves them elsewhere"]
    }
    assert not reported.flows
    end = identify(NAMENODE.id, "/user/etl/_sqoop/7d6f_ORDERS")
    former = identify(SOURCE.id, "ORDERS.jar", "", "", end)
    covers = [each.path for each in reported.records if isinstance(each, Covered)]
    assert covers == [f"/operations/{former}"]
    assert reported.operations["ORDERS.jar"].key.identity == identify(SOURCE.id, "ORDERS.jar", "", "")


def test_a_job_without_directories_has_navigators_operation(
    resource_manager: ResourceManager, history: JobHistory
) -> None:
    resource_manager.apps = [app(1, **MAPREDUCE)]
    history.add(job(1), mapred_mapper_class="M", mapred_reducer_class="R")
    [operation] = Following(resource_manager, history=history).run().operations.values()
    assert operation.key.identity == identify(SOURCE.id, "word count", "M", "R")
    assert operation.ages


def test_an_application_and_its_job_are_one_execution_in_either_order(
    resource_manager: ResourceManager, history: JobHistory
) -> None:
    """The ResourceManager has already forgotten the second application."""
    resource_manager.apps = [app(1, **MAPREDUCE)]
    history.add(job(1), **WORDS)
    history.add(job(2), **WORDS)
    following = Following(resource_manager, history=history)
    reported = following.run()
    assert [name[-4:] for name in reported.executions] == ["0001", "0002"]
    both, alone = reported.executions.values()
    assert alone.attributes["status"] == "SUCCEEDED"
    assert alone.attributes["ended"] == NOW_MS - 10 * MINUTE_MS + 902
    assert following.is_quiet()
    # A later record from the JobHistoryServer alone counts as older than a record from both services.
    resource_manager.apps = []
    retold = following.run(complete=True).executions[both.key.name]
    assert retold.as_of_ms < both.as_of_ms
    assert retold.key.parent == both.key.parent


def test_a_job_is_reported_once_its_history_exists(
    resource_manager: ResourceManager, history: JobHistory
) -> None:
    resource_manager.apps = [running(1, **MAPREDUCE)]
    following = Following(resource_manager, history=history)
    assert not following.run().records
    # The job has ended, but its history has not arrived.
    resource_manager.apps = [app(1, **MAPREDUCE, finishedTime=NOW_MS)]
    resource_manager.now_ms = NOW_MS + 5 * MINUTE_MS
    assert not following.run().records
    assert following.is_quiet()
    # The window has moved on and no longer contains the job's end.
    resource_manager.apps.append(app(2, finishedTime=NOW_MS + 20 * MINUTE_MS))
    history.add(job(3, finishTime=NOW_MS + 20 * MINUTE_MS), **WORDS)
    assert set(following.run().executions) == {
        "application_1799000000000_0002",
        "application_1799000000000_0003",
    }
    history.add(job(1, finishTime=NOW_MS - 1_000), **WORDS)
    [execution] = following.run().executions.values()
    assert execution.attributes["queue"] == "root.batch"
    assert execution.attributes["inputs"] == ["hdfs://ns1/in/a", "hdfs://ns1/in/b"]
    assert following.is_quiet()


def test_a_job_whose_history_never_arrives_is_reported_without_it(
    resource_manager: ResourceManager, history: JobHistory
) -> None:
    resource_manager.apps = [app(1, **MAPREDUCE, state="KILLED", finishedTime=NOW_MS)]
    following = Following(resource_manager, history=history)
    assert not following.run().records
    resource_manager.now_ms = NOW_MS + 31 * MINUTE_MS
    [execution] = following.run().executions.values()
    assert execution.attributes["status"] == "KILLED"
    assert execution.key.parent
    assert execution.key.parent.identity == identify(SOURCE.id, "word count", "", "")
    assert following.is_quiet()


@pytest.mark.parametrize(
    ("state", "configured", "why"),
    [
        ("SUCCEEDED", True, ["the JobHistoryServer has no history of its job"]),
        ("FAILED", True, []),
        ("SUCCEEDED", False, []),
    ],
)
def test_a_job_without_history_is_incomplete_if_it_succeeded(
    resource_manager: ResourceManager, history: JobHistory, state: str, configured: bool, why: list[str]
) -> None:
    resource_manager.apps = [app(1, **MAPREDUCE, finalStatus=state), app(2)]
    resource_manager.now_ms = NOW_MS + 60 * MINUTE_MS
    reported = Following(resource_manager, history=history if configured else None).run()
    assert reported.reasons == {"word count": why, "nightly": []}


def test_a_failed_job_has_no_flow(resource_manager: ResourceManager, history: JobHistory) -> None:
    resource_manager.apps = [app(1, **MAPREDUCE, finalStatus="FAILED")]
    history.add(job(1, state="FAILED"), **WORDS)
    reported = Following(resource_manager, history=history).run()
    assert not reported.flows
    assert not any(isinstance(each, Covered) for each in reported.records)
    [execution] = reported.executions.values()
    assert execution.attributes["status"] == "FAILED"
    assert execution.attributes["outputs"] == ["hdfs://ns1/out"]


def test_a_removed_configuration_leaves_the_job_incomplete(
    resource_manager: ResourceManager, history: JobHistory
) -> None:
    history.add(job(1, name="a/b 50%\nnext"))
    del history.configurations["job_1799000000000_0001"]
    reported = Following(resource_manager, history=history).run()
    assert set(reported.operations) == {"a/b 50%\nnext"}
    assert not reported.rejects
    assert reported.reasons == {
        "a/b 50%\nnext": ["the JobHistoryServer does not have its job's configuration any more"]
    }


def test_an_unreadable_configuration_is_reported_and_affects_no_other(
    resource_manager: ResourceManager, history: JobHistory
) -> None:
    history.add(job(1), **WORDS)
    history.add(job(2), **WORDS)
    refused = "/ws/v1/history/mapreduce/jobs/job_1799000000000_0001/conf"
    history.routes[refused] = lambda *_: (403, {}, b"User dr.who has no permission")
    reported = Following(resource_manager, history=history).run()
    assert len(reported.executions) == 2
    assert len(reported.flows) == 3
    [reject] = reported.rejects
    assert (reject.place, reject.sample) == (history.url, "job_1799000000000_0001")
    incomplete = [
        each for each in reported.records if isinstance(each, Entity) and each.attributes.get("incomplete")
    ]
    assert [each.attributes["incompleteReasons"] for each in incomplete] == [
        ["its job's configuration could not be read, or never arrived"]
    ]
    assert "User dr.who has no permission" in reject.reason


def test_jobs_wait_while_the_history_server_is_down_and_others_are_reported(
    resource_manager: ResourceManager,
) -> None:
    resource_manager.apps = [app(1, **MAPREDUCE, finishedTime=NOW_MS - 120 * MINUTE_MS), app(2)]
    history = JobHistory()  # the service does not listen yet
    following = Following(resource_manager, history=history, read_timeout_s=2.0)
    plan = following.plan()
    *fine, failing = plan.splits
    reported = [each for split in fine for each in following.extractor.read(split)]
    assert {each.key.name for each in reported if isinstance(each, Entity)} == {
        "nightly",
        "application_1799000000000_0002",
    }
    with pytest.raises(RestUnavailable, match=f"{history.url}.*`history_urls`"):
        list(following.extractor.read(failing))
    with history:
        history.add(job(1), **WORDS)
        assert len(following.run().executions) == 2


def test_a_job_of_hive_is_linked_to_its_query(resource_manager: ResourceManager, history: JobHistory) -> None:
    query = "etl_20260101120000_0b1c2d3e-0000-4000-8000-000000000001"
    name = "insert overwrite table t select * from s(Stage-1)"
    hive = {
        **WORDS,
        "hive_query_id": query,
        "hive_query_string": "insert+overwrite+table+t+select+%27password%3Dhunter2%27",
        "hive_metastore_uris": "thrift://other:9083, thrift://HMS:9083",
        "mapreduce_output_fileoutputformat_outputdir": "hdfs://ns1/wh/t/.hive-staging_hive_2026/-ext-10000",
    }
    history.add(job(1, name=name), **hive)
    del hive["hive_query_id"]
    history.add(job(2, name=name), **hive, mapreduce_workflow_id=f"hive_{query}")
    reported = Following(resource_manager, history=history).run()
    relations = reported.relations(RelationType.LOGICAL_PHYSICAL)
    assert {each.ep1.identity for each in relations} == {identify(METASTORE.id, query)}
    assert sorted(each.ep2.name[-4:] for each in relations) == ["0001", "0002"]
    first = reported.executions["application_1799000000000_0001"].attributes
    assert first["hiveQueryId"] == query
    assert first["queryText"].startswith("insert overwrite table t select 'password=")
    assert "hunter2" not in stored(reported.records)
    assert {flow for flow in reported.flows if flow[0] == name} == set()


def test_a_job_on_an_unconfigured_metastore_is_not_linked_to_the_configured_one(
    resource_manager: ResourceManager, history: JobHistory
) -> None:
    history.add(job(1), **WORDS, hive_query_id="q", hive_metastore_uris="thrift://other:9083")

    (relation,) = Following(resource_manager, history=history).run().relations(RelationType.LOGICAL_PHYSICAL)

    assert relation.ep1.source.id != METASTORE.id
    assert not relation.ep1.source.configured


def test_an_oozie_job_is_recognized_by_its_configuration(
    resource_manager: ResourceManager, history: JobHistory
) -> None:
    history.add(job(1), **WORDS, oozie_job_id="7-oozie-W", oozie_action_id="7-oozie-W@load")
    reported = Following(resource_manager, history=history).run()
    [relation] = reported.relations(RelationType.LOGICAL_PHYSICAL)
    assert (relation.ep1.name, relation.attributes) == ("7-oozie-W", {"oozieAction": "load"})
    [execution] = reported.executions.values()
    assert execution.attributes["wfIds"] == ["7-oozie-W"]


def test_no_attribute_from_yarn_is_user_metadata(
    resource_manager: ResourceManager, history: JobHistory
) -> None:
    oozie = "oozie:launcher:T=hive2:W=daily:A=load:ID=0000004-121223003201296-oozie-oozi-W"
    resource_manager.apps = [app(1, name=oozie, applicationTags="a,b"), app(2, **MAPREDUCE)]
    history.add(job(2), **WORDS, hive_query_id="q", pig_script_id="p")
    reported = Following(resource_manager, history=history).run()
    entities = [each for each in reported.records if isinstance(each, Entity)]
    assert len(entities) == 6
    assert not [name for each in entities for name in each.attributes if is_user_field(name)]


def test_jobs_are_read_in_separate_splits(resource_manager: ResourceManager, history: JobHistory) -> None:
    resource_manager.apps = [app(n) for n in range(10)]
    for number in range(100, 350):
        history.add(job(number), **WORDS)
    splits = Following(resource_manager, history=history).plan().splits
    sizes = [(len(each.seen), each.configured) for each in splits if isinstance(each, SeenSplit)]
    assert sizes == [(10, False), (100, True), (100, True), (50, True)]


def test_the_examples_of_the_history_servers_documentation_are_read(
    resource_manager: ResourceManager, history: JobHistory, corpora: Path
) -> None:
    folder = corpora / "rest" / "mr-jhs"
    history.jobs = orjson.loads((folder / "0198.json").read_bytes())["jobs"]["job"]
    conf = orjson.loads((folder / "1302.json").read_bytes())
    history.routes["/ws/v1/history/mapreduce/jobs/job_1326381300833_0001/conf"] = lambda *_: as_json(conf)
    reported = Following(resource_manager, history=history).run()
    assert {each.key.name: each.attributes["jobId"] for each in reported.executions.values()} == {
        "application_1326381300833_0001": "job_1326381300833_0001",
        "application_1326381300833_0002": "job_1326381300833_0002",
    }
    assert set(reported.operations) == {"word count", "Sleep job"}
