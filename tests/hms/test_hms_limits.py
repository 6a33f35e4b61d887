"""A real metastore with extreme contents: tens of thousands of partitions, thousands of columns, texts of a megabyte,
and a notification log whose oldest events were already removed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from extractors.hms import HiveMetastore, idl
from extractors.hms.client import MetastoreConnection, connected
from extractors.hms.plan import COMPLETE_MS, EVENT_ID
from extractors.hms.splits import PartitionSplit
from navlin.model.keys import EntityType
from navlin.pipeline.spark_jvm import start_jvm
from tests.hms.test_hms import ESTATE, NOW_MS, SOURCE, run
from tests.services.metastore import (
    ADD_PARTITION,
    CREATE_DATABASE,
    CREATE_TABLE,
    Metastore,
    partition,
    table,
)

pytestmark = pytest.mark.services

PARTITIONS = 20_000
COLUMNS = 3_000
COMMENT = "größe 表 " * 80_000
"""A comment of almost a megabyte in UTF-8."""
CLEANED_S = 300.0
"""Timeout for the removal of old events; the metastore cleans its log once a minute."""
SAME = (
    "CREATE TABLE MORE (N INT)",
    "INSERT INTO MORE SELECT N FROM (SELECT ROW_NUMBER() OVER () AS N FROM SYS.SYSCOLUMNS A, SYS.SYSCOLUMNS B) AS ALL_ROWS"
    " WHERE N < 20000",
    "INSERT INTO SDS (SD_ID, CD_ID, INPUT_FORMAT, IS_COMPRESSED, IS_STOREDASSUBDIRECTORIES, LOCATION, NUM_BUCKETS,"
    " OUTPUT_FORMAT, SERDE_ID) SELECT S.SD_ID + 100000 + N, S.CD_ID, S.INPUT_FORMAT, S.IS_COMPRESSED,"
    " S.IS_STOREDASSUBDIRECTORIES, 'file:/data/parts/ds=' || TRIM(CHAR(N)), S.NUM_BUCKETS, S.OUTPUT_FORMAT, S.SERDE_ID"
    " FROM SDS S, PARTITIONS P, MORE WHERE P.SD_ID = S.SD_ID",
    "INSERT INTO PARTITIONS (PART_ID, CREATE_TIME, LAST_ACCESS_TIME, PART_NAME, SD_ID, TBL_ID) SELECT PART_ID + N,"
    " CREATE_TIME, LAST_ACCESS_TIME, 'ds=' || TRIM(CHAR(N)), SD_ID + 100000 + N, TBL_ID FROM PARTITIONS, MORE",
    "INSERT INTO PARTITION_KEY_VALS (PART_ID, PART_KEY_VAL, INTEGER_IDX) SELECT PART_ID + N, TRIM(CHAR(N)), 0"
    " FROM PARTITION_KEY_VALS, MORE",
    "DROP TABLE MORE",
)
"""SQL statements that copy the existing partition almost 20,000 times. Adding the partitions through a metastore on
Derby would take hours.
"""


LONG_TEXTS = tuple(
    statement.format(table=table, column=column)
    for table, column in (("TABLE_PARAMS", "PARAM_VALUE"), ("NOTIFICATION_LOG", "MESSAGE"))
    for statement in (
        "ALTER TABLE {table} ADD COLUMN LONG_VALUE CLOB",
        "UPDATE {table} SET LONG_VALUE = {column}",
        "ALTER TABLE {table} DROP COLUMN {column}",
        "RENAME COLUMN {table}.LONG_VALUE TO {column}",
    )
)
"""SQL statements that allow texts of any length, as other databases do. On Derby, metastores are limited to 4,000 and
32,700 characters.
"""
TEXT_OF = (
    "UPDATE TABLE_PARAMS SET PARAM_VALUE = ? WHERE PARAM_KEY = 'comment'"
    " AND TBL_ID = (SELECT TBL_ID FROM TBLS WHERE TBL_NAME = ?)"
)


@pytest.fixture(scope="module")
def limits(tmp_path_factory: pytest.TempPathFactory, metastore_jars: Path) -> Iterator[Metastore]:
    settings = {"hive.metastore.event.db.listener.timetolive": "1s"}
    with Metastore(tmp_path_factory.mktemp("limits"), metastore_jars, settings=settings) as started:
        started.await_ready()
        with connected(started.address) as client:
            client.call(CREATE_DATABASE, idl.Database("exam", "limits", None, {}))
        yield started


@pytest.fixture
def client(limits: Metastore) -> Iterator[MetastoreConnection]:
    with connected(limits.address) as connection:
        yield connection


def extractor(metastore: Metastore, tables: str) -> HiveMetastore:
    return HiveMetastore(
        SOURCE,
        ESTATE,
        (metastore.uri,),
        databases=("exam",),
        tables=(f"exam.{tables}",),
        call_timeout_s=600.0,
    )


@contextmanager
def database_of(metastore: Metastore) -> Iterator[Any]:
    """Stop the metastore, yield a connection to its database, and restart the metastore."""
    metastore.kill()
    gateway = start_jvm(
        {
            "spark.driver.memory": "512m",
            "spark.driver.extraJavaOptions": "-Dderby.stream.error.file=/dev/null",
        }
    )
    try:
        database = gateway.jvm.java.sql.DriverManager.getConnection(f"jdbc:derby:{metastore.directory}/db")
        yield database
        database.close()
    finally:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()
    metastore.start()


def test_twenty_thousand_partitions_are_read_in_bounded_batches(limits: Metastore) -> None:
    made = table("exam", "parts", {"id": "int"}, partitioned_by={"ds": "string"}, location="file:/data/parts")
    with connected(limits.address) as client:
        client.call(CREATE_TABLE, made)
        client.call(ADD_PARTITION, partition(made, "0"))
    with database_of(limits) as database:
        for each in SAME:
            database.createStatement().executeUpdate(each)

    hms = extractor(limits, "parts")
    done = run(hms)

    assert done.of(EntityType.PARTITION) == sorted(f"ds={number}" for number in range(PARTITIONS))
    assert not done.rejects
    pieces = [len(split.partitions) for split in done.splits if isinstance(split, PartitionSplit)]
    assert (sum(pieces), max(pieces)) == (PARTITIONS, hms.partition_batch_size)


def test_three_thousand_columns_and_a_megabyte_comment_are_kept_and_a_longer_one_truncated(
    limits: Metastore,
) -> None:
    wide = {f"col_{number:05d}": "string" for number in range(COLUMNS)}
    words = {"wide_more": COMMENT * 2, "wide_words": COMMENT}
    with database_of(limits) as database:
        for each in LONG_TEXTS:
            database.createStatement().executeUpdate(each)
    with connected(limits.address) as client:
        client.call(CREATE_TABLE, table("exam", "wide_columns", wide))
        for name in words:
            client.call(CREATE_TABLE, table("exam", name, {"id": "int"}, parameters={"comment": "short"}))
    with database_of(limits) as database:
        for name, text in words.items():
            update = database.prepareStatement(TEXT_OF)
            update.setString(1, text)
            update.setString(2, name)
            assert update.executeUpdate() == 1

    done = run(extractor(limits, "wide_*"))

    assert done.of(EntityType.FIELD) == [*wide, "id", "id"]
    assert done.entities["/EXAM/WIDE_WORDS"].attributes["originalDescription"] == COMMENT
    cut = done.entities["/EXAM/WIDE_MORE"].attributes["originalDescription"]
    assert ((1 << 20) - 4 < len(cut.encode()) <= 1 << 20, cut[-8:]) == (True, " … [cut]")
    assert not done.rejects


def test_an_expired_notification_log_causes_a_complete_plan(
    limits: Metastore, client: MetastoreConnection
) -> None:
    hms = extractor(limits, "late_*")
    client.call(CREATE_TABLE, table("exam", "late_0"))
    first = run(hms)
    last = first.saved().values[EVENT_ID]
    for number in range(1, 4):
        client.call(CREATE_TABLE, table("exam", f"late_{number}"))
    deadline_s = time.monotonic() + CLEANED_S
    while client.events(last, 10):
        assert time.monotonic() < deadline_s, "the metastore does not clean its log"
        time.sleep(1)
    client.call(CREATE_TABLE, table("exam", "late_4"))

    second = run(hms, first.saved())

    assert "not consecutive" in second.plan.note
    assert second.of(EntityType.TABLE) == [f"late_{number}" for number in range(5)]
    assert second.plan.covers[0].path == "/"
    assert second.saved().values[COMPLETE_MS] == NOW_MS
