"""Every user has a share of the applications that navlin remembers. An application beyond the share is rejected, or
known incompletely."""

from __future__ import annotations

from typing import Any

import pytest

from extractors.yarn import plan
from extractors.yarn.jobs import UNREADABLE
from tests.services.rest import JobHistory, ResourceManager
from tests.support.yarn_rounds import Following, app, job, running

WORD_COUNT = {"name": "word count", "type": "MAPREDUCE"}


def of_loud(first: int, count: int, **more: Any) -> list[dict[str, Any]]:
    return [running(number, user="loud", **more) for number in range(first, first + count)]


def test_open_applications_beyond_a_users_share_are_rejected_and_others_kept(
    resource_manager: ResourceManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "MAX_OPEN", 10)
    monkeypatch.setattr(plan, "MAX_OPEN_OF_USER", 6)
    resource_manager.apps = [*of_loud(1, 50), running(99)]
    following = Following(resource_manager)
    extracted = following.run()
    assert len(following.positions["open"]) == 7
    assert len(extracted.executions) == 51
    (reject,) = extracted.rejects
    assert (reject.place, reject.count) == (resource_manager.url, 44)
    assert reject.reason.startswith("44 open applications of loud are not remembered")
    # The ResourceManager forgets all applications.
    resource_manager.apps = []
    assert "application_1799000000000_0099" in following.run().executions


def test_open_applications_are_bounded_in_bytes(
    resource_manager: ResourceManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "MAX_OPEN_BYTES", 50_000)
    monkeypatch.setattr(plan, "MAX_OPEN_BYTES_OF_USER", 30_000)
    resource_manager.apps = [*of_loud(1, 50, name="n" * 5_000), running(99)]
    following = Following(resource_manager)
    assert sum(each.count for each in following.run().rejects) == 45
    assert "application_1799000000000_0099" in following.positions["open"]


@pytest.mark.parametrize("name", ["user", "queue", "applicationType", "name", "applicationTags"])
def test_no_text_of_an_application_is_stored_at_unbounded_length(
    resource_manager: ResourceManager, name: str
) -> None:
    resource_manager.apps = [{**running(1), name: "x" * 1_000_000}]
    following = Following(resource_manager)
    following.run()
    assert len(str(following.positions["open"])) < 10_000


def test_jobs_beyond_the_limit_are_read_without_their_history(
    resource_manager: ResourceManager, history: JobHistory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "MAX_OPEN", 1)
    resource_manager.apps = [app(number, **WORD_COUNT) for number in (1, 2, 3)]
    following = Following(resource_manager, history=history)
    extracted = following.run()
    assert len(following.positions["open"]) == 1
    assert (len(extracted.executions), extracted.rejects) == (2, [])
    # The history of the jobs arrives nevertheless.
    for number in (1, 2, 3):
        history.add(job(number))
    assert len(following.run().executions) == 3


def test_unread_configurations_are_limited_per_user_and_the_other_jobs_incomplete(
    resource_manager: ResourceManager, history: JobHistory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "MAX_UNREAD_OF_USER", 4)
    resource_manager.apps = [app(number, **WORD_COUNT) for number in range(1, 21)]
    for number in range(1, 21):
        history.add(job(number))
        # The route closes the connection without a response.
        history.routes[f"/ws/v1/history/mapreduce/jobs/job_1799000000000_{number:04d}/conf"] = broken
    following = Following(resource_manager, history=history)
    extracted = following.run()
    waiting = [key for key in following.positions if key.startswith(plan.UNREAD)]
    assert len(waiting) == 4
    assert len(extracted.executions) == 16
    assert list(extracted.reasons.values()) == [[UNREADABLE]]
    assert sum(each.count for each in extracted.rejects) >= 20


def broken(*_: object) -> Any:
    return 503, {}, b"starting"


def test_remembered_applications_are_bounded_and_none_is_lost(
    resource_manager: ResourceManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "MAX_ENDED", 5)
    resource_manager.apps = [app(number) for number in range(1, 21)]
    following = Following(resource_manager)
    assert len(following.run().executions) == 20
    assert len(following.positions["settled"]) == 5
    again = following.run()
    assert len(again.executions) == 15
