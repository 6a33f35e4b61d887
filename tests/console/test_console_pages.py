"""Pages about the whole estate (unused entities, purges, held runs, sources) and the history of an entity. Requested
over HTTP, as by a browser without JavaScript.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from navlin.cli.invocation import Exit
from navlin.console import PAGES
from navlin.console.hue import hue_address
from navlin.index.graph.entity import StoredEntity
from navlin.index.journal.purges import UnfinishedPurge, remember_unfinished
from navlin.index.journal.requests import Job, RequestState, leave_request, requests_for, save_request
from navlin.index.journal.runs import Status, last_run
from navlin.index.schema.fields import RUNS
from navlin.service.jobs import run_as_json
from tests.cli.test_cli import json_of, run
from tests.console.test_console import Document, form_of, page
from tests.support.chromium import Chromium
from tests.support.console_estate import EVIL, STATEMENT, ConsoleEstate
from tests.support.http_browser import Browser
from tests.support.query_estate import HIVE
from tests.support.readable import misleading_page
from tests.support.visits import TELEPHONE, addresses, shown, wrong


@pytest.fixture(scope="module")
def viewer(console: ConsoleEstate) -> Browser:
    return logged_in(console, "viewer")


@pytest.fixture(scope="module")
def chief(console: ConsoleEstate) -> Browser:
    return logged_in(console, "chief")


def logged_in(console: ConsoleEstate, name: str) -> Browser:
    browser = Browser(console.web)
    browser.log_in(name)
    return browser


def sent(browser: Browser, found: Document, action: str, **fields: str) -> Document:
    """Submit a form with some fields changed, and return the next page."""
    form = {**form_of(found, f"/navlin{action}"), **fields}
    answer = browser.send("POST", action, data=form, headers={"Accept": "text/html"})
    assert answer.status_code == 303, answer.text
    return page(browser, answer.headers["Location"].removeprefix("/navlin"))


def cells(found: Document, table: str) -> list[list[str]]:
    """The cells of a table by row; the first row is the heading."""
    return [[" ".join(cell.split()) for cell in row] for row in found.tables[table]]


# -- Unused --------------------------------------------------------------------------------------------------------------


def test_the_unused_page_runs_no_query_until_a_period_is_given(viewer: Browser) -> None:
    found = page(viewer, "/unused")
    assert found.of("input", name="days")[0]["value"] == "90"
    assert "sums" not in found.by_id
    assert "/navlin/api/navlin/v1/unused?days=90&csv=true" in found.links()


def test_unused_tables_are_counted_by_verdict_as_in_the_api(console: ConsoleEstate, viewer: Browser) -> None:
    engines = ["hive", "impala", "spark"]
    asked: dict[str, Any] = {"days": 30, "without_engine": engines, "despite_gaps": "true"}
    answered = viewer.send("GET", "/api/navlin/v1/unused", params=asked).json()
    found = page(viewer, "/unused", **asked)
    for verdict, words in (("unused", "Unused"), ("not known", "Unknown"), ("used", "Used")):
        assert f"{words}{answered['totals'][verdict]['tables']}" in found.by_id["sums"]
    assert answered["totals"]["unused"] == {"tables": 1, "sizeBytes": 3 << 30}
    assert cells(found, "owners")[1] == ["ann", "sales", "1", "3.2 GB"]
    assert cells(found, "listed")[1][:3] == ["sales.abandoned", "3.2 GB", "none"]
    assert "Hive reads nothing here" in found.by_id["evidence"]
    assert "location unknown" in found.by_id["reasons"]
    assert "cut" not in found.by_id
    [csv] = [each for each in found.links() if "csv=true" in each]
    assert "days=30&without_engine=hive&without_engine=impala&without_engine=spark&despite_gaps=True" in csv
    lines = viewer.send("GET", csv.removeprefix("/navlin")).text.splitlines()
    assert len(lines) == 1 + len(answered["tables"])


def test_a_page_that_ran_out_of_time_reports_its_progress() -> None:
    from navlin.console import unused

    look = unused._Look(time.monotonic() - 1)
    assert len(list(look.in_time(iter("abc")))) == 1  # type: ignore[arg-type]  # whatever is judged
    assert look.cut
    look = unused._Look(time.monotonic() - 1)

    def judged() -> Iterator[Any]:
        look.progress(50, 100)
        yield "never"

    assert list(look.in_time(judged())) == []
    assert (look.cut, look.done, look.every) == (True, 50, 100)
    look = unused._Look(time.monotonic() - 1)
    look.progress(100, 100)
    assert not look.cut, "nothing is left"


def test_no_page_is_misleading(console: ConsoleEstate, chief: Browser) -> None:
    found = {}
    for path, queries in addresses(console).items():
        for query in queries if path != "/search" else ():
            text = chief.send("GET", f"{path}?{query}", headers={"Accept": "text/html"}).text
            if bad := misleading_page(text):
                found[f"{path}?{query}"] = bad
    assert found == {}


# -- Purge ---------------------------------------------------------------------------------------------------------------


def test_a_purge_is_previewed_before_it_is_confirmed(console: ConsoleEstate, chief: Browser) -> None:
    executions = "type:OPERATION_EXECUTION"
    before = console.solr.count("nav_elements", executions)
    assert before == 3
    first = page(chief, "/purges")
    asked = sent(chief, first, "/purge", before="2026-06-01")
    assert asked.by_id["state"].startswith("waiting")
    assert asked.of("meta", **{"http-equiv": "refresh"})
    console.answer_requests()

    address = f"/request?id={newest_request(console)}"
    dry = page(chief, address)
    assert dry.by_id["state"].strip() == "done"
    assert "to be removed" in dry.by_id["report"].lower()
    assert console.solr.count("nav_elements", executions) == before
    sent(chief, dry, "/purge")
    console.answer_requests()
    done = page(chief, f"/request?id={newest_request(console)}")
    assert ": removed" in done.by_id["report"]
    assert not done.of("form", id="remove")
    assert console.solr.count("nav_elements", executions) == 0
    past = page(chief, "/purges").by_id["past"]
    assert "3 executions" in past
    assert "chief" in past
    assert "81 executions" in past, "those before"


def test_an_empty_purge_offers_no_removal(console: ConsoleEstate, chief: Browser) -> None:
    given = {"before_ms": 1, "dry_run": True, "deleted_files": True, "accepted": 0}
    left = leave_request(console.solr, Job.PURGE, given, "chief", time.time_ns() // 1_000_000)
    console.answer_requests()
    found = page(chief, "/request", id=left.id)
    assert found.by_id["state"] == "done"
    assert found.by_id["nothing"] == "Nothing to remove."
    assert not found.of("form", id="remove")


def newest_request(console: ConsoleEstate) -> str:
    return requests_for(console.solr, Job.PURGE)[0].id


def test_only_an_administrator_sees_purges(viewer: Browser) -> None:
    assert "administrator" in page(viewer, "/purges", 403).by_id["problem"]
    assert "/navlin/purges" not in page(viewer, "/search").links()


def test_a_purge_with_a_future_date_is_refused(chief: Browser) -> None:
    form = {"csrf": chief.csrf, "before": "2999-01-01", "dry_run": "true"}
    answer = chief.send("POST", "/purge", data=form, headers={"Accept": "text/html"})
    assert answer.status_code == 400
    assert "in the future" in answer.text


def test_a_job_is_shown_with_its_result(console: ConsoleEstate, chief: Browser) -> None:
    held = last_run(console.solr, console.world.source(HIVE).id, Status.HELD)
    assert held is not None
    answers = {
        Job.EXTRACT: run_as_json(held, dry_run=False),
        Job.LINK: {"resolve_endpoints": 12_345, "add_locations": 0, "inherited": 0},
    }
    shown = {}
    for job, answer in answers.items():
        left = leave_request(console.solr, job, {"source": console.held}, "chief", 1_795_000_000_000)
        waiting = page(chief, "/request", id=left.id)
        assert waiting.of("meta", **{"http-equiv": "refresh"})
        save_request(
            console.solr, replace(left, state=RequestState.DONE, answer=answer, ended_ms=1_795_000_001_000)
        )
        shown[job] = page(chief, "/request", id=left.id)
        assert not shown[job].of("meta", **{"http-equiv": "refresh"})
    assert "1,204 of 1,300" in shown[Job.EXTRACT].by_id["report"]
    assert "entities that are gone: 1,204" in shown[Job.EXTRACT].text
    assert f"/navlin/held?source={console.held}" in shown[Job.EXTRACT].links()
    assert "relations resolved or unresolved: 12,345" in shown[Job.LINK].text


# -- Held runs and sources -----------------------------------------------------------------------------------------------


def test_a_blocked_run_shows_the_affected_entities_and_an_administrator_may_accept(
    console: ConsoleEstate, viewer: Browser, chief: Browser
) -> None:
    assert f"/navlin/held?source={console.held}" in page(viewer, "/sources").links()
    seen = page(viewer, "/held", source=console.held)
    assert "1,204 of 1,300" in seen.by_id["note"]
    assert f"/navlin/details?entity={console.report.identity}" in seen.links()
    # The table with its five columns and three partitions.
    assert ["/SALES/REVENUE", "table sales.revenue", "9"] in cells(seen, "listed")
    assert ["/GONE", "", "0"] in cells(seen, "listed")
    assert not seen.of("form", id="accept")

    form = form_of(page(chief, "/held", source=console.held), "/navlin/run")
    assert form["accept_loss"].endswith("##25")
    assert form["source"] == console.held


def test_the_command_shows_blocked_deletions_and_the_way_to_accept_them(console: ConsoleEstate) -> None:
    shown = run(console.web.file, "blocked", console.held)
    assert shown.exit_code == Exit.OK
    assert "1,204 of 1,300" in shown.stdout
    assert f"navlin extract {console.held} --accept-loss '" in shown.stdout
    answer = json_of(run(console.web.file, "blocked", console.held, "--json"))
    places = {each["path"]: each for each in answer["results"]}
    assert (places["/SALES/REVENUE"]["entities"], places["/GONE"]["entity"]) == (9, None)
    assert places["/SALES/REVENUE"]["entity"]["id"] == console.report.identity
    assert run(console.web.file, "blocked", "estate-impala").exit_code == Exit.NOTHING


def test_the_command_shows_the_history_of_purges(console: ConsoleEstate) -> None:
    text = run(console.web.file, "purges").stdout
    assert "81 executions" in text
    answer = json_of(run(console.web.file, "purges", "--json"))
    assert answer["total"] == len(answer["results"]) > 0
    assert 81 in [each["rules"].get("executions", {}).get("removed") for each in answer["results"]]


def test_a_source_without_a_blocked_run_and_an_unknown_source_are_reported(
    console: ConsoleEstate, viewer: Browser
) -> None:
    assert "Nothing to review for this source" in page(viewer, "/held", source="estate-impala").text
    assert "has no source 'nope'" in page(viewer, "/held", 404, source="nope").by_id["problem"]


def test_each_source_shows_its_age_and_last_runs(viewer: Browser) -> None:
    found = page(viewer, "/sources")
    bars = [each for each in found.of("rect") if "run" in each["class"].split()]
    assert len(bars) == 3 * 24 + 1
    assert [each["class"] for each in bars].count("run failed") == 2
    assert [each["class"] for each in bars].count("run held") == 1
    tallest = [int(each["height"]) for each in bars]
    assert max(tallest) == 32
    assert min(tallest) >= 3
    impala = found.by_id["source-2"]
    assert "2 unresolved" in impala
    assert " s ago" in impala
    assert "nodaemon" not in found.by_id


def test_runs_and_sources_have_different_words_for_different_counts(viewer: Browser) -> None:
    runs, sources = page(viewer, "/runs"), page(viewer, "/sources")
    assert "read: 744, new: 24, unchanged: 720" in runs.by_id["listed"]
    for word in ("entities", "relations"):
        assert word not in runs.by_id["listed"].replace("entities that are gone", "").replace(
            "1,300 entities", ""
        )
        assert word in sources.by_id["source-2"]
    assert "what is in the index now" in runs.by_id["counts"]


def test_sources_lists_sources_that_are_not_configured_any_more(viewer: Browser) -> None:
    assert "estate-hdfs: no longer configured" in page(viewer, "/sources").text


def test_an_unfinished_daily_purge_is_shown_above_the_sources(
    console: ConsoleEstate, viewer: Browser
) -> None:
    solr = console.world.solr
    assert "purge" not in page(viewer, "/sources").by_id
    remember_unfinished(solr, UnfinishedPurge("held, nothing was removed", 1_700_000_000_000, 0))
    try:
        assert "held, nothing was removed" in page(viewer, "/sources").by_id["purge"]
    finally:
        solr.delete_ids(RUNS, ["purge:unfinished"])


# -- Details -------------------------------------------------------------------------------------------------------------


def test_columns_are_in_order_with_their_expressions(console: ConsoleEstate, viewer: Browser) -> None:
    text = page(viewer, "/details", entity=console.report.identity).by_id["columns"]
    names = ["country", "segment", "amount", "buyers", "day"]
    places = [text.index(f"\n{name}") if f"\n{name}" in text else text.index(name) for name in names]
    assert places == sorted(places)
    assert "sum(case when o.state = 'paid'" in text
    assert "c.country" not in text, "an expression that only names its source says nothing more"


def test_the_history_of_a_table_is_listed_newest_first(console: ConsoleEstate, viewer: Browser) -> None:
    text = page(viewer, "/details", entity=console.report.identity).by_id["changes"]
    words = ["renamed from", "recreated", "first seen", "created\n"]
    places = [text.rindex(each.strip()) if each == "created\n" else text.index(each) for each in words]
    assert places == sorted(places)
    assert "sales.revenue_2025" in text
    before = console.world.named("revenue_2025").identity
    text = page(viewer, "/details", entity=before).by_id["changes"]
    assert "renamed to" in text and "sales.revenue" in text and "flagged deleted" in text


def test_a_statement_is_formatted_and_its_original_can_be_copied(
    console: ConsoleEstate, viewer: Browser
) -> None:
    found = page(viewer, "/details", entity=console.operation.identity)
    assert "\nfrom sales.orders o\nleft join" in found.by_id["text"]
    assert found.by_id["recorded"] == STATEMENT


def test_a_form_preserves_characters_that_the_page_replaces(console: ConsoleEstate, chief: Browser) -> None:
    found = page(chief, "/details", entity=console.evil.identity)
    form = form_of(found, "/navlin/edit")
    assert [form[each] for each in ("was_name", "was_description", "was_tags", "name", "tags")] == [EVIL] * 5
    assert found.by_id["description"] == EVIL.replace("\u202e", "\ufffd")
    # These values are the contents of text areas, which have no value attribute.
    boxes = {"description": EVIL, "properties": f"a={EVIL}"}
    saved = sent(chief, found, "/edit", tags=f"{EVIL}, more", **boxes)
    assert form_of(saved, "/navlin/edit")["was_description"] == EVIL
    assert form_of(saved, "/navlin/edit")["tags"] == f"{EVIL}, more"


def test_tables_and_paths_link_to_hue(console: ConsoleEstate, viewer: Browser) -> None:
    def hue(identity: str) -> str:
        return page(viewer, "/details", entity=identity).of("a", id="hue")[0]["href"]

    root = "https://hue.example:8888/hue"
    assert hue(console.report.identity) == f"{root}/metastore/table/sales/revenue"
    assert hue(console.world.column("revenue.amount").identity) == f"{root}/metastore/table/sales/revenue"
    assert hue(console.directory.identity) == f"{root}/filebrowser/view=/warehouse/sales.db/revenue"
    assert not page(viewer, "/details", entity=console.operation.identity).of("a", id="hue")


HUE = "https://hue.example/"
TABLE = {
    "identity": "i",
    "type": "TABLE",
    "sourceType": "HIVE",
    "originalName": "a/b?c",
    "parentPath": "/d b",
}
RUN = {"identity": "i", "type": "OPERATION_EXECUTION", "sourceType": "YARN", "originalName": "x"}


@pytest.mark.parametrize(
    ("document", "address"),
    [
        (TABLE, "https://hue.example/metastore/table/d%20b/a%2Fb%3Fc"),
        ({**TABLE, "deleted": True}, ""),
        ({**TABLE, "sourceType": "SDK"}, ""),
        ({**TABLE, "type": "DATABASE"}, "https://hue.example/metastore/tables/a%2Fb%3Fc"),
        ({**RUN, "jobId": "job_17_0004"}, "https://hue.example/jobbrowser#!id=application_17_0004"),
        ({**RUN, "jobId": "local-17"}, ""),
        (
            {"identity": "i", "type": "FILE", "sourceType": "HDFS", "fileSystemPath": "/a b#c"},
            f"{HUE}filebrowser/view=/a%20b%23c",
        ),
        ({"identity": "i", "type": "FILE", "sourceType": "S3", "fileSystemPath": "s3a://b/c"}, ""),
    ],
    ids=[
        "a table",
        "deleted",
        "of no metastore",
        "a database",
        "a job",
        "no job of YARN",
        "a path",
        "a path of S3",
    ],
)
def test_names_in_hue_links_are_escaped(document: dict[str, Any], address: str) -> None:
    assert hue_address(HUE, StoredEntity.of(document)) == address
    assert hue_address("", StoredEntity.of(document)) == ""


# -- In a real browser -----------------------------------------------------------------------------------------------------


def test_every_page_of_the_console_is_checked(console: ConsoleEstate) -> None:
    assert set(addresses(console)) == {each.path for each in PAGES if each.method == "GET"}


@pytest.mark.services
def test_no_page_has_an_accessibility_error_or_overflows_a_phone(
    console: ConsoleEstate, window: Chromium
) -> None:
    window.size(*TELEPHONE)
    found = []
    for path, queries in addresses(console).items():
        shown(window, f"{path}?{queries[0]}")
        found += wrong(window, path)
    assert found == []
