"""The console's pages over HTTP, as a browser without JavaScript sees them: search, details, editing, login, errors."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit
from uuid import uuid4

import pytest
import requests

from navlin.access.roles import Role
from navlin.console import PAGES
from navlin.console.page import POLICY
from navlin.index.journal.runs import save_positions
from navlin.index.schema.fields import RUNS
from navlin.index.solr.solr import Solr
from navlin.model.image_positions import ALL, ENTRIES
from navlin.model.keys import EntityType, Key, column_key, path_key, sub_operation_key
from navlin.model.records import Position
from navlin.model.source import HDFS, HIVE, LOCAL, SPARK
from navlin.query.show import show
from tests.support.http_browser import Browser
from tests.support.manual import page as manual_page
from tests.support.query_estate import World
from tests.support.web import PASSWORD, Web, running_web

MARKUP = "<img src=x onerror=alert(1)>\"'&{{7919*7907}}</script>"
PRODUCT = str(7919 * 7907)
"""The result of the template expression in `MARKUP`, if it were evaluated. No time or count on a page has this value.
"""
HTML = {"Accept": "text/html,application/xhtml+xml"}


class Document(HTMLParser):
    """Parsed page: its elements with attributes, its text, the text of each element with an id, and the rows of each
    table with an id.
    """

    VOID = frozenset({"meta", "link", "input", "img", "br", "option"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.by_id: dict[str, str] = {}
        self.tables: dict[str, list[list[str]]] = {}
        self._open: list[tuple[str, str]] = []
        # A name is one text, wherever a browser may break it.
        self.feed(text.replace("<wbr>", ""))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.elements.append((tag, attributes))
        if tag not in self.VOID:
            if identity := attributes.get("id"):
                self.by_id.setdefault(identity, "")
            self._open.append((tag, attributes.get("id", "")))
            rows = self.tables.setdefault(self._table(), []) if tag in ("tr", "td", "th") else []
            if tag == "tr":
                rows.append([])
            elif tag in ("td", "th"):
                rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        self.text += data
        for _, identity in self._open:
            if identity:
                self.by_id[identity] = self.by_id.get(identity, "") + data
        if any(tag in ("td", "th") for tag, _ in self._open):
            self.tables[self._table()][-1][-1] += data

    def _table(self) -> str:
        return next((identity for tag, identity in reversed(self._open) if tag == "table"), "")

    def of(self, tag: str, **attributes: str) -> list[dict[str, str]]:
        return [
            found
            for name, found in self.elements
            if name == tag and all(found.get(each) == value for each, value in attributes.items())
        ]

    def links(self) -> list[str]:
        return [each["href"] for each in self.of("a") if "href" in each]


@pytest.fixture
def world(solr: Solr) -> World:
    name = f"pages{uuid4().hex[:8]}"
    return World(solr, name, database=name)


@pytest.fixture
def viewer(web: Web) -> Browser:
    browser = Browser(web)
    browser.log_in("viewer")
    return browser


@pytest.fixture
def editor(web: Web) -> Iterator[Browser]:
    browser = Browser(web)
    browser.log_in("editor")
    yield browser


def page(browser: Browser, path: str, status: int = 200, **query: object) -> Document:
    answer = browser.send("GET", path, headers=HTML, params=query)
    assert answer.status_code == status, answer.text
    return document(answer)


def document(answer: requests.Response) -> Document:
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    policy = answer.headers["Content-Security-Policy"]
    assert policy == POLICY or answer.request.path_url.startswith("/navlin/evidence"), policy
    found = Document(answer.text)
    # The security policy blocks inline scripts and styles, so no page may contain any.
    assert not [each for tag, each in found.elements if tag == "script" and "src" not in each]
    assert not [
        each for _, each in found.elements if any(name.startswith("on") or name == "style" for name in each)
    ]
    return found


# -- Search --------------------------------------------------------------------------------------------------------------


def test_a_search_shows_results_with_facet_counts_as_filters(world: World, viewer: Browser) -> None:
    orders, old = world.table("orders", "id", owner="etl"), world.table("old", deleted=True, owner="root")
    world.index()
    all_of_it: dict[str, Any] = {"query": f'parentPath:"/{world.name}"'}

    found = page(viewer, "/search", **all_of_it)
    assert found.by_id["counted"].strip() == "1–2 of 2"
    assert f"/navlin/details?entity={orders.identity}" in found.links()
    assert {each["value"] for each in found.of("input", name="owner")} == {"etl", "root"}

    narrowed = page(viewer, "/search", owner="etl", **all_of_it)
    assert narrowed.by_id["counted"].strip() == "1–1 of 1"
    assert f"/navlin/details?entity={old.identity}" not in narrowed.links()
    # Results are filtered by one owner, but the other owners are still listed.
    assert {each["value"]: "checked" in each for each in narrowed.of("input", name="owner")} == {
        "etl": True,
        "root": False,
    }
    assert (
        page(viewer, "/search", owner=["etl", "root"], deleted="true", **all_of_it).by_id["counted"].strip()
        == "1–1 of 1"
    )


def test_results_have_25_a_page_and_a_csv_of_all(world: World, viewer: Browser) -> None:
    for number in range(30):
        world.table(f"t{number:02d}")
    world.index()
    query = f'parentPath:"/{world.name}"'

    first = page(viewer, "/search", query=query, sort="originalName asc", type="TABLE")
    assert first.by_id["counted"].strip() == "1–25 of 30"
    [after] = [each["href"] for each in first.of("a", rel="next")]
    second = page(viewer, after.removeprefix("/navlin"))
    assert second.by_id["counted"].strip() == "26–30 of 30"
    assert not second.of("a", rel="next")
    [csv] = first.of("a", id="csv")
    lines = viewer.send("GET", csv["href"].removeprefix("/navlin")).text.splitlines()
    assert len(lines) == 31


def test_a_search_is_narrowed_by_dates_and_managed_properties(
    world: World, viewer: Browser, editor: Browser
) -> None:
    world.table("early", created=1_735_689_600_000)
    late = world.table("late", created=1_767_225_600_000)
    world.index()
    query = f'parentPath:"/{world.name}"'
    assert (
        f"/navlin/details?entity={late.identity}"
        in page(viewer, "/search", query=query, created=["2025-06-01", ""]).links()
    )
    assert (
        page(viewer, "/search", query=query, created=["", "2025-06-01"]).by_id["counted"].strip()
        == "1–1 of 1"
    )

    words = {"customProperties": {"pages": {"level": 7}}}
    headers = {"X-Navlin-CSRF": editor.csrf}
    edited = editor.send("PUT", f"/api/v14/entities/{late.identity}", json=words, headers=headers)
    assert edited.status_code == 200, edited.text
    for compared, total in ((">=", 1), (">", 0), ("=", 1)):
        found = page(viewer, "/search", query=query, property="pages.level", compared=compared, value="7")
        assert ("1–1 of 1" in found.by_id["counted"]) == bool(total), compared


def test_a_query_error_is_marked_at_its_position(viewer: Browser) -> None:
    found = page(viewer, "/search", query="type:TABLE AND (owner:etl")
    assert "type:TABLE AND (owner:etl" in found.by_id["problem"]
    assert found.of("mark")
    assert found.of("input", id="query")[0]["value"] == "type:TABLE AND (owner:etl"


def test_an_empty_result_suggests_the_next_step(viewer: Browser) -> None:
    found = page(viewer, "/search", query=f"originalName:{uuid4().hex}")
    assert found.by_id["counted"].strip() == "No results"
    assert "/navlin/search" in found.links()


def test_relations_are_listed_with_both_ends(world: World, viewer: Browser) -> None:
    source, target = world.table("a"), world.table("b")
    world.operation("insert into b select * from a", [source], [target])
    world.index()
    found = page(viewer, "/search", query=f'type:DATA_FLOW AND endpoint1Ids:"{source.identity}"')
    assert f"/navlin/details?entity={source.identity}" in found.links()


def test_statements_of_one_job_are_distinguished_by_their_outputs(world: World, viewer: Browser) -> None:
    job = f"nightly {world.name}"
    for output in ("a", "b"):
        world.operation(job, [], [world.table(output)], engine=SPARK)
    world.index()
    found = page(viewer, "/search", query=f'"{job}"', type="OPERATION")
    assert {each["title"] for each in found.of("a", **{"class": "name"}) if "title" in each} == {
        f"{job} → {world.name}.a",
        f"{job} → {world.name}.b",
    }


def test_a_search_is_saved_with_its_filters_run_and_removed(world: World, viewer: Browser) -> None:
    orders, _ = world.table("orders", owner="etl"), world.table("other", owner="root")
    world.index()
    narrowed: dict[str, Any] = {"query": f'parentPath:"/{world.name}"', "owner": "etl"}
    found = page(viewer, "/search", **narrowed)
    [query] = [each["value"] for each in found.of("input", name="query") if each.get("type") == "hidden"]
    saved = {"csrf": viewer.csrf, "name": world.name, "query": query}
    assert viewer.send("POST", "/saved", data=saved, headers=HTML).status_code == 303

    again = page(viewer, "/search")
    assert world.name in again.by_id["saved"]
    [link] = [each for each in again.links() if quote(world.name) in each]
    narrow = page(viewer, link.removeprefix("/navlin"))
    assert narrow.by_id["counted"].strip() == "1–1 of 1"
    assert f"/navlin/details?entity={orders.identity}" in narrow.links()
    removed = {"csrf": viewer.csrf, "remove": f"viewer/{world.name}"}
    assert viewer.send("POST", "/saved", data=removed, headers=HTML).status_code == 303
    assert world.name not in page(viewer, "/search").by_id.get("saved", "")


def test_the_log_names_the_user_who_saved_a_search(viewer: Browser, web: Web) -> None:
    name = f"saved{uuid4().hex[:8]}"
    saved = {"csrf": viewer.csrf, "name": name, "query": "type:TABLE"}
    assert viewer.send("POST", "/saved", data=saved, headers=HTML).status_code == 303
    assert web.logged("edit requested", user="viewer", path="/saved")


def test_only_pages_accept_forms(editor: Browser) -> None:
    form = {"csrf": editor.csrf, "entity": "x", "description": "y"}
    # Elsewhere the token in a form is not looked for, because that would mean to read the form.
    for headers, status in (({}, 403), ({"X-Navlin-CSRF": editor.csrf}, 400)):
        answer = editor.send("POST", "/api/navlin/v1/edit", data=form, headers=headers)
        assert answer.status_code == status, answer.text


# -- Details -------------------------------------------------------------------------------------------------------------


def test_a_tables_page_shows_its_columns_and_their_sources(world: World, viewer: Browser) -> None:
    source, target = world.table("orders", "id", "price"), world.table("report", "revenue")
    operation = world.operation(
        "insert into report select price * 2 from orders",
        [source],
        [target],
        parts={"report.revenue": ["orders.price"]},
    )
    world.execution(operation, "run", started=1_767_225_600_000, principal="etl")
    world.index()

    found = page(viewer, "/details", entity=target.identity)
    assert f"{world.name}.orders.price" in found.by_id["columns"]
    assert "etl" in found.by_id["executions"]
    assert f"/navlin/lineage?entity={target.identity}" in found.links()
    assert found.of("dt", title="parentPath"), "a label is in words, and its tooltip has the field's name"
    statement = page(viewer, "/details", entity=operation.identity)
    assert statement.by_id["text"] == "insert into report select price * 2 from orders"


def test_an_expression_without_data_is_on_the_page_of_the_table_and_of_the_column(
    world: World, viewer: Browser
) -> None:
    facts, made = world.table("facts", "amount", "country"), world.table("made", "revenue", "orders")
    parts = {"made.revenue": ["facts.amount"], "made.orders": []}
    operation = world.operation("sum", [facts], [made], parts=parts, steering_columns=["facts.country"])
    for name, expression in (("made.revenue", "sum(amount)"), ("made.orders", "count(1)")):
        world.entity(sub_operation_key(operation, name), expression=expression)
    world.index()
    rows = page(viewer, "/details", entity=made.identity).tables["columns"]
    origins = {row[1].strip(): row[-1].strip() for row in rows[1:]}
    assert origins == {"revenue": f"{world.name}.facts.amountsum(amount)", "orders": "count(1)"}
    [_, row] = page(viewer, "/details", entity=column_key(made, "orders").identity).tables["sources"]
    assert [cell.strip() for cell in row] == [
        f"{world.name}.facts.country",
        "control",
        f"sum → {world.name}.made",
        "count(1)",
        "recorded",
    ]


def test_a_paths_contents_are_listed_whatever_characters_it_has(world: World, viewer: Browser) -> None:
    directory = world.path('/data/"quoted" \\ AND (odd)')
    file = world.path('/data/"quoted" \\ AND (odd)/part-0', kind=EntityType.FILE)
    world.index()
    assert (
        f"/navlin/details?entity={file.identity}"
        in page(viewer, "/details", entity=directory.identity).links()
    )


def test_a_directory_is_called_empty_only_if_it_is(world: World, viewer: Browser) -> None:
    def said(key: Key) -> str:
        return page(viewer, "/details", entity=key.identity).text

    empty, excluded, new = world.path("/empty"), world.path("/excluded"), world.path("/new")
    world.elements[empty.identity]["contentFiles"] = 0
    world.elements[excluded.identity]["contentFiles"] = 12
    named = world.granted(path_key(world.source(HIVE), "/named"))
    world.index()
    assert "This directory is empty: it has no files." in said(empty)
    assert "The last image has 12 files here, none of them in the index." in said(excluded)
    assert [word for word in ("empty", "Empty", "image") if word in said(new)] == []
    assert "Contents" not in said(named)
    save_positions(world.solr, world.source(HDFS).id, "f", [Position(ENTRIES, ALL)], {})
    world.solr.commit(RUNS, soft=True)
    assert "Empty, except for what the source's filters exclude." in said(new)


def test_a_search_marks_sources_that_are_not_configured(world: World, viewer: Browser) -> None:
    world.granted(path_key(world.source(LOCAL), "/tmp/export"))
    world.table("orders")
    world.index()
    found = page(viewer, "/search", query=world.name)
    assert f"{world.name}-local (not configured)" in found.by_id["filters"]
    assert f"{world.name}-hive (not configured)" not in found.by_id["filters"]
    assert f"{world.name}-hive" in found.by_id["filters"]


def test_names_may_be_broken_after_dots_slashes_and_underscores(world: World, viewer: Browser) -> None:
    orders = world.table("tmp_orders", "<b>_id")
    world.index()
    text = viewer.send("GET", "/details", headers=HTML, params={"entity": orders.identity}).text
    assert f"{world.name}.<wbr>tmp_<wbr>orders</h1>" in text
    assert ">&lt;b&gt;_<wbr>id</a>" in text


def test_placeholder_columns_are_named_as_sources_and_targets(world: World, viewer: Browser) -> None:
    source, report = world.table("source", "country"), world.table("report", "remark")
    ghost = world.named("ghost")
    world.operation("create ghost", [source], [ghost], parts={"ghost.remark": ["source.country"]})
    world.operation("insert report", [ghost], [report], parts={"report.remark": ["ghost.remark"]})
    world.index()
    placeholder = f"{world.name}.ghost.remark placeholder"

    assert placeholder in page(viewer, "/details", entity=report.identity).by_id["columns"]
    column = page(viewer, "/details", entity=column_key(report, "remark").identity)
    assert placeholder in column.by_id["sources"]
    assert "insert report" in column.by_id["sources"]
    column = page(viewer, "/details", entity=column_key(source, "country").identity)
    assert placeholder in column.by_id["targets"]


def test_unlisted_relations_are_counted(world: World, viewer: Browser) -> None:
    many = world.path("/many")
    for number in range(12):
        world.operation(f"read {number} of many", [many], [])
    world.index()
    shown = page(viewer, "/details", entity=many.identity)
    assert "and 2 more" in shown.text
    (every,) = [link for link in shown.links() if "/search?query=type%3ADATA_FLOW" in link]
    found = page(viewer, "/search", 200, **dict(parse_qsl(urlsplit(every).query)))
    assert "1–12 of 12" in found.by_id["counted"]


def test_unlisted_executions_are_linked(world: World, viewer: Browser) -> None:
    often = world.operation("often", [], [world.path("/often")])
    for number in range(12):
        world.execution(often, f"often-{number}")
    world.index()
    shown = page(viewer, "/details", entity=often.identity)
    every = next(link for link in shown.links() if "/search?query=type%3AINSTANCE_OF" in link)
    assert "All 12" in shown.text
    found = page(viewer, "/search", 200, **dict(parse_qsl(urlsplit(every).query)))
    assert "1–12 of 12" in found.by_id["counted"]


def test_a_page_of_an_operation_lists_its_executions_once(world: World, viewer: Browser) -> None:
    report = world.table("report")
    statement = world.operation("insert into report values (1)", [], [report])
    runs = {world.execution(statement, f"run-{number}").identity for number in range(3)}
    world.index()
    links = [
        link for link in page(viewer, "/details", entity=statement.identity).links() if "/details?" in link
    ]
    assert sorted(link for link in links if any(run in link for run in runs)) == sorted(
        f"/navlin/details?entity={run}" for run in runs
    )
    run = page(viewer, "/details", entity=sorted(runs)[0])
    assert f"/navlin/details?entity={statement.identity}" in run.links(), (
        "the page of an execution names its statement"
    )


def test_an_unknown_name_suggests_similar_ones(world: World, viewer: Browser) -> None:
    orders = world.table("orders")
    world.index()
    found = page(viewer, "/details", 404, entity=f"{world.name}.order")
    assert f'no entity named "{world.name}.order' in found.by_id["problem"]
    assert f"/navlin/details?entity={orders.identity}" in found.links()


def test_evidence_is_a_document_with_only_its_own_style(world: World, viewer: Browser) -> None:
    source, target = world.table("orders"), world.table("report")
    world.operation("insert into report select * from orders", [source], [target])
    world.index()
    answer = viewer.send("GET", "/evidence", headers=HTML, params={"entity": target.identity})
    assert "insert into report select * from orders" in answer.text
    [style] = re.findall("<style>(.*?)</style>", answer.text, re.DOTALL)
    digest = b64encode(sha256(style.encode()).digest()).decode()
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}';")


def test_entities_inheriting_a_tag_are_shown_with_their_path(
    world: World, viewer: Browser, editor: Browser
) -> None:
    source, target = world.table("orders", "id"), world.table("report", "id")
    world.operation("insert", [source], [target], parts={"report.id": ["orders.id"]})
    world.index()
    tag = uuid4().hex
    editor.write("/api/navlin/v1/edit", json={"entity": world.column("orders.id").identity, "tag": [tag]})
    found = page(viewer, "/inherited", word=tag)
    assert f"{world.name}.report.id" in found.by_id["listed"]
    assert f"{world.name}.orders.id" in found.by_id["listed"]
    assert f"insert → {world.name}.report" in found.by_id["listed"]
    assert "Nothing is tagged" in page(viewer, "/inherited", word=uuid4().hex).text


@pytest.mark.parametrize(("tab", "to"), [("", "/details"), ("lineage", "/lineage")])
def test_navigators_entity_addresses_redirect_to_their_pages(
    world: World, viewer: Browser, tab: str, to: str
) -> None:
    query = {"view": "detailsView", "id": "x1", "b": "y", **({"tab": tab} if tab else {})}
    answer = viewer.send("GET", "/", headers=HTML, params=query)
    assert (answer.status_code, answer.headers["Location"]) == (303, f"/navlin{to}?entity=x1")
    assert viewer.send("GET", "/", headers=HTML).headers["Location"] == "/navlin/search"


# -- Editing -------------------------------------------------------------------------------------------------------------


def form_of(found: Document, action: str) -> dict[str, str]:
    assert found.of("form", action=action)
    return {
        each["name"]: each.get("value", "")
        for each in found.of("input")
        if "name" in each and each["name"] != "query"
    }


def test_a_submitted_form_changes_the_page_and_the_history(world: World, editor: Browser) -> None:
    orders = world.table("orders")
    world.index()
    form = form_of(page(editor, "/details", entity=orders.identity), "/navlin/edit")
    written = {
        **form,
        "description": "all of them",
        "tags": "pii, daily",
        "properties": "team=sales\r\nlevel = 2",
    }

    answer = editor.send("POST", "/edit", data=written, headers=HTML)
    assert (answer.status_code, answer.headers["Location"]) == (
        303,
        f"/navlin/details?entity={orders.identity}",
    )
    found = page(editor, "/details", entity=orders.identity)
    assert found.by_id["description"] == "all of them"
    assert found.by_id["tags"].split() == ["pii", "daily"]
    assert "editor" in found.by_id["history"]


def test_a_form_writes_only_changed_fields_and_keeps_concurrent_edits(world: World, editor: Browser) -> None:
    orders = world.table("orders")
    world.index()
    form = form_of(page(editor, "/details", entity=orders.identity), "/navlin/edit")
    editor.write(
        "/api/navlin/v1/edit", json={"entity": orders.identity, "tag": ["theirs"], "description": "theirs"}
    )

    editor.send("POST", "/edit", data={**form, "tags": "mine"}, headers=HTML)
    found = page(editor, "/details", entity=orders.identity)
    assert sorted(found.by_id["tags"].split()) == ["mine", "theirs"]
    assert found.by_id["description"] == "theirs"


def test_multi_line_values_and_tags_with_commas_are_kept_by_the_form(world: World, editor: Browser) -> None:
    orders = world.table("orders")
    world.index()
    fields = world.elements[orders.identity]
    fields.update(
        {"tags": ["eu, personal", "daily"], "up_note": "line one\nstep=2\nlast", "up_path": "C:\\new"}
    )
    world.index()

    def form() -> dict[str, str]:
        return form_of(page(editor, "/details", entity=orders.identity), "/navlin/edit")

    before = form()
    typed = before["was_properties"].replace("line one", "line 1")
    answer = editor.send("POST", "/edit", data={**before, "tags": "daily", "properties": typed}, headers=HTML)
    assert answer.status_code == 303, answer.text
    words = show(world.solr, orders.identity).fields.people
    assert words["tags"] == ["daily"]
    assert (words["up_note"], words["up_path"]) == ("line 1\nstep=2\nlast", "C:\\new")


def test_a_form_without_the_sessions_token_is_refused(world: World, editor: Browser) -> None:
    orders = world.table("orders")
    world.index()
    form = form_of(page(editor, "/details", entity=orders.identity), "/navlin/edit")
    for csrf in ("", "x" * 43):
        answer = editor.send("POST", "/edit", data={**form, "csrf": csrf, "tags": "mine"}, headers=HTML)
        assert answer.status_code == 403
    assert page(editor, "/details", entity=orders.identity).by_id["tags"].strip() == ""


def test_a_user_who_may_not_edit_sees_no_form_and_is_refused(world: World, viewer: Browser) -> None:
    orders = world.table("orders")
    world.index()
    assert not page(viewer, "/details", entity=orders.identity).of("form", action="/navlin/edit")
    answer = viewer.send("POST", "/edit", data={"entity": orders.identity, "csrf": viewer.csrf}, headers=HTML)
    assert answer.status_code == 403
    assert "metadata-administrator" in document(answer).by_id["problem"]


# -- Login ---------------------------------------------------------------------------------------------------------------


def test_a_page_redirects_to_the_login_and_back(web: Web) -> None:
    browser = Browser(web)
    answer = browser.send("GET", "/search", headers=HTML, params={"query": "a b"})
    assert (answer.status_code, answer.headers["Location"]) == (
        303,
        "/navlin/login?next=%2Fnavlin%2Fsearch%3Fquery%3Da%2Bb",
    )
    form = form_of(page(browser, "/login", next="/navlin/search?query=a+b"), "/navlin/login")

    wrong = browser.log_in("viewer", data={**form, "name": "viewer", "password": "wrong"}, headers=HTML)
    assert wrong.status_code == 401
    again = document(wrong)
    assert again.of("p", role="alert")
    right = browser.log_in(
        "viewer",
        data={**form_of(again, "/navlin/login"), "name": "viewer", "password": PASSWORD},
        headers=HTML,
    )
    assert (right.status_code, right.headers["Location"]) == (303, "/navlin/search?query=a+b")
    assert page(browser, "/search").of("form", action="/navlin/logout")


def test_static_files_are_public_and_cacheable(web: Web) -> None:
    browser = Browser(web)
    found = page(browser, "/login")
    files = [each["href"] for each in found.of("link")] + [each["src"] for each in found.of("script")]
    assert files
    for each in files:
        answer = browser.send("GET", each.removeprefix("/navlin"))
        assert answer.status_code == 200
        assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    for outside in ("../page.py", "%2e%2e/page.py", "static/../../page.py", "templates/base.html"):
        beyond = re.sub(r"static/[^/]+$", outside, files[0]).removeprefix("/navlin")
        assert browser.send("GET", beyond).status_code in (401, 404), beyond


# -- Every page ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("each", [each for each in PAGES if each.method == "GET"], ids=lambda each: each.path)
def test_markup_in_names_and_metadata_is_escaped_on_every_page(
    each: object, world: World, viewer: Browser, editor: Browser
) -> None:
    path: str = each.path  # type: ignore[attr-defined]  # a Page
    evil = world.table(f"t{MARKUP}", f"c{MARKUP}", owner=MARKUP, originalDescription=MARKUP)
    world.operation(f"insert {MARKUP}", [], [evil])
    world.index()
    editor.write(
        "/api/navlin/v1/edit",
        json={"entity": evil.identity, "tag": [MARKUP], "description": MARKUP, "name": MARKUP},
    )
    for query in (
        {"entity": evil.identity},
        {"entity": MARKUP},
        {"query": MARKUP},
        {"query": f'sourceId:"{evil.source.id}"'},
    ):
        answer = viewer.send("GET", path, headers=HTML, params=query)
        assert "<img" not in answer.text
        assert PRODUCT not in answer.text
        document(answer)


def test_an_unknown_address_has_an_error_page_and_a_json_form(viewer: Browser) -> None:
    assert "page not found" in page(viewer, "/nowhere", 404).by_id["problem"]
    # Clients of the API still get JSON errors.
    assert viewer.send("GET", "/nowhere").json() == {"message": "page not found"}


def test_each_source_is_shown_with_its_runs_and_an_administrator_may_run_it(
    solr: Solr, tmp_path: Path
) -> None:
    (tmp_path / "logs").mkdir()
    source = [
        "[[source]]",
        f'name = "{(name := uuid4().hex)}"',
        'extractor = "impala_events"',
        'directory = "logs"',
    ]
    with running_web(solr.address, tmp_path, *source) as web:
        viewer, chief = Browser(web), Browser(web)
        viewer.log_in("viewer")
        chief.log_in("chief")
        for browser, may_run in ((viewer, False), (chief, True)):
            found = page(browser, "/sources")
            assert [each["data-source"] for each in found.of("section") if "data-source" in each] == [name]
            assert "never" in found.by_id["source-1"]
            assert bool(found.of("form", action="/navlin/run")) == may_run
            # No navlin serve runs here, and the page says so.
            assert found.by_id["nodaemon"]
        refused = chief.send("POST", "/run", data={"csrf": chief.csrf, "source": name}, headers=HTML)
        assert "navlin serve is not running here" in document_of(refused, 503).by_id["problem"]


def document_of(answer: requests.Response, status: int) -> Document:
    assert answer.status_code == status, answer.text
    return document(answer)


def test_the_manual_names_every_page_and_has_a_section_for_its_help_link() -> None:
    shown = [each.path for each in PAGES if each.method == "GET" and each.path != "/request"]
    assert [each for each in shown if f"`{each}`" not in manual_page("how-to/console")] == []
    helped = [each.path.strip("/") for each in PAGES if each.method == "GET"]
    assert [each for each in helped if f"(page-{each})=" not in manual_page("reference/console")] == []


def test_every_page_requires_its_role(web: Web) -> None:
    stranger, viewer = Browser(web), Browser(web)
    viewer.log_in("viewer")
    for each in PAGES:
        answer = stranger.send(each.method, each.path, headers=HTML)
        assert answer.status_code == (303 if each.method == "GET" else 401), each.path
        if each.role > Role.LINEAGE_VIEWER:
            form = {"csrf": viewer.csrf, "entity": "x", "source": "x"}
            assert viewer.send(each.method, each.path, data=form, headers=HTML).status_code == 403, each.path
