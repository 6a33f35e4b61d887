"""The lineage diagram in a browser: the time to a picture of 40 tables, of 400, and of 400 with ten columns each.

    python -m bench diagram [--rounds N] [--pictures DIRECTORY]

Each round opens the page again with an empty cache. "server" is the time from the request to its answer, "layout" Graphviz
in its worker, "drawing" the SVG; "picture" is the time from the start of loading until all is drawn; "blocked" is the
longest task that blocked the page. With ``--pictures`` it also saves the example of "Generating Lineage Diagrams" in
its views, as PNG files.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from bench._machine import load_of_machine
from bench.latency import percentile
from bench.lineage_walk import own_solr
from navlin.index.solr.solr import Solr
from navlin.model.keys import Key
from tests.support.chromium import Chromium, started_chromium
from tests.support.query_estate import World
from tests.support.web import running_web

PARTS: Final = ("server", "layout", "drawing", "picture")
COLUMNS: Final = tuple(f"column_{number}" for number in range(10))
BACK: Final = 30
"""Each table is derived from tables among this many preceding ones."""
VIEWS: Final = {
    "1-default": "",
    "2-deleted": "&deleted=true&depth=all",
    "3-operations": "&deleted=true&operations=true&depth=all",
    "4-unlinked": "&deleted=true&operations=true&unlinked=true&depth=all",
    "5-columns": "&deleted=true&depth=all&open={sample_07}&open={temp_sample_07}&open={sample_merge}",
}


@dataclass
class Measured:
    """Milliseconds of each phase, and, from the last round, the page's heap (MB) and the bytes loaded (kB,
    compressed)."""

    ms: dict[str, list[float]] = field(default_factory=lambda: {part: [] for part in PARTS})
    blocked_ms: list[float] = field(default_factory=list)
    """Longest task, in ms, that blocked the page in each round."""
    nodes: int = 0
    lines: int = 0
    heap_mb: float = 0.0
    loaded_kb: float = 0.0


def fill(solr: Solr, tables: int) -> list[Key]:
    """Index tables of ten columns, each derived from one or two earlier tables. All come from the first table."""
    world, rng = World(solr, f"diagram-{tables}", database=f"made_{tables}"), random.Random(7)
    made: list[Key] = []
    for number in range(tables):
        table = world.table(f"table_number_{number}", *COLUMNS)
        if made:
            sources = rng.sample(made[-BACK:], min(len(made), rng.choice((1, 1, 1, 2))))
            parts = {
                f"{table.name}.{each}": [f"{rng.choice(sources).name}.{rng.choice(COLUMNS)}"]
                for each in COLUMNS
            }
            world.operation(f"insert {number}", sources, [table], parts=parts)
        made.append(table)
    world.index()
    return made


def example(solr: Solr) -> dict[str, Key]:
    """Index sample_merge, derived from two temporary tables. One was listed and then dropped, the other was never
    listed."""
    world, columns = (
        World(solr, "example", database="default"),
        ("code", "description", "total_emp", "salary"),
    )
    tables = {name: world.table(name, *columns) for name in ("sample_07", "sample_08", "sample_merge")}
    tables["temp_sample_07"] = world.table("temp_sample_07", *columns, deleted=True)
    temporary = {"07": tables["temp_sample_07"], "08": world.named("temp_sample_08")}
    for number, temp in temporary.items():
        sample, name = tables[f"sample_{number}"], f"temp_sample_{number}"
        text = f"CREATE TABLE {name} AS TABLE sample_{number}"
        world.operation(
            text, [sample], [temp], parts={f"{name}.{c}": [f"sample_{number}.{c}"] for c in columns}
        )
        text = f"INSERT INTO sample_merge TABLE {name}"
        parts = {f"sample_merge.{c}": [f"{name}.{c}"] for c in columns}
        world.operation(text, [temp], [tables["sample_merge"]], parts=parts)
    world.index()
    return tables


def opened(browser: Chromium, address: str) -> None:
    """Open a diagram and wait until it is drawn."""
    browser.open("/lineage?" + address)
    browser.until(
        lambda: browser.find("#diagram").get_attribute("data-state") in ("ready", "failed"), "no picture"
    )
    assert browser.find("#diagram").get_attribute("data-state") == "ready", browser.find("#problem").text


def measure(browser: Chromium, address: str, measured: Measured) -> None:
    browser.driver.execute_cdp_cmd("Network.clearBrowserCache", {})
    browser.driver.get("about:blank")
    opened(browser, address)
    script = """const done = arguments[0];
    const blocks = [];
    new PerformanceObserver((list) => blocks.push(...list.getEntries().map((each) => each.duration)))
      .observe({type: 'longtask', buffered: true});
    setTimeout(() => done({
      block: Math.max(0, ...blocks),
      ms: Object.fromEntries(performance.getEntriesByType('measure').map((each) => [each.name, each.duration])),
      nodes: document.querySelectorAll('.node, .column').length,
      lines: document.querySelectorAll('.edge[data-edge]').length,
      heap: performance.memory?.usedJSHeapSize ?? 0,
      loaded: [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
        .reduce((sum, each) => sum + each.transferSize, 0),
    }), 200)"""
    found: dict[str, Any] = browser.driver.execute_async_script(script)
    measured.blocked_ms.append(found["block"])
    for part in PARTS:
        measured.ms[part].append(found["ms"][f"navlin:{part}"])
    measured.nodes, measured.lines = found["nodes"], found["lines"]
    measured.heap_mb, measured.loaded_kb = found["heap"] / 1e6, found["loaded"] / 1e3


def take_pictures(browser: Chromium, tables: dict[str, Key], folder: Path) -> None:
    """Save pictures of the example's views in the light theme, and of the last view also in the dark theme."""
    ids = {name: key.identity for name, key in tables.items()}
    for name, view in VIEWS.items():
        opened(browser, f"entity={ids['sample_merge']}{view.format(**ids)}")
        if "operations" in name:
            lone = browser.find('.node.type-operation > .head[aria-label*="temp_sample_08"]')
            browser.run("arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))", lone)
            browser.until(lambda: browser.texts("#selected pre.query"), "no text")
        if "columns" in name:
            browser.hover(browser.find(f"#node-{ids['sample_merge']} .row"))
        browser.picture(folder / f"{name}.png")
    browser.prefer(prefers_color_scheme="dark")
    browser.picture(folder / "6-dark.png")
    browser.prefer(prefers_color_scheme="light")


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--rounds", type=int, default=20)
    arguments.add_argument("--pictures", type=Path, help="where to put pictures of the example")
    asked = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "web").mkdir()
        with own_solr(home / "solr") as solr, running_web(solr.address, home / "web") as web:
            few, many, tables = fill(solr, 40), fill(solr, 400), example(solr)
            every = "".join(f"&open={key.identity}" for key in many)
            cases = {
                "40 tables": f"entity={few[0].identity}&depth=all",
                "400 tables": f"entity={many[0].identity}&depth=all",
                "400 tables, 10 columns each": f"entity={many[0].identity}&depth=all{every}",
            }
            results = {name: Measured() for name in cases}
            with started_chromium(home) as browser:
                browser.size(1400, 900)
                browser.log_in(web.url, "viewer")
                for _ in range(asked.rounds):
                    for name, address in cases.items():
                        measure(browser, address, results[name])
                if asked.pictures is not None:
                    take_pictures(browser, tables, asked.pictures)
    table = Table(
        "diagram",
        "nodes",
        "lines",
        *(f"{part} p50/p95 ms" for part in (*PARTS, "blocked")),
        "heap MB",
        "loaded kB",
    )
    for name, each in results.items():
        timed = [*(each.ms[part] for part in PARTS), each.blocked_ms]
        halves = [f"{percentile(one, 0.5):.0f} / {percentile(one, 0.95):.0f}" for one in timed]
        table.add_row(
            name,
            f"{each.nodes:,}",
            f"{each.lines:,}",
            *halves,
            f"{each.heap_mb:.0f}",
            f"{each.loaded_kb:.0f}",
        )
    console = Console(width=160)
    console.print(table)
    console.print(f"{asked.rounds} rounds; load of the machine {load_of_machine()}")


if __name__ == "__main__":
    main()
