"""Every page in a real browser: accessible, without violations of the security policy, no wider than a phone's screen,
with any characters in names, usable by keyboard only and without JavaScript.

`test_console` and `test_console_pages` test the contents of pages, `test_console_lineage_browser` the behaviour of the
diagram.
"""

from __future__ import annotations

import re

import pytest

from navlin.console import PAGES
from tests.support.chromium import Chromium
from tests.support.console_estate import ConsoleEstate
from tests.support.visits import DESK, TABLET, TELEPHONE, addresses, shown, wrong
from tests.support.web import PASSWORD

pytestmark = pytest.mark.services


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESK, TABLET, TELEPHONE], ids=["desk", "tablet", "telephone"])
@pytest.mark.parametrize(
    "path", sorted({each.path for each in PAGES if each.method == "GET"} | {"/login", "/nowhere"})
)
def test_no_page_has_an_accessibility_error(
    path: str, size: tuple[int, int], scheme: str, console: ConsoleEstate, window: Chromium
) -> None:
    window.size(*size)
    window.prefer(prefers_color_scheme=scheme)
    found = []
    for query in addresses(console).get(path, [""]):
        shown(window, f"{path}?{query}")
        # Open all collapsible sections, so that they are examined too.
        window.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        found += wrong(window, f"{path}?{query}")
    assert found == []


def test_the_menu_is_one_line_on_a_tablet(console: ConsoleEstate, window: Chromium) -> None:
    window.size(*TABLET)
    window.open("/runs")
    tops = window.run("return [...document.querySelectorAll('.bar nav > *')].map((each) => each.offsetTop)")
    assert len(tops) > 7
    assert len(set(tops)) == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_evidence_has_the_preferred_colour_scheme_whole_words_and_readable_times(
    scheme: str, console: ConsoleEstate, window: Chromium
) -> None:
    window.size(390, 740)
    window.prefer(prefers_color_scheme=scheme)
    window.open(f"/evidence?entity={console.report.identity}")
    ground = window.run("return getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", ground))) < 200) is (scheme == "dark"), ground
    text = window.find("main").text
    assert not re.search(r"\d\dT\d\d:\d\d", text), text
    # Find cells with one short word that is broken into several lines.
    broken = window.run(
        "return [...document.querySelectorAll('th, td')].filter((each) => /^\\w{1,12}$/.test(each.textContent.trim())"
        " && each.getClientRects().length && new Set([...(() => { const all = document.createRange();"
        " all.selectNodeContents(each); return all.getClientRects(); })()].map((one) => one.top)).size > 1)"
        ".map((each) => each.textContent)"
    )
    assert broken == []


# -- Keyboard ------------------------------------------------------------------------------------------------------------

STOPS = """
const seen = (each) => each.checkVisibility({visibilityProperty: true}) && !each.disabled && !each.closest(".unseen");
const stops = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']";
return [...document.querySelectorAll(stops)].filter((each) => seen(each) && each.tabIndex >= 0)
  .map((each) => { each.dataset.stop ??= String(window.stops = (window.stops ?? 0) + 1); return each.dataset.stop; });
"""
FOCUSED = """
const at = document.activeElement;
const {outlineStyle, outlineWidth} = getComputedStyle(at);
const ground = at.querySelector?.(":scope > .ground");
const ring = (outlineStyle !== "none" && parseFloat(outlineWidth) >= 1) || at.closest(".skip")
  || (ground && parseFloat(getComputedStyle(ground).strokeWidth) >= 3);
return [at.dataset?.stop ?? "", Boolean(ring), at.outerHTML.slice(0, 120)];
"""


@pytest.mark.parametrize("path", sorted(each.path for each in PAGES if each.method == "GET"))
def test_the_tab_key_visits_every_control_in_order_with_visible_focus(
    path: str, console: ConsoleEstate, window: Chromium
) -> None:
    from selenium.webdriver.common.keys import Keys

    shown(window, f"{path}?{addresses(console)[path][0]}")
    stops = window.run(STOPS)
    window.run("document.activeElement.blur(); getSelection().setPosition(document.body, 0)")
    reached: list[str] = []
    without: list[str] = []
    for _ in range(4 * len(stops) + 10):
        window.press(Keys.TAB)
        stop, ring, what = window.run(FOCUSED)
        if stop and stop in reached:
            if stop == reached[0]:
                break
            # A date field takes several tab stops, one for each component of the date.
            continue
        if stop:
            reached.append(stop)
            without += [] if ring else [what]
    assert without == []
    # If the page focuses its search box, the stops before that box come last.
    first = stops.index(reached[0]) if reached else 0
    assert reached == [*stops[first:], *stops[:first]]


def test_a_table_is_found_and_tagged_by_keyboard_only(console: ConsoleEstate, window: Chromium) -> None:
    from selenium.webdriver.common.keys import Keys

    window.open("/search")
    window.press("type:TABLE AND originalName:orders", Keys.ENTER)
    window.until(lambda: "1–1 of 1" in window.find("#counted").text, "not found")
    tab_to(window, ".found a.name", Keys.TAB)
    window.press(Keys.ENTER)
    window.until(lambda: window.find("h1").text == "sales.orders", "no details")
    tab_to(window, "#edit summary", Keys.TAB)
    window.press(Keys.ENTER)
    tab_to(window, "#edit input[name=tags]", Keys.TAB)
    window.press("by hand", Keys.ENTER)
    window.until(lambda: window.texts("#tags .tag") == ["by hand"], "no tag")
    assert "chief" in window.find("#history").text
    assert window.wrong() == []


def tab_to(window: Chromium, selector: str, key: str) -> None:
    for _ in range(200):
        window.press(key)
        if window.run("return document.activeElement.matches(arguments[0])", selector):
            return
    pytest.fail(f"the tab key never leads to {selector}")


# -- Without JavaScript --------------------------------------------------------------------------------------------------


def test_every_page_shows_the_same_without_javascript(console: ConsoleEstate, window: Chromium) -> None:
    def read(path: str, query: str) -> str:
        shown(window, f"{path}?{query}")
        text: str = window.find("main").text
        # JavaScript shows times in the user's time zone, pages without it in UTC. Some times are shown as ages.
        text = re.sub(
            r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC|\w{3} \d+, \d{4}, \d+:\d\d:\d\d\s[AP]M", "TIME", text
        )
        return re.sub(r"\d+(\.\d)? (s|min) ago", "AGO", text)

    # The diagram needs JavaScript, and an evidence document without it contains different times.
    but = ("/lineage", "/evidence", "/request")
    pages = {each: queries[0] for each, queries in addresses(console).items() if each not in but}
    with_script = {each: read(each, query) for each, query in pages.items()}
    window.scripts(run=False)
    without = {each: read(each, query) for each, query in pages.items()}
    assert "TIME" in without["/runs"]
    assert without == with_script


def test_a_visit_without_javascript_can_log_in_filter_and_log_out(
    console: ConsoleEstate, window: Chromium
) -> None:
    window.scripts(run=False)
    window.find(".who button").click()
    window.until(lambda: "/login" in window.driver.current_url, "not logged out")
    window.open("/sources")
    window.find("[name=name]").send_keys("chief")
    window.find("[name=password]").send_keys("wrong", "\n")
    window.until(lambda: window.find("[role=alert]").text, "nothing is said of a wrong password")
    window.find("[name=name]").send_keys("chief")
    window.find("[name=password]").send_keys(PASSWORD, "\n")
    window.until(
        lambda: window.driver.current_url.endswith("/sources"), "it does not go on where one wanted to"
    )
    window.open("/search?query=parentPath:%22/sales%22")
    assert window.find("#counted").text != "1–1 of 1"
    window.find("[data-filter=type] [value=VIEW]").click()
    window.find("#filters > button").click()
    window.until(lambda: window.find("#counted").text == "1–1 of 1", "not filtered")


def test_pages_have_no_layout_shift(console: ConsoleEstate, window: Chromium) -> None:
    script = """
    const done = arguments[arguments.length - 1];
    new PerformanceObserver((list) =>
      window.moved = (window.moved ?? 0) + list.getEntries().reduce((sum, each) => sum + each.value, 0)
    ).observe({type: "layout-shift", buffered: true});
    setTimeout(() => done(window.moved ?? 0), 300);
    """
    moved = {}
    for path, queries in addresses(console).items():
        if path != "/lineage":
            shown(window, f"{path}?{queries[0]}")
            moved[path] = window.driver.execute_async_script(script)
    assert {path: by for path, by in moved.items() if by > 0.001} == {}
