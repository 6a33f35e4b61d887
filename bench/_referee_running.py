"""Statements run one after another in one Spark session, the event log on and OpenLineage's agent beside it.

As a program (``python -m bench._referee_running PART DIRECTORY JARS [KEY=VALUE…] [NAME…]``) it is the driver of one such
session. It leaves in the directory ``logs/PART`` (event logs, by Spark's defaults), ``agent/PART.jsonl`` (the agent's
events) and ``runs/PART.json`` (by statement: its application, when it ran in ms, where in the agent's file its events
stand, its error). A later session adds to them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bench._referee_frames import frames
from bench._referee_statements import Statement, read_statements, setup_statements
from bench._referee_tpcds import queries, table_definitions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OWN, TPCDS = "own", "tpcds"
PARTS: Final = (OWN, TPCDS)
APPLICATION: Final = "referee"
_AGENT: Final = "openlineage-spark_*.jar"
_TPCDS: Final = "spark-sql_*-tests.jar"
_DIVIDES_BY_ZERO: Final = "q90"
"""Of empty tables, that is; by ANSI's rules, which are the default, it fails."""


class SessionFailed(Exception):
    """The session did not come to its end; the text says where its own words are."""


class Kept:
    """What sessions leave behind, and where."""

    def __init__(self, directory: Path, part: str) -> None:
        self.logs = directory / "logs" / part
        self.agent = directory / "agent" / f"{part}.jsonl"
        self.runs = directory / "runs" / f"{part}.json"
        self.words = directory / "runs" / f"{part}.txt"
        self.data = directory / "data" / part

    def make(self) -> None:
        for each in (self.logs, self.agent.parent, self.runs.parent):
            each.mkdir(parents=True, exist_ok=True)
        # Tables are made anew by each session.
        shutil.rmtree(self.data, ignore_errors=True)
        self.data.mkdir(parents=True)

    def read_runs(self) -> dict[str, dict[str, Any]]:
        runs: dict[str, dict[str, Any]] = json.loads(self.runs.read_text()) if self.runs.exists() else {}
        return runs


def statements_of(part: str, jars: Path) -> list[Statement]:
    """All statements of a part: those of our own, or TPC-DS's."""
    if part == TPCDS:
        return queries(next(jars.glob(_TPCDS)))
    return read_statements() + [each.statement for each in frames().values()]


def run_part(
    part: str, directory: Path, jars: Path, names: Iterable[str], settings: Iterable[str] = ()
) -> None:
    """Runs the statements of these names in a Spark of their own. Raises SessionFailed.

    ``settings`` are of Spark's, each ``KEY=VALUE``.
    """
    kept = Kept(directory, part)
    kept.make()
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    with kept.words.open("wb") as words:
        ended = subprocess.run(
            [sys.executable, "-m", __name__, part, str(directory), str(jars), *settings, *names],
            cwd=Path(__file__).parents[1],
            env=environment,
            stderr=words,
            check=False,
        )
    if ended.returncode:
        raise SessionFailed(
            f"the session of {part} ended with {ended.returncode}; its words are in {kept.words}"
        )


def _settings(kept: Kept, agent: Path) -> dict[str, str]:
    derby = kept.data / "derby"
    return {
        "spark.driver.memory": "1500m",
        "spark.driver.extraJavaOptions": f"--add-opens=java.base/java.security=ALL-UNNAMED -Dderby.system.home={derby}",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": kept.logs.as_uri(),
        "spark.local.dir": str(kept.data / "spill"),
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": str(kept.data / "warehouse"),
        "spark.sql.catalogImplementation": "hive",
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={kept.data}/metastore;create=true",
        "spark.hadoop.hive.exec.dynamic.partition.mode": "nonstrict",
        "spark.jars": str(agent),
        "spark.extraListeners": "io.openlineage.spark.agent.OpenLineageSparkListener",
        "spark.openlineage.transport.type": "file",
        "spark.openlineage.transport.location": str(kept.agent),
        # Without it the agent calls every predicate that passes an alias direct.
        "spark.openlineage.columnLineage.datasetLineageEnabled": "true",
        "spark.openlineage.facets.spark.logicalPlan.disabled": "true",
    }


def _drive(part: str, directory: Path, jars: Path, asked: Iterable[str]) -> None:
    from pyspark.sql import SparkSession

    kept = Kept(directory, part)
    builder = SparkSession.builder.master("local[2]").appName(APPLICATION)
    given = dict(each.split("=", 1) for each in asked if "=" in each)
    for key, value in (_settings(kept, next(jars.glob(_AGENT))) | given).items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setJobDescription(f"set up {part}")
    for sql in ("CREATE DATABASE src", "CREATE DATABASE out", "USE src", *_setup(part, jars)):
        spark.sql(sql.replace("{dir}", str(kept.data)))
    wanted = set(asked)
    runs = kept.read_runs()
    for statement in statements_of(part, jars):
        if statement.name in wanted:
            began = _events_of(spark, kept.agent)
            run = _runner(part, statement, kept.data)
            spark.sparkContext.setJobDescription(statement.name)
            error = ""
            began_ms = time.time_ns() // 1_000_000
            try:
                run(spark)
            except Exception as raised:  # whatever it is, the other statements are to run
                error = f"{type(raised).__name__}: {raised}"[:2_000]
            runs[statement.name] = {
                "application": spark.sparkContext.applicationId,
                "ms": [began_ms, time.time_ns() // 1_000_000],
                "agent": [began, _events_of(spark, kept.agent)],
                "error": error,
            }
            sys.stdout.write(f"{statement.name}{': ' + error.splitlines()[0] if error else ''}\n")
            sys.stdout.flush()
            kept.runs.write_text(json.dumps(runs, indent=1))
    spark.stop()


def _setup(part: str, jars: Path) -> Iterable[str]:
    return table_definitions(next(jars.glob(_TPCDS))) if part == TPCDS else setup_statements()


def _runner(part: str, statement: Statement, data: Path) -> Callable[[SparkSession], None]:
    out = f"out.{statement.name}"
    if part == OWN and statement.name in frames():
        return lambda spark: frames()[statement.name].run(spark, out, str(data))

    def run(spark: SparkSession) -> None:
        for sql in statement.sql:
            spark.sql(sql.replace("{out}", out).replace("{dir}", str(data)))

    def make(spark: SparkSession) -> None:
        (sql,) = statement.sql
        # Names of a table's columns must differ and be simple; those of a query need not.
        columns = spark.sql(sql).columns
        folded = [each.lower() for each in columns]
        plain = all(each.isidentifier() and folded.count(each) == 1 for each in folded)
        if plain:
            query = sql
        else:
            query = "\n".join(
                ("SELECT * FROM (", sql, f") AS t({', '.join(f'c{at}' for at in range(len(columns)))})")
            )
        spark.conf.set("spark.sql.ansi.enabled", statement.name != _DIVIDES_BY_ZERO)
        spark.sql("\n".join((f"CREATE TABLE {out} USING parquet AS", query)))

    return make if part == TPCDS else run


def _events_of(spark: SparkSession, agent: Path) -> int:
    """How long the agent's file is once it has heard of everything that was run."""
    context: Any = spark.sparkContext
    context._jsc.sc().listenerBus().waitUntilEmpty(60_000)
    return agent.stat().st_size if agent.exists() else 0


if __name__ == "__main__":
    _drive(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:])
