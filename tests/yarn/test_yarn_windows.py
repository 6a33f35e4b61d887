"""Applications requested in each round: running ones, those that have ended since the last round, and those
reported only once."""

from __future__ import annotations

import pytest

from extractors.yarn.plan import OPEN
from tests.services.rest import ResourceManager
from tests.support.yarn_rounds import MINUTE_MS, NOW_MS, Following, app, running


def test_a_quiet_round_asks_twice_and_yields_nothing(
    resource_manager: ResourceManager,
) -> None:
    resource_manager.apps = [app(1), running(2)]
    following = Following(resource_manager)
    assert len(following.run().executions) == 2
    # Values that grow while an application runs do not count as changes.
    resource_manager.apps[1] |= {"progress": 70.0, "memorySeconds": 99_999, "elapsedTime": 5}
    resource_manager.now_ms += 10 * MINUTE_MS
    resource_manager.asked.clear()
    assert following.is_quiet()
    assert len(resource_manager.asked) == 2


def test_a_running_application_is_asked_for_until_it_ends(resource_manager: ResourceManager) -> None:
    resource_manager.apps = [running(1)]
    following = Following(resource_manager)
    assert following.run().executions["application_1799000000000_0001"].attributes["status"] == "RUNNING"
    ended_ms = NOW_MS + 7 * 24 * 60 * MINUTE_MS
    resource_manager.apps = [app(1, finishedTime=ended_ms)]
    [execution] = following.run().executions.values()
    assert (execution.attributes["status"], execution.attributes["ended"]) == ("SUCCEEDED", ended_ms)
    assert following.is_quiet()


def test_an_end_long_before_the_window_is_found_if_it_was_seen_running(
    resource_manager: ResourceManager,
) -> None:
    resource_manager.apps = [running(1), app(2, finishedTime=NOW_MS)]
    following = Following(resource_manager)
    following.run()
    # The clock of the formerly active ResourceManager was an hour slow.
    resource_manager.apps[0] = app(1, finishedTime=NOW_MS - 60 * MINUTE_MS)
    [execution] = following.run().executions.values()
    assert execution.attributes["status"] == "SUCCEEDED"
    assert following.is_quiet()


def test_an_application_forgotten_while_running_has_an_unknown_end(resource_manager: ResourceManager) -> None:
    resource_manager.apps = [running(1)]
    following = Following(resource_manager)
    before = following.run()
    resource_manager.apps = []
    [execution] = following.run().executions.values()
    assert (execution.attributes["status"], execution.attributes["ended"]) == ("UNKNOWN", None)
    assert execution.as_of_ms == before.executions["application_1799000000000_0001"].as_of_ms
    assert following.positions[OPEN] == {}
    assert following.is_quiet()
    resource_manager.apps = [app(1)]
    assert following.run().executions["application_1799000000000_0001"].attributes["status"] == "SUCCEEDED"


def test_an_application_listed_late_is_not_missed(resource_manager: ResourceManager) -> None:
    resource_manager.apps = [app(2, finishedTime=NOW_MS)]
    following = Following(resource_manager)
    following.run()
    resource_manager.apps.append(app(1, finishedTime=NOW_MS - 9 * MINUTE_MS))
    assert list(following.run().executions) == ["application_1799000000000_0001"]


def test_a_changed_end_is_reported_again(resource_manager: ResourceManager) -> None:
    resource_manager.apps = [app(1)]
    following = Following(resource_manager)
    following.run()
    resource_manager.apps = [app(1, memorySeconds=3_000)]
    [execution] = following.run().executions.values()
    assert execution.attributes["memoryMbSeconds"] == 3_000


def test_a_clock_ahead_hides_nothing(resource_manager: ResourceManager) -> None:
    day_ms = 24 * 60 * MINUTE_MS
    resource_manager.apps, resource_manager.now_ms = [app(1, finishedTime=NOW_MS + day_ms)], NOW_MS + day_ms
    following = Following(resource_manager)
    following.run()
    # Another ResourceManager is active now, with a correct clock.
    resource_manager.now_ms = NOW_MS + 10 * MINUTE_MS
    resource_manager.apps.append(app(2, finishedTime=NOW_MS + 3 * MINUTE_MS))
    assert list(following.run().executions) == ["application_1799000000000_0002"]


def test_an_application_with_hidden_times_is_reported_once(resource_manager: ResourceManager) -> None:
    """A ResourceManager reports times of 0 to users without permission to view an application."""
    resource_manager.apps = [app(1, startedTime=0, finishedTime=0)]
    following = Following(resource_manager)
    [execution] = following.run().executions.values()
    assert (execution.attributes["started"], execution.attributes["ended"]) == (None, None)
    assert execution.as_of_ms == 1_799_000_000_000
    assert following.is_quiet()


@pytest.mark.parametrize("spread_ms", [0, 1, 1_000])
def test_a_long_list_is_read_in_bounded_pages(resource_manager: ResourceManager, spread_ms: int) -> None:
    resource_manager.apps = [app(n, finishedTime=NOW_MS - n * spread_ms) for n in range(300)]
    following = Following(resource_manager, page_size=50)
    assert len(following.run().executions) == 300
    limits = {query.get("limit") for _, query in resource_manager.asked if "finishedTimeBegin" in query}
    assert limits == ({"50"} if spread_ms else {"50", None})
    assert len(resource_manager.asked) < 60
    assert following.is_quiet()


def test_hidden_times_do_not_cause_an_endless_search(resource_manager: ResourceManager) -> None:
    resource_manager.apps = [app(n, finishedTime=0) for n in range(100)]
    assert len(Following(resource_manager, page_size=10).run().executions) == 100
    assert len(resource_manager.asked) < 10


def test_a_failed_split_is_planned_again(resource_manager: ResourceManager) -> None:
    resource_manager.apps = [app(1), running(2)]
    following = Following(resource_manager)
    first, again = following.plan(), following.plan()
    assert first == again
    [split] = first.splits
    assert split.name == "application_1799000000000_0001 and 1 more"
    assert list(following.extractor.read(split)) == list(following.extractor.read(split))
