"""The daily purge of ``navlin serve``: until a purge finishes, the status shows why the last one did not."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest

from linker import purge_suspicion
from navlin.cli.invocation import Exit
from navlin.index.journal.purges import DailyPurge, forget_daily, remember_daily
from navlin.index.solr.solr import Solr, SolrAddress
from navlin.service.maintenance.purging import DAY_MS, Purging
from navlin.service.settings.configuration import PurgeSettings
from tests.cli.test_cli import configuration, json_of, run
from tests.service.test_purge import old_executions
from tests.support.indexed_estate import NOW_MS, World

BEFORE_DAYS = 60


def daily(address: SolrAddress) -> Purging:
    return Purging(address, lambda: NOW_MS + BEFORE_DAYS * DAY_MS, lambda: False)


@pytest.fixture
def held(private_solr: Solr, monkeypatch: pytest.MonkeyPatch) -> World:
    """An estate whose daily purge is blocked, because the purge would have affected all executions."""
    monkeypatch.setattr(purge_suspicion, "LEAST", 10)
    world = World(private_solr, "daily")
    world.now_ms = NOW_MS - DAY_MS
    old_executions(world, 20, ended_ms=NOW_MS - 2 * DAY_MS)
    daily(private_solr.address).daily(PurgeSettings(before_days=BEFORE_DAYS))
    return world


def status_of(file: Path) -> tuple[int, Any, str]:
    """Return the exit code of ``navlin status``, the purge in its JSON, and its text in one line."""
    answered = run(file, "status", "--json")
    status = json_of(answered)
    assert ("purge" in status["failing"]) == (status["purge"] is not None)
    return answered.exit_code, status["purge"], " ".join(run(file, "status").stdout.split())


def test_a_blocked_purge_is_in_the_status_until_the_command_given_there_has_run(
    held: World, tmp_path: Path
) -> None:
    file = configuration(held.solr, tmp_path)
    code, purge, text = status_of(file)

    assert (code, purge["at_ms"]) == (Exit.FAILED, NOW_MS + BEFORE_DAYS * DAY_MS)
    assert "20 of 20 executions are older than that" in purge["reason"]
    assert "the daily purge of" in text
    [command] = re.findall(r"navlin (purge --before \S+ --accept \d+)", text)

    early = run(file, "purge", "--before", "2000-01-01")
    assert early.exit_code == Exit.OK, early.output
    assert status_of(file)[0] == Exit.FAILED, "another purge removed nothing of this"

    done = run(file, *command.split())

    assert done.exit_code == Exit.OK, done.output
    assert "executions: removed 20" in done.stdout
    assert status_of(file)[:2] == (Exit.OK, None)


def test_a_postponed_or_failed_purge_is_in_the_status_until_one_finishes(
    private_solr: Solr, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, settings = configuration(private_solr, tmp_path), PurgeSettings(before_days=BEFORE_DAYS)

    daily(private_solr.address).daily(settings, "the clock jumped")
    code, purge, _ = status_of(file)
    assert (code, purge["reason"]) == (Exit.FAILED, "postponed: the clock jumped")

    with monkeypatch.context() as broken:
        broken.setattr("navlin.service.jobs.purge", lambda *_, **__: 1 / 0)
        daily(private_solr.address).daily(settings)
    code, purge, _ = status_of(file)
    assert (code, purge["reason"]) == (
        Exit.FAILED,
        "failed, and continues tomorrow: ZeroDivisionError: division by zero",
    )

    daily(private_solr.address).daily(settings)
    assert status_of(file)[:2] == (Exit.OK, None)


def test_a_purge_reason_is_redacted_and_cleared_once_daily_purging_is_off(
    private_solr: Solr, tmp_path: Path
) -> None:
    file, purging = configuration(private_solr, tmp_path), daily(private_solr.address)

    purging.daily(PurgeSettings(), "password = 'hunter2' \ud800")
    _, purge, _ = status_of(file)
    assert "********" in purge["reason"]

    purging.never_daily()
    assert status_of(file)[:2] == (Exit.OK, None)


def test_a_purge_without_an_index_raises_nothing() -> None:
    nobody = SolrAddress("http://127.0.0.1:9/solr")
    daily(nobody).daily(PurgeSettings())
    daily(nobody).daily(PurgeSettings(), "the clock jumped")


# -- Missed purges, and the last one ---------------------------------------------------------------------------------------

HOUR_MS = 3_600_000


def at(address: SolrAddress, now_ms: int, *, stopping: bool = False) -> Purging:
    return Purging(address, lambda: now_ms, lambda: stopping)


def test_a_daily_purge_is_missed_if_one_was_due_since_the_last(
    private_solr: Solr, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    try:
        address, settings = private_solr.address, PurgeSettings()
        remember_daily(private_solr, DailyPurge(0))
        forget_daily(private_solr)
        midnight_ms = NOW_MS // DAY_MS * DAY_MS
        # In a new index the first purge is due at its time of day; no earlier purge counts as missed, nor one
        # during an hour's pause.
        assert not at(address, midnight_ms + 12 * HOUR_MS).missed("03:00")
        assert not at(address, midnight_ms + 13 * HOUR_MS).missed("03:00")
        assert status_of(configuration(private_solr, tmp_path))[1] is None
        # The machine was off at 03:00 every night.
        later_ms = midnight_ms + DAY_MS + 8 * HOUR_MS
        assert at(address, later_ms).missed("03:00")
        at(address, later_ms, stopping=True).daily(settings)
        assert at(address, later_ms).missed("03:00"), "one that was cut off is made again"
        at(address, later_ms).daily(settings)
        assert not at(address, later_ms + HOUR_MS).missed("03:00")
        assert at(address, later_ms + DAY_MS).missed("03:00")

        file = configuration(private_solr, tmp_path)
        assert json_of(run(file, "status", "--json"))["last_purge_ms"] == later_ms
        assert "last daily purge: " in run(file, "status").output
        at(address, later_ms).never_daily()
        assert json_of(run(file, "status", "--json"))["last_purge_ms"] is None
    finally:
        monkeypatch.undo()
        time.tzset()
