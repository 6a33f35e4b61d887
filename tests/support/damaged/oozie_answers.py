"""Damaged jobs, lists and definitions in responses of Oozie."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from extractors.oozie import Oozie
from navlin.model.identity import identify
from navlin.model.plan import Positions
from navlin.model.source import OOZIE
from tests.services.oozie import OozieServer
from tests.services.rest import Answer, Query
from tests.support import damage, oozie_rounds
from tests.support.damaged.tallies import Damaged, Outcome, Tally, damaged_source, in_a_task, in_time

JOBS_AN_ANSWER: Final = 50


def oozie(folder: Path, chance: random.Random, count: int, corpora: Sequence[Path]) -> Tally:
    tally = Tally()
    with OozieServer(oozie_rounds.NOW_MS) as server:
        source, estate = damaged_source("oozie", OOZIE)
        extractor = Oozie(source, estate, (server.address,))
        answers = _Answers(server)
        while tally.total < count:
            number = min(JOBS_AN_ANSWER, count - tally.total)
            if chance.random() < 0.7:
                _of_jobs(extractor, answers, tally, chance, number)
            else:
                _of_a_list(extractor, answers, tally, chance, min(20, number))
    return tally


def _records() -> list[dict[str, Any]]:
    made = oozie_rounds
    move = '<fs><move source="/in/a*" target="/out"/></fs>'
    copy = "<distcp><arg>/in</arg><arg>/out</arg></distcp>"
    launched = {"externalId": "application_1_0002", "externalChildIDs": "job_1_0003,job_1_0004"}
    return [
        made.workflow(
            0, made.action("move", "fs", conf=move), made.action("copy", "distcp", conf=copy, **launched)
        ),
        made.running(0, made.action(":start:", ":START:"), made.action("load", "hive2", **launched)),
        made.workflow(0, parentId=made.identity(9_998), externalId=f"{made.identity(9_998)}@sub@0"),
    ]


class _Answers:
    """A server with one sound workflow, and damaged answers about others. ``infos`` maps ids to answers as bytes,
    ``lists`` replaces the list of workflows, ``definition`` is that of every job.
    """

    def __init__(self, server: OozieServer) -> None:
        self.url = server.address
        self.infos: dict[str, bytes] = {}
        self.listed: list[dict[str, Any]] = []
        self.list: bytes | None = None
        self.definition = oozie_rounds.definition("load").encode()
        self._listed, self._job = server.routes["/oozie/v2/jobs"], server.routes["/oozie/v2/job/"]
        server.routes["/oozie/v2/jobs"] = self._answer_list
        server.routes["/oozie/v2/job/"] = self._answer_job
        oozie_rounds.add(server, oozie_rounds.workflow(9_998))

    def _answer_list(self, path: str, query: Query) -> Answer:
        if query["jobtype"] != "wf":
            return self._listed(path, query)
        if self.list is not None:
            return 200, {}, self.list
        jobs = [{"id": each, "createdTime": "Thu, 26 Nov 2026 21:25:11 GMT"} for each in self.infos]
        sound = {"id": oozie_rounds.identity(9_998)}
        return 200, {}, json.dumps({"total": len(jobs) + 1, "workflows": [sound, *jobs]}).encode()

    def _answer_job(self, path: str, query: Query) -> Answer:
        identity = path.rpartition("/")[2]
        if query["show"] == "definition":
            return 200, {}, self.definition
        return (200, {}, self.infos[identity]) if identity in self.infos else self._job(path, query)


def _of_jobs(extractor: Oozie, answers: _Answers, tally: Tally, chance: random.Random, number: int) -> None:
    """Damage what Oozie says about each job of a list. Each is an execution, or a reject that names it."""
    answers.list = None
    answers.infos, ways = {}, {}
    records = _records()
    for each in range(number):
        identity = oozie_rounds.identity(each)
        way, damaged = damage.damaged_json({**chance.choice(records), "id": identity}, chance)
        answers.infos[identity], ways[identity] = damaged, way
    answers.definition = chance.choice(damage.OF_BYTES)(oozie_rounds.definition("load").encode(), chance)
    with in_time("an answer of Oozie"):
        plan = extractor.plan(Positions(now_ms=oozie_rounds.NOW_MS))
        task = in_a_task(extractor, *plan.splits)
    if task.summary.failures:
        raise Damaged(f"splits of an answer failed: {task.summary.failures}")
    known = {str(each["originalName"]) for each in task.documents if each["type"] == "OPERATION_EXECUTION"}
    if oozie_rounds.identity(9_998) not in known:
        raise Damaged("the sound workflow is lost")
    rejected = {
        found[1] for each in task.summary.rejects if (found := re.search(r"/v2/job/(\S+)", each.place))
    }
    for identity, way in ways.items():
        if identity not in known | rejected:
            raise Damaged(
                f"{way}: {identity} is neither known nor rejected: {answers.infos[identity][:2_000]!r}"
            )
        tally.add(way, Outcome.VALID if identity in known else Outcome.REJECTED)


def _of_a_list(extractor: Oozie, answers: _Answers, tally: Tally, chance: random.Random, number: int) -> None:
    """Damage whole lists. Each is still valid, or refused with an error that names the server."""
    answers.infos = {}
    row: Mapping[str, Any] = {**oozie_rounds.workflow(9_998), "actions": [], "conf": None, "appPath": None}
    for _ in range(number):
        way, answers.list = damage.damaged_json(
            {"total": 1, "offset": 1, "len": 50, "workflows": [row]}, chance
        )
        try:
            with in_time("a list of Oozie"):
                plan = extractor.plan(Positions(now_ms=oozie_rounds.NOW_MS))
                task = in_a_task(extractor, *plan.splits)
        except Exception as error:
            if answers.url not in str(error):
                raise Damaged(f"{way}: {type(error).__name__} does not name the service: {error}") from error
            tally.add(f"a list, {way}", Outcome.WHOLE)
            continue
        if task.summary.failures:
            raise Damaged(f"splits of a list failed: {task.summary.failures}")
        expected = identify(extractor.source.id, oozie_rounds.identity(9_998))
        tally.add(f"a list, {way}", Outcome.VALID if expected in task.executions else Outcome.PASSED_OVER)
