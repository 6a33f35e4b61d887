"""Writes by Hudi's SQL, from a log that Spark 3.5 wrote with Hudi 1.0."""
# ruff: noqa: E501 - statements with all that flows through them

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.spark_logs import command, end, extracted_of, read_once, start
from tests.support.spark_statements import statements

UNKNOWN = [
    "navlin does not read the sources of MergeIntoHoodieTableCommand",
    "navlin did not find in the plan what is written",
]

# fmt: off
TRUTH = {
    "h_ctas": ("CREATETABLE_AS_SELECT", "src.cust", "out.h_ctas", {"id": "src.cust.id |", "nm": "src.cust.name | src.cust.id", "city": "src.cust.city | src.cust.id"}),
    "h_create": ("CREATETABLE", "", "out.h", {}),
    "h_insert": ("INSERT_INTO", "src.cust", "out.h", {"id": "src.cust.id |", "name": "src.cust.mail |", "city": "src.cust.city |"}),
    "h_insert_cols": ("INSERT_INTO", "src.cust", "out.h", {"id": "src.cust.id |", "name": "src.cust.name |", "city": "src.cust.city |"}),
    "h_overwrite": ("INSERT_OVERWRITE", "src.cust", "out.h", {"id": "src.cust.id |", "name": "src.cust.mail |", "city": "src.cust.city |"}),
    "h_createp": ("CREATETABLE", "", "out.hp", {}),
    "h_insertp": ("INSERT_INTO", "src.cust", "out.hp", {"id": "src.cust.id |", "name": "src.cust.mail |", "city": "src.cust.city |"}),
    "h_overwritep": ("INSERT_OVERWRITE", "src.cust", "out.hp", {"id": "src.cust.id |", "name": "src.cust.mail |", "city": "|"}),
    "h_ctasp": ("CREATETABLE_AS_SELECT", "src.cust", "out.h_ctasp", {"id": "src.cust.id |", "name": "src.cust.name |", "city": "src.cust.city |"}),
    "h_update": ("UPDATE", "out.h", "out.h", {"name": "out.h.city | out.h.id"}),
    "h_delete": ("DELETE", "out.h", "out.h", {"id": "| out.h.city", "city": "| out.h.city"}),
    "h_read": ("CREATETABLE_AS_SELECT", "out.h", "out.p", {"id": "out.h.id |", "name": "out.h.name |"}),
    "h_from_hudi": ("INSERT_INTO", "out.h", "out.hp", {"id": "out.h.id |", "name": "out.h.name |", "city": "out.h.city |"}),
    "h_mor": ("CREATETABLE_AS_SELECT", "src.cust", "out.hm", {"id": "src.cust.id |", "name": "src.cust.name |"}),
    "h_readmor": ("CREATETABLE_AS_SELECT", "out.hm", "out.p2", {"id": "out.hm.id |", "name": "out.hm.name |"}),
    "h_df": ("INSERT_OVERWRITE", "src.cust", "/srv/jobs/hudi/files/dfh", {"id": "src.cust.id |", "name": "src.cust.name |", "city": "src.cust.city |", "mail": "src.cust.mail |"}),
    "h_dft": ("CREATETABLE_AS_SELECT", "src.cust", "out.dft", {"id": "src.cust.id |", "name": "src.cust.name |", "city": "src.cust.city |", "mail": "src.cust.mail |"}),
    "h_truncate": ("TRUNCATETABLE", "", "out.hp", {}),
}
"""Statement → (kind, inputs, output, {column: "data sources | control sources"})."""
# fmt: on


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return {
        name: (each.operation, " ".join(each.inputs), " ".join(each.outputs), each.reasons, each.columns)
        for name, each in statements("hudi-1.0", tmp_path_factory.mktemp("hudi")).items()
    }


@pytest.mark.parametrize("name", TRUTH)
def test_a_statement_has_its_tables_and_columns(name: str, told: dict[str, Any]) -> None:
    operation, inputs, outputs, columns = TRUTH[name]
    names = {f"{outputs}.{column}": made for column, made in columns.items()}
    assert told[name] == (operation, inputs, outputs, [], names)


@pytest.mark.parametrize("name", ["h_merge", "h_merge_sub", "h_merge_star"])
def test_a_merge_lacks_its_source_and_target(name: str, told: dict[str, Any]) -> None:
    assert told[name] == ("MERGE", "", "", UNKNOWN, {})


@pytest.mark.parametrize(
    ("arguments", "operation", "outputs"),
    [
        ("Relation spark_catalog.out.h[id#1,name#2] parquet, false", "INSERT_INTO", ["out.h"]),
        ("Relation out.h[id#1,name#2] parquet, [ds=Some(1)], true", "INSERT_OVERWRITE", ["out.h"]),
        ("Relation [id#1,name#2] parquet, false", "INSERT_INTO", []),
    ],
)
def test_an_insert_has_the_table_named_by_its_relation(
    tmp_path: Path, arguments: str, operation: str, outputs: list[str]
) -> None:
    insert = command("InsertIntoHoodieTableCommand", arguments)
    [found] = extracted_of(tmp_path, start(0, insert), end(0)).operations
    assert (found.attributes["operationType"], found.attributes["outputs"]) == (operation, outputs)


def test_formerly_failing_records_of_others_are_correct(corpora: Path) -> None:
    records = corpora.parent / "failing" / "records"
    if not records.is_dir():
        pytest.skip("the failing inputs are not beside this checkout")
    found = {}
    for name in ("h_ctas", "h_insert", "h_merge"):
        [operation] = read_once(records / name).operations
        attributes = operation.attributes
        found[name] = (attributes["operationType"], attributes["outputs"], attributes["incompleteReasons"])
    assert found == {
        "h_ctas": ("CREATETABLE_AS_SELECT", ["out.h_ctas"], []),
        "h_insert": ("INSERT_INTO", ["out.h_insert"], []),
        "h_merge": ("MERGE", [], UNKNOWN),
    }
