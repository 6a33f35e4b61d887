"""Positions of columns in the diagram, positions of nodes that are both input and output once their columns are
expanded, and expanding the diagram by one hop from any node.
"""

from __future__ import annotations

from uuid import uuid4

import pytest

from navlin.index.solr.solr import Solr
from navlin.model.keys import sub_operation_key
from tests.console.test_console_lineage_browser import acted, choose, drawn, flows, names, ready
from tests.support.chromium import Chromium
from tests.support.query_estate import World

pytestmark = pytest.mark.services

# Script that returns, for each line between an operation and an adjacent node, the box and row that its arrow touches.
TOUCHED = """
return [...document.querySelectorAll('.edge.beside')].map((edge) => {
  const tip = edge.querySelector('.tip').getBoundingClientRect();
  const [x, y] = [tip.left + tip.width / 2, tip.top + tip.height / 2];
  const near = [...document.querySelectorAll('.row, .head')].filter((each) => {
    const at = each.querySelector('.ground').getBoundingClientRect();
    return y >= at.top - 2 && y <= at.bottom + 2 && x >= at.left - 16 && x <= at.right + 16;
  });
  return [edge.dataset.target, near.map((each) => each.dataset.id)];
});
"""


@pytest.fixture
def world(solr: Solr) -> World:
    name = f"placing{uuid4().hex[:8]}"
    return World(solr, name, database=name)


def test_columns_are_in_the_order_of_their_table(chromium: Chromium, world: World) -> None:
    names = ["zip", "amount", "day", "buyer"]
    source, target = world.table("source", *names), world.table("target", *names)
    for table in ("source", "target"):
        for number, column in enumerate(names[:3]):
            world.entity(world.column(f"{table}.{column}"), columnIndex=str(number))
    parts = {f"target.{each}": [f"source.{each}"] for each in names}
    world.operation("target from source", [source], [target], parts=parts)
    world.index()
    drawn(chromium, target, open=target.identity)
    # The last column has no index, so its position is unknown.
    assert chromium.texts(f"#node-{target.identity} .row-name") == names


@pytest.mark.parametrize("opened", [("a",), ("operation",), ("a", "operation")], ids="-".join)
def test_an_input_that_is_also_an_output_is_next_to_its_operation_with_columns_expanded(
    opened: tuple[str, ...], chromium: Chromium, world: World
) -> None:
    a, b = world.table("a", "x", "y"), world.table("b", "x")
    operation = world.operation("merge into a", [a, b], [a], parts={"a.x": ["a.x", "b.x"], "a.y": ["a.y"]})
    world.index()
    keys = {"a": a, "operation": operation}
    address = "&open=".join(keys[each].identity for each in opened)
    drawn(chromium, a, operations="true", depth="2", open=address)
    one, other = (chromium.find(f"#node-{key.identity} .frame").rect for key in (a, operation))
    assert one["x"] < other["x"] + other["width"] and other["x"] < one["x"] + one["width"], (
        "not in one column"
    )
    touched = chromium.run(TOUCHED)
    assert len(touched) >= 3
    assert [target for target, near in touched if target not in near] == [], flows(chromium)


def test_a_columns_expression_is_shown_next_to_the_diagram(chromium: Chromium, world: World) -> None:
    source, target = world.table("source", "price"), world.table("target", "total")
    operation = world.operation("insert", [source], [target], parts={"target.total": ["source.price"]})
    world.entity(sub_operation_key(operation, "target.total"), expression="sum(price)")
    world.index()
    drawn(chromium, target, open=target.identity)
    chromium.find(f"#node-{target.identity} .row").click()
    chromium.until(lambda: chromium.texts("#selected .made-by pre") == ["sum(price)"], "no expression")
    assert chromium.texts("#selected .made-by h3") == [f"insert → {world.database}.target", "Expression"]


def test_an_edge_between_columns_shows_the_statement_and_the_expression(
    chromium: Chromium, world: World
) -> None:
    source, target = world.table("source", "price"), world.table("target", "total")
    operation = world.operation("insert", [source], [target], parts={"target.total": ["source.price"]})
    world.entity(operation, queryText="INSERT INTO target SELECT sum(price) FROM source")
    world.entity(sub_operation_key(operation, "target.total"), expression="sum(price)")
    world.index()
    drawn(chromium, world.column("target.total"))
    chromium.run(
        "document.querySelector('#picture .edge').dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )
    texts = ["INSERT INTO target SELECT sum(price) FROM source", "sum(price)"]
    chromium.until(lambda: chromium.texts("#selected .facts pre") == texts, "not both texts")
    assert chromium.texts("#selected .facts h3")[-2:] == ["Query", "Expression"]


# -- A hop in the opposite direction -------------------------------------------------------------------------------------


def test_any_node_can_be_expanded_both_ways_and_the_address_records_it(
    chromium: Chromium, world: World
) -> None:
    source, start, other, far = (world.table(each) for each in ("source", "start", "other", "far"))
    for text, made in (("start from source", start), ("other from source", other)):
        world.operation(text, [source], [made])
    world.operation("far from other", [other], [far])
    world.index()
    drawn(chromium, start)
    assert names(chromium) == {"source", "start"}
    chromium.find(f"#node-{source.identity} .head").click()
    acted(chromium, chromium.find("#selected [data-act=downstream]").click)
    assert names(chromium) == {"source", "start", "other"}
    assert flows(chromium) == {"source -> start", "source -> other"}
    sent = chromium.driver.current_url
    # The node added by that hop has more nodes downstream, and an arrow that adds them.
    acted(chromium, chromium.find(f"#node-{other.identity} .hop.downstream").click)
    assert names(chromium) == {"source", "start", "other", "far"}
    chromium.run("arguments[0].focus()", chromium.find(f"#node-{far.identity} .head"))
    acted(chromium, lambda: chromium.press(">"))
    assert names(chromium) == {"source", "start", "other", "far"}
    assert "has no further downstream" in chromium.find("#notes").text

    chromium.driver.get(sent)
    ready(chromium)
    assert names(chromium) == {"source", "start", "other"}
    choose(chromium, "direction", "upstream")
    chromium.until(lambda: names(chromium) == {"source", "start"}, "another direction begins anew")
    assert chromium.wrong() == []
