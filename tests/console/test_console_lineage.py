"""The diagram page as served, and the list that replaces the diagram in browsers without JavaScript."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from navlin.console.page import POLICY
from navlin.index.solr.solr import Solr
from navlin.model.keys import Key
from tests.support.query_estate import World
from tests.support.web import Web

SCRIPTS = Path(__file__).parents[2] / "navlin" / "console" / "static" / "lineage"
HTML = {"Accept": "text/html"}
MARKUP = "</title><script>alert(1)</script><img src=x onerror=alert(2)>"


@pytest.fixture
def merged(solr: Solr) -> Key:
    world = World(solr, "diagram-page")
    source, between, end = (
        world.table("page_source"),
        world.table("page_temp", deleted=True),
        world.table("page_" + MARKUP),
    )
    world.operation("create page_temp", [source], [between])
    world.operation("insert page_end", [between], [end])
    world.index()
    return end


def page(web: Web, status: int = 200, **query: str) -> str:
    answer = web.send("GET", "/lineage", headers=HTML, params=query)
    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Security-Policy"] == POLICY
    return answer.text


def test_the_page_sends_no_query_and_has_no_inline_script_or_style(web: Web) -> None:
    text = page(web, entity="no.such.table")
    assert re.findall(r"<script[^>]*>[^<]*</script>", text.replace("\n", "")) != []
    assert not re.search(r"<script(?![^>]* src=)", text), "a script stands in the page"
    assert not re.search(r"\s(style|on\w+)=", text), "a style or a handler stands in the page"
    assert 'src="/navlin/files/' in text or "lineage/main.js" in text
    assert "<noscript>" in text


def test_the_form_reflects_the_address(web: Web) -> None:
    text = page(web, entity='a"b', direction="upstream", depth="3", operations="true", databases="true")
    assert 'value="a&#34;b"' in text
    assert '<option value="upstream" selected>' in text
    assert '<option value="3" selected>' in text
    assert re.findall(r'name="(\w+)" value="true" checked', text) == ["operations", "databases"]


def test_the_list_has_each_edge_and_its_intermediate_nodes(web: Web, merged: Key) -> None:
    text = page(web, entity=merged.identity, form="list")
    rows = re.findall(r"<tr>(.*?)</tr>", text, re.S)[1:]
    assert len(rows) == 1
    assert "page_source" in rows[0]
    assert "page_temp" in rows[0], "what it passes through"
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)" in text

    deleted = page(web, entity=merged.identity, form="list", deleted="true", depth="all")
    assert len(re.findall(r"<tr>(.*?)</tr>", deleted, re.S)[1:]) == 2
    assert 'class="deleted"' in deleted


def test_an_invalid_list_request_is_refused_with_a_message(web: Web, merged: Key) -> None:
    assert "depth must be all, or from 1 to 1,000" in page(
        web, 400, entity=merged.identity, form="list", depth="x"
    )
    assert "no entity named &#34;page_nothing&#34;" in page(web, 404, entity="page_nothing", form="list")


def test_the_worker_may_compile_graphviz(web: Web) -> None:
    # The policy that applies to a worker is the one served with the worker's script.
    found = re.search(r'src="([^"]*)/lineage/main\.js"', page(web))
    assert found is not None
    for name in ("lineage/worker.js", "../third_party/wasm-graphviz/index.js"):
        answer = web.get(f"{found[1].removeprefix('/navlin')}/{name}", user=None)
        assert answer.status_code == 200
        assert "'wasm-unsafe-eval'" in answer.headers["Content-Security-Policy"]
        assert answer.headers["Content-Type"].startswith("text/javascript")


def test_no_script_turns_text_into_markup() -> None:
    forbidden = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser|\.srcdoc"
        r"|createContextualFragment|setAttribute\(\"(style|on)"
    )
    found = {file.name: forbidden.findall(file.read_text()) for file in sorted(SCRIPTS.glob("*.js"))}
    assert found
    assert {name: words for name, words in found.items() if words} == {}


def test_graphviz_gets_neither_names_nor_ids() -> None:
    text = (SCRIPTS / "dot.js").read_text()
    assert "names.js" not in text
    assert not re.search(r"\$\{[^}]*\b(name|text|place)\b(?!s)[^}]*\.(name|text|place)", text)
