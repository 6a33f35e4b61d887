"""Spark reading from and writing to databases over JDBC: logs of runs on a real database (H2), and single plans.

The statements of the logs used the catalogues `pg` and `crm`, both with a schema `app`, and `format("jdbc")` on the
database of `pg`.
"""
# ruff: noqa: E501, S608 - statements with all that flows through them

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from navlin.model.databases import Database, database_of
from navlin.model.keys import EntityType
from tests.support.openlineage import SDK_1, Follower, dataset, event
from tests.support.spark_logs import (
    ESTATE,
    Extracted,
    command,
    end,
    environment,
    extracted_of,
    node,
    read_once,
    start,
)
from tests.support.spark_statements import columns_of, statements

UNREAD = "a query that was sent to a database by JDBC could not be read, or not all of it"
READ_UNKNOWN = "navlin did not find in the plan what is read"
WRITTEN_UNKNOWN = "navlin did not find in the plan what is written"
CATALOG = "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog"

# fmt: off
TRUTH = {
    "p_plain": ("CREATETABLE_AS_SELECT", "pg.app.people", "out.p_plain", {"id": "pg.app.people.id | pg.app.people.salary", "nm": "pg.app.people.name | pg.app.people.salary"}),
    "p_join": ("CREATETABLE_AS_SELECT", "pg.app.dept pg.app.people", "out.p_join", {"name": "pg.app.people.name | pg.app.dept.id pg.app.people.dept", "dname": "pg.app.dept.dname | pg.app.dept.id pg.app.people.dept"}),
    "p_join_same": ("CREATETABLE_AS_SELECT", "pg.app.dept pg.app.people", "out.p_join_same", {"pid": "pg.app.people.id | pg.app.dept.dname pg.app.dept.id pg.app.people.dept", "did": "pg.app.dept.id | pg.app.dept.dname pg.app.people.dept", "name": "pg.app.people.name | pg.app.dept.dname pg.app.dept.id pg.app.people.dept"}),
    "p_leftjoin": ("CREATETABLE_AS_SELECT", "pg.app.dept pg.app.people", "out.p_leftjoin", {"name": "pg.app.people.name | pg.app.dept.id pg.app.people.dept", "dname": "pg.app.dept.dname | pg.app.dept.id pg.app.people.dept"}),
    "p_join_two": ("CREATETABLE_AS_SELECT", "crm.app.dept pg.app.people", "out.p_join_two", {"name": "pg.app.people.name | crm.app.dept.id pg.app.people.dept", "dname": "crm.app.dept.dname | crm.app.dept.id pg.app.people.dept"}),
    "p_join_agg": ("CREATETABLE_AS_SELECT", "pg.app.dept pg.app.people", "out.p_join_agg", {"dname": "pg.app.dept.dname | pg.app.dept.id pg.app.people.dept", "s": "pg.app.people.salary | pg.app.dept.dname pg.app.dept.id pg.app.people.dept", "n": "| pg.app.dept.dname pg.app.dept.id pg.app.people.dept"}),
    "p_join3": ("CREATETABLE_AS_SELECT", "pg.app.dept pg.app.people", "out.p_join3", {"name": "pg.app.people.name | pg.app.dept.id pg.app.people.dept", "dname": "pg.app.dept.dname | pg.app.dept.id pg.app.people.dept", "other": "pg.app.people.name | pg.app.dept.id pg.app.people.dept"}),
    "p_agg": ("CREATETABLE_AS_SELECT", "pg.app.people", "out.p_agg", {"dept": "pg.app.people.dept |", "s": "pg.app.people.salary | pg.app.people.dept", "b": "pg.app.people.bonus | pg.app.people.dept", "n": "| pg.app.people.dept", "c": "pg.app.people.name | pg.app.people.dept", "a": "pg.app.people.salary | pg.app.people.dept"}),
    "p_agg_expr": ("CREATETABLE_AS_SELECT", "pg.app.people", "out.p_agg_expr", {"dept": "pg.app.people.dept | pg.app.people.name", "s": "pg.app.people.bonus pg.app.people.salary | pg.app.people.dept pg.app.people.name", "k": "pg.app.people.bonus pg.app.people.salary | pg.app.people.dept pg.app.people.name"}),
    "p_agg_all": ("CREATETABLE_AS_SELECT", "pg.app.people", "out.p_agg_all", {"m": "pg.app.people.salary |"}),
    "p_agg_groupexpr": ("CREATETABLE_AS_SELECT", "pg.app.people", "out.p_agg_groupexpr", {"d1": "pg.app.people.dept |", "m": "pg.app.people.salary | pg.app.people.dept"}),
    "p_agg_distinct": ("CREATETABLE_AS_SELECT", "pg.app.people", "out.p_agg_distinct", {"dept": "pg.app.people.dept |", "m": "pg.app.people.name | pg.app.people.dept"}),
    "p_distinct": ("CREATETABLE_AS_SELECT", "pg.app.people", "out.p_distinct", {"dept": "pg.app.people.dept |", "name": "pg.app.people.name |"}),
    "p_having": ("CREATETABLE_AS_SELECT", "pg.app.people", "out.p_having", {"dept": "pg.app.people.dept | pg.app.people.salary", "s": "pg.app.people.salary | pg.app.people.dept"}),
    "p_countstar": ("CREATETABLE_AS_SELECT", "pg.app.people", "out.p_countstar", {"n": "|"}),
    "p_limit": ("CREATETABLE_AS_SELECT", "pg.app.people", "out.p_limit", {"id": "pg.app.people.id |", "name": "pg.app.people.name |"}),
    "p_topn": ("CREATETABLE_AS_SELECT", "pg.app.people", "out.p_topn", {"id": "pg.app.people.id | pg.app.people.salary", "name": "pg.app.people.name | pg.app.people.salary"}),
    "p_offset": ("CREATETABLE_AS_SELECT", "pg.app.people", "out.p_offset", {"id": "pg.app.people.id |", "name": "pg.app.people.name |"}),
    "p_sample": ("CREATETABLE_AS_SELECT", "pg.app.people", "out.p_sample", {"id": "pg.app.people.id |", "name": "pg.app.people.name |"}),
    "p_expr_filter": ("CREATETABLE_AS_SELECT", "pg.app.people", "out.p_expr_filter", {"id": "pg.app.people.id | pg.app.people.bonus pg.app.people.name pg.app.people.salary"}),
    "p_union": ("CREATETABLE_AS_SELECT", "crm.app.dept pg.app.people", "out.p_union", {"id": "crm.app.dept.id pg.app.people.id |"}),
    "p_subquery": ("CREATETABLE_AS_SELECT", "pg.app.dept pg.app.people", "out.p_subquery", {"id": "pg.app.people.id | pg.app.dept.dname pg.app.dept.id pg.app.people.dept", "name": "pg.app.people.name | pg.app.dept.dname pg.app.dept.id pg.app.people.dept"}),
    "p_local_join": ("CREATETABLE_AS_SELECT", "pg.app.people src.sales", "out.p_local_join", {"name": "pg.app.people.name | pg.app.people.id src.sales.cust", "price": "src.sales.price | pg.app.people.id src.sales.cust"}),
    "w_insert": ("INSERT_INTO", "src.sales", "crm.app.people", {"id": "src.sales.cust |", "name": "src.sales.store |", "dept": "|", "salary": "src.sales.price |", "bonus": "src.sales.disc |"}),
    "w_insert_cols": ("INSERT_INTO", "src.sales", "crm.app.copy", {"id": "src.sales.cust |", "name": "src.sales.store |"}),
    "w_insert_jdbc": ("INSERT_INTO", "pg.app.people", "crm.app.copy", {"id": "pg.app.people.id |", "name": "pg.app.people.name |"}),
    "w_overwrite": ("INSERT_OVERWRITE", "src.sales", "crm.app.copy", {"id": "src.sales.cust |", "name": "src.sales.store |"}),
    "w_ctas": ("CREATETABLE_AS_SELECT", "src.sales", "crm.app.made", {"id": "src.sales.cust |", "nm": "src.sales.store |"}),
    "w_ctas_jdbc": ("CREATETABLE_AS_SELECT", "pg.app.people", "crm.app.made2", {"id": "pg.app.people.id |", "nm": "pg.app.people.name |"}),
    "w_rtas": ("CREATETABLE_AS_SELECT", "src.sales", "crm.app.made", {"id": "src.sales.cust |", "nm": "src.sales.store |"}),
    "w_values": ("INSERT_INTO", "", "crm.app.copy", {"id": "|", "name": "|"}),
    "w_create": ("CREATETABLE", "", "app.empty", {}),
    "w_drop": ("DROPTABLE", "", "app.empty", {}),
    "w_writeto": ("INSERT_INTO", "src.sales", "crm.app.copy", {"id": "src.sales.cust |", "name": "src.sales.store |"}),
    "w_writeto_create": ("CREATETABLE_AS_SELECT", "src.sales", "crm.app.made3", {"id": "src.sales.cust |", "name": "src.sales.store |"}),
    "w_saveastable": ("INSERT_INTO", "src.sales", "crm.app.copy", {"id": "src.sales.cust |", "name": "src.sales.store |"}),
    "w_insertinto": ("INSERT_INTO", "src.sales", "crm.app.copy", {"id": "src.sales.cust |", "name": "src.sales.store |"}),
    "w_overwrite_where": ("INSERT_OVERWRITE", "src.sales", "crm.app.copy", {"id": "src.sales.cust |", "name": "src.sales.store |"}),
    "v_plain": ("CREATETABLE_AS_SELECT", "app.people", "out.v_plain", {"id": "app.people.id |", "name": "app.people.name |"}),
    "v_unq": ("CREATETABLE_AS_SELECT", "information_schema.users", "out.v_unq", {"user_name": "information_schema.users.USER_NAME |"}),
    "v_alias": ("CREATETABLE_AS_SELECT", "app.people", "out.v_alias", {"id": "app.people.id | ! parsed", "name": "app.people.name | ! parsed"}),
    "v_alias2": ("CREATETABLE_AS_SELECT", "app.people", "out.v_alias2", {"id": "app.people.id | app.people.salary ! parsed", "name": "app.people.name | app.people.salary ! parsed"}),
    "v_sub": ("CREATETABLE_AS_SELECT", "app.people", "out.v_sub", {"id": "app.people.id | app.people.salary ! parsed", "nm": "app.people.name | app.people.salary ! parsed"}),
    "v_query": ("CREATETABLE_AS_SELECT", "app.people", "out.v_query", {"id": "app.people.id | ! parsed", "nm": "app.people.name | ! parsed"}),
    "v_query_star": ("CREATETABLE_AS_SELECT", "app.people", "out.v_query_star", {"id": "app.people.id | ! parsed", "name": "app.people.name | ! parsed"}),
    "v_query_join": ("CREATETABLE_AS_SELECT", "app.dept app.people", "out.v_query_join", {"id": "app.people.id | app.dept.id app.people.dept ! parsed", "dname": "app.dept.dname | app.dept.id app.people.dept ! parsed"}),
    "v_join": ("CREATETABLE_AS_SELECT", "app.dept app.people", "out.v_join", {"dname": "app.dept.dname | app.dept.id app.people.dept ! parsed", "name": "app.people.name | app.dept.id app.people.dept ! parsed"}),
    "v_prep": ("CREATETABLE_AS_SELECT", "app.people", "out.v_prep", {"id": "app.people.id | ! parsed"}),
    "v_agg": ("CREATETABLE_AS_SELECT", "app.people", "out.v_agg", {"d": "app.people.dept |", "s": "app.people.salary | app.people.dept"}),
    "v_part": ("CREATETABLE_AS_SELECT", "app.people", "out.v_part", {"id": "app.people.id |", "salary": "app.people.salary |"}),
    "v_count": ("CREATETABLE_AS_SELECT", "app.people", "out.v_count", {"count": "|"}),
    "s_append": ("INSERT_INTO", "src.sales", "app.copy", {"id": "src.sales.cust |", "name": "src.sales.store |"}),
    "s_over": ("INSERT_OVERWRITE", "src.sales", "app.made9", {"id": "src.sales.cust |", "name": "src.sales.store |"}),
    "s_jdbc": ("CREATETABLE", "", "src.jq", {}),
    "t_table": ("CREATETABLE_AS_SELECT", "src.jt", "out.t_table", {"id": "src.jt.id |", "name": "src.jt.name |"}),
    "t_query": ("CREATETABLE", "", "src.jw", {}),
    "t_write": ("CREATETEMP_VIEW_USING", "", "", {}),
    "t_view": ("SELECT", "pg.app.people", "", {}),
    "t_cache": ("CREATETABLE_AS_SELECT", "pg.app.people", "out.t_cache", {"id": "pg.app.people.id |", "n": "pg.app.people.name |"}),
}
"""Statement → (kind, inputs, output, {column: "data sources | control sources"})."""
# fmt: on
UNNAMED = {"w_insert_jdbc", "w_ctas_jdbc", "t_view"}
"""Statements for which Spark 3.5 does not print the name of the input in any execution."""


@pytest.fixture(scope="module", params=["jdbc-spark-4.3", "jdbc-spark-3.5"])
def log(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def told(log: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return {
        name: (each.operation, " ".join(each.inputs), " ".join(each.outputs), each.reasons, each.columns)
        for name, each in statements(log, tmp_path_factory.mktemp(log)).items()
    }


@pytest.mark.parametrize("name", TRUTH)
def test_a_statement_has_its_tables_and_columns(name: str, log: str, told: dict[str, Any]) -> None:
    operation, inputs, outputs, columns = TRUTH[name]
    if log == "jdbc-spark-3.5" and name in UNNAMED:
        assert told[name][3] == [READ_UNKNOWN]
        assert all(each.endswith("! incomplete") for each in told[name][4].values())
        return
    names = {
        column if column.count(".") > 1 else f"{outputs}.{column}": made for column, made in columns.items()
    }
    assert told[name] == (operation, inputs, outputs, [], names)


def test_every_statement_of_a_log_has_a_truth(told: dict[str, Any]) -> None:
    assert {name for name in told if name[:2] in ("p_", "w_", "v_", "s_", "t_")} == set(TRUTH)


def test_a_query_may_have_newlines_and_comments(tmp_path: Path) -> None:
    found = statements("jdbc-lines", tmp_path)["ml_query"]
    assert (found.inputs, found.outputs, found.reasons) == (["app.people"], ["out.ml_query"], [])
    assert found.columns == {
        "out.ml_query.id": "app.people.id | app.people.age ! parsed",
        "out.ml_query.nm": "app.people.name | app.people.age ! parsed",
    }


# -- `dbtable` and `query` -----------------------------------------------------------------------------------------------

COLUMNS = "Output [2]: [id#1, name#2]\nReadSchema: struct<id:int,name:string>"


def reading(directory: Path, dbtable: str) -> Extracted:
    scan = node(f"Scan JDBCRelation({dbtable}) [numPartitions=1] ", "Scan JDBCRelation [id#1,name#2]")
    insert = node("Execute InsertIntoHadoopFsRelationCommand", "Execute InsertIntoHadoopFsRelationCommand hdfs://ns/x, "
        "false, Parquet, [path=hdfs://ns/x], Overwrite, [id, name]", scan)  # fmt: skip
    text = (
        f"== Physical Plan ==\nExecute InsertIntoHadoopFsRelationCommand (2)\n"
        f"+- Scan JDBCRelation({dbtable}) [numPartitions=1]  (1)\n\n\n"
        f"(1) Scan JDBCRelation({dbtable}) [numPartitions=1] \n{COLUMNS}\n\n"
        "(2) Execute InsertIntoHadoopFsRelationCommand\nInput [2]: [id#1, name#2]\n"
        "Arguments: hdfs://ns/x, false, Parquet, [path=hdfs://ns/x], Overwrite, [id, name]\n\n"
    )
    return extracted_of(directory, start(0, (insert, text)), end(0))


@pytest.mark.parametrize(
    ("dbtable", "table"),
    [
        ("people", "people"),
        ("app.people", "app.people"),
        ('"app"."people"', "app.people"),
        ("`app`.`people`", "app.people"),
        ("[crm].[app].[people]", "crm.app.people"),
        (' "app" . people ', "app.people"),
        ('"a""b"."my table"', 'a"b.my table'),
        ('"a.b".c', '"a.b".c'),
    ],
)
def test_one_to_three_identifiers_are_a_table_name(tmp_path: Path, dbtable: str, table: str) -> None:
    [operation] = reading(tmp_path, dbtable).operations
    assert (operation.attributes["inputs"], operation.attributes.get("incompleteReasons")) == ([table], [])


@pytest.mark.parametrize(
    ("dbtable", "inputs", "name_of"),
    [
        ('"app"."people" as p', ["app.people"], "app.people.name |"),
        ("app.people p", ["app.people"], "app.people.name |"),
        ("(select id, upper(nm) as name from app.people where age > 1) q", ["app.people"], "app.people.nm | app.people.age"),
        ("(select p.id, d.name from people p join dept d on p.dept = d.id) q", ["dept", "people"], "dept.name | dept.id people.dept"),
        ("(select `id`, `name` from `app`.`people`) q", ["app.people"], "app.people.name |"),
        ("(select id, -- the key\n  upper(nm) as name\nfrom app.people\n) q", ["app.people"], "app.people.nm |"),
        ("(select id, name from people where rownum < 5) q", ["people"], "people.name |"),
        ("a.b.c.d", ["a.b.c.d"], "a.b.c.d.name |"),
    ],
)  # fmt: skip
def test_a_query_is_parsed_and_marked_as_such(
    tmp_path: Path, dbtable: str, inputs: list[str], name_of: str
) -> None:
    extracted = reading(tmp_path, dbtable)
    [operation] = extracted.operations
    assert (operation.attributes["inputs"], operation.attributes["incompleteReasons"]) == (inputs, [])
    assert columns_of(extracted, operation.key.identity)["/x.name"] == f"{name_of} ! parsed"


@pytest.mark.parametrize("dbtable", ["people p JOIN dept d ON p.dept = d.id", "people p, dept d"])
def test_an_unqualified_column_of_two_tables_is_incomplete(tmp_path: Path, dbtable: str) -> None:
    extracted = reading(tmp_path, dbtable)
    [operation] = extracted.operations
    assert operation.attributes["inputs"] == ["dept", "people"]
    assert operation.attributes["incompleteReasons"] == [UNREAD]
    assert columns_of(extracted, operation.key.identity)["/x.id"].endswith("! incomplete parsed")


@pytest.mark.parametrize(
    "dbtable", ["(select from where) q", "(call me()) q", "people; drop table people", "("]
)
def test_an_unparsable_text_is_not_a_table(tmp_path: Path, dbtable: str) -> None:
    extracted = reading(tmp_path, dbtable)
    [operation] = extracted.operations
    assert operation.attributes["inputs"] == []
    assert operation.attributes["incompleteReasons"] == [UNREAD]
    assert operation.attributes["unknownInputs"] == [dbtable]
    assert not [each for each in extracted.entities.values() if each.key.type is EntityType.TABLE]


def test_sparks_subquery_numbers_are_in_no_name_or_identity(tmp_path: Path) -> None:
    runs = []
    for number in (67, 90):
        (directory := tmp_path / str(number)).mkdir()
        extracted = reading(directory, f"(select id, name from app.people) SPARK_GEN_SUBQ_{number}")
        assert "SPARK_GEN_SUBQ" not in repr(list(extracted.relations.values()))
        runs.append(extracted.operations[0].key.identity)
    assert runs[0] == runs[1]


def test_a_write_target_that_is_not_a_name_is_unknown(tmp_path: Path) -> None:
    save = command("SaveIntoDataSourceCommand", "x.jdbc.J@1, [dbtable=people p, url=jdbc:h2:mem:x], Append")
    [operation] = extracted_of(tmp_path, start(0, save), end(0)).operations
    assert operation.attributes["incompleteReasons"] == [WRITTEN_UNKNOWN]


# -- Identifying the database --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "database"),
    [
        ("jdbc:postgresql://etl:secret@DB:5433/shop?ssl=true", Database("postgres://db:5433", "shop")),
        ("jdbc:postgresql://db/shop", Database("postgres://db:5432", "shop")),
        ("jdbc:mysql://db/shop", Database("mysql://db:3306", "shop")),
        ("jdbc:sqlserver://db;user=sa;password=secret;databaseName=shop", Database("sqlserver://db:1433", "shop")),
        ("jdbc:oracle:thin:scott/tiger@db:1522:orcl", Database("oracle://db:1522", "orcl")),
        ("jdbc:oracle:thin:@//db/svc.example", Database("oracle://db:1521", "svc.example")),
        ("jdbc:h2:mem:pg;DB_CLOSE_DELAY=-1;PASSWORD=secret", Database("h2:mem:pg", "")),
        ("", Database("", "")),
    ],
)  # fmt: skip
def test_a_database_has_its_namespace_and_name(url: str, database: Database) -> None:
    assert database_of(url) == database


def catalogs(**settings: str) -> dict[str, Any]:
    names = {f"spark.sql.catalog.{key.replace('__', '.')}": value for key, value in settings.items()}
    return environment() | {"Spark Properties": names}


def appending(options: str) -> tuple[dict[str, Any], str]:
    text = f"JDBCTable(app.people,StructType(StructField(id,IntegerType,true)),x.JDBCOptions@{options},Map()), Project [id#1]"
    plan = node("AppendDataExecV1", f"AppendDataExecV1 {text}")
    return plan, f"== Physical Plan ==\nAppendDataExecV1 (1)\n\n\n(1) AppendDataExecV1\nArguments: {text}\n\n"


TWO = {
    "pg": CATALOG, "pg__url": "jdbc:h2:mem:pg;DB_CLOSE_DELAY=-1", "pg__driver": "org.h2.Driver",
    "crm": CATALOG, "crm__url": "jdbc:h2:mem:crm;DB_CLOSE_DELAY=-1", "crm__driver": "org.h2.Driver",
} | {f"{name}__pushDown{each}": "true" for name in ("pg", "crm") for each in ("Limit", "Offset", "Aggregate", "TableSample", "Join")}  # fmt: skip


@pytest.mark.parametrize("options", ["339c1317", "c812362f"])
def test_the_options_hash_identifies_the_written_catalogue_among_several(
    tmp_path: Path, options: str
) -> None:
    """Spark 4.3 (Scala 2.13) and 3.5 (Scala 2.12) printed these hashes for `pg.app.people`."""
    extracted = extracted_of(tmp_path, catalogs(**TWO), start(0, appending(options)), end(0))
    [operation] = extracted.operations
    assert operation.attributes["outputs"] == ["pg.app.people"]


def test_an_unidentified_catalogue_is_not_guessed(tmp_path: Path) -> None:
    blanked = TWO | {"pg__password": "*********(redacted)"}
    for settings, options in ((TWO, "12345678"), (blanked, "339c1317")):
        (directory := tmp_path / options).mkdir()
        [operation] = extracted_of(
            directory, catalogs(**settings), start(0, appending(options)), end(0)
        ).operations
        assert operation.attributes["outputs"] == []
        assert operation.attributes["incompleteReasons"] == [WRITTEN_UNKNOWN]


def test_a_single_catalogue_is_used_and_its_settings_are_in_no_record(tmp_path: Path) -> None:
    one = catalogs(
        pg=CATALOG, pg__url="jdbc:postgresql://etl:hunter2@db/shop", pg__password="*********(redacted)"
    )
    extracted = extracted_of(tmp_path, one, start(0, appending("1")), end(0))
    [flow] = [each for each in extracted.relations.values() if each.ep2.type is EntityType.DATASET]
    assert (flow.ep2.source.name, flow.ep2.name) == ("postgres://db:5432", "shop.app.people")
    assert "hunter2" not in repr(extracted)


def test_a_table_has_the_same_identity_as_in_openlineage_events(tmp_path: Path) -> None:
    for each in ("spark", "openlineage"):
        (tmp_path / each).mkdir()
    reads = dataset("postgres://db:5432", "shop.app.people")
    got = Follower(tmp_path / "openlineage").read(
        event("COMPLETE", inputs=[dataset("file", "/a")], outputs=[reads])
    )
    [named] = list(got.of(EntityType.DATASET))
    one = catalogs(pg=CATALOG, pg__url="jdbc:postgresql://db/shop")
    estate = replace(ESTATE, sources=(*ESTATE.sources, SDK_1))
    extracted = extracted_of(tmp_path / "spark", one, start(0, appending("1")), end(0), estate=estate)
    [flow] = [each for each in extracted.relations.values() if each.ep2.type is EntityType.DATASET]
    assert flow.ep2.identity == named.key.identity


# -- Inputs that failed --------------------------------------------------------------------------------------------------


def test_formerly_failing_records_of_others_are_correct(corpora: Path) -> None:
    records = corpora.parent / "failing" / "records"
    if not records.is_dir():
        pytest.skip("the failing inputs are not beside this checkout")
    found = {}
    for name in ("v_alias", "v_dbtable_join", "v_dbtable_comma", "v_parallel", "jdbc_query_counter", "j_plain", "j_join", "j_insert"):  # fmt: skip
        [operation] = read_once(records / name).operations
        found[name] = (operation.attributes["inputs"], operation.attributes["incompleteReasons"])
    assert found == {
        "v_alias": (["app.people"], []),
        "v_dbtable_join": (["dept", "people"], [UNREAD]),
        "v_dbtable_comma": (["dept", "people"], [UNREAD]),
        "v_parallel": (["app.people"], []),
        "jdbc_query_counter": (["app.dept", "app.people"], []),
        "j_plain": (["pg.app.people"], []),
        "j_join": (["pg.app.dept", "pg.app.people"], []),
        "j_insert": (["src.sales"], []),
    }
