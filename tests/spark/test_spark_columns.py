"""Source columns of the columns that a plan writes, operator by operator."""
# ruff: noqa: E501 - plans as Spark prints them

from __future__ import annotations

import pytest

from tests.support.spark_plans import (
    Op,
    aggregate,
    commanded,
    counted,
    flow,
    flows,
    grouped,
    inserting,
    join,
    op,
    project,
    scan,
    unary,
    where,
    written,
    written_of,
)

A_COLUMNS = "id#1L, k#2, v#3, n#4"
B_COLUMNS = "id#11L, k#12, v#13, n#14"
A, B = scan("d.a", A_COLUMNS), scan("d.b", B_COLUMNS)


def of(query: Op, given: str, subqueries: dict[int, Op] | None = None) -> dict[str, str]:
    """Return the flows of a query that is written under its own column names."""
    names = ", ".join(each.partition("#")[0] for each in given.split(", "))
    return flows(inserting(query, names, given), subqueries)


# -- One operator ---------------------------------------------------------------------------------------------------

WINDOW = "windowspecdefinition(k#2, n#4 ASC NULLS FIRST, specifiedwindowframe(RowFrame, unboundedpreceding$(), currentrow$()))"


@pytest.mark.parametrize(
    ("query", "given", "expected"),
    [
        pytest.param(A, "id#1L, k#2, v#3, n#4", {"id": "a.id |", "k": "a.k |", "v": "a.v |", "n": "a.n |"}, id="a scan"),
        pytest.param(project("k#2, id#1L AS x#9L", A, A_COLUMNS), "k#2, x#9L", {"k": "a.k |", "x": "a.id |"}, id="columns pass or are renamed"),
        pytest.param(project("((v#3 + n#4) * k#2) AS x#9, 1 AS y#10", A, A_COLUMNS), "x#9, y#10", {"x": "a.k, a.n, a.v |", "y": "|"}, id="expressions and literals"),
        pytest.param(project("CASE WHEN (n#4 > 1) THEN k#2 ELSE z END AS x#9", A, A_COLUMNS), "x#9", {"x": "a.k, a.n |"}, id="a condition within an expression is part of it"),
        pytest.param(where("(isnotnull(n#4) AND (n#4 > 1))", A, A_COLUMNS), "id#1L", {"id": "a.id | a.n"}, id="a filter decides on all columns"),
        pytest.param(where("(n#4 > 1)", A, A_COLUMNS), "n#4", {"n": "a.n |"}, id="what is data of a column is not its control as well"),
        pytest.param(join("Inner", "id#1L", "id#11L", A, B, "(n#4 > n#14)"), "id#1L, v#13", {"id": "a.id | a.n, b.id, b.n", "v": "b.v | a.id, a.n, b.id, b.n"}, id="a join"),
        pytest.param(join("LeftSemi", "id#1L", "id#11L", A, where("(n#14 > 1)", B, B_COLUMNS)), "k#2", {"k": "a.k | a.id, b.id, b.n"}, id="IN and EXISTS"),
        pytest.param(join("LeftAnti", "id#1L", "id#11L", A, B), "k#2", {"k": "a.k | a.id, b.id"}, id="NOT EXISTS"),
        pytest.param(project("k#2, exists#9 AS x#10", join("ExistenceJoin(exists#9)", "id#1L", "id#11L", A, B), f"{A_COLUMNS}, exists#9"), "k#2, x#10", {"k": "a.k |", "x": "| a.id, b.id"}, id="IN as a value chooses no rows"),
        pytest.param(op("CartesianProduct Inner", "Join condition: (n#4 > n#14)", A, B, title="CartesianProduct"), "k#2", {"k": "a.k | a.n, b.n"}, id="a product"),
        pytest.param(op("Union", "", A, B), "id#1L, k#2, v#3, n#4", {"id": "a.id, b.id |", "k": "a.k, b.k |", "v": "a.v, b.v |", "n": "a.n, b.n |"}, id="a union goes by position"),
        pytest.param(op("Union", "", project("k#2", A, A_COLUMNS), unary("Generate", "explode(k#2), false, [e#9]", A, A_COLUMNS)), "k#2", {"k": "a.k |"}, id="a union with a generator"),
        pytest.param(op("Union", "", where("(n#4 > 1)", A, A_COLUMNS), B), "id#31L, k#32, v#33, n#34", {"id": "a.id, b.id | a.n", "k": "a.k, b.k | a.n", "v": "a.v, b.v | a.n", "n": "a.n, b.n |"}, id="a union under new ids"),
        pytest.param(grouped("k#2", "sum", "v#3", "k#2, sum(v#3)#900 AS s#9", A, A_COLUMNS), "k#2, s#9", {"k": "a.k |", "s": "a.v | a.k"}, id="a sum by group"),
        pytest.param(grouped("k#2", "count", "1", "k#2, count(1)#900L AS c#9L", A, A_COLUMNS), "k#2, c#9L", {"k": "a.k |", "c": "| a.k"}, id="a count of rows has no column"),
        pytest.param(grouped("k#2", "sum", "v#3", "(sum(v#3)#900 / 2.0) AS s#9", A, A_COLUMNS, " FILTER (WHERE (n#4 > 1))"), "s#9", {"s": "a.v | a.k, a.n"}, id="the filter of a function stands in its first step"),
        pytest.param(grouped("", "max_by", "id#1L, v#3", "max_by(id#1L, v#3)#900 AS m#9", A, A_COLUMNS), "m#9", {"m": "a.id, a.v |"}, id="a function of two columns"),
        pytest.param(aggregate("k#2", "", "k#2", aggregate("k#2", "", "k#2", A, A_COLUMNS), "k#2"), "k#2", {"k": "a.k |"}, id="DISTINCT"),
        pytest.param(unary("Window", f"[sum(v#3) {WINDOW} AS w#9], [k#2], [n#4 ASC NULLS FIRST]", A, A_COLUMNS), "id#1L, w#9", {"id": "a.id |", "w": "a.v | a.k, a.n"}, id="a window's partition and order only decide"),
        pytest.param(unary("Window", f"[rank(n#4) {WINDOW} AS w#9], [k#2], [n#4 ASC NULLS FIRST]", A, A_COLUMNS), "w#9", {"w": "| a.k, a.n"}, id="a rank has no data"),
        pytest.param(unary("Window", f"[row_number() {WINDOW} AS w#9, lag(v#3, -1, null) {WINDOW} AS x#10], [k#2], [n#4 ASC NULLS FIRST]", A, A_COLUMNS), "w#9, x#10", {"w": "| a.k, a.n", "x": "a.v | a.k, a.n"}, id="several windows"),
        pytest.param(unary("Expand", "[[v#3, k#2, n#4, 0], [v#3, k#2, null, 1], [v#3, null, null, 3]], [v#3, k#22, n#24, spark_grouping_id#25L]", A, A_COLUMNS), "v#3, k#22, n#24, spark_grouping_id#25L", {"v": "a.v |", "k": "a.k |", "n": "a.n |", "spark_grouping_id": "|"}, id="grouping sets"),
        pytest.param(unary("Expand", "[[k#2, v, v#3], [k#2, id, cast(id#1L as double)]], [k#2, nm#9, val#10]", A, A_COLUMNS), "k#2, nm#9, val#10", {"k": "a.k |", "nm": "|", "val": "a.id, a.v |"}, id="UNPIVOT"),
        pytest.param(unary("Generate", "explode(split(k#2, (, -1)), [id#1L], false, [e#9]", A, A_COLUMNS), "id#1L, e#9", {"id": "a.id |", "e": "a.k |"}, id="explode, and a literal with a bracket"),
        pytest.param(unary("Generate", "posexplode(k#2), [id#1L, v#3], true, [p#9, c#10]", A, A_COLUMNS), "v#3, p#9, c#10", {"v": "a.v |", "p": "a.k |", "c": "a.k |"}, id="what a generator keeps is not its own"),
        pytest.param(unary("Generate", "explode(k#2), false, [e#9]", A, A_COLUMNS), "e#9", {"e": "a.k |"}, id="a generator that keeps nothing"),
        pytest.param(unary("Generate", "stack(2, id#1L, k#2, v#3, n#4), false, [x#9, y#10]", A, A_COLUMNS), "x#9, y#10", {"x": "a.id, a.v |", "y": "a.k, a.n |"}, id="stack goes by position"),
        pytest.param(unary("Generate", "inline(array(named_struct(a, k#2, b, v#3), named_struct(a, n#4, b, id#1L))), false, [x#9, y#10]", A, A_COLUMNS), "x#9, y#10", {"x": "a.k, a.n |", "y": "a.id, a.v |"}, id="inline of structs goes by position"),
        pytest.param(unary("Generate", "replicaterows(n#4, id#1L, k#2), [id#1L, k#2], false, [id#1L, k#2]", A, A_COLUMNS), "id#1L, k#2", {"id": "a.id | a.n", "k": "a.k | a.n"}, id="EXCEPT ALL repeats rows"),
        pytest.param(unary("TakeOrderedAndProject", "10, [v#3 ASC NULLS FIRST], [id#1L, (n#4 + 1) AS m#9]", A, A_COLUMNS), "id#1L, m#9", {"id": "a.id | a.v", "m": "a.n | a.v"}, id="the first rows in an order"),
        pytest.param(unary("Sort", "[v#3 ASC NULLS FIRST], true, 0", A, A_COLUMNS), "id#1L", {"id": "a.id | a.v"}, id="ORDER BY"),
        pytest.param(unary("Sort", "[v#3 ASC NULLS FIRST], false, 0", A, A_COLUMNS), "id#1L", {"id": "a.id |"}, id="a sort for the sake of a join"),
        pytest.param(unary("Exchange", "hashpartitioning(k#2, 200), ENSURE_REQUIREMENTS, [plan_id=7]", A, A_COLUMNS), "id#1L", {"id": "a.id |"}, id="what only moves rows"),
        pytest.param(unary("BatchEvalPython", "[f(k#2)#8, g(v#3, n#4)#9], [pythonUDF0#20, pythonUDF1#21]", A, A_COLUMNS), "id#1L, pythonUDF0#20, pythonUDF1#21", {"id": "a.id |", "pythonUDF0": "a.k |", "pythonUDF1": "a.n, a.v |"}, id="each Python function its own arguments"),
        pytest.param(unary("AggregateInPandas", "[k#2], [mean(v#3)#8], [k#2, mean(v)#8 AS m#9]", A, A_COLUMNS), "k#2, m#9", {"k": "a.k |", "m": "a.v | a.k"}, id="an aggregate in pandas"),
        pytest.param(unary("ArrowAggregatePython", "[k#2], [mean(v#3)#8], [k#2, mean(v#3)#8#30 AS m#9], 202", A, A_COLUMNS), "k#2, m#9", {"k": "a.k |", "m": "a.v | a.k"}, id="an aggregate in Python"),
        pytest.param(unary("MapInPandas", "f(id#1L, k#2)#8, [x#20, y#21], false", A, A_COLUMNS), "x#20, y#21", {"x": "a.id, a.k | opaque", "y": "a.id, a.k | opaque"}, id="a program is given columns"),
        pytest.param(unary("FlatMapGroupsInPandas", "[k#2], f(v#3, k#2)#8, [x#20, y#21]", A, A_COLUMNS), "x#20", {"x": "a.k, a.v | opaque"}, id="a program by group"),
        pytest.param(unary("SerializeFromObject", "[input[0, org.X, true].id AS x#20]", unary("MapElements", "Job$$Lambda@1, obj#19: org.X", unary("DeserializeToObject", "newInstance(class org.X), obj#18: org.X", A, "id#1L, k#2"), "obj#18"), "obj#19"), "x#20", {"x": "a.id, a.k | opaque"}, id="rows as objects"),
        pytest.param(unary("SomethingNew", "[k#2]", A, A_COLUMNS), "id#1L, k#2, x#20", {"id": "a.id |", "k": "a.k |", "x": "| incomplete"}, id="an operator that nobody knows"),
        pytest.param(op("Range", "Output [1]: [id#1L]\nArguments: Range (0, 10, step=1)"), "id#1L", {"id": "|"}, id="a range"),
        pytest.param(op("LocalTableScan", "Output [1]: [id#1L]\nArguments: [id#1L]"), "id#1L", {"id": "|"}, id="values"),
        pytest.param(op("Scan ExistingRDD", "Output [1]: [id#1L]\nArguments: [id#1L], MapPartitionsRDD[3]"), "id#1L", {"id": "| incomplete"}, id="rows of a program come from nobody knows where"),
        pytest.param(scan("d.a", "id#1L, ds#5", "\nPartitionFilters: [isnotnull(ds#5), (ds#5 = 2026-01-01)]"), "id#1L", {"id": "a.id | a.ds"}, id="a filter on partitions stands in the scan"),
        pytest.param(op("Scan parquet spark_catalog.d.a", "Output [3]: [MAX(v)#9, COUNT(*)#10, SUM(v + n)#11]\nPushedAggregation: [MAX(v), COUNT(*), SUM(v + n)]"), "MAX(v)#9, COUNT(*)#10, SUM(v + n)#11", {"MAX(v)": "a.v | inferred", "COUNT(*)": "| inferred", "SUM(v + n)": "| incomplete"}, id="what the source computes is no column of it"),
        pytest.param(op('Scan JDBCRelation((select id from t) q) [numPartitions=1]', "Output [1]: [id#9]"), "id#9", {"id": "(select id from t) q.id | (select id from t) q."}, id="a query that a database runs is an end of its own until its text is read"),
        pytest.param(op("CometScan [native_datafusion] parquet spark_catalog.d.a", "Output [1]: [id#1L]"), "id#1L", {"id": "a.id |"}, id="how Comet scans stands before the format"),
        pytest.param(op('Scan JDBCRelation(T9) [numPartitions=1]', "Output [1]: [id#9]\nPushedFilters: [*IsNotNull(n), *GreaterThan(n,3)]"), "id#9", {"id": "T9.id | T9.n"}, id="a filter that a database runs"),
        pytest.param(op("Scan hive spark_catalog.d.a", "Output [1]: [id#1L]\nArguments: [id#1L], HiveTableRelation [`d`.`a`, serde, Data Cols: [id#1L], Partition Cols: [ds#5]], [(ds#5 = x)]"), "id#1L", {"id": "a.id | a.ds"}, id="partitions of a Hive table"),
    ],
)  # fmt: skip
def test_each_operator_maps_columns_to_their_sources(query: Op, given: str, expected: dict[str, str]) -> None:
    found = of(query, given)
    assert {name: found[name] for name in expected} == expected


def test_columns_have_a_kind_and_an_expression() -> None:
    query = project("id#1L, k#2 AS c#9, (v#3 * 2.0) AS w#10, empty2null(k#2) AS p#11", A, A_COLUMNS)
    columns = written(inserting(query, "id, c, w, p", "id#1L, c#9, w#10, p#11"))
    assert [(each.output, each.kind.value, each.expression) for each in columns.flows] == [
        ("id", "IDENTITY", "id"),
        ("c", "IDENTITY", "k"),
        ("w", "TRANSFORMATION", "(v * 2.0)"),
        ("p", "IDENTITY", "k"),
    ]
    total = grouped("k#2", "sum", "v#3", "k#2, (sum(v#3)#900 + 1.0) AS s#9", A, A_COLUMNS)
    [key, added] = written(inserting(total, "k, s", "k#2, s#9")).flows
    assert (key.kind.value, added.kind.value, added.expression) == (
        "IDENTITY",
        "AGGREGATION",
        "(sum(v) + 1.0)",
    )


# -- Several operators ----------------------------------------------------------------------------------------------


def test_count_distinct_next_to_a_sum_uses_the_inputs_of_its_first_step() -> None:
    first = aggregate("k#2, n#4", "partial_sum(v#3)", "k#2, n#4, sum#40", A, A_COLUMNS, "sum(v#3)#30")
    second = aggregate(
        "k#2, n#4", "merge_sum(v#3)", "k#2, n#4, sum#40", first, "k#2, n#4, sum#40", "sum(v#3)#30"
    )
    third = aggregate(
        "k#2",
        "merge_sum(v#3), partial_count(distinct n#4)",
        "k#2, sum#40, count#41L",
        second,
        "k#2, n#4, sum#40",
        "sum(v#3)#30, count(n#4)#31L",
    )
    last = aggregate(
        "k#2",
        "sum(v#3), count(distinct n#4)",
        "k#2, sum(v#3)#30 AS s#50, count(n#4)#31L AS c#51L",
        third,
        "k#2, sum#40, count#41L",
        "sum(v#3)#30, count(n#4)#31L",
    )
    assert of(last, "k#2, s#50, c#51L") == {"k": "a.k |", "s": "a.v | a.k", "c": "a.n | a.k"}


def test_a_computed_grouping_key_is_a_transformation_and_a_normalized_one_identity() -> None:
    key = "knownfloatingpointnormalized(normalizenanandzero(v#3)) AS v#3"
    query = op(
        "HashAggregate",
        f"Input [4]: [{A_COLUMNS}]\nKeys [2]: [(id#1L % 10) AS _groupingexpression#20L, {key}]\nFunctions: []\n"
        "Aggregate Attributes: []\nResults [2]: [_groupingexpression#20L AS m#21L, v#3]",
        A,
    )
    columns = written(inserting(query, "m, v", "m#21L, v#3"))
    assert [(each.data[0].name, each.kind.value) for each in columns.flows] == [
        ("id", "TRANSFORMATION"),
        ("v", "IDENTITY"),
    ]


def test_having_controls_all_columns() -> None:
    total = grouped("k#2", "sum", "v#3", "k#2, sum(v#3)#900 AS s#9", A, A_COLUMNS)
    assert of(where("(s#9 > 10.0)", total, "k#2, s#9"), "k#2, s#9") == {"k": "a.k | a.v", "s": "a.v | a.k"}


def test_a_pivot_column_is_control_and_its_value_is_data() -> None:
    inner = grouped("k#2, n#4", "sum", "v#3", "k#2, n#4, sum(v#3)#900 AS s#9", A, A_COLUMNS)
    pivot = op(
        "HashAggregate",
        "Input [3]: [k#2, n#4, s#9]\nKeys [1]: [k#2]\nFunctions [1]: [pivotfirst(n#4, s#9, 1, 2, ... 70 more fields)]\n"
        "Aggregate Attributes [1]: [pivotfirst(n#4, s#9, 1, 2, ... 70 more fields)#30]\n"
        "Results [2]: [k#2, pivotfirst(n#4, s#9, 1, 2, ... 70 more fields)#30 AS __pivot_s AS `s`#31]",
        inner,
    )
    query = op(
        "Project",
        "Output [1]: [__pivot_s AS `s`#31[0] AS 1#32]\nInput [2]: [k#2, __pivot_s AS `s`#31]",
        pivot,
    )
    [column] = written(inserting(query, "one", "1#32")).flows
    assert ({each.name for each in column.data}, {each.name for each in column.control}) == (
        {"v"},
        {"n", "k"},
    )
    assert not column.incomplete


def test_a_field_of_a_constructed_struct_has_its_own_sources() -> None:
    zipped = unary("Generate", "explode(arrays_zip(k#2, v#3, ks, vs)), false, [z#9]", A, A_COLUMNS)
    query = project("z#9.ks AS x#20, z#9.vs AS y#21, z#9 AS w#22", zipped, "z#9")
    assert of(query, "x#20, y#21, w#22") == {"x": "a.k |", "y": "a.v |", "w": "a.k, a.v |"}


def test_a_reused_exchange_is_matched_by_position() -> None:
    exchange = unary("Exchange", "hashpartitioning(id#1L, 1)", A, A_COLUMNS)
    again = op(
        "ReusedExchange",
        "Output [4]: [id#41L, k#42, v#43, n#44]",
        title="ReusedExchange [Reuses operator id: 2]",
    )
    assert of(join("Inner", "id#1L", "id#41L", exchange, again), "id#1L, v#43") == {
        "id": "a.id |",
        "v": "a.v | a.id",
    }


def test_an_aggregate_above_a_reused_exchange_keeps_its_sources() -> None:
    first = aggregate("k#2", "partial_sum(v#3)", "k#2, sum#40", A, A_COLUMNS, "sum#39")
    exchange = unary("Exchange", "hashpartitioning(k#2, 1)", first, "k#2, sum#40")
    total = aggregate("k#2", "sum(v#3)", "k#2, sum(v#3)#41 AS s#42", exchange, "k#2, sum#40", "sum(v#3)#41")
    again = op("ReusedExchange", "Output [2]: [k#52, sum#60]", title="ReusedExchange [Reuses operator id: 3]")
    # The ids in the arguments of the reused exchange are those of a scan that no longer exists.
    other = aggregate(
        "k#52", "sum(v#53)", "k#52, sum(v#53)#61 AS t#62", again, "k#52, sum#60", "sum(v#53)#61"
    )
    assert of(join("Inner", "k#2", "k#52", total, other), "k#2, s#42, t#62") == {
        "k": "a.k |",
        "s": "a.v | a.k",
        "t": "a.v | a.k",
    }


# -- Subqueries -----------------------------------------------------------------------------------------------------


def test_a_scalar_subquerys_column_is_data_and_its_filter_is_control() -> None:
    inner = project("v#13 AS m#20", where("(n#14 > 1)", B, B_COLUMNS), B_COLUMNS)
    query = op(
        "Project", f"Output [2]: [id#1L, Subquery subquery#50, [id=#7] AS x#9]\nInput [4]: [{A_COLUMNS}]", A
    )
    assert of(query, "id#1L, x#9", {50: inner}) == {"id": "a.id |", "x": "b.v | b.n"}


def test_a_scalar_subquery_in_a_condition_is_control() -> None:
    inner = project("v#13 AS m#20", B, B_COLUMNS)
    assert of(where("(v#3 > Subquery subquery#50, [id=#7])", A, A_COLUMNS), "id#1L", {50: inner}) == {
        "id": "a.id | a.v, b.v"
    }


@pytest.mark.parametrize(
    "struct",
    [
        "named_struct(max(v), max(v)#20, min(n), min(n)#21)",
        "named_struct(max(v), max(v)#20, ... 2 more fields)",
    ],
    ids=["whole", "cut"],
)
def test_merged_subqueries_are_resolved_by_field(struct: str) -> None:
    below = op("Project", f"Output [2]: [v#13 AS max(v)#20, n#14 AS min(n)#21]\nInput [4]: [{B_COLUMNS}]", B)
    merged = op(
        "Project", f"Output [1]: [{struct} AS mergedValue#22]\nInput [2]: [max(v)#20, min(n)#21]", below
    )
    query = op(
        "Project",
        "Output [2]: [Subquery subquery#50, [id=#7].max(v) AS x#9, (Subquery subquery#50, [id=#7].min(n) + k#2) AS y#10]\n"
        f"Input [4]: [{A_COLUMNS}]",
        A,
    )
    assert of(query, "x#9, y#10", {50: merged}) == {"x": "b.v |", "y": "a.k, b.n |"}


# -- Caches ---------------------------------------------------------------------------------------------------------


def cached(listed: str, below: Op) -> Op:
    return op(
        "InMemoryRelation", f"Arguments: [{listed}], StorageLevel(disk, memory, 1 replicas)", inner=(below,)
    )


def test_columns_of_a_cached_plan_are_matched_by_position() -> None:
    use = op(
        "InMemoryTableScan",
        "Output [2]: [n#74, v#73]\nArguments: [n#74, v#73]",
        inner=(cached("id#71L, k#72, v#73, n#74", A),),
    )
    assert of(use, "n#74, v#73") == {"n": "a.n |", "v": "a.v |"}


def test_a_cached_plan_may_be_used_twice() -> None:
    first = op("InMemoryTableScan", "Output [2]: [id#1L, k#2]", inner=(cached(A_COLUMNS, A),))
    second = op(
        "Scan In-memory table t", "Output [2]: [id#71L, v#73]", inner=(cached("id#71L, k#72, v#73, n#74", A),)
    )
    assert of(join("Inner", "id#1L", "id#71L", first, second), "k#2, v#73") == {
        "k": "a.k | a.id",
        "v": "a.v | a.id",
    }


def test_a_filter_within_a_cached_plan_is_control() -> None:
    relation = cached("k#72", project("k#2", where("(n#4 > 1)", A, A_COLUMNS), A_COLUMNS))
    assert of(op("InMemoryTableScan", "Output [1]: [k#72]", inner=(relation,)), "k#72") == {"k": "a.k | a.n"}


# -- Writes ---------------------------------------------------------------------------------------------------------


def test_columns_are_written_by_position_under_the_commands_names() -> None:
    query = project("v#3, k#2, id#1L", A, A_COLUMNS)
    assert flows(inserting(query, "a, b, c", "v#3, k#2, id#1L")) == {
        "a": "a.v |",
        "b": "a.k |",
        "c": "a.id |",
    }


def test_truncated_names_are_taken_from_the_written_rows() -> None:
    query = project("v#3 AS a#20, k#2 AS b#21", A, A_COLUMNS)
    assert flows(inserting(query, "a, ... 1 more fields", "a#20, b#21")) == {"a": "a.v |", "b": "a.k |"}


@pytest.mark.parametrize(
    "arguments",
    [
        "`spark_catalog`.`d`.`out`, serde, [ds=None], false, false, [x, ds], [ds#22], Hive, HiveTempPath(file:/w/out)",
        "`d`.`out`, serde, [h=Some(1)], true, true, [x, ds]",
    ],
)
def test_an_insert_into_a_hive_table_takes_the_names_after_its_flags(arguments: str) -> None:
    query = project("v#3, empty2null(k#2) AS ds#22", A, A_COLUMNS)
    root = op(
        "Execute InsertIntoHiveTable",
        f"Input: []\nArguments: {arguments}",
        op("WriteFiles", "Input [2]: [v#3, ds#22]", query),
    )
    assert flows(root) == {"x": "a.v |", "ds": "a.k |"}


def test_a_v2_write_uses_the_querys_own_names() -> None:
    query = project("v#3 AS a#20", A, A_COLUMNS)
    root = op(
        "AppendData", "Input [1]: [a#20]\nArguments: IcebergWrite(table=local.d.out, format=PARQUET)", query
    )
    assert flows(root) == {"a": "a.v |"}


def test_a_merge_into_an_iceberg_table_has_an_expression_for_each_column() -> None:
    joined = join("RightOuter", "id#1L", "id#11L", A, B)
    merge = unary(
        "MergeRows",
        "[keep(Update, (n#14 > 1), 2, id#1L, v#13)], [keep(Insert, true, 2, id#11L, (v#13 * 2.0))], [id#40L, v#41]",
        joined,
        f"{A_COLUMNS}, {B_COLUMNS}",
    )
    root = op(
        "ReplaceData",
        "Input [2]: [id#40L, v#41]\nArguments: IcebergWrite(table=local.d.out, format=PARQUET)",
        merge,
    )
    assert flows(root) == {"id": "a.id, b.id | b.n", "v": "b.v | a.id, b.id, b.n"}


# -- Logical plans --------------------------------------------------------------------------------------------------

LOGICAL_A = op("LogicalRelation", f"Arguments: parquet, [{A_COLUMNS}], `spark_catalog`.`d`.`a`, serde, false")
LOGICAL_B = op("LogicalRelation", f"Arguments: parquet, [{B_COLUMNS}], `spark_catalog`.`d`.`b`, serde, false")
VIEW = "`spark_catalog`.`d`.`v`, {}select 1, false, false, PersistedView, COMPENSATION, true"


def logical(name: str, arguments: str, *children: Op, inner: tuple[Op, ...] = ()) -> Op:
    return op(name, f"Arguments: {arguments}" if arguments else "", *children, inner=inner)


def view_of(query: Op, columns: str = "") -> dict[str, str]:
    return flows(commanded("CreateViewCommand", VIEW.format(columns), query))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param(logical("Project", "[id#1L, (v#3 * cast(2 as double)) AS w#9]", logical("Filter", "(n#4 > 3)", logical("SubqueryAlias", "spark_catalog.d.a", LOGICAL_A))), {"id": "a.id | a.n", "w": "a.v | a.n"}, id="a projection"),
        pytest.param(logical("Aggregate", "[k#2], [k#2, sum(v#3) AS s#9, upper(k#2) AS u#10, count(1) AS c#11L]", LOGICAL_A), {"k": "a.k |", "s": "a.v | a.k", "u": "a.k |", "c": "| a.k"}, id="an aggregate"),
        pytest.param(logical("Project", "[k#2, v#13]", logical("Join", "Inner, (id#1L = id#11L)", LOGICAL_A, LOGICAL_B)), {"k": "a.k | a.id, b.id", "v": "b.v | a.id, b.id"}, id="a join"),
        pytest.param(logical("Union", "false, false", logical("Project", "[k#2]", LOGICAL_A), logical("Project", "[k#12]", LOGICAL_B)), {"k": "a.k, b.k |"}, id="a union"),
        pytest.param(logical("Intersect", "false", logical("Project", "[k#2]", LOGICAL_A), logical("Project", "[k#12]", LOGICAL_B)), {"k": "a.k | b.k"}, id="an intersection"),
        pytest.param(logical("Project", "[k#2, w#9]", logical("Window", f"[sum(v#3) {WINDOW} AS w#9], [k#2], [n#4 ASC NULLS FIRST]", LOGICAL_A)), {"k": "a.k |", "w": "a.v | a.k, a.n"}, id="a window"),
        pytest.param(logical("Project", "[id#1L, e#9]", logical("Generate", "explode(k#2), false, t, [e#9]", LOGICAL_A)), {"id": "a.id |", "e": "a.k |"}, id="a lateral view"),
        pytest.param(logical("Project", "[id#1L]", logical("Filter", "id#1L IN (list#50 [])", LOGICAL_A, inner=(logical("Project", "[id#11L]", LOGICAL_B),))), {"id": "a.id | b.id"}, id="IN"),
        pytest.param(logical("Project", "[k#2]", logical("Filter", "exists#50 [id#1L]", LOGICAL_A, inner=(logical("Filter", "(id#11L = outer(id#1L))", LOGICAL_B),))), {"k": "a.k | a.id, b.id, b.k, b.n, b.v"}, id="EXISTS"),
        pytest.param(logical("Project", "[id#1L, scalar-subquery#50 [id#1L] AS m#9]", LOGICAL_A, inner=(logical("Aggregate", "[max(v#13) AS max(v)#20]", logical("Filter", "(id#11L = outer(id#1L))", LOGICAL_B)),)), {"id": "a.id |", "m": "b.v | a.id, b.id"}, id="a correlated subquery"),
        pytest.param(logical("Project", "[id#1L, k#12]", logical("LateralJoin", "lateral-subquery#50 [id#1L], Inner", LOGICAL_A, inner=(logical("Project", "[k#12]", logical("Filter", "(id#11L = outer(id#1L))", LOGICAL_B)),))), {"id": "a.id | b.id", "k": "b.k | a.id, b.id"}, id="a lateral join"),
        pytest.param(logical("WithCTE", "", logical("CTERelationDef", "7, false", logical("Project", "[k#2, v#3]", LOGICAL_A)), logical("Project", "[k#30, v#41]", logical("Join", "Inner, (k#30 = k#40)", logical("CTERelationRef", "7, true, [k#30, v#31], false, false"), logical("CTERelationRef", "7, true, [k#40, v#41], false, false")))), {"k": "a.k |", "v": "a.v | a.k"}, id="WITH, used twice"),
        pytest.param(logical("Project", "[id#20L, w#21]", logical("View", "`spark_catalog`.`d`.`below`, serde, false, []", logical("Project", "[cast(id#1L as bigint) AS id#20L, cast(v#3 as double) AS w#21]", LOGICAL_A))), {"id": "below.id |", "w": "below.w |"}, id="a view over a view"),
        pytest.param(logical("Project", "[id#20L]", logical("View", "`tmp`, true, []", logical("Project", "[id#1L AS id#20L]", LOGICAL_A))), {"id": "a.id |"}, id="a temporary view is only a name"),
        pytest.param(logical("Deduplicate", "[k#2]", logical("Project", "[k#2, v#3]", LOGICAL_A)), {"k": "a.k |", "v": "a.v | a.k"}, id="rows that differ in one column"),
    ],
)  # fmt: skip
def test_a_views_columns_come_from_the_plan_below_its_command(query: Op, expected: dict[str, str]) -> None:
    assert view_of(query) == expected


def test_a_view_may_rename_its_columns() -> None:
    assert view_of(logical("Project", "[id#1L, v#3]", LOGICAL_A), "[(x,None), (y,Some(of v))], ") == {
        "x": "a.id |",
        "y": "a.v |",
    }


def test_a_recursive_query_is_iterated_to_a_fixpoint() -> None:
    anchor = logical("Project", "[id#1L, k#2]", LOGICAL_A)
    loop = op("UnionLoopRef", "Loop id: 0\nOutput [2]: [id#60L, k#61]\nAccumulated: false")
    again = logical("Project", "[id#60L, v#13]", logical("Join", "Inner, (k#61 = k#12)", loop, LOGICAL_B))
    query = op("UnionLoop", "Loop id: 0\nOutput [2]: [id#70L, k#71]\nLimit: None", inner=(anchor, again))
    assert of(query, "id#70L, k#71") == {"id": "a.id | a.k, b.k, b.v", "k": "a.k, b.v | b.k"}


def test_an_expression_list_with_a_count_may_contain_commas_and_brackets() -> None:
    below = op("Project", counted("Output", 1, "concat(k#2, ,, [) AS x#9") + f"\nInput [4]: [{A_COLUMNS}]", A)
    assert of(below, "x#9") == {"x": "a.k |"}


OFFLOADED = """\
== Physical Plan ==
Execute InsertIntoHadoopFsRelationCommand (10)
+- VeloxColumnarToRow (9)
   +- ^ RegularHashAggregateExecTransformer (7)
      +- ^ InputIteratorTransformer (6)
         +- ColumnarExchange (5)
            +- ^ FlushableHashAggregateExecTransformer (3)
               +- ^ FilterExecTransformer (2)
                  +- ^ FileSourceScanExecTransformer parquet spark_catalog.d.a (1)


(1) FileSourceScanExecTransformer parquet spark_catalog.d.a
Output [3]: [k#2, v#3, n#4]
Batched: true
Location: InMemoryFileIndex [file:/w/d.a]

(2) FilterExecTransformer
Input [3]: [k#2, v#3, n#4]
Arguments: (n#4 > 1)

(3) FlushableHashAggregateExecTransformer
Input [2]: [k#2, v#3]
Keys [1]: [k#2]
Functions [1]: [partial_sum(v#3)]
Aggregate Attributes [1]: [sum#20]
Results [2]: [k#2, sum#21]

(4) WholeStageCodegenTransformer (1)
Input [2]: [k#2, sum#21]
Arguments: false

(5) ColumnarExchange
Input [2]: [k#2, sum#21]
Arguments: hashpartitioning(k#2, 1), ENSURE_REQUIREMENTS, [plan_id=7], [shuffle_writer_type=hash]

(6) InputIteratorTransformer
Input [2]: [k#2, sum#21]

(7) RegularHashAggregateExecTransformer
Input [2]: [k#2, sum#21]
Keys [1]: [k#2]
Functions [1]: [sum(v#3)]
Aggregate Attributes [1]: [sum(v#3)#22]
Results [2]: [k#2, sum(v#3)#22 AS s#9]

(8) WholeStageCodegenTransformer (2)
Input [2]: [k#2, s#9]
Arguments: false

(9) VeloxColumnarToRow
Input [2]: [k#2, s#9]

(10) Execute InsertIntoHadoopFsRelationCommand
Input [2]: [k#2, s#9]
Arguments: file:/w/out, false, Parquet, [path=file:/w/out], Append, `spark_catalog`.`d`.`out`, serde, [k, s]

"""


def offloaded(text: str) -> dict[str, str]:
    return {each.output: flow(each) for each in written_of(text).flows}


def test_a_gluten_plan_with_marked_operators_and_stage_blocks_is_read() -> None:
    assert offloaded(OFFLOADED) == {"k": "a.k | a.n", "s": "a.v | a.k, a.n"}


@pytest.mark.parametrize("stage", [8, 99], ids=["the number of a stage", "a number that is no operator's"])
def test_a_literal_resembling_a_gluten_stage_hides_no_column(stage: int) -> None:
    forged = f"concat(sum(v#3)#22, \n({stage}) WholeStageCodegenTransformer (2)\n, k#2) AS s#9"
    found = offloaded(OFFLOADED.replace("sum(v#3)#22 AS s#9", forged))
    assert found in ({}, {"k": "a.k | a.n", "s": "a.k, a.v | a.n"})
