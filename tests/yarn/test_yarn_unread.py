"""Job configurations and applications that YARN fails to return. Each fails alone, and is requested again."""

from __future__ import annotations

import threading
from collections.abc import Mapping

import pytest

from extractors.rest import RestUnavailable
from extractors.yarn.splits import SeenSplit
from tests.services.rest import Answer, JobHistory, ResourceManager
from tests.support.yarn_rounds import MINUTE_MS, Following, app, job, running

MAPREDUCE = {"name": "word count", "type": "MAPREDUCE"}
WORDS: dict[str, str] = {
    "fs_defaultFS": "hdfs://ns1",
    "mapreduce_input_fileinputformat_inputdir": "hdfs://ns1/in",
    "mapreduce_output_fileoutputformat_outputdir": "hdfs://ns1/out",
}


class Slow:
    """Delays the configurations of some jobs until `end` is called."""

    def __init__(self, history: JobHistory, *numbers: int) -> None:
        self._history = history
        self._let_go = threading.Event()
        self.numbers = set(numbers)
        self._answer = history.routes["/ws/v1/history/mapreduce/jobs/"]
        history.routes["/ws/v1/history/mapreduce/jobs/"] = self

    def __call__(self, path: str, query: Mapping[str, str]) -> Answer:
        if int(path.split("/")[-2][-4:]) in self.numbers:
            self._let_go.wait(10)
        return self._answer(path, query)

    def asked(self) -> list[int]:
        paths = [path for path, _ in self._history.asked if path.endswith("/conf")]
        self._history.asked.clear()
        return [int(path.split("/")[-2][-4:]) for path in paths]

    def end(self) -> None:
        self._let_go.set()


def test_a_slow_configuration_delays_no_other_job_and_is_asked_for_again(
    resource_manager: ResourceManager, history: JobHistory
) -> None:
    resource_manager.apps = [app(number, **MAPREDUCE) for number in range(1, 6)]
    for number in range(1, 6):
        history.add(job(number), **WORDS)
    del history.configurations["job_1799000000000_0002"]
    broken = "/ws/v1/history/mapreduce/jobs/job_1799000000000_0004/conf"
    history.routes[broken] = lambda *_: (500, {}, b"java.io.FileNotFoundException: job_conf.xml")
    slow = Slow(history, 3)
    following = Following(resource_manager, history=history, read_timeout_s=1.0)
    try:
        first = following.run()
        assert {name[-4:] for name in first.executions} == {"0001", "0002", "0004", "0005"}
        assert [each.sample[-4:] for each in first.rejects] == ["0003", "0004"]
        assert "no answer within 1 s (`read_timeout_s`)" in first.rejects[0].reason
        assert "HTTP 500: java.io.FileNotFoundException: job_conf.xml" in first.rejects[1].reason
        assert first.rejects[0].reason.endswith("; it will be requested again")
        assert sorted(slow.asked()) == [1, 2, 3, 4, 5]
        # The slow configuration does not delay later jobs, and is not requested in every run.
        resource_manager.apps.append(app(6, **MAPREDUCE))
        history.add(job(6), **WORDS)
        assert {name[-4:] for name in following.run().executions} == {"0006"}
        assert slow.asked() == [6]
        resource_manager.now_ms += 21 * MINUTE_MS
        assert not following.run().executions
        assert slow.asked() == [3]
        slow.numbers.clear()
        resource_manager.now_ms += 41 * MINUTE_MS
        [late] = following.run().executions.values()
        assert (late.key.name[-4:], late.attributes["outputs"]) == ("0003", ["hdfs://ns1/out"])
        assert following.is_quiet()
        assert not [key for key in following.positions if key.startswith("unread")]
    finally:
        slow.end()


def test_a_configuration_that_never_arrives_leaves_the_job_incomplete_after_most_of_a_day(
    resource_manager: ResourceManager, history: JobHistory
) -> None:
    history.add(job(1), **WORDS)
    slow = Slow(history, 1)
    following = Following(resource_manager, history=history, read_timeout_s=1.0)
    runs = 0
    try:
        while not (reported := following.run()).executions:
            runs += 1
            # The delay starts at ten minutes and doubles each time, up to 21 hours in all.
            resource_manager.now_ms += (10 << runs - 1) * MINUTE_MS
            assert runs < 20
    finally:
        slow.end()
    assert runs == 7
    assert reported.reasons == {"word count": ["its job's configuration could not be read, or never arrived"]}
    assert not reported.flows
    assert following.is_quiet()


def test_after_several_slow_answers_the_rest_is_postponed_and_nothing_lost(
    resource_manager: ResourceManager, history: JobHistory
) -> None:
    for number in range(1, 31):
        history.add(job(number), **WORDS)
    slow = Slow(history, 2, 3, 4)
    following = Following(resource_manager, history=history, read_timeout_s=1.0)
    try:
        first = following.run()
        assert {name[-4:] for name in first.executions} == {"0001"}
        assert slow.asked() == [1, 2, 3, 4]
        assert [each.count for each in first.rejects] == [1, 1, 1, 26]
        second = following.run()
        # Each job is read in its own split, with a limit per run.
        assert [len(split.seen) for split in second.plan.splits if isinstance(split, SeenSplit)] == [1] * 20
        slow.numbers.clear()
        resource_manager.now_ms += 21 * MINUTE_MS
        third = following.run()
        names = {*first.executions, *second.executions, *third.executions}
        assert {name[-4:] for name in names} == {f"{number:04d}" for number in range(1, 31)}
        assert following.is_quiet()
    finally:
        slow.end()


def test_a_history_server_lost_midway_fails_its_split(
    resource_manager: ResourceManager, history: JobHistory
) -> None:
    for number in (1, 2):
        history.add(job(number), **WORDS)
    following = Following(resource_manager, history=history)
    plan = following.plan()
    for path in list(history.routes):
        history.routes[path] = lambda *_: (503, {}, b"shutting down")
    with pytest.raises(RestUnavailable, match="503"):
        list(following.extractor.read(plan.splits[0]))


def test_an_unanswered_application_does_not_affect_the_others(
    resource_manager: ResourceManager,
) -> None:
    resource_manager.apps = [running(number) for number in (1, 2, 3)]
    following = Following(resource_manager)
    assert len(following.run().executions) == 3
    gone, resource_manager.apps = resource_manager.apps, [app(9)]
    by_id = "/ws/v1/cluster/apps/application_1799000000000_000"
    resource_manager.routes[f"{by_id}1"] = lambda *_: (500, {}, b"NullPointerException")
    resource_manager.routes[f"{by_id}2"] = lambda *_: (503, {}, b"busy")
    second = following.run()
    # The ResourceManager has forgotten the third application, so that one has ended; the first two stay unchanged.
    assert {name[-4:] for name in second.executions} == {"0003", "0009"}
    assert "application_1799000000000_0001 stays as it was" in second.plan.note
    assert "application_1799000000000_0002 stays as it was" in second.plan.note
    for number in (1, 2):
        del resource_manager.routes[f"{by_id}{number}"]
    resource_manager.apps = [app(9), app(1), app(2)]
    assert {name[-4:] for name in following.run().executions} == {"0001", "0002"}
    assert gone
