"""Tables that a plan names without a database are in the session's current database, which only other log lines
reveal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from extractors.spark.incomplete import Incomplete
from tests.support.spark_logs import (
    Extracted,
    Follower,
    command,
    end,
    extracted_of,
    insert,
    lines,
    log_start,
    node,
    scan,
    start,
)
from tests.support.spark_logs import application as application_start

PATH = "file:/w/sales.db/t"


def catalog_event(name: str, database: str = "sales") -> dict[str, Any]:
    event = "org.apache.spark.sql.catalyst.catalog.CreateTableEvent"
    return {"Event": event, "database": database, "name": name}


def outputs(extracted: Extracted) -> set[str]:
    return {output for _, _, output in extracted.flows}


SAVE = command("SaveAsV1TableCommand", "`t`, ErrorIfExists, Project [id#1L]")
CREATE = command("CreateDataSourceTableAsSelectCommand", "`spark_catalog`.`sales`.`t`, ErrorIfExists, [id]")
OLD_CREATE = node(
    "Execute CreateDataSourceTableAsSelectCommand",
    "Execute CreateDataSourceTableAsSelectCommand `t`, ErrorIfExists, [id]",
    scan("src.orders"),
)


def test_save_as_table_writes_the_table_named_by_the_child_execution(tmp_path: Path) -> None:
    extracted = extracted_of(
        tmp_path,
        start(0, SAVE),
        start(1, CREATE, root=0),
        start(2, insert(PATH, scan("src.orders")), root=0),
        end(2),
        end(1),
        end(0),
    )
    assert extracted.flows == {("src.orders", "CREATETABLE_AS_SELECT", "sales.t")}
    assert extracted.stored == {("sales.t", "file:///w/sales.db/t")}


def test_before_spark_34_the_catalog_event_gives_the_database(tmp_path: Path) -> None:
    extracted = extracted_of(
        tmp_path, start(0, OLD_CREATE), catalog_event("x", "other"), catalog_event("t"), end(0)
    )
    assert extracted.flows == {("src.orders", "CREATETABLE_AS_SELECT", "sales.t")}


def test_the_catalog_event_is_kept_between_two_reads(tmp_path: Path) -> None:
    path = tmp_path / "application_1_0001"
    follower = Follower(tmp_path)
    path.write_bytes(lines(log_start(), application_start(), start(0, OLD_CREATE), catalog_event("t")))
    follower.poll()
    path.write_bytes(path.read_bytes() + lines(end(0)))
    assert outputs(follower.poll()) == {"sales.t"}


@pytest.mark.parametrize(
    "events",
    [
        pytest.param([], id="nothing tells"),
        pytest.param([catalog_event("other")], id="another table was created"),
        pytest.param([catalog_event("t", "a"), catalog_event("t", "b")], id="two were created at a time"),
    ],
)
def test_an_unknown_database_invents_no_table(events: list[dict[str, Any]], tmp_path: Path) -> None:
    extracted = extracted_of(tmp_path, start(0, OLD_CREATE), *events, end(0))
    assert outputs(extracted) == {"-"}
    [operation] = extracted.operations
    assert operation.attributes["incomplete"] is True
    assert Incomplete.UNKNOWN_OUTPUT in operation.attributes["incompleteReasons"]


def test_an_unqualified_table_with_a_path_is_written_by_its_path(tmp_path: Path) -> None:
    plan = node(
        "Execute InsertIntoHadoopFsRelationCommand",
        f"Execute InsertIntoHadoopFsRelationCommand {PATH}, false, Parquet, [path={PATH}], Append, `t`, serde, [id]",
        scan("src.orders"),
    )
    extracted = extracted_of(tmp_path, start(0, plan), end(0))
    assert extracted.flows == {("src.orders", "INSERT_INTO", "file:///w/sales.db/t")}
    assert "default.t" not in outputs(extracted)


def test_a_scan_of_an_unqualified_table_reads_its_location(tmp_path: Path) -> None:
    read = node("Scan parquet t", location="InMemoryFileIndex(1 paths)[hdfs://nn/w/t]")
    extracted = extracted_of(tmp_path, start(0, insert("hdfs://nn/out", read)), end(0))
    assert {each for each, _, _ in extracted.flows} == {"hdfs://nn/w/t"}
