"""Plans that a reader of column lineage may silently misread: an edge is missing and no flag is set."""
# ruff: noqa: E501 - plans as Spark prints them

from __future__ import annotations

import pytest

from extractors.spark.catalogs import Catalogs
from extractors.spark.plan.reading import read_plan
from extractors.spark.plan.reads import EndKind, PlanEnd
from extractors.spark.plan.writes import Write
from tests.support.spark_logs import node, start
from tests.support.spark_plans import (
    Op,
    commanded,
    counted,
    flows,
    inserting,
    op,
    printed,
    project,
    scan,
    where,
)

A_COLUMNS = "id#1L, k#2, v#3, n#4"
B_COLUMNS = "id#11L, k#12, v#13, n#14"
A, B = scan("d.a", A_COLUMNS), scan("d.b", B_COLUMNS)
SAVE = "SaveIntoDataSourceCommand"
JDBC = "org.apache.spark.sql.execution.datasources.jdbc.JdbcRelationProvider@1, Map(dbtable -> out, url -> jdbc:x), Append"


def of(query: Op, given: str, subqueries: dict[int, Op] | None = None) -> dict[str, str]:
    names = ", ".join(each.partition("#")[0] for each in given.split(", "))
    return flows(inserting(query, names, given), subqueries)


def saved(query: Op) -> dict[str, str]:
    """Return the columns saved to a data source, read from the logical plan that the command prints."""
    return flows(commanded(SAVE, JDBC, query))


def flagged(flow: str) -> bool:
    """Return whether a flow is flagged as incomplete, inferred or opaque."""
    return any(flag in flow for flag in ("incomplete", "inferred", "opaque"))


def relation(columns: str, table: str = "a") -> Op:
    return op(
        "LogicalRelation", f"Arguments: parquet, [{columns}], `spark_catalog`.`d`.`{table}`, serde, false"
    )


# -- Rows and values that the plan does not print -------------------------------------------------------------------


def cached(query: Op, columns: str) -> Op:
    """A cached plan. ExplainUtils does not search cached plans for subqueries, so these are never printed."""
    memory = op(
        "InMemoryRelation",
        f"Arguments: [{columns}], StorageLevel(disk, memory, deserialized, 1 replicas)",
        inner=(query,),
    )
    count = columns.count("#")
    return op("InMemoryTableScan", f"Output [{count}]: [{columns}]\nArguments: [{columns}]", inner=(memory,))


def test_a_subquery_inside_a_cached_plan_is_flagged() -> None:
    listed = counted("Output", 2, "k#2, Subquery subquery#9, [id=#33] AS m#10")
    query = op("Project", f"{listed}\n{counted('Input', 4, A_COLUMNS)}", A)
    assert flagged(of(cached(query, "k#2, m#10"), "k#2, m#10")["m"])


def test_a_subquery_in_a_condition_of_a_cached_plan_is_flagged() -> None:
    query = where("(isnotnull(v#3) AND (v#3 > Subquery subquery#9, [id=#33]))", A, A_COLUMNS)
    assert flagged(of(cached(query, A_COLUMNS), A_COLUMNS)["k"])


def test_a_filter_by_a_lambda_is_flagged() -> None:
    query = where("Job$$$Lambda$2921/0x0000000801234000@6b0d80ed.apply", A, A_COLUMNS)
    assert flagged(of(query, "id#1L, k#2")["k"])


def test_a_method_call_without_printed_arguments_is_flagged() -> None:
    query = project("Job$$$Lambda$2921/0x0000000801234000@6b0d80ed.apply AS x#9", A, A_COLUMNS)
    assert flagged(of(query, "x#9")["x"])


def test_columns_of_objects_written_to_a_data_source_are_flagged() -> None:
    maps = op(
        "MapElements",
        "Arguments: Job$$Lambda@1, class org.X, [StructField(id,LongType,false)], obj#19: org.X",
        op(
            "DeserializeToObject",
            "Arguments: newInstance(class org.X), obj#18: org.X",
            relation("id#1L, k#2"),
        ),
    )
    rows = op(
        "SerializeFromObject",
        "Arguments: [knownnotnull(assertnotnull(input[0, org.X, true])).id AS id#20L, "
        "staticinvoke(class org.apache.spark.unsafe.types.UTF8String, StringType, fromString, input[0].k, true, false, true) AS k#21]",
        maps,
    )
    found = saved(rows)
    assert set(found) == {"id", "k"}
    found = saved(op("Project", "Arguments: [id#20L AS x#30L, (k#21 + 1) AS y#31]", rows))
    assert flagged(found["x"])
    assert flagged(found["y"])


# -- Columns with names of other things -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(
            op("Scan hive spark_catalog.d.a", "Output [2]: [id#1L, file_name#2]\nArguments: [id#1L, file_name#2], HiveTableRelation [`d`.`a`, serde, Data Cols: [id#1L, file_name#2], Partition Cols: []]"), id="of a Hive table",
        ),
        pytest.param(
            op("BatchScan local.d.a", "Output [2]: [id#1L, file_name#2]\nlocal.d.a (branch=null) [filters=, groupedBy=]"), id="of an Iceberg table",
        ),
        pytest.param(
            op("Scan JDBCRelation(a) [numPartitions=1]", "Output [2]: [id#1L, file_name#2]\nReadSchema: struct<id:bigint,file_name:string>"), id="of a database",
        ),
    ],
)  # fmt: skip
def test_a_column_named_like_file_metadata_is_an_ordinary_column(source: Op) -> None:
    assert of(source, "id#1L, file_name#2")["file_name"] == "a.file_name |"


def test_a_column_named_like_file_metadata_is_ordinary_in_a_logical_plan() -> None:
    assert saved(relation("id#1L, file_name#2"))["file_name"] == "a.file_name |"


SHOWN = ", ".join(f"c{number}#{number}" for number in range(1, 25))


@pytest.mark.parametrize("name", ["年龄", "änderung", "2020_sales", "my-col", "my col", "größe"])
def test_unusual_column_names_after_the_cut_are_inferred_or_incomplete(name: str) -> None:
    below = relation(f"{SHOWN}, ... 6 more fields")
    found = saved(op("Project", f"Arguments: [c1#1, concat({name}#27, x) AS y#50]", below))
    assert found["y"] in (f"a.{name} | inferred", "| incomplete")


def test_a_computed_column_after_the_cut_of_a_subquery_is_flagged() -> None:
    below = op("Aggregate", f"Arguments: [c1#1], [{SHOWN}, ... 6 more fields]", relation(SHOWN))
    found = saved(op("Project", "Arguments: [c1#1, (count(1)#40L + 1) AS y#50L]", below))
    assert flagged(found["y"])


# -- Operators ------------------------------------------------------------------------------------------------------


def test_gluten_unions_rows_like_spark() -> None:
    query = op("ColumnarUnion", "", A, B)
    assert of(query, A_COLUMNS)["k"] == "a.k, b.k |"


def test_an_unknown_logical_operator_flags_every_column() -> None:
    found = saved(op("SomethingNew", "Arguments: [k#2]", relation(A_COLUMNS)))
    assert all(flagged(flow) for flow in found.values())


def test_a_photon_union_with_shuffle_keeps_both_sides_or_is_flagged() -> None:
    query = op("PhotonUnionShuffleExchangeSink", "", A, B)
    assert "b.k" in of(query, A_COLUMNS)["k"] or flagged(of(query, A_COLUMNS)["k"])


@pytest.mark.parametrize(
    "pushed",
    [
        "*Or(EqualTo(n,1),EqualTo(n,2))",
        "*Not(EqualTo(n,1))",
        "*IsNotNull(id), *And(IsNotNull(n),LessThan(n,3))",
    ],
)
def test_a_compound_pushed_filter_of_a_database_is_read_or_flagged(pushed: str) -> None:
    query = op("Scan JDBCRelation(T9) [numPartitions=1]", f"Output [1]: [id#9]\nPushedFilters: [{pushed}]")
    found = of(query, "id#9")["id"]
    assert "T9.n" in found or flagged(found)


@pytest.mark.parametrize(
    "printed", ["filters=day IS NOT NULL, day = 20454, groupedBy=", "filters=day = 20454, runtimeFilters="]
)
def test_a_partition_filter_of_iceberg_is_read_or_flagged(printed: str) -> None:
    query = op("BatchScan local.d.a", f"Output [1]: [id#9]\nlocal.d.a (branch=null) [{printed}]")
    found = of(query, "id#9")["id"]
    assert "a.day" in found or flagged(found)


@pytest.mark.parametrize(
    "printed",
    [
        "local.d.a [fromSnapshotId=null, toSnapshotId=null, filters=]",
        "IcebergChangelogScan(table=local.d.a, fromSnapshotId=null, toSnapshotId=null, filters=)",
    ],
    ids=["as 1.9 prints it", "as 1.12 prints it"],
)
def test_the_changelog_of_an_iceberg_table_belongs_to_that_table(printed: str) -> None:
    query = op("BatchScan local.d.a.changes", f"Output [2]: [id#9, _change_type#10]\n{printed}")
    assert of(query, "id#9, _change_type#10") == {"id": "a.id |", "_change_type": "a._change_type |"}


@pytest.mark.parametrize(
    "printed",
    ["local.d.changes (branch=null) [filters=, groupedBy=]", "IcebergScan(table=local.d.changes, filters=)"],
)
def test_an_iceberg_table_may_be_called_changes(printed: str) -> None:
    query = op("BatchScan local.d.changes", f"Output [1]: [id#9]\n{printed}")
    assert of(query, "id#9") == {"id": "changes.id |"}


def test_an_aggregate_filter_hides_no_later_expression() -> None:
    query = op(
        "Aggregate",
        "Arguments: [k#2], [k#2, (sum(v#3) FILTER (WHERE (n#4 > 1)) / sum(id#1L)) AS r#9]",
        relation(A_COLUMNS),
    )
    assert saved(query)["r"] == "a.id, a.v | a.k, a.n"


# -- Row-level changes ----------------------------------------------------------------------------------------------


def merged_rows(instructions: str, count: int, command: str, metadata: str) -> dict[str, str]:
    """Return the flows of a MERGE into the columns c1… of ``local.d.t``. A correct source of each column is its own
    source column (s1…) or the column itself."""
    target = ", ".join(f"c{number}#{100 + number}" for number in range(1, count + 1)) + f", {metadata}"
    source = ", ".join(f"s{number}#{200 + number}" for number in range(1, count + 1))
    out = (
        "__row_operation#300, "
        + ", ".join(f"c{number}#{300 + number}" for number in range(1, count + 1))
        + f", {metadata}"
    )
    both = op(
        "SortMergeJoin FullOuter",
        "Left keys [1]: [c1#101]\nRight keys [1]: [s1#201]\nJoin type: FullOuter\nJoin condition: None",
        op("BatchScan local.d.t", counted("Output", target.count("#"), target)),
        op("BatchScan local.d.s", counted("Output", count, source)),
        title="SortMergeJoin",
    )
    given = counted("Input", target.count("#") + count, f"{target}, {source}")
    merge = op("MergeRows", f"{given}\nArguments: isnotnull(c1#101), isnotnull(s1#201), {instructions}, false, {printed_list('[', out.split(', '), ']')}", both)  # fmt: skip
    listed = counted("Input", out.count("#"), out)
    return flows(op(command, f"{listed}\nArguments: IcebergWrite(table=local.d.t, format=PARQUET)", merge))


def printed_list(before: str, parts: list[str], behind: str) -> str:
    """Print a list as Spark does if spark.sql.debug.maxToStringFields is 25."""
    shown = parts if len(parts) <= 25 else [*parts[:25], f"... {len(parts) - 25} more fields"]
    return f"{before}{', '.join(shown)}{behind}"


def wrong(found: dict[str, str]) -> dict[str, str]:
    """Return the columns with a wrong source, and those that lack the right source without a flag."""
    bad = {}
    for name, flow in found.items():
        data = {each.strip() for each in flow.partition("|")[0].split(",") if each.strip()}
        own = {f"s.s{name[1:]}", f"t.{name}"}
        if data - own or (f"s.s{name[1:]}" not in data and not flagged(flow)):
            bad[name] = flow
    return bad


@pytest.mark.parametrize("count", [5, 20, 21, 22, 23, 24, 30])
def test_a_copy_on_write_merge_of_a_wide_table_is_correct_or_flagged(count: int) -> None:
    """The plan's instructions are ``keep(Update, condition, 6, s1, …, _file)``."""
    values = [f"s{number}#{200 + number}" for number in range(1, count + 1)]
    own = [f"c{number}#{100 + number}" for number in range(1, count + 1)]
    update = printed_list("keep(", ["Update", "(s2#202 > 1)", "6", *values, "_file#190"], ")")
    copy = printed_list("keep(", ["Copy", "true", "6", *own, "_file#190"], ")")
    insert = printed_list("keep(", ["Insert", "true", "5", *values, "null"], ")")
    assert not wrong(
        merged_rows(f"[{update}, {copy}], [{insert}], [{copy}]", count, "ReplaceData", "_file#190")
    )


@pytest.mark.parametrize("count", [5, 7, 8, 12, 19, 20, 21, 30])
def test_a_merge_on_read_of_a_wide_table_is_correct_or_flagged(count: int) -> None:
    """The instructions are ``split(condition, 1, null, …, _file, _pos, …, 3, s1, …)``. The inserted values differ
    from the updated ones."""
    own = ["_file#190", "_pos#191L", "_spec_id#192", "_partition#193"]
    values = [f"s{number}#{200 + number}" for number in range(1, count + 1)]
    split = printed_list("split(", ["true", "1", *["null"] * count, *own, "3", *values, *["null"] * 4], ")")
    insert = printed_list("keep(", ["true", "3", "s1#201", *["null"] * (count - 1), *["null"] * 4], ")")
    found = merged_rows(f"[{split}], [{insert}], []", count, "WriteDelta", ", ".join(own))
    assert not wrong(found)


def test_a_delete_with_a_computing_subquery_is_not_an_update() -> None:
    chosen = project("(id#11L + 1) AS x#20L", B, B_COLUMNS)
    target = op("BatchScan local.d.t", "Output [3]: [id#1L, v#2, _file#3]")
    left = op(
        "SortMergeJoin LeftAnti",
        "Left keys [1]: [id#1L]\nRight keys [1]: [x#20L]\nJoin type: LeftAnti\nJoin condition: None",
        target,
        chosen,
        title="SortMergeJoin",
    )
    root = op(
        "ReplaceData",
        "Input [3]: [id#1L, v#2, _file#3]\nArguments: IcebergWrite(table=local.d.t, format=PARQUET)",
        left,
    )
    reading = read_plan(
        start(
            0,
            (node("ReplaceData", "ReplaceData IcebergWrite(table=local.d.t, format=PARQUET)"), printed(root)),
        )
    )
    assert [each.operation for each in reading.writes] == ["DELETE"]


def test_a_delete_condition_may_contain_a_comma() -> None:
    target = relation("id#1L, v#2", "t")
    inner = op(
        "DeleteCommand",
        "Arguments: Delta[version=0, file:/w/t], `spark_catalog`.`d`.`t`, serde, v#2 LIKE a, b%",
        inner=(target,),
    )
    assert flows(op("Execute DeleteCommand", "Output: []", inner=(inner,)))["id"] == "| t.v"


# -- Catalogues -----------------------------------------------------------------------------------------------------

CLASS = "org.apache.iceberg.spark.SparkCatalog"


def test_a_copy_between_catalogues_does_not_identify_either_of_them() -> None:
    catalogs = Catalogs()
    configured = {CLASS: frozenset({"dev", "prod"})}
    here = PlanEnd(EndKind.TABLE, "t", "db")
    dev = PlanEnd(EndKind.TABLE, "t", "dev.db")
    catalogs.learn([Write("AppendData", "INSERT_INTO", dev, moves_data=True)], [], configured)
    catalogs.learn(
        [Write("CreateTableAsSelect", "CREATETABLE_AS_SELECT", here, moves_data=True, catalog=f"{CLASS}@1")],
        [],
        configured,
    )
    catalogs.learn([Write("AppendData", "INSERT_INTO", dev, moves_data=True)], [], configured)
    assert catalogs.names.get(f"{CLASS}@1", "") != "dev"
