"""Visits to every page of the console in a real browser, in each of the page's states. They check accessibility (with
axe-core), violations of the content security policy, and overflow of the window.
"""

from __future__ import annotations

from urllib.parse import quote, urlencode

import pytest

from tests.services.axe import FILE
from tests.support.chromium import HOME, Chromium
from tests.support.console_estate import EVIL, ConsoleEstate

DESK = (1400, 900)
TABLET = (1024, 768)
TELEPHONE = (360, 740)
RUN = """
const done = arguments[arguments.length - 1];
axe.run(document, { resultTypes: ["violations"] }).then(
  ({ violations }) => done(violations.flatMap(({ id, nodes }) => nodes.map((each) => `${id}: ${each.target} ${each.html}`))),
  (error) => done([`axe failed: ${error.message}`]));
"""


def addresses(estate: ConsoleEstate) -> dict[str, list[str]]:
    """Path of a page → query strings that show each of its states."""
    entities = [
        urlencode({"entity": each.identity})
        for each in (estate.report, estate.evil, estate.long, estate.operation, estate.directory)
    ]
    evil = urlencode({"entity": EVIL})
    engines = "&".join(f"without_engine={each}" for each in ("hive", "impala", "spark"))
    return {
        "/search": [
            "",
            "query=" + quote(EVIL),
            "query=originalName:nothing",
            "query=type:DATA_FLOW",
            "query=(a",
        ],
        "/details": [*entities, evil],
        "/lineage": [
            *(f"{each}&depth=all&operations=true" for each in entities),
            f"{entities[0]}&selected={estate.report.identity}&open={estate.report.identity}",
            f"{entities[1]}&selected={estate.evil.identity}&unlinked=true&databases=true",
            f"{entities[1]}&form=list",
            evil,
            "",
        ],
        "/impact": [*entities[:2], evil],
        "/evidence": entities[:2],
        "/usage": [f"{each}&days=3650" for each in (*entities[:2], evil)],
        "/inherited": ["", "word=finance", "word=" + quote(EVIL)],
        "/unused": ["", f"days=30&despite_gaps=true&{engines}", "days=1"],
        "/sources": [""],
        "/request": [urlencode({"id": estate.request}), "id=nothing"],
        "/runs": ["", "status=held", "source=nothing"],
        "/held": [urlencode({"source": estate.held}), "source=estate-impala", "source=" + quote(EVIL)],
        "/unlinked": ["", "reason=" + quote(EVIL)],
        "/incomplete": ["", "reason=" + quote(EVIL)],
        "/rejects": ["", "source=" + quote(EVIL)],
        "/purges": [""],
    }


def shown(browser: Chromium, address: str) -> None:
    """Open a page, and wait until it is complete."""
    browser.open(address)
    if browser.count("#diagram"):
        states = ("ready", "failed", "empty")
        browser.until(lambda: browser.find("#diagram").get_attribute("data-state") in states, "no picture")


def wrong(browser: Chromium, address: str) -> list[str]:
    """Return the problems of a page in its present state, each prefixed with the page's address."""
    # The browser logs a 404 response, which is correct for an invalid address.
    found = [each for each in browser.wrong() if "status of 40" not in each]
    found += barriers(browser)
    if (width := browser.run("return document.documentElement.scrollWidth")) > browser.run(
        "return innerWidth"
    ):
        found.append(f"it is {width} pixels wide")
    if browser.count("img, script:not([src])"):
        found.append("there is an image, or a script that stands in the page")
    if "\u202e" in browser.run("return document.body.innerText + document.title"):
        found.append("a name turns the writing around")
    return [f"{address}: {each}" for each in found]


def barriers(browser: Chromium) -> list[str]:
    """Return each accessibility rule that the page breaks, with the element. Skips the test if axe-core is missing."""
    file = HOME / FILE
    if not file.exists():
        pytest.skip("axe-core is not there: `make browser` fetches it")
    browser.run(file.read_text())
    return list(browser.driver.execute_async_script(RUN))
