"""Tokens of hosts: made, listed and revoked on the command line, and stored as hashes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from navlin.access.host_tokens import FILE, HostTokens
from navlin.access.store import AccessError
from navlin.cli import main
from navlin.forward.contacts import HostContact
from navlin.render.status import host_lines
from tests.support.other_hosts import SOURCES

DAY_MS = 86_400_000


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "navlin.toml"
    hdfs = '[[source]]\nname = "HDFS-1"\nextractor = "hdfs"\nurl = "hdfs://ns1"\n'
    file.write_text(f'[navlin]\ncluster = "c"\nstate_directory = "state"\n{SOURCES}\n{hdfs}')
    return file


def run(file: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["--config", str(file), "host-token", *arguments])


def test_a_token_is_shown_once_and_stored_as_a_hash(file: Path, tmp_path: Path) -> None:
    made = run(file, "add", "edge1.example", "--sources", "SPARK-1,IMPALA-1", "--days", "1")
    assert made.exit_code == 0, made.output
    secret = made.stdout.strip()
    stored = tmp_path / "state" / FILE
    assert secret.startswith("navlin_")
    assert secret not in stored.read_text()
    assert oct(stored.stat().st_mode & 0o777) == "0o600"
    tokens = HostTokens(tmp_path / "state")
    found = tokens.find(secret, 0)
    assert found is not None
    assert (found.host, found.sources) == ("edge1.example", ("SPARK-1", "IMPALA-1"))
    assert tokens.find(secret, found.expires_ms) is None
    assert found.expires_ms - found.created_ms == DAY_MS
    (listed,) = json.loads(run(file, "list", "--json").stdout)
    assert (listed["host"], listed["sources"]) == ("edge1.example", ["SPARK-1", "IMPALA-1"])
    assert run(file, "revoke", listed["id"]).exit_code == 0
    assert tokens.find(secret, 0) is None
    assert run(file, "list").exit_code == 3


def test_only_sources_that_read_logs_of_other_hosts_may_be_named(file: Path) -> None:
    refused = run(file, "add", "one", "--sources", "IMPALA-1,HDFS-1")
    assert (refused.exit_code, "those that do: IMPALA-1, SPARK-1" in refused.output) == (2, True)


@pytest.mark.parametrize("host", ["", "..", ".hidden", "a/b", "Upper", "a b", "-rf", "x" * 300, "a\n", "a."])
def test_a_host_whose_name_is_not_usable_as_a_directory_gets_no_token(host: str, tmp_path: Path) -> None:
    with pytest.raises(AccessError, match="not a valid host name"):
        HostTokens(tmp_path).add(host, ("IMPALA-1",), 0)


def test_a_damaged_file_is_an_error_and_not_an_empty_list(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("{")
    with pytest.raises(AccessError, match="restore a copy"):
        HostTokens(tmp_path).read()


def test_the_status_sums_up_hosts_and_names_those_that_need_attention() -> None:
    now_ms = 1_700_000_000_000
    late = HostContact("late", now_ms - 900_000, now_ms - 900_000, bytes=3, behind_bytes=7)
    fine = [HostContact(f"h{number}", now_ms, now_ms, bytes=1) for number in range(3)]
    status = {"now_ms": now_ms, "hosts": [each.as_json(now_ms) for each in (*fine, late)]}
    assert list(host_lines(status)) == [
        ("other hosts: 4, 7 bytes still to be sent, 6 bytes kept here", ""),
        ("host late: its agent does not report; last heard of 15 min ago", "red"),
    ]
    assert list(host_lines({"now_ms": now_ms, "hosts": []})) == []
