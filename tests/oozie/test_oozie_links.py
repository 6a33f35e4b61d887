"""Oozie's applications, runs and parts, what they are parts of, and what they read and wrote."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from navlin.model.identity import identify
from navlin.model.keys import EntityType, RelationType
from navlin.model.records import Covered, Entity
from navlin.model.source import YARN, Source, source_id
from tests.services.oozie import OozieServer, gmt
from tests.support import oozie_rounds as made
from tests.support.oozie_rounds import (
    ESTATE,
    HOUR_MS,
    MINUTE_MS,
    NOW_MS,
    SOURCE,
    Following,
    add,
    children,
    identity,
    named,
    physical,
)
from tests.support.yarn_rounds import Extracted

APPLICATION = "application_1795726916337_{:04d}"


@pytest.fixture
def server() -> Iterator[OozieServer]:
    with OozieServer() as server:
        yield server


def read(server: OozieServer, *jobs: dict[str, Any], **definitions: str) -> Extracted:
    add(server, *jobs, **definitions)
    return Following(server).run()


def parts(extracted: Extracted) -> dict[str, str]:
    """Name → type of the actions."""
    found = [each for each in extracted.records if isinstance(each, Entity)]
    kind = EntityType.SUB_OPERATION
    return {each.key.name: each.attributes["operationType"] for each in found if each.key.type is kind}


# -- Applications and runs -----------------------------------------------------------------------------------------------


def test_an_application_is_its_path_without_host_and_file(server: OozieServer) -> None:
    paths = ["hdfs://ns1/apps/daily", "/apps/daily/", "hdfs://other:8020/apps/daily/workflow.xml"]
    found = read(server, *(made.workflow(number, appPath=path) for number, path in enumerate(paths)))
    [operation] = found.operations.values()
    assert operation.key.identity == identify(SOURCE.id, "WORKFLOW", "/apps/daily", "daily")
    assert len(found.executions) == 3


def test_workflows_of_one_path_and_two_names_are_two_operations(server: OozieServer) -> None:
    found = read(server, made.workflow(1, appName="a"), made.workflow(2, appName="b"))
    assert found.operations.keys() == {"a", "b"}


def test_the_newest_run_defines_the_application(server: OozieServer) -> None:
    add(server, made.workflow(2, made.action("new")), W=made.definition("new"))
    add(server, made.workflow(1, made.action("old")), W=made.definition("old", "gone"))
    found = Following(server).run()
    operation = found.operations["daily"]
    assert operation.attributes["queryText"] == made.definition("new")
    assert parts(found) == {"new": "shell"}
    covered = [each for each in found.records if isinstance(each, Covered) and each.path.endswith("/parts")]
    assert [(each.path, each.as_of_ms) for each in covered] == [
        (f"{operation.key.tree_path}/parts", operation.as_of_ms)
    ]
    assert server.asked_for("definition") == [identity(2)]


def test_the_parts_of_an_unknown_definition_are_those_of_its_newest_run(server: OozieServer) -> None:
    actions = [
        made.action(":start:", ":START:"),
        made.action("load", "hive2"),
        made.action("which", "switch"),
    ]
    found = read(server, made.workflow(1, *actions))
    assert parts(found) == {"load": "hive2"}
    assert not [each for each in found.records if isinstance(each, Covered) and each.path.endswith("/parts")]


def test_a_definition_names_the_parts_that_no_run_took(server: OozieServer) -> None:
    text = (
        '<workflow-app xmlns="uri:oozie:workflow:1.0" name="daily"><start to="which"/>'
        '<decision name="which"><switch><case to="a">${x}</case><default to="b"/></switch></decision>'
        '<action name="a" retry-max="3"><spark xmlns="uri:oozie:spark-action:1.0"/><ok to="end"/><error to="end"/></action>'
        '<action name="b"><ok to="end"/><error to="end"/><email xmlns="uri:oozie:email-action:0.2"/></action>'
        '<end name="end"/></workflow-app>'
    )
    found = read(server, made.workflow(1, made.action("b", "email")), W=text)
    assert parts(found) == {"a": "spark", "b": "email"}


def test_a_failed_run_has_its_errors(server: OozieServer) -> None:
    failed = made.action(
        "move", "fs", status="ERROR", errorCode="FS006", errorMessage="move, source [/a] does not exist"
    )
    kill = made.action("fail", ":KILL:", errorCode="E0729", errorMessage="Kill node message [failed]")
    found = read(
        server,
        made.workflow(1, failed, kill, status="KILLED"),
        made.workflow(2, kill, status="FAILED"),
        made.workflow(
            3, made.action("x", errorCode="JA018", errorMessage="password=hunter2"), status="FAILED"
        ),
    )
    shown = {
        name: (each.attributes["status"], each.attributes["errorMessage"])
        for name, each in found.executions.items()
    }
    assert shown == {
        identity(1): ("KILLED", "FS006: move, source [/a] does not exist"),
        identity(2): ("FAILED", "E0729: Kill node message [failed]"),
        identity(3): ("FAILED", "JA018: password=********"),
    }


def test_a_failed_action_of_a_coordinator_has_its_error(server: OozieServer) -> None:
    one = made.coordinator_action(1, "FAILED", errorCode="E1021", errorMessage="no input")
    found = read(server, made.coordinator(1, one, made.coordinator_action(2, "TIMEDOUT")))
    shown = [
        (each.attributes["status"], each.attributes["errorMessage"]) for each in found.executions.values()
    ]
    assert shown == [("FAILED", "E1021: no input"), ("TIMEDOUT", "")]


def test_a_run_that_has_not_ended_has_no_end(server: OozieServer) -> None:
    waiting = made.coordinator_action(1, "WAITING", missingDependencies="hdfs://ns1/in/1#hdfs://ns1/in/2")
    found = read(server, made.running(1), made.coordinator(1, waiting))
    assert {each.attributes["ended"] for each in found.executions.values()} == {None}


def test_a_repeated_run_does_not_have_the_actions_that_it_skipped(server: OozieServer) -> None:
    def launched(name: str, number: int, at_ms: int) -> dict[str, Any]:
        return made.action(name, externalId=APPLICATION.format(number), startTime=gmt(at_ms))

    add(
        server,
        made.workflow(
            1, launched("a", 1, NOW_MS - HOUR_MS + 1_000), launched("b", 2, NOW_MS - HOUR_MS + 2_000)
        ),
    )
    following = Following(server)
    following.run()
    actions = [launched("a", 1, NOW_MS - HOUR_MS + 1_000), launched("b", 3, NOW_MS - MINUTE_MS)]
    at = gmt(NOW_MS - MINUTE_MS)
    add(server, made.workflow(1, *actions, run=1, startTime=at, endTime=at, lastModTime=at))
    found = following.run()
    assert physical(found) == {(identity(1), APPLICATION.format(3), "b")}
    [execution] = found.executions.values()
    assert execution.key.identity == identify(SOURCE.id, identity(1), "1")
    assert execution.attributes["oozieRun"] == 1


# -- What runs on YARN ---------------------------------------------------------------------------------------------------


def test_launchers_and_children_are_found_in_every_release(server: OozieServer) -> None:
    found = read(
        server,
        made.workflow(
            1,
            made.action(
                "five",
                externalId=APPLICATION.format(1),
                externalChildIDs="job_1795726916337_0002, job_1795726916337_3",
            ),
            made.action("four", externalId="job_1795726916337_0004"),
            made.action("console", consoleUrl="http://rm1:8088/proxy/application_1795726916337_0005/"),
            made.action("nothing"),
            made.action("odd", externalId=None, externalChildIDs="-,x,,application_1_2_3_x"),
        ),
    )
    assert physical(found) == {
        (identity(1), APPLICATION.format(1), "five"),
        (identity(1), APPLICATION.format(2), "five"),
        (identity(1), APPLICATION.format(3), "five"),
        (identity(1), APPLICATION.format(4), "four"),
        (identity(1), APPLICATION.format(5), "console"),
    }


def test_the_yarn_is_the_one_that_the_action_shows(server: OozieServer) -> None:
    other = Source(source_id("c", "YARN-2"), YARN, "YARN-2", "c", ("http://rm2:8088",))
    estate = replace(ESTATE, sources=(*ESTATE.sources, other))
    console = "http://{}:8088/proxy/" + APPLICATION.format(1) + "/"
    launched = [
        made.action(name, externalId=APPLICATION.format(number), consoleUrl=console.format(host))
        for number, (name, host) in enumerate((("a", "rm1"), ("b", "RM2"), ("c", "rm3")))
    ]
    add(server, made.workflow(1, *launched))

    def meant(**settings: Any) -> list[str]:
        found = Following(server, estate=estate, **settings).run()
        return [each.ep2.source.name for each in found.relations(RelationType.LOGICAL_PHYSICAL)]

    assert meant() == ["YARN-1", "YARN-2", "yarn"]
    assert meant(yarn="http://rm2:8088") == ["YARN-1", "YARN-2", "YARN-2"]


# -- Parents -------------------------------------------------------------------------------------------------------------

SUB = "sub: A=x/ü"


def test_a_sub_workflow_is_below_its_workflow(server: OozieServer) -> None:
    parent = made.workflow(1, made.action("sub", "sub-workflow", externalId=identity(2)))
    child = made.workflow(
        2,
        appName=SUB,
        appPath=f"hdfs://ns1/apps/{SUB}",
        parentId=identity(1),
        externalId=identity(1) + "@sub@0",
    )
    found = read(server, parent, child)
    assert children(found) == {("daily", SUB), (identity(1), identity(2))}
    assert found.operations[SUB].key.identity == identify(SOURCE.id, "WORKFLOW", f"/apps/{SUB}", SUB)
    [run] = [each for each in found.relations(RelationType.PARENT_CHILD) if each.ep1.name == identity(1)]
    assert run.attributes == {"oozieAction": "sub"}


def test_a_sub_workflow_belongs_to_the_run_that_started_it(server: OozieServer) -> None:
    at = gmt(NOW_MS - MINUTE_MS)
    parent = made.workflow(1, appName="parent", run=1, startTime=at, endTime=at, lastModTime=at)
    before = made.workflow(2, parentId=identity(1))
    after = made.workflow(3, parentId=identity(1), createdTime=at)
    found = read(server, parent, before, after)
    parents = {
        each.ep2.name: each.ep1.identity
        for each in found.relations(RelationType.PARENT_CHILD)
        if each.ep1.type is EntityType.OPERATION_EXECUTION
    }
    assert parents == {
        identity(2): identify(SOURCE.id, identity(1)),
        identity(3): identify(SOURCE.id, identity(1), "1"),
    }


def test_a_run_whose_parent_was_purged_still_names_it(server: OozieServer) -> None:
    found = read(
        server,
        made.workflow(2, parentId=identity(1)),
        made.workflow(
            3, parentId=identity(1, "C") + "@4", conf=made.conf(oozie__coord__application__path="/apps/c")
        ),
    )
    assert children(found) == {
        (identity(1), identity(2)),
        (identity(1, "C") + "@4", identity(3)),
        ("/apps/c", "daily"),
    }
    assert found.rejects == []


def test_a_coordinator_is_its_path_whatever_a_bundle_calls_it(server: OozieServer) -> None:
    text = '<coordinator-app xmlns="uri:oozie:coordinator:0.4" name="own name"><action/></coordinator-app>'
    found = read(
        server,
        made.coordinator(1, coordJobName="one", frequency="0 4 * * *", bundleId=identity(1, "B")),
        made.coordinator(2, coordJobName="own name"),
        made.bundle(1),
        C=text,
    )
    operation = found.operations["own name"]
    assert operation.key.identity == identify(SOURCE.id, "COORDINATOR", "/apps/hourly")
    assert children(found) == {("everything", "own name")}
    every = [each for each in found.records if isinstance(each, Entity) and each.key == operation.key]
    assert {each.attributes["frequency"] for each in every} == {"0 4 * * *", "1"}


def test_a_schedule_that_still_runs_does_not_age(server: OozieServer) -> None:
    """A purge remembers its date, and no record of an earlier time is written afterwards if the record ages."""
    found = read(
        server,
        made.coordinator(1, made.coordinator_action(1)),
        made.bundle(1),
        made.bundle(2, status="KILLED"),
    )
    ages = {each.key.name: each.ages for each in found.records if isinstance(each, Entity)}
    assert ages == {
        "hourly": False,
        "everything": False,
        identity(1, "C") + "@1": True,
        identity(1, "B"): False,
        identity(2, "B"): True,
    }


def test_the_path_of_a_purged_bundle_is_in_the_coordinators_configuration(server: OozieServer) -> None:
    conf = made.conf(oozie__bundle__application__path="hdfs://ns1/apps/bundle")
    found = read(server, made.coordinator(1, bundleId=identity(1, "B"), conf=conf))
    [relation] = found.relations(RelationType.PARENT_CHILD)
    assert relation.ep1.identity == identify(SOURCE.id, "BUNDLE", "/apps/bundle")


# -- What actions read and wrote -----------------------------------------------------------------------------------------


def flows(found: Extracted) -> set[tuple[str, str, bool]]:
    """The (source, target, whether inferred) of the data flows."""
    return {
        (named(each.ep1), named(each.ep2), bool(each.attributes.get("inferred")))
        for each in found.relations(RelationType.DATA_FLOW)
    }


def certain(*pairs: tuple[str, str]) -> set[tuple[str, str, bool]]:
    return {(*pair, False) for pair in pairs}


def test_an_fs_action_moves(server: OozieServer) -> None:
    conf = (
        '<fs xmlns="uri:oozie:workflow:1.0">\r\n<name-node>hdfs://ns1</name-node><delete path="/x"/><mkdir path="/y"/>'
        '<move source="/in/a" target="/out/a"/><move source="hdfs://ns1/in/b*" target="/out/b"/></fs>'
    )
    found = read(server, made.workflow(1, made.action("tidy", "fs", conf=conf)))
    assert flows(found) == {
        *certain(("/in/a", "tidy"), ("tidy", "/out/a"), ("tidy", "/out/b")),
        ("/in", "tidy", True),
    }
    assert {end.source.name for r in found.relations(RelationType.DATA_FLOW) for end in (r.ep1, r.ep2)} == {
        "OOZIE-1",
        "HDFS-1",
    }


@pytest.mark.parametrize("status", ["ERROR", "RUNNING", "KILLED", "PREP"])
def test_an_action_that_did_not_succeed_moved_nothing(server: OozieServer, status: str) -> None:
    conf = '<fs><move source="/in/a" target="/out/a"/></fs>'
    found = read(server, made.workflow(1, made.action("tidy", "fs", conf=conf, status=status)))
    assert flows(found) == set()


def test_an_action_that_succeeded_moved_in_a_run_that_failed(server: OozieServer) -> None:
    conf = '<fs><move source="/in/a" target="/out/a"/></fs>'
    found = read(server, made.workflow(1, made.action("tidy", "fs", conf=conf), status="KILLED"))
    assert flows(found) == certain(("/in/a", "tidy"), ("tidy", "/out/a"))


@pytest.mark.parametrize(
    "names",
    [
        ("mapreduce.input.fileinputformat.inputdir", "mapreduce.output.fileoutputformat.outputdir"),
        ("mapred.input.dir", "mapred.output.dir"),
    ],
)
def test_a_map_reduce_action_reads_and_writes(server: OozieServer, names: tuple[str, str]) -> None:
    values = dict(zip(names, (r"/in/a,/in/{b,c},/in/d\,e", "/out"), strict=True))
    listed = "".join(f"<property><name>{n}</name><value>{v}</value></property>" for n, v in values.items())
    conf = (
        f"<map-reduce><name-node>hdfs://ns1</name-node><configuration>{listed}</configuration></map-reduce>"
    )
    found = read(server, made.workflow(1, made.action("count", "map-reduce", conf=conf)))
    assert flows(found) == {
        *certain(("/in/a", "count"), ("/in/d,e", "count"), ("count", "/out")),
        ("/in", "count", True),
    }


@pytest.mark.parametrize(
    ("arguments", "expected", "incomplete"),
    [
        (["-update", "-m", "20", "/a", "/b", "/t"], {("/a", "copy"), ("/b", "copy"), ("copy", "/t")}, False),
        (
            ["-Dfs.s3a.secret.key=hunter2", "-bandwidth", "10", "/a", "/t"],
            {("/a", "copy"), ("copy", "/t")},
            False,
        ),
        (["-f", "/lists/uris", "/t"], {("copy", "/t")}, True),
        (["-diff", "s1", "s2", "-p", "/a", "/t"], {("/a", "copy"), ("copy", "/t")}, False),
        ([], set(), True),
    ],
)
def test_a_distcp_action_copies(
    server: OozieServer, arguments: list[str], expected: set[tuple[str, str]], *, incomplete: bool
) -> None:
    listed = "".join(f"<arg>{each}</arg>" for each in arguments)
    conf = f'<distcp xmlns="uri:oozie:distcp-action:0.2"><name-node>hdfs://ns1</name-node>{listed}</distcp>'
    found = read(server, made.workflow(1, made.action("copy", "distcp", conf=conf)))
    assert flows(found) == certain(*expected)
    assert bool(found.operations["daily"].attributes.get("incomplete")) is incomplete
    assert "hunter2" not in repr(found.records)


def test_what_one_action_moved_does_not_come_from_another_ones_input(server: OozieServer) -> None:
    moves = [
        made.action(name, "fs", conf=f'<fs><move source="/{name}/in" target="/{name}/out"/></fs>')
        for name in "ab"
    ]
    found = read(server, made.workflow(1, *moves))
    assert flows(found) == certain(("/a/in", "a"), ("a", "/a/out"), ("/b/in", "b"), ("b", "/b/out"))


# -- What coordinators read and wrote --------------------------------------------------------------------------------------


def coordinated(server: OozieServer, properties: str, templates: dict[str, str], **conf: str) -> Extracted:
    """Read one run of a coordinator with these properties of its workflow. ``templates`` maps the names of inputs (or of
    outputs, if they begin with "out") to those of datasets.
    """
    datasets = "".join(
        f'<dataset name="d-{name}"><uri-template>{uri}</uri-template></dataset>'
        for name, uri in templates.items()
    )
    inputs = "".join(
        f'<data-in name="{name}" dataset="d-{name}"/>' for name in templates if not name.startswith("out")
    )
    outputs = "".join(
        f'<data-out name="{name}" dataset="d-{name}"/>' for name in templates if name.startswith("out")
    )
    text = (
        f'<coordinator-app xmlns="uri:oozie:coordinator:0.4" name="hourly"><datasets>{datasets}</datasets>'
        f"<input-events>{inputs}</input-events><output-events>{outputs}</output-events><action><workflow>"
        f"<app-path>/apps/daily</app-path><configuration>{properties}</configuration></workflow></action></coordinator-app>"
    )
    values = {"oozie__coord__application__path": "hdfs://ns1/apps/hourly", "nameNode": "hdfs://ns1", **conf}
    run = made.workflow(1, parentId=identity(1, "C") + "@1", conf=made.conf(**values))
    return read(server, made.coordinator(1, made.coordinator_action(1)), run, C=text)


def prop(name: str, value: str) -> str:
    return f"<property>\n  <name>{name}</name>\n  <value>{value}</value></property>"


IN = {"in": "${nameNode}/in/${YEAR}/${MONTH}", "out": "${nameNode}/out/${YEAR}"}
BOTH = prop("input", "${coord:dataIn('in')}") + prop("target", '${ coord:dataOut( "out" ) }')


def test_the_resolved_inputs_and_outputs_are_those_of_the_coordinator(server: OozieServer) -> None:
    found = coordinated(
        server, BOTH, IN, input="hdfs://ns1/in/2026/11,hdfs://ns1/in/2026/10,a", target="hdfs://ns1/out/2026"
    )
    assert flows(found) == {
        ("/in/2026/11", "hourly", True),
        ("/in/2026/10,a", "hourly", True),
        ("hourly", "/out/2026", True),
    }
    assert {each.ep1.source.name for each in found.relations(RelationType.DATA_FLOW)} == {"HDFS-1", "OOZIE-1"}


def test_a_table_of_hcatalog_is_a_table_of_the_metastore(server: OozieServer) -> None:
    found = coordinated(
        server,
        BOTH,
        {"in": "hcat://hms:9083/sales/orders/dt=${YEAR}", "out": "hcat://hms:9083/sales/totals/dt=${YEAR}"},
        input="hcat://hms:9083/sales/orders/dt=2026;region=eu,hcat://hms:9083/sales/orders/dt=2025",
        target="hcat://hms:9083/sales/totals/dt=2026",
    )
    assert flows(found) == {("orders", "hourly", True), ("hourly", "totals", True)}
    assert {
        (each.type, each.source.name)
        for relation in found.relations(RelationType.DATA_FLOW)
        for each in (relation.ep1, relation.ep2)
        if each.type is EntityType.TABLE
    } == {(EntityType.TABLE, "HIVE-1")}


@pytest.mark.parametrize("status", ["RUNNING", "KILLED", "FAILED", "SUSPENDED"])
def test_a_run_that_did_not_succeed_has_no_data(server: OozieServer, status: str) -> None:
    add(server, made.workflow(1, status=status))
    found = coordinated(server, BOTH, IN, input="hdfs://ns1/in/2026/11", target="hdfs://ns1/out/2026")
    assert flows(found)
    row = {**server.jobs[identity(1)], "status": status}
    server.jobs[identity(1)] = row
    assert flows(Following(server).run()) == set()


def test_an_input_that_no_property_names_is_the_directory_before_the_first_time(server: OozieServer) -> None:
    found = coordinated(
        server,
        prop("day", "${coord:nominalTime()}"),
        {"in": "${nameNode}/in/${YEAR}/${MONTH}", "out": "${root}/out/day-${DAY}", "log": "hdfs://ns1/fixed"},
        root="hdfs://ns1/base",
    )
    assert flows(found) == {
        ("/in", "hourly", True),
        ("/fixed", "hourly", True),
        ("hourly", "/base/out", True),
    }


def test_an_input_that_is_not_resolved_makes_the_flows_incomplete(server: OozieServer) -> None:
    found = coordinated(server, BOTH, IN, input="${coord:latest(0)}", target="hdfs://ns1/out/2026")
    assert flows(found) == {("hourly", "/out/2026", True)}
    [flow] = found.relations(RelationType.DATA_FLOW)
    assert flow.attributes["incomplete"] is True


def test_a_property_with_inputs_and_outputs_is_told_apart_by_nobody(server: OozieServer) -> None:
    both = prop("all", "${coord:dataIn('in')},${coord:dataOut('out')}")
    found = coordinated(server, both, IN, all="hdfs://ns1/in/2026/11,hdfs://ns1/out/2026")
    assert flows(found) == set()
    [reason] = found.operations["hourly"].attributes["incompleteReasons"]
    assert reason == "a property of a coordinator names inputs and outputs together"


def test_only_named_properties_of_a_configuration_are_kept(server: OozieServer) -> None:
    found = coordinated(
        server,
        BOTH,
        IN,
        input="hdfs://ns1/in/2026/11",
        target="s3a://key:hunter2@bucket/out",
        other="hunter2",
    )
    assert "hunter2" not in repr(found.records)
    assert "/out" in {target for _, target, _ in flows(found)}


def test_secrets_of_definitions_are_masked_in_every_spelling(server: OozieServer) -> None:
    secrets = (
        "<parameters>"
        "<property><name>db.password</name><value>hunter2</value></property>"
        "<property><name>\n db.password2 \n</name><!-- x --><value><![CDATA[hunter3]]></value></property>"
        "</parameters>"
    )
    text = made.definition("load", more=secrets)
    found = read(server, made.workflow(1), W=text)
    shown = found.operations["daily"].attributes["queryText"]
    assert "hunter" not in shown
    assert shown.endswith("</workflow-app>")
