"""A diagram of 400 tables with 2,000 columns is panned, and so is an empty drawing with the same number of elements."""

from __future__ import annotations

from statistics import quantiles
from uuid import uuid4

import pytest

from navlin.index.solr.solr import Solr
from tests.support.chromium import Chromium
from tests.support.diagrams import opened
from tests.support.query_estate import SPARK, World

pytestmark = [pytest.mark.services, pytest.mark.alone]

TABLES, COLUMNS = 400, 5
FRAMES = 120
RATIO = 1.3
# Each frame moves the drawing by the keys that pan, to and fro; the argument says whether its content is replaced by as many
# rectangles first. Returns the milliseconds between frames, and the number of elements.
PANNED = """
const [frames, emptied, done] = arguments;
const picture = document.getElementById("picture");
const scene = picture.querySelector(".scene");
const count = scene.querySelectorAll("*").length;
if (emptied) {
  const { x, y, width, height } = scene.getBBox();
  const across = Math.ceil(Math.sqrt(count));
  const boxes = Array.from({ length: count }, (_, number) => {
    const box = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    const at = { x: x + (width / across) * (number % across), y: y + (height / across) * Math.floor(number / across) };
    const size = { width: width / across / 2, height: height / across / 2, fill: "none", stroke: "gray" };
    for (const [name, value] of Object.entries({ ...at, ...size })) box.setAttribute(name, value);
    return box;
  });
  scene.replaceChildren(...boxes);
}
const took = [];
let before = 0;
const frame = (now) => {
  if (before) took.push(now - before);
  before = now;
  if (took.length === frames) return done({ took, count: scene.querySelectorAll("*").length });
  const key = Math.floor(took.length / 10) % 2 ? "ArrowLeft" : "ArrowRight";
  picture.dispatchEvent(new KeyboardEvent("keydown", { key, shiftKey: true, bubbles: true }));
  requestAnimationFrame(frame);
};
requestAnimationFrame(frame);
"""


def test_a_large_diagram_moves_as_an_empty_drawing_does(chromium: Chromium, solr: Solr) -> None:
    world = World(solr, f"frames-{uuid4().hex[:8]}")
    first = world.table("t0", *(f"c{each}" for each in range(COLUMNS)))
    for number in range(1, TABLES):
        table = world.table(f"t{number}", *(f"c{each}" for each in range(COLUMNS)))
        inputs = {(number - 1) // 3, max(0, (number - 1) // 3 - number % 4)}
        parts = {
            f"t{number}.c{each}": [f"t{of}.c{(each + of) % COLUMNS}" for of in inputs]
            for each in range(COLUMNS)
        }
        world.operation(
            f"load t{number}", [world.named(f"t{of}") for of in inputs], [table], parts=parts, engine=SPARK
        )
    world.index()
    opened(chromium, first.identity, depth="all", all_columns="true")
    assert chromium.count(".node") == TABLES
    assert chromium.count(".row.column") == TABLES * COLUMNS
    p95 = {}
    for emptied in (False, True):
        chromium.run("document.querySelector('#fit-all').click()")
        answer = chromium.driver.execute_async_script(PANNED, FRAMES, emptied)
        p95[emptied] = quantiles(answer["took"], n=20)[-1]
    assert p95[False] <= RATIO * p95[True], p95
