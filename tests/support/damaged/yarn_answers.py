"""Damaged applications in responses of YARN and its history servers."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from extractors.yarn import Yarn
from navlin.model.plan import Positions
from navlin.model.source import YARN
from tests.services.rest import Answer, RestServer
from tests.support import damage, yarn_rounds
from tests.support.damaged.tallies import (
    Damaged,
    Outcome,
    Tally,
    damaged_source,
    in_a_task,
    in_time,
)

APPLICATIONS_AN_ANSWER: Final = 200


def yarn(folder: Path, chance: random.Random, count: int, corpora: Sequence[Path]) -> Tally:
    made = yarn_rounds
    applications = [
        made.app(1),
        made.app(2, type="MAPREDUCE"),
        made.running(3),
        made.app(4, finalStatus="FAILED"),
    ]
    jobs = [made.job(1), made.job(2, state="FAILED")]
    properties = {
        "mapreduce.input.fileinputformat.inputdir": "hdfs://ns1/in/a,hdfs://ns1/in/b*",
        "mapreduce.output.fileoutputformat.outputdir": "hdfs://ns1/out",
        "mapreduce.job.map.class": "M",
        "hive.query.id": "hive_1",
        "hive.metastore.uris": "thrift://hms:9083",
        "fs.defaultFS": "hdfs://ns1",
    }
    conf = {
        "conf": {
            "path": "x",
            "property": [{"name": name, "value": value} for name, value in properties.items()],
        }
    }
    tally = Tally()
    with RestServer(made.NOW_MS) as resource_manager, RestServer(made.NOW_MS) as history:
        source, estate = damaged_source("yarn", YARN)
        extractor = Yarn(source, estate, (resource_manager.url,), (history.url,))
        while tally.total < count:
            answers = _YarnAnswers(resource_manager, history)
            of_jobs = chance.random() < 0.3
            if of_jobs:
                answers.conf = damage.to_json(_value_damaged(conf, chance)[1]).encode()
            sound = [json.dumps(made.app(each)).encode() for each in (9_998, 9_999)]
            ways: dict[str, str] = {}
            entries = []
            for number in range(min(APPLICATIONS_AN_ANSWER, count - tally.total)):
                identity = f"1799000000000_{number:04d}"
                kind, known = ("job", jobs) if of_jobs else ("application", applications)
                way, record = _value_damaged({**chance.choice(known), "id": f"{kind}_{identity}"}, chance)
                ways[identity] = way
                entries.append(damage.to_json(record).encode())
            if of_jobs:
                answers.jobs = b'{"jobs":{"job":[' + b",".join(entries) + b"]}}"
                entries = []
            answers.applications = b'{"apps":{"app":[' + b",".join((sound[0], *entries, sound[1])) + b"]}}"
            _of_an_answer(extractor, tally, ways, {"1799000000000_9998", "1799000000000_9999"})
            for _ in range(min(20, count - tally.total)):
                of_bytes = chance.choice((*damage.OF_BYTES, _nested))
                whole = _YarnAnswers(resource_manager, history)
                whole.applications = of_bytes(json.dumps({"apps": {"app": [made.app(1)]}}).encode(), chance)
                tally.add(f"an answer, {of_bytes.__name__}", _of_a_whole_answer(extractor))
    return tally


def _value_damaged(record: Any, chance: random.Random) -> tuple[str, Any]:
    """Damage a value in the record. Deep nesting is excluded, because the response would no longer be JSON."""
    of_value = chance.choice([each for each in damage.OF_VALUES if each is not damage.nested_deep])
    return of_value.__name__, of_value(record, chance)


def _nested(record: bytes, chance: random.Random) -> bytes:
    depth = chance.choice((900, 5_000, 100_000))
    return b'{"apps":{"app":[{"id":' + b"[" * depth + b"]" * depth + b"}]}}"


class _YarnAnswers:
    """Responses of the ResourceManager and the JobHistoryServer, as bytes."""

    def __init__(self, resource_manager: RestServer, history: RestServer) -> None:
        self.applications = self.jobs = self.conf = b"{}"
        resource_manager.routes["/ws/v1/cluster/apps"] = lambda _, query: (200, {}, self._of_states(query))
        history.routes["/ws/v1/history/mapreduce/jobs"] = lambda *_: (200, {}, self.jobs)
        history.routes["/ws/v1/history/mapreduce/jobs/"] = self._configuration

    def _of_states(self, query: Mapping[str, str]) -> bytes:
        """Return all applications in the query for states before the end, and none in other queries, so that each is
        listed once.
        """
        return self.applications if "NEW" in query.get("states", "") else b"{}"

    def _configuration(self, *_: object) -> Answer:
        return 200, {}, self.conf


def _of_an_answer(extractor: Yarn, tally: Tally, ways: Mapping[str, str], sound: set[str]) -> None:
    with in_time("an answer of YARN"):
        plan = extractor.plan(Positions(now_ms=yarn_rounds.NOW_MS))
        task = in_a_task(extractor, *plan.splits)
    if task.summary.failures:
        raise Damaged(f"splits of an answer failed: {task.summary.failures}")
    known = {each["originalName"] for each in task.documents if each["type"] == "OPERATION_EXECUTION"}
    # Include applications that are running or wait for their history.
    known.update(*(position.value for position in plan.positions if position.key == "open"))
    known = {each.partition("_")[2] for each in known}
    if lost := sound - known:
        raise Damaged(f"sound applications are lost: {lost}")
    # The plan's note reports, for each service, the number of entries without an id.
    without_id = sum(map(int, re.findall(r"http://\S+: (\d+) entries have no id", plan.note)))
    unknown = ways.keys() - known
    if len(unknown) != without_id:
        raise Damaged(
            f"{len(unknown)} entries are not known, and {without_id} rejected: {sorted(unknown)[:20]}"
        )
    for identity, way in ways.items():
        tally.add(way, Outcome.REJECTED if identity in unknown else Outcome.VALID)


def _of_a_whole_answer(extractor: Yarn) -> Outcome:
    try:
        with in_time("an answer of YARN"):
            plan = extractor.plan(Positions(now_ms=yarn_rounds.NOW_MS))
            task = in_a_task(extractor, *plan.splits)
    except Exception as error:
        if extractor.urls[0] not in str(error):
            raise Damaged(f"{type(error).__name__} does not name the service: {error}") from error
        return Outcome.WHOLE
    if task.summary.failures:
        raise Damaged(f"splits of an answer failed: {task.summary.failures}")
    return Outcome.VALID
