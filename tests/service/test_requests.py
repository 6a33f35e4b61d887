"""Requests to ``navlin serve``: each is processed once, and its result is in its document."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from navlin.index.journal.holder import Holder, this_process
from navlin.index.journal.requests import (
    KEPT_MS,
    Job,
    Request,
    RequestState,
    TakenMeanwhile,
    leave_request,
    open_requests,
    read_request,
    remove_answered,
    save_request,
    withdraw_request,
)
from navlin.index.schema.fields import RUNS
from navlin.index.solr.solr import Solr
from navlin.service.daemon.requests import RequestRefused, Requests, Step, Stopped

SOON_S = 300.0
NOW_MS = 1_800_000_000_000


@pytest.fixture(autouse=True)
def no_requests(solr: Solr) -> Iterator[None]:
    yield
    for request in open_requests(solr):
        withdraw_request(solr, request)
    solr.commit(RUNS, soft=True)


class Jobs:
    """Jobs whose argument ``how`` makes them wait, refuse, fail or stop. By default they return their arguments."""

    def __init__(self, solr: Solr, me: Holder | None = None) -> None:
        self.solr = solr
        self.times = 0
        self.steps: list[str] = []
        self.gate = threading.Event()
        self.requests = Requests(
            solr.address, me or this_process(), dict.fromkeys(Job, self.run), lambda: NOW_MS
        )

    def run(self, arguments: Mapping[str, Any], step: Step) -> dict[str, Any]:
        self.times += 1
        step("read")
        match arguments.get("how"):
            case "wait":
                assert self.gate.wait(SOON_S)
            case "refuse":
                raise RequestRefused("there is no such source")
            case "fail":
                raise ValueError("it does not work")
            case "stop":
                raise Stopped
        return {"arguments": dict(arguments)}

    def leave(self, **arguments: Any) -> Request:
        return leave_request(self.solr, Job.EXTRACT, arguments, "alice", NOW_MS)

    def until(self, request: Request, condition: Callable[[Request], bool]) -> Request:
        deadline = time.monotonic() + SOON_S
        while time.monotonic() < deadline:
            found = read_request(self.solr, request.id)
            assert found is not None
            if condition(found):
                return found
            time.sleep(0.02)
        pytest.fail(f"{request} is still as it was")

    def answered(self, **arguments: Any) -> Request:
        request = self.leave(**arguments)
        self.requests.poll()
        return self.until(request, lambda found: not found.open)


@pytest.fixture
def jobs(solr: Solr) -> Jobs:
    return Jobs(solr)


def test_a_request_whose_result_was_not_saved_is_failed_by_its_own_daemon(jobs: Jobs) -> None:
    request = jobs.leave(source="HIVE-1")
    save_request(jobs.solr, replace(request, state=RequestState.RUNNING, holder=this_process()))

    jobs.requests.poll()

    ended = jobs.until(request, lambda found: not found.open)
    assert (
        ended.error
        == "the answer could not be saved; what the job wrote stays, and the next run continues from there"
    )
    assert jobs.times == 0


def test_an_answered_request_records_its_user_and_times(jobs: Jobs) -> None:
    answered = jobs.answered(source="HIVE-1", complete=True)

    assert answered.answer == {"arguments": {"source": "HIVE-1", "complete": True}}
    assert (answered.state, answered.asked_by, answered.asked_ms) == (RequestState.DONE, "alice", NOW_MS)
    assert (answered.holder, answered.ended_ms, answered.error) == (this_process(), NOW_MS, "")
    assert answered.id not in {request.id for request in open_requests(jobs.solr)}


def test_a_running_request_shows_its_step(jobs: Jobs) -> None:
    request = jobs.leave(how="wait", source="HIVE-1")
    jobs.requests.poll()

    running = jobs.until(request, lambda found: found.step == "read")
    assert running.state is RequestState.RUNNING
    assert jobs.requests.running() == ["request extract HIVE-1"]
    jobs.gate.set()
    assert jobs.until(request, lambda found: not found.open).step == ""


def test_polling_again_does_not_run_a_request_twice(jobs: Jobs) -> None:
    request = jobs.leave(how="wait")
    for _ in range(5):
        jobs.requests.poll()
    jobs.gate.set()
    jobs.until(request, lambda found: not found.open)
    jobs.requests.poll()

    assert jobs.times == 1


def test_only_one_of_two_daemons_runs_a_request(solr: Solr, jobs: Jobs) -> None:
    other = Jobs(solr, Holder("another-host", 1, "1"))
    requests = [jobs.leave(how="wait") for _ in range(3)]
    polling = [threading.Thread(target=each.requests.poll) for each in (jobs, other)]
    for thread in polling:
        thread.start()
    for thread in polling:
        thread.join()
    jobs.gate.set()
    other.gate.set()
    for request in requests:
        jobs.until(request, lambda found: not found.open)

    assert jobs.times + other.times == 3


@pytest.mark.parametrize(
    ("how", "error"),
    [
        ("refuse", "there is no such source"),
        ("fail", "it does not work"),
        ("stop", "navlin serve was stopped before the job finished"),
    ],
)
def test_a_failure_becomes_the_error_of_the_request(jobs: Jobs, how: str, error: str) -> None:
    answered = jobs.answered(how=how)

    assert answered.state is RequestState.FAILED
    assert error in answered.error


def test_a_request_of_a_dead_daemon_is_failed_by_the_next(jobs: Jobs) -> None:
    dead = replace(this_process(), started="long ago")
    request = jobs.leave(source="HIVE-1")
    save_request(jobs.solr, replace(request, state=RequestState.RUNNING, holder=dead))
    elsewhere = jobs.leave(source="HIVE-2")
    save_request(
        jobs.solr, replace(elsewhere, state=RequestState.RUNNING, holder=Holder("another-host", 1, "1"))
    )
    jobs.requests.poll()

    assert (
        "navlin serve died before the job finished" in jobs.until(request, lambda found: not found.open).error
    )
    still = read_request(jobs.solr, elsewhere.id)
    assert still is not None
    assert still.state is RequestState.RUNNING
    assert jobs.times == 0
    withdraw_request(jobs.solr, still)


def test_a_withdrawn_request_is_not_run(jobs: Jobs) -> None:
    request = jobs.leave()

    assert withdraw_request(jobs.solr, request)
    jobs.requests.poll()
    assert jobs.times == 0
    assert read_request(jobs.solr, request.id) is None


def test_a_running_request_cannot_be_withdrawn_with_a_stale_version(jobs: Jobs) -> None:
    request = jobs.leave()
    taken = save_request(jobs.solr, replace(request, state=RequestState.RUNNING, holder=this_process()))

    assert not withdraw_request(jobs.solr, request)
    with pytest.raises(TakenMeanwhile):
        save_request(jobs.solr, replace(request, state=RequestState.RUNNING))
    assert withdraw_request(jobs.solr, taken)


def test_answers_are_kept_for_a_day(jobs: Jobs) -> None:
    answered = jobs.answered()
    jobs.solr.commit(RUNS, soft=True)

    remove_answered(jobs.solr, NOW_MS + KEPT_MS - 1_000)
    assert read_request(jobs.solr, answered.id) is not None
    remove_answered(jobs.solr, NOW_MS + KEPT_MS + 1_000)
    assert read_request(jobs.solr, answered.id) is None
