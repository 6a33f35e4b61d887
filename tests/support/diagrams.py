"""What tests do in a lineage diagram in a real browser, as people do it: click, type, scroll, and look."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from tests.support.chromium import Chromium

VISIBLE = """
const outer = document.getElementById("picture").getBoundingClientRect();
return [...document.querySelectorAll(arguments[0])].filter((each) => {
  const {left, right, top, bottom} = each.getBoundingClientRect();
  return left >= outer.left - 1 && right <= outer.right + 1 && top >= outer.top - 1 && bottom <= outer.bottom + 1;
}).length;
"""


def ready(browser: Chromium) -> None:
    browser.until(lambda: _state(browser) in ("ready", "failed"), "no picture")
    assert _state(browser) == "ready", browser.find("#problem").text


def _state(browser: Chromium) -> str:
    return str(browser.find("#diagram").get_attribute("data-state"))


def opened(browser: Chromium, entity: str, **view: str) -> None:
    """Open the diagram of an entity, and wait until it is drawn."""
    browser.open(f"/lineage?{urlencode({'entity': entity, **view})}")
    ready(browser)


def drawn_again(browser: Chromium, act: Any) -> None:
    """Call ``act``, and wait for the new drawing."""
    browser.run("document.getElementById('diagram').dataset.state = 'before'")
    act()
    ready(browser)


def click(browser: Chromium, selector: str) -> None:
    """Click in the middle of an element of the picture, as with a mouse."""
    from selenium.webdriver.common.action_chains import ActionChains

    ActionChains(browser.driver).move_to_element(browser.find(selector)).click().perform()


def row(name: str) -> str:
    """The selector of a column's row, by the full name of the column."""
    return f'.row.column[aria-label^="column {name},"]'


def boxes(browser: Chromium) -> set[str]:
    """Names on the boxes of the picture."""
    return set(browser.texts(".node > .label .name"))


def lit(browser: Chromium) -> set[str]:
    """Names of the columns whose path is lit."""
    return {each.split(",")[0].removeprefix("column ") for each in _labels(browser, ".dimming .row.lit")}


def _labels(browser: Chromium, selector: str) -> list[str]:
    script = (
        "return [...document.querySelectorAll(arguments[0])].map((each) => each.getAttribute('aria-label'))"
    )
    return list(browser.run(script, selector))


def visible(browser: Chromium, selector: str) -> int:
    """Return the number of matching elements that are wholly inside the picture."""
    return int(browser.run(VISIBLE, selector))


def address(browser: Chromium) -> str:
    return str(browser.driver.current_url)
