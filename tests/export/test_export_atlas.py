"""The export to Atlas: exact qualified names, entities that conform to Atlas's type definitions, and elements of
navlin's model that are dropped.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from navlin.export.atlas import Options, records
from navlin.export.atlas.catalog import permissions
from navlin.export.batches import read
from navlin.export.choosing import Selection
from navlin.export.name_patterns import BadPattern, NamePattern, patterns_of_lines
from navlin.export.values import (
    ColumnEnd,
    ColumnLineage,
    ColumnName,
    DatasetEnd,
    DatasetName,
    ExportedColumn,
    ExportedDataset,
    ExportedExecution,
    ExportedOperation,
    ExportedRun,
    FlowRole,
    Item,
    Renamed,
    UnlinkedEnd,
)
from navlin.index.graph.details import (
    Annotations,
    ColumnDetails,
    Details,
    ExecutionDetails,
    PartDetails,
    StatementDetails,
    Storage,
)
from navlin.index.graph.sources import KnownSource
from navlin.index.solr.solr import Solr
from navlin.model.keys import EntityType, RelationType, partition_key
from tests.support.atlas_types import AtlasTypes, dangling
from tests.support.export_table import FATES, MODEL
from tests.support.query_estate import AS_OF_MS, HIVE, IMPALA, SPARK, World

NUMBERS = itertools.count(1)
MS = 1_700_000_000_000
HIVE_SOURCE = KnownSource("hive", "HIVE", "HIVE-1", "Prod", ("thrift://hms:9083",), placeholder=False)
HDFS_SOURCE = KnownSource("hdfs", "HDFS", "HDFS-1", "Prod", ("hdfs://ns1",), placeholder=False)
S3_SOURCE = KnownSource("s3", "S3", "s3://lake", "", ("s3://lake",), placeholder=True)
LOCAL_SOURCE = KnownSource("local", "LOCAL", "file://", "", ("file://",), placeholder=True)


def table(name: str, kind: str = "TABLE") -> DatasetName:
    database, _, own = name.partition(".")
    return DatasetName(name, kind, HIVE_SOURCE, own, database)


def path(name: str, source: KnownSource = HDFS_SOURCE, kind: str = "DIRECTORY") -> DatasetName:
    return DatasetName(name, kind, source, name)


def ends(*names: str | DatasetName, created_ms: int = MS) -> tuple[DatasetEnd, ...]:
    """Ends for tables, given as strings and each created a second after the previous end, and for other datasets such
    as paths.
    """
    return tuple(
        DatasetEnd(table(name), created_ms=created_ms and created_ms + 1000 * at)
        if isinstance(name, str)
        else DatasetEnd(name)
        for at, name in enumerate(names)
    )


def operation(
    kind: str,
    inputs: tuple[DatasetEnd, ...],
    outputs: tuple[DatasetEnd, ...],
    *parts: ColumnLineage,
    engine: str = "HIVE",
    text: str = "",
    **more: Any,
) -> ExportedOperation:
    statement = StatementDetails(engine, kind, text or kind, text.lower().startswith("with"))
    source = replace(HIVE_SOURCE, id="queries", name="QUERIES-1")
    return ExportedOperation(
        "0123456789abcdef", text or kind, source, statement, inputs, outputs, parts, **more
    )


def run(**details: Any) -> ExportedExecution:
    return ExportedExecution(
        "fedcba9876543210", ExecutionDetails(**{"started_ms": MS + 5, "ended_ms": MS + 9, **details})
    )


def part(output: str, *inputs: str, control: tuple[str, ...] = (), **details: Any) -> ColumnLineage:
    def column(name: str) -> ColumnName:
        of_table, _, own = name.rpartition(".")
        return ColumnName(name, table(of_table), own)

    read = [ColumnEnd(column(each)) for each in inputs] + [
        ColumnEnd(column(each), FlowRole.CONTROL) for each in control
    ]
    return ColumnLineage(f"part of {output}", tuple(read), (column(output),), PartDetails(**details))


def lines(*items: Item, **options: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in records(items, Options(**options))]


def entities(*items: Item, **options: Any) -> list[dict[str, Any]]:
    return [each for line in lines(*items, **options) for each in line.get("entities", ())]


def named(found: list[dict[str, Any]], type_name: str) -> dict[str, dict[str, Any]]:
    return {each["attributes"]["qualifiedName"]: each for each in found if each["typeName"] == type_name}


def names_at(entity: dict[str, Any], end: str) -> list[str]:
    return [each["uniqueAttributes"]["qualifiedName"] for each in entity["relationshipAttributes"][end]]


# -- Exact names ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "type_name", "qualified"),
    [
        (DatasetName("", "DATABASE", HIVE_SOURCE, "Sales"), "hive_db", "sales@Prod"),
        (table("Sales.Orders"), "hive_table", "sales.orders@Prod"),
        (table("Sales.V", "VIEW"), "hive_table", "sales.v@Prod"),
        (DatasetName("", "TABLE", HIVE_SOURCE, "Alone"), "hive_table", "alone@Prod"),
        (path("/Landing/Orders"), "hdfs_path", "hdfs://ns1/Landing/Orders@Prod"),
        (path("/Landing/f.csv", kind="FILE"), "hdfs_path", "hdfs://ns1/Landing/f.csv@Prod"),
        (path("/a/B", S3_SOURCE), "aws_s3_v2_directory", "s3a://lake/a/B/@cm"),
        (path("/a/f", S3_SOURCE, "FILE"), "aws_s3_v2_object", "s3a://lake/a/f@cm"),
        (path("/", S3_SOURCE), "aws_s3_v2_bucket", "s3a://lake@cm"),
        (path("/Tmp/X", LOCAL_SOURCE), "hdfs_path", "file:/tmp/x"),
        (DatasetName("", "DATASET", HIVE_SOURCE, "topic"), "DataSet", "HIVE-1.topic@Prod"),
    ],
)  # fmt: skip
def test_a_dataset_has_the_qualified_name_of_the_hooks(
    name: DatasetName, type_name: str, qualified: str
) -> None:
    assert qualified in named(entities(ExportedDataset(name)), type_name)
    chosen = qualified.rpartition("@")[0] + "@x" if "@" in qualified else qualified
    assert chosen in named(entities(ExportedDataset(name), namespace="x"), type_name)


@pytest.mark.parametrize(
    ("made", "qualified"),
    [
        (operation("INSERT", ends("s.o"), ends("s.d")), f"QUERY:s.o@prod:{MS}->:INSERT:s.d@prod:{MS}"),
        (
            operation("INSERT_OVERWRITE", ends("s.o"), ends("s.d", created_ms=0)),
            f"QUERY:s.o@prod:{MS}->:INSERT_OVERWRITE:s.d@prod",
        ),
        (operation("UPDATE", ends("s.o"), ends("s.d")), f"QUERY:s.o@prod:{MS}->:UPDATE:s.d@prod:{MS}"),
        (operation("DELETE", (), ends("s.d")), f"QUERY->:DELETE:s.d@prod:{MS}"),
        # Hive sorts the ends as db@table, and "@" sorts after digits.
        (
            operation("INSERT", ends("s.b", "S.A", "s1.a"), ends("s.d")),
            f"QUERY:s1.a@prod:{MS + 2000}:s.a@prod:{MS + 1000}:s.b@prod:{MS}->:INSERT:s.d@prod:{MS}",
        ),
        # The URI in the middle is lowercase, and its slashes are removed.
        (
            operation("LOAD", ends(path("/landing/Orders")), ends("s.o")),
            f"LOAD:hdfs:ns1landingorders@prod->:s.o@prod:{MS}",
        ),
        # The name of a QUERY does not include paths.
        (operation("INSERT", ends("s.o", path("/x")), ends(path("/y"))), f"QUERY:s.o@prod:{MS}->"),
        (operation("CREATETABLE_AS_SELECT", ends("s.o"), ends("s.D")), f"s.d@Prod:{MS}"),
        (operation("CREATEVIEW", ends("s.o"), ends("s.v", created_ms=0)), "s.v@Prod"),
        (operation("ALTERVIEW_AS", ends("s.o"), ends("s.v")), f"s.v@Prod:{MS}"),
        (operation("EXPORT", ends("s.o"), ends(path("/x"))), f"EXPORT:s.o@prod:{MS}->:hdfs:ns1x@prod"),
        (
            operation("INSERT", ends("s.o"), ends("s.d"), engine="IMPALA"),
            f"QUERY:s.o@prod:{MS}->:INSERT:s.d@prod:{MS}",
        ),
        (
            operation("INSERT", ends("s.o"), ends("s.d"), engine="IMPALA", text="with x as (select 1) insert …"),
            f"QUERY_WITH_CLAUSE:s.o@prod:{MS}->:s.d@prod:{MS}",
        ),
        (
            operation("INSERT", ends("s.b", "s1.a"), ends("s.d"), engine="IMPALA"),
            f"QUERY:s.b@prod:{MS}:s1.a@prod:{MS + 1000}->:INSERT:s.d@prod:{MS}",
        ),
    ],
)  # fmt: skip
def test_a_process_has_the_qualified_name_of_the_hooks(made: ExportedOperation, qualified: str) -> None:
    (process,) = entities(made)
    about = process["attributes"]

    assert (about["qualifiedName"], about["name"]) == (qualified, qualified)
    assert process["typeName"] == f"{made.statement.engine.lower()}_process"


def test_executions_and_columns_are_named_after_their_process() -> None:
    one = operation(
        "INSERT",
        ends("s.o"),
        ends("s.d"),
        part("s.d.Total", "s.o.amount", expression="sum(amount)"),
        latest=run(),
    )
    found = entities(one, ExportedRun(one, run(principal="etl", query_id="q1")))
    process = f"QUERY:s.o@prod:{MS}->:INSERT:s.d@prod:{MS}"

    assert set(named(found, "hive_process_execution")) == {f"{process}:{MS + 5}:{MS + 9}"}
    (lineage,) = named(found, "hive_column_lineage").values()
    assert lineage["attributes"] == {
        "qualifiedName": f"{process}:total",
        "name": f"{process}:total",
        "depenendencyType": "EXPRESSION",
        "expression": "sum(amount)",
    }
    assert (names_at(lineage, "inputs"), names_at(lineage, "outputs")) == (
        ["s.o.amount@Prod"],
        ["s.d.total@Prod"],
    )
    (executed,) = named(found, "hive_process_execution").values()
    assert executed["attributes"]["userName"] == "etl"
    assert executed["attributes"]["queryId"] == "q1"


def test_statements_of_one_process_merge_into_the_last_with_all_executions() -> None:
    early, late = (
        replace(
            operation("INSERT", ends("s.o"), ends("s.d"), text=text), id=text, latest=run(started_ms=when)
        )
        for text, when in (("b early", MS), ("a late", MS + 1))
    )
    found = entities(
        early, ExportedRun(early, run(started_ms=MS)), late, ExportedRun(late, run(started_ms=MS + 1))
    )

    (process,) = [each for each in found if each["typeName"] == "hive_process"]
    assert process["attributes"]["recentQueries"] == ["a late"]
    assert len(named(found, "hive_process_execution")) == 2


def test_a_spark_process_is_named_by_application_and_execution() -> None:
    ran = run(application="application_1_0002", execution_id="7", principal="etl")
    one = operation("SAVE", ends("s.o"), ends(path("/x")), engine="SPARK", latest=ran)
    found = entities(one, ExportedRun(one, ran))

    assert set(named(found, "spark_application")) == {"application_1_0002"}
    (process,) = named(found, "spark_process").values()
    assert process["attributes"]["qualifiedName"] == "application_1_0002.7"
    application = process["relationshipAttributes"]["application"]
    assert application["uniqueAttributes"] == {"qualifiedName": "application_1_0002"}
    assert names_at(process, "outputs") == ["hdfs://ns1/x@Prod"]
    other = replace(ran, id="other", details=replace(ran.details, execution_id="8"))
    assert set(named(entities(ExportedRun(one, other)), "spark_process")) == {"application_1_0002.8"}


# -- The result for each item --------------------------------------------------------------------------------------------


def test_a_statement_that_creates_a_table_is_also_its_ddl() -> None:
    one = operation(
        "CREATETABLE_AS_SELECT", ends("s.o"), ends("s.d"), text="create table d as select 1", latest=run()
    )
    (ddl,) = named(entities(ExportedRun(one, run(principal="etl"))), "hive_table_ddl").values()

    assert ddl["attributes"] == {
        "qualifiedName": f"s.d@Prod:{MS + 5}",
        "serviceType": "hive",
        "execTime": MS + 5,
        "queryText": "create table d as select 1",
        "userName": "etl",
    }
    impala = replace(one, statement=replace(one.statement, engine="IMPALA"))
    assert f"create table d as select 1:{MS + 5}" in named(
        entities(ExportedRun(impala, run())), "hive_table_ddl"
    )


def test_a_rename_moves_columns_and_storage_and_keeps_the_old_name_as_alias() -> None:
    rename = Renamed(table("s.Old"), table("t.new"), ("a", "b"), MS)
    (line,) = lines(rename)

    assert [(each["typeName"], each["uniqueAttributes"]["qualifiedName"]) for each in line["renames"]] == [
        ("hive_column", "s.old.a@Prod"),
        ("hive_column", "s.old.b@Prod"),
        ("hive_storagedesc", "s.old@Prod_storage"),
        ("hive_table", "s.old@Prod"),
    ]
    assert line["renames"][-1]["attributes"] == {
        "qualifiedName": "t.new@Prod",
        "name": "new",
        "aliases": ["old"],
    }
    message = lines(rename, hook=True)[-1]["message"]
    assert message["type"] == "ENTITY_PARTIAL_UPDATE_V2"
    assert message["entityId"]["uniqueAttributes"] == {"qualifiedName": "s.old@Prod"}
    assert message["entity"]["entity"]["attributes"]["qualifiedName"] == "t.new@Prod"
    assert lines(operation("ALTERTABLE_RENAME", ends("s.old"), ends("t.new"))) == []


def test_deleted_entities_are_deleted_by_qualified_name() -> None:
    gone = ExportedDataset(table("s.d"), deleted_columns=(ColumnName("", table("s.d"), "Old"),))
    deleted: list[Item] = [
        ExportedDataset(table("s.x"), deleted=True),
        operation("INSERT", ends("s.o"), ends("s.d"), deleted=True),
    ]
    found = [each for line in lines(gone, *deleted) for each in line.get("deletions", ())]

    assert [(each["typeName"], each["uniqueAttributes"]["qualifiedName"]) for each in found] == [
        ("hive_column", "s.d.old@Prod"),
        ("hive_table", "s.x@Prod"),
        ("hive_process", f"QUERY:s.o@prod:{MS}->:INSERT:s.d@prod:{MS}"),
    ]
    message = lines(ExportedDataset(table("s.x"), deleted=True), hook=True)[0]["message"]
    assert message["type"] == "ENTITY_DELETE_V2"
    assert message["entities"][0]["uniqueAttributes"] == {"qualifiedName": "s.x@Prod"}


def test_a_deleted_input_is_only_in_the_name_of_its_process() -> None:
    gone = replace(ends("s.o")[0], deleted=True)
    (process,) = entities(operation("INSERT", (gone, *ends("s.p")), ends("s.d")))

    assert names_at(process, "inputs") == ["s.p@Prod"]
    assert process["attributes"]["qualifiedName"].startswith(f"QUERY:s.o@prod:{MS}:s.p@prod:{MS}->")


def test_a_path_adds_the_tables_located_there() -> None:
    output = replace(ends(path("/orders"))[0], tables=ends("s.orders"))
    (process,) = entities(operation("SAVE", ends("s.o"), (output,), engine="SPARK"))

    assert names_at(process, "outputs") == ["hdfs://ns1/orders@Prod", "s.orders@Prod"]


@pytest.mark.parametrize(
    "left_out",
    [
        operation("SELECT", ends("s.o"), ()),
        operation("INSERT", ends("s.o"), (replace(ends("s.d")[0], deleted=True),)),
    ],
    ids=["reads alone", "writes what is gone"],
)
def test_an_operation_without_output_is_not_a_process(left_out: ExportedOperation) -> None:
    assert lines(left_out, ExportedRun(left_out, run())) == []


def test_a_control_column_has_no_column_lineage_but_its_table_is_an_input() -> None:
    one = operation(
        "INSERT",
        ends("s.o", "s.f"),
        ends("s.d"),
        part("s.d.a", "s.o.a", control=("s.f.x",)),
        part("s.d.b", control=("s.f.x",)),
    )
    found = entities(one)

    (lineage,) = named(found, "hive_column_lineage").values()
    assert names_at(lineage, "inputs") == ["s.o.a@Prod"]
    (process,) = named(found, "hive_process").values()
    assert names_at(process, "inputs") == ["s.o@Prod", "s.f@Prod"]


def test_each_output_column_is_one_entity() -> None:
    one = operation("INSERT", ends("s.o"), ends("s.d"), part("s.d.a", "s.o.a"), part("s.d.a", "s.o.b"))
    (lineage,) = named(entities(one), "hive_column_lineage").values()

    assert names_at(lineage, "inputs") == ["s.o.a@Prod", "s.o.b@Prod"]


@pytest.mark.parametrize(
    ("text", "struct"),
    [
        ("rwxr-x---", {"user": "ALL", "group": "READ_EXECUTE", "others": "NONE", "sticky": False}),
        ("rw-r--r-T", {"user": "READ_WRITE", "group": "READ", "others": "READ", "sticky": True}),
        ("-wx--x-w-", {"user": "WRITE_EXECUTE", "group": "EXECUTE", "others": "WRITE", "sticky": False}),
        ("0755", None),
        ("", None),
    ],
)  # fmt: skip
def test_permissions_are_translated(text: str, struct: dict[str, Any] | None) -> None:
    found = permissions(text)
    assert (found and found["attributes"]) == struct


def test_a_message_does_not_exceed_kafkas_limit() -> None:
    parts = [part(f"s.d.c{number}", "s.o.a", expression="x" * 4_000) for number in range(600)]
    found = [*records([operation("INSERT", ends("s.o"), ends("s.d"), *parts)], Options(hook=True))]

    assert len(found) > 1
    assert max(map(len, found)) < 1_000_000
    sent = [json.loads(line)["message"]["entities"]["entities"] for line in found]
    assert sum(map(len, sent)) == 601


HERE = table("s.d")
WRITES = operation("INSERT", ends("s.o"), ends("s.d"), latest=run(), text="mark")
MARKED: dict[str, tuple[list[Item], str]] = {
    "SOURCE": ([ExportedDataset(HERE)], "@Prod"),
    "DATABASE": ([ExportedDataset(DatasetName("", "DATABASE", HIVE_SOURCE, "mark"))], "mark@Prod"),
    "TABLE": ([ExportedDataset(table("s.mark"))], "s.mark@Prod"),
    "VIEW": ([ExportedDataset(table("s.v", "VIEW"), Details(text="mark"))], "mark"),
    "FIELD": (
        [
            ExportedDataset(
                HERE, columns=(ExportedColumn(ColumnName("", HERE, "mark"), ColumnDetails(), Annotations()),)
            )
        ],
        "s.d.mark@Prod",
    ),
    "PARTITION": ([ExportedDataset(HERE)], "s.d@Prod"),
    "DIRECTORY, FILE": ([ExportedDataset(path("/mark"))], "hdfs://ns1/mark@Prod"),
    "DATASET": ([ExportedDataset(DatasetName("", "DATASET", HIVE_SOURCE, "mark"))], "HIVE-1.mark@Prod"),
    "OPERATION": ([WRITES], "QUERY:s.o@prod"),
    "OPERATION without output": ([operation("SELECT", ends("s.o"), ())], "s.o@"),
    "SUB_OPERATION": ([replace(WRITES, columns=(part("s.d.a", "s.o.mark"),))], "s.o.mark@Prod"),
    "OPERATION_EXECUTION": ([ExportedRun(WRITES, run(query_id="mark"))], "mark"),
    "application of an execution": (
        [
            operation(
                "SAVE", (), ends("s.d"), engine="SPARK", latest=run(application="app_1", execution_id="1")
            )
        ],
        "app_1",
    ),
    "DATA_FLOW": (
        [WRITES],
        '"inputs":[{"typeName":"hive_table","uniqueAttributes":{"qualifiedName":"s.o@Prod"}',
    ),
    "CONTROL_FLOW of a table": (
        [replace(WRITES, inputs=(replace(ends("s.mark")[0], flow=FlowRole.CONTROL),))],
        '{"qualifiedName":"s.mark@Prod"}',
    ),
    "CONTROL_FLOW of a column": (
        [replace(WRITES, columns=(part("s.d.a", "s.o.a", control=("s.o.mark",)),))],
        "s.o.mark",
    ),
    "LOGICAL_PHYSICAL of a table": (
        [ExportedDataset(HERE, Details(storage=Storage("hdfs://mark")))],
        "hdfs://mark",
    ),
    "PARENT_CHILD, INSTANCE_OF": ([ExportedRun(WRITES, run())], "hive_process_process_executions"),
    "flagged deleted": ([ExportedDataset(HERE, deleted=True)], '{"deletions":[{"typeName":"hive_table"'),
    "renamed": ([Renamed(HERE, table("s.mark"))], "s.mark@Prod"),
    "unlinked end": (
        [
            replace(
                WRITES,
                unlinked=(UnlinkedEnd("", "s.mark", "TABLE", "HIVE", False, FlowRole.DATA, "no match"),),
            )
        ],
        "s.mark",
    ),
    "text of a query": ([WRITES], '"recentQueries":["mark"]'),
    "expression of a column": (
        [replace(WRITES, columns=(part("s.d.a", "s.o.a", expression="mark(a)"),))],
        "mark(a)",
    ),
    "comment": ([ExportedDataset(HERE, Details(comment="mark"))], '"comment":"mark"'),
    "people's name, description": (
        [ExportedDataset(HERE, annotations=Annotations("mark", "also"))],
        '"displayName":"mark"',
    ),
    "people's tags": ([ExportedDataset(HERE, annotations=Annotations(tags=("mark",)))], '"labels":["mark"]'),
    "inherited tags": (
        [ExportedDataset(HERE, annotations=Annotations(inherited_tags=("mark",)))],
        '"labels":["mark"]',
    ),
    "people's properties": (
        [ExportedDataset(HERE, annotations=Annotations(properties={"mark": ("yes",)}))],
        '"mark":"yes"',
    ),
    "identity": ([ExportedDataset(HERE)], '"navlin_id":"s.d"'),
    "incomplete, inferred": (
        [
            replace(
                WRITES, statement=replace(WRITES.statement, incomplete=True, incomplete_reasons=("reason",))
            )
        ],
        "reason",
    ),
}


@pytest.mark.parametrize("name", MODEL)
def test_each_part_of_the_model_is_kept_or_dropped_as_stated(name: str) -> None:
    items, mark = MARKED[name]
    text = b"".join(records(items, Options())).decode()

    assert (mark in text) is not FATES["atlas"][name].startswith("dropped"), text


# -- Examples from the documents, by number of the document and of the example -------------------------------------------

QUERY = "INSERT INTO sales.daily SELECT Amount FROM sales.orders"
IMPALA_INSERT = operation(
    "INSERT", ends("sales.orders"), ends("sales.daily"), part("sales.daily.total", "sales.orders.amount"),
    engine="IMPALA", text=QUERY, latest=run(query_id="a7:b8"),
)  # fmt: skip
ID, RUN_ID = str(int("0123456789ab", 16)), str(int("fedcba987654", 16))


def documented(*items: Item, type_name: str) -> dict[str, Any]:
    (found,) = [each for each in entities(*items, as_documented=True) if each["typeName"] == type_name]
    return found


def test_example_000_1_is_an_impala_process() -> None:
    found = documented(IMPALA_INSERT, type_name="impala_process")

    about = found["attributes"]
    assert about["qualifiedName"] == f"sales.daily@Prod:{ID}"
    assert about["name"] == QUERY
    assert [(each["typeName"], each["uniqueAttributes"]["qualifiedName"]) for each in about["inputs"]] == [
        ("hive_table", "sales.orders@Prod")
    ]
    assert [(each["typeName"], each["uniqueAttributes"]["qualifiedName"]) for each in about["outputs"]] == [
        ("hive_table", "sales.daily@Prod")
    ]
    assert about["recentQueries"] == [QUERY.lower()]
    assert (about["operationType"], about["startTime"], about["endTime"]) == ("QUERY", MS + 5, MS + 9)


def test_example_000_2_is_its_execution() -> None:
    found = documented(
        ExportedRun(IMPALA_INSERT, run(query_id="a7:b8", principal="etl")),
        type_name="impala_process_execution",
    )

    assert found["attributes"] == {
        "qualifiedName": f"sales.daily@Prod:{ID}:{MS + 5}:{RUN_ID}",
        "name": f"{QUERY}:{MS + 5}",
        "queryText": QUERY,
        "queryPlan": "Not Supported",
        "queryId": "impala_20231114221320_a7:b8",
        "startTime": MS + 5,
        "endTime": MS + 9,
        "userName": "etl",
        "hostName": "",
    }
    process = found["relationshipAttributes"]["process"]
    assert process["uniqueAttributes"] == {"qualifiedName": f"sales.daily@Prod:{ID}"}


@pytest.mark.parametrize(
    ("columns", "details", "kind"),
    [
        (("sales.orders.amount",), {}, "SIMPLE"),
        (("sales.orders.amount",), {"expression": "amount * 2"}, "EXPRESSION"),
        (("sales.orders.amount", "sales.orders.rate"), {"opaque": True}, "SCRIPT"),
    ],
)  # fmt: skip
def test_example_000_3_is_a_column_lineage_of_three_dependency_types(
    columns: tuple[str, ...], details: dict[str, Any], kind: str
) -> None:
    one = replace(IMPALA_INSERT, columns=(part("sales.daily.total", *columns, **details),))
    found = documented(one, type_name="impala_column_lineage")

    name = f"sales.daily@Prod:{ID}:total"
    assert found["attributes"] == {"qualifiedName": name, "name": name, "dependencyType": kind}
    assert names_at(found, "inputs") == [f"{each}@Prod" for each in columns]
    assert names_at(found, "outputs") == ["sales.daily.total@Prod"]
    query = found["relationshipAttributes"]["query"]
    assert query["uniqueAttributes"] == {"qualifiedName": f"sales.daily@Prod:{ID}"}
    (hook,) = named(entities(one), "impala_column_lineage").values()
    assert hook["attributes"]["dependencyType"] == "PROJECTION"


@pytest.mark.parametrize(
    ("item", "type_name", "qualified"),
    [
        (ExportedDataset(DatasetName("", "DATABASE", HIVE_SOURCE, "dbName")), "hive_db", "dbname@Prod"),
        (ExportedDataset(table("dbName.tableName")), "hive_table", "dbname.tablename@Prod"),
        (operation("INSERT", ends("s.o"), ends("s.d"), text="  Insert INTO s.d "), "hive_process", "insert into s.d"),
    ],
    ids=["hive_db", "hive_table", "hive_process"],
)  # fmt: skip
def test_example_003_1_has_qualified_names(item: Item, type_name: str, qualified: str) -> None:
    assert documented(item, type_name=type_name)["attributes"]["qualifiedName"] == qualified


@pytest.mark.parametrize(
    ("details", "kind"),
    [
        ({"transformation": "IDENTITY"}, "SIMPLE"),
        ({"expression": "upper(name)"}, "EXPRESSION"),
        ({"opaque": True}, "SCRIPT"),
    ],
)
def test_example_003_2_has_dependency_types(details: dict[str, Any], kind: str) -> None:
    one = operation("INSERT", ends("s.o"), ends("s.d"), part("s.d.a", "s.o.a", **details))

    for options in ({}, {"as_documented": True}):
        (found,) = [each for each in entities(one, **options) if each["typeName"] == "hive_column_lineage"]
        assert found["attributes"]["depenendencyType"] == kind


def test_example_003_3_is_a_simple_ctas() -> None:
    one = operation(
        "CREATETABLE_AS_SELECT", ends("default.T1"), ends("default.t2"),
        part("default.t2.id", "default.T1.id"), part("default.t2.name", "default.T1.name"),
        text="create table t2 as select id, name from T1",
    )  # fmt: skip
    found = entities(one)

    (process,) = named(found, "hive_process").values()
    assert (names_at(process, "inputs"), names_at(process, "outputs")) == (
        ["default.t1@Prod"],
        ["default.t2@Prod"],
    )
    columns = named(found, "hive_column_lineage").values()
    assert [(names_at(each, "inputs"), names_at(each, "outputs")) for each in columns] == [
        (["default.t1.id@Prod"], ["default.t2.id@Prod"]),
        (["default.t1.name@Prod"], ["default.t2.name@Prod"]),
    ]
    assert {each["attributes"]["depenendencyType"] for each in columns} == {"SIMPLE"}


def test_a_pattern_is_matched_in_linear_time_or_refused() -> None:
    begun_s = time.process_time()
    assert not NamePattern("(a|a?)+$").admits_database("a" * 100 + "!")
    assert time.process_time() - begun_s < 2
    with pytest.raises(BadPattern, match="not a valid pattern of names"):
        NamePattern("", r"(?=a)")


USAGES = {
    "usage 1, all": ((), {"d1.tbl1", "d1.tbl2", "d1.other", "d2.tbl1"}),
    "usage 2, databases": ((NamePattern("d1"),), {"d1.tbl1", "d1.tbl2", "d1.other"}),
    "usage 2, tables of databases": ((NamePattern("D.*", "tbl*"),), {"d1.tbl1", "d1.tbl2", "d2.tbl1"}),
    "usage 2, alternatives": ((NamePattern("", "tbl2|other"),), {"d1.tbl2", "d1.other"}),
    "usage 3, a file": (
        tuple(patterns_of_lines(["d1:tbl1", "d1:tbl2", "", "d2:tbl1"])),
        {"d1.tbl1", "d1.tbl2", "d2.tbl1"},
    ),
    "usage 3, a database in a file": (tuple(patterns_of_lines(["d2"])), {"d2.tbl1"}),
}


@pytest.fixture
def catalogue(solr: Solr) -> World:
    world = World(solr, f"atlas-{next(NUMBERS)}")
    for name in ("d1.tbl1", "d1.tbl2", "d1.other", "d2.tbl1"):
        database, _, own = name.partition(".")
        world.table(own, database=database)
    world.operation("no part of a catalogue", [], [world.named("tbl1", database="d1")])
    world.index()
    return world


@pytest.mark.parametrize("usage", USAGES)
def test_example_003_4_has_the_selections_of_an_import(catalogue: World, usage: str) -> None:
    patterns, expected = USAGES[usage]
    selection = Selection(
        f"sourceId:{catalogue.sources[HIVE].id} AND type:(TABLE OR DATABASE)", named=patterns
    )
    found = [item for batch in read(catalogue.solr, selection) for item in batch.items]

    assert {
        each.name.full_name for each in found if isinstance(each, ExportedDataset) and each.name.database
    } == expected
    assert all(isinstance(each, ExportedDataset) for each in found)


@pytest.mark.parametrize("lines_of_file", [["a", ":t"], ["a(:t"]])
def test_an_invalid_pattern_is_an_error(lines_of_file: list[str]) -> None:
    with pytest.raises(BadPattern):
        list(patterns_of_lines(lines_of_file))


# -- Against the type definitions ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def types(corpora: Path) -> AtlasTypes:
    return AtlasTypes(corpora / "atlas-models")


@pytest.fixture
def world(solr: Solr) -> World:
    """An index with one entity of every kind."""
    world = World(solr, f"atlas-{next(NUMBERS)}", "Sales")
    orders = world.table(
        "Orders", owner="etl", created=AS_OF_MS, tableType="MANAGED_TABLE", originalDescription="c",
        fileSystemPath="hdfs://ns1/orders", inputFormat="I", outputFormat="O", serDeLibName="L", serdeProps={"a": "b"},
        params={"k": "v"}, partitionColNames=["day"], clusteredByColNames=["id"], sortByColNames=["id ASC"],
        compressed=True, tags=["pii", "très secret"], description="all of them", up_team="sales",
    )  # fmt: skip
    world.elements[orders.identity]["name"] = "Bestellungen"
    for index, name in enumerate(("id", "amount", "day")):
        world.entity(world.column(f"Orders.{name}"), dataType="int", columnIndex=index, tags=["t"])
    world.entity(partition_key(orders, "day=1"))
    view = world.table("v", "total", kind=EntityType.VIEW, queryText="select amount total from orders")
    world.relate(RelationType.DATA_FLOW, orders, view, writer=HIVE)
    world.relate(RelationType.DATA_FLOW, world.column("Orders.amount"), world.column("v.total"), writer=HIVE)
    daily = world.table("daily", "total", "day")
    landing = world.path("/landing", owner="hdfs", group="g", permissions="rwxr-x---", created=AS_OF_MS)
    file = world.path("/landing/f", kind=EntityType.FILE, size=3, replication=3)
    world.located(orders, world.path("/orders"))
    gone, never = world.table("gone", deleted=True), world.named("never")
    when: dict[str, Any] = {"ended": AS_OF_MS + 5, "principal": "etl", "status": "SUCCEEDED"}
    for number, engine in enumerate((HIVE, IMPALA, SPARK, "PIG")):
        when["started"] = AS_OF_MS - number
        for kind, reads, writes in (
            ("INSERT", [orders, gone, never], [daily]),
            ("CREATETABLE_AS_SELECT", [orders], [daily]),
            ("LOAD", [landing, file], [orders]),
            ("INSERT_OVERWRITE", [daily, orders], [world.path("/orders")]),
            ("SELECT", [orders], []),
        ):
            parts = {"daily.total": ["Orders.amount"], "daily.day": ["Orders.day", "never.x"]}
            one = world.operation(
                f"{engine} {kind} …",
                reads,
                writes,
                engine=engine,
                operationType=kind,
                engineType=engine,
                parts=parts if writes == [daily] else {},
                steering_columns=["Orders.id"],
            )
            world.execution(one, f"{engine} {kind} run", jobId="application_1_0002", **when)
    world.index()
    return world


def exported(world: World, **options: Any) -> Iterator[dict[str, Any]]:
    hook = options.pop("hook", False)
    documents = options.pop("as_documented", False)
    sources = " ".join(source.id for source in world.sources.values())
    for batch in read(world.solr, Selection(f"sourceId:({sources})", **options)):
        for line in records(batch.items, Options(hook=hook, as_documented=documents)):
            yield json.loads(line)


@pytest.mark.parametrize(
    "options",
    [{}, {"all_executions": True}, {"tables_only": True}, {"texts": False}, {"placeholders": True}],
    ids=str,
)
def test_the_export_satisfies_the_type_definitions_and_has_no_dangling_reference(
    types: AtlasTypes, world: World, options: dict[str, Any]
) -> None:
    found = [line["entities"] for line in exported(world, **options)]
    every = [each for line in found for each in line]

    assert [problem for each in every for problem in types.problems(each)] == []
    assert dangling(found) == []
    made = {each["typeName"] for each in every}
    assert made >= {
        "hive_db", "hive_table", "hive_storagedesc", "hdfs_path", "hive_process", "impala_process",
        "spark_process", "spark_application", "Process", "hive_process_execution", "impala_process_execution",
    }  # fmt: skip
    of_columns = {"hive_column", "hive_column_lineage", "impala_column_lineage", "spark_column_lineage"}
    assert of_columns <= made if "tables_only" not in options else of_columns.isdisjoint(made)
    assert ("hive_table_ddl" in made) is options.get("texts", True)


def test_exporting_twice_gives_the_same_text(world: World) -> None:
    assert [*exported(world)] == [*exported(world)]


def test_hook_messages_contain_the_same_entities(types: AtlasTypes, world: World) -> None:
    messages = [line["message"] for line in exported(world, hook=True)]
    sent = [each for message in messages for each in message["entities"]["entities"]]
    posted = [each for line in exported(world) for each in line["entities"]]

    def content(found: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
        return {(each["typeName"], each["attributes"]["qualifiedName"]): each["attributes"] for each in found}

    assert content(sent) == content(posted)
    assert {message["type"] for message in messages} == {"ENTITY_CREATE_V2"}


def test_a_table_has_its_extracted_attributes_and_user_metadata(world: World) -> None:
    found = [each for line in exported(world) for each in line["entities"]]

    table_found = named(found, "hive_table")["sales.orders@estate"]
    about = table_found["attributes"]
    assert (about["name"], about["owner"], about["createTime"], about["comment"]) == (
        "orders",
        "etl",
        AS_OF_MS,
        "c",
    )
    assert (about["displayName"], about["userDescription"]) == ("Bestellungen", "all of them")
    assert table_found["labels"] == ["pii", "tr_s_secret"]
    assert table_found["customAttributes"]["team"] == "sales"
    columns = named(found, "hive_column")
    day, amount = columns["sales.orders.day@estate"], columns["sales.orders.amount@estate"]
    assert day["relationshipAttributes"]["table"]["relationshipType"] == "hive_table_partitionkeys"
    assert amount["relationshipAttributes"]["table"]["relationshipType"] == "hive_table_columns"
    assert (day["attributes"]["position"], amount["attributes"]["position"]) == (0, 1)
    storage = named(found, "hive_storagedesc")["sales.orders@estate_storage"]["attributes"]
    assert storage["location"] == "hdfs://ns1/orders"
    assert storage["sortCols"] == [{"typeName": "hive_order", "attributes": {"col": "id", "order": 1}}]
