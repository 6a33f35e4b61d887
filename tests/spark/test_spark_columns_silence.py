"""A column that reads something has a source or a flag; only proven literals have neither."""
# ruff: noqa: E501 - plans as Spark prints them

from __future__ import annotations

import pytest

from tests.support.spark_logs import node, start
from tests.support.spark_plans import Op, flow, flows, grouped, inserting, op, printed, project, scan, unary

A_COLUMNS = "id#1L, k#2, v#3, n#4"
A = scan("d.a", A_COLUMNS)
B = scan("d.b", "id#11L, k#12, v#13, n#14")
PROGRAM = op("Scan ExistingRDD", f"Output [4]: [{A_COLUMNS}]\nArguments: [{A_COLUMNS}], MapPartitionsRDD[3]")
EMPTY = op("EmptyRelation", f"Output [4]: [{A_COLUMNS}]")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param(unary("Expand", "[[v#3, k#2, n#4, 0], [v#3, k#2, null, 1], [v#3, null, null, 3]], [v#3, k#22, n#24, g#25L]", PROGRAM, A_COLUMNS),
                     {"v": "| incomplete", "k": "| incomplete", "n": "| incomplete", "g": "|"}, id="rollup"),
        pytest.param(unary("Expand", "[[id#1L, v, v#3], [id#1L, n, n#4]], [id#1L, name#9, val#10]", PROGRAM, A_COLUMNS),
                     {"id": "| incomplete", "name": "|", "val": "| incomplete"}, id="UNPIVOT"),
        pytest.param(unary("Expand", "[[k#2, v#3, null, 1], [k#2, null, n#4, 2]], [k#2, v#23, n#24, gid#25]", PROGRAM, A_COLUMNS),
                     {"k": "| incomplete", "v": "| incomplete", "n": "| incomplete", "gid": "|"}, id="several count(DISTINCT)"),
        pytest.param(unary("Expand", "[[id#1L, v, v#3], [id#1L, lit, 7]], [id#1L, name#9, val#10]", A, A_COLUMNS),
                     {"id": "a.id |", "name": "|", "val": "a.v |"}, id="UNPIVOT of a column and a literal"),
        pytest.param(grouped("k#2", "sum", "v#3", "k#2, sum(v#3)#900 AS s#9", PROGRAM, A_COLUMNS), {"k": "| incomplete", "s": "| incomplete"}, id="an aggregate"),
        pytest.param(grouped("", "count", "1", "count(1)#900L AS c#9L", PROGRAM, A_COLUMNS), {"c": "|"}, id="a count of rows is of no column"),
        pytest.param(unary("Window", "[row_number() windowspecdefinition(k#2, n#4 ASC) AS r#9, lag(v#3, -1, null) windowspecdefinition(k#2, n#4 ASC) AS l#10], [k#2], [n#4 ASC]", PROGRAM, A_COLUMNS),
                     {"l": "| incomplete"}, id="a window"),
        pytest.param(op("Union", "", A, PROGRAM), {"id": "a.id | incomplete", "k": "a.k | incomplete", "v": "a.v | incomplete", "n": "a.n | incomplete"}, id="a union of what is known and what is not"),
        pytest.param(project("coalesce(v#3, 1) AS x#9, 1 AS y#10, rand(5) AS z#11, current_date() AS t#12", PROGRAM, A_COLUMNS),
                     {"x": "| incomplete", "y": "|", "z": "|", "t": "|"}, id="expressions and literals"),
        pytest.param(EMPTY, {"id": "| incomplete"}, id="a side that turned out empty"),
        pytest.param(op("Scan parquet ", f"Output [4]: [{A_COLUMNS}]"), {"id": "| incomplete"}, id="a scan without a place"),
        pytest.param(op("BatchScan mystery", f"Output [4]: [{A_COLUMNS}]"), {"id": "| incomplete"}, id="a source that does not say what it is"),
    ],
)  # fmt: skip
def test_unknown_columns_stay_flagged_through_every_operator(query: Op, expected: dict[str, str]) -> None:
    names = ", ".join(expected)
    outputs = {"id": "id#1L", "k": "k#2", "v": "v#3", "n": "n#4"}
    defined = _defined(query)
    given = ", ".join(defined.get(name, outputs.get(name, "")) for name in expected)
    assert flows(inserting(query, names, given)) == expected


def _defined(query: Op) -> dict[str, str]:
    """Return the columns that an operator defines, as name → ``name#id``."""
    import re

    text = query.block.rpartition("Results")[2] if "Results" in query.block else query.block
    found = re.findall(r"(?:AS |[\[ ])(\w+)#(\d+L?)", text)
    return {name: f"{name}#{number}" for name, number in found}


# -- Caches ---------------------------------------------------------------------------------------------------------


def cached(name: str, below: Op, listed: str) -> Op:
    """A use of a cached plan, which the tree prints with the columns of the table below the cache."""
    relation = op(
        "InMemoryRelation", f"Arguments: [{listed}], StorageLevel(disk, memory, 1 replicas)", inner=(below,)
    )
    return op(name, f"Output [4]: [{listed}]\nArguments: [{listed}]", inner=(relation,))


@pytest.mark.parametrize(
    "name", ["Scan In-memory table orders", "Scan In-memory table `a b`", "InMemoryTableScan"]
)
def test_a_cached_table_has_its_columns_whatever_its_scan_is_called(name: str) -> None:
    root = inserting(cached(name, A, A_COLUMNS), "id, k, v, n", A_COLUMNS)
    arguments = root.block.partition("Arguments: ")[2]
    scanned = node("Scan parquet spark_catalog.d.a", f"FileScan parquet spark_catalog.d.a[{A_COLUMNS}]")
    tree = node(root.name, f"{root.name} {arguments}", node(name, f"{name} [{A_COLUMNS}]", scanned))
    from extractors.spark.plan.reading import read_plan

    [columns] = read_plan(start(0, (tree, printed(root)))).columns
    assert {each.output: flow(each) for each in columns.flows} == {
        "id": "a.id |",
        "k": "a.k |",
        "v": "a.v |",
        "n": "a.n |",
    }


# -- EXCEPT ALL and INTERSECT ALL -----------------------------------------------------------------------------------


def counted_rows(first: str, second: str, marker: str = "vcol") -> Op:
    """Spark's plan for EXCEPT ALL: a union with a counter, which is summed, and repeated rows."""
    left = project(f"{first} AS {marker}#30L, id#1L, k#2", A, A_COLUMNS)
    right = project(f"{second} AS {marker}#31L, id#11L, k#12", B, "id#11L, k#12, v#13, n#14")
    union = op("Union", "", left, right)
    total = grouped(
        "id#1L, k#2",
        "sum",
        f"{marker}#30L",
        f"id#1L, k#2, sum({marker}#30L)#900L AS sum#33L",
        union,
        f"{marker}#30L, id#1L, k#2",
    )
    return unary("Generate", "replicaterows(sum#33L, id#1L, k#2), [id#1L, k#2], false, [id#1L, k#2]", total, "id#1L, k#2, sum#33L")  # fmt: skip


@pytest.mark.parametrize(
    "query",
    [
        pytest.param(counted_rows("1", "-1"), id="EXCEPT ALL"),
        pytest.param(counted_rows("true", "null", "vcol1"), id="INTERSECT ALL"),
    ],
)
def test_the_second_query_of_except_or_intersect_all_is_control(query: Op) -> None:
    found = flows(inserting(query, "id, k", "id#1L, k#2"))
    assert found == {"id": "a.id | a.k, b.id, b.k", "k": "a.k | a.id, b.id, b.k"}


def test_a_union_with_a_user_defined_counter_keeps_both_sides() -> None:
    left = project("1 AS vcol#30, id#1L", A, A_COLUMNS)
    right = project("-1 AS vcol#31, id#11L", B, "id#11L, k#12, v#13, n#14")
    found = flows(inserting(op("Union", "", left, right), "vcol, id", "vcol#30, id#1L"))
    assert found == {"vcol": "|", "id": "a.id, b.id |"}
