"""Filters, joins and groupings of a Spark job, and its file formats, from the plan to the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from extractors.spark.plan.conditions import Conditions
from extractors.spark.plan.tree import walk
from navlin.index.solr.solr import Solr
from navlin.query.evidence import evidence
from navlin.render.evidence import evidence_html
from tests.support.http_browser import Browser
from tests.support.query_estate import SPARK, World
from tests.support.spark_logs import end, extracted_of, node, start
from tests.support.spark_plans import inserting, op, written
from tests.support.spark_plans import scan as scan_of_table
from tests.support.web import Web

INSERT = (
    "Execute InsertIntoHadoopFsRelationCommand hdfs://nn/warehouse/shop.db/revenue, false, [day#9], Parquet,"
    " [path=hdfs://nn/warehouse/shop.db/revenue], Overwrite, `spark_catalog`.`shop`.`revenue`, [region, total, day]"
)


def scan(name: str, text: str, **metadata: str) -> dict[str, Any]:
    return {**node(name, text), "metadata": metadata}


def plan() -> dict[str, Any]:
    """A plan as Spark 4 prints it: a partition of orders, joined with customers and summed by region."""
    orders = scan(
        "Scan parquet spark_catalog.shop.orders",
        "FileScan parquet spark_catalog.shop.orders[customer#1L,amount#2,ds#3] Batched: true",
        PartitionFilters="[isnotnull(ds#3), (ds#3 = 2026-01-01)]",
    )
    customers = scan(
        "Scan orc spark_catalog.shop.customers", "FileScan orc spark_catalog.shop.customers[id#7L]"
    )
    chosen = node(
        "Filter", "Filter ((isnotnull(amount#2) AND (amount#2 > 10.00)) AND isnotnull(customer#1L))", orders
    )
    joined = node(
        "BroadcastHashJoin",
        "BroadcastHashJoin [customer#1L], [id#7L], LeftOuter, BuildRight, (amount#2 < limit#8), false",
        chosen,
        node(
            "BroadcastExchange",
            "BroadcastExchange HashedRelationBroadcastMode(List(input[0])), [plan_id=1]",
            customers,
        ),
    )
    lower = node(
        "HashAggregate",
        "HashAggregate(keys=[region#6, year(d#4)#5], functions=[partial_sum(amount#2)])",
        joined,
    )
    exchange = node("Exchange", "Exchange hashpartitioning(region#6, 200)", lower)
    upper = node(
        "HashAggregate", "HashAggregate(keys=[region#6, year(d#4)#5], functions=[sum(amount#2)])", exchange
    )
    return node("Execute InsertIntoHadoopFsRelationCommand", INSERT, upper)


def test_conditions_omit_ids_null_checks_and_repeated_steps() -> None:
    found = Conditions.of(walk(plan()))
    assert found == Conditions(
        filters=("amount > 10.00", "ds = 2026-01-01"),
        joins=("customer = id AND (amount < limit) (LeftOuter)",),
        groups=("region, year(d)",),
        reads=("parquet", "orc"),
        writes=("parquet",),
    )


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("SortMergeJoin", "SortMergeJoin [a#1, b#2], [c#3, d#4], Inner", "a = c AND b = d (Inner)"),
        ("CartesianProduct", "CartesianProduct", "all rows (Inner)"),
        ("CartesianProduct", "CartesianProduct (a#1 < b#2)", "a < b (Inner)"),
        ("BroadcastNestedLoopJoin", "BroadcastNestedLoopJoin BuildRight, Cross", "all rows (Cross)"),
        (
            "BroadcastNestedLoopJoin",
            "BroadcastNestedLoopJoin BuildLeft, Inner, (a#1 < b#2)",
            "a < b (Inner)",
        ),
    ],
)
def test_a_join_shows_its_keys_condition_and_type(name: str, text: str, expected: str) -> None:
    (join,) = Conditions.of(walk(node(name, text))).joins
    assert join == expected


def test_null_check_filters_are_omitted_and_an_unbalanced_one_is_kept() -> None:
    texts = ["Filter isnotnull(a#1)", "Filter (a#1 = x)) AND (b#2 = (y", "Filter "]
    assert [Conditions.of(walk(node("Filter", each))).filters for each in texts] == [
        (),
        ("(a = x)) AND (b = (y",),
        (),
    ]


def test_an_operation_has_the_conditions_of_its_plan(tmp_path: Path) -> None:
    extracted = extracted_of(tmp_path, start(0, plan()), end(0))
    [operation] = extracted.operations
    assert operation.attributes["filters"] == ["amount > 10.00", "ds = 2026-01-01"]
    assert operation.attributes["groupedBy"] == ["region, year(d)"]
    assert operation.attributes["formatsWritten"] == ["parquet"]


def test_conditions_are_shown_for_a_job_and_formats_for_a_table(solr: Solr, web: Web) -> None:
    world = World(solr, "conditions", database="cnd")
    provider = '{"spark.sql.sources.provider": "PARQUET"}'
    revenue = world.table("revenue", params=provider)
    orders = world.table("orders", serDeLibName="org.apache.hadoop.hive.ql.io.orc.OrcSerde")
    job = world.operation(
        "nightly", [orders], [revenue], engine=SPARK, filters=["amount > 10"], joins=["a = b (Inner)"]
    )
    world.index()
    browser = Browser(web)
    browser.log_in("viewer")

    def shown(identity: str) -> str:
        page = browser.send(
            "GET", "/details", headers={"Accept": "text/html"}, params={"entity": identity}
        ).text
        return page.partition('id="plan"')[2].partition("</section>")[0]

    assert "<dt>Filters</dt><dd><code" in shown(job.identity)
    assert "amount &gt; 10</code>" in shown(job.identity)
    assert "a = b (Inner)</code>" in shown(job.identity)
    assert ">parquet</code>" in shown(revenue.identity)
    assert ">orc</code>" in shown(orders.identity)
    assert "<p>Filters: amount &gt; 10</p>" in evidence_html(evidence(solr, revenue.identity, 0))


@pytest.mark.parametrize(
    ("printed", "told"),
    [
        ("(password#3 = planted)", "******** (password)"),
        ("((user#1 = ann) AND (md5(cast(pwd#2 as binary)) = planted))", "******** (user, pwd)"),
        ("api_token#4 IN (planted,planted too)", "******** (api_token)"),
        ("StartsWith(secret#5, planted)", "******** (secret)"),
        ("(planted = passwd#6)", "******** (passwd)"),
        ("(login#3.password = planted)", "******** (login)"),
        ("(login#3[password] = planted)", "******** (login)"),
        ("(get_json_object(body#3, $.token) = planted)", "******** (body)"),
        ("(password#3 = password#8)", "password = password"),
        ("(passenger#9 = ann)", "passenger = ann"),
    ],
)
def test_a_literal_compared_with_a_secret_column_is_masked(printed: str, told: str) -> None:
    [found] = Conditions.of(walk(node("Filter", f"Filter {printed}"))).filters
    assert found == told


def test_column_expressions_reveal_no_secret() -> None:
    given = "id#1, password#2"
    listed = (
        "id#1, CASE WHEN (password#2 = planted) THEN 1 ELSE 0 END AS hit#3, planted AS api_key#4, concat(planted, id#1)"
        " AS token#5"
    )
    below = scan_of_table("d.users", given)
    query = op("Project", f"Output [4]: [{listed}]\nInput [2]: [{given}]", below)
    told = {
        each.output: each.expression for each in written(inserting(query, "id, hit, api_key, token")).flows
    }
    assert told == {"id": "id", "hit": "******** (password)", "api_key": "********", "token": "********"}
