"""The systemd unit: systemd accepts it, and rates its exposure as low."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from navlin.shipped import SYSTEMD

UNIT = SYSTEMD / "navlin.service"
AGENT = SYSTEMD / "navlin-forward.service"
MOST_EXPOSED = 2.0
"""Maximum exposure score. systemd rates up to 4.9 as "OK"; an unhardened service scores 9.6."""


@pytest.fixture(params=[UNIT, AGENT], ids=lambda each: each.name)
def unit(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of the unit that runs an existing program, because the test verifies the unit, not this machine."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd is not installed")
    file: Path = request.param
    copy = tmp_path / file.name
    program = re.compile(r"/opt/navlin/bin/navlin|/usr/bin/python3")
    copy.write_text(program.sub("/bin/true", file.read_text()))
    return copy


def test_systemd_accepts_the_unit(unit: Path) -> None:
    verified = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True)

    assert (verified.returncode, verified.stderr) == (0, "")


def test_the_unit_has_a_low_exposure(unit: Path) -> None:
    command = ["systemd-analyze", "security", "--offline=true", "--no-pager", str(unit)]
    judged = subprocess.run(command, capture_output=True, text=True)

    if "unrecognized option" in judged.stderr or "Unknown" in judged.stderr:
        pytest.skip("this systemd judges no units offline")
    overall = re.search(r"Overall exposure level for navlin[-\w]*\.service: (\d+\.\d)", judged.stdout)
    assert overall, judged.stdout[-200:] + judged.stderr
    sys.stdout.write(f"systemd-analyze security: {overall[1]}\n")
    assert float(overall[1]) <= MOST_EXPOSED


def test_an_invalid_configuration_prevents_restarts(tmp_path: Path) -> None:
    """systemd applies RestartPreventExitStatus only to the main process. If ExecStartPre failed, systemd would
    restart the unit for ever."""
    settings = dict(re.findall(r"^(\w+)=(.*)$", UNIT.read_text(), re.MULTILINE))
    assert settings["ExecStartPre"].startswith("-")

    wrong = tmp_path / "navlin.toml"
    wrong.write_text('[navlin]\nclutser = "c"\n')
    served = subprocess.run(
        [sys.executable, "-m", "navlin", "--config", str(wrong), "serve"], capture_output=True
    )
    assert str(served.returncode) == settings["RestartPreventExitStatus"]


def test_every_setting_of_the_unit_has_a_comment() -> None:
    without_reason = []
    explained = False
    for line in UNIT.read_text().partition("[Service]")[2].partition("[Install]")[0].splitlines():
        if line.startswith("# ") or re.match(r"#[A-Z]\w+=", line):
            explained = True
        elif not line:
            explained = False
        elif not explained:
            without_reason.append(line)

    assert without_reason == []


def test_java_may_compile_at_runtime() -> None:
    # A JVM exits at once if memory cannot be both writable and executable.
    settings = [line for line in UNIT.read_text().splitlines() if line.startswith("MemoryDenyWriteExecute")]

    assert settings == []
