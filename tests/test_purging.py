"""The daily purge of ``navlin serve``: why it did not end stands in the status until one ends."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from linker import purge_doubt
from navlin.cli.invocation import Exit
from navlin.index.solr import Solr, SolrAddress
from navlin.service.configuration import PurgeSettings
from navlin.service.purging import DAY_MS, Purging
from tests.support.indexed_estate import NOW_MS, World
from tests.test_cli import configuration, json_of, run
from tests.test_purge import old_executions

BEFORE_DAYS = 60


def daily(address: SolrAddress) -> Purging:
    return Purging(address, lambda: NOW_MS + BEFORE_DAYS * DAY_MS, lambda: False)


@pytest.fixture
def held(private_solr: Solr, monkeypatch: pytest.MonkeyPatch) -> World:
    """An estate whose daily purge was held: it would have looked at all executions."""
    monkeypatch.setattr(purge_doubt, "LEAST", 10)
    world = World(private_solr, "daily")
    world.now_ms = NOW_MS - DAY_MS
    old_executions(world, 20, ended_ms=NOW_MS - 2 * DAY_MS)
    daily(private_solr.address).daily(PurgeSettings(before_days=BEFORE_DAYS))
    return world


def status_of(file: Path) -> tuple[int, Any, str]:
    """The exit code of ``navlin status``, what it has for programs of the purge, and its text in one line."""
    answered = run(file, "status", "--json")
    status = json_of(answered)
    assert ("purge" in status["failing"]) == (status["purge"] is not None)
    return answered.exit_code, status["purge"], " ".join(run(file, "status").stdout.split())


def test_a_held_purge_stands_in_the_status_until_the_command_there_has_let_it_through(
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


def test_a_purge_that_was_put_off_or_failed_stands_in_the_status_until_one_ends(
    private_solr: Solr, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, settings = configuration(private_solr, tmp_path), PurgeSettings(before_days=BEFORE_DAYS)

    daily(private_solr.address).daily(settings, "the clock jumped")
    code, purge, _ = status_of(file)
    assert (code, purge["reason"]) == (Exit.FAILED, "put off: the clock jumped")

    with monkeypatch.context() as broken:
        broken.setattr("navlin.service.jobs.purge", lambda *_, **__: 1 / 0)
        daily(private_solr.address).daily(settings)
    code, purge, _ = status_of(file)
    assert (code, purge["reason"]) == (
        Exit.FAILED,
        "failed, and goes on tomorrow: ZeroDivisionError: division by zero",
    )

    daily(private_solr.address).daily(settings)
    assert status_of(file)[:2] == (Exit.OK, None)


def test_a_reason_bears_no_secret_and_is_forgotten_if_nothing_is_purged_daily_any_more(
    private_solr: Solr, tmp_path: Path
) -> None:
    file, purging = configuration(private_solr, tmp_path), daily(private_solr.address)

    purging.daily(PurgeSettings(), "password = 'hunter2' \ud800")
    _, purge, _ = status_of(file)
    assert "********" in purge["reason"]

    purging.never_daily()
    assert status_of(file)[:2] == (Exit.OK, None)


def test_a_purge_without_an_index_to_keep_its_reason_in_raises_nothing() -> None:
    nobody = SolrAddress("http://127.0.0.1:9/solr")
    daily(nobody).daily(PurgeSettings())
    daily(nobody).daily(PurgeSettings(), "the clock jumped")
