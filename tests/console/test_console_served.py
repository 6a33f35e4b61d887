"""A real `navlin serve` with the console in a real browser: pressing a button sends a request that navlin carries out,
and the page shows the result.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from navlin.access.roles import Role
from navlin.access.store import AccessFile
from navlin.service.web_address import web_address
from tests.support.chromium import Chromium, started_chromium
from tests.support.notes_package import install
from tests.support.served_daemon import Served, ready
from tests.support.web import PASSWORD

pytestmark = pytest.mark.services

CONFIGURATION = """\
[navlin]
cluster = "served"
state_directory = "state"

[solr]
memory = "512m"

[web]
port = 0

[log]
level = "debug"

[[source]]
name = "NOTES-1"
extractor = "notes"
folder = "{folder}"
interval_s = 86400
"""
ENDED = ("done", "failed", "Finished: nothing new")
WRITTEN = ("lighthouse", "harbour", "beacon")


@dataclass
class Serving:
    served: Served
    folder: Path
    browser: Chromium

    def state(self) -> str:
        """Wait until the page, which reloads itself, shows a final state of the request, and return that state."""
        browser = self.browser

        def ended() -> str:
            # While the page reloads, it has no text.
            return next((text for text in browser.texts("#state") if text in ENDED), "")

        return browser.until(ended, "it is never done")

    def deleted(self) -> int:
        return self.served.find("sourceType:NOTES AND type:FILE AND deleted:true")

    def run_now(self) -> str:
        self.browser.open("/sources")
        self.browser.find("form[action$='/run'] button").click()
        return self.state()


@pytest.fixture
def serving(tmp_path: Path, solr_jars: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Serving]:
    package = install(tmp_path / "installed")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(package), os.environ.get("PYTHONPATH", "")]))
    folder = tmp_path / "notes"
    folder.mkdir()
    for words in WRITTEN:
        (folder / f"{words}.note").write_text(words)
    (tmp_path / "navlin.toml").write_text(CONFIGURATION.format(folder=folder))
    AccessFile(tmp_path / "state").add_user("chief", Role.ADMINISTRATOR, PASSWORD)
    served = ready(Served(tmp_path))
    try:
        served.logged("run finished", source="NOTES-1")
        url = served.until(lambda: web_address(served.state), "the web process")
        with started_chromium(tmp_path) as browser:
            browser.log_in(url, "chief")
            yield Serving(served, folder, browser)
    finally:
        served.end()


def test_a_source_is_run_and_a_blocked_loss_accepted_by_button(serving: Serving) -> None:
    browser, folder = serving.browser, serving.folder
    (folder / "pier.note").write_text("pier")
    assert serving.run_now() == "done"
    assert serving.served.find("originalDescription:pier") == 1

    gone = (*WRITTEN, "pier")
    for words in gone:
        (folder / f"{words}.note").unlink()
    assert serving.run_now() == "done"
    assert serving.deleted() == 0
    browser.open("/sources")
    browser.find("a[href*='/held?']").click()
    listed = " ".join(browser.texts("#listed td"))
    assert [words for words in gone if words not in listed] == []

    browser.find("#accept button").click()
    assert serving.state() == "done"
    assert serving.deleted() == len(gone)
    browser.open("/sources")
    assert browser.count("a[href*='/held?']") == 0
    assert browser.wrong() == []
