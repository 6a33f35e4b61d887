"""The diagram in a real browser: its contents, switches and keys, and markup in names, which has no effect."""

from __future__ import annotations

import itertools
import json
import re
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from navlin.index.solr.solr import Solr
from navlin.model.keys import EntityType, Key, RelationType
from tests.support.chromium import Chromium
from tests.support.query_estate import HDFS, IMPALA, World

pytestmark = pytest.mark.services

EVIL = "</text></svg><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\u202egnp"
COLUMNS = ("code", "salary")


@pytest.fixture
def browser(chromium: Chromium) -> Chromium:
    return chromium


@pytest.fixture(autouse=True)
def nothing_goes_wrong(browser: Chromium) -> Iterator[None]:
    """Check after each test that the browser reported no error, no alert and no policy violation."""
    browser.logged()
    yield
    browser.prefer(prefers_color_scheme="light")
    browser.size(1400, 900)
    assert browser.wrong() == []


@pytest.fixture
def world(solr: Solr) -> World:
    return World(solr, f"picture-{uuid4().hex[:8]}")


@pytest.fixture
def merge(world: World) -> Key:
    """The example of "Generating Lineage Diagrams". temp_sample_07 was extracted and dropped; temp_sample_08 was never
    extracted.
    """
    world.database = f"d{uuid4().hex[:8]}"
    samples = [world.table(f"sample_{number}", *COLUMNS) for number in ("07", "08")]
    temps = [world.table("temp_sample_07", *COLUMNS, deleted=True), world.named("temp_sample_08")]
    merged = world.table("sample_merge", *COLUMNS)
    for number, sample, temp in zip(("07", "08"), samples, temps, strict=True):
        parts = {f"temp_sample_{number}.{each}": [f"sample_{number}.{each}"] for each in COLUMNS}
        world.operation(
            f"create table temp_sample_{number} as table sample_{number}",
            [sample],
            [temp],
            parts=parts,
        )
        parts = {f"sample_merge.{each}": [f"temp_sample_{number}.{each}"] for each in COLUMNS}
        world.operation(f"insert into sample_merge table temp_sample_{number}", [temp], [merged], parts=parts)
    world.index()
    return merged


def drawn(browser: Chromium, key: Key | str, **view: object) -> None:
    """Open the diagram of an entity, and wait until it is drawn."""
    given = {"entity": key if isinstance(key, str) else key.identity, **view}
    browser.open("/lineage?" + "&".join(f"{name}={value}" for name, value in given.items()))
    ready(browser)


def ready(browser: Chromium, state: str = "ready") -> None:
    browser.until(lambda: browser.find("#diagram").get_attribute("data-state") == state, f"not {state}")


def acted(browser: Chromium, act: object) -> None:
    """Call ``act``, which sends a new request, and wait for the new diagram."""
    browser.run("document.getElementById('diagram').dataset.state = 'before'")
    act()  # type: ignore[operator]  # a function
    ready(browser)


def choose(browser: Chromium, name: str, value: str) -> None:
    browser.find(f"[name={name}] option[value={value}]").click()


def names(browser: Chromium) -> set[str]:
    return set(browser.texts(".node > .label .name"))


def flows(browser: Chromium) -> set[str]:
    """Edges between boxes or rows, by their labels: ``a -> b`` for data flow, ``a ~> b`` for control flow."""
    return set(
        browser.run(
            """
            const text = (id) => {
              const at = document.getElementById(`node-${id}`);
              return (at.matches('.row') ? at.nextElementSibling : at.querySelector('.name')).textContent;
            };
            const signs = {DATA_FLOW: '->', CONTROL_FLOW: '~>', LOGICAL_PHYSICAL: '='};
            return [...document.querySelectorAll('.edge[data-edge]')].map((each) =>
              `${text(each.dataset.source)} ${signs[each.dataset.type]} ${text(each.dataset.target)}`);
            """
        )
    )


def box(browser: Chromium, name: str) -> str:
    """The id of the node whose box has this name."""
    script = """return [...document.querySelectorAll('.node')]
      .find((each) => each.querySelector('.name').textContent === arguments[0])?.dataset.box"""
    identity = browser.run(script, name)
    assert identity, f"no {name} among {names(browser)}"
    return str(identity)


def left_of(browser: Chromium, one: str, other: str) -> bool:
    places = [browser.find(f"#node-{box(browser, name)} .frame").rect for name in (one, other)]
    return bool(places[0]["x"] + places[0]["width"] < places[1]["x"])


# -- The example, view by view -------------------------------------------------------------------------------------------


def test_by_default_sample_merge_comes_from_sample_07(browser: Chromium, merge: Key) -> None:
    drawn(browser, merge)
    assert names(browser) == {"sample_07", "sample_merge"}
    assert flows(browser) == {"sample_07 -> sample_merge"}
    assert left_of(browser, "sample_07", "sample_merge")
    assert browser.count(".node.start") == 1
    assert "1 reference to an entity that was never extracted" in browser.find("#notes").text


def test_with_deleted_the_temporary_table_appears_struck_through(browser: Chromium, merge: Key) -> None:
    drawn(browser, merge, deleted="true", depth="all")
    assert flows(browser) == {"sample_07 -> temp_sample_07", "temp_sample_07 -> sample_merge"}
    assert left_of(browser, "sample_07", "temp_sample_07") and left_of(
        browser, "temp_sample_07", "sample_merge"
    )
    (deleted,) = browser.all(".node.deleted > .label .name")
    assert deleted.text == "temp_sample_07"
    assert "line-through" in deleted.value_of_css_property("text-decoration")


def test_with_operations_both_inserts_appear_and_one_lacks_its_input(browser: Chromium, merge: Key) -> None:
    drawn(browser, merge, deleted="true", operations="true", depth="all")
    operations = browser.texts(".node.type-operation > .label .name")
    assert len(operations) == 3
    lone = browser.run(
        """const into = new Set([...document.querySelectorAll('.edge[data-edge]')].map((each) => each.dataset.target));
        return [...document.querySelectorAll('.node.type-operation')].filter((each) => !into.has(each.dataset.box))
          .map((each) => each.dataset.box)"""
    )
    assert len(lone) == 1
    browser.find(f"#node-{lone[0]} .head").click()
    text = browser.find("#selected pre.query").text
    assert text == "insert into sample_merge table temp_sample_08"


def test_with_unlinked_an_uncaptured_table_is_a_placeholder(browser: Chromium, merge: Key) -> None:
    drawn(browser, merge, unlinked="true", depth="all")
    (placeholder,) = browser.all(".node.placeholder > .head")
    assert "placeholder" in placeholder.get_attribute("aria-label")
    assert "placeholder" in browser.texts(".node.placeholder .place")[0]
    placeholder.click()
    assert "queryText" in browser.find("#selected a[href*=search]").get_attribute("href")


# -- Columns -------------------------------------------------------------------------------------------------------------


def test_columns_are_expanded_one_table_at_a_time(browser: Chromium, merge: Key) -> None:
    drawn(browser, merge)
    toggle = f"#node-{merge.identity} .toggle"
    assert browser.find(toggle).get_attribute("aria-expanded") == "false"
    acted(browser, browser.find(toggle).click)
    assert browser.texts(f"#node-{merge.identity} .row-name") == ["code", "salary"]
    assert browser.count(".column") == 2
    assert flows(browser) == {"sample_07 -> code", "sample_07 -> salary"}
    frame, row = (browser.find(f"#node-{merge.identity} {each}").rect for each in (".frame", ".row"))
    assert frame["x"] <= row["x"] and frame["y"] < row["y"], "the table is a box around its columns"
    assert frame["y"] + frame["height"] > row["y"] + row["height"]

    acted(browser, browser.find(f"#node-{box(browser, 'sample_07')} .toggle").click)
    assert flows(browser) == {"code -> code", "salary -> salary"}
    acted(browser, browser.find(toggle).click)
    assert flows(browser) == {"code -> sample_merge", "salary -> sample_merge"}


def lit(browser: Chromium) -> tuple[set[str], list[str], int]:
    assert browser.count(".picture.dimming") == 1
    boxes = set(browser.texts(".node.lit > .label .name"))
    return boxes, browser.texts(".row.lit + .row-name"), browser.count(".edge.lit")


def test_pointing_at_a_column_highlights_its_whole_path(browser: Chromium, merge: Key) -> None:
    drawn(browser, merge, deleted="true", depth="all")
    for name in ("sample_merge", "sample_07"):
        acted(browser, browser.find(f"#node-{box(browser, name)} .toggle").click)
    column = browser.find(f"#node-{merge.identity} .row")
    browser.hover(column)
    # temp_sample_07 is collapsed, but the highlighted path still leads through it.
    assert lit(browser) == ({"sample_07", "temp_sample_07", "sample_merge"}, ["code", "code"], 2)
    dimmed = browser.find(f"#node-{merge.identity} .row:not(.lit)")
    browser.until(lambda: float(dimmed.value_of_css_property("opacity")) < 0.6, "the rest is not dimmed")
    assert browser.find("#whole-name").text == f"{world_of(merge)}.sample_merge.code"
    browser.hover(browser.find("#summary"))
    assert browser.count(".picture.dimming") == 0

    browser.run("arguments[0].focus()", column)
    assert lit(browser)[1] == ["code", "code"]


def world_of(key: Key) -> str:
    assert key.parent is not None
    return key.parent.name


def test_a_diagram_may_start_at_a_column(browser: Chromium, merge: Key) -> None:
    drawn(browser, f"{world_of(merge)}.sample_merge.salary", depth="all")
    assert flows(browser) == {"salary -> salary"}
    assert names(browser) == {"sample_merge", "sample_07"}
    assert browser.count(".row.start") == 1


# -- Placement -----------------------------------------------------------------------------------------------------------


def test_only_control_flow_is_dashed(browser: Chromium, world: World) -> None:
    a, b, lookup = world.table("a"), world.table("b"), world.table("lookup")
    world.operation("b from a where lookup", [a], [b], steered_by=[lookup])
    world.index()
    drawn(browser, b)
    assert flows(browser) == {"a -> b"}
    switch = browser.find("[name=control_flow]")
    acted(browser, switch.click)
    assert flows(browser) == {"a -> b", "lookup ~> b"}
    dashes = [
        browser.find(f".edge.{kind} .way").value_of_css_property("stroke-dasharray")
        for kind in ("data-flow", "control-flow")
    ]
    assert dashes[0] == "none" and dashes[1] != "none"
    assert "control_flow=true" in browser.driver.current_url


def test_an_input_that_is_also_an_output_has_two_arrows_to_its_operation(
    browser: Chromium, world: World
) -> None:
    a, b = world.table("a"), world.table("b")
    world.operation("merge into a", [a, b], [a])
    world.index()
    drawn(browser, a, operations="true", depth="2")
    operation = browser.find(".node.type-operation").get_attribute("data-box")
    merge = "merge into a → db.a"
    assert flows(browser) == {f"a -> {merge}", f"{merge} -> a", f"b -> {merge}"}
    assert browser.count(".edge.beside .tip") == 2
    one, other = (
        browser.find(f"#node-{a.identity} .frame").rect,
        browser.find(f"#node-{operation} .frame").rect,
    )
    assert one["x"] < other["x"] + other["width"] and other["x"] < one["x"] + one["width"], "in one column"

    acted(browser, browser.find("[name=operations]").click)
    assert browser.count(".edge.loop .tip") == 1, "what flows into itself"


def test_a_greater_depth_is_fitted_into_the_view(browser: Chromium, world: World) -> None:
    chain = [world.table(f"step_{number}") for number in range(5)]
    for source, target in itertools.pairwise(chain):
        world.operation(f"{target.name} from {source.name}", [source], [target])
    world.index()
    drawn(browser, chain[0], direction="downstream")
    browser.run("document.getElementById('diagram').scrollIntoView()")

    acted(browser, lambda: choose(browser, "depth", "all"))

    picture = browser.find("#diagram svg").rect
    right = [browser.find(f"#node-{each.identity} .frame").rect for each in chain]
    assert max(each["x"] + each["width"] for each in right) <= picture["x"] + picture["width"]


def test_types_and_sources_are_distinguished_by_shape(browser: Chromium, world: World) -> None:
    table, view, path = world.table("a"), world.table("v", kind=EntityType.VIEW), world.path("/data/x")
    world.operation("v from a", [table, path], [view])
    world.index()
    drawn(browser, view, operations="true", depth="all")
    shapes = {
        kind: browser.find(f".node.type-{kind} .type-icon").get_attribute("d")
        for kind in ("table", "view", "directory", "operation")
    }
    assert len(set(shapes.values())) == 4
    sources = {
        each: browser.find(f".node.source-{each} .source-icon").get_attribute("d")
        for each in ("hive", "hdfs", "impala")
    }
    assert len(set(sources.values())) == 3
    assert HDFS.lower() in sources


def test_executions_are_listed_in_their_operation_the_latest_or_all(browser: Chromium, world: World) -> None:
    a, b = world.table("a"), world.table("b")
    operation = world.operation("b from a", [a], [b])
    for number in range(12):
        world.execution(operation, f"run-{number}")
    world.index()
    drawn(browser, operation)
    assert browser.count(f"#node-{operation.identity} .row.operation-execution") == 10
    assert "only the latest executions are shown" in browser.find("#notes").text
    acted(browser, browser.find("[name=all_executions]").click)
    assert browser.count(f"#node-{operation.identity} .row.operation-execution") == 12


def test_a_tables_location_is_drawn_from_the_path_only(browser: Chromium, world: World) -> None:
    table, path = world.table("a"), world.path("/warehouse/a")
    world.located(table, path)
    world.index()
    drawn(browser, path)
    assert flows(browser) == {"a = a"}
    assert browser.count(".edge.logical-physical .tip") == 0
    drawn(browser, table)
    assert flows(browser) == set()
    assert "No lineage recorded" in browser.find("#notes").text


def test_databases_are_boxes_around_their_tables(browser: Chromium, world: World) -> None:
    first, second = f"one{uuid4().hex[:6]}", f"two{uuid4().hex[:6]}"
    a, b, c = (
        world.table("a", database=first),
        world.table("b", database=first),
        world.table("c", database=second),
    )
    world.operation("b from a", [a], [b])
    world.operation("c from b", [b], [c])
    world.index()
    drawn(browser, b)
    assert browser.count(".database") == 0
    acted(browser, browser.find("[name=databases]").click)
    assert sorted(browser.texts(".database-name")) == [first, second]
    frame = browser.find(f'.database[data-name="{first}"] rect').rect
    for key in (a, b):
        inner = browser.find(f"#node-{key.identity} .frame").rect
        assert frame["x"] < inner["x"] and inner["x"] + inner["width"] < frame["x"] + frame["width"]


# -- Expanding -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def chain(world: World) -> dict[str, Key]:
    keys = {name: world.table(name) for name in "abcdefg"}
    for source, target in zip("abcdef", "bcdefg", strict=True):
        world.operation(f"{target} from {source}", [keys[source]], [keys[target]])
    world.index()
    return keys


def test_the_diagram_expands_by_hop_by_node_and_to_everything(
    browser: Chromium, chain: dict[str, Key]
) -> None:
    drawn(browser, chain["d"])
    assert names(browser) == {"c", "d", "e"}
    arrows = browser.run(
        "return [...document.querySelectorAll('.hop')].map((each) => [each.dataset.hop, each.dataset.way])"
    )
    assert sorted(arrows) == sorted([[chain["c"].identity, "upstream"], [chain["e"].identity, "downstream"]])
    acted(browser, browser.find(f"#node-{chain['c'].identity} .hop.upstream").click)
    assert names(browser) == {"b", "c", "d", "e"}
    acted(browser, browser.find(f"#node-{chain['b'].identity} .hop.upstream").click)
    assert names(browser) == {"a", "b", "c", "d", "e"}
    sent = browser.driver.current_url

    acted(browser, browser.driver.back)
    assert names(browser) == {"b", "c", "d", "e"}
    acted(browser, browser.driver.forward)
    assert names(browser) == {"a", "b", "c", "d", "e"}
    browser.open("/search")
    browser.driver.get(sent)
    ready(browser)
    assert names(browser) == {"a", "b", "c", "d", "e"}, "the address has the whole view"

    choose(browser, "depth", "all")
    browser.until(lambda: names(browser) == set("abcdefg"), "not all")
    choose(browser, "direction", "downstream")
    browser.until(lambda: names(browser) == set("defg"), "not downstream alone")


def test_a_group_opens_and_a_node_beyond_the_limit_links_to_its_own_diagram(
    browser: Chromium, world: World
) -> None:
    hub = world.table("hub")
    fans = [world.table(f"fan{number:03}") for number in range(420)]
    for fan in fans:
        world.operation(f"fill {fan.name}", [hub], [fan])
    tail = world.table("tail")
    world.operation("tail", fans[:2], [tail])
    world.index()
    drawn(browser, hub, depth="all")
    assert names(browser) == {"hub", "399 tables"}
    (hidden,) = browser.all(".hidden-node")
    assert hidden.get_attribute("data-start") == hub.identity
    assert hidden.get_attribute("data-way") == "downstream"
    assert hidden.get_attribute("data-reason") == "nodes"
    browser.find(".node.group .head").click()
    acted(browser, browser.find("#group-list .show-these").click)
    assert browser.count(".node:not(.group)") == 1 + 100
    assert "299 tables" in names(browser)
    # The tables that are drawn now have their own marks of more: each starts another diagram.
    start = fans[0].identity
    hidden = browser.find(f".hidden-node[data-start='{start}']")
    browser.find(f"#node-{start} .head").click()
    hidden.click()
    browser.until(lambda: f"entity={start}" in browser.driver.current_url, "no diagram of its own")
    ready(browser)
    assert browser.count(f"#node-{start}.start") == 1
    assert names(browser) >= {"fan000", "tail"}


def test_loading_and_failure_are_shown_and_the_page_stays_responsive(
    browser: Chromium, chain: dict[str, Key]
) -> None:
    browser.open("/lineage?entity=nothing.like.this")
    ready(browser, "failed")
    assert 'no entity named "nothing.like.this"' in browser.find("#problem").text
    assert browser.find("#problem").get_attribute("role") == "alert"
    # Never respond to this request: the page must show that it is loading, and accept another request.
    browser.run(
        """window.kept = window.fetch;
        window.fetch = (address, how) => new Promise((resolve, reject) =>
          how.signal?.addEventListener('abort', () => reject(new DOMException('', 'AbortError'))));"""
    )
    entity = browser.find("#entity")
    entity.clear()
    entity.send_keys(chain["d"].identity, "\n")
    ready(browser, "asking")
    assert browser.find("#state").text == "Loading…"
    assert browser.find("#diagram").get_attribute("aria-busy") == "true"
    browser.run("window.fetch = window.kept")
    browser.find(".switches .box button").click()
    ready(browser)
    assert names(browser) == {"c", "d", "e"}
    # Without a server, the page must say so and offer a button to retry.
    browser.run("window.fetch = () => Promise.reject(new TypeError('network'))")
    browser.find("[name=deleted]").click()
    ready(browser, "failed")
    assert "navlin does not answer" in browser.find("#problem").text
    browser.run("window.fetch = window.kept")
    acted(browser, browser.find("#again").click)
    assert names(browser) == {"c", "d", "e"}


def test_a_newer_view_cancels_an_older_one(browser: Chromium, chain: dict[str, Key]) -> None:
    drawn(browser, chain["d"])
    browser.run(
        """for (const name of ['operations', 'deleted', 'control_flow', 'operations']) {
          const box = document.querySelector(`[name=${name}]`);
          box.checked = !box.checked;
          box.dispatchEvent(new Event('change', {bubbles: true}));
        }"""
    )
    ready(browser)
    time.sleep(0.5)
    assert names(browser) == {"c", "d", "e"}
    assert (
        "operations" not in browser.driver.current_url and "control_flow=true" in browser.driver.current_url
    )


def test_every_random_graph_is_drawn_completely(browser: Chromium, merge: Key) -> None:
    drawn(browser, merge)
    script = (Path(__file__).parents[1] / "support" / "random_graphs.js").read_text()
    main = browser.find("script[src*='lineage/main.js']").get_attribute("src")
    browser.driver.set_script_timeout(300)
    assert browser.driver.execute_async_script(script, main.rpartition("/")[0], 7, 100) == []


# -- The details panel ---------------------------------------------------------------------------------------------------


def test_selecting_shows_details_and_the_statement_of_an_edge(browser: Chromium, merge: Key) -> None:
    drawn(browser, merge)
    browser.find(f"#node-{merge.identity} .head").click()
    assert browser.find("#selected h2").text.endswith(".sample_merge")
    browser.until(lambda: browser.all("#selected dl.fields dt"), "no facts")
    assert browser.count(".node.selected") == 1

    browser.run(
        "document.querySelector('.edge[data-edge] .touched').dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )
    browser.until(lambda: len(browser.texts("#selected pre.query")) == 2, "no texts")
    assert browser.texts("#selected pre.query") == [
        "create table temp_sample_07 as table sample_07",
        "insert into sample_merge table temp_sample_07",
    ]
    assert "deleted" in browser.find("#selected .via").text
    sent = browser.driver.current_url
    assert "selected=DATA_FLOW" in sent
    browser.driver.back()
    browser.until(lambda: browser.count(".node.selected") == 1, "going back selects what was selected")
    browser.driver.get(sent)
    ready(browser)
    assert browser.count(".edge.selected") == 1


def test_the_list_equals_the_diagram(browser: Chromium, merge: Key) -> None:
    drawn(browser, merge, deleted="true", depth="all")
    browser.find("#list summary").click()
    # Browsers report that a list was opened later than they open it.
    browser.until(lambda: browser.texts("#edges tbody tr") != [], "the list is empty")
    rows = [re.sub(r"\s+", " ", each) for each in browser.texts("#edges tbody tr")]
    assert len(rows) == 2 == browser.count(".edge[data-edge]")
    assert browser.find("#edges caption").text == "3 nodes, 2 edges"
    browser.find("#edges tbody td:nth-child(2) button").click()
    assert browser.count(".edge.selected") == 1


# -- Keyboard ------------------------------------------------------------------------------------------------------------


def focused(browser: Chromium) -> str:
    """The label of the focused element, or its id."""
    script = """const at = document.activeElement;
      const words = at.matches('.head') ? at.nextElementSibling.querySelector('.name') : at.nextElementSibling;
      return at.matches('.head, .row') ? words.textContent : at.id"""
    return str(browser.run(script))


def test_everything_is_reachable_by_keyboard(browser: Chromium, merge: Key) -> None:
    from selenium.webdriver.common.keys import Keys

    drawn(browser, merge)
    browser.run("document.querySelector('[name=databases]').focus()")
    for between in ("[name=all_columns]", "#filters summary"):
        browser.press(Keys.TAB)
        assert browser.run("return document.activeElement.matches(arguments[0])", between)
    browser.press(Keys.TAB)
    assert focused(browser) == "sample_merge"
    assert browser.run("return document.activeElement.matches('.head')"), "the picture itself is no stop"
    assert browser.run("return document.activeElement.matches(':focus-visible')")
    ring = browser.find(f"#node-{merge.identity} .head .ground").value_of_css_property("stroke-width")
    assert float(ring.removesuffix("px")) >= 3
    acted(browser, lambda: browser.press(" "))
    browser.press(Keys.ARROW_DOWN)
    assert focused(browser) == "code"
    browser.press(Keys.ARROW_DOWN)
    assert focused(browser) == "salary"
    browser.press(Keys.ARROW_LEFT)
    assert focused(browser) == "sample_07"
    browser.press(Keys.ENTER)
    assert browser.find("#selected h2").text.endswith(".sample_07")
    acted(browser, lambda: browser.press(" "))
    assert focused(browser) == "sample_07", "what has the focus keeps it"
    browser.press(Keys.ARROW_RIGHT)
    assert focused(browser) in ("sample_07", "sample_merge", "code", "salary")
    scale = scale_of(browser)
    browser.press("-")
    assert scale_of(browser) < scale
    browser.press("+", "+")
    assert scale_of(browser) > scale
    browser.press("0")
    browser.press(Keys.ESCAPE)
    assert "Select a node" in browser.find("#selected").text
    browser.press(Keys.TAB)
    assert focused(browser) == "nearer", "the next stop is behind the picture"


def scale_of(browser: Chromium) -> float:
    transform = browser.find(".scene").get_attribute("transform")
    return float(transform.rpartition("scale(")[2].rstrip(")"))


def test_a_hop_is_expanded_by_keyboard(browser: Chromium, chain: dict[str, Key]) -> None:
    from selenium.webdriver.common.keys import Keys

    drawn(browser, chain["d"])
    browser.run("document.querySelector('.node.start .head').focus()")
    browser.press(Keys.ARROW_LEFT)
    assert focused(browser) == "c"
    acted(browser, lambda: browser.press("<"))
    assert names(browser) == {"b", "c", "d", "e"}
    browser.press(Keys.ARROW_LEFT)
    assert focused(browser) == "b"


# -- Appearance ----------------------------------------------------------------------------------------------------------


def test_long_names_are_shortened_and_shown_whole_on_hover(browser: Chromium, world: World) -> None:
    long = "very_" * 20 + "long"
    a, b = world.table(long), world.table("b")
    world.operation("b from a", [a], [b])
    world.index()
    drawn(browser, b)
    (cut,) = [name for name in names(browser) if "…" in name]
    assert cut.startswith("very_") and cut.endswith("long")
    # A small diagram is enlarged, so the width on the screen says nothing.
    assert int(browser.find(f"#node-{a.identity}").get_attribute("data-width")) <= 230 + 80
    browser.hover(browser.find(f"#node-{a.identity} .head"))
    assert browser.find("#whole-name").text == f"db.{long}"


def test_the_diagram_adapts_to_dark_mode_and_narrow_windows(
    browser: Chromium, merge: Key, tmp_path: Path
) -> None:
    drawn(browser, merge, deleted="true", depth="all")
    light = browser.find("#picture").value_of_css_property("background-color")
    browser.prefer(prefers_color_scheme="dark")
    dark = browser.find("#picture").value_of_css_property("background-color")
    assert light != dark
    browser.size(360, 740)
    drawn(browser, merge, deleted="true", depth="all")
    assert browser.run("return document.documentElement.scrollWidth") <= 360
    stage = browser.find(".stage").rect
    start = browser.find(f"#node-{merge.identity} .frame").rect
    assert stage["x"] <= start["x"] and start["x"] + start["width"] <= stage["x"] + stage["width"]


def test_reduced_motion_is_respected(browser: Chromium, merge: Key) -> None:
    drawn(browser, merge)
    script = "return getComputedStyle(document.querySelector('.node')).transitionDuration"
    browser.prefer(prefers_reduced_motion="reduce")
    assert browser.run(script) == "0s"


# -- Files, and names with markup --------------------------------------------------------------------------------------


@pytest.fixture
def evil(world: World) -> Key:
    world.database = f"d{uuid4().hex[:6]}"
    a, b, c = world.table(EVIL, EVIL), world.table("b" + EVIL, EVIL), world.named("never" + EVIL)
    world.operation(f"insert {EVIL}", [a, c], [b], parts={f"b{EVIL}.{EVIL}": [f"{EVIL}.{EVIL}"]})
    world.path("/" + EVIL)
    world.relate(RelationType.DATA_FLOW, world.path("/x" + EVIL), b, writer=IMPALA)
    world.index()
    return b


def saved(browser: Chromium, kind: str) -> Path:
    for old in browser.downloads.glob(f"*.{kind}"):
        old.unlink()
    browser.find(f"#save-{kind}").click()
    return browser.until(lambda: next(browser.downloads.glob(f"*.{kind}"), None), f"no {kind}")  # type: ignore[return-value]


def test_markup_in_names_has_no_effect(browser: Chromium, evil: Key) -> None:
    for view in (
        {},
        {"operations": "true"},
        {"unlinked": "true", "databases": "true"},
        {"open": evil.identity},
    ):
        drawn(browser, evil, depth="all", **view)
        for head in browser.run(
            "return [...document.querySelectorAll('.head')].map((each) => each.dataset.id)"
        ):
            browser.find(f"#node-{head} > .head").click()
            browser.until(lambda: "Asking" not in browser.find("#selected").text, "nothing is shown")
        assert browser.count("#diagram img, #diagram script") == 0
        assert "\u202e" not in browser.find("main").text
    browser.run("document.getElementById('list').open = true")
    assert "<script>alert(1)</script>" in browser.find("#edges").text
    assert browser.wrong() == []


def test_the_svg_is_well_formed_with_colours_and_escaped_names(browser: Chromium, evil: Key) -> None:
    drawn(browser, evil, depth="all", open=evil.identity)
    file = saved(browser, "svg")
    root = ElementTree.fromstring(file.read_bytes())
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags == {"svg", "g", "rect", "path", "text", "title", "circle"} & tags
    assert "script" not in tags and "img" not in tags
    texts = [element for element in root.iter() if element.tag.endswith("}text")]
    assert any("<script>" in (element.text or "") or "…" in (element.text or "") for element in texts)
    assert all(
        element.get("font-family") and element.get("font-size") and element.get("fill") for element in texts
    )
    assert not [
        name for element in root.iter() for name in element.attrib if name.startswith("on") or "href" in name
    ]


def test_the_png_has_the_diagrams_proportions(browser: Chromium, merge: Key) -> None:
    drawn(browser, merge, deleted="true", depth="all")
    data = saved(browser, "png").read_bytes()
    assert data.startswith(b"\x89PNG")
    width, height = (int.from_bytes(data[at : at + 4]) for at in (16, 20))
    assert width > 2 * height > 100


def test_the_list_replaces_the_diagram_without_javascript(browser: Chromium, merge: Key) -> None:
    browser.scripts(run=False)
    try:
        browser.open(f"/lineage?entity={merge.identity}")
        assert "The diagram needs JavaScript" in browser.find("noscript").text
        browser.find('button[name="form"]').click()
        browser.until(lambda: browser.count("#edges tbody tr") == 1, "no list")
    finally:
        browser.scripts(run=True)
        browser.open("/search")


def test_hues_link_shows_the_diagram(browser: Chromium, merge: Key) -> None:
    browser.open(f"/?view=detailsView&id={merge.identity}&b=1&tab=lineage")
    ready(browser)
    assert names(browser) == {"sample_07", "sample_merge"}
    assert json.loads(json.dumps(browser.driver.current_url)).count(merge.identity) == 1
