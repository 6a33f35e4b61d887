"""Further kinds of Sqoop's jobs, options that name the target, and the names that tables of databases have."""

# ruff: noqa: E501, S608 - queries and configurations in full

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from navlin.model.keys import EntityType, RelationType
from navlin.model.records import Relation
from tests.support.openlineage import ESTATE as TOLD_ESTATE
from tests.support.openlineage import Follower, dataset, event
from tests.support.sqoop_jobs import (
    EXPORT,
    QUERY_IMPORT,
    TABLE_IMPORT,
    captured,
    columns_of,
    extracted,
    without_yarn,
)

OUT = "mapreduce.output.fileoutputformat.outputdir"
MAPPER = "mapreduce.job.map.class"
STAGED = "hdfs://ns1/user/etl/_sqoop/f062a2e14f104715af14873c6afdbfbb_orders"
MOVED = "its data are in a directory from which Sqoop moves them elsewhere"
HIVE = "it loads the data into a Hive table that its configuration does not name"
URL = "its configuration names the database by a URL that navlin cannot read"
NO_URL = "its configuration does not name the database"
TABLE = "its configuration names the table in a form that navlin cannot read"
NO_TABLE = "its configuration names neither a table nor a query"
COLUMNS = "its columns are not listed in a form that navlin can read"
QUERY = "the query that it sends to the database could not be read, or not all of it"
SCHEMA = "the Avro schema in its configuration could not be read"
PERHAPS_STAGING = (
    "the table that it writes is perhaps a staging table, from which Sqoop moves the rows into another one"
)
PROCEDURE = "it calls a procedure of the database, and nothing tells which tables the procedure changes"
CATALOG = "it reads or writes a table by HCatalog that its configuration does not name"
NO_FILES = "it writes into HBase or Accumulo"
READ = "its input is not in a directory"
WRITTEN = "its output is not in a directory"


def ends(*configurations: dict[str, Any]) -> tuple[list[str], list[str], list[str]]:
    """Return (inputs, outputs, reasons) of the only operation of Sqoop."""
    found = without_yarn(extracted(*configurations))
    [operation] = found.operations.values()
    attributes = operation.attributes
    return attributes["inputs"], attributes["outputs"], attributes.get("incompleteReasons", [])


def by_oozie(*arguments: str) -> dict[str, Any]:
    """Return the properties that an action of Oozie puts into the configuration of its job."""
    listed = {f"oozie.sqoop.args.{place}": each for place, each in enumerate(arguments)}
    return {"oozie.sqoop.args.size": len(arguments), **listed}


def serialised(**options: str) -> dict[str, Any]:
    """Return the options that Sqoop itself puts into the configuration; underscores in their names become dots."""
    named = {f"sqoop.opt.{name.replace('_', '.')}": value for name, value in options.items()}
    return {"sqoop.opt.hive.import": "false", **named}


IMPORT = (
    "import",
    "--connect",
    "jdbc:postgresql://db:5432/shop",
    "--password",
    "hunter2",
    "--table",
    "orders",
    "-m",
    "1",
)
Told = tuple[list[str], list[str], list[str]]
TO_DATA: Told = (["shop.public.orders"], ["/data/all"], [])
TO_HIVE: Told = (["shop.public.orders"], ["mart.orders"], [])
# fmt: off
CASES: dict[str, tuple[dict[str, Any], Told]] = {
    # The target of an append is named by Oozie's arguments, or by Sqoop's own options.
    "append": ({OUT: STAGED}, (["shop.public.orders"], [], [MOVED])),
    "append-by-oozie": ({OUT: STAGED} | by_oozie(*IMPORT, "--append", "--target-dir", "/data/all"), TO_DATA),
    "append-equals": ({OUT: STAGED} | by_oozie(*IMPORT, "--append", "--target-dir=/data/all"), TO_DATA),
    "append-below-warehouse": ({OUT: STAGED} | by_oozie(*IMPORT, "--append", "--warehouse-dir", "/data/"), (["shop.public.orders"], ["/data/orders"], [])),
    "append-at-home": ({OUT: STAGED} | by_oozie(*IMPORT, "--append"), (["shop.public.orders"], ["/user/etl/orders"], [])),
    "append-with-file": ({OUT: STAGED} | by_oozie(*IMPORT, "--append", "--options-file", "/o"), (["shop.public.orders"], [], [MOVED])),
    "append-of-saved-job": ({OUT: STAGED} | by_oozie("job", "--exec", "nightly", "--target-dir", "/data/all"), (["shop.public.orders"], [], [MOVED])),
    "append-too-many-arguments": ({OUT: STAGED, "oozie.sqoop.args.size": "99999"}, (["shop.public.orders"], [], [MOVED])),
    "append-by-options": ({OUT: STAGED} | serialised(db_table="orders", hdfs_target_dir="/data/all"), TO_DATA),
    "append-elsewhere": ({OUT: "hdfs://ns1/tmp/mine/f062a2e14f104715af14873c6afdbfbb_orders"}, (["shop.public.orders"], [], [MOVED])),
    # A Hive import empties its directory.
    "hive-by-oozie": ({OUT: "/user/etl/orders"} | by_oozie(*IMPORT, "--hive-import", "--hive-database", "mart"), TO_HIVE),
    "hive-by-options": ({OUT: "/user/etl/orders"} | serialised(hive_import="true", hive_database_name="mart", hive_table_name="orders"), TO_HIVE),
    "hive-with-dot": ({OUT: "/user/etl/orders"} | by_oozie(*IMPORT, "--hive-import", "--hive-table", "mart.orders"), TO_HIVE),
    "hive-with-dots": ({OUT: "/user/etl/orders"} | by_oozie(*IMPORT, "--hive-import", "--hive-table", "a.mart.orders"), (["shop.public.orders"], [], [HIVE])),
    "hive-append": ({OUT: STAGED} | by_oozie(*IMPORT, "--hive-import", "--hive-database", "mart", "--append"), TO_HIVE),
    "hive-without-name": ({OUT: "/user/etl/orders"} | by_oozie("import", "--query", "select 1", "--hive-import"), (["shop.public.orders"], [], [HIVE])),
    "no-hive-by-oozie": ({OUT: "/user/etl/orders"} | by_oozie(*IMPORT), (["shop.public.orders"], ["/user/etl/orders"], [])),
    "no-hive-by-options": ({OUT: "/user/etl/orders"} | serialised(db_table="orders"), (["shop.public.orders"], ["/user/etl/orders"], [])),
    # Parquet and HCatalog.
    "parquet": ({MAPPER: "org.apache.sqoop.mapreduce.ParquetImportMapper", "kite.outputUri": "dataset:hdfs://ns1/data/orders"}, (["shop.public.orders"], ["/data/orders"], [])),
    "parquet-hive": ({MAPPER: "org.apache.sqoop.mapreduce.ParquetImportMapper", "kite.outputUri": "dataset:hive:/mart/orders", OUT: "/user/etl/orders"}, TO_HIVE),
    "parquet-hive-host": ({"kite.outputUri": "dataset:hive://hms:9083/mart/orders?auth:role=x"}, TO_HIVE),
    "hcatalog": ({MAPPER: "org.apache.sqoop.mapreduce.hcat.SqoopHCatImportMapper", OUT: ""}, (["shop.public.orders"], [], [CATALOG])),
    "hcatalog-by-options": ({MAPPER: "org.apache.sqoop.mapreduce.hcat.SqoopHCatImportMapper"} | serialised(hcatalog_table_name="orders", hcatalog_database_name="mart"), TO_HIVE),
    "hbase": ({MAPPER: "org.apache.sqoop.mapreduce.HBaseImportMapper", OUT: "", "hbase.mapred.outputtable": "orders"}, (["shop.public.orders"], [], [NO_FILES])),
    # Unreadable values.
    "url": ({"mapreduce.jdbc.url": "jdbc:mysql://etl:1234/x@db/shop"}, ([], ["/data/orders"], [URL])),
    "no-url": ({"mapreduce.jdbc.url": ""}, ([], ["/data/orders"], [NO_URL])),
    "table": ({"mapreduce.jdbc.input.table.name": "(select 1) t"}, ([], ["/data/orders"], [TABLE])),
    "no-table": ({"mapreduce.jdbc.input.table.name": ""}, ([], ["/data/orders"], [NO_TABLE])),
    "columns": ({"mapreduce.jdbc.input.field.names": '"id","amount'}, (["shop.public.orders"], ["/data/orders"], [COLUMNS])),
    "schema": ({"avro.map.output.schema": '{"fields":7}'}, (["shop.public.orders"], ["/data/orders"], [SCHEMA])),
    "no-output": ({OUT: ""}, (["shop.public.orders"], [], [WRITTEN])),
    # Names.
    "mysql": ({"mapreduce.jdbc.url": "jdbc:mysql://db/shop", "mapreduce.jdbc.input.table.name": "`orders`"}, (["shop.orders"], ["/data/orders"], [])),
    "sql-server": ({"mapreduce.jdbc.url": "jdbc:sqlserver://db;databaseName=shop", "mapreduce.jdbc.input.table.name": "[dbo].[my orders]"}, (["shop.dbo.my orders"], ["/data/orders"], [])),
    "old-package": ({MAPPER: "com.cloudera.sqoop.mapreduce.AvroImportMapper"}, (["shop.public.orders"], ["/data/orders"], [])),
}
"""Name → (further properties of an import of a table, (inputs, outputs, reasons)). An empty value is no property."""
EXPORTS: dict[str, tuple[dict[str, Any], Told]] = {
    "plain": ({}, (["/data/totals"], ["shop.public.totals"], [])),
    "staging": ({"mapreduce.jdbc.output.table.name": '"totals_stage"'}, (["/data/totals"], ["shop.totals_stage"], [PERHAPS_STAGING])),
    "staging-by-options": ({"mapreduce.jdbc.output.table.name": "totals_stage"} | serialised(db_table="totals", db_export_staging_table="totals_stage"), (["/data/totals"], ["shop.totals"], [])),
    "class-in-package": ({"sqoop.mapreduce.export.table.class": "com.example.totals"}, (["/data/totals"], ["shop.public.totals"], [])),
    "schema-in-class": ({"mapreduce.jdbc.output.table.name": "WAREHOUSE.STOCK", "sqoop.mapreduce.export.table.class": "WAREHOUSE_STOCK"}, (["/data/totals"], ["shop.WAREHOUSE.STOCK"], [])),
    "procedure": ({"sqoop.export.call": "book_total", "mapreduce.jdbc.output.table.name": '"book_total"', MAPPER: "org.apache.sqoop.mapreduce.TextExportMapper"}, (["/data/totals"], [], [PROCEDURE])),
    "hcatalog": ({MAPPER: "org.apache.sqoop.mapreduce.hcat.SqoopHCatExportMapper", "mapreduce.input.fileinputformat.inputdir": ""}, ([], ["shop.public.totals"], [CATALOG])),
    "no-input": ({"mapreduce.input.fileinputformat.inputdir": ""}, ([], ["shop.public.totals"], [READ])),
    "several-inputs": ({"mapreduce.input.fileinputformat.inputdir": r"hdfs://ns1/a/{x,y},hdfs://ns1/b\,c"}, (["/a", "/b,c"], ["shop.public.totals"], [])),
}
# fmt: on


@pytest.mark.parametrize("name", CASES)
def test_an_import_has_its_ends_or_reasons(name: str) -> None:
    properties, told = CASES[name]
    assert ends({key: value for key, value in (TABLE_IMPORT | properties).items() if value != ""}) == told


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_has_its_ends_or_reasons(name: str) -> None:
    properties, told = EXPORTS[name]
    assert ends({key: value for key, value in (EXPORT | properties).items() if value != ""}) == told


def test_a_hive_table_is_inferred_since_the_load_follows_the_job() -> None:
    found = without_yarn(extracted(TABLE_IMPORT | serialised(hive_import="true", hive_table_name="orders")))
    [flow] = [each for each in found.relations(RelationType.DATA_FLOW) if each.ep2.type is EntityType.TABLE]
    assert flow.attributes["inferred"] is True
    assert columns_of(found) == {
        "default.orders.id": "shop.public.orders.id |",
        "default.orders.amount": "shop.public.orders.amount |",
    }
    of_columns = [
        each for each in found.relations(RelationType.DATA_FLOW) if each.ep2.type is EntityType.FIELD
    ]
    assert all(each.attributes["inferred"] for each in of_columns)


def test_columns_that_find_the_rows_to_update_decide() -> None:
    found = without_yarn(extracted(EXPORT | {"sqoop.mapreduce.export.update.col": "id,day"}))
    assert columns_of(found) == {
        "shop.public.totals.customer": "|",
        "shop.public.totals.total": "|",
        "*": "| shop.public.totals.day shop.public.totals.id",
    }


def test_a_field_of_a_file_has_the_name_of_the_avro_schema() -> None:
    schema = '{"type":"record","fields":[{"name":"id"},{"name":"a_b"}]}'
    names = {"mapreduce.jdbc.input.field.names": '"id","a,b"', "avro.map.output.schema": schema}
    assert columns_of(without_yarn(extracted(TABLE_IMPORT | names))) == {
        "/data/orders.id": "shop.public.orders.id |",
        "/data/orders.a_b": "shop.public.orders.a,b |",
    }


# -- Queries -------------------------------------------------------------------------------------------------------------


def test_a_query_is_read_in_the_dialect_of_its_database() -> None:
    found = without_yarn(extracted(QUERY_IMPORT))
    [operation] = found.operations.values()
    assert sorted(operation.attributes["inputs"]) == ["shop.crm.customers", "shop.orders"]
    assert operation.attributes["queryText"].endswith("AND $CONDITIONS")
    assert columns_of(found) == {
        "/data/orders.id": "shop.orders.id |",
        "/data/orders.customer": "shop.crm.customers.name |",
        "*": "| shop.crm.customers.id shop.orders.amount shop.orders.customer",
    }
    assert all(
        each.attributes["parsed"]
        for each in found.relations(RelationType.DATA_FLOW)
        if each.ep1.type is EntityType.FIELD
    )


@pytest.mark.parametrize(
    ("url", "query", "inputs"),
    [
        ("jdbc:sqlserver://db;databaseName=shop", "SELECT TOP 5 [o].[id] FROM [dbo].[orders] o WITH (NOLOCK) WHERE $CONDITIONS", ["shop.dbo.orders"]),
        ("jdbc:mysql://db/shop", "SELECT `id` FROM `crm`.`orders` WHERE $CONDITIONS", ["crm.orders"]),
        ("jdbc:oracle:thin:@//db/shop", "SELECT id FROM scott.orders@link WHERE rownum < 5 AND $CONDITIONS", None),
        ("jdbc:oracle:thin:@//db/shop", "SELECT NVL(id, 0) AS id FROM scott.orders o, scott.lines l WHERE o.id = l.id(+) AND $CONDITIONS", ["shop.scott.lines", "shop.scott.orders"]),
        ("jdbc:db2://db/SHOP", "SELECT ID FROM A.ORDERS WHERE $CONDITIONS FETCH FIRST 5 ROWS ONLY WITH UR", None),
    ],
)  # fmt: skip
def test_a_query_has_its_tables_or_a_reason(url: str, query: str, inputs: list[str] | None) -> None:
    found = ends(QUERY_IMPORT | {"mapreduce.jdbc.url": url, "mapreduce.jdbc.input.query": query})
    if inputs is None:
        assert QUERY in found[2] or found[0]
    else:
        assert sorted(found[0]) == inputs


def test_a_query_that_cannot_be_read_has_the_columns_of_the_schema_and_a_reason() -> None:
    found = without_yarn(
        extracted(
            QUERY_IMPORT
            | {
                "mapreduce.jdbc.input.query": "call me()",
                "avro.map.output.schema": '{"fields":[{"name":"id"}]}',
            }
        )
    )
    [operation] = found.operations.values()
    assert (operation.attributes["inputs"], operation.attributes["outputs"]) == ([], ["/data/orders"])
    assert operation.attributes["incompleteReasons"] == [QUERY]
    assert columns_of(found) == {"/data/orders.id": "|"}


def test_a_query_with_a_star_is_incomplete_but_has_its_table() -> None:
    star = {"mapreduce.jdbc.input.query": "SELECT * FROM orders WHERE $CONDITIONS"}
    assert ends(QUERY_IMPORT | star) == (["shop.orders"], ["/data/orders"], [QUERY])


# -- Identity ------------------------------------------------------------------------------------------------------------


def test_two_imports_of_one_table_into_two_directories_are_two_operations() -> None:
    found = without_yarn(extracted(TABLE_IMPORT, TABLE_IMPORT | {OUT: "hdfs://ns1/data/copy"}))
    assert len({each.key.parent.identity for each in found.executions.values() if each.key.parent}) == 2


@pytest.mark.parametrize("base", [TABLE_IMPORT, QUERY_IMPORT])
def test_runs_with_other_limits_are_one_operation(base: dict[str, Any]) -> None:
    days = []
    for day in ("2026-11-25", "2026-11-26"):
        query = f"SELECT id FROM orders WHERE day = '{day}' AND n > {day[-2:]} AND $CONDITIONS"
        where = (
            {"mapreduce.jdbc.input.query": query}
            if base is QUERY_IMPORT
            else {"mapreduce.jdbc.input.conditions": day}
        )
        days.append(base | where | {"mapreduce.job.name": f"orders of {day}"})
    found = without_yarn(extracted(*days))
    assert len({each.key.parent.identity for each in found.executions.values() if each.key.parent}) == 1
    assert len(found.executions) == 2


def test_a_merge_that_failed_leaves_the_data_nowhere(corpora: Path) -> None:
    from tests.services.rest import JobHistory, ResourceManager
    from tests.support.yarn_rounds import Following, app, job

    with ResourceManager() as resource_manager, JobHistory() as history:
        for number, name, state in ((1, "lastmodified", "SUCCEEDED"), (2, "lastmodified-merge", "FAILED")):
            resource_manager.apps.append(app(number, "CUSTOMERS.jar", "MAPREDUCE", finalStatus=state))
            history.jobs.append(job(number, "CUSTOMERS.jar", state=state))
            history.configurations[f"job_1799000000000_{number:04d}"] = captured(corpora, name)
        found = without_yarn(Following(resource_manager, history=history).run())
    [operation] = found.operations.values()
    assert operation.attributes["outputs"] == []
    assert operation.attributes["incompleteReasons"] == [MOVED]
    [execution] = found.executions.values()
    assert execution.attributes["status"] == "FAILED"


def test_a_merge_that_arrives_later_completes_its_import(corpora: Path) -> None:
    from tests.services.rest import JobHistory, ResourceManager
    from tests.support.yarn_rounds import MINUTE_MS, NOW_MS, Following, app, job

    with ResourceManager() as resource_manager, JobHistory() as history:
        following = Following(resource_manager, history=history)

        def ran(number: int, name: str, ended_ms: int) -> None:
            resource_manager.apps.append(app(number, "CUSTOMERS.jar", "MAPREDUCE", finishedTime=ended_ms))
            history.jobs.append(job(number, "CUSTOMERS.jar", finishTime=ended_ms))
            history.configurations[f"job_1799000000000_{number:04d}"] = captured(corpora, name)

        ran(1, "lastmodified", NOW_MS)
        [operation] = without_yarn(following.run()).operations.values()
        assert operation.attributes["incompleteReasons"] == [MOVED]
        ran(2, "lastmodified-merge", NOW_MS + 20 * MINUTE_MS)
        resource_manager.now_ms = NOW_MS + 21 * MINUTE_MS
        [operation] = without_yarn(following.run()).operations.values()
    assert operation.attributes["outputs"] == ["/data/shop/cust"]
    assert "incompleteReasons" not in operation.attributes


def test_a_merge_of_two_directories_by_the_user_reads_both() -> None:
    merge = {
        MAPPER: "org.apache.sqoop.mapreduce.MergeTextMapper",
        "sqoop.merge.old.path": "hdfs://ns1/data/old",
        "sqoop.merge.new.path": "hdfs://ns1/data/new",
        "sqoop.merge.key.col": "id",
        OUT: "hdfs://ns1/data/merged",
    }
    assert ends(merge) == (["/data/old", "/data/new"], ["/data/merged"], [])


def test_a_table_is_the_same_as_in_openlineage_events(tmp_path: Path) -> None:
    reads = dataset(
        "postgres://db:5432", "shop.public.orders", schema={"fields": [{"name": "id", "type": "int"}]}
    )
    told = Follower(tmp_path).read(event("COMPLETE", inputs=[reads], outputs=[dataset("file", "/a")]))
    [named] = list(told.of(EntityType.DATASET))
    [column] = [
        each
        for each in told.of(EntityType.FIELD)
        if each.key.parent and each.key.parent.identity == named.key.identity
    ]
    found = extracted(TABLE_IMPORT, estate=TOLD_ESTATE)
    datasets = {each.ep1.identity for each in _flows(found.records) if each.ep1.type is EntityType.DATASET}
    assert datasets == {named.key.identity}
    assert column.key.identity in {each.ep1.identity for each in _flows(found.records)}


def _flows(records: Any) -> list[Relation]:
    return [each for each in records if isinstance(each, Relation) and each.type is RelationType.DATA_FLOW]
