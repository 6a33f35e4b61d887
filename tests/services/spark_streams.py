"""Real event logs of streaming queries, with every source and sink of Spark that needs no external server.

As a program (``python -m tests.services.spark_streams FOLDER``) it runs the named queries one after the other.
FOLDER then contains ``logs/`` (the event logs), ``data/`` (the inputs and outputs of the queries) and
``warehouse/`` (the tables).
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

APPLICATION = "clicks"
SCHEMA = "id bigint, region bigint, amount int"


def write_logs(folder: Path) -> Path:
    """Run the queries in their own process. Return the directory of the logs."""
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.services.spark_streams", str(folder)],
        cwd=Path(__file__).parents[2],
        env=environment,
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"the streams ended with {done.returncode}:\n{done.stderr[-4000:]}")
    return folder / "logs"


class Queries:
    """Queries over a small estate: files of orders in one directory, the same files by region, and two tables."""

    def __init__(self, session: Any, folder: Path) -> None:
        self.session = session
        self.folder = folder
        orders = session.range(10).selectExpr("id", "id % 3 as region", "cast(id * 2 as int) as amount")
        orders.write.parquet(self.to("orders"))
        orders.write.partitionBy("region").json(self.to("byregion"))
        session.sql("create database d")
        session.sql(f"create table d.t({SCHEMA}) using parquet")
        orders.write.insertInto("d.t")
        session.sql("create table d.names(region bigint, name string) using parquet")
        session.sql("insert into d.names values (0, 'a'), (1, 'b'), (2, 'c')")
        session.sql("create table d.log(key bigint, more int) using parquet")

    def to(self, path: str) -> str:
        return f"{self.folder}/data/{path}"

    def orders(self) -> Any:
        return self.session.readStream.schema(SCHEMA).parquet(self.to("orders"))

    def run(self, name: str, frame: Any, sink: str = "parquet", mode: str = "append", **made: Any) -> None:
        """Run a query until it has consumed all its input."""
        writer = self._writer(name, frame, mode)
        if "each" in made:
            writer = writer.foreach(made["each"])
        elif "batch" in made:
            writer = writer.foreachBatch(made["batch"])
        else:
            writer = writer.format(sink)
            if sink not in ("memory", "console", "noop"):
                writer = writer.option("path", self.to(f"out_{name}"))
        writer = writer.trigger(availableNow=True)
        query = writer.toTable(made["table"]) if "table" in made else writer.start()
        query.awaitTermination(60)

    def watch(self, name: str, frame: Any) -> None:
        """Run a query until it has received some rows."""
        query = self._writer(name, frame, "append").format("parquet").start(self.to(f"out_{name}"))
        for _ in range(300):
            if any(each["numInputRows"] for each in query.recentProgress):
                break
            time.sleep(0.1)
        query.stop()

    def _writer(self, name: str, frame: Any, mode: str) -> Any:
        checkpoint = self.to(f"checkpoint_{name}")
        return frame.writeStream.queryName(name).outputMode(mode).option("checkpointLocation", checkpoint)


def run_all(queries: Queries) -> None:
    """Run every query, under the name that the tests use."""
    session, orders, run = queries.session, queries.orders, queries.run
    # Sources
    run("file", orders().selectExpr("id", "amount * 2 as double"))
    run("partitioned", session.readStream.schema(SCHEMA).json(queries.to("byregion")))
    run("pattern", session.readStream.schema("id bigint").json(queries.to("byregion/*")))
    run("table", session.readStream.table("d.t").where("amount > 3").select("id"))
    queries.watch("rate", session.readStream.format("rate").load().select("value"))
    queries.watch("rate_micro_batch", _micro_batches(session))
    with _lines() as port:
        lines = session.readStream.format("socket").option("host", "127.0.0.1").option("port", port)
        queries.watch("socket", lines.load())
    run(
        "static_path",
        orders().join(session.read.json(queries.to("byregion")).select("id"), "id").select("id"),
    )
    run("static_table", orders().join(session.table("d.names"), "region").select("id", "name"))
    run("two_sources", orders().select("id").union(session.readStream.table("d.t").select("region")))
    # Stateful
    run("counted", orders().groupBy("region").count(), "memory", "complete")
    run("windowed", _windowed(orders()))
    run("distinct", orders().dropDuplicates(["region"]))
    run("joined", _joined(orders(), orders()))
    # Sinks
    run("csv_by_region", orders(), "csv")
    run("orc", orders().select("id"), "orc")
    run("text", orders().selectExpr("cast(id as string) as line"), "text")
    run("console", orders(), "console")
    run("noop", orders(), "noop")
    run("each", orders(), each=lambda row: None)
    run("to_table", orders().selectExpr("id as i"), table="d.made")
    run("batches", orders().selectExpr("id", "amount + 1 as more"), batch=_write_twice(queries))
    run("batches_sql", orders(), batch=_insert)
    run("batches_only_looked_at", orders(), batch=lambda frame, number: frame.count())
    # Queries that fail
    _fail(lambda: run("failed", orders().selectExpr("raise_error('no') as x")))
    checkpoint = Path(queries.to("checkpoint_never_began"))
    (checkpoint / "offsets").mkdir(parents=True)
    (checkpoint / "metadata").write_text('{"id": "11111111-2222-3333-4444-555555555555"}')
    (checkpoint / "offsets" / "0").write_text('v1\n{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{}}\n?')
    _fail(lambda: run("never_began", orders()))
    # State stores
    state = session.read.format("statestore").load(queries.to("checkpoint_counted"))
    state.selectExpr("key.region as region").write.parquet(queries.to("out_state"))


def _micro_batches(session: Any) -> Any:
    return session.readStream.format("rate-micro-batch").option("rowsPerBatch", 3).load().select("value")


def _windowed(orders: Any) -> Any:
    from pyspark.sql import functions as F

    timed = orders.selectExpr("region", "timestamp_seconds(amount) as at").withWatermark("at", "1 second")
    return timed.groupBy(F.window("at", "2 seconds"), "region").count().selectExpr("window.start", "region")


def _joined(one: Any, other: Any) -> Any:
    from pyspark.sql import functions as F

    left = one.selectExpr("id", "timestamp_seconds(amount) as at").withWatermark("at", "1 hour")
    right = other.selectExpr("id as other", "region", "timestamp_seconds(amount) as at2")
    right = right.withWatermark("at2", "1 hour")
    return left.join(right, F.expr("id = other and at2 >= at and at2 <= at + interval 1 minute")).select(
        "id", "region"
    )


def _write_twice(queries: Queries) -> Any:
    def write(frame: Any, number: int) -> None:
        from pyspark.sql import functions as F

        frame.withColumn("batch", F.lit(number)).write.mode("append").parquet(queries.to("out_batches"))
        # A second statement in the same batch, with several executions and its own description.
        frame.sparkSession.sparkContext.setJobDescription("keys of the batch")
        frame.selectExpr("id as key").write.mode("append").saveAsTable("d.keys")

    return write


def _insert(frame: Any, number: int) -> None:
    frame.createOrReplaceTempView("batch")
    frame.sparkSession.sql(
        "insert into d.log select b.id, b.amount from batch b join d.names n on b.region = n.region"
    )


def _fail(run: Any) -> None:
    from pyspark.errors import PySparkException

    try:
        run()
    except PySparkException:
        return
    raise RuntimeError("the query that must fail did not")


@contextmanager
def _lines() -> Iterator[int]:
    """Listen on a port that sends two lines to each client, and yield the port."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(1)
        over = threading.Event()

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"a\nb\n")
                over.wait(60)

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        over.set()


def main(folder: Path) -> None:
    from pyspark.sql import SparkSession

    (folder / "logs").mkdir(parents=True)
    builder = SparkSession.builder.master("local[1]").appName(APPLICATION)
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file://{folder}/logs",
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.shuffle.partitions": "1",
    }.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    try:
        run_all(Queries(session, folder))
    finally:
        session.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
