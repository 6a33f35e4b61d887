"""The built manual in a real browser: its search, its policy, and the console's help links."""

from __future__ import annotations

import re

import pytest

from navlin.console import PAGES
from navlin.shipped import MANUAL
from tests.support.chromium import Chromium
from tests.support.console_estate import ConsoleEstate

pytestmark = pytest.mark.services

ADDRESSES = "return performance.getEntriesByType('resource').map((each) => each.name)"


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
    manual = window.run("return location.origin") + "/navlin/docs/"
    assert [each for each in window.run(ADDRESSES) if not each.startswith(manual)] == []
    assert str(window.find("link[rel~=icon]").get_attribute("href")).startswith(manual)


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
