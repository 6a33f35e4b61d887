"""Real event logs: a job that Spark runs and logs, in each of Spark's codecs.

As a program (``python -m tests.services.spark_jobs FOLDER``) it runs the job twice over the same data: once with
Spark's defaults (a rolling log, zstandard) and once with a single plain log. Spark's own codecs then rewrite the
plain log. FOLDER then contains ``default/``, ``plain/`` and ``codecs/<codec>/``, each a directory of event logs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

APPLICATION = "nightly orders"
CODECS = ("lz4", "snappy", "lzf", "zstd")


def write_logs(folder: Path) -> None:
    """Run the job in its own process. Its logs are in ``folder``."""
    environment = os.environ | {
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        # The process runs for seconds, so optimizing JIT compilation does not pay off.
        "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.services.spark_jobs", str(folder)],
        cwd=Path(__file__).parents[2],
        env=environment,
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"the Spark job ended with {done.returncode}:\n{done.stderr[-4000:]}")


def _run(folder: Path, log: Path, settings: dict[str, str]) -> None:
    from pyspark.sql import SparkSession

    log.mkdir(parents=True)
    shutil.rmtree(folder / "warehouse", ignore_errors=True)
    builder = SparkSession.builder.master("local[2]").appName(APPLICATION)
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file://{log}",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.shuffle.partitions": "2",
        **settings,
    }.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    try:
        _job(session, folder)
    finally:
        session.stop()


def _job(session, folder: Path) -> None:  # type: ignore[no-untyped-def]  # only the child process imports pyspark
    def to(path: str) -> str:
        return f"{folder}/data/{path}"

    sql = session.sql
    sql("create database sales")
    orders = session.range(100).selectExpr("id", "id % 7 as region", "cast(id * 2 as int) as amount")
    orders.write.mode("overwrite").parquet(to("landing/orders"))
    sql("create table sales.orders(id bigint, region bigint, amount int) using parquet")
    session.read.parquet(to("landing/orders")).write.insertInto("sales.orders")
    # The name contains text that looks like an operator's block.
    regions = session.range(7).selectExpr(
        "id as region", "concat('r', id, '\n\n(3) Scan parquet spark_catalog.x.y') as name"
    )
    regions.write.mode("overwrite").saveAsTable("sales.regions")
    sql(
        "create table sales.by_region using parquet as select r.name, sum(o.amount) as total"
        " from sales.orders o join sales.regions r on o.region = r.region where o.amount > 3 group by r.name"
    )
    sql("create table sales.daily(id bigint, amount int, ds string) using parquet partitioned by (ds)")
    sql("insert overwrite table sales.daily partition(ds = '2026-01-01') select id, amount from sales.orders")
    sql("create or replace view sales.big as select name, total from sales.by_region where total > 3")
    sql("select * from sales.big").write.mode("overwrite").csv(to("out/big"))
    # Spark infers the columns in two separate executions, which list the files.
    session.read.csv(to("out/big"), inferSchema=True).write.mode("overwrite").parquet(to("out/typed"))
    cached = session.table("sales.orders").where("amount > 5").cache()
    cached.groupBy("region").count().write.mode("overwrite").orc(to("out/cached"))
    cached.unpersist()
    session.table("sales.daily").where("ds = '2026-01-01'").write.mode("overwrite").partitionBy("ds").json(
        to("out/daily")
    )
    session.read.json(to("out/daily/ds=2026-01-01")).collect()
    session.sparkContext.setJobDescription("merge of both ends")
    sql(
        "from sales.orders insert overwrite table sales.daily partition(ds = 'a') select id, amount"
        " insert into sales.orders select * where id < 3"
    )
    session.sparkContext.setJobDescription(None)
    try:
        sql("create table sales.broken using parquet as select raise_error('no') as x from sales.orders")
    except Exception as error:  # the type of Spark's exception depends on the phase
        if "no" not in str(error):
            raise
    else:
        raise RuntimeError("the statement that must fail did not")


def _rewrite(session, plain: Path, target: Path, codec: str) -> None:  # type: ignore[no-untyped-def]
    """Rewrite a log with Spark's codec, in the same way as Spark writes event logs."""
    jvm, conf = session._jvm, session.sparkContext._jsc.sc().conf()
    target.parent.mkdir(parents=True)
    made = jvm.org.apache.spark.io.CompressionCodec.createCodec(conf, codec)
    stream = made.compressedContinuousOutputStream(jvm.java.io.FileOutputStream(str(target)))
    jvm.java.nio.file.Files.copy(jvm.java.io.File(str(plain)).toPath(), stream)
    stream.close()


def main(folder: Path) -> None:
    from pyspark.sql import SparkSession

    _run(folder, folder / "default", {})
    _run(
        folder,
        folder / "plain",
        {"spark.eventLog.rolling.enabled": "false", "spark.eventLog.compress": "false"},
    )
    session = SparkSession.builder.master("local[1]").config("spark.eventLog.enabled", "false").getOrCreate()
    [plain] = [path for path in (folder / "plain").iterdir() if not path.name.startswith(".")]
    for codec in CODECS:
        _rewrite(session, plain, folder / "codecs" / codec / f"{plain.name}.{codec}", codec)
    session.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
