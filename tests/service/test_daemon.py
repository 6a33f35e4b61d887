"""``navlin serve`` as systemd runs it: a separate process with real child processes, controlled by signals."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import requests

from navlin.access.store import AccessFile
from navlin.api.own import ROOT as API
from navlin.cli.invocation import Exit
from navlin.index.journal.purges import UnfinishedPurge, remember_unfinished, unfinished_purge
from navlin.index.solr.solr import Solr
from navlin.model.source import source_id
from navlin.solr_server.embedded import running_solr
from tests.support.listening import connected, tcp_listeners, unix_listeners
from tests.support.served_daemon import PATIENCE_S, ROOT, Served, gone, ready, record, served


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, solr_jars: Path) -> Iterator[Served]:
    """A daemon for all tests that do not stop it."""
    started = served(tmp_path_factory.mktemp("daemon"), solr_jars)
    yield started
    started.end()


def test_the_daemon_reports_readiness_and_status_to_systemd(daemon: Served) -> None:
    assert "READY=1" in daemon.reported
    daemon.until(lambda: "WATCHDOG=1" in daemon.reported, "a sign of life")
    daemon.until(
        lambda: any("failing: HIVE-1" in line for line in daemon.reported), "a status that names what fails"
    )


def test_a_new_line_is_searchable_although_another_source_fails(daemon: Served) -> None:
    daemon.logged("run failed", source="HIVE-1")

    daemon.append("daemon.first")

    daemon.until(lambda: daemon.find("type:OPERATION AND queryText:first"), "the operation")


def test_a_failing_source_is_retried_and_named_in_every_log_line(daemon: Served) -> None:
    first = daemon.logged("run failed", source="HIVE-1")
    again = daemon.logged("run failed", source="HIVE-1", after=daemon.log.index(first) + 1)

    assert "thrift://127.0.0.1:9" in again["error"]
    assert again["level"] == "error"


def test_status_shows_the_daemon_and_failing_sources(daemon: Served) -> None:
    daemon.append("daemon.status")
    daemon.until(lambda: daemon.find("type:OPERATION AND queryText:status"), "the operation")

    def finished() -> subprocess.CompletedProcess[str] | None:
        asked = daemon.ask("status", "--json")
        last = json.loads(asked.stdout)["sources"][0]["last"]
        # The data is indexed before it is linked, so the run may still be in progress.
        return asked if last["status"] == "finished" else None

    asked = daemon.until(finished, "the end of the run")
    reported = json.loads(asked.stdout)
    impala, hive = reported["sources"]

    assert asked.returncode == 1
    assert reported["daemon"]["pid"] == daemon.process.pid
    assert reported["failing"] == ["HIVE-1"]
    assert (hive["state"], hive["lag_s"]) == ("failed", None)
    assert "no metastore can be reached" in hive["error"]
    assert impala["lag_s"] < PATIENCE_S
    assert impala["due_s"] is not None or impala["state"] == "running"
    assert impala["index"]["position_count"] >= 1


def test_a_manual_extract_is_carried_out_by_the_daemon(daemon: Served) -> None:
    seen = len(daemon.log)
    asked = daemon.ask("extract", "IMPALA-1", "--full", "--json")

    assert asked.returncode == 0, asked.stderr
    run = json.loads(asked.stdout)
    assert (run["source"], run["status"]) == ("IMPALA-1", "finished")
    line = daemon.logged("request started", after=seen, job="extract")
    daemon.logged("run finished", after=seen, run=run["run_id"])
    daemon.logged("request finished", after=seen, request=line["request"], state="done")
    assert "IMPALA-1: idle" in daemon.ask("extract", "IMPALA-1").stdout


@pytest.mark.services
def test_a_failed_manual_extract_reports_the_reason(daemon: Served) -> None:
    asked = daemon.ask("extract", "HIVE-1")

    assert asked.returncode == 1
    assert "error: no metastore can be reached" in asked.stdout


@pytest.mark.services
def test_link_and_purge_are_carried_out_by_the_daemon(daemon: Served) -> None:
    seen = len(daemon.log)
    linked = daemon.ask("link", "--all", "--json")
    purged = daemon.ask("purge", "--before", "1990-01-01", "--dry-run", "--json")

    assert "resolve_endpoints" in json.loads(linked.stdout), linked.stderr
    assert json.loads(purged.stdout)["dry_run"], purged.stderr
    assert "would remove 0" in daemon.ask("purge", "--before", "1990-01-01", "--dry-run").stdout
    for job in ("link", "purge"):
        daemon.logged("request finished", after=seen, job=job, state="done")


def test_a_source_unknown_to_the_daemon_is_refused(daemon: Served) -> None:
    good = daemon.file.read_text()
    daemon.file.write_text(
        good + '\n[[source]]\nname = "LATER"\nextractor = "impala_events"\ndirectory = "/"\n'
    )
    asked = daemon.ask("extract", "LATER")
    daemon.file.write_text(good)

    assert asked.returncode == 1
    assert (
        'the running navlin serve has no source "LATER": reload its configuration'
        f" (systemctl reload navlin, or kill -HUP {daemon.process.pid})"
    ) in asked.stderr


@pytest.mark.services
def test_a_second_daemon_on_the_same_directory_exits_with_a_message(daemon: Served) -> None:
    second = daemon.ask("serve")

    assert second.returncode == Exit.BUSY
    assert "another navlin already runs Solr on" in second.stderr
    assert daemon.process.poll() is None


def test_an_invalid_configuration_is_logged_and_the_old_one_kept(daemon: Served) -> None:
    good = daemon.file.read_text()
    seen = len(daemon.log)
    daemon.file.write_text(good.replace("interval_s = 1", "interval_s = 1\nuri = 3"))
    daemon.process.send_signal(signal.SIGHUP)

    line = daemon.logged("configuration refused: the previous one stays in effect", after=seen)
    daemon.file.write_text(good)

    assert 'unknown setting "uri"; did you mean "uris"?' in line["error"]
    daemon.append("daemon.broken")
    daemon.until(lambda: daemon.find("type:OPERATION AND queryText:broken"), "the operation")


def test_a_changed_configuration_is_reloaded_while_running(daemon: Served) -> None:
    seen = len(daemon.log)
    other = daemon.home / "other"
    other.mkdir()
    added = f'\n[[source]]\nname = "IMPALA-2"\nextractor = "impala_events"\ndirectory = "{other}"\n'
    text = daemon.file.read_text() + added
    daemon.file.write_text(text.replace('cluster = "daemon"', 'cluster = "another"'))
    daemon.process.send_signal(signal.SIGHUP)

    daemon.logged("section not reloaded: a restart applies it", after=seen, section="navlin")
    daemon.logged("configuration reloaded", after=seen, sources=3)
    daemon.file.write_text(text)
    (other / "impala_lineage_log_1.0-1700000000000").write_text(record(500, "daemon.reloaded"))

    daemon.until(lambda: daemon.find("type:OPERATION AND queryText:reloaded"), "the new source's operation")
    assert daemon.find(f"type:OPERATION AND sourceId:{source_id('daemon', 'IMPALA-2')}") == 1
    daemon.logged("web ready", after=seen)
    status = over_http(daemon, "GET", f"{API}/status").json()
    assert "IMPALA-2" in [each["name"] for each in status["sources"]]


def test_a_removed_daily_purge_leaves_none_pending(daemon: Served) -> None:
    address = running_solr(daemon.state)
    assert address is not None
    with Solr(address) as solr:
        remember_unfinished(solr, UnfinishedPurge("held, nothing was removed", 1_700_000_000_000, 0))
        assert "held, nothing was removed" in daemon.ask("status").stdout
        text, seen = daemon.file.read_text(), len(daemon.log)
        daemon.file.write_text(f"{text}\n[purge]\nscheduled = false\n")
        daemon.process.send_signal(signal.SIGHUP)
        daemon.logged("configuration reloaded", after=seen)
        daemon.until(lambda: unfinished_purge(solr) is None, "the end of what waited")
        daemon.logged("web ready", after=seen)  # Restarted because the configuration changed
        daemon.file.write_text(text)


# -- Over HTTP ---------------------------------------------------------------------------------------------------------


def over_http(daemon: Served, method: str, path: str, **how: object) -> requests.Response:
    """Send a request to the newest web process as the initial administrator."""
    ready = daemon.logged("web ready", after=max(0, len(daemon.log) - 2_000))
    for line in daemon.log:
        if line.get("event") == "web ready":
            ready = line
    password = (daemon.state / "administrator.password").read_text().strip()
    return requests.request(method, ready["url"] + path, auth=("admin", password), timeout=300, **how)  # type: ignore[arg-type]


def test_a_job_submitted_over_http_is_carried_out_and_answered(daemon: Served) -> None:
    left = over_http(daemon, "POST", f"{API}/extract", json={"source": "IMPALA-1", "full": True})
    assert left.status_code == 202
    asked = f"{API}/requests/{left.json()['id']}"
    daemon.until(lambda: over_http(daemon, "GET", asked).json()["endedMs"], "the answer")
    answered = over_http(daemon, "GET", asked).json()
    assert (answered["state"], answered["askedBy"]) == ("done", "admin")
    assert answered["answer"]["status"] in ("finished", "idle")


def test_a_purge_requested_through_navigators_api_appears_in_the_history(daemon: Served) -> None:
    maintenance = "/api/v9/maintenance"
    hundred_years = "deleteTimeThresholdMinutes=52560000&runtimeCapMinutes=720"
    left = over_http(daemon, "POST", f"{maintenance}/purge?{hundred_years}")
    assert left.status_code == 202
    assert (left.json()["status"], left.json()["username"]) == ("WAITING", "admin")

    def ended() -> list[dict[str, object]]:
        history: list[dict[str, object]] = over_http(daemon, "GET", f"{maintenance}/history").json()
        return history

    (past,) = daemon.until(ended, "the purge in the history")
    assert (past["status"], past["username"]) == ("FINISHED", "admin")
    assert past["rules"] == {name: {"candidates": 0, "removed": 0, "relations": 0} for name in past["rules"]}
    daemon.until(lambda: not over_http(daemon, "GET", f"{maintenance}/running").json(), "the end of it")


def test_inherited_tags_are_searchable_soon_after_an_edit(daemon: Served) -> None:
    own = [
        {"identity": each, "sourceType": "SDK", "namespace": "soon", "type": "DATASET", "originalName": each}
        for each in ("soon-1", "soon-2")
    ]
    flow = {"type": "DATA_FLOW", "namespace": "soon", "endpoint1Ids": ["soon-1"], "endpoint2Ids": ["soon-2"]}
    written = over_http(
        daemon, "POST", "/api/v9/metadata/plugin", json={"entities": own, "relations": [flow]}
    )
    assert written.json()["relations"] == {"count": 1, "errors": []}, written.text

    assert daemon.ask("edit", "soon-1", "--tag", "soon").returncode == 0
    daemon.until(lambda: daemon.find("inheritedTag:soon AND identity:soon\\-2"), "what inherits")
    assert daemon.ask("edit", "soon-1", "--remove-tag", "soon").returncode == 0
    daemon.until(lambda: not daemon.find("inheritedTag:soon"), "that it inherits no more")


@pytest.mark.services
def test_a_remote_command_submits_a_job_and_waits_for_the_answer(daemon: Served, tmp_path: Path) -> None:
    token = tmp_path / "token"
    secret = AccessFile(daemon.state).add_token("admin", "elsewhere", None, time.time_ns() // 1_000_000, 1)
    token.write_text(secret)
    url = over_http(daemon, "GET", "/api/version").url.removesuffix("/api/version")
    daemon.append("daemon.from_elsewhere")

    def asked(*arguments: str) -> subprocess.CompletedProcess[str]:
        options = ["--config", str(tmp_path / "none.toml"), "--url", url, "--token-file", str(token)]
        command = [sys.executable, "-m", "navlin", *options, *arguments]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S)

    ran = asked("extract", "IMPALA-1", "--dry-run")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("IMPALA-1: ")
    assert "(dry run)" in ran.stdout
    linked = asked("link", "--json")
    assert linked.returncode == 0, linked.stderr
    assert "resolve_endpoints" in json.loads(linked.stdout)
    purged = asked("purge", "--before", "2001-01-01", "--dry-run")
    assert purged.returncode == 0, purged.stderr
    assert purged.stdout.startswith("dry run")
    failed = asked("extract", "HIVE-1")
    assert failed.returncode == 1
    assert "thrift://127.0.0.1:9" in failed.stdout + failed.stderr
    unknown = asked("extract", "HIVE-2")
    assert unknown.returncode != 0
    assert "HIVE-2" in unknown.stderr


@pytest.mark.services
def test_metrics_show_the_daemon_and_the_lag_of_its_sources(daemon: Served) -> None:
    daemon.append("daemon.measured")
    daemon.until(lambda: daemon.find("type:OPERATION AND queryText:measured"), "the operation")

    text = over_http(daemon, "GET", "/metrics").text

    assert "navlin_daemon_up 1.0" in text
    lag = re.search(r'navlin_source_lag_seconds\{extractor="impala_events",source="IMPALA-1"\} (\S+)', text)
    assert lag is not None
    assert 0 <= float(lag[1]) < PATIENCE_S
    assert 'navlin_source_failing{extractor="hms",source="HIVE-1"} 1.0' in text


def role_of(daemon: Served, pid: int) -> str:
    """Return the row of `LISTENERS` for a process of the daemon; its command line if there is none."""
    line = Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    known = {" web ": "the web process", "solr": "the embedded Solr", "org.apache.spark": "Spark's gateway"}
    return next((role for words, role in known.items() if words in line), line)


@pytest.mark.services
def test_only_described_listeners_exist_and_a_silent_crowd_makes_no_process(daemon: Served) -> None:
    daemon.append("daemon.before_the_crowd")
    daemon.until(lambda: daemon.find("type:OPERATION AND queryText:before_the_crowd"), "the operation")
    pids = [daemon.process.pid, *daemon.children()]
    of_serve = {each[2] for each in tcp_listeners([daemon.process.pid])}
    found = [*tcp_listeners(pids[1:])]
    # The web process has the socket of serve.
    assert of_serve <= {port for pid, _, port in found if role_of(daemon, pid) == "the web process"}
    assert {role_of(daemon, pid) for pid, _, _ in found} == {
        "the web process",
        "the embedded Solr",
        "Spark's gateway",
    }
    assert [each for each in found if not each[1].is_loopback] == []
    for pid, path in unix_listeners(pids):
        # A name in the abstract namespace has no directory that could keep others out.
        assert not path.startswith("@"), role_of(daemon, pid)
        assert path.endswith("/notify") or not os.stat(os.path.dirname(path)).st_mode & 0o077, path

    before = len(daemon.children())
    with ExitStack() as crowd:
        for port in {port for pid, _, port in found if role_of(daemon, pid) != "the web process"}:
            for _ in range(100):
                crowd.enter_context(connected(port))
        daemon.append("daemon.during_the_crowd")
        daemon.until(lambda: daemon.find("type:OPERATION AND queryText:during_the_crowd"), "the operation")
        # Spark may start a worker for each core.
        assert len(daemon.children()) <= before + (os.cpu_count() or 1)


@pytest.mark.services
def test_a_killed_web_process_is_restarted_and_extraction_continues(daemon: Served) -> None:
    (web,) = daemon.running("--child")
    assert os.getpriority(os.PRIO_PROCESS, web) > os.getpriority(os.PRIO_PROCESS, daemon.process.pid), (
        "extraction goes before questions"
    )
    seen = len(daemon.log)
    os.kill(web, signal.SIGKILL)
    # The port stays open, so requests wait for the next web process.
    assert over_http(daemon, "GET", f"{API}/status").status_code == 200
    daemon.append("daemon.beside_web")
    daemon.logged("web process exited unexpectedly: restarting it", after=seen)
    daemon.logged("web ready", after=seen)
    assert len({line["url"] for line in daemon.log if line.get("event") == "web ready"}) == 1
    daemon.until(lambda: daemon.find("type:OPERATION AND queryText:beside_web"), "the operation")


@pytest.mark.services
def test_a_killed_solr_is_restarted(daemon: Served) -> None:
    daemon.append("daemon.written_before")
    daemon.until(lambda: daemon.find("type:OPERATION AND queryText:written_before"), "the operation")
    seen = len(daemon.log)
    os.kill(daemon.java("SolrServer"), signal.SIGKILL)

    daemon.append("daemon.revived")

    daemon.logged("solr restarted", after=seen)
    daemon.until(lambda: daemon.find("type:OPERATION AND queryText:revived"), "the operation")
    assert daemon.find("type:OPERATION AND queryText:written_before") == 1
    assert over_http(daemon, "GET", f"{API}/search?query=queryText:revived").json()["total"] == 1


def test_sigterm_shuts_down_cleanly_and_leaves_nothing_running(daemon: Served) -> None:
    children = daemon.children()
    assert len(children) >= 2

    daemon.process.send_signal(signal.SIGTERM)

    assert daemon.process.wait(PATIENCE_S) == 0
    assert "STOPPING=1" in daemon.reported
    daemon.until(lambda: daemon.log[-1].get("event") == "navlin stopped", "the last line of the log")
    daemon.until(lambda: all(map(gone, children)), "the end of every child")
    assert running_solr(daemon.state) is None
    assert not (daemon.state / "daemon.json").exists()


@pytest.mark.services
def test_a_killed_spark_is_restarted(tmp_path: Path, solr_jars: Path) -> None:
    daemon = served(tmp_path, solr_jars)
    try:
        first = daemon.java("org.apache.spark.deploy.SparkSubmit")
        os.kill(first, signal.SIGKILL)
        daemon.logged("Spark exited unexpectedly: the next run restarts it", times=1)
        daemon.append("daemon.another")
        daemon.until(
            lambda: daemon.find("type:OPERATION AND queryText:another"), "what is read by another Spark"
        )
        assert daemon.java("org.apache.spark.deploy.SparkSubmit") != first
        assert daemon.process.poll() is None
    finally:
        daemon.end()


@pytest.mark.services
def test_stopped_during_a_run_the_daemon_ends_soon_and_the_next_start_repeats_the_run(
    tmp_path: Path, solr_jars: Path
) -> None:
    daemon = served(tmp_path, solr_jars)
    try:
        with (tmp_path / "impala" / "impala_lineage_log_1.0-1700000000001").open("w") as file:
            file.writelines(record(1_000 + number, f"daemon.many{number}") for number in range(600))
        daemon.until(lambda: daemon.runs("IMPALA-1"), "a run")
        daemon.process.send_signal(signal.SIGTERM)
        assert daemon.process.wait(PATIENCE_S) == 0
    finally:
        daemon.end()

    again = ready(Served(tmp_path))
    try:
        again.until(lambda: again.find("type:OPERATION AND sourceType:IMPALA") == 600, "all operations")
    finally:
        again.end()


@pytest.mark.services
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_a_command_reports_that_the_daemon_ended_meanwhile(
    tmp_path: Path, solr_jars: Path, end: signal.Signals
) -> None:
    daemon = served(tmp_path, solr_jars)
    try:
        with (tmp_path / "impala" / "impala_lineage_log_1.0-1700000000001").open("w") as file:
            file.writelines(record(1_000 + number, f"daemon.many{number}") for number in range(3_000))
        command = [
            sys.executable,
            "-m",
            "navlin",
            "--config",
            str(daemon.file),
            "extract",
            "IMPALA-1",
            "--full",
        ]
        asking = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
        daemon.logged("request started", job="extract")
        daemon.process.send_signal(end)
        _, errors = asking.communicate(timeout=PATIENCE_S)
    finally:
        daemon.end()

    assert asking.returncode == 1
    assert "what the job wrote stays, and the next run continues from there" in errors


@pytest.mark.services
def test_a_killed_daemon_leaves_nothing_running_and_loses_nothing(tmp_path: Path, solr_jars: Path) -> None:
    daemon = served(tmp_path, solr_jars)
    try:
        daemon.append("daemon.kept")
        daemon.until(lambda: daemon.find("type:OPERATION AND queryText:kept"), "the operation")
        children = daemon.children()
        daemon.process.kill()
        daemon.process.wait()
        deadline = time.monotonic() + PATIENCE_S
        while not all(map(gone, children)) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert [pid for pid in children if not gone(pid)] == []
    finally:
        daemon.end()

    found = daemon.ask("search", "--json", "type:OPERATION AND queryText:kept")
    assert json.loads(found.stdout)["total"] == 1
