"""Runs a statement or a program for each kind of plan node that plain Spark can show, and keeps their event log.

    python -m bench.every_node DIRECTORY [--formats JARS | --real-time]
    python -m bench.every_node DIRECTORY --keep LOG

The first runs them, in any Python with PySpark; ``--formats``: statements of Delta, Iceberg and Hudi, for each whose jars
are in JARS; ``--real-time``: streams of Spark 4.1 and later. The second keeps the log, reduced: SQL executions that
succeeded and streams, without metrics and tasks, the scratch directory called ``/SCRATCH``. ``tests/plan_nodes`` holds such
logs. The statements are in ``bench/statements/plan_nodes.tsv``: kind, name and SQL. ``;; `` separates statements; in braces
are parts of statements, the table to write and the scratch directory.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

from bench._format_nodes import present, run_formats, settings_of
from bench._options import options
from bench._referee_environments import session_settings

_STATEMENTS: Final = Path(__file__).with_name("statements") / "plan_nodes.tsv"
_ALL_SPARKS: Final = ("hive_ctas", "grouping_sets")
"""Statements for which older Spark releases use other nodes."""


def main() -> None:
    arguments = options(__doc__)
    arguments.add_argument("directory", type=Path)
    arguments.add_argument("--formats", type=Path, metavar="JARS")
    arguments.add_argument("--real-time", action="store_true")
    arguments.add_argument("--keep", type=Path, metavar="LOG")
    given = arguments.parse_args()
    if given.keep:
        _keep(given)
        return
    shutil.rmtree(given.directory, ignore_errors=True)
    (given.directory / "logs").mkdir(parents=True)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    _run(given.directory.resolve(), given.formats, real_time=given.real_time)


def _keep(given: argparse.Namespace) -> None:
    import zstandard

    [log] = (given.directory / "logs").iterdir()
    lines = "".join(f"{json.dumps(event, separators=(',', ':'))}\n" for event in _small(log))
    lines = lines.replace(str(given.directory.resolve()), "/SCRATCH")
    given.keep.write_bytes(zstandard.ZstdCompressor(level=19).compress(lines.encode()))


def _session(directory: Path, jars: Path | None) -> Any:
    from pyspark.sql import SparkSession

    settings = session_settings(directory / "logs", directory) | {
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        "spark.driver.memory": "1200m",
        "spark.hadoop.hive.exec.scratchdir": str(directory / "hive"),
    }
    if jars is not None:
        settings |= settings_of(jars, directory)
    builder = SparkSession.builder.master("local[4]").appName("every node")
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _run(directory: Path, jars: Path | None, *, real_time: bool) -> None:
    spark = _session(directory, jars)
    spark.sparkContext.setLogLevel("OFF")
    if real_time:
        spark.conf.set("spark.sql.ui.explainMode", "extended")
        for run in _in_real_time(spark, directory).values():
            run()
        spark.stop()
        return
    (directory / "load.txt").write_text("1\n")
    for setup in statements_of("setup", directory).values():
        _all(spark, setup)

    def case(name: str, run: Callable[[], object]) -> None:
        spark.sparkContext.setJobDescription(name)
        try:
            run()
        except Exception as error:
            sys.stderr.write(f"{name}: {str(error)[:300]}\n")

    def statements(kind: str, mode: str = "", only: Iterable[str] = ()) -> None:
        found = statements_of(kind, directory, mode)
        for name in tuple(only) or found:
            case(name, partial(_all, spark, found[name]))

    if jars is not None:
        statements("plain", only=_ALL_SPARKS)
        run_formats(spark, directory, present(jars), case, statements)
        spark.stop()
        return
    statements("plain")
    for name, frame in _frames(spark).items():
        case(name, partial(_save, frame, name))
    for name, run in _programs(spark, directory).items():
        case(name, run)
    statements("after a view")
    for mode in ("cost", "extended"):
        spark.conf.set("spark.sql.ui.explainMode", mode)
        statements("mode", f"{mode}_")
        for name in ("batch_eval", "arrow_eval", "map_in_pandas", "group_pandas"):
            frame = _frames(spark)[name]
            case(f"{mode}_{name}", partial(_save, frame, f"{mode}_{name}"))
        statements("in plain words", f"{mode}_")
    spark.stop()


def statements_of(kind: str, directory: Path, mode: str = "") -> dict[str, tuple[str, ...]]:
    """Map each statement of a kind to its SQL, in order. ``mode`` precedes the names."""
    parts, found = {}, {}
    for row in _STATEMENTS.read_text(encoding="utf-8").splitlines():
        of, name, text = row.split("\t")
        if of == "part":
            parts[f"{{{name}}}"] = text
        elif of == kind:
            for part, meant in parts.items():
                text = text.replace(part, meant)
            found[mode + name] = tuple(text.format(out=f"out.{mode}{name}", dir=directory).split(";; "))
    return found


def _all(spark: Any, statements: Iterable[str]) -> None:
    for each in statements:
        spark.sql(each)


def _save(frame: Callable[[], Any], name: str) -> None:
    frame().write.saveAsTable(f"out.{name}")


def _frames(spark: Any) -> dict[str, Callable[[], Any]]:
    """Return programs that save a DataFrame as a table."""
    import pyspark.pandas as ps
    from pyspark.sql import Window, functions

    f: Any = functions

    ps.set_option("compute.default_index_type", "distributed-sequence")

    python = f.udf(lambda value: value, "int", useArrow=False)
    arrow = f.pandas_udf(lambda values: values, "int", f.PandasUDFType.SCALAR)
    average = f.pandas_udf(lambda values: float(values.mean()), "double", f.PandasUDFType.GROUPED_AGG)
    a, b = spark.table("src.a"), spark.table("src.b")
    by_key, keyed = a.groupBy("k"), a.groupBy("k").cogroup(b.groupBy("k"))

    def held() -> Any:
        return spark.createDataFrame(a.select("id", "k").toPandas())

    return {
        "distributed_sequence": lambda: a.select("id", "v").pandas_api().to_spark(index_col="idx"),
        "zip_with_index": lambda: a.select("id").zipWithIndex(),
        "zip": lambda: a.select("id").zip(a.select((f.col("v") + 1).alias("v1"))),
        "drop": lambda: a.drop("v"),
        "distinct_by": lambda: a.dropDuplicates(["k"]).select("id", "k"),
        "rows": lambda: spark.createDataFrame([(1, "x")], "id int, k string"),
        "batch_eval": lambda: a.select("id", python("v").alias("p")),
        "arrow_eval": lambda: a.select("id", arrow("v").alias("p")),
        "arrow_aggregate": lambda: by_key.agg(average("v").alias("p")),
        "arrow_window": lambda: a.select("id", average("v").over(Window.partitionBy("k")).alias("p")),
        "map_in_pandas": lambda: a.select("id").mapInPandas(lambda rows: rows, "id int"),
        "map_in_arrow": lambda: a.select("id").mapInArrow(lambda rows: rows, "id int"),
        "group_pandas": lambda: by_key.applyInPandas(lambda rows: rows[["k", "v"]], "k string, v int"),
        "group_arrow": lambda: by_key.applyInArrow(lambda rows: rows.select(["k", "v"]), "k string, v int"),
        "cogroup_pandas": lambda: keyed.applyInPandas(lambda one, _: one[["k", "v"]], "k string, v int"),
        "cogroup_arrow": lambda: keyed.applyInArrow(lambda one, _: one.select(["k", "v"]), "k string, v int"),
        # Rows that the driver holds.
        "driver_pandas": held,
        "driver_arrow": lambda: spark.createDataFrame(a.select("id", "k").toArrow()),
        "driver_alias": lambda: held().alias("p").select("p.id"),
        "driver_join": lambda: a.select("id", "v").join(held(), "id"),
        "driver_transpose": lambda: a.select("k", "id", "v").transpose(),
        "driver_cached": lambda: held().cache(),
    }  # fmt: skip


def _programs(spark: Any, directory: Path) -> dict[str, Callable[[], object]]:
    """Return programs that do not save a DataFrame. The last one creates a temporary view of rows that the driver
    holds."""
    from pyspark.sql import functions as f

    a = spark.table("src.a")
    a.coalesce(1).write.parquet(f"{directory}/in")

    def read() -> Any:
        return spark.readStream.schema("id int, k string, v int, at timestamp").parquet(f"{directory}/in")

    def stream(name: str, frame: Any) -> None:
        writer = frame.writeStream.option("checkpointLocation", f"{directory}/state_{name}").queryName(name)
        writer.format("parquet").option("path", f"{directory}/{name}").trigger(
            availableNow=True
        ).start().awaitTermination(60)

    def continuous() -> None:
        rows = spark.readStream.format("rate").load().selectExpr("value")
        writer = rows.writeStream.option("checkpointLocation", f"{directory}/state").format("noop")
        query = writer.trigger(continuous="1 second").start()
        time.sleep(4)
        query.stop()

    windowed = (f.window("at", "5 minutes"), "k")
    held = spark.createDataFrame(a.select("id", "k").toPandas())
    return {
        "stream_files": lambda: stream("stream_files", read().select("id", "k")),
        "stream_aggregate": lambda: stream(
            "stream_aggregate",
            read().withWatermark("at", "1 minute").groupBy(*windowed).agg(f.sum("v").alias("s")),
        ),
        "stream_continuous": continuous,
        "driver_path": lambda: held.write.parquet(f"{directory}/driver_path"),
        "driver_view": lambda: held.createOrReplaceTempView("of_driver"),
    }


def _in_real_time(spark: Any, directory: Path) -> dict[str, Callable[[], object]]:
    """Return streams of Spark 4.1 and later in real-time mode, in which rows do not wait for the end of a batch."""
    from pyspark.sql import DataFrame

    def stream(name: str, of: Callable[[Any], Any]) -> None:
        for key, value in {
            "minBatchDuration": "1s",
            "allowlistCheck": "false",
            "dangerouslyAllowCheckpointV1.enabled": "true",
        }.items():
            spark.conf.set(f"spark.sql.streaming.realTimeMode.{key}", value)
        spark.conf.set("spark.sql.streaming.useStreamlineAggregator", "true")
        java = spark._jvm.org.apache.spark.sql
        source = java.execution.streaming.sources.LowLatencyMemoryStream.singlePartition(
            spark._jsparkSession, java.Encoders.INT()
        )
        writer = of(DataFrame(source.toDF(), spark)).writeStream.format("console").outputMode("update")
        writer = writer.option("checkpointLocation", f"{directory}/state_{name}")
        query = writer.trigger(realTime="2 seconds").start()
        time.sleep(6)
        query.stop()

    return {
        "real_time": partial(stream, "real_time", lambda rows: rows.selectExpr("value + 1 as v")),
        "real_time_aggregate": partial(
            stream, "real_time_aggregate", lambda rows: rows.groupBy("value").count()
        ),
    }


_KEPT: Final = ("SparkListenerLogStart", "SparkListenerApplicationStart", "SparkListenerApplicationEnd")


def _small(log: Path) -> Iterator[dict[str, Any]]:
    events = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    # A batch in real-time mode only ends when the stream is stopped, so an interruption is not a failure.
    errors = {each["executionId"]: each["errorMessage"] for each in events if each.get("errorMessage")}
    failed = {number for number, error in errors.items() if "InterruptedException" not in error}
    for event in events:
        kind = event["Event"].rpartition(".")[2]
        if kind in _KEPT or "StreamingQueryListener" in event["Event"]:
            yield event
        elif kind.startswith("SparkListenerSQLExecution") and event["executionId"] not in failed:
            for node in _nodes(event.get("sparkPlanInfo")):
                node.pop("metrics", None)
            event["details"] = event.get("details", "").partition("\n")[0]
            event.pop("modifiedConfigs", None)
            yield event


def _nodes(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
        for child in node.get("children", ()):
            yield from _nodes(child)


if __name__ == "__main__":
    main()
