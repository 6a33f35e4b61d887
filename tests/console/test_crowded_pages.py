"""No page and no output misleads, even for a crowded estate: users see the sources and targets of every entity under
distinct names, every count is complete, and everything omitted can be reached from there.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from urllib.parse import quote, urlencode

import pytest

from navlin.index.admin.cores import CORES
from navlin.index.solr.solr import Solr
from navlin.solr_server.embedded import EmbeddedSolr
from tests.cli.test_cli import run
from tests.console.test_console import page
from tests.support.chromium import Chromium, started_chromium
from tests.support.crowded_estate import (
    ARABIC,
    CHAIN,
    COLUMNS,
    READERS,
    STATEMENTS,
    CrowdedEstate,
    crowded_estate,
)
from tests.support.http_browser import Browser
from tests.support.readable import misleading_output, misleading_page
from tests.support.visits import shown, wrong

pytestmark = pytest.mark.services

SIZES = {"desk": (1440, 900), "tablet": (1024, 768), "telephone": (390, 844)}
SHAPES = ("hub", "layered", "chain", "ring", "loop", "left", "gone", "long", "arabic")
NIGHTLY = [f"nightly revenue → shop.{name}" for name in STATEMENTS]


BROKEN_WORDS = """
const broken = [];
for (const link of document.querySelectorAll("td a.name")) {
  const range = document.createRange();
  for (const text of [...link.childNodes].filter((each) => each.nodeType === Node.TEXT_NODE)) {
    for (const word of text.data.matchAll(/\\w+?(_|\\b)/g)) {
      range.setStart(text, word.index);
      range.setEnd(text, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].map((each) => each.top));
      if (word[0].length < 12 && lines.size > 1) broken.push(text.data);
    }
  }
}
return broken;
"""
"""The names that have a word of less than 12 characters broken over two lines."""


@pytest.fixture(scope="module")
def crowded(
    private_server: EmbeddedSolr, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[CrowdedEstate]:
    with Solr(private_server.start()) as connected:
        for core in CORES:
            connected.client(core).delete(q="*:*")
            connected.commit(core, soft=True)
        with crowded_estate(connected, tmp_path_factory.mktemp("crowded")) as made:
            yield made


@pytest.fixture(scope="module")
def viewer(crowded: CrowdedEstate) -> Browser:
    browser = Browser(crowded.web)
    browser.log_in("viewer")
    return browser


@pytest.fixture(scope="module")
def window(crowded: CrowdedEstate, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with started_chromium(tmp_path_factory.mktemp("downloads")) as started:
        started.log_in(crowded.web.url, "viewer")
        yield started


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"))))


# -- Completeness --------------------------------------------------------------------------------------------------------


def test_no_page_row_has_two_equal_ends_a_sub_operation_or_a_field_name(
    crowded: CrowdedEstate, viewer: Browser
) -> None:
    addresses = [
        "/inherited?word=secret",
        "/unlinked",
        "/incomplete",
        "/rejects",
        "/runs",
        "/sources",
        "/unused?days=30",
    ]
    columns = [crowded.world.column(f"{name}.amount").identity for name in ("orders", "facts", "check")]
    for identity in (*(key.identity for key in crowded.keys.values()), *columns):
        entity = urlencode({"entity": identity})
        addresses += [f"/{each}?{entity}" for each in ("details", "impact", "evidence")]
        addresses += [
            f"/lineage?{entity}&form=list&depth=all{switches}"
            for switches in ("", "&operations=true&unlinked=true&control_flow=true&deleted=true")
        ]
    found = {}
    for address in addresses:
        answer = viewer.send("GET", address, headers={"Accept": "text/html"})
        assert answer.status_code == 200, (address, answer.text)
        if bad := misleading_page(answer.text):
            found[address] = bad
    assert found == {}


def test_no_command_output_is_misleading(crowded: CrowdedEstate) -> None:
    names = ["shop.orders", "shop.orders.amount", "shop.check", "shop.check.amount", "shop.loop", "shop.left"]
    names += [crowded.keys["nightly revenue"].identity, "shop.ring_a", f"shop.{ARABIC}", "shop.l3_t00"]
    commands = [
        ["inherited", "secret"],
        ["unlinked"],
        ["incomplete"],
        ["rejects"],
        ["runs"],
        ["unused", "--days", "30"],
    ]
    for name in names:
        commands += [["show", name], ["impact", name], ["evidence", name], ["lineage", name]]
        commands.append(
            ["lineage", name, "--columns", "--operations", "--control-flow", "--unlinked", "--deleted"]
        )
    found = {}
    for command in commands:
        output = run(crowded.web.file, *command).output
        assert output.strip(), command
        if bad := misleading_output(output):
            found[" ".join(command)] = bad
    assert found == {}


def test_a_sub_operation_redirects_to_its_statement(crowded: CrowdedEstate, viewer: Browser) -> None:
    [part] = crowded.solr.select(
        "nav_elements", {"q": 'type:SUB_OPERATION AND originalName:"revenue.amount"', "fl": "identity"}
    )["response"]["docs"]
    answer = viewer.send(
        "GET", "/details", headers={"Accept": "text/html"}, params={"entity": part["identity"]}
    )
    assert answer.status_code == 303
    assert answer.headers["Location"].endswith(crowded.keys["nightly revenue"].identity)
    output = run(crowded.web.file, "show", part["identity"]).output
    assert output.startswith("nightly revenue → shop.revenue (Spark operation)\n")


# -- Distinct names ------------------------------------------------------------------------------------------------------


def test_five_statements_of_one_job_are_distinguished_in_every_list(
    crowded: CrowdedEstate, viewer: Browser
) -> None:
    orders = crowded.keys["orders"].identity
    impact = page(viewer, "/impact", entity=orders).text
    evidence = page(viewer, "/evidence", entity=crowded.keys["check"].identity).text
    listed = page(viewer, "/lineage", entity=orders, form="list", depth="all", operations="true").text
    tree = run(crowded.web.file, "lineage", "shop.orders", "--operations").output
    found = page(viewer, "/search", query="nightly revenue").text
    on_terminal = run(crowded.web.file, "search", "nightly revenue", "--limit", "100").output
    for text in (impact, evidence, listed, tree, found, " ".join(on_terminal.split())):
        assert [each for each in NIGHTLY if each not in text] == []
    assert (
        "nightly revenue → shop.revenue"
        in page(viewer, "/details", entity=crowded.keys["revenue"].identity).text
    )
    assert "insert lost → shop.lost" in page(viewer, "/incomplete").text
    assert "nightly revenue → shop.check" in page(viewer, "/unlinked").text
    assert "nightly revenue → shop.facts" in page(viewer, "/inherited", word="secret").text


# -- Impact --------------------------------------------------------------------------------------------------------------


def test_all_readers_of_a_hub_are_counted_and_operations_use_no_tables_place(
    crowded: CrowdedEstate, viewer: Browser
) -> None:
    hub = crowded.keys["hub"].identity
    found = page(viewer, "/impact", entity=hub)
    assert found.by_id["total"] == "300 tables and 300 operations are affected."
    assert "cuts" not in found.by_id
    assert found.text.count("shop.reader_") >= READERS
    terminal = run(crowded.web.file, "impact", "shop.hub").output
    assert "300 tables and 300 operations are affected" in terminal
    rows = table(run(crowded.web.file, "impact", "shop.hub", "--csv").stdout)
    assert sum(row["type"] == "TABLE" for row in rows) == READERS
    just = crowded.web.asked("/impact", entity=hub, max_nodes=READERS + 1)
    assert not just["truncated"]


def test_truncation_is_one_line_with_the_way_to_the_rest(crowded: CrowdedEstate, viewer: Browser) -> None:
    terminal = run(crowded.web.file, "impact", "shop.hub", "--max-nodes", "100").output
    [line] = [each for each in terminal.splitlines() if "Results are truncated" in each]
    assert "Results are truncated at " in line
    assert "--max-nodes follows more." in line
    assert "at least 99 tables" in terminal
    rows = table(run(crowded.web.file, "impact", "shop.hub", "--max-nodes", "100", "--csv").stdout)
    assert [bool(row["truncated"]) for row in rows].count(True) == 1
    assert "Results are truncated" in rows[-1]["truncated"]
    layered = page(viewer, "/impact", entity=crowded.world.named("l0_t00").identity)
    # More than one page lists: 20 tables, 19 operations, and 39 columns in each of five tables.
    assert "All as CSV" in page(viewer, "/impact", entity=crowded.keys["hub"].identity).by_id["more"]
    assert layered.by_id["total"].endswith("are affected.")


# -- Columns, tabs, links ------------------------------------------------------------------------------------------------


def test_a_column_shows_its_source_columns_expression_and_inherited_tags(
    crowded: CrowdedEstate, viewer: Browser
) -> None:
    column = page(viewer, "/details", entity=crowded.world.column("revenue.amount").identity)
    [_, source] = column.tables["sources"]
    assert [" ".join(each.split()) for each in source] == [
        "shop.facts.amount",
        "data",
        "nightly revenue → shop.revenue",
        "sum(facts.amount)",
        "recorded",
    ]
    [_, target] = column.tables["targets"]
    assert target[0].strip() == "shop.markets.amount"
    [_, tag] = column.tables["inherited"]
    assert (tag[0].strip(), tag[1].strip()) == ("secret", "shop.orders.amount")
    of_table = page(viewer, "/details", entity=crowded.keys["revenue"].identity).by_id["columns"]
    for each in ("shop.facts.amount", "sum(facts.amount)", "secret"):
        assert each in of_table
    terminal = run(crowded.web.file, "show", "shop.revenue.amount").output
    assert (
        "Upstream\n  shop.facts.amount  through nightly revenue → shop.revenue\n    sum(facts.amount)"
        in terminal
    )


TABS = ("details", "lineage", "impact", "evidence", "usage")


def test_the_pages_of_one_entity_have_the_same_tabs(crowded: CrowdedEstate, viewer: Browser) -> None:
    orders = crowded.keys["orders"].identity
    wanted = [f"/navlin/{each}?entity={orders}" for each in TABS]
    for tab in TABS:
        links = page(viewer, f"/{tab}", entity=orders).links()
        assert [each for each in links if each in wanted][: len(TABS)] == wanted, tab


def test_every_entity_named_by_evidence_is_linked_except_in_a_file(
    crowded: CrowdedEstate, viewer: Browser
) -> None:
    column = crowded.world.column("check.amount").identity
    found = page(viewer, "/evidence", entity=column)
    links = found.links()
    for name in ("orders", "facts", "revenue", "export"):
        assert f"/navlin/details?entity={crowded.world.column(f'{name}.amount').identity}" in links
    for name in STATEMENTS:
        assert f"/navlin/details?entity={crowded.keys[f'nightly {name}'].identity}" in links
    ghost = crowded.world.column("ghost.amount").identity
    assert f"/navlin/lineage?entity={ghost}&unlinked=true" in links
    named_alone = page(viewer, "/lineage", entity=ghost, unlinked="true", form="list")
    assert not [each for each in named_alone.links() if each.startswith("/navlin/details") and ghost in each]
    for each in {each for each in links if "/details?" in each}:
        assert viewer.send("GET", each.removeprefix("/navlin")).status_code == 200, each
    document = run(crowded.web.file, "evidence", "shop.check.amount", "--html").stdout
    assert "nightly revenue → shop.revenue" in document
    assert "<a " not in document


def test_evidence_names_rejected_records_of_the_engines_on_its_path(
    crowded: CrowdedEstate, viewer: Browser
) -> None:
    why = "2 records could not be read, the newest in /logs/spark/app-1:4711: its third line is cut off"
    found = page(viewer, "/evidence", entity=crowded.keys["facts"].identity)
    assert ["rejected", "crowded-spark", why] in [[cell.strip() for cell in row] for row in found.tables[""]]
    assert "/navlin/rejects?source=crowded-spark" in found.links()
    terminal = run(crowded.web.file, "evidence", "shop.facts").output
    assert "Not certain: 1 rejected" in terminal
    assert why in " ".join(terminal.split())
    assert "Not certain: nothing" in run(crowded.web.file, "evidence", "shop.reader_001").output, (
        "no engine on the path of this one lost a record"
    )


def test_tags_link_to_their_entities(crowded: CrowdedEstate, viewer: Browser) -> None:
    found = page(viewer, "/details", entity=crowded.keys["amount"].identity)
    [link] = [each["href"] for each in found.of("a", **{"class": "tag"})]
    assert link == "/navlin/search?query=" + quote('tags:"secret"', safe="")
    assert "shop.orders.amount" in page(viewer, link.removeprefix("/navlin")).text


# -- The diagram ---------------------------------------------------------------------------------------------------------

OUTSIDE = """
const outer = document.getElementById("picture").getBoundingClientRect();
const tools = document.querySelector(".tools").getBoundingClientRect();
return [...document.querySelectorAll(".node > .frame")].filter((each) => {
  const {left, right, top, bottom} = each.getBoundingClientRect();
  const covered = right > tools.left && bottom > tools.top;
  return left < outer.left || right > outer.right || top < outer.top || bottom > outer.bottom || covered;
}).length;
"""
ROWS = """
return [...document.querySelectorAll("#edges tbody tr")].map((each) =>
  [...each.cells].map((cell) => cell.textContent.trim()));
"""
HEIGHTS = """
return [...document.querySelectorAll(".node")].map((each) =>
  [each.getBoundingClientRect().top, each.querySelector(".name").textContent])
  .filter(([, name]) => name.startsWith("reader_")).sort((one, other) => one[0] - other[0]).map(([, name]) => name);
"""


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_whole_graph_is_visible_at_first_and_uncovered(
    shape: str, size: tuple[int, int], crowded: CrowdedEstate, window: Chromium
) -> None:
    window.size(*size)
    shown(window, f"/lineage?{urlencode({'entity': crowded.keys[shape].identity})}&depth=all")
    assert window.count(".node") == {"hub": 2, "chain": CHAIN}.get(shape, window.count(".node"))
    assert window.run(OUTSIDE) == 0


def test_a_deleted_table_in_between_is_marked_and_counted_on_the_edge(
    crowded: CrowdedEstate, window: Chromium
) -> None:
    window.size(*SIZES["desk"])
    shown(window, f"/lineage?entity={crowded.keys['left'].identity}&depth=all")
    assert window.texts(".edge .deleted-between .count") == ["1"]
    assert "1 deleted node lies between others." in window.texts("#notes li")[0]
    window.find("#notes button").click()
    window.until(lambda: window.count(".node.deleted") == 1, "the deleted table is not shown")
    window.until(lambda: not window.count(".edge .deleted-between"), "the mark stays")


def test_rows_and_boxes_keep_their_order_when_a_switch_changes(
    crowded: CrowdedEstate, window: Chromium
) -> None:
    shown(window, f"/lineage?entity={crowded.keys['hub'].identity}")
    window.find(".node.group .head").click()
    window.find(".show-these").click()
    window.until(lambda: len(window.run(HEIGHTS)) == 100, "the first readers are not shown")
    before = window.run(HEIGHTS)
    window.run("document.getElementById('list').open = true")
    rows = window.until(lambda: window.texts("#edges tbody td:last-child"), "no list")
    assert [each.split()[0] for each in rows] == sorted(each.split()[0] for each in rows)
    for switch in ("control_flow", "deleted"):
        window.run("document.getElementById('diagram').dataset.state = 'before'")
        window.find(f"[name={switch}]").click()
        window.until(lambda: window.find("#diagram").get_attribute("data-state") == "ready", "no picture")
        assert window.run(HEIGHTS) == before
        assert window.texts("#edges tbody td:last-child") == rows


def test_plus_expands_all_columns_and_greys_those_without_lineage(
    crowded: CrowdedEstate, window: Chromium
) -> None:
    layered = crowded.keys["layered"].identity
    shown(window, f"/lineage?entity={layered}")
    window.run(
        f"document.querySelector('[data-toggle=\"{layered}\"]').dispatchEvent(new MouseEvent('click', {{bubbles: true}}))"
    )
    # A box shows 24 rows at a time.
    window.until(lambda: window.count(f"[data-box='{layered}'] .row") == 24, "no columns")
    assert window.texts(f"[data-box='{layered}'] .row-name") == [f"c{number:02d}" for number in range(24)]
    page_down = f"[data-of='{layered}'][data-page='1']"
    window.run("arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))", window.find(page_down))
    last = [f"c{number:02d}" for number in range(COLUMNS - 24, COLUMNS)]
    window.until(lambda: window.texts(f"[data-box='{layered}'] .row-name") == last, "not scrolled to the end")
    assert window.texts(f"[data-box='{layered}'] .row.idle + .row-name") == ["c39"]
    label = window.find(f"[data-box='{layered}'] .row.idle").get_attribute("aria-label")
    assert "no lineage recorded" in label


def test_the_list_next_to_the_diagram_leads_from_column_to_column(
    crowded: CrowdedEstate, window: Chromium
) -> None:
    column = crowded.world.column("revenue.amount").identity
    shown(window, f"/lineage?entity={column}&operations=true&depth=all")
    window.run("document.getElementById('list').open = true")
    window.until(lambda: window.count("#edges tbody tr"), "no list")
    through = {(row[0], row[2]): row[1] for row in window.run(ROWS)}
    into = through["shop.facts.amount", "shop.revenue.amount start"]
    assert "through nightly revenue → shop.revenue" in into
    assert ("shop.revenue.amount start", "shop.markets.amount") in through
    assert misleading_page(window.run("return document.documentElement.outerHTML")) == []
    shown(window, f"/lineage?entity={column}&operations=true")
    window.run("document.getElementById('list').open = true")
    window.until(lambda: window.count("#edges tbody tr"), "no list")
    assert [[row[0], row[2]] for row in window.run(ROWS)] == [
        ["nightly revenue → shop.revenue", "shop.revenue.amount start"],
        ["shop.revenue.amount start", "nightly revenue → shop.markets"],
    ], "as far as the one hop goes"


def test_short_words_of_names_are_whole_in_narrow_columns(crowded: CrowdedEstate, window: Chromium) -> None:
    window.size(*SIZES["telephone"])
    for address in ("/unlinked", f"/details?entity={crowded.keys['check'].identity}"):
        shown(window, address)
        assert window.count("td a.name") > 1
        assert window.run(BROKEN_WORDS) == [], address


# -- Three sizes and two colour schemes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_no_page_of_a_crowded_estate_has_an_accessibility_error(
    size: tuple[int, int], scheme: str, crowded: CrowdedEstate, window: Chromium
) -> None:
    window.size(*size)
    window.prefer(prefers_color_scheme=scheme)
    addresses = ["/unlinked", "/incomplete", "/inherited?word=secret"]
    identities = {name: key.identity for name, key in crowded.keys.items()}
    for name in ("arabic", "amount", "check"):
        entity = urlencode({"entity": identities[name]})
        addresses += [f"/{each}?{entity}" for each in ("details", "impact", "evidence")]
    for name in ("hub", "layered", "ring", "loop", "left", "arabic", "nightly revenue"):
        entity = urlencode({"entity": identities[name]})
        addresses.append(f"/lineage?{entity}&open={identities[name]}&selected={identities[name]}")
    addresses.append(f"/lineage?{urlencode({'entity': identities['hub']})}&form=list")
    found = []
    for address in addresses:
        shown(window, address)
        window.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        found += wrong(window, address)
    assert found == []
