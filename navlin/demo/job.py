"""The Spark job of the demo, an ordinary job without any agent: ``python -m navlin.demo.job METASTORE HDFS``.

A join, a CTAS, an aggregate into an existing table, a view, and a write to a path that another statement reads.
"""

from __future__ import annotations

import os
import shlex
import sys

from pyspark.sql import SparkSession

from navlin.java import QUICK, pyspark_jars

STATEMENTS = (
    "CREATE DATABASE shop COMMENT 'what the demo sells'",
    "CREATE TABLE shop.customers (id INT, name STRING, country STRING) STORED AS PARQUET",
    "CREATE TABLE shop.orders (id INT, customer_id INT, amount DOUBLE, day STRING) STORED AS PARQUET",
    "CREATE TABLE shop.revenue (country STRING, revenue DOUBLE, orders BIGINT) STORED AS PARQUET",
    "CREATE TABLE shop.top_markets (country STRING, revenue DOUBLE) STORED AS PARQUET",
    "CREATE TABLE shop.board_report (country STRING, revenue DOUBLE, remark STRING) STORED AS PARQUET",
    "INSERT INTO shop.customers VALUES (1, 'Ada', 'UK'), (2, 'Emmy', 'DE'), (3, 'Grace', 'US')",
    "INSERT INTO shop.orders VALUES (10, 1, 20.0, '2026-01-01'), (11, 2, 35.5, '2026-01-01'), (12, 2, 4.5, '2026-01-02')",
    """
    CREATE TABLE shop.order_facts USING parquet AS
    SELECT o.id, o.amount, o.day, c.country FROM shop.orders o JOIN shop.customers c ON o.customer_id = c.id
    """,
    """
    INSERT OVERWRITE shop.revenue
    SELECT country, sum(amount), count(*) FROM shop.order_facts GROUP BY country
    """,
    "CREATE VIEW shop.big_orders AS SELECT id, amount, country FROM shop.order_facts WHERE amount > 30",
)


def main(metastore: str, hdfs: str) -> None:
    """Run the job on YARN. Event log, tables and the exported file are written to HDFS, temporary files to the current
    directory."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    quick = " ".join(QUICK)
    builder = SparkSession.builder.master("yarn").appName("nightly revenue")
    for key, value in {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"{hdfs}/spark-events",
        "spark.sql.warehouse.dir": f"{hdfs}/warehouse",
        "spark.hadoop.hive.metastore.uris": metastore,
        "spark.yarn.jars": f"local:{pyspark_jars()}/*",
        "spark.yarn.populateHadoopClasspath": "false",
        "spark.yarn.report.interval": "200ms",
        "spark.yarn.am.memory": "512m",
        "spark.driver.extraJavaOptions": f"{quick} {shlex.quote(f'-Djava.io.tmpdir={os.getcwd()}')}",
        # Otherwise PySpark resolves localhost, which not every host knows.
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.unix.domain.socket.dir": ".",
        "spark.yarn.am.extraJavaOptions": quick,
        "spark.executor.instances": "1",
        # The first statements need no executor; one starts in the meantime.
        "spark.scheduler.minRegisteredResourcesRatio": "0",
        "spark.executor.memory": "512m",
        "spark.executor.extraJavaOptions": quick,
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "1",
        "spark.log.level": "ERROR",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }.items():
        builder = builder.config(key, value)
    spark = builder.enableHiveSupport().getOrCreate()
    for statement in STATEMENTS:
        spark.sql(statement)
    exported = f"{hdfs}/exports/revenue"
    spark.table("shop.revenue").where("revenue > 10").write.mode("overwrite").csv(exported, header=True)
    spark.read.csv(exported, header=True).write.mode("overwrite").saveAsTable("shop.revenue_check")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
