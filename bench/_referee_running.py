"""Run statements one after another in one Spark session, with the event log on and with OpenLineage's agent if the
part has it.

As a program (``python -m bench._referee_running PART DIRECTORY JARS [KEY=VALUE…] [NAME…]``) this is the driver of
one session, in the part's own Python. In the directory it writes ``logs/PART`` (event logs, with Spark's defaults),
``agent/PART.jsonl`` (the agent's events) and ``runs/PART.json`` (statement → application, times of its run, range
of its events in the agent's file, error). A later session adds to these files.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bench._referee_environments import python_of, session_settings
from bench._referee_parts import PARTS, TPCDS, Part, Place
from bench._referee_statements import STATEMENTS, Statement, read_statements, setup_statements
from bench._referee_tpcds import queries, table_definitions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

APPLICATION: Final = "referee"
_AGENT: Final = "openlineage-spark_*.jar"
_TPCDS: Final = "spark-sql_*-tests.jar"
_DIVIDES_BY_ZERO: Final = "q90"
"""A query that divides by zero because the tables are empty, so it fails under ANSI rules, which are Spark's
default."""


class SessionFailed(Exception):
    """The session failed. The message names the file with its output."""


class Kept:
    """Files that sessions leave in a directory."""

    def __init__(self, directory: Path, part: str) -> None:
        self.logs = directory / "logs" / part
        self.agent = directory / "agent" / f"{part}.jsonl"
        self.runs = directory / "runs" / f"{part}.json"
        self.words = directory / "runs" / f"{part}.txt"
        self.data = directory / "data" / part

    def make(self) -> None:
        for each in (self.logs, self.agent.parent, self.runs.parent):
            each.mkdir(parents=True, exist_ok=True)
        # Each session creates its tables again.
        shutil.rmtree(self.data, ignore_errors=True)
        self.data.mkdir(parents=True)

    def read_runs(self) -> dict[str, dict[str, Any]]:
        runs: dict[str, dict[str, Any]] = json.loads(self.runs.read_text()) if self.runs.exists() else {}
        return runs


def statements_of(part: Part, jars: Path) -> list[Statement]:
    """Return all statements that a part can run. ``jars`` has a directory for each jar set."""
    if part is TPCDS:
        return queries(next((jars / part.jars).glob(_TPCDS)))
    found = []
    for below, places in part.directories:
        for place in places:
            found += read_statements(STATEMENTS / below, place, part.name)
    found.sort(key=lambda each: each.place.suffix)
    return [each for each in found if not each.truth or not each.truth.parts or part.name in each.truth.parts]


def run_part(
    part: Part, directory: Path, jars: Path, names: Iterable[str], settings: Iterable[str] = ()
) -> None:
    """Run the statements with these names in a new Spark session. Raises SessionFailed.

    ``settings`` are Spark settings as ``KEY=VALUE``. If needed, the part's Python is created next to the jars.
    """
    kept = Kept(directory, part.name)
    kept.make()
    python = str(python_of(part.environment, jars)) if part.environment else sys.executable
    environment = os.environ | {"PYSPARK_PYTHON": python, "SPARK_LOCAL_IP": "127.0.0.1"}
    with kept.words.open("wb") as words:
        ended = subprocess.run(
            [python, "-m", __name__, part.name, str(directory), str(jars), *settings, *names],
            cwd=Path(__file__).parents[1],
            env=environment,
            stderr=words,
            check=False,
        )
    if ended.returncode:
        raise SessionFailed(
            f"the session of {part.name} ended with {ended.returncode}; its words are in {kept.words}"
        )


def _settings(part: Part, kept: Kept, jars: Path) -> dict[str, str]:
    settings = session_settings(kept.logs, kept.data) | {
        "spark.driver.memory": "1500m",
        "spark.local.dir": str(kept.data / "spill"),
        "spark.hadoop.hive.exec.dynamic.partition.mode": "nonstrict",
        "spark.jars": ",".join(map(str, sorted(jars.glob("*.jar")))),
    }
    if agents := list(jars.glob(_AGENT)):
        settings |= {
            "spark.jars": str(agents[0]),
            "spark.extraListeners": "io.openlineage.spark.agent.OpenLineageSparkListener",
            "spark.openlineage.transport.type": "file",
            "spark.openlineage.transport.location": str(kept.agent),
            # Without this, the agent reports each aliased predicate as a direct dependency.
            "spark.openlineage.columnLineage.datasetLineageEnabled": "true",
            "spark.openlineage.facets.spark.logicalPlan.disabled": "true",
        }
    return settings | {key: value.replace("{data}", str(kept.data)) for key, value in part.settings.items()}


def _drive(part: Part, directory: Path, jars: Path, asked: Iterable[str]) -> None:
    from pyspark.sql import SparkSession

    kept = Kept(directory, part.name)
    builder = SparkSession.builder.master("local[2]").appName(APPLICATION)
    given = dict(each.split("=", 1) for each in asked if "=" in each)
    for key, value in (_settings(part, kept, jars / part.jars) | given).items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setJobDescription(f"set up {part.name}")
    for sql in _setup(part, jars):
        spark.sql(sql.replace("{dir}", str(kept.data)).replace("{format}", part.table_format))
    wanted = set(asked)
    runs = kept.read_runs()
    source = ""
    for statement in statements_of(part, jars):
        if statement.name in wanted:
            if source != (source := statement.place.source):
                spark.sparkContext.setJobDescription(f"set up {part.name}")
                spark.sql(f"USE {_in_catalog(source)}")
            began, began_ms = _events_of(spark, kept.agent), time.time_ns() // 1_000_000
            error = ""
            try:
                _run(part, statement, spark, str(kept.data))
            except Exception as raised:  # one failure must not stop the other statements
                error = f"{type(raised).__name__}: {raised}"[:2_000]
            runs[statement.name] = {
                "application": spark.sparkContext.applicationId,
                "agent": [began, _events_of(spark, kept.agent)],
                "ms": [began_ms, time.time_ns() // 1_000_000],
                "error": error,
            }
            sys.stdout.write(f"{statement.name}{': ' + error.splitlines()[0] if error else ''}\n")
            sys.stdout.flush()
            kept.runs.write_text(json.dumps(runs, indent=1))
    spark.stop()


def _setup(part: Part, jars: Path) -> Iterator[str]:
    """Yield the SQL that creates the databases and tables. The source tables exist once in each source database."""
    sources = part.sources or (Place().source,)
    for source in sources:
        for database in (source, source.removesuffix("src") + "out"):
            yield f"CREATE DATABASE IF NOT EXISTS {_in_catalog(database)}"
    if part is TPCDS:
        yield "USE src"
        yield from table_definitions(next((jars / part.jars).glob(_TPCDS)))
    for source in reversed(sources):
        yield f"USE {_in_catalog(source)}"
        for below, places in part.directories:
            if any(place.source == source for place in places):
                yield from setup_statements(STATEMENTS / below)


def _in_catalog(database: str) -> str:
    return database if "." in database else f"spark_catalog.{database}"


def _run(part: Part, statement: Statement, spark: SparkSession, files: str) -> None:
    spark.sparkContext.setJobDescription(statement.name)
    if part is TPCDS:
        _make_of_query(statement, spark)
    elif statement.program:
        statement.program.run(spark, statement.outputs_named("{out}", files), files, part.table_format)
    for sql in () if part is TPCDS else statement.sql:
        using = statement.place.using or part.table_format
        spark.sql(statement.outputs_named(sql, files).replace("{format}", using))


def _make_of_query(statement: Statement, spark: SparkSession) -> None:
    (sql,) = statement.sql
    # Column names of a table must be distinct identifiers, but those of a query need not be.
    columns = spark.sql(sql).columns
    folded = [each.lower() for each in columns]
    if all(each.isidentifier() and folded.count(each) == 1 for each in folded):
        query = sql
    else:
        names = ", ".join(f"c{at}" for at in range(len(columns)))
        query = "\n".join(("SELECT * FROM (", sql, f") AS t({names})"))
    spark.conf.set("spark.sql.ansi.enabled", statement.name != _DIVIDES_BY_ZERO)
    spark.sql("\n".join((f"CREATE TABLE out.{statement.name} USING parquet AS", query)))


def _events_of(spark: SparkSession, agent: Path) -> int:
    """Return the length of the agent's file once the agent has processed all statements so far."""
    context: Any = spark.sparkContext
    context._jsc.sc().listenerBus().waitUntilEmpty(60_000)
    return agent.stat().st_size if agent.exists() else 0


if __name__ == "__main__":
    _drive(PARTS[sys.argv[1]], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:])
