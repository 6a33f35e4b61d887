"""Work in the diagram, as people do it: find, pin a path, open all columns, list a group, filter, save a table, and start at
a database or a tag."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from navlin.index.solr.solr import Solr
from navlin.model.keys import Key, column_key
from navlin.solr_server.embedded import EmbeddedSolr
from tests.support.chromium import Chromium
from tests.support.diagram_estate import DUPLICATING_JOIN, READERS, READERS_OF_EMAIL, diagram_estate
from tests.support.diagrams import address, boxes, click, drawn_again, lit, opened, ready, row, visible
from tests.support.visits import barriers

pytestmark = pytest.mark.services

NAME = f"n{uuid4().hex[:8]}"
SIZES = {"desk": (1400, 900), "tablet": (1024, 768), "telephone": (390, 844)}


@pytest.fixture(scope="module")
def keys(solr_server: EmbeddedSolr) -> Iterator[dict[str, Key]]:
    with Solr(solr_server.start()) as connected:
        yield diagram_estate(connected, NAME)


@pytest.fixture
def browser(chromium: Chromium) -> Iterator[Chromium]:
    """The session's browser. No test may cause an error, an alert or a policy violation."""
    chromium.logged()
    chromium.size(*SIZES["desk"])
    yield chromium
    chromium.prefer(prefers_color_scheme="light")
    chromium.size(1400, 900)
    assert chromium.wrong() == []


def named(name: str) -> str:
    return f"d_{NAME}.{name}"


# -- Find ----------------------------------------------------------------------------------------------------------------


def test_slash_finds_columns_of_closed_tables_one_after_the_other(
    browser: Chromium, keys: dict[str, Key]
) -> None:
    opened(browser, keys["report"].identity, depth="all")
    browser.press("/")
    browser.find("#find input").send_keys("amount")
    browser.until(lambda: "2 found" in browser.find("#find output").text, "no columns are found")
    # The order is that of the picture, from left to right.
    for place, name in ((1, "orders.amount"), (2, "joined.amount")):
        drawn_again(browser, lambda: browser.press(Keys.ENTER))
        assert browser.find("#find output").text == f"{place} of 2: column {named(name)}"
        assert visible(browser, row(named(name))) == 1
        assert browser.count(f"{row(named(name))}.selected") == 1
    browser.find("#find [value=previous]").click()
    browser.until(lambda: browser.find("#find output").text.startswith("1 of 2"), "not back at the first")
    browser.press(Keys.ESCAPE)
    assert not browser.find("#find").is_displayed()


def test_find_scrolls_a_long_table_and_takes_a_table_out_of_its_group(
    browser: Chromium, keys: dict[str, Key]
) -> None:
    opened(browser, keys["narrow"].identity)
    browser.find("#open-find").click()
    browser.find("#find input").send_keys("measure_1400")
    drawn_again(browser, lambda: browser.press(Keys.ENTER))
    assert visible(browser, row(f"wide_{NAME}.wide.measure_1400")) == 1

    opened(browser, keys["hub"].identity)
    browser.press("/")
    browser.find("#find input").send_keys("reader_299")
    drawn_again(browser, lambda: browser.press(Keys.ENTER))
    assert boxes(browser) == {"hub", "299 tables", "reader_299"}


# -- A pinned path -------------------------------------------------------------------------------------------------------


def test_a_click_on_a_column_keeps_its_path_lit_and_lists_its_steps(
    browser: Chromium, keys: dict[str, Key]
) -> None:
    daily = keys["daily"].identity
    opened(browser, daily, depth="all", open=daily)
    click(browser, row(named("daily.revenue")))
    browser.hover(browser.find("#summary"))
    assert lit(browser) == {named("daily.revenue")}
    assert browser.find("#selected [data-act=pin]").text == "Unpin its path"
    lit_boxes = browser.texts(".node.lit > .label .name")
    assert set(lit_boxes) == {"orders", "joined", "daily", "report"}, "through closed tables"
    assert browser.count(".dimming") == 1
    browser.until(lambda: browser.texts("#path .steps .query") != [], "no expressions")
    steps = browser.texts("#path .steps > li")
    assert [each.split("by ")[0] for each in steps] == [
        f"{named('orders.amount')} → {named('joined.amount')}",
        f"{named('joined.amount')} → {named('daily.revenue')}",
        f"{named('daily.revenue')} → {named('report.revenue')}",
    ]
    assert DUPLICATING_JOIN in steps[0]
    assert "Spark" in steps[0]
    assert "sum(joined.amount)" in steps[1]

    drawn_again(browser, lambda: browser.find("#only-path").click())
    assert boxes(browser) == {"orders", "joined", "daily", "report"}
    assert browser.count(row(named("daily.visits"))) == 0
    assert "pinned=" in address(browser)
    assert "only=true" in address(browser)
    browser.driver.refresh()
    ready(browser)
    assert boxes(browser) == {"orders", "joined", "daily", "report"}
    drawn_again(browser, lambda: browser.find("#unpin").click())
    assert boxes(browser) == {"orders", "visits", "joined", "daily", "report"}
    assert browser.count(".dimming") == 0
    assert browser.find("#selected [data-act=pin]").text == "Pin its path"


BROKEN = """
const broken = [];
for (const each of document.querySelectorAll("#edges td :is(a, button)")) {
  const range = document.createRange();
  for (const text of [...each.childNodes].filter((child) => child.nodeType === Node.TEXT_NODE)) {
    for (const word of text.data.matchAll(/[^\\s./_(]+[./_(]?/g)) {
      range.setStart(text, word.index);
      range.setEnd(text, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].map(({ top }) => top));
      if (word[0].length < 12 && lines.size > 1) broken.push(word[0]);
    }
  }
}
return broken;
"""


def test_the_list_of_edges_breaks_no_short_word(browser: Chromium, keys: dict[str, Key]) -> None:
    opened(browser, keys["report"].identity, depth="all")
    opens_the_list_of_edges(browser)
    assert any("sum(amount)" in each for each in browser.texts("#edges td a"))
    assert browser.run(BROKEN) == []


# -- Columns -------------------------------------------------------------------------------------------------------------


def test_one_switch_opens_all_columns_and_greys_those_without_lineage(
    browser: Chromium, keys: dict[str, Key]
) -> None:
    opened(browser, keys["report"].identity, depth="all")
    drawn_again(browser, lambda: browser.find("[name=all_columns]").click())
    assert browser.count(".row.column") == 2 + 2 + 3 + 2 + 2
    assert set(browser.texts(".row.idle + .row-name")) == {"note", "order_id"}
    joined = keys["joined"].identity
    drawn_again(browser, lambda: click(browser, f"[data-toggle='{joined}']"))
    assert browser.count(f"[data-box='{joined}'] .row") == 0, "one table is closed again"


def texts_of_rows(browser: Chromium, box: str) -> list[str]:
    return browser.texts(f"[data-box='{box}'] .row-name")


def test_a_table_of_1485_columns_scrolls_in_its_box_and_has_a_filter(
    browser: Chromium, keys: dict[str, Key]
) -> None:
    wide = keys["wide"].identity
    opened(browser, wide, open=wide)
    assert texts_of_rows(browser, wide) == [f"measure_{number:04d}" for number in range(24)]
    height = browser.find(f"[data-box='{wide}']").get_attribute("data-height")

    drawn_again(browser, lambda: click(browser, f"[data-of='{wide}'][data-page='1']"))
    assert texts_of_rows(browser, wide)[0] == "measure_0023"
    click(browser, f"[data-filter='{wide}']")
    drawn_again(browser, lambda: browser.press("1400"))
    assert texts_of_rows(browser, wide) == ["measure_1400"]
    assert browser.find(f"[data-box='{wide}']").get_attribute("data-height") == height
    assert browser.run("return document.activeElement.value") == "1400", "the field keeps the focus"
    # The line ends at the row now.
    assert browser.count(f".edge[data-source='{browser.find('.row.column').get_attribute('data-id')}']") == 1

    # By keyboard: from the filter to the rows, and beyond the last visible one.
    drawn_again(browser, lambda: browser.press(*[Keys.BACKSPACE] * 4))
    browser.press(Keys.ARROW_DOWN)
    drawn_again(browser, lambda: browser.press(Keys.PAGE_DOWN))
    assert texts_of_rows(browser, wide)[0] == "measure_0023"
    assert browser.run("return document.activeElement.matches('.row')")


# -- Groups --------------------------------------------------------------------------------------------------------------


def test_a_hub_of_300_readers_is_one_box_with_a_list(browser: Chromium, keys: dict[str, Key]) -> None:
    opened(browser, keys["hub"].identity)
    assert boxes(browser) == {"hub", f"{READERS} tables"}
    assert f"{READERS + 1} nodes, 1 edge, {READERS} in 1 group" in browser.find("#summary").text
    click(browser, ".node.group .head")
    assert browser.find("#selected h2").text == f"Group of {READERS} tables downstream of hub_{NAME}.hub"
    browser.find("#group-search").send_keys("reader_12")
    assert browser.texts("#group-list .members li") == [f"hub_{NAME}.reader_12{digit}" for digit in range(10)]
    browser.find("#group-by option[value=owner]").click()
    browser.until(lambda: "team 0: 1" in browser.texts("#group-list strong"), "not divided by owner")
    assert browser.texts("#group-list strong") == [
        "team 0: 1",
        "team 1: 2",
        "team 2: 2",
        "team 3: 2",
        "team 4: 1",
        "team 5: 1",
        "team 6: 1",
    ]
    drawn_again(browser, lambda: browser.find("#group-list [aria-label='Show these: team 1']").click())
    assert boxes(browser) == {"hub", "298 tables", "reader_120", "reader_127"}


# -- Filters -------------------------------------------------------------------------------------------------------------


def added(browser: Chromium, field: str, sign: str, value: str) -> None:
    browser.run("document.getElementById('filters').open = true")
    browser.find(f".add-filter [name=field] option[value={field}]").click()
    browser.find(f".add-filter [name=sign] option[value={sign}]").click()
    browser.find(".add-filter [name=value]").send_keys(value)
    drawn_again(browser, lambda: browser.find(".add-filter button").click())


def test_filtered_nodes_are_contracted_with_their_count(browser: Chromium, keys: dict[str, Key]) -> None:
    opened(browser, keys["report"].identity, depth="all")
    added(browser, "owner", "not", "etl")
    assert boxes(browser) == {"orders", "visits", "report"}
    assert browser.texts(".edge .filtered-between .count") == ["2", "2"], "joined and daily"
    assert "2 nodes filtered out" in browser.find("#filtered-count").text
    drawn_again(browser, lambda: browser.find(".in-force button").click())
    assert browser.count(".edge .filtered-between") == 0


@pytest.mark.parametrize(
    ("field", "sign", "value", "left"),
    [
        ("tag", "is", f"web-{NAME}", {"visits", "report"}),
        ("owner", "is", "crm", {"orders", "report"}),
        ("engine", "is", "spark", {"orders", "visits", "joined", "report"}),
        ("older", "is", "30", {"orders", "visits", "report"}),
        ("older", "not", "30", {"joined", "daily", "report"}),
        ("database", "not", "nothing", {"orders", "visits", "joined", "daily", "report"}),
    ],
    # The tag has a random part, and the processes of a run must agree on the names of tests.
    ids=["tag", "owner", "engine", "not run lately", "run lately", "database"],
)
def test_a_filter_keeps_or_excludes_nodes(
    browser: Chromium, keys: dict[str, Key], field: str, sign: str, value: str, left: set[str]
) -> None:
    opened(browser, keys["report"].identity, depth="all")
    added(browser, field, sign, value)
    assert boxes(browser) == left


# -- The view ------------------------------------------------------------------------------------------------------------


def test_the_map_and_the_full_screen_show_where_one_is(browser: Chromium, keys: dict[str, Key]) -> None:
    opened(browser, keys["report"].identity, depth="all")
    assert not browser.find("#minimap").is_displayed(), "all of the diagram is visible"
    width = browser.run("return document.querySelector('.scene').getBoundingClientRect().width")
    whole = browser.run("return document.getElementById('picture').getBoundingClientRect().width")
    assert width > whole / 2, "half of the canvas is empty"
    for _ in range(6):
        browser.find("#nearer").click()
    assert browser.find("#minimap").is_displayed()
    assert browser.count("#minimap .small-box") == 5
    before = browser.find(".scene").get_attribute("transform")
    click(browser, "#minimap")
    assert browser.find(".scene").get_attribute("transform") != before
    browser.find("#full-screen").click()
    browser.until(
        lambda: browser.run(
            "return document.getElementById('diagram').getBoundingClientRect().height >= innerHeight - 1"
        ),
        "it does not fill the window",
    )
    browser.find("#full-screen").click()
    browser.until(lambda: browser.count(".diagram.full") == 0, "it stays full")


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_all_of_the_diagram_and_its_buttons_are_in_the_window_beside_open_filters(
    browser: Chromium, keys: dict[str, Key], size: tuple[int, int]
) -> None:
    browser.size(*size)
    opened(browser, keys["report"].identity, depth="all")
    # A telephone has no room for both, and at first shows the surroundings of the start.
    if size == SIZES["telephone"]:
        browser.find("#fit-all").click()
    else:
        browser.find("#filters summary").click()
    browser.until(lambda: visible(browser, ".node") == 5, "a part is outside")
    assert browser.run("return scrollY") == 0
    buttons = browser.find(".tools").rect
    assert buttons["y"] + buttons["height"] <= size[1]
    assert browser.find(".stage").rect["y"] < size[1] / 2


def test_a_telephone_shows_the_start_large_enough_to_be_read_and_then_everything(
    browser: Chromium, keys: dict[str, Key]
) -> None:
    browser.size(*SIZES["telephone"])
    opened(browser, keys["report"].identity, depth="all")
    assert visible(browser, ".node.start") == 1
    assert name_height_px(browser) >= 9
    browser.find("#fit-all").click()
    browser.until(lambda: visible(browser, ".node") == 5, "a part is outside")
    assert name_height_px(browser) < 9


def test_names_too_small_to_be_read_are_not_drawn_and_come_back(
    browser: Chromium, keys: dict[str, Key]
) -> None:
    opened(browser, keys["report"].identity, depth="all")
    browser.find("#fit-all").click()
    assert name_height_px(browser) >= 4
    for _ in range(12):
        browser.find("#farther").click()
    assert name_height_px(browser) == 0
    assert browser.find(".node.start .frame").is_displayed()
    browser.find("#fit-all").click()
    assert name_height_px(browser) >= 4


def name_height_px(browser: Chromium) -> float:
    """Height on the screen of the name of the start; 0 if it is not drawn."""
    return float(
        browser.run("return document.querySelector('.node.start .name').getBoundingClientRect().height")
    )


# -- A table, and starts -------------------------------------------------------------------------------------------------


def test_by_keyboard_alone_a_column_is_pinned_its_statement_opened_and_the_table_saved(
    browser: Chromium, keys: dict[str, Key]
) -> None:
    opened(browser, keys["report"].identity, depth="all")
    browser.press("/")
    browser.press("report.revenue")
    drawn_again(browser, lambda: browser.press(Keys.ENTER))
    browser.press(Keys.ESCAPE)
    tab_to(browser, ".row.selected")
    browser.press(Keys.ENTER)
    assert lit(browser) == {named("report.revenue")}
    browser.until(lambda: browser.count("#path .steps summary") == 3, "no statements")
    tab_to(browser, "#path .steps summary")
    browser.press(Keys.ENTER)
    opened_text = browser.find("#path .steps details[open] .query")
    assert opened_text.text == "insert into joined select o.id, o.amount, v.page from orders o join visits v"
    tab_to(browser, "#save-csv")
    browser.press(Keys.ENTER)
    file = saved(browser, "lineage-report.csv")
    rows = list(csv.DictReader(file.read_text("utf-8-sig").splitlines()))
    assert {row["from"]: row["to"] for row in rows if row["expression"] == DUPLICATING_JOIN} == {
        named("orders.amount"): named("joined.amount")
    }
    tab_to(browser, "#save-jsonl")
    browser.press(Keys.ENTER)
    lines = saved(browser, "lineage-report.jsonl").read_text().splitlines()
    assert len([each for each in lines if json.loads(each)["kind"] == "edge"]) == len(
        [each for each in rows if each["kind"] == "edge"]
    )
    # Back to the steps: the page of the statement.
    tab_to(browser, "#path .steps a", back=True)
    browser.press(Keys.ENTER)
    browser.until(lambda: "/details?entity=" in address(browser), "the statement's page is not opened")
    assert "insert into report select revenue from daily" in browser.find("#text").text


def tab_to(browser: Chromium, selector: str, *, back: bool = False) -> None:
    """Press the Tab key, or Shift+Tab, until an element that matches is focused."""
    for _ in range(80):
        if browser.run("return document.activeElement.matches(arguments[0])", selector):
            return
        if back:
            ActionChains(browser.driver).key_down(Keys.SHIFT).send_keys(Keys.TAB).key_up(Keys.SHIFT).perform()
        else:
            browser.press(Keys.TAB)
    pytest.fail(f"the Tab key does not lead to {selector}")


def saved(browser: Chromium, name: str) -> Path:
    browser.until(lambda: list(browser.downloads.glob(name)), f"{name} is not saved")
    time.sleep(0.2)
    [file] = browser.downloads.glob(name)
    return file


def test_a_database_and_a_tag_are_one_box_at_first(browser: Chromium, keys: dict[str, Key]) -> None:
    opened(browser, f"d_{NAME}")
    assert boxes(browser) == {"5 starts"}
    opened(browser, f"tag:web-{NAME}")
    assert boxes(browser) == {"visits", "joined"}, "one entity is drawn as itself"
    opened(browser, f"tag:pii-{NAME}", direction="downstream")
    assert boxes(browser) == {"hub", *READERS_OF_EMAIL}


# -- Accessibility -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_no_state_of_the_diagram_has_an_accessibility_error_or_is_too_wide(
    browser: Chromium, keys: dict[str, Key], size: tuple[int, int], scheme: str
) -> None:
    browser.size(*size)
    browser.prefer(prefers_color_scheme=scheme)
    wide, report, hub = (keys[each].identity for each in ("wide", "report", "hub"))
    found = []
    for entity, view, act in (
        (wide, {"open": wide}, finds_nothing),
        (report, {"depth": "all", "all_columns": "true", "filter": "owner:not:crm"}, opens_the_list_of_edges),
        (keys["daily"].identity, {"depth": "all", "pinned": report, "only": "true"}, fills_the_window),
        (f"{named('report')}.revenue", {"depth": "all", "pinned": revenue(keys)}, opens_a_statement),
        (hub, {"selected": f"group:{hub}:downstream:TABLE"}, divides_the_group),
        (f"d_{NAME}", {}, lambda _: None),
    ):
        opened(browser, entity, **view)
        act(browser)
        found += barriers(browser)
        assert browser.run("return document.documentElement.scrollWidth") <= size[0]
    browser.open(f"/lineage?entity={report}&depth=all&form=list")
    browser.find("#edges")
    found += barriers(browser)
    assert browser.run("return document.documentElement.scrollWidth") <= size[0]
    assert found == []


def revenue(keys: dict[str, Key]) -> str:
    return column_key(keys["report"], "revenue").identity


def finds_nothing(browser: Chromium) -> None:
    browser.press("/")
    browser.find("#find input").send_keys("nothing has this name")
    browser.until(lambda: browser.find("#find output").text == "nothing found", "it is still searching")


def opens_the_list_of_edges(browser: Chromium) -> None:
    browser.find("#list summary").click()
    browser.until(lambda: browser.count("#edges tbody tr") > 1, "no list")


def fills_the_window(browser: Chromium) -> None:
    browser.find("#full-screen").click()
    browser.until(lambda: browser.count(".diagram.full"), "it does not fill the window")


def opens_a_statement(browser: Chromium) -> None:
    browser.until(lambda: browser.count("#path .steps summary"), "no statements")
    browser.find("#path .steps summary").click()


def divides_the_group(browser: Chromium) -> None:
    browser.find("#group-by option[value=owner]").click()
    browser.until(lambda: browser.count("#group-list strong") == 7, "not divided")
