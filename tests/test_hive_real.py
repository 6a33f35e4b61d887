"""Hive itself: what its LineageLogger hook writes of real statements over a real metastore."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from extractors.hive_events import HiveEvents
from navlin.model.source import HIVE, Estate, Source, source_id
from tests.record_edges import Read, read_all
from tests.services.hive import run_hive
from tests.services.metastore import Metastore

SOURCE = Source(source_id("c", "HIVESERVER2-1"), HIVE, "HIVESERVER2-1", "c", claimable=False)
STATEMENTS = (
    "create database shopping",
    "create table shopping.orders (id int, region string, amount int, year int)",
    "create table shopping.other (a string, b int)",
    "create table shopping.totals as select region, sum(amount) as total"
    " from shopping.orders where year = 2026 group by region",
    "create view shopping.v as select upper(region) as r, total from shopping.totals",
    "from shopping.orders insert overwrite table shopping.totals select region, amount"
    " insert into table shopping.other select concat(region, 'x'), id",
)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, metastore: Metastore, hive_jars: Path) -> Iterator[Read]:
    log = run_hive(STATEMENTS, tmp_path_factory.mktemp("hive"), hive_jars, metastore.uri)
    yield Read(read_all(HiveEvents(SOURCE, Estate("c", (SOURCE,)), str(log.parent), log.name)))


def test_hive_tells_which_column_came_from_which(told: Read) -> None:
    totals = "shopping.totals.region, shopping.totals.total"
    assert told.columns == {
        "PROJECTION shopping.orders.region -> shopping.totals.region",
        "PROJECTION shopping.orders.amount -> shopping.totals.total",
        f"PREDICATE shopping.orders.year -> {totals}",
        "PROJECTION shopping.totals.region -> shopping.v.r",
        "PROJECTION shopping.totals.total -> shopping.v.total",
        "PROJECTION shopping.orders.region -> shopping.other.a",
        "PROJECTION shopping.orders.id -> shopping.other.b",
    }
    assert told.rejects == []


def test_statements_are_what_they_are(told: Read) -> None:
    kinds = {
        operation.attributes["queryText"]: operation.attributes["operationType"]
        for operation in told.operations
    }
    assert kinds == {
        STATEMENTS[3]: "CREATETABLE_AS_SELECT",
        STATEMENTS[4]: "CREATEVIEW",
        STATEMENTS[5]: "INSERT_OVERWRITE",
    }
