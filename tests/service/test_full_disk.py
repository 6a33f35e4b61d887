"""A full disk for the state directory: navlin continues as far as possible, reports the problem once, loses nothing,
and recovers by itself.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from navlin.access.roles import Role
from navlin.access.store import AccessFile
from navlin.index.admin.cores import CONFIGSET, CORES
from navlin.index.schema.fields import ELEMENTS
from navlin.index.solr.solr import Solr
from navlin.service.disk_space import AGAIN, DiskWatch
from navlin.shipped import CONF
from navlin.solr_server import home
from navlin.solr_server.embedded import EmbeddedSolr
from tests.cli.test_cli import configuration, json_of, run
from tests.support import full_disk
from tests.support.web import PASSWORD, started_web

ROOT = Path(__file__).parents[2]
MIB = 1 << 20


@pytest.fixture
def namespace() -> tuple[str, ...]:
    """Prefix of a command line that allows the command to mount its own disk."""
    if reason := full_disk.refused():
        pytest.skip(f"no disk of its own can be mounted here: {reason}")
    return full_disk.NAMESPACE


def inside(namespace: tuple[str, ...], module: str, *arguments: Path | str) -> Any:
    command = [*namespace, sys.executable, "-m", f"tests.support.{module}", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.services
def test_solr_loses_nothing_on_a_full_disk_and_writes_again_after_a_restart(
    namespace: tuple[str, ...], tmp_path: Path, solr_jars: Path
) -> None:
    seen = inside(namespace, "solr_on_full_disk", tmp_path, solr_jars)

    assert seen["failed"] > 0
    assert any("No space left on device" in error for error in seen["errors"])
    assert seen["answered_on_full_disk"] == 600
    assert seen["still_failing_with_space"], "why navlin starts it again"
    assert seen["failing_after_restart"] == 0
    assert seen["durable"] == 1_200
    assert (seen["durable_lost"], seen["acknowledged_lost"]) == (0, 0)


@pytest.mark.services
def test_serve_waits_for_space_and_continues_by_itself(
    namespace: tuple[str, ...], tmp_path: Path, solr_jars: Path
) -> None:
    seen = inside(namespace, "serve_on_full_disk", tmp_path)

    start, guarded, unguarded = seen["start"], seen["guarded"], seen["unguarded"]
    assert (start["alive"], start["ready"], start["logged"]) == (True, 0, 1), (
        "it waits, and systemd starts nothing again"
    )
    assert start["reported"]
    assert start["extended"] >= 2, "nor does systemd end it, for a start that takes long"
    for each in (start, guarded, unguarded):
        code, text = each["status"]
        assert code == 1
        assert "no space: the disk of" in text
    for each in (guarded, unguarded):
        assert each["alive"]
        assert each["answers"] > 0
        assert each["extracted"] == 0
        assert not each["traceback"]
        # Without a sensible minimum of free space, Solr itself repeatedly takes and releases space, so pauses can be
        # reported several times.
        assert each["lines"].count("disk space too low: sources paused") <= (1 if each is guarded else 3)
        assert each["lines"].count("heartbeat not written: `navlin status` shows an older one") <= 1
        # On a busy machine the requests take longer, and the sources are checked every second in that time.
        most = 6 if each is guarded else 16
        assert len(each["unasked"]) <= max(most, each["lasted_s"] / 2), "a few lines, not one each second"
        assert each["then"][0] == "disk space recovered: sources resumed"
    status, text, by_password, left = unguarded["log_in"]
    assert (status, by_password, left) == (503, 200, [])
    assert "the session cannot be saved" in text
    assert "run failed" not in guarded["lines"]
    assert "failed: postponed: the disk of" in " ".join(guarded["status"][1].split())
    assert len(guarded["requests"]) == 3
    for code, text in guarded["requests"].values():
        assert code == 1
        assert "nothing is extracted below 48 MiB" in " ".join(text.split())
    assert "solr restarted" in unguarded["then"]
    assert all(seen["left"].values())
    assert seen["exit_code"] == 0


@pytest.mark.services
def test_a_full_disk_of_sparks_scratch_files_delays_runs_and_loses_nothing(
    namespace: tuple[str, ...], tmp_path: Path, solr_jars: Path
) -> None:
    seen = inside(namespace, "serve_on_full_directories", tmp_path, "scratch")

    assert seen["alive"]
    assert seen["answers"] > 0
    assert all("No space left on device" in error for error in seen["failures"]), seen["failures"]
    code, text = seen["status"]
    assert code == (1 if seen["failures"] else 0), text
    assert seen["exit_code"] == 0


@pytest.mark.services
def test_a_full_disk_of_all_logs_stops_no_run_and_the_log_goes_on_with_whole_lines(
    namespace: tuple[str, ...], tmp_path: Path, solr_jars: Path
) -> None:
    seen = inside(namespace, "serve_on_full_directories", tmp_path, "logs")

    assert seen["alive"]
    code, text = seen["status"]
    assert code == 0, text
    assert seen["logged_after"][-1] == "navlin stopped"
    assert seen["solr_log_bytes"] > 0
    assert seen["exit_code"] == 0


def test_a_change_of_space_is_reported_once_with_hysteresis(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = {"bytes": 100 * MIB}

    class Disk:
        f_frsize = 1

        @property
        def f_bavail(self) -> int:
            return free["bytes"]

    monkeypatch.setattr("os.statvfs", lambda _: Disk())
    watch = DiskWatch(tmp_path / "not" / "there", 64 * MIB)
    seen = []
    for megabytes in (100, 64, 63, 0, 64, round(64 * AGAIN) - 1, round(64 * AGAIN), 100, 10):
        free["bytes"] = megabytes * MIB
        changed = watch.changed()
        seen.append((megabytes, watch.short, None if changed is None else changed.free_bytes // MIB))
    assert seen == [
        (100, False, None),
        (64, False, None),
        (63, True, 63),
        (0, True, None),
        (64, True, None),
        (79, True, None),
        (80, False, 80),
        (100, False, None),
        (10, True, 10),
    ]
    assert "has 10 MiB left; nothing is extracted below 64 MiB" in str(watch)


def test_status_reports_free_space_and_fails_without(solr: Solr, tmp_path: Path) -> None:
    file = configuration(solr, tmp_path)
    well = run(file, "status", "--json")
    assert well.exit_code == 0
    assert json_of(well)["space"]["short"] is False
    assert json_of(well)["space"]["free_bytes"] > 0

    file.write_text(file.read_text().replace("[navlin]\n", '[navlin]\nleast_free = "900000g"\n'))
    short = run(file, "status")
    assert short.exit_code == 1
    assert f"no space: the disk of {tmp_path / 'state'} has" in short.stdout
    assert json_of(run(file, "status", "--json"))["space"]["short"] is True


def test_remote_status_without_space_exits_like_the_local_one(solr: Solr, tmp_path: Path) -> None:
    file = configuration(solr, tmp_path, "[web]\nport = 0\n")
    file.write_text(file.read_text().replace("[navlin]\n", '[navlin]\nleast_free = "900000g"\n'))
    users, token = AccessFile(tmp_path / "state"), tmp_path / "token"
    users.add_user("chief", Role.ADMINISTRATOR, PASSWORD)
    token.write_text(users.add_token("chief", "test", None, 1_800_000_000_000, 0) + "\n")
    with started_web(file) as web:
        short = run(file, "--url", web.url, "--token-file", str(token), "status")
    assert (short.exit_code, "no space: the disk of" in short.stdout) == (1, True), short.output


@pytest.mark.parametrize("size", ["512", "much", "-1m", "1t"])
def test_least_free_must_be_a_size(solr: Solr, tmp_path: Path, size: str) -> None:
    file = configuration(solr, tmp_path)
    file.write_text(file.read_text().replace("[navlin]\n", f'[navlin]\nleast_free = "{size}"\n'))

    result = run(file, "status")
    assert result.exit_code == 2
    assert 'least_free must be a size, like "512m"' in result.stderr


# -- Solr's other files ----------------------------------------------------------------------------------------------------


def test_solrs_logs_are_bounded(tmp_path: Path) -> None:
    root = ElementTree.parse(CONF / "solr" / "log4j2.xml").getroot()
    [file] = root.iterfind("Appenders/*")
    assert file.tag == "RollingFile"
    [policy] = file.iterfind("SizeBasedTriggeringPolicy")
    [strategy] = file.iterfind("DefaultRolloverStrategy")
    assert (policy.get("size"), strategy.get("max")) == ("16 MB", "4"), "80 MB in all"

    home.logs(tmp_path).mkdir()
    log = home.console_log(tmp_path)
    log.write_bytes(b"x" * home.CONSOLE_LOG_BYTES)
    assert home.console_log(tmp_path).exists()
    with log.open("ab") as more:
        more.write(b"x")
    assert not home.console_log(tmp_path).exists()
    assert [path.name for path in home.logs(tmp_path).iterdir()] == ["console.log.1"]


@pytest.mark.services
def test_the_update_log_is_rotated_by_size_and_not_only_by_time(tmp_path: Path, solr_jars: Path) -> None:
    """The test's Solr would otherwise rotate the update log only after an hour."""
    shutil.copytree(CONF / "solr", tmp_path / "conf")
    config = tmp_path / "conf" / CONFIGSET / "solrconfig.xml"
    shipped = config.read_text()
    assert shipped.count("<maxTime>15000</maxTime>") == shipped.count("<maxSize>64m</maxSize>") == 1
    config.write_text(shipped.replace("<maxTime>15000<", "<maxTime>3600000<"))
    launcher = solr_jars.parent / "solr-launcher"
    server = EmbeddedSolr(tmp_path / "state", solr_jars, tmp_path / "conf", cores=CORES, cache=launcher)
    with server, Solr(server.start()) as solr:
        [core] = server.home.glob(f"{ELEMENTS}*")
        logs = core / "data" / "tlog"
        solr.commit(ELEMENTS, soft=False)
        before = {path.name for path in logs.iterdir()}
        for number in range(8):
            documents = [{"identity": f"t{number}-{each}", "queryTextFull": "x" * MIB} for each in range(10)]
            assert not solr.add(ELEMENTS, documents).refused
        new, end_s = set[str](), time.monotonic() + 120
        while len(new) < 2 and time.monotonic() < end_s:
            solr.add(ELEMENTS, [{"identity": "one more"}])
            new = {path.name for path in logs.iterdir()} - before
            time.sleep(0.2)
    assert len(new) >= 2, "a log was closed long before the hour was over"
