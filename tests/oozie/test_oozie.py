"""The jobs that each round of the Oozie extractor reads: the first round, later ones, and what is remembered between."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from extractors.oozie import plan, reading, wanted
from navlin.model.records import Position, Reject
from tests.services.oozie import OozieServer, gmt, refused
from tests.services.rest import Answer, Query, as_json
from tests.support import oozie_rounds as made
from tests.support.oozie_rounds import HOUR_MS, MINUTE_MS, NOW_MS, SECOND_MS, Following, add, identity


@pytest.fixture
def server() -> Iterator[OozieServer]:
    with OozieServer() as server:
        yield server


def read_since(server: OozieServer, following: Following) -> list[str]:
    """Run a round, and return the ids of the jobs about which it asked."""
    before = len(server.asked)
    following.run()
    return sorted(
        path.rpartition("/")[2] for path, query in server.asked[before:] if query.get("show") == "info"
    )


def changed(number: int, at_ms: int, **more: Any) -> dict[str, Any]:
    return made.workflow(number, lastModTime=gmt(at_ms), **more)


# -- Lists ---------------------------------------------------------------------------------------------------------------


def test_the_first_round_reads_every_job_of_all_pages(server: OozieServer) -> None:
    add(server, *(made.workflow(number) for number in range(25)), made.coordinator(1), made.bundle(1))
    following = Following(server, page_size=4)
    extracted = following.run()
    assert len(extracted.executions) == 26  # with the bundle's own
    assert len(set(server.asked_for("info"))) == 27
    assert following.is_quiet()


def test_offsets_are_counted_from_one(server: OozieServer) -> None:
    add(server, *(made.workflow(number) for number in range(3)))
    Following(server, page_size=2).run()
    offsets = [query["offset"] for _, query in server.asked if query.get("jobtype") == "wf"]
    assert offsets == ["1", "3"]


def test_pages_that_shift_while_they_are_read_lose_no_job(server: OozieServer) -> None:
    add(server, *(made.workflow(number) for number in range(40)))
    listed = server.routes["/oozie/v2/jobs"]

    def shifting(path: str, query: Query) -> Answer:
        answer = listed(path, query)
        if query["jobtype"] == "wf":
            # A job is created, and the two oldest are purged.
            number = 100 + len(server.asked)
            add(server, made.workflow(number, createdTime=gmt(NOW_MS - number)))
            for oldest in sorted(server.jobs)[:1]:
                del server.jobs[oldest]
        return answer

    server.routes["/oozie/v2/jobs"] = shifting
    found = Following(server, page_size=20).run()
    still_there = {each for each in server.jobs if each < identity(100)}
    assert still_there <= found.executions.keys()


def test_a_list_is_read_to_its_end_if_the_server_answers_shorter_pages(server: OozieServer) -> None:
    add(server, *(made.workflow(number) for number in range(30)))
    listed = server.routes["/oozie/v2/jobs"]
    server.routes["/oozie/v2/jobs"] = lambda path, query: listed(path, {**query, "len": "7"})
    assert len(Following(server).run().executions) == 30


def test_a_server_that_repeats_a_page_forever_is_given_up(server: OozieServer) -> None:
    row = made.workflow(1)
    server.routes["/oozie/v2/jobs"] = lambda _, query: as_json(
        {"total": 10**9, "workflows": [row], "coordinatorjobs": [], "bundlejobs": []}
    )
    server.jobs[row["id"]] = row
    assert len(Following(server).run().executions) == 1
    assert len(server.asked) < 20


def test_entries_without_an_id_are_counted(server: OozieServer) -> None:
    rows = [None, {"id": "../../admin"}, {"id": 7}, made.workflow(1), {"id": identity(1, "C")}]
    server.jobs[identity(1)] = made.workflow(1)
    server.routes["/oozie/v2/jobs"] = lambda _, query: as_json(
        {"total": 5, "workflows": rows}
        if query["jobtype"] == "wf"
        else {"coordinatorjobs": [], "bundlejobs": []}
    )
    following = Following(server)
    assert following.plan().note == f"{server.url}/oozie: 4 entries have no id"
    assert len(following.run().executions) == 1


def test_times_are_asked_for_in_gmt(server: OozieServer) -> None:
    add(server, made.workflow(1))
    Following(server).run()
    shown = [query for _, query in server.asked if query.get("show") != "definition"]
    assert {query["timezone"] for query in shown} == {"GMT"}


def test_a_name_of_the_user_is_sent_where_oozie_wants_one(server: OozieServer) -> None:
    add(server, made.workflow(1), W=made.definition("load"))
    Following(server, user="navlin").run()
    assert {query["user.name"] for _, query in server.asked} == {"navlin"}


# -- Later rounds --------------------------------------------------------------------------------------------------------


def test_a_later_round_reads_what_changed_and_nothing_else(server: OozieServer) -> None:
    add(server, *(made.workflow(number) for number in range(50)))
    following = Following(server, page_size=10)
    following.run()
    assert following.is_quiet()
    add(server, changed(51, NOW_MS - MINUTE_MS), changed(3, NOW_MS - 2 * MINUTE_MS, run=1))
    assert read_since(server, following) == [identity(3), identity(51)]
    assert following.is_quiet()


def test_a_later_round_costs_by_what_changed(server: OozieServer) -> None:
    add(server, *(made.workflow(number) for number in range(300)), W=made.definition("load"))
    following = Following(server)
    following.run()
    add(server, *(changed(number, NOW_MS - number * SECOND_MS) for number in range(10)))
    before = len(server.asked)
    following.run()
    # Two lists of workflows, one of coordinators, one of bundles, ten jobs and their definition.
    assert len(server.asked) - before == 4 + 10 + 1


@pytest.mark.services
def test_a_round_with_ten_changes_among_twenty_thousand_workflows_costs_by_the_ten(
    server: OozieServer,
) -> None:
    names = [f"app-{number}" for number in range(50)]
    jobs = [
        made.workflow(
            number,
            appName=names[number % 50],
            appPath=f"/apps/{names[number % 50]}",
            createdTime=gmt(NOW_MS - 1_000 * HOUR_MS + number * SECOND_MS),
            lastModTime=gmt(NOW_MS - 1_000 * HOUR_MS + number * SECOND_MS),
        )
        for number in range(20_000)
    ]
    add(
        server, *jobs, made.coordinator(1, *actions(5_000)), W=made.definition("load"), C="<coordinator-app/>"
    )
    following = Following(server)
    found = following.run()
    assert len(found.executions) == 25_000
    assert found.operations.keys() == {*names, "hourly"}
    # Each workflow, a definition for each application of a batch, and some pages.
    assert len(server.asked) < 20_000 + 400 + 100
    assert following.is_quiet()
    for number in range(0, 20_000, 2_000):
        add(server, {**jobs[number], "lastModTime": gmt(NOW_MS - MINUTE_MS), "run": 1})
    add(server, made.coordinator(1, *actions(5_003, 5_003)))
    before = len(server.asked)
    assert len(following.run().executions) == 10
    assert len(server.asked) - before <= 4 + 10 + 10
    server.jobs[identity(1, "C")] |= {"lastAction": gmt(NOW_MS)}
    server.changed_ms[identity(1, "C")] = NOW_MS
    before = len(server.asked)
    assert len(following.run().executions) == 3
    assert len(server.asked) - before <= 4 + 6


def test_running_workflows_are_read_in_each_round(server: OozieServer) -> None:
    add(server, made.workflow(1), made.running(2, lastModTime=gmt(NOW_MS - HOUR_MS)))
    following = Following(server)
    following.run()
    assert read_since(server, following) == [identity(2)]
    add(server, changed(2, NOW_MS - MINUTE_MS))
    assert read_since(server, following) == [identity(2)]
    assert following.is_quiet()


def test_the_end_of_a_running_workflow_is_read_even_by_a_clock_that_is_late(server: OozieServer) -> None:
    add(server, made.running(1), *(changed(number, NOW_MS - MINUTE_MS) for number in range(2, 5)))
    following = Following(server)
    following.run()
    add(server, changed(1, NOW_MS - HOUR_MS + 5 * SECOND_MS))
    assert read_since(server, following) == [identity(1)]
    assert following.run().executions == {}


def test_a_change_by_the_late_clock_of_another_server_is_read(server: OozieServer) -> None:
    add(server, changed(1, NOW_MS - 2 * MINUTE_MS))
    following = Following(server)
    following.run()
    add(server, changed(2, NOW_MS - 9 * MINUTE_MS, createdTime=gmt(NOW_MS - 9 * MINUTE_MS)))
    assert read_since(server, following) == [identity(2)]
    assert following.is_quiet()


def test_a_change_in_the_future_hides_no_other(server: OozieServer) -> None:
    add(server, changed(1, NOW_MS + 1_000 * HOUR_MS))
    following = Following(server)
    following.run()
    add(server, changed(2, NOW_MS - MINUTE_MS))
    assert identity(2) in read_since(server, following)


def test_a_complete_round_reads_everything_again(server: OozieServer) -> None:
    add(server, *(made.workflow(number) for number in range(5)), made.coordinator(1), made.bundle(1))
    following = Following(server)
    following.run()
    assert len(following.run(complete=True).executions) == 6
    assert following.is_quiet()


def test_nothing_is_covered_because_oozie_purges(server: OozieServer) -> None:
    add(server, made.workflow(1))
    following = Following(server)
    assert following.plan().covers == ()
    following.run()
    server.jobs.clear()
    assert following.plan().covers == ()


def test_a_job_purged_between_the_list_and_the_answer_is_passed_over(server: OozieServer) -> None:
    add(server, made.workflow(1), made.workflow(2), made.coordinator(1), made.bundle(1))
    following = Following(server)
    splits = following.plan().splits
    for each in (identity(1), identity(1, "C"), identity(1, "B")):
        del server.jobs[each]
    records = [record for split in splits for record in following.read(split)]
    assert not [each for each in records if isinstance(each, Reject)]
    assert {each.key for each in records if isinstance(each, Position) and each.value is None} == {
        wanted.Remembered.key(identity(1, "C")),
        wanted.Remembered.key(identity(1, "B")),
    }


# -- Older servers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["refuses the order", "ignores the order"])
def test_an_older_server_lists_by_creation_and_shows_what_runs(server: OozieServer, way: str) -> None:
    before = {"createdTime": gmt(NOW_MS - 9 * HOUR_MS)}
    add(server, *(made.workflow(number, **before) for number in range(30)), made.running(40))
    following = Following(server, page_size=10)
    following.run()
    if way == "refuses the order":
        server.sorts = False
    else:
        listed = server.routes["/oozie/v2/jobs"]
        server.routes["/oozie/v2/jobs"] = lambda path, query: listed(
            path, {**query, "filter": query.get("filter", "").replace("sortby=lastModifiedTime", "")}
        )
    recent_ms = NOW_MS - MINUTE_MS
    add(server, changed(40, recent_ms), changed(3, recent_ms, **before))
    add(server, changed(50, recent_ms, createdTime=gmt(recent_ms)))
    assert read_since(server, following) == [identity(40), identity(50)]
    assert following.is_quiet()
    # A workflow that was run again is noticed while it runs.
    add(server, made.running(3, run=1, **before))
    assert read_since(server, following) == [identity(3)]


def test_another_refusal_is_an_error(server: OozieServer) -> None:
    add(server, made.workflow(1))
    following = Following(server)
    following.run()
    server.routes["/oozie/v2/jobs"] = lambda *_: refused("E0420", "Invalid jobs filter [status=RUNNING]")
    with pytest.raises(OSError, match="HTTP 400: E0420: Invalid jobs filter"):
        following.plan()


# -- Coordinators --------------------------------------------------------------------------------------------------------


def actions(count: int, *open_ones: int) -> list[dict[str, Any]]:
    return [
        made.coordinator_action(number, "RUNNING" if number in open_ones else "SUCCEEDED")
        for number in range(1, count + 1)
    ]


def test_all_actions_of_a_coordinator_are_read_from_the_highest_down(server: OozieServer) -> None:
    add(server, made.coordinator(1, *actions(250)))
    following = Following(server, page_size=50)
    assert len(following.run().executions) == 250
    asked = [query for _, query in server.asked if query.get("order")]
    assert {query["order"] for query in asked} == {"desc"}
    assert following.is_quiet()


def test_only_open_and_later_actions_of_a_coordinator_are_read_again(server: OozieServer) -> None:
    add(server, made.coordinator(1, *actions(5_000, 4_998, 5_000)))
    following = Following(server, page_size=50)
    assert len(following.run().executions) == 5_000
    before = len(server.asked)
    assert following.run().executions.keys() == {
        identity(1, "C") + f"@{number}" for number in (4_998, 4_999, 5_000)
    }
    assert len(server.asked) - before <= 8
    add(server, made.coordinator(1, *actions(5_001, 5_001)))
    assert following.run().executions.keys() == {
        identity(1, "C") + f"@{number}" for number in (4_998, 4_999, 5_000, 5_001)
    }
    add(server, made.coordinator(1, *actions(5_001)))
    following.run()
    assert following.is_quiet()


def test_actions_are_read_from_a_server_that_lists_them_upward(server: OozieServer) -> None:
    add(server, made.coordinator(1, *actions(60, 60)))
    answered = server.routes["/oozie/v2/job/"]
    server.routes["/oozie/v2/job/"] = lambda path, query: answered(path, {**query, "order": "asc"})
    following = Following(server, page_size=10)
    assert len(following.run().executions) == 60
    assert following.run().executions.keys() == {identity(1, "C") + "@60"}


def test_new_actions_while_pages_are_read_lose_no_other(server: OozieServer) -> None:
    add(server, made.coordinator(1, *actions(100)))
    answered = server.routes["/oozie/v2/job/"]

    def growing(path: str, query: Query) -> Answer:
        answer = answered(path, query)
        if query.get("order"):
            add(server, made.coordinator(1, *actions(len(server.jobs[identity(1, "C")]["actions"]) + 2)))
        return answer

    server.routes["/oozie/v2/job/"] = growing
    found = Following(server, page_size=20).run().executions
    assert {identity(1, "C") + f"@{number}" for number in range(1, 101)} <= found.keys()


def test_an_action_that_ran_again_is_read_by_its_new_workflow(server: OozieServer) -> None:
    add(server, made.coordinator(1, *actions(20)))
    add(server, made.workflow(1, parentId=identity(1, "C") + "@3"))
    following = Following(server)
    following.run()
    add(server, changed(2, NOW_MS - MINUTE_MS, parentId=identity(1, "C") + "@3"))
    found = following.run()
    assert found.executions.keys() == {identity(2), identity(1, "C") + "@3"}
    assert following.is_quiet()


def test_a_coordinator_that_changed_is_found_behind_many_that_did_not(server: OozieServer) -> None:
    add(server, *(made.coordinator(number) for number in range(30)))
    following = Following(server, page_size=5)
    add(server, made.workflow(1))
    following.run()
    add(server, made.coordinator(7, status="KILLED"))
    server.changed_ms[identity(7, "C")] = NOW_MS
    before = len(server.asked)
    assert read_since(server, following)[0] == identity(7, "C")
    lists = [query for _, query in server.asked[before:] if query.get("jobtype") == "coordinator"]
    assert len(lists) == 2


def test_coordinators_that_are_not_remembered_are_read_again(
    server: OozieServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "MAX_REMEMBERED", 2)
    add(server, *(made.coordinator(number, *actions(3)) for number in range(4)))
    following = Following(server)
    assert len(following.run().executions) == 12
    assert len(following.run().executions) == 6


def test_purged_coordinators_are_forgotten_before_there_is_no_more_room(
    server: OozieServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "MAX_REMEMBERED", 8)
    add(server, made.workflow(1), *(made.coordinator(number) for number in range(5)))
    following = Following(server)
    following.run()
    for number in range(4):
        del server.jobs[identity(number, "C")]
    following.run()
    assert [key for key in following.positions if key.startswith(wanted.REMEMBERED)] == [
        wanted.Remembered.key(identity(4, "C"))
    ]
    assert following.is_quiet()


def test_a_complete_round_does_not_ask_an_older_server_for_an_order(server: OozieServer) -> None:
    server.sorts = False
    add(server, made.workflow(1), made.coordinator(1, *actions(2)))
    following = Following(server)
    following.run()
    assert len(following.run(complete=True).executions) == 3


# -- What is remembered --------------------------------------------------------------------------------------------------


def test_workflows_that_are_not_remembered_are_read_again(
    server: OozieServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "MAX_RECENT", 2)
    add(server, *(changed(number, NOW_MS - MINUTE_MS) for number in range(5)))
    following = Following(server)
    assert len(following.run().executions) == 5
    assert len(following.run().executions) == 3


def test_open_workflows_beyond_a_users_share_are_rejected_where_the_server_cannot_sort(
    server: OozieServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "MAX_OPEN_OF_USER", 3)
    monkeypatch.setattr(plan, "MAX_OPEN", 4)
    add(server, *(made.running(number, user="many") for number in range(9)), made.running(20, user="ana"))
    following = Following(server)
    assert following.run().rejects == []
    assert len(following.positions[plan.OPEN]) == 4
    assert "ana" in following.positions[plan.OPEN].values()
    server.sorts = False
    [reject] = following.run().rejects
    assert (reject.count, reject.place) == (6, f"{server.url}/oozie")
    assert "6 running workflows of many are not remembered" in reject.reason


# -- Jobs that cannot be read ----------------------------------------------------------------------------------------------


def broken(server: OozieServer, *numbers: int) -> None:
    """Let the server answer about these workflows with an error."""
    for number in numbers:
        server.routes[f"/oozie/v2/job/{identity(number)}"] = lambda *_: (500, {}, b"NullPointerException")


def test_a_job_that_cannot_be_read_affects_no_other_and_is_asked_for_again(server: OozieServer) -> None:
    add(server, *(made.workflow(number) for number in range(1, 4)))
    broken(server, 2)
    following = Following(server)
    found = following.run()
    assert found.executions.keys() == {identity(1), identity(3)}
    [reject] = found.rejects
    assert reject.place == f"{server.url}/oozie/v2/job/{identity(2)}"
    assert "HTTP 500" in reject.reason
    assert reject.reason.endswith("; it will be requested again")
    assert following.is_quiet()
    server.now_ms += wanted.FIRST_RETRY_MS
    del server.routes[f"/oozie/v2/job/{identity(2)}"]
    assert following.run().executions.keys() == {identity(2)}
    assert following.is_quiet()


def test_a_job_is_given_up_after_enough_attempts(server: OozieServer) -> None:
    add(server, made.workflow(1), made.workflow(2))
    broken(server, 2)
    following = Following(server)
    following.run()
    reasons = []
    for attempt in range(1, reading.MAX_TRIES):
        server.now_ms += wanted.FIRST_RETRY_MS << attempt
        reasons += [each.reason.endswith("requested again") for each in following.run().rejects]
    assert reasons == [True] * (reading.MAX_TRIES - 2) + [False]
    server.now_ms += 1_000 * HOUR_MS
    assert not following.plan().splits


def test_jobs_beyond_the_number_that_is_remembered_are_tried_once(
    server: OozieServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "MAX_UNREAD", 1)
    add(server, *(made.workflow(number) for number in range(1, 4)))
    broken(server, 1, 2, 3)
    following = Following(server)
    reasons = [each.reason.endswith("requested again") for each in following.run().rejects]
    assert sorted(reasons) == [False, False, True]
    assert sum(key.startswith(wanted.UNREAD) for key in following.positions) == 1


def test_a_definition_that_cannot_be_read_leaves_the_job(server: OozieServer) -> None:
    add(server, made.workflow(1, made.action("load")), W="<!DOCTYPE x><workflow-app/>")
    found = Following(server).run()
    [reject] = found.rejects
    assert "a definition is not XML" in reject.reason
    assert found.operations["daily"].attributes["queryText"] is None
    assert found.executions.keys() == {identity(1)}
