"""``navlin forward``: an agent sends files that grow, are renamed, truncated and replaced. Each byte arrives once."""

from __future__ import annotations

import ast
import gzip
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from navlin.forward import agent
from tests.support.open_files import open_inodes
from tests.support.other_hosts import ALIVE, FILES, Hosts, digest, hosts_of

MOST_LINES = 400
OLDEST = (3, 6)
NAMES = [f"python3.{minor}" for minor in range(6, 15)]
MANAGED = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
PYTHONS = {
    name: path
    for name in NAMES
    for path in (shutil.which(name), *sorted(map(str, MANAGED.glob(f"*/bin/{name}"))))
    if path
}
"""Other Pythons of this machine."""


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    with hosts_of(tmp_path_factory.mktemp("forward")) as hosts:
        yield hosts


def test_files_arrive_whole_whatever_happens_to_them(hosts: Hosts, tmp_path: Path) -> None:
    first, second = tmp_path / "impala_lineage_log_1.0-1", tmp_path / "impala_lineage_log_1.0-2"
    first.write_bytes(b"a" * 1_500_000 + b"\nhalf")
    (tmp_path / "impalad.INFO").write_bytes(b"of no interest")
    (tmp_path / "impala_lineage_log_1.0-link").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "impala_lineage_log_1.0-fifo")
    source = f"IMPALA-1={tmp_path}:impala_lineage*"
    hosts.forward(source)
    assert hosts.kept() == {first.name: first.read_bytes()}
    # Growth, a rename, and a new file with the old name.
    with first.open("ab") as more:
        more.write(b" a line\n")
    moved = first.rename(tmp_path / f"{first.name}.old")
    first.write_bytes(b"new\n")
    second.write_bytes(b"")
    hosts.forward(source)
    assert hosts.kept() == {moved.name: moved.read_bytes(), first.name: b"new\n", second.name: b""}
    # Truncated, and grown beyond its old size, with another beginning: both contents are kept.
    with first.open("r+b") as same:
        same.truncate()
        same.write(b"other content that is longer\n")
    hosts.forward(source)
    assert sorted(hosts.kept().values()) == sorted(
        [moved.read_bytes(), b"new\n", b"other content that is longer\n", b""]
    )
    assert hosts.kept()[first.name] == b"other content that is longer\n"


def test_a_rolling_log_is_complete_before_its_end_is_visible(hosts: Hosts, tmp_path: Path) -> None:
    log = tmp_path / "eventlog_v2_app_1"
    log.mkdir()
    status = log / "appstatus_app_1.inprogress"
    status.touch()
    (log / "events_1_app_1.zstd").write_bytes(os.urandom(100_000))
    (tmp_path / "app_2.inprogress").write_bytes(b"{}\n")
    hosts.forward(f"SPARK-1={tmp_path}", host="edge")
    (log / "events_2_app_1.zstd").write_bytes(os.urandom(100))
    status.rename(log / "appstatus_app_1")
    (tmp_path / "app_2.inprogress").rename(tmp_path / "app_2")
    hosts.forward(f"SPARK-1={tmp_path}", host="edge")
    there = {
        str(each.relative_to(tmp_path)): each.read_bytes() for each in tmp_path.rglob("*") if each.is_file()
    }
    assert hosts.kept("edge", "SPARK-1") == there


def test_a_removed_file_is_reported_gone_and_a_heartbeat_tells_what_is_behind(
    hosts: Hosts, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"line\n")
    hosts.forward(f"IMPALA-1={tmp_path}", host="brief")
    log.unlink()
    hosts.forward(f"IMPALA-1={tmp_path}", host="brief")
    (file,) = hosts.send("GET", FILES, "brief").json()["files"]
    assert (file["name"], file["gone"], file["size"]) == ("log", True, 5)
    told = {"behind_bytes": 7, "behind_files": 1, "unreadable": 2, "problem": "x" * 600}
    assert hosts.send("POST", ALIVE, "brief", json=told).json().keys() == {"boot"}
    from navlin.forward.contacts import contacts_in

    contact = next(each for each in contacts_in(hosts.root) if each.host == "brief")
    assert (contact.behind_bytes, contact.unreadable, len(contact.problem)) == (7, 2, 500)
    assert contact.concern(contact.alive_ms) == "its agent cannot read 2 files"
    assert contact.concern(contact.alive_ms + 691_000) == "its agent does not report"


def test_a_removed_file_that_the_server_never_took_is_not_kept_open(
    hosts: Hosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts.agent_command(host="other-source")
    monkeypatch.setattr(agent, "HELD_S", 0.0)
    server = agent.Server(hosts.web.url, str(hosts.home / "other-source.token"), None)
    following = agent.Agent(server, [("HIVE-1", str(tmp_path), "*")])
    log = tmp_path / "log"
    log.write_bytes(b"line\n")
    inode = log.stat().st_ino
    following.poll()
    log.unlink()
    assert inode in open_inodes(), "it may still be written to"

    following.poll()

    assert inode not in open_inodes()


@pytest.mark.parametrize(
    ("wanted", "status"),
    [
        ({"source": "HIVE-1"}, 403),
        ({"host": "two", "offset": 6}, 409),
        ({"offset": 0}, 409),
        ({"offset": 3}, 409),
        ({"X-Navlin-Sum": digest(b"y")}, 400),
        ({"file_id": "..%2f..%2fx"}, 404),
        ({"file_id": "1a2b"}, 400),
        ({"offset": -1}, 400),
        ({"Content-Encoding": "zstd"}, 415),
        ({"Content-Encoding": "gzip"}, 400),
        ({"Content-Encoding": "gzip", "data": gzip.compress(b"x") + b"y"}, 400),
        ({"Content-Encoding": "gzip", "data": gzip.compress(b"x" * (1 << 24))}, 413),
        ({"data": b"x" * ((4 << 20) + 1)}, 413),
    ],
)
def test_a_token_cannot_change_what_is_there(hosts: Hosts, wanted: dict[str, object], status: int) -> None:
    file_id = "1a2b-00000001"
    if not hosts.kept("attacked"):
        assert hosts.append(file_id, 0, b"hello\n", host="attacked").status_code == 200
        assert hosts.rename(file_id, "log", "attacked") == 200
    given = {
        "file_id": file_id,
        "offset": 6,
        "data": b"x",
        "before": b"hello\n",
        "host": "attacked",
        **wanted,
    }
    answer = hosts.append(**given)  # type: ignore[arg-type]  # a table of arguments
    assert answer.status_code == status, answer.text
    assert b"hello" not in answer.content
    assert hosts.kept("attacked") == {"log": b"hello\n"}


def test_the_agent_is_one_small_file_for_old_pythons(tmp_path: Path) -> None:
    text = Path(agent.__file__).read_text()
    assert len(text.splitlines()) <= MOST_LINES
    tree = ast.parse(text, feature_version=OLDEST)
    imports = [each for each in ast.walk(tree) if isinstance(each, ast.Import | ast.ImportFrom)]
    named = {
        (each.module or "") if isinstance(each, ast.ImportFrom) else each.names[0].name for each in imports
    }
    assert {each.partition(".")[0] for each in named} <= sys.stdlib_module_names
    file = tmp_path / "navlin-forward.pyz"
    command = [sys.executable, "-m", "navlin", "forward", "--write-agent", str(file)]
    subprocess.run(command, check=True, capture_output=True)
    assert zipfile.ZipFile(file).read("__main__.py") == text.encode()
    help_text = subprocess.run([file, "--help"], check=True, capture_output=True, text=True).stdout
    assert "--token-file" in help_text


@pytest.mark.services
@pytest.mark.parametrize("name", NAMES)
def test_the_agent_runs_on_other_pythons(hosts: Hosts, tmp_path: Path, name: str) -> None:
    if not (python := PYTHONS.get(name)):
        pytest.skip(f"{name} is not on this machine")
    if subprocess.run([python, "--version"], capture_output=True).returncode:
        pytest.skip(f"{name} does not start")
    (tmp_path / "log").write_bytes(b"line\n" * 100_000)
    hosts.forward(f"IMPALA-1={tmp_path}", host=name, python=python)
    assert hosts.kept(name) == {"log": b"line\n" * 100_000}


def test_the_agent_sends_no_token_in_the_clear(tmp_path: Path) -> None:
    command = [
        sys.executable,
        agent.__file__,
        "--url",
        "http://navlin.example:7187",
        "--token-file",
        "/dev/null",
    ]
    done = subprocess.run([*command, "--source", "a=/tmp"], capture_output=True, text=True)
    assert (done.returncode, "https://" in done.stderr) == (1, True)
