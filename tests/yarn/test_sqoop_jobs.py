"""Sqoop's jobs: each sample of a real JobHistoryServer has the ends and columns that were written down before."""

from __future__ import annotations

from pathlib import Path

import pytest

from navlin.model.identity import identify
from navlin.model.keys import EntityType, RelationType
from navlin.model.records import Covered, Entity, Relation
from tests.support.sqoop_jobs import captured, columns_of, extracted, without_yarn

DATABASE = "hsqldb:hsql://db1.example:9001/sales"
MOVED = "its data are in a directory from which Sqoop moves them elsewhere"
PERHAPS_HIVE = (
    "its directory is the default one, from which a Hive import moves the data into a table that its configuration"
    " does not name"
)
# fmt: off
PICTURES = {
    "table": (
        ["ORDERS"], ["/data/shop/orders"], [],
        {f"/data/shop/orders.{name}": f"ORDERS.{name} |" for name in ("ID", "CUSTOMER_ID", "AMOUNT", "DAY", "NOTE")},
    ),
    "numeric-name": (
        ["ORDERS"], ["/data/shop/n42"], [],
        {f"/data/shop/n42.{name}": f"ORDERS.{name} |" for name in ("ID", "CUSTOMER_ID", "AMOUNT", "DAY", "NOTE")},
    ),
    "query": (
        ["CUSTOMERS", "ORDERS"], ["/data/shop/order_names"], [],
        {
            "/data/shop/order_names.ID": "ORDERS.ID |",
            "/data/shop/order_names.CUSTOMER": "CUSTOMERS.NAME |",
            "/data/shop/order_names.AMOUNT": "ORDERS.AMOUNT |",
            "*": "| CUSTOMERS.ID ORDERS.AMOUNT ORDERS.CUSTOMER_ID",
        },
    ),
    "hive": (
        ["CUSTOMERS"], ["/user/root/CUSTOMERS"], [PERHAPS_HIVE],
        {f"/user/root/CUSTOMERS.{name}": f"CUSTOMERS.{name} |" for name in ("ID", "NAME")},
    ),
    "hive-query": (
        ["CUSTOMERS", "ORDERS"], ["/data/shop/hq"], [],
        {
            "/data/shop/hq.ID": "ORDERS.ID |",
            "/data/shop/hq.NAME": "CUSTOMERS.NAME |",
            "*": "| CUSTOMERS.ID ORDERS.CUSTOMER_ID",
        },
    ),
    "append": (
        ["ORDERS"], [], [MOVED],
        {name: f"ORDERS.{name} |" for name in ("ID", "CUSTOMER_ID", "AMOUNT", "DAY", "NOTE")},
    ),
    "lastmodified": (
        ["CUSTOMERS"], [], [MOVED],
        {name: f"CUSTOMERS.{name} |" for name in ("ID", "NAME", "EMAIL", "UPDATED")},
    ),
    "lastmodified-merge": (["/data/shop/cust"], ["/data/shop/cust"], [MOVED], {}),
    "export": (
        ["/data/totals"], ["TOTALS"], [],
        {f"TOTALS.{name}": "|" for name in ("CUSTOMER_ID", "TOTAL")},
    ),
}
"""Sample → (inputs, outputs, reasons, {written column: "data sources | control sources"})."""
# fmt: on


@pytest.mark.parametrize("name", PICTURES)
def test_a_sample_has_its_ends_and_columns(corpora: Path, name: str) -> None:
    found = without_yarn(extracted(captured(corpora, name)))
    [operation] = found.operations.values()
    inputs, outputs, reasons, columns = PICTURES[name]
    assert (
        sorted(operation.attributes["inputs"]),
        operation.attributes["outputs"],
        operation.attributes.get("incompleteReasons", []),
    ) == (inputs, outputs, reasons)
    assert columns_of(found) == columns
    assert found.flows - {each for each in found.flows if operation.key.name not in each} == (
        {(end, operation.key.name) for end in inputs} | {(operation.key.name, end) for end in outputs}
    )


def test_every_sample_has_a_picture(corpora: Path) -> None:
    names = {each.stem for each in (corpora / "seed-systems" / "sqoop").glob("conf-*.json")}
    assert names == {f"conf-{name}" for name in PICTURES}


def test_an_import_has_the_properties_of_navigator(corpora: Path) -> None:
    found = without_yarn(extracted(captured(corpora, "append")))
    [operation] = found.operations.values()
    assert {name: value for name, value in operation.attributes.items() if value} == {
        "internalType": "sqoop_operation",
        "engineType": "SQOOP",
        "operationType": "IMPORT",
        "dbURL": f"jdbc:{DATABASE}",
        "dbTable": "ORDERS",
        "dbUser": "etl",
        "dbColumnExpression": "ID,CUSTOMER_ID,AMOUNT,DAY,NOTE",
        "inputs": ["ORDERS"],
        "incomplete": True,
        "incompleteReasons": [MOVED],
    }
    [execution] = found.executions.values()
    assert execution.attributes["dbWhere"] == '"ID" > 1 AND "ID" <= 3'
    assert execution.attributes["jobId"] == "job_1799000000000_0001"
    assert (execution.attributes["status"], execution.attributes["principal"]) == ("SUCCEEDED", "etl")
    assert operation.key.source.type == execution.key.source.type == "SQOOP"
    assert found.run_for == {("SQOOP", "sqoop job_1799000000000_0001", "application_1799000000000_0001")}


def test_a_table_of_a_database_is_a_dataset_with_fields(corpora: Path) -> None:
    found = extracted(captured(corpora, "hive"))
    datasets = [
        each.ep1 for each in found.relations(RelationType.DATA_FLOW) if each.ep1.type is EntityType.DATASET
    ]
    [dataset] = {each.identity: each for each in datasets}.values()
    assert dataset.identity == identify(dataset.source.id, DATABASE, "CUSTOMERS")
    fields = {
        each.ep1.identity
        for each in found.relations(RelationType.DATA_FLOW)
        if each.ep1.type is EntityType.FIELD
    }
    assert fields == {identify(dataset.identity, name) for name in ("ID", "NAME")}


def test_an_import_of_modified_rows_and_its_merge_are_one_run(corpora: Path) -> None:
    found = without_yarn(
        extracted(captured(corpora, "lastmodified"), captured(corpora, "lastmodified-merge"))
    )
    [operation] = found.operations.values()
    assert operation.attributes["inputs"] == ["CUSTOMERS", "/data/shop/cust"]
    assert operation.attributes["outputs"] == ["/data/shop/cust"]
    assert "incompleteReasons" not in operation.attributes
    assert columns_of(found) == {
        f"/data/shop/cust.{name}": f"CUSTOMERS.{name} |" for name in ("ID", "NAME", "EMAIL", "UPDATED")
    }
    assert found.run_for == {
        ("SQOOP", "sqoop job_1799000000000_0001", f"application_1799000000000_000{number}")
        for number in (1, 2)
    }


def test_yarns_own_operation_of_a_job_leaves_the_ends_to_sqoops(corpora: Path) -> None:
    found = extracted(captured(corpora, "table"))
    [yarn] = [
        each
        for each in found.records
        if isinstance(each, Entity) and each.attributes.get("internalType") == "yarn_operation"
    ]
    assert not {"inputs", "outputs", "incomplete"} & {
        name for name, value in yarn.attributes.items() if value
    }
    ends = [
        each
        for each in found.records
        if isinstance(each, Relation) and yarn.key.identity in (each.ep1.identity, each.ep2.identity)
    ]
    assert not ends
    # Earlier versions of navlin had the directory in YARN's operation.
    [directory] = {
        each.ep2.identity
        for each in found.relations(RelationType.DATA_FLOW)
        if each.ep2.type is EntityType.DIRECTORY
    }
    mapper = "org.apache.sqoop.mapreduce.TextImportMapper"
    former = identify(yarn.key.source.id, "ORDERS.jar", mapper, "", directory)
    assert f"/operations/{former}" in {each.path for each in found.records if isinstance(each, Covered)}


def test_a_failed_import_has_an_execution_and_no_flow(corpora: Path) -> None:
    found = without_yarn(extracted(captured(corpora, "table"), state="FAILED"))
    assert not found.flows
    [execution] = found.executions.values()
    assert execution.attributes["status"] == "FAILED"
    assert not [
        each
        for each in found.records
        if isinstance(each, Entity) and each.key.type is EntityType.SUB_OPERATION
    ]
