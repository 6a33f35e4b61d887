"""Runs a statement or a program for each kind of plan node that plain Spark can show, and keeps their event log.

    python -m bench.every_node DIRECTORY [--formats JARS | --real-time]
    python -m bench.every_node DIRECTORY --keep LOG

The first runs them, in any Python with PySpark; ``--formats``: statements of Delta, Iceberg and Hudi, for each whose jars
are in JARS; ``--real-time``: streams of Spark 4.1 and later. The second keeps the log, reduced: SQL executions that
succeeded and streams, without metrics and tasks, the scratch directory called ``/SCRATCH``. ``tests/plan_nodes`` holds such
logs.
"""

# ruff: noqa: E501 - statements as they are run

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

from bench._format_nodes import present, run_formats, settings_of

_MADE: Final = "create table {out} using parquet as"
_FILLED: Final = "create table {out} (id int, k string) using parquet;; insert into {out}"
STATEMENTS: Final = {
    "take_ordered": "{made} select id, v from src.a order by v limit 3",
    "sort_aggregate": "{made} select k, max(k) mk, min(cast(at as string)) m from src.a group by k",
    "expand": "{made} select id, k, sum(v) s from src.a group by cube(id, k)",
    "grouping_sets": "{made} select id, k, sum(v) s from src.a group by grouping sets ((id), (k))",
    "pivot": "{made} select * from (select id, k, v from src.a) pivot (sum(v) for k in ('x', 'y'))",
    "unpivot": "{made} select * from (select id, v from src.a) unpivot (val for nm in (id, v))",
    "generate": "{made} select id, x from src.st lateral view explode(l) t as x",
    "window": "{made} select id, sum(v) over (partition by k order by at) s from src.a",
    "collect": "{made} select k, collect_list(v) l from src.a group by k",
    "session_window": "{made} select session_window(at, '5 minutes').start st, k, sum(v) s from src.a group by session_window(at, '5 minutes'), k",
    "session_window_distinct": "{made} select session_window(at, '5 minutes').start st, k, count(distinct v) n from src.a group by session_window(at, '5 minutes'), k",
    "session_window_both": "{made} select session_window(at, '5 minutes').start st, k, count(distinct v) n, sum(id) s from src.a group by session_window(at, '5 minutes'), k",
    "session_window_merged": "set spark.sql.sessionWindow.merge.sessions.in.local.partition=true;; {made} select session_window(at, '5 minutes').start st, k, sum(v) s from src.a group by session_window(at, '5 minutes'), k",
    "lateral": "{made} select a.id, l.w from src.a a, lateral (select max(w) w from src.b where b.k = a.k) l",
    "intersect_all": "{made} select id, k from src.a intersect all select id, k from src.b",
    "except_all": "{made} select id, k from src.a except all select id, k from src.b",
    "hive_ctas": "create table {out} stored as textfile as select id, k from src.h",
    "hive_insert": "create table {out} (id int, k string) stored as textfile;; insert into {out} select id, k from src.h",
    "hive_dir": "insert overwrite directory '{dir}/hive_dir' stored as textfile select id, k from src.h",
    "source_dir": "insert overwrite directory '{dir}/source_dir' using parquet select id, k from src.a",
    "hive_scan": "set spark.sql.hive.convertMetastoreOrc=false;; {made} select id, k from src.h where id > 1",
    "load_data": "create table {out} (id int) stored as textfile;; load data local inpath '{dir}/load.txt' into table {out}",
    "bin_by": "set spark.sql.binByRelationOperator.enabled=true;; {made} select * from src.span bin by (range at to until bin width interval 5 minutes distribute uniform (v))",
    "hive_transform": "{made} select transform(id, k) using 'cat' as (a string, b string) from src.a",
    # Rows made by SQL, with or without VALUES.
    "values_ctas": "{made} select * from values (1, 'a'), (2, 'b') t(id, name)",
    "values_ctas_bare": "{made} values (1, 'a'), (2, 'b')",
    "values_ctas_join": "{made} select a.id, v.nm from src.a a join (values (1, 'x')) v(id, nm) on a.id = v.id",
    "values_insert": "{filled} values (1, 'a'), (2, 'b')",
    "values_insert_select": "{filled} select col1, col2 from values (1, 'a'), (2, 'b')",
    "values_insert_join": "{filled} select a.id, v.nm from src.a a join (values (1, 'x')) v(id, nm) on a.id = v.id",
    "values_one_row": "{made} select 1 a, 'b' b union all select 2, 'c'",
    "values_cte": "{made} with q as (select 1 a union all select 2), r as (select * from values (3) as v(a)) select a from q union all select a from r",
    "values_range": "{made} select id from range(3)",
    "values_empty": "{filled} select id, k from src.a where 1 = 0",
    "values_dir": "insert overwrite directory '{dir}/values_dir' using parquet values (1, 'a')",
    "values_subquery": "{made} select id, (select max(col1) from values (1), (2)) m from src.a",
    "values_view_ctas": "create temporary view tv as select * from values (1, 'a') t(id, k);; {made} select * from tv",
    "values_view_insert": "{filled} select * from tv",
}  # fmt: skip
ALL_SPARKS: Final = {
    "hive_ctas": STATEMENTS["hive_ctas"],
    "grouping_sets": STATEMENTS["grouping_sets"],
}
"""Statements for which older Spark releases use other nodes."""
AFTER_A_VIEW: Final = {
    "driver_view_ctas": "{made} select id, k from of_driver",
    "driver_view_insert": "{filled} select id, k from of_driver",
    "values_ctas_beside_view": "{made} select * from values (3, 'c') t(id, name)",
}
MODES: Final = {
    "values": "select * from values (1, 'a') t(id, name)",
    "grouping_sets": "select id, k, sum(v) s from src.a group by grouping sets ((id), (k))",
    "rollup": "select id, k, sum(v) s from src.a group by rollup(id, k)",
    "unpivot": "select * from (select id, v from src.a) unpivot (val for nm in (id, v))",
    "pivot": "select * from (select id, k, v from src.a) pivot (sum(v) for k in ('x', 'y'))",
    "join": "select a.id, b.w, a.v + b.w x from src.a a join src.b b on a.k = b.k where a.v > 1",
    "union": "select id, v from src.a union all select id, w from src.b",
    "window": "select id, sum(v) over (partition by k order by at) s from src.a",
    "generate": "select id, x from src.st lateral view explode(l) t as x",
    "aggregate": "select k, max(v) m, count(*) n, count(distinct id) d from src.a group by k",
    "semi": "select id from src.a where k in (select k from src.b)",
    "scalar": "select id, (select max(w) from src.b) m from src.a",
    "except": "select id from src.a except select id from src.b",
    "intersect_all": "select id from src.a intersect all select id from src.b",
    "cte": "with q as (select id, v from src.a) select x.id, y.v from q x join q y on x.id = y.id",
    "hive": "select id, k from src.h",
    "recursive": "with recursive r(n) as (select min(id) from src.a union all select n + 1 from r where n < 3) select n from r",
}
IN_PLAIN_WORDS: Final = {
    "fallback": "set spark.sql.TungstenAggregate.testFallbackStartsAt=2,3;; {made} select k, sum(v) s from src.a group by k;; reset spark.sql.TungstenAggregate.testFallbackStartsAt",
}
"""Statements with nodes that formatted plans print under a general name."""
_SETUP: Final = (
    "create database src", "create database out",
    "create table src.a(id int, k string, v int, at timestamp) using parquet",
    "create table src.b(id int, k string, w int) using parquet",
    "create table src.h(id int, k string) stored as orc",
    "create table src.span(id int, at timestamp, until timestamp, v double) using parquet",
    "create table src.st(id int, m map<string,int>, l array<int>) using parquet",
    "insert into src.a values (1, 'x', 2, timestamp'2024-01-01 00:00:00'), (2, 'y', 3, timestamp'2024-01-01 00:10:00')",
    "insert into src.b values (1, 'x', 2)", "insert into src.h values (1, 'x')",
)  # fmt: skip


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
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

    settings = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": (directory / "logs").as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.driver.memory": "1200m",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
        f"-Dderby.system.home={directory}/derby",
        "spark.sql.catalogImplementation": "hive",
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={directory}/metastore;create=true",
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
    for statement in _SETUP:
        spark.sql(statement)

    def case(name: str, run: Callable[[], object]) -> None:
        spark.sparkContext.setJobDescription(name)
        try:
            run()
        except Exception as error:
            sys.stderr.write(f"{name}: {str(error)[:300]}\n")

    def statements(named: dict[str, str]) -> None:
        for name, text in named.items():
            out = f"out.{name}"
            made, filled = _MADE.format(out=out), _FILLED.format(out=out)
            sql = text.format(out=out, dir=directory, made=made, filled=filled)
            case(name, partial(_all, spark, sql))

    if jars is not None:
        statements(ALL_SPARKS)
        run_formats(spark, directory, present(jars), case, statements)
        spark.stop()
        return
    statements(STATEMENTS)
    for name, frame in _frames(spark).items():
        case(name, partial(_save, frame, name))
    for name, run in _programs(spark, directory).items():
        case(name, run)
    statements(AFTER_A_VIEW)
    for mode in ("cost", "extended"):
        spark.conf.set("spark.sql.ui.explainMode", mode)
        statements({f"{mode}_{name}": f"{{made}} {query}" for name, query in MODES.items()})
        for name in ("batch_eval", "arrow_eval", "map_in_pandas", "group_pandas"):
            frame = _frames(spark)[name]
            case(f"{mode}_{name}", partial(_save, frame, f"{mode}_{name}"))
        statements({f"{mode}_{name}": text for name, text in IN_PLAIN_WORDS.items()})
    spark.stop()


def _all(spark: Any, statements: str) -> None:
    for each in statements.split(";; "):
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
