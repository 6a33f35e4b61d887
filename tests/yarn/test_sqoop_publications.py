"""Files of navlin's publisher for Sqoop name the Hive table that a job's configuration does not name."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from extractors.yarn import SqoopPublications
from navlin.model.keys import EntityType, RelationType
from navlin.model.plan import Plan, Positions
from navlin.model.records import Reject
from navlin.model.source import SQOOP, Estate, Source, source_id
from tests.support.sqoop_jobs import columns_of
from tests.support.stored import stored
from tests.support.yarn_rounds import METASTORE, Extracted

PUBLISHED = Source(source_id("c", "SQOOP-1"), SQOOP, "SQOOP-1", "c", claimable=False)
ESTATE = Estate("c", (PUBLISHED, METASTORE))
NOW_MS = 1_790_000_000_000
RECORD: dict[str, Any] = {
    "operation": "import",
    "user": "etl",
    "url": "jdbc:postgresql://db:5432/shop",
    "storeTable": "orders",
    "storeQuery": None,
    "hiveDB": "mart",
    "hiveTable": "orders",
    "startTime": NOW_MS - 60_000,
    "endTime": NOW_MS - 30_000,
    "options": {"db.column.list": "id,amount", "db.where.clause": "id > 0", "db.username": "etl"},
}


def read(directory: Path, *records: Any) -> Extracted:
    """Return the records of files, one for each record; a text is written as it is."""
    for number, each in enumerate(records):
        text = each if isinstance(each, bytes) else json.dumps(each).encode()
        (directory / f"sqoop-{number}.json").write_bytes(text + b"\n")
    extractor = SqoopPublications(PUBLISHED, ESTATE, str(directory))
    found = Extracted(Plan())
    for split in extractor.plan(Positions({}, NOW_MS)).splits:
        found.records += extractor.read(split)
    return found


def test_a_file_adds_the_hive_table_and_its_columns_as_inferred(tmp_path: Path) -> None:
    found = read(tmp_path, RECORD)
    [operation] = found.operations.values()
    assert found.flows >= {("shop.orders", "import of shop.orders"), ("import of shop.orders", "orders")}
    assert operation.attributes["outputs"] == ["mart.orders"]
    assert "incompleteReasons" not in operation.attributes
    assert columns_of(found) == {
        "mart.orders.id": "shop.orders.id |",
        "mart.orders.amount": "shop.orders.amount |",
    }
    into = [
        each
        for each in found.relations(RelationType.DATA_FLOW)
        if EntityType.TABLE is each.ep2.type or EntityType.TABLE is (each.ep2.parent and each.ep2.parent.type)
    ]
    assert len(into) == 3
    assert all(each.attributes["inferred"] for each in into)
    assert {each.ep2.source.id for each in into} == {METASTORE.id}
    [execution] = found.executions.values()
    assert (execution.attributes["dbWhere"], execution.attributes["dbUser"]) == ("id > 0", "etl")
    assert (execution.attributes["started"], execution.attributes["ended"]) == (
        NOW_MS - 60_000,
        NOW_MS - 30_000,
    )
    assert not found.relations(RelationType.LOGICAL_PHYSICAL)


@pytest.mark.parametrize(
    ("name", "inputs", "outputs", "columns"),
    [
        (
            "published-hive-import", ["CUSTOMERS"], ["mart.customers"],
            {"mart.customers.ID": "CUSTOMERS.ID |", "mart.customers.NAME": "CUSTOMERS.NAME |"},
        ),
        (
            "published-hive-query", ["CUSTOMERS", "ORDERS"], ["mart.named"],
            {
                "mart.named.ID": "ORDERS.ID |",
                "mart.named.NAME": "CUSTOMERS.NAME |",
                "*": "| CUSTOMERS.ID ORDERS.CUSTOMER_ID",
            },
        ),
    ],
)  # fmt: skip
def test_files_of_a_real_sqoop_are_read(
    corpora: Path, tmp_path: Path, name: str, inputs: list[str], outputs: list[str], columns: dict[str, str]
) -> None:
    shutil.copyfile(corpora / "seed-systems" / "sqoop" / f"{name}.json", tmp_path / "sqoop-1.json")
    found = read(tmp_path)
    [operation] = found.operations.values()
    assert sorted(operation.attributes["inputs"]) == inputs
    assert operation.attributes["outputs"] == outputs
    assert columns_of(found) == columns


def test_the_table_of_a_query_is_hives_and_not_the_databases(tmp_path: Path) -> None:
    query = {
        "storeQuery": "SELECT id FROM crm.lines WHERE $CONDITIONS",
        "storeTable": "orders",
        "options": {},
    }
    [operation] = read(tmp_path, RECORD | query).operations.values()
    assert operation.attributes["inputs"] == ["shop.crm.lines"]


def test_an_export_of_a_catalog_table_reads_it(tmp_path: Path) -> None:
    found = read(tmp_path, RECORD | {"operation": "export", "storeTable": "totals"})
    [operation] = found.operations.values()
    assert (operation.attributes["inputs"], operation.attributes["outputs"]) == (
        ["mart.orders"],
        ["shop.totals"],
    )
    assert columns_of(found) == {"shop.totals.id": "|", "shop.totals.amount": "|"}


def test_two_runs_of_one_import_are_one_operation(tmp_path: Path) -> None:
    later = RECORD | {"endTime": NOW_MS, "options": RECORD["options"] | {"db.where.clause": "id > 7"}}
    found = read(tmp_path, RECORD, later)
    assert len(found.operations) == 1
    assert len(found.executions) == 2
    assert len({each.key.parent.identity for each in found.executions.values() if each.key.parent}) == 1


def test_a_table_that_was_only_created_moves_no_data(tmp_path: Path) -> None:
    found = read(tmp_path, RECORD | {"operation": "createHiveTable"})
    assert not found.operations
    assert not found.rejects


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (b"no JSON", "the line is not JSON"),
        (b"[]", "the line is not a JSON object"),
        ({}, "the record has no operation that moves data"),
        (RECORD | {"operation": 7}, "the record has no operation that moves data"),
        (RECORD | {"hiveTable": None}, "the record does not name a Hive table in a form that navlin can read"),
        (RECORD | {"hiveTable": "a.b.c"}, "the record does not name a Hive table in a form that navlin can read"),
        (RECORD | {"hiveTable": "x" * 1_000_000}, "the record does not name a Hive table in a form that navlin can read"),
        (RECORD | {"startTime": None, "endTime": None}, "the record has neither endTime nor startTime"),
        (RECORD | {"startTime": "soon", "endTime": 10**30}, "the record has neither endTime nor startTime"),
        (b"[" * 100_000, "the line is not JSON"),
    ],
    ids=range(10),
)  # fmt: skip
def test_a_file_that_cannot_be_read_is_rejected_and_the_others_are_read(
    tmp_path: Path, record: Any, reason: str
) -> None:
    found = read(tmp_path, record, RECORD)
    assert len(found.operations) == 1
    assert [each.reason.startswith(reason) for each in found.rejects] == [True]


def test_an_impossible_time_is_left_out(tmp_path: Path) -> None:
    found = read(tmp_path, RECORD | {"startTime": -1})
    [execution] = found.executions.values()
    assert execution.attributes["started"] is None
    assert len([each for each in found.records if isinstance(each, Reject)]) == 1


@pytest.mark.parametrize(
    "odd",
    [
        {"options": None},
        {"options": {"db.column.list": 7}},
        {"url": None},
        {"url": "x" * 1_000_000},
        {"storeTable": None},
        {"storeTable": "x" * 1_000_000},
        {"user": {"a": 1}},
        {"storeQuery": "(" * 10_000},
    ],
    ids=range(8),
)
def test_an_unsuitable_value_makes_the_operation_incomplete(tmp_path: Path, odd: dict[str, Any]) -> None:
    found = read(tmp_path, RECORD | odd)
    [operation] = found.operations.values()
    assert operation.attributes["outputs"] == ["mart.orders"]
    if "user" not in odd:
        assert operation.attributes["incompleteReasons"]


def test_no_password_of_a_file_is_kept(tmp_path: Path) -> None:
    secret = RECORD | {
        "url": "jdbc:mysql://etl:hunter2@db/shop?password=hunter2",
        "storeQuery": "SELECT id FROM t WHERE password = 'hunter2' AND $CONDITIONS",
        "options": {"db.password": "hunter2", "db.where.clause": "password = 'hunter2'"},
    }
    found = read(tmp_path, secret, secret | {"storeQuery": None}, b'{"storeTable": "password=hunter2"')
    assert "hunter2" not in stored(found.records)
