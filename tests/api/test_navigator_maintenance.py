"""``/maintenance/purge``, ``running`` and ``history``: requests, running purges and past purges. ``test_daemon``
shows that a daemon executes a requested purge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from navlin.index.journal.requests import Job, RequestState, leave_request, save_request, withdraw_request
from navlin.index.schema.fields import solr_date
from tests.service.test_purge import BEFORE_MS, SOMEBODY, fill, run_purge, world
from tests.support.indexed_estate import World
from tests.support.leases import held_by
from tests.support.web import Web, running_web

__all__ = ["world"]

V = "/api/v9/maintenance"


def listed(web: Web, what: str, **parameters: Any) -> list[dict[str, Any]]:
    answer = web.get(f"{V}/{what}", **parameters)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()
    return found


def test_a_purge_needs_an_administrator_and_a_running_daemon(web: Web) -> None:
    assert web.send("POST", f"{V}/purge", "editor").status_code == 403
    alone = web.send("POST", f"{V}/purge?deleteTimeThresholdMinutes=86400&runtimeCapMinutes=720", "chief")
    assert alone.status_code == 503
    assert "navlin serve is not running" in alone.json()["message"]


@pytest.mark.parametrize("minutes", ["-1", "soon", "99999999999"])
def test_an_invalid_threshold_is_refused(web: Web, minutes: str) -> None:
    answer = web.send("POST", f"{V}/purge?deleteTimeThresholdMinutes={minutes}", "chief")
    assert answer.status_code == 400
    assert "deleteTimeThresholdMinutes must be" in answer.json()["message"]


def test_running_and_past_purges_are_listed_with_counts(world: World, tmp_path: Path) -> None:
    fill(world)
    with running_web(world.solr.address, tmp_path) as web:
        assert listed(web, "running") == listed(web, "history") == []

        asked = iter([False, False, True])
        run_purge(world.solr, batch=2, stop=lambda: next(asked))
        assert listed(web, "running") == [], "it is cut off, and nobody goes on with it"
        with held_by(world.solr, "purge", SOMEBODY):
            (running,) = listed(web, "running")
        assert (running["status"], running["endTime"]) == ("RUNNING", None)
        assert running["stage"] in ("DIRECTORIES", "FILES", "EXECUTIONS", "OPERATIONS")

        report = run_purge(world.solr)
        assert report.status == "finished"
        assert listed(web, "running") == []
        (past,) = listed(web, "history")
        assert (past["status"], past["stagePercent"], past["username"]) == ("FINISHED", 100, None)
        assert past["deleteTimeThreshold"] == solr_date(BEFORE_MS)
        assert past["endTime"] >= past["startTime"]
        removed = {rule.name: tally.removed for rule, tally in report.rules}
        # The report covers only the resumed part, the history the whole purge.
        assert all(past["rules"][name]["removed"] >= count for name, count in removed.items())
        assert sum(counts["removed"] for counts in past["rules"].values()) > 0
        assert past["message"].startswith("Purged ")
        assert listed(web, "history", limit=1, offset=1) == []


def test_a_purge_not_done_is_in_the_history_for_a_day(world: World, tmp_path: Path) -> None:
    now_ms = BEFORE_MS + 1
    with running_web(world.solr.address, tmp_path) as web:
        dry = leave_request(world.solr, Job.PURGE, {"before_ms": BEFORE_MS, "dry_run": True}, "ann", now_ms)
        assert listed(web, "running") == [], "a dry run purges nothing"
        left = leave_request(world.solr, Job.PURGE, {"before_ms": BEFORE_MS}, "ann", now_ms)
        (waiting,) = listed(web, "running")
        assert (waiting["id"], waiting["status"], waiting["username"]) == (left.id, "WAITING", "ann")

        again = web.send("POST", f"{V}/purge", "chief")
        assert again.status_code == 202
        assert again.json() == waiting, "a second one during one is ignored"

        held = {"status": "held", "note": "half of all would go", "rules": []}
        ended = type(left)(
            left.id,
            left.job,
            left.arguments,
            left.asked_by,
            left.asked_ms,
            RequestState.DONE,
            answer=held,
            ended_ms=now_ms,
            version=left.version,
        )
        save_request(world.solr, ended)
        assert listed(web, "running") == []
        (past,) = listed(web, "history")
        assert (past["status"], past["message"]) == ("HELD", "half of all would go")
        withdraw_request(world.solr, dry)
