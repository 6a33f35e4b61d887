"""Runs a statement or a program for each kind of plan node that a plain Spark can show, and keeps their event log.

    python -m bench.every_node DIRECTORY [--formats JARS]
    python -m bench.every_node DIRECTORY --keep LOG

The first runs, in any Python with PySpark; ``--formats``: those of Delta, Iceberg and Hudi, of which JARS has the jars, on
Spark 3.5. The second keeps the log. It is made small: SQL executions that succeeded and streams, without metrics and tasks, the scratch directory called
``/SCRATCH``. ``tests/plan_nodes`` holds such logs.
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
    "session_window_merged": "set spark.sql.sessionWindow.merge.sessions.in.local.partition=true;; {made} select session_window(at, '5 minutes').start st, k, sum(v) s from src.a group by session_window(at, '5 minutes'), k",
    "session_window_distinct": "{made} select session_window(at, '5 minutes').start st, k, count(distinct v) n from src.a group by session_window(at, '5 minutes'), k",
    "lateral": "{made} select a.id, l.w from src.a a, lateral (select max(w) w from src.b where b.k = a.k) l",
    "intersect_all": "{made} select id, k from src.a intersect all select id, k from src.b",
    "except_all": "{made} select id, k from src.a except all select id, k from src.b",
    "hive_ctas": "create table {out} stored as textfile as select id, k from src.h",
    "hive_insert": "create table {out} (id int, k string) stored as textfile;; insert into {out} select id, k from src.h",
    "hive_dir": "insert overwrite directory '{dir}/hive_dir' stored as textfile select id, k from src.h",
    "source_dir": "insert overwrite directory '{dir}/source_dir' using parquet select id, k from src.a",
    "hive_scan": "set spark.sql.hive.convertMetastoreOrc=false;; {made} select id, k from src.h where id > 1",
    "load_data": "create table {out} (id int) stored as textfile;; load data local inpath '{dir}/load.txt' into table {out}",
    "hive_transform": "{made} select transform(id, k) using 'cat' as (a string, b string) from src.a",
    # Rows that SQL made, by VALUES or otherwise.
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
DELTA: Final = {
    "delta_changes": "{made} select id, k, _change_type from table_changes('src.d', 1)",
    "delta_changes_by_path": "{made} select id, k from table_changes_by_path('{dir}/warehouse/src.db/d', 1)",
    "delta_clone": "create table {out} shallow clone src.d",
    "delta_history": "{made} select version from (describe history src.d)",
    "delta_restore": "restore table src.d to version as of 1",
}
ICEBERG: Final = {
    "iceberg_read": "{made} select id, k from local.src.i where v > 1",
    "iceberg_insert": "create table local.{out} using iceberg as select id, k from src.a;; insert into local.{out} select id, k from local.src.i",
    "iceberg_merge": "create table local.{out} using iceberg as select id, k from src.a;; merge into local.{out} t using local.src.i s on t.id = s.id when matched then update set k = s.k when not matched then insert (id, k) values (s.id, s.k)",
    "iceberg_delete": "create table local.{out} using iceberg as select id, k from src.a;; delete from local.{out} where id in (select id from local.src.i)",
    "iceberg_update": "create table local.{out} using iceberg as select id, k from src.a;; update local.{out} set k = 'z' where id = 1",
}
HUDI: Final = {
    "hudi_changes": "{made} select id, k from hudi_table_changes('{dir}/hudi_mor', 'latest_state', 'earliest')",
    "hudi_timeline": "{made} select action from hudi_query_timeline('{dir}/hudi_mor', 'true')",
    "hudi_file_view": "{made} select file_id from hudi_filesystem_view('{dir}/hudi_mor')",
    "hudi_metadata": "{made} select key from hudi_metadata('{dir}/hudi_mor')",
}
_SETUP: Final = (
    "create database src", "create database out",
    "create table src.a(id int, k string, v int, at timestamp) using parquet",
    "create table src.b(id int, k string, w int) using parquet",
    "create table src.h(id int, k string) stored as orc",
    "create table src.st(id int, m map<string,int>, l array<int>) using parquet",
    "insert into src.a values (1, 'x', 2, timestamp'2024-01-01 00:00:00'), (2, 'y', 3, timestamp'2024-01-01 00:10:00')",
    "insert into src.b values (1, 'x', 2)", "insert into src.h values (1, 'x')",
)  # fmt: skip


_CATALOGS: Final = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension,"
    "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions,org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.catalog.local": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.local.type": "hadoop",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
}


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("directory", type=Path)
    arguments.add_argument("--formats", type=Path, metavar="JARS")
    arguments.add_argument("--keep", type=Path, metavar="LOG")
    given = arguments.parse_args()
    if given.keep:
        _keep(given)
        return
    shutil.rmtree(given.directory, ignore_errors=True)
    (given.directory / "logs").mkdir(parents=True)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    _run(given.directory.resolve(), given.formats)


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
        settings |= _CATALOGS | {
            "spark.jars": ",".join(map(str, sorted(jars.glob("*.jar")))),
            "spark.sql.catalog.local.warehouse": str(directory / "local"),
        }
    builder = SparkSession.builder.master("local[1]").appName("every node")
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _run(directory: Path, jars: Path | None) -> None:
    spark = _session(directory, jars)
    spark.sparkContext.setLogLevel("OFF")
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
        _formats(spark, directory, case, statements)
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
    spark.stop()


def _formats(spark: Any, directory: Path, case: Callable[..., None], statements: Callable[..., None]) -> None:
    spark.sql(
        "create table src.d (id int, k string, v int) using delta tblproperties ('delta.enableChangeDataFeed' = 'true')"
    )
    for statement in ("insert into src.d select id, k, v from src.a", "update src.d set v = 9 where id = 1"):
        spark.sql(statement)
    spark.sql("create table local.src.i using iceberg as select id, k, v from src.a")
    a = spark.table("src.a").select("id", "k", "v")

    def hudi(kind: str, rows: Any) -> None:
        options = {"recordkey.field": "id", "precombine.field": "v", "table.type": kind}
        writer = rows.write.format("hudi").option("hoodie.table.name", "t").mode("append")
        for key, value in options.items():
            writer = writer.option(f"hoodie.datasource.write.{key}", value)
        writer.save(f"{directory}/hudi_{'mor' if kind.startswith('MERGE') else 'cow'}")

    def read(name: str, kind: str, **options: str) -> None:
        reader = spark.read.format("hudi")
        for key, value in options.items():
            reader = reader.option(f"hoodie.datasource.{key.replace('_', '.')}", value)
        reader.load(f"{directory}/hudi_{kind}").select("id", "k").write.parquet(f"{directory}/{name}")

    for kind in ("MERGE_ON_READ", "COPY_ON_WRITE"):
        case(f"hudi_save_{kind}", partial(hudi, kind, a))
        case(f"hudi_save_again_{kind}", partial(hudi, kind, a.selectExpr("id", "k", "v + 1 v")))
    for kind in ("mor", "cow"):
        past = {"query_type": "incremental", "read_begin_instanttime": "000"}
        case(f"hudi_snapshot_{kind}", partial(read, f"hudi_snapshot_{kind}", kind))
        case(f"hudi_incremental_{kind}", partial(read, f"hudi_incremental_{kind}", kind, **past))
        case(
            f"hudi_optimized_{kind}",
            partial(read, f"hudi_optimized_{kind}", kind, query_type="read_optimized"),
        )
    statements(HUDI | DELTA | ICEBERG)
    for mode in ("extended", "cost"):
        spark.conf.set("spark.sql.ui.explainMode", mode)
        statements({f"{mode}_{name}": text for name, text in ICEBERG.items()})
    spark.stop()


def _all(spark: Any, statements: str) -> None:
    for each in statements.split(";; "):
        spark.sql(each)


def _save(frame: Callable[[], Any], name: str) -> None:
    frame().write.saveAsTable(f"out.{name}")


def _frames(spark: Any) -> dict[str, Callable[[], Any]]:
    """Programs that save a frame as a table."""
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
        # Rows that the driver held.
        "driver_pandas": held,
        "driver_arrow": lambda: spark.createDataFrame(a.select("id", "k").toArrow()),
        "driver_alias": lambda: held().alias("p").select("p.id"),
        "driver_join": lambda: a.select("id", "v").join(held(), "id"),
        "driver_transpose": lambda: a.select("k", "id", "v").transpose(),
        "driver_cached": lambda: held().cache(),
    }  # fmt: skip


def _programs(spark: Any, directory: Path) -> dict[str, Callable[[], object]]:
    """Other programs. The last one makes a temporary view of rows that the driver held."""
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


_KEPT: Final = ("SparkListenerLogStart", "SparkListenerApplicationStart", "SparkListenerApplicationEnd")


def _small(log: Path) -> Iterator[dict[str, Any]]:
    events = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    failed = {each["executionId"] for each in events if each.get("errorMessage")}
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
