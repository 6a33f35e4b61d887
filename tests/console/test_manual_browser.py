"""The built manual in a real browser: its search, its policy, the console's help links, and the screenshots in it."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from navlin.console import PAGES
from navlin.shipped import MANUAL
from tests.support.chromium import Chromium
from tests.support.console_estate import ConsoleEstate

pytestmark = pytest.mark.services

SCREENSHOTS = "NAVLIN_SCREENSHOTS"
"""Environment variable with a folder that keeps the screenshots; `make screenshots` sets it."""
HOSTS = "return performance.getEntriesByType('resource').map((each) => new URL(each.name).host)"


def test_the_manual_is_searched_in_a_browser(console: ConsoleEstate, window: Chromium) -> None:
    window.open("/docs")
    assert "navlin" in window.find("h1").text

    box = window.find("input.sidebar-search")
    box.send_keys("keytab")
    box.submit()
    found = window.until(
        lambda: (
            window.texts("#search-results li > a") if window.count("#search-results li p.context") else []
        ),
        "the search finds nothing",
    )

    assert any("Kerberos" in each for each in found)
    assert window.wrong() == []
    assert set(window.run(HOSTS)) == {window.run("return location.host")}


def test_a_page_of_the_manual_has_its_style_and_no_symbols_in_the_text(
    console: ConsoleEstate, window: Chromium
) -> None:
    window.open("/docs/how-to/install.html")

    assert window.wrong() == []
    assert window.run("return document.querySelector('body > svg').getClientRects().length") == 0
    assert window.run("return document.body.dataset.theme")
    assert window.run("return getComputedStyle(document.body).getPropertyValue('--color-brand-primary')")


def test_every_help_link_leads_to_its_section(console: ConsoleEstate, window: Chromium) -> None:
    built = (MANUAL / "reference" / "console.html").read_text()
    for each in PAGES:
        if each.menu:
            window.open(each.path)
            address = str(window.find("a.help[href]").get_attribute("href"))
            assert re.fullmatch(r"http://[^/]+/navlin/docs/reference/console\.html#page-[a-z]+", address)
            assert f'id="{address.partition("#")[2]}"' in built


def test_the_diagram_is_pictured(console: ConsoleEstate, window: Chromium, tmp_path: Path) -> None:
    window.size(1200, 640)
    window.open(f"/lineage?entity={console.report.identity}&depth=3&open={console.report.identity}")
    window.until(lambda: window.count("#picture .node") + window.count("#picture .head"), "no diagram")
    window.until(lambda: window.find("#diagram").get_attribute("data-state") == "ready", "not drawn")
    picture = tmp_path / "diagram.png"
    window.picture(picture)

    assert picture.stat().st_size > 20_000
    if folder := os.environ.get(SCREENSHOTS):
        shutil.copy(picture, folder)
