"""``/metrics``, through a real ``navlin web`` on a real Solr, and the metrics named in conf/prometheus."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml
from prometheus_client.parser import text_string_to_metric_families

from navlin.api.metrics import MOST_AGE_S, gauges
from navlin.api.own import ROOT
from navlin.cli import COMMANDS
from navlin.index.journal.purges import DailyPurge, forget_daily, remember_daily
from navlin.index.journal.rejects import save_rejects
from navlin.index.journal.runs import RunRecord, Status, save_run
from navlin.index.schema.fields import RUNS
from navlin.index.solr.solr import Solr
from navlin.model.identity import run_id
from navlin.model.records import Reject
from navlin.model.source import IMPALA, Source, source_id
from navlin.shipped import CONF
from tests.support.indexed_estate import World
from tests.support.web import PASSWORD, Web, running_web

Samples = Mapping[tuple[str, frozenset[tuple[str, str]]], float]
PROMETHEUS = CONF / "prometheus"
NAMED = re.compile(r"\bnavlin_[a-z_]+")


def samples(text: str) -> Samples:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def scraped(url: str, user: str = "viewer") -> Samples:
    answer = requests.get(url + "/metrics", auth=(user, PASSWORD), timeout=300)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    return samples(answer.text)


@pytest.fixture(scope="module")
def sourced(solr_server: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A `navlin web` with one configured source that has run and has rejects, unlinked relations and a gap."""
    home = tmp_path_factory.mktemp("metrics")
    logs = home / "logs"
    logs.mkdir()
    source = f'\n[[source]]\nname = "IMPALA-1"\nextractor = "impala_events"\ndirectory = "{logs}"'
    with Solr(solr_server.start()) as solr:
        identity = source_id("estate", "IMPALA-1")
        save_run(
            solr, RunRecord("IMPALA-1", identity, 4, Status.FAILED, 1_700_000_000_000, 1_700_000_002_500)
        )
        save_rejects(solr, "IMPALA-1", identity, run_id(identity, 4), 1, [Reject("/a", "no JSON", count=3)])
        solr.commit(RUNS, soft=True)
        world = World(solr, "estate")
        world.impala = Source(identity, IMPALA, "IMPALA-1", "estate")
        operation = world.operation("INSERT INTO metrics.b SELECT * FROM metrics.a")
        gap = {"incomplete": True, "incompleteReasons": ["a gap for metrics"]}
        flow = world.flow(world.table("metrics.a"), operation)
        world.link(world.put(world.impala, world.entity(operation, gap), flow))
    with running_web(solr_server.start(), home, source) as web:
        yield web


def test_metrics_agree_with_the_status_command(sourced: Web) -> None:
    found = scraped(sourced.url)
    status = sourced.command("status")

    for each in status["sources"]:
        labels = frozenset({("source", each["name"]), ("extractor", each["extractor"])})
        assert found["navlin_source_rejects", labels] == each["index"]["reject_count"] == 3
        assert (
            found["navlin_source_entities", labels] == each["index"]["entities"] == 2
        )  # including the source
        assert found["navlin_source_relations", labels] == each["index"]["relations"] == 1
        assert found["navlin_source_unlinked_relations", labels] == each["index"]["unlinked"] == 1
        assert found["navlin_source_failing", labels] == 1
        assert found["navlin_source_held", labels] == 0
        assert found["navlin_source_last_run_seconds", labels] == 2.5
        assert found["navlin_source_last_run_timestamp_seconds", labels] == 1_700_000_000
        # The source never had a successful run, so its lag is unknown.
        assert ("navlin_source_lag_seconds", labels) not in found
        assert found["navlin_source_state", frozenset({("source", each["name"]), ("state", "failed")})] == 1
    assert found["navlin_incomplete_operations", frozenset({("reason", "a gap for metrics")})] == 1
    assert found["navlin_solr_up", frozenset()] == 1
    assert found["navlin_daemon_up", frozenset()] == 0
    assert found["navlin_purge_failing", frozenset()] == (status["purge"] is not None) == 0
    assert found["navlin_free_bytes", frozenset()] > 0
    by_reason = sum(value for (name, _), value in found.items() if name == "navlin_unlinked_relations")
    assert by_reason == sum(each["relations"] for each in status["unlinked"])


def test_only_a_completed_daily_purge_sets_its_timestamp(sourced: Web, solr: Solr) -> None:
    name = "navlin_last_purge_timestamp_seconds", frozenset[tuple[str, str]]()
    try:
        remember_daily(solr, DailyPurge(1_700_000_000_000, made=False))
        assert name not in next_snapshot(sourced.url)
        remember_daily(solr, DailyPurge(1_700_000_086_400))
        assert next_snapshot(sourced.url)[name] == 1_700_000_086.4
    finally:
        forget_daily(solr)


AGE = ("navlin_snapshot_age_seconds", frozenset[tuple[str, str]]())


def next_snapshot(url: str) -> Samples:
    """Return the first snapshot taken entirely after the call."""
    begun_s = time.monotonic()
    while True:
        # The time is taken first, because the server computes the snapshot's age after this point.
        asked_s = time.monotonic()
        found = scraped(url)
        if asked_s - found[AGE] > begun_s:
            return found
        time.sleep(0.2)


def test_responses_are_counted_by_address_and_status(web: Web) -> None:
    answers = ((f"{ROOT}/search", 200), ("/api/v*/entities", 200), ("other", 401))

    def counts() -> list[float]:
        found = next_snapshot(web.url)
        labels = [frozenset({("address", address), ("status", str(status))}) for address, status in answers]
        return [found.get(("navlin_http_request_seconds_count", each), 0.0) for each in labels]

    before = counts()
    web.get(f"{ROOT}/search", query="*")
    web.get("/api/v9/entities", query="type:SOURCE")
    web.get("/api/v14/entities", query="type:SOURCE")
    web.get("/whatever/somebody/types", user=None)

    assert [after - one for after, one in zip(counts(), before, strict=True)] == [1, 2, 1]


def test_the_snapshot_age_grows_until_the_next_snapshot(web: Web) -> None:
    next_snapshot(web.url)
    ages_s = [scraped(web.url)[AGE] for _ in range(20)]
    assert ages_s == sorted(ages_s)
    assert ages_s[0] < ages_s[-1] < MOST_AGE_S


def test_metrics_require_authentication(web: Web) -> None:
    assert web.get("/metrics", user=None).status_code == 401


@pytest.mark.services
def test_metrics_report_an_unreachable_solr(solr: Solr, tmp_path: Path) -> None:
    nowhere = replace(solr.address, url="http://127.0.0.1:9/solr")
    with running_web(nowhere, tmp_path) as web:
        found = scraped(web.url)

    assert found["navlin_solr_up", frozenset()] == 0
    assert not any(name.startswith("navlin_source") for name, _ in found)


# -- conf/prometheus -----------------------------------------------------------------------------------------------------


def expressions(file: str) -> list[str]:
    text = (PROMETHEUS / file).read_text()
    if file.endswith(".json"):
        return [target["expr"] for panel in json.loads(text)["panels"] for target in panel["targets"]]
    return [rule["expr"] for group in yaml.safe_load(text)["groups"] for rule in group["rules"]]


@pytest.mark.parametrize("file", ["alerts.yml", "dashboard.json"])
def test_alerts_and_dashboard_use_only_existing_metrics(sourced: Web, file: str) -> None:
    scraped(sourced.url)  # the first response is counted once it is sent
    there = {name for name, _ in scraped(sourced.url)}
    # These gauges exist only if a daemon runs and the status query succeeds.
    daemon = {"pid": 1, "since_ms": 0, "clock_jump_ms": 0}
    status = {**sourced.command("status"), "daemon": daemon}
    there |= {family.name for family in gauges(status)}

    named = {name for expression in expressions(file) for name in NAMED.findall(expression)}
    assert named
    assert named <= there


def test_every_gauge_is_in_the_dashboard_or_an_alert(sourced: Web) -> None:
    shown = {
        name
        for file in ("alerts.yml", "dashboard.json")
        for each in expressions(file)
        for name in NAMED.findall(each)
    }
    status = sourced.command("status")
    assert {family.name for family in gauges(status)} - shown == {
        # These two are for lookup only.
        "navlin_source_state",
        "navlin_source_last_run_timestamp_seconds",
    }


def test_alerts_name_only_existing_commands() -> None:
    text = (PROMETHEUS / "alerts.yml").read_text()
    named = set(re.findall(r"`navlin ([a-z]+)", text))
    assert named
    assert named <= set(COMMANDS)
