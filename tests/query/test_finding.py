"""Search results for users, ranked: exact names first, then name components, comments and statements."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner

from navlin.cli import main
from navlin.index.schema.fields import ELEMENTS
from navlin.index.search.searching import MOST_COUNTED_BESIDE
from navlin.index.solr.solr import Solr
from navlin.model.keys import (
    EntityType,
    execution_key,
    operation_key,
    partition_key,
    sub_operation_key,
)
from navlin.query.finding import find_for_people
from navlin.query.scanner import QueryError
from navlin.query.value_counts import count_values
from navlin.query.whole_result import whole_result
from navlin.solr_server.embedded import EmbeddedSolr
from tests.support.http_browser import Browser
from tests.support.query_estate import SPARK, World
from tests.support.web import Web

HTML = {"Accept": "text/html"}


@pytest.fixture(scope="module")
def world(solr_server: EmbeddedSolr) -> Iterator[World]:
    with Solr(solr_server.start()) as solr:
        world = World(solr, "finding", database="fnd")
        world.table("revenue", "amount", "day")
        world.table("revenue_daily")
        world.table("old_revenue", deleted=True)
        world.table("customer_orders_2024", "SalesRegion", "order_total")
        world.table("salesregion", originalDescription="Who sells where")
        world.table("plain", originalDescription="日次売上集計")
        world.table("kata", originalDescription="カスタマーテーブル")
        world.table("hangul", originalDescription="고객의주소")
        world.table("thai", originalDescription="ตารางลูกค้า")
        world.table("cyrillic", originalDescription="Договоры с поставщиками")
        world.table("apart", originalDescription="代号与编码")
        world.table("together", originalDescription="证券代码表")
        world.path("/fnd/landing/revenue")
        world.path("/fnd/landing/revenue/part-0", kind=EntityType.FILE)
        world.path("/fnd/landing/revenue stream")
        load = world.operation("insert into fnd.revenue select * from fnd.raw", [], [world.named("revenue")])
        for number in range(40):
            world.entity(
                sub_operation_key(load, f"fnd.revenue.part{number}", name=f"fnd.revenue.part{number}")
            )
        world.execution(load, "fnd-run-1")
        world.entity(partition_key(world.named("revenue"), "revenue_day=1"))
        world.entity(operation_key(world.source(SPARK), "fnd plan", (), name="fnd nightly load"))
        world.entity(execution_key(operation_key(world.source(SPARK), "o", ()), "application_77_0001"))
        tagged = world.elements[world.table("tagged").identity]
        tagged.update(
            {"name": "Große Übersicht", "description": "What the auditors want", "tags": ["Secret"]}
        )
        world.index()
        yield world


def mine(world: World) -> str:
    return "{!terms f=srcId}" + ",".join(source.id for source in world.sources.values())


def names(world: World, query: str, limit: int = 100, **more: Any) -> list[str]:
    found = find_for_people(world.solr, query, filters=[mine(world)], limit=limit, **more)
    return [f"{each['type']} {each['originalName']}" for each in found.documents]


@pytest.mark.parametrize("query", ["nd.custo", "ND.customer_orders_20", '"nd.customer_or"', r"nd\.custo"])
def test_a_partial_qualified_name_may_start_within_the_database_name(world: World, query: str) -> None:
    assert names(world, query) == ["TABLE customer_orders_2024"]
    assert names(world, "nd.orders_2024") == [], "the table's name begins so"


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("fnd.revenue", "TABLE revenue"),
        ("FND.Revenue.AMOUNT", "FIELD amount"),
        ("revenue.amount", "FIELD amount"),
        ("fnd", "DATABASE fnd"),
        ("/fnd/landing/revenue", "DIRECTORY revenue"),
        ("/fnd/landing/revenue/", "DIRECTORY revenue"),
        ("hdfs://finding/fnd/landing/revenue", "DIRECTORY revenue"),
        ("hdfs://nowhere:8020/fnd/landing/revenue", "DIRECTORY revenue"),
        ("/fnd/landing/revenue stream", "DIRECTORY revenue stream"),
        ("landing/revenue", "DIRECTORY revenue"),
        ("fnd.revenue.revenue_day=1", "PARTITION revenue_day=1"),
        ("application_77_0001", "OPERATION_EXECUTION application_77_0001"),
        ("fnd nightly load", "OPERATION fnd nightly load"),
        ("reven", "TABLE revenue"),
        ("venu", "TABLE revenue"),
        ("revenue", "TABLE revenue"),
        ("REVENUE", "TABLE revenue"),
        ("fnd.reven", "TABLE revenue"),
        ("order", "FIELD order_total"),
        ("orde", "TABLE customer_orders_2024"),
        ("orders", "TABLE customer_orders_2024"),
        ("customer orders", "TABLE customer_orders_2024"),
        ("stomer orders 20", "TABLE customer_orders_2024"),
        ("Region", "FIELD SalesRegion"),
        ("sales region", "FIELD SalesRegion"),
        ("salesregion", "TABLE salesregion"),
        ("order total", "FIELD order_total"),
        ("sells where", "TABLE salesregion"),
        ("auditor", "TABLE tagged"),
        ("secret", "TABLE tagged"),
        ("große übersicht", "TABLE tagged"),
        ("bersich", "TABLE tagged"),
        ("売上", "TABLE plain"),
        ("テーブル", "TABLE kata"),
        ("주소", "TABLE hangul"),
        ("ลูกค้า", "TABLE thai"),
        ("ДОГОВОРЫ", "TABLE cyrillic"),
        ("договор", "TABLE cyrillic"),
        ("代码", "TABLE together"),
        ('"revenue"', "TABLE revenue"),
        ("originalName:revenue_daily", "TABLE revenue_daily"),
    ],
)
def test_an_exact_name_ranks_first_and_a_partial_name_matches(world: World, query: str, first: str) -> None:
    assert names(world, query)[0] == first


def test_an_id_finds_its_entity(world: World) -> None:
    assert names(world, world.named("revenue").identity) == ["TABLE revenue"]


def test_separated_characters_are_not_one_word(world: World) -> None:
    assert names(world, "代码") == ["TABLE together"]


def test_a_quoted_name_is_exact(world: World) -> None:
    assert names(world, '"revenue"') == [
        "TABLE revenue",
        "DIRECTORY revenue",
        "OPERATION insert into fnd.revenue select * from fnd.raw",
    ]
    assert "TABLE revenue_daily" in names(world, "revenue")
    assert "TABLE revenue_daily" not in names(world, '"revenue"')
    assert names(world, '"reven"') == []


def test_results_rank_from_whole_to_partial_names_and_deleted_ones_last(world: World) -> None:
    found = names(world, "revenue")
    order = ["TABLE revenue", "DIRECTORY revenue", "TABLE revenue_daily", "TABLE old_revenue"]
    assert [found.index(each) for each in order] == sorted(found.index(each) for each in order)
    assert found[-1] == "TABLE old_revenue"


def test_sub_operations_runs_and_partitions_are_counted_and_found_by_a_filter(world: World) -> None:
    found = find_for_people(world.solr, "revenue", filters=[mine(world)], limit=100)
    assert found.folded == {"SUB_OPERATION": 40, "PARTITION": 1}
    assert {each["type"] for each in found.documents} == {"TABLE", "DIRECTORY", "FILE", "OPERATION"}
    parts = find_for_people(world.solr, "revenue", filters=[mine(world), "type:SUB_OPERATION"], limit=0)
    assert (parts.total, parts.folded) == (40, {})


@pytest.fixture
def swarm(world: World) -> Iterator[World]:
    """More entities of one name, its source among them, than folded types are counted next to."""
    swarm = World(world.solr, "swarm")
    for number in range(MOST_COUNTED_BESIDE):
        swarm.entity(operation_key(swarm.source(SPARK), f"swarm {number}", ()))
    swarm.index()
    yield swarm
    swarm.solr.delete_ids(ELEMENTS, list(swarm.elements))
    swarm.solr.commit(ELEMENTS, soft=True)


def test_with_very_many_results_folded_types_are_named_but_not_counted(swarm: World, web: Web) -> None:
    asked = web.asked("/search", query="swarm")
    assert (asked["total"], asked["folded"]) == (len(swarm.elements), None)
    said = CliRunner().invoke(main, ["--config", str(web.file), "search", "swarm"])
    assert "parts of statements are not shown: --filter type:SUB_OPERATION\n" in said.output
    browser = Browser(web)
    browser.log_in("viewer")
    shown = browser.send("GET", "/search", headers=HTML, params={"query": "swarm"}).text
    folded = shown.partition('id="folded">')[2].partition("</p>")[0]
    assert folded.startswith('not shown: <a href="/navlin/search?query=swarm&amp;type=SUB_OPERATION')
    assert ">parts of statements</a>, <a" in folded
    _, lines = whole_result(swarm.solr, "swarm", [])
    assert sum(1 for _ in lines) == len(swarm.elements)


@pytest.mark.parametrize("query", ["*", "-deleted:true", "lastModified:[* TO *] OR *:*"])
def test_sub_operations_and_runs_are_folded_without_a_word_too(world: World, query: str) -> None:
    found = find_for_people(world.solr, query, filters=[mine(world)], limit=0)
    every = find_for_people(world.solr, query, filters=[mine(world), "-type:NONE"], limit=0)
    assert found.folded == {"SUB_OPERATION": 40, "OPERATION_EXECUTION": 2, "PARTITION": 1}
    assert (found.total + 43, every.folded) == (every.total, {})
    _, lines = whole_result(world.solr, query, [mine(world)])
    assert sum(1 for _ in lines) == every.total, "nothing in a whole result says what is folded"


@pytest.mark.parametrize(
    "query",
    [
        *("revenue", "fnd.revenue", "*", "part39", "owner:nobody", "-deleted:true", "stomer orders 20"),
        *("/revenue", "landing/revenue", "revenue_daily", "代码", "op.reven", "Region", '"revenue"'),
    ],
)
def test_counts_equal_the_search_results(world: World, query: str) -> None:
    found = find_for_people(world.solr, query, filters=[mine(world)], limit=0)
    counted = count_values(world.solr, query, ["sourceType"], filters=[mine(world)])
    assert (counted.counted.total, counted.folded) == (found.total, found.folded)
    by_type = count_values(world.solr, query, ["type"], filters=[mine(world)])
    assert (by_type.counted.total, by_type.folded) == (found.total + sum((found.folded or {}).values()), {})


def test_sub_operations_are_shown_if_nothing_else_matches(world: World) -> None:
    found = find_for_people(world.solr, "part39", filters=[mine(world)])
    assert [each["originalName"] for each in found.documents] == ["fnd.revenue.part39"]
    _, lines = whole_result(world.solr, "part39", [mine(world)])
    assert [each["originalName"] for each in lines] == ["fnd.revenue.part39"]


def test_navigators_syntax_gives_navigators_results(world: World) -> None:
    assert len(names(world, "type:SUB_OPERATION")) == 40
    assert names(world, "originalName:reven") == []
    assert len(names(world, "fnd.revenue.par*")) == 40
    assert set(names(world, "revenue -daily")) == set(names(world, "revenue")) - {"TABLE revenue_daily"}


def test_pages_follow_one_order_with_the_exact_name_once_on_top(world: World) -> None:
    whole = find_for_people(world.solr, "fnd.revenue", filters=[mine(world)], limit=100)
    ids = [each["identity"] for each in whole.documents]
    assert len(ids) == len(set(ids)) == whole.total > 1
    pages = [
        document["identity"]
        for offset in range(0, whole.total, 2)
        for document in find_for_people(
            world.solr, "fnd.revenue", filters=[mine(world)], limit=2, offset=offset
        ).documents
    ]
    assert pages == ids
    _, lines = whole_result(world.solr, "fnd.revenue", [mine(world)])
    assert sorted(each["identity"] for each in lines) == sorted(ids)


def test_filters_and_sort_orders_apply_to_the_exact_name_too(world: World) -> None:
    assert names(world, "fnd.revenue", sort="originalName desc")[-1] != "TABLE revenue"
    live = find_for_people(world.solr, "fnd.old_revenue", filters=[mine(world), "-deleted:true"])
    assert world.named("old_revenue").identity not in {each["identity"] for each in live.documents}


def test_an_unparsable_query_may_be_a_name_and_is_otherwise_refused(world: World) -> None:
    world.table("odd (1", "a:b")
    world.index()
    assert names(world, "fnd.odd (1")[0] == "TABLE odd (1"
    assert names(world, "fnd.odd (1.a:b")[0] == "FIELD a:b"
    with pytest.raises(QueryError, match="unclosed parenthesis, at character 1"):
        names(world, "(fnd.nothing")


@pytest.mark.parametrize("text", ["w" * 5_000, "w" * 1_000, "w" * 1_000 + "*", "word " + "w" * 40_000])
def test_a_very_long_word_is_searched_efficiently(world: World, text: str) -> None:
    world.table("w" * 128)
    world.index()
    before_s = time.monotonic()
    assert names(world, f"{text} OR fnd.revenue_daily")[0] == "TABLE revenue_daily"
    assert names(world, text) == []
    assert time.monotonic() - before_s < 10, "Solr is asked for each piece of the word"


def test_every_interface_has_the_same_first_result_and_reports_folded_types(world: World, web: Web) -> None:
    wanted = world.named("revenue").identity
    asked = web.asked("/search", query="fnd.revenue", filter=mine(world))
    assert asked["results"][0]["identity"] == wanted
    browser = Browser(web)
    browser.log_in("viewer")
    said = CliRunner().invoke(main, ["--config", str(web.file), "search", "fnd.revenue"])
    assert said.output.splitlines()[1].split() == ["TABLE", "fnd.revenue", "HIVE"]
    shown = browser.send("GET", "/search", headers=HTML, params={"query": "fnd.revenue"}).text
    assert shown.partition("<li data-id=")[2].startswith(f'"{wanted}"')

    assert web.asked("/search", query="revenue", filter=mine(world))["folded"]["SUB_OPERATION"] == 40
    narrowed = ["search", "revenue", "--filter", mine(world)]
    said = CliRunner().invoke(main, ["--config", str(web.file), *narrowed])
    assert "and 40 parts of statements: --filter type:SUB_OPERATION\n" in said.output
    assert "and 1 partition: --filter type:PARTITION\n" in said.output
    said = CliRunner().invoke(main, ["--config", str(web.file), "count", *narrowed[1:], "--by", "owner"])
    assert "and 40 parts of statements: --filter type:SUB_OPERATION\n" in said.output
    source = world.sources["IMPALA"].id
    answer = browser.send("GET", "/search", headers=HTML, params={"query": "revenue", "sourceId": source})
    assert ">40 parts of statements</a></p>" in answer.text
    assert "type=SUB_OPERATION" in answer.text.partition('id="folded"')[2].partition("</p>")[0]
    for without_words in ({}, {"sourceId": source}):
        text = browser.send("GET", "/search", headers=HTML, params=without_words).text
        assert "parts of statements</a>" in text.partition('id="folded"')[2].partition("</p>")[0]
        assert 'data-type="SUB_OPERATION"' not in text


def test_navigators_api_gives_the_results_its_clients_expect(world: World, web: Web) -> None:
    address = "/api/v9/interactive/entities"
    assert web.get(address, query="fnd_reven").json()["totalMatched"] == 0
    parts = web.get(address, query=f"revenue AND sourceId:{world.sources['IMPALA'].id}", limit=100).json()
    assert {each["type"] for each in parts["results"]} == {"OPERATION", "SUB_OPERATION"}
