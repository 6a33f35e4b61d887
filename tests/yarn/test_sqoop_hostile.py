"""An odd value in a job's configuration affects only its own property, and no password is stored."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import orjson
import pytest

from extractors.yarn.sqoop_records import READER
from navlin.model.records import Position
from tests.support.sqoop_jobs import EXPORT, QUERY_IMPORT, TABLE_IMPORT, captured, extracted, without_yarn
from tests.support.stored import stored

LONG = "x" * 1_000_000
DEEP = "[" * 200_000
ODD: tuple[Any, ...] = (
    "", LONG, DEEP, "{" * 100_000, '"' * 100_001, "\\" * 100_000, "," * 100_000, "\0", "\ud800", "☃" * 1_000, 7, -1.5, True,
    '{"fields":' * 5_000, '{"fields":[{"name":{}}]}', '{"fields":[]}', "jdbc:" * 10_000, "jdbc:mysql://" + "a," * 4_000,
    "dataset:hive:/" * 5_000, "hdfs://[::1", "file:", "../../etc", "$CONDITIONS" * 5_000, "(" * 50_000,
    None, ["x"], {"a": 1},
)  # fmt: skip
NAMES = sorted(
    {
        *TABLE_IMPORT,
        *EXPORT,
        *QUERY_IMPORT,
        "avro.map.output.schema",
        "parquetjob.avro.schema",
        "kite.outputUri",
    }
    | {"sqoop.merge.old.path", "sqoop.merge.new.path", "sqoop.merge.key.col", "sqoop.export.call"}
    | {
        "sqoop.mapreduce.export.update.col",
        "oozie.sqoop.args.size",
        "oozie.sqoop.args.0",
        "hive.metastore.uris",
    }
    | {
        "sqoop.opt.hive.import",
        "sqoop.opt.hdfs.target.dir",
        "sqoop.opt.db.table",
        "sqoop.opt.hive.table.name",
    }
)
MAX_TOLD_BYTES = 1 << 20


@pytest.mark.parametrize("name", NAMES)
def test_an_odd_value_is_bounded_and_becomes_records(name: str) -> None:
    for base in (TABLE_IMPORT, EXPORT):
        for odd in ODD:
            text = str(odd).lower() if isinstance(odd, bool) else str(odd)
            properties = (
                {**base, name: text, "oozie.sqoop.args.size": "1"}
                if "args.0" in name
                else {**base, name: text}
            )
            if not READER.run_of(properties):
                assert name == "mapreduce.job.map.class"
                continue
            told = orjson.dumps(READER.told(properties), option=orjson.OPT_PASSTHROUGH_DATACLASS)
            assert len(told) < MAX_TOLD_BYTES


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
def test_an_odd_value_of_any_property_does_not_end_a_round(odd: Any) -> None:
    jobs = [{**base, name: odd} for base in (TABLE_IMPORT, EXPORT) for name in NAMES[::3]]
    found = extracted(*jobs, TABLE_IMPORT | {"mapreduce.jdbc.username": "the last one"})
    assert not found.rejects
    users = {each.attributes.get("dbUser") for each in without_yarn(found).operations.values()}
    assert "the last one" in users or "etl" in users
    stored(found.records)


def test_a_query_that_takes_long_loses_only_its_own_columns() -> None:
    slow = "SELECT " + "(" * 2_000 + "1" + ")" * 2_000 + " AS a FROM t WHERE $CONDITIONS"
    started_s = time.monotonic()
    found = without_yarn(extracted(QUERY_IMPORT | {"mapreduce.jdbc.input.query": slow}, QUERY_IMPORT))
    assert time.monotonic() - started_s < 300
    assert len(found.executions) == 2
    assert "/data/orders" in str(found.flows)


SECRETS: dict[str, str] = {
    "mapreduce.jdbc.password": "hunter2",
    "sqoop.opt.db.password": "hunter2",
    "sqoop.opt.db.connect.string": "jdbc:mysql://etl:hunter2@db/shop",
    "oozie.sqoop.args.size": "7",
    "oozie.sqoop.args.0": "import",
    "oozie.sqoop.args.1": "--password",
    "oozie.sqoop.args.2": "hunter2",
    "oozie.sqoop.args.3": "--connect",
    "oozie.sqoop.args.4": "jdbc:mysql://etl:hunter2@db/shop",
    "oozie.sqoop.args.5": "--target-dir",
    "oozie.sqoop.args.6": "s3a://key:hunter2@bucket/x",
    "oozie.sqoop.command": "import --password hunter2",
    "hive.metastore.uris": "thrift://etl:hunter2@hms:9083",
    "fs.s3a.secret.key": "hunter2",
    "javax.jdo.option.ConnectionPassword": "hunter2",
}
URLS = (
    "jdbc:mysql://etl:hunter2@db/shop?password=hunter2",
    "jdbc:sqlserver://db;databaseName=shop;user=sa;password={hunter2}",
    "jdbc:oracle:thin:scott/hunter2@//db:1521/svc",
    "jdbc:oracle:thin:scott/hunter2@(DESCRIPTION=(ADDRESS=(HOST=db)(PORT=1521))(CONNECT_DATA=(SID=x))(PASSWORD=hunter2))",
    "jdbc:db2://db:50000/SHOP:user=etl;password=hunter2;",
    "jdbc:hsqldb:hsql://db/sales;password=hunter2",
    "jdbc:teradata://td/DATABASE=shop,PASSWORD=hunter2",
    "jdbc:postgresql://db/shop?user=etl&password=hunter2&sslpassword=hunter2",
    "hunter2",
)


@pytest.mark.parametrize(
    "sample",
    [
        "table",
        "query",
        "hive",
        "hive-query",
        "append",
        "lastmodified",
        "lastmodified-merge",
        "export",
        "numeric-name",
    ],
)
def test_a_planted_password_is_stored_nowhere(corpora: Path, sample: str) -> None:
    properties = captured(corpora, sample)
    planted = []
    for url in URLS:
        changed = (
            properties | SECRETS | ({"mapreduce.jdbc.url": url} if "mapreduce.jdbc.url" in properties else {})
        )
        for name in ("mapreduce.jdbc.input.conditions", "mapreduce.jdbc.input.query"):
            if name in properties:
                changed[name] = f"{properties[name]} AND password = 'hunter2'"
        for name in (
            "mapreduce.input.fileinputformat.inputdir",
            "mapreduce.output.fileoutputformat.outputdir",
        ):
            if name in properties:
                changed[name] = str(properties[name]).replace("hdfs://", "hdfs://etl:hunter2@")
        planted.append(changed)
    found = extracted(*planted)
    assert without_yarn(found).executions
    assert "hunter2" not in stored(found.records)
    kept = [each.value for each in found.records if isinstance(each, Position)]
    assert len(kept) == len(planted)
    assert b"hunter2" not in orjson.dumps(kept)
