"""``[redaction] literals = "all"`` from a user's view: no file or output of navlin's commands contains a literal."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from navlin.export.target import targets
from navlin.model.extractor import PUSH
from tests.access.test_no_literal_is_kept import CASES, NUMBER, PLANTED
from tests.support.shipped_extractors import SHIPPED

pytestmark = pytest.mark.services
ROOT = Path(__file__).parents[2]
OF_FILES = [each for name, each in CASES.items() if SHIPPED[name].mode is PUSH]
CONFIGURATION = """\
[navlin]
cluster = "literals"
state_directory = "state"

[solr]
memory = "512m"

[log]
level = "debug"

[redaction]
literals = "{literals}"
"""
SOURCE = """
[[source]]
name = "{name}"
extractor = "{name}"
directory = "{directory}"
"""


class Estate:
    """Logs with planted literals, a configuration that reads the logs, and the output of all commands run."""

    def __init__(self, folder: Path, literals: str) -> None:
        self.folder, self.printed = folder, b""
        self.temporary = folder / "temporary"
        self.temporary.mkdir(parents=True)
        text = CONFIGURATION.format(literals=literals)
        for make in OF_FILES:
            directory = folder / "logs" / make.__name__
            directory.mkdir(parents=True)
            with make(directory):
                text += SOURCE.format(name=make.__name__, directory=directory)
        self.file = folder / "navlin.toml"
        self.file.write_text(text)
        (folder / "state").mkdir()
        (folder / "state" / "solr-launcher").symlink_to(ROOT / ".jars" / "solr-launcher")

    def run(self, *arguments: str) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "navlin", "--config", str(self.file), *arguments],
            cwd=ROOT,
            env={"PATH": "/usr/bin:/bin", "HOME": str(self.folder), "TMPDIR": str(self.temporary)},
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()[-3000:]
        self.printed += done.stdout + done.stderr

    def planted(self) -> list[str]:
        """Return the files, except the logs, that contain a planted literal, and "printed" if the output contains
        one."""
        found = ["printed"] if _has_planted(self.printed) else []
        logs = self.folder / "logs"
        for file in sorted(
            each for each in self.folder.rglob("*") if each.is_file() and not each.is_relative_to(logs)
        ):
            if _has_planted(file.read_bytes()):
                found.append(str(file.relative_to(self.folder)))
        return found


def _has_planted(text: bytes) -> bool:
    return PLANTED.encode() in text or NUMBER.encode() in text


def everything(estate: Estate) -> None:
    for make in OF_FILES:
        estate.run("extract", make.__name__)
    estate.run("link")
    for question in (
        ("search", "*", "--json"),
        ("rejects", "--json"),
        ("incomplete", "--json"),
        ("runs", "--json"),
        ("status",),
    ):
        estate.run(*question)
    for target in targets():
        estate.run("export", target, "--out", str(estate.folder / f"exported-{target}"))


def test_a_planted_literal_is_in_no_file_export_or_output(tmp_path: Path, solr_jars: Path) -> None:
    assert OF_FILES
    estate = Estate(tmp_path, "all")
    everything(estate)
    assert estate.planted() == []


def test_without_masking_the_literal_is_in_exports_and_output(tmp_path: Path, solr_jars: Path) -> None:
    estate = Estate(tmp_path, "marked")
    everything(estate)
    found = estate.planted()
    assert "printed" in found, "the test plants nothing"
    assert any(each.startswith("exported-") for each in found)
