"""Real programs that ship logs send to navlin, configured as the manual says. Each needs its package."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.support.manual import page
from tests.support.other_hosts import LINES, Hosts, hosts_of
from tests.support.web import PATIENCE_S

pytestmark = pytest.mark.services
LONG: Final = b'{"queryText": "' + b"x" * 3_000_000 + b'"}\n'
ODD: Final = b"  blanks around \xff\xfe \tand bytes \r\n"


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    with hosts_of(tmp_path_factory.mktemp("shippers")) as hosts:
        yield hosts


def block(first_line: str) -> str:
    """Return the block of the manual's page that has this line, without the line."""
    blocks = re.split(r"^```.*\n", page("how-to/forward"), flags=re.MULTILINE)[1::2]
    (found,) = [each for each in blocks if first_line in each]
    return found.replace(first_line, "")


def needs(program: str) -> str:
    found = shutil.which(program) or shutil.which(program, path="/usr/sbin:/sbin")
    if found is None:
        pytest.skip(f"{program} is not installed")
    return found


@contextmanager
def running(*command: str, log: Path) -> Iterator[None]:
    with log.open("wb") as said:
        process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT)
    try:
        yield
        assert process.poll() is None, log.read_text()
    finally:
        process.terminate()
        process.wait()


def arrive(hosts: Hosts, host: str, lines: list[bytes], log: Path) -> list[bytes]:
    """Wait until so many lines of a host have arrived, and return them."""
    top, deadline_s = hosts.root / "lines" / "IMPALA-1", time.monotonic() + PATIENCE_S
    while True:
        found = b"".join(each.read_bytes() for each in sorted(top.glob(f"*-{host}.jsonl"))).splitlines(
            keepends=True
        )
        if len(found) >= len(lines) or time.monotonic() > deadline_s:
            assert len(found) == len(lines), log.read_text()[-2_000:]
            return found
        time.sleep(0.3)


def logs_in(directory: Path, lines: list[bytes]) -> Path:
    directory.mkdir()
    log = directory / "impala_lineage_log_1.0-1"
    log.write_bytes(b"".join(lines))
    return log


@pytest.mark.parametrize("limit", ["as the manual says", "default"])
def test_rsyslog_sends_whole_lines_if_its_limit_is_raised(hosts: Hosts, tmp_path: Path, limit: str) -> None:
    program, _ = needs("rsyslogd"), needs("curl")
    host, lines = f"rsyslog{len(limit)}", [b"one\n", LONG, b"three\n"]
    logs_in(tmp_path / "logs", lines)
    secret = hosts.token(host)
    (tmp_path / "curl").write_text(
        f'url = "{hosts.web.url}{LINES}IMPALA-1"\nheader = "Authorization: Bearer {secret}"\n'
    )
    sending = tmp_path / "to-navlin"
    sending.write_text(
        block("# /usr/local/bin/to-navlin;")
        .replace("/etc/navlin-curl", str(tmp_path / "curl"))
        .replace("#!/bin/sh", "#!/bin/sh\n#", 1)
    )
    sending.chmod(0o755)
    text = (
        block("# rsyslog, with its module omhttp\n")
        .partition("  action(")[0]
        .replace('module(load="omhttp")\n', "")
    )
    program_of_lines = block("# rsyslog, with its module omprog\n")
    action, _, template = program_of_lines.partition("template(")
    module, _, action = action.partition("\n")
    text = f"{module}\ntemplate({template}{text}{action}}}\n"
    text = text.replace("/usr/local/bin/to-navlin", str(sending)).replace(
        "/var/log/impalad/lineage", str(tmp_path / "logs")
    )
    if limit == "default":
        text = re.sub("global(.*)\n", "", text)
    configuration = tmp_path / "rsyslog.conf"
    configuration.write_text(f'global(workDirectory="{tmp_path}")\n{text}')
    log = tmp_path / "said"
    with running(program, "-n", "-f", str(configuration), "-i", str(tmp_path / "pid"), log=log):
        found = arrive(hosts, host, lines, log)
    if limit == "default":
        assert (found[0], found[2], 7_900 <= len(found[1]) <= 8_193) == (lines[0], lines[2], True)
    else:
        assert found == lines


@pytest.mark.parametrize("limit", ["as the manual says", "default"])
def test_syslog_ng_sends_whole_lines_if_its_limit_is_raised(hosts: Hosts, tmp_path: Path, limit: str) -> None:
    program = needs("syslog-ng")
    host, lines = f"syslog-ng{len(limit)}", [b"one\n", LONG, b"three\n"]
    logs_in(tmp_path / "logs", lines)
    text = block("# syslog-ng, with its module http\n")
    text = text.replace("https://navlin.example:7187/api/navlin/v1/lines/", hosts.web.url + LINES)
    text = text.replace("navlin_…", hosts.token(host)).replace(
        "/var/log/impalad/lineage", str(tmp_path / "logs")
    )
    if limit == "default":
        text = re.sub("options .*\n", "", text)
    configuration = tmp_path / "syslog-ng.conf"
    configuration.write_text(f"@version: 3.38\n{text}")
    log = tmp_path / "said"
    state = [f"--{name}={tmp_path / name}" for name in ("persist-file", "pidfile", "control")]
    with running(program, "-F", "-e", "-f", str(configuration), *state, log=log):
        found = arrive(hosts, host, lines if limit != "default" else [b""] * 48, log)
    if limit == "default":
        assert {len(each) for each in found[1:-2]} == {65_537}
    else:
        assert found == lines
