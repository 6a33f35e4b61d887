"""The JSON format of current SQLFlow releases, and both formats as read by a third-party program."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from navlin.export.sqlflow import SqlFlowOptions, json_records
from navlin.export.values import Item
from tests.services.python_packages import Environment
from tests.support.exported import (
    dataset,
    described,
    every_kind,
    operation,
    part,
)
from tests.support.sqlflow_examples import EXAMPLES, RESULT_SET, xml

REPOSITORY = Path(__file__).parents[2]


# -- The JSON of the current releases -------------------------------------------------------------------------------------
def as_json(items: Iterable[Item], **options: bool) -> Any:
    return json.loads(b"".join(json_records(items, SqlFlowOptions(**options))))


def json_arrows(document: Any) -> set[str]:
    found = set()
    for relation in document["relationships"]:
        target = relation["target"]
        for source in relation["sources"]:
            ends = [
                each.get(f"{side}Name") or f"{each['parentName']}.{each['column']}"
                for side, each in (("source", source), ("target", target))
            ]
            found.add(RESULT_SET.sub("RS", f" -> {relation['type']} -> ".join(ends)))
    return found


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_json_equals_the_xml(name: str) -> None:
    example = EXAMPLES[name]

    assert json_arrows(as_json(example.items)) == example.columns
    assert json_arrows(as_json(example.items, table_level=True)) == example.tables


def test_objects_are_nested_by_server_and_database_and_ids_are_texts() -> None:
    document = as_json(
        [
            described(dataset("sales.orders"), [("id", "int")]),
            described(dataset("sales.v", "VIEW")),
            described(dataset("raw.a")),
            operation("insert", "INSERT", part(["sales.orders.id"], ["/in.id"], expression="a + b")),
        ]
    )
    servers = {each["name"]: each for each in document["dbobjs"]["servers"]}
    hms = servers["hms"]

    assert set(document) == {"dbobjs", "relationships", "processes", "errors"}
    assert (hms["dbVendor"], hms["supportsCatalogs"], hms["supportsSchemas"]) == ("dbvhive", True, False)
    assert [(each["name"], sorted(each.keys() - {"name"})) for each in hms["databases"]] == [
        ("raw", ["tables"]),
        ("sales", ["tables", "views"]),
    ]
    (orders,) = hms["databases"][1]["tables"]
    assert orders["name"] == "sales.orders" and isinstance(orders["id"], str)
    assert orders["columns"][0]["coordinates"] == [{"x": -1, "y": -1, "hashCode": "0"}] * 2
    (path,) = servers["hdfs"]["databases"][0]["others"]
    assert (path["type"], path["uri"]) == ("path", "hdfs://ns1/in")
    assert (
        document["processes"][0]["id"] == orders["processIds"][0] == document["relationships"][0]["processId"]
    )


# -- Read by a third-party program ----------------------------------------------------------------------------------------
# Expected (source, target, columns) as the reader of SQLFlow's JSON finds them. The reader ignores fdr relations, statements
# that write nothing, and flows from a table to itself. It looks through result sets.
READ = {
    "2 create a view, rename a table": [["t2", "v1", [["f1", "f1"]]]],
    "3 insert overwrite a directory": [
        [
            "pv_gender_sum",
            "file:///tmp/pv_gender_sum",
            [["PseudoRows", "uri=file:///tmp/pv_gender_sum"]],
        ]
    ],
    "8 create a view with a condition": [["scott.emp", "vEmp", [["empName", "eName"]]]],
    "an expression": [["a.s", "a.t", [["x", "z"], ["y", "z"]]]],
    "itself": [],
}


@pytest.mark.services
def test_the_schema_and_the_reader_accept_the_output(export_readers: Environment, tmp_path: Path) -> None:
    documents = {
        **{name: example.items for name, example in EXAMPLES.items()},
        "an expression": [
            operation("insert", "INSERT", part(["a.t.z"], ["a.s.x", "a.s.y"], expression="f(x + y)"))
        ],
        "itself": [operation("insert", "INSERT", part(["a.t.x"], ["a.t.x"]))],
        "every kind": every_kind(),
    }
    for name, items in documents.items():
        for options in ({}, {"result_sets": False}, {"table_level": True}):
            form = "".join(options)
            (tmp_path / f"{name} {form}.xml").write_text(xml(items, **options))
        (tmp_path / f"{name}.json").write_text(json.dumps(as_json(items)))
    schema = REPOSITORY / "tests/data/sqlflow.xsd"
    answer = export_readers.answer(REPOSITORY / "tests/services/read_sqlflow.py", schema, tmp_path)

    assert len(answer["problems"]) == 3 * len(documents)
    assert {name: found for name, found in answer["problems"].items() if found} == {}
    assert {name: answer["lineage"][name] for name in READ} == READ
