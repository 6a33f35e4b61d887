"""The commands and configurations of the tutorials work, against a running demo."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.chromium import Chromium, started_chromium
from tests.support.demo import COMMAND, PATIENCE_S, SERVES, Demo, offered, pasted, printed_address
from tests.support.manual import page

pytestmark = pytest.mark.services

SCREENSHOTS = "NAVLIN_SCREENSHOTS"
"""Environment variable with a folder that keeps the screenshots; `make screenshots` sets it."""
OPEN_COLUMNS = """
const heads = [...document.querySelectorAll("#picture .head")];
const head = heads.find((each) => each.getAttribute("aria-label").startsWith(arguments[0]));
head.closest("[data-box]").querySelector(".toggle").dispatchEvent(new MouseEvent("click", { bubbles: true }));
"""
UNFOCUSED = "document.activeElement.blur(); document.querySelector('header').remove()"
EXAMPLE_METASTORE = "thrift://hms.example.org:9083"


@pytest.fixture(scope="module")
def demo(
    tmp_path_factory: pytest.TempPathFactory, solr_jars: Path, metastore_jars: Path, hadoop_jars: Path
) -> Iterator[Demo]:
    started = Demo(tmp_path_factory.mktemp("demo"), *COMMAND)
    try:
        started.until_printed(SERVES)
        yield started
    finally:
        started.close()


def _drawn(window: Chromium) -> None:
    window.until(lambda: window.find("#diagram").get_attribute("data-state") == "ready", "no diagram")


def commands(tutorial: str) -> list[str]:
    """The arguments of each navlin command in a tutorial, without comments and redirections."""
    blocks = re.findall(r"```sh\n(.*?)```", page(f"tutorials/{tutorial}"), re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    found = [re.match(r"(?:\.venv/bin/)?navlin ([^#>]*)", line) for line in lines]
    return [each[1].strip() for each in found if each is not None]


def configuration(demo: Demo) -> dict[str, Any]:
    words = shlex.split(offered(demo)[0])
    return tomllib.loads(Path(words[words.index("--config") + 1]).read_text())


@pytest.mark.parametrize("tutorial", ["first-lineage", "trace-a-figure"])
def test_the_commands_of_a_tutorial_succeed_in_the_demo(tutorial: str, demo: Demo) -> None:
    before = offered(demo)[0].partition(" lineage ")[0]

    assert len(commands(tutorial)) >= 3
    for each in commands(tutorial):
        asked = pasted(demo, f"{before} {each}")
        assert (asked.returncode, asked.stderr) == (0, ""), each
        assert asked.stdout.strip(), each


def test_a_metastore_is_connected_as_the_tutorial_says(demo: Demo, tmp_path: Path) -> None:
    text = re.findall(r"```toml\n(.*?)```", page("tutorials/metastore"), re.DOTALL)[0]
    [uri] = next(each["uris"] for each in configuration(demo)["source"] if each["extractor"] == "hms")
    assert EXAMPLE_METASTORE in text
    (tmp_path / "navlin.toml").write_text(text.replace(EXAMPLE_METASTORE, uri))

    for each in commands("metastore"):
        if each == "serve":
            continue
        asked = subprocess.run(
            [sys.executable, "-m", "navlin", *shlex.split(each.replace("sales.orders", "shop.orders"))],
            env={**demo.environment, "NAVLIN_CONFIG": str(tmp_path / "navlin.toml")},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        assert asked.returncode == 0, (each, asked.stdout, asked.stderr)


def test_the_diagram_of_the_demo_is_pictured(demo: Demo, tmp_path: Path) -> None:
    url, user, password = printed_address(demo)
    with started_chromium(tmp_path) as window:
        window.url = url
        window.size(1200, 660)
        window.open("/login")
        window.find("[name=name]").send_keys(user)
        window.find("[name=password]").send_keys(password)
        window.find(".login button").click()
        window.until(lambda: "/login" not in window.driver.current_url, "nobody is logged in")
        window.open("/lineage?entity=shop.revenue&depth=2")
        _drawn(window)
        for table in ("order_facts", "revenue"):
            window.run(OPEN_COLUMNS, f"table shop.{table},")
            closing = f"[aria-label='close the columns of {table}']"
            window.until(partial(window.count, closing), "no columns")
            _drawn(window)
        window.run(UNFOCUSED)
        picture = tmp_path / "diagram.png"
        window.picture(picture)

    assert picture.stat().st_size > 20_000
    if folder := os.environ.get(SCREENSHOTS):
        shutil.copy(picture, folder)
