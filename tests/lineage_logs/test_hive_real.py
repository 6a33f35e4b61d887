"""Records that the LineageLogger hook of a real Hive writes for statements on a real metastore."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from extractors.hive_events import HiveEvents
from navlin.model.keys import EntityType
from navlin.model.source import HIVE, Estate, Source, source_id
from tests.services.hive import run_hive
from tests.services.metastore import Metastore
from tests.support.record_edges import Read, read_all

pytestmark = pytest.mark.services

SOURCE = Source(source_id("c", "HIVESERVER2-1"), HIVE, "HIVESERVER2-1", "c", claimable=False)
STATEMENTS = (
    "create database shopping",
    "create table shopping.orders (id int, region string, amount int, year int)",
    "create table shopping.other (a string, b int)",
    "create table shopping.totals as select region, sum(amount) as total"
    " from shopping.orders where year = 2026 group by region",
    "create view shopping.v as select upper(region) as r, total from shopping.totals",
    "create view shopping.swapped (total, region) as select region, total from shopping.totals",
    "create view shopping.twice (a1, a2) as select region p, region q from shopping.totals",
    "create view shopping.around (b1, b2, b3) as select region x, total y, region z"
    " from shopping.totals where total > 0",
    "create view shopping.unordered (c1, c2, c3) as select region x, total y, region z from shopping.totals",
    "from shopping.orders insert overwrite table shopping.totals select region, amount"
    " insert into table shopping.other select concat(region, 'x'), id",
    "insert overwrite directory '{directory}/a' select o.region from shopping.orders o",
    "from shopping.orders insert overwrite table shopping.other select region, id"
    " insert overwrite directory '{directory}/b' select region, amount where year > 2000",
    "analyze table shopping.orders compute statistics for columns",
    "create temporary table shopping.own as select id from shopping.orders",
)


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory, metastore: Metastore, hive_jars: Path) -> Iterator[Read]:
    out = tmp_path_factory.mktemp("out")
    statements = [each.format(directory=out) for each in STATEMENTS]
    log = run_hive(statements, tmp_path_factory.mktemp("hive"), hive_jars, metastore.uri)
    yield Read(read_all(HiveEvents(SOURCE, Estate("c", (SOURCE,)), str(log.parent), log.name)))


def test_hive_reports_column_lineage(read: Read) -> None:
    totals = "shopping.totals.region, shopping.totals.total"
    assert read.columns == {
        "PROJECTION shopping.orders.region -> shopping.totals.region",
        "PROJECTION shopping.orders.amount -> shopping.totals.total",
        f"PREDICATE shopping.orders.year -> {totals}",
        "PROJECTION shopping.totals.region -> shopping.v.r",
        "PROJECTION shopping.totals.total -> shopping.v.total",
        # Hive names the target columns as the query does, not as the view does.
        "PROJECTION shopping.totals.region -> shopping.swapped.total",
        "PROJECTION shopping.totals.total -> shopping.swapped.region",
        "PROJECTION shopping.totals.region -> shopping.twice.a1, shopping.twice.a2",
        "PROJECTION shopping.totals.region -> shopping.around.b1, shopping.around.b3",
        "PROJECTION shopping.totals.total -> shopping.around.b2",
        "PREDICATE shopping.totals.total -> shopping.around.b1, shopping.around.b2, shopping.around.b3",
        "PROJECTION shopping.totals.region -> shopping.unordered.c1, shopping.unordered.c3",
        "PROJECTION shopping.totals.total -> shopping.unordered.c2",
        "PROJECTION shopping.orders.region -> shopping.other.a",
        "PROJECTION shopping.orders.id -> shopping.other.b",
        # The targets are in a directory and in a session's temporary table.
        "PROJECTION shopping.orders.region -> ",
        "PROJECTION shopping.orders.id -> ",
        # Hive lists the columns of shopping.other as targets of the insert into the directory.
        "PROJECTION shopping.orders -> shopping.other",
    }
    assert read.rejects == []


def test_statements_have_their_operation_types(read: Read) -> None:
    kinds = [
        (operation.attributes["operationType"], bool(operation.attributes.get("incomplete")))
        for operation in read.operations
    ]
    assert kinds == [
        ("CREATETABLE_AS_SELECT", False),
        *[("CREATEVIEW", False)] * 5,
        ("INSERT_OVERWRITE", False),
        ("INSERT_OVERWRITE", True),
        ("INSERT_OVERWRITE", True),
        ("", False),
        ("CREATETABLE_AS_SELECT", False),
    ]


def test_a_statement_has_its_start_and_end_time(read: Read) -> None:
    now_ms = time.time_ns() // 1_000_000
    for run in read.of(EntityType.OPERATION_EXECUTION):
        started_ms, ended_ms = run.attributes["started"], run.attributes["ended"]
        assert now_ms - 3_600_000 < started_ms <= ended_ms <= now_ms
