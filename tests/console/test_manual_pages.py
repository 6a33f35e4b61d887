"""The manual as navlin serves it: files, policy, and access."""

from __future__ import annotations

import asyncio
import hashlib
from base64 import b64encode
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.responses import Response

from navlin.api.answers import HttpError
from navlin.console.manual import Manual, policy_of
from tests.support.http_browser import Browser
from tests.support.web import Web

PAGE = b"""<!doctype html><html><head><style>
  body { --color: blue; }
</style><script src="_static/furo.js"></script></head>
<body><script>
  document.body.dataset.theme = "auto";
</script><p style="color: red">text</p></body></html>"""


@pytest.fixture
def manual(tmp_path: Path) -> Manual:
    (tmp_path / "html" / "how-to").mkdir(parents=True)
    (tmp_path / "html" / "index.html").write_bytes(PAGE)
    (tmp_path / "html" / "how-to" / "search.js").write_text("1;")
    (tmp_path / "html" / ".buildinfo").write_text("not served")
    (tmp_path / "outside.html").write_text("not served")
    return Manual(tmp_path / "html", "/navlin")


def get(manual: Manual, file: str) -> Response:
    request = Request({"type": "http", "path_params": {"file": file}, "headers": [], "state": {}})
    return asyncio.run(manual.answer(request))


def test_a_page_is_served_with_the_hashes_of_its_own_inline_script_and_style(manual: Manual) -> None:
    answer = get(manual, "index.html")

    assert bytes(answer.body) == PAGE
    policy = answer.headers["Content-Security-Policy"]
    script = b'\n  document.body.dataset.theme = "auto";\n'
    style = b"\n  body { --color: blue; }\n"
    for directive, text in (("script-src", script), ("style-src", style)):
        digest = b64encode(hashlib.sha256(text).digest()).decode()
        assert f"{directive} 'self' 'sha256-{digest}';" in policy
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy


def test_a_page_without_inline_script_gets_no_hash() -> None:
    assert policy_of(b'<script src="a.js"></script>').startswith(
        "default-src 'none'; script-src 'self'; style-src 'self';"
    )


def test_files_of_the_manual_have_their_type(manual: Manual) -> None:
    assert get(manual, "how-to/search.js").headers["Content-Type"] == "text/javascript; charset=utf-8"


@pytest.mark.parametrize("file", ["nothing.html", "../outside.html", ".buildinfo", "how-to", ""])
def test_nothing_but_the_files_of_the_manual_is_served(manual: Manual, file: str) -> None:
    with pytest.raises(HttpError, match="the manual has no such page") as refused:
        get(manual, file)

    assert refused.value.status == 404


def test_a_checkout_without_a_built_manual_says_how_to_build_it_and_has_no_help_links(tmp_path: Path) -> None:
    manual = Manual(tmp_path / "nothing", "")

    assert manual.help_address("search") == ""
    with pytest.raises(HttpError, match="the manual is not built: run make docs"):
        get(manual, "index.html")


def test_a_help_link_leads_below_the_base_path(manual: Manual) -> None:
    assert manual.help_address("runs") == "/navlin/docs/reference/console.html#page-runs"


def test_the_manual_needs_a_login_as_other_pages_do(web: Web) -> None:
    stranger = Browser(web)

    for path in ("/docs", "/docs/index.html"):
        answer = stranger.send("GET", path, headers={"Accept": "text/html"})
        assert (answer.status_code, answer.headers["Location"].partition("?")[0]) == (303, "/navlin/login")
    assert stranger.send("GET", "/docs/searchindex.js").status_code == 401
