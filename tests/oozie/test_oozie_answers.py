"""Odd and hostile answers of an Oozie: nothing fails because of them, grows without bound, or is taken for something
else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from extractors.oozie import Oozie, answers, ends
from extractors.oozie.answers import JobKind, job_id, parent_id, time_ms
from extractors.oozie.definitions import to_coordinator_definition, to_workflow_definition
from extractors.oozie.xml_texts import MAX_CHARACTERS, MAX_DEPTH, parsed, properties
from navlin.model.keys import RelationType
from navlin.model.records import Entity
from tests.services.oozie import OozieServer
from tests.services.rest import as_json
from tests.support import oozie_rounds as made
from tests.support.oozie_rounds import ESTATE, SOURCE, Following, add, identity


@pytest.fixture
def server() -> Iterator[OozieServer]:
    with OozieServer() as server:
        yield server


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("Thu, 26 Nov 2026 21:25:11 GMT", 1_795_728_311_000),
        ("Thu, 5 Nov 2026 01:02:03 UTC", 1_793_840_523_000),
        ("Thu, 26 Nov 2026 22:25:11 CET", 0),
        ("Thu, 26 Nov 2026 22:25:11 IST", 0),
        ("Thu, 99 Nov 2026 21:25:11 GMT", 0),
        ("Thu, 26 Nov 9999 21:25:11 GMT", 0),
        ("2026-11-26T21:25Z", 0),
        (None, 0),
        (1_795_728_311_000, 0),
        (["x"], 0),
        ({}, 0),
    ],
)
def test_only_times_in_gmt_are_times(printed: Any, expected: int) -> None:
    assert time_ms(printed) == expected


@pytest.mark.parametrize(
    "text", ["../../admin-W", "a b-W", "x?show=log&y=-W", "é-W", "-" * 300 + "-W", 7, None]
)
def test_only_an_id_becomes_part_of_a_url(text: Any) -> None:
    assert job_id(text, JobKind.WORKFLOW) is None
    assert parent_id(text) == ""


def test_the_kind_of_an_id_is_its_last_letter() -> None:
    assert job_id("1-C", JobKind.WORKFLOW) is None
    assert job_id("1-C", JobKind.COORDINATOR) == "1-C"
    assert (parent_id("1-C@2"), parent_id("1-C"), parent_id("1-B"), parent_id("-")) == ("1-C@2", "", "", "")


@pytest.mark.parametrize("actions", [None, [], {}, "x", 7, [None, 7, "x", {}, {"name": None, "type": None}]])
def test_actions_in_any_form_are_read(server: OozieServer, actions: Any) -> None:
    add(server, {**made.workflow(1), "actions": actions})
    found = Following(server).run()
    assert found.executions.keys() == {identity(1)}
    assert found.rejects == []


def test_fields_of_other_types_count_as_unknown(server: OozieServer) -> None:
    row = {key: ["x"] for key in made.workflow(1)} | {
        "id": identity(1),
        "status": None,
        "run": "2",
        "user": 7,
    }
    server.jobs[identity(1)] = {**made.workflow(1), **row, "createdTime": made.workflow(1)["createdTime"]}
    found = Following(server).run()
    [execution] = found.executions.values()
    assert (execution.attributes["principal"], execution.attributes["status"]) == ("7", "")


def test_actions_beyond_the_bound_make_the_operation_incomplete(
    server: OozieServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "MAX_ACTIONS", 2)
    add(server, made.workflow(1, *(made.action(name) for name in "abc")))
    operation = Following(server).run().operations["daily"]
    assert operation.attributes["incompleteReasons"] == ["a run has more actions than navlin reads"]


def test_ends_beyond_the_bound_make_the_operation_incomplete(
    server: OozieServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ends, "MAX_ENDS", 3)
    arguments = "".join(f"<arg>/in/{number}</arg>" for number in range(9)) + "<arg>/out</arg>"
    add(server, made.workflow(1, made.action("copy", "distcp", conf=f"<distcp>{arguments}</distcp>")))
    found = Following(server).run()
    assert len(found.relations(RelationType.DATA_FLOW)) == 3
    assert found.operations["daily"].attributes["incompleteReasons"] == [
        "a job names more files and directories than navlin keeps"
    ]


def test_names_are_bounded_and_errors_redacted(server: OozieServer) -> None:
    long = "n" * 100_000
    failed = made.action(long, errorCode="E", errorMessage=f"password=hunter2 {long}", status="ERROR")
    add(server, made.workflow(1, failed, appName=long, user=long, status=long))
    found = Following(server).run()
    assert "hunter2" not in repr(found.records)
    texts = [
        value
        for each in found.records
        if isinstance(each, Entity)
        for value in (each.key.name, *each.attributes.values())
        if isinstance(value, str)
    ]
    assert max(map(len, texts)) <= answers.MAX_MESSAGE_BYTES


def test_names_with_control_characters_and_lone_surrogates_are_read(server: OozieServer) -> None:
    name = "a\u0000\ud800\u202eb"
    add(server, made.workflow(1, made.action(name), appName=name, appPath=f"/apps/{name}"))
    found = Following(server).run()
    assert len(found.operations) == 1
    assert found.rejects == []


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><workflow-app name="&b;"/>'


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no XML",
        "<workflow-app>",
        BOMB,
        '<!DOCTYPE x SYSTEM "file:///etc/passwd"><workflow-app name="x"/>',
        "<a>" * (MAX_DEPTH + 1) + "</a>" * (MAX_DEPTH + 1),
        "<a>" * 100_000,
        "<a>" + "<b/>" * 200_001 + "</a>",
        f"<a>{'x' * MAX_CHARACTERS}</a>",
        "<a>\ud800</a>",
        "<a>\u0000</a>",
        "<a>&unknown;</a>",
    ],
)
def test_a_text_beyond_the_bounds_is_not_xml(text: str) -> None:
    assert parsed(text) is None


def test_a_definition_of_another_kind_is_none() -> None:
    assert to_workflow_definition('<coordinator-app name="x"/>') is None
    assert to_coordinator_definition('<workflow-app name="x"/>') is None


def test_configurations_with_line_ends_of_windows_are_read() -> None:
    text = made.conf(a__b="1").replace("<value>1", "<value>\r\n 1 ")
    assert properties(parsed(text)) == {"db.password": "hunter2", "a.b": "1"}


@pytest.mark.parametrize(
    "conf",
    [
        "",
        "no XML",
        "<fs><move/></fs>",
        '<fs><move source="" target="${x}"/></fs>',
        '<fs><move source="hdfs://[::1" target="hdfs://[::1"/></fs>',
        '<fs><move source="relative" target="./relative"/></fs>',
        f'<fs><move source="/{"x" * 10_000}" target="/{"y" * 10_000}"/></fs>',
        '<fs><move source="/*" target="/user/x/.staging/y"/></fs>',
    ],
)
def test_odd_configurations_of_actions_have_no_ends(server: OozieServer, conf: str) -> None:
    add(server, made.workflow(1, made.action("tidy", "fs", conf=conf)))
    found = Following(server).run()
    assert found.relations(RelationType.DATA_FLOW) == []
    assert found.rejects == []


def test_an_answer_without_a_list_is_an_error(server: OozieServer) -> None:
    server.routes["/oozie/v2/jobs"] = lambda *_: as_json({"total": 1, "workflows": "none"})
    with pytest.raises(
        OSError, match=r"`workflows` is missing or of another type\): is this the address of a server of"
    ):
        Following(server).plan()


def test_check_names_the_release_and_what_is_shown(server: OozieServer) -> None:
    following = Following(server)
    assert list(following.extractor.check()) == [f"{server.address} answers: Oozie 5.2.1, shows no workflow"]
    add(server, made.workflow(1))
    assert list(following.extractor.check()) == [f"{server.address} answers: Oozie 5.2.1, shows workflows"]


@pytest.mark.parametrize(
    ("settings", "setting"),
    [
        ({"urls": ()}, "urls"),
        ({"urls": ("oozie:11000",)}, "urls"),
        ({"urls": ("http://user:password@oozie:11000/oozie",)}, "urls"),
        ({"overlap_s": 0}, "overlap_s"),
        ({"page_size": 1}, "page_size"),
        ({"user": "navlin", "auth": "kerberos"}, "user"),
        ({"keytab": "/k", "auth": "kerberos"}, "keytab"),
        ({"principal": "navlin@R"}, "principal"),
        ({"default_fs": "hdfs://[::1"}, "default_fs"),
    ],
)
def test_a_wrong_setting_is_named(settings: dict[str, Any], setting: str) -> None:
    extractor = Oozie(SOURCE, ESTATE, **{"urls": ("http://oozie:11000/oozie",), **settings})
    assert [name for name, _ in extractor.problems()] == [setting]
