"""A new extractor works with one file, in ``extractors/`` or in its own package. No other file of the product changes.
`tests.support.notes_of_others` is an example of such a file."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from navlin.cli import main
from navlin.index.schema.fields import ELEMENTS, RELATIONS, RUNS
from navlin.index.solr.solr import Solr
from navlin.model.extractor import EXTRACTORS
from navlin.model.source import source_id
from tests.support.leases import held_by
from tests.support.notes_package import NOTES, install

ROOT = Path(__file__).parents[2]


Answer = tuple[int, str]
"""A command's exit code and its output."""


class Notes:
    """A folder of notes, and a navlin with an extractor for notes. ``run`` runs a command of that navlin."""

    def __init__(self, solr: Solr, home: Path, run: Callable[[list[str]], Answer]) -> None:
        self.solr, self._run = solr, run
        self.folder = home / "notes"
        self.folder.mkdir()
        self.cluster = f"notes-{home.name}"
        self._file = home / "navlin.toml"
        self._file.write_text(
            f'[navlin]\ncluster = "{self.cluster}"\nstate_directory = "state"\n'
            f'[solr]\nurl = "{solr.address.url}"\nuser = "{solr.address.user}"\n'
            f'[[source]]\nname = "NOTES-1"\nextractor = "notes"\nfolder = "{self.folder}"\n'
        )

    def navlin(self, *arguments: str, code: int = 0) -> Any:
        exit_code, printed = self._run(["--config", str(self._file), *arguments, "--json"])
        assert exit_code == code, printed
        return json.loads(printed)

    def found(self, words: str, field: str = "originalDescription") -> list[bool]:
        """Search the notes. Return, for each note found, whether it is flagged deleted."""
        self.solr.commit("nav_elements", soft=True)
        query = f"{field}:{words} AND sourceId:{source_id(self.cluster, 'NOTES-1')}"
        answer = self.solr.select("nav_elements", {"q": query, "rows": 10})
        return [document["deleted"] for document in answer["response"]["docs"]]

    def everything(self) -> str:
        queries = {
            ELEMENTS: "sourceType:NOTES",
            RELATIONS: "endpoint1SourceType:NOTES",
            RUNS: "source:NOTES\\-1",
        }
        answers = {
            core: self.solr.select(core, {"q": query, "rows": 100})["response"]["docs"]
            for core, query in queries.items()
        }
        assert answers[ELEMENTS]
        assert answers[RUNS]
        return json.dumps(answers)


@pytest.fixture
def in_extractors(solr: Solr, tmp_path: Path) -> Notes:
    """A copy of this checkout with an additional file in ``extractors/``. Each command runs in its own process."""
    for name in ("navlin", "extractors", "linker", "conf"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / ".jars").symlink_to(ROOT / ".jars")
    shutil.copy(NOTES, tmp_path / "extractors" / "notes.py")
    environment = {
        **os.environ,
        "PYTHONPATH": str(tmp_path),
        "NAVLIN_SOLR_PASSWORD": solr.address.password or "",
    }

    def run(arguments: list[str]) -> Answer:
        command = [sys.executable, "-m", "navlin", *arguments]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=1800
        )
        return done.returncode, done.stdout or done.stderr

    return Notes(solr, tmp_path, run)


@pytest.fixture
def in_a_package(
    solr: Solr,
    spark: Callable[[], SparkSession],
    spark_of_commands: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Notes]:
    """A navlin with an installed package that contains the extractor. Commands run in this process."""
    package = install(tmp_path / "installed")
    monkeypatch.syspath_prepend(package)
    spark().sparkContext.addPyFile(str(package / NOTES.name))
    monkeypatch.setenv("NAVLIN_SOLR_PASSWORD", solr.address.password or "")

    def run(arguments: list[str]) -> Answer:
        done = CliRunner().invoke(main, arguments)
        return done.exit_code, done.stdout or done.output

    yield Notes(solr, tmp_path, run)
    del EXTRACTORS["notes"]


def test_an_extractor_from_a_package_is_checked_run_and_shown_in_status(in_a_package: Notes) -> None:
    run_a_new_extractor(in_a_package)


@pytest.mark.services
def test_a_new_file_in_extractors_is_checked_run_and_shown_in_status(in_extractors: Notes) -> None:
    run_a_new_extractor(in_extractors)

    assert set(in_extractors.navlin("link", "--all")) == {
        "resolve_endpoints",
        "add_locations",
        "resolve_views",
        "add_started_operations",
        "adopt_operations",
        "prefer_engines",
        "inherited",
    }


def run_a_new_extractor(notes: Notes) -> None:
    # The notes contain a secret, and the extractor itself does not redact.
    (notes.folder / "one.note").write_text("lighthouse, password='hunter2Zx'")
    (notes.folder / "two.txt").write_text("no note, password='hunter2Zx'")
    assert {finding["subject"] for finding in notes.navlin("check")} >= {"source NOTES-1"}

    tried = notes.navlin("extract", "NOTES-1", "--dry-run")
    assert (tried["status"], tried["counts"]["new"]) == ("finished", 1)
    assert notes.found("lighthouse") == []

    run = notes.navlin("extract", "NOTES-1")
    assert (run["status"], run["counts"]["new"], run["counts"]["rejects"]) == ("finished", 1, 1)
    assert notes.found("lighthouse") == [False]
    # The field tp_paper is not in any schema.
    assert notes.found("vellum", "tp_paper") == [False]

    [source] = notes.navlin("status")["sources"]
    assert source["last"]["run_id"] == run["run_id"]
    assert source["index"]["reject_count"] == 1
    assert "hunter2Zx" not in notes.everything()

    (notes.folder / "one.note").unlink()
    held = notes.navlin("extract", "NOTES-1", code=4)
    assert held["status"] == "held"
    assert notes.found("lighthouse") == [False]
    assert notes.navlin("status", code=1)["sources"][0]["held"] == held["run_id"]

    accepted = notes.navlin("extract", "NOTES-1", "--accept-loss", held["run_id"])
    assert accepted["counts"]["deleted"] == 1
    assert notes.found("lighthouse") == [True]
    assert notes.navlin("status")["failing"] == []


@pytest.mark.services
def test_a_source_leased_by_another_process_is_skipped(in_extractors: Notes) -> None:
    notes = in_extractors
    (notes.folder / "one.note").write_text("harbour")
    identity = source_id(notes.cluster, "NOTES-1")
    with held_by(notes.solr, identity):
        left = notes.navlin("extract", "NOTES-1", code=5)

    assert "process 4711 on another-host" in left["error"]
    assert notes.found("harbour") == []
