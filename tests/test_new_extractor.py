"""What one more extractor costs: a file in ``extractors/``, and nothing else of navlin changes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from navlin.index.runs import Holder, free_lease, take_lease
from navlin.index.solr import Solr
from navlin.model.source import source_id

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.services

NOTES = '''
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from navlin.model.extractor import PULL, Extractor, extractor
from navlin.model.keys import path_key, EntityType
from navlin.model.plan import Plan, Positions
from navlin.model.records import Covered, Entity, Record, Reject, Split
from navlin.model.source import Estate, Source


@dataclass(frozen=True, slots=True)
class Folder(Split):
    path: str
    now_ms: int

    @property
    def name(self) -> str:
        return self.path


@extractor("notes", source_type="NOTES", mode=PULL, version=1)
@dataclass(frozen=True, slots=True)
class Notes(Extractor):
    """The notes of a folder, one entity a file."""

    source: Source
    estate: Estate
    folder: str

    def plan(self, positions: Positions) -> Plan:
        return Plan((Folder(self.folder, positions.now_ms),), covers=(Covered("/", positions.now_ms),))

    def read(self, split: Folder) -> Iterator[Record]:
        for file in sorted(Path(split.path).iterdir()):
            if file.suffix != ".note":
                yield Reject(str(file), "is no note")
                continue
            key = path_key(self.source, f"/{file.name}", EntityType.FILE)
            yield Entity(key, split.now_ms, {"originalDescription": file.read_text(), "paper": "vellum"})
'''


class Estate:
    """A folder of notes, and navlin with one more file in ``extractors/``."""

    def __init__(self, solr: Solr, home: Path) -> None:
        self.solr, self.home = solr, home
        self.notes = home / "notes"
        self.notes.mkdir()
        shutil.copytree(
            ROOT / "extractors", home / "extractors", ignore=shutil.ignore_patterns("__pycache__")
        )
        (home / "extractors" / "notes.py").write_text(NOTES)
        self.file = home / "navlin.toml"
        self.file.write_text(
            f'[navlin]\ncluster = "notes"\nstate_directory = "state"\n[solr]\nurl = "{solr.address.url}"\n'
            f'user = "{solr.address.user}"\n[[source]]\nname = "NOTES-1"\nextractor = "notes"\nfolder = "{self.notes}"\n'
        )

    def navlin(self, *arguments: str, code: int = 0) -> Any:
        """Runs a command of its own process, with ``--json``, and returns what it says."""
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(self.home), str(ROOT)]),
            "NAVLIN_SOLR_PASSWORD": self.solr.address.password or "",
        }
        command = [sys.executable, "-m", "navlin", "--config", str(self.file), *arguments, "--json"]
        done = subprocess.run(
            command, cwd=self.home, env=environment, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == code, done.stdout + done.stderr
        return json.loads(done.stdout)

    def found(self, words: str, field: str = "originalDescription") -> list[bool]:
        """Whether each note found is flagged deleted."""
        self.solr.commit("nav_elements", soft=True)
        query = f"{field}:{words} AND sourceType:NOTES"
        answer = self.solr.select("nav_elements", {"q": query, "rows": 10})
        return [document["deleted"] for document in answer["response"]["docs"]]


@pytest.fixture
def estate(solr: Solr, tmp_path: Path) -> Estate:
    return Estate(solr, tmp_path)


def test_a_new_extractor_is_configured_checked_run_and_told_of(estate: Estate) -> None:
    (estate.notes / "one.note").write_text("lighthouse")
    (estate.notes / "two.txt").write_text("no note")
    assert {finding["subject"] for finding in estate.navlin("check")} >= {"source NOTES-1"}

    tried = estate.navlin("extract", "NOTES-1", "--dry-run")
    assert (tried["status"], tried["counts"]["new"]) == ("finished", 1)
    assert estate.found("lighthouse") == []

    run = estate.navlin("extract", "NOTES-1")
    assert (run["status"], run["counts"]["new"], run["counts"]["rejects"]) == ("finished", 1, 1)
    assert estate.found("lighthouse") == [False]
    # A field that no schema names.
    assert estate.found("vellum", "tp_paper") == [False]

    [source] = estate.navlin("status")["sources"]
    assert source["last"]["run_id"] == run["run_id"]
    assert source["index"]["reject_count"] == 1

    (estate.notes / "one.note").unlink()
    held = estate.navlin("extract", "NOTES-1", code=4)
    assert held["status"] == "held"
    assert estate.found("lighthouse") == [False]
    assert estate.navlin("status", code=1)["sources"][0]["held"] == held["run_id"]

    accepted = estate.navlin("extract", "NOTES-1", "--accept-loss", held["run_id"])
    assert accepted["counts"]["deleted"] == 1
    assert estate.found("lighthouse") == [True]
    assert estate.navlin("status")["failing"] == []

    assert set(estate.navlin("link", "--all")) == {"resolve_endpoints", "add_locations", "resolve_views"}


def test_a_source_that_another_process_runs_is_left_alone(estate: Estate) -> None:
    (estate.notes / "one.note").write_text("harbour")
    identity = source_id("notes", "NOTES-1")
    take_lease(estate.solr, identity, Holder("another-host", 1, "1"), 10**15, lives=lambda _: True)
    try:
        left = estate.navlin("extract", "NOTES-1", code=5)
    finally:
        free_lease(estate.solr, identity)

    assert "process 1 on another-host" in left["error"]
    assert estate.found("harbour") == []
