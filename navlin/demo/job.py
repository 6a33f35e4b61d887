"""The demo's Spark job, an ordinary one without any agent: ``python -m navlin.demo.job METASTORE WAREHOUSE EVENTS EXPORTS``.

A join, a CTAS, an aggregate into an existing table, a view, and a write to a path that another statement reads.
"""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession

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


def main(metastore: str, warehouse: str, events: str, exports: str) -> None:
    """Runs the job; its event log is in the directory ``events`` afterwards."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    spark = (
        SparkSession.builder.master("local[2]")
        .appName("nightly revenue")
        .config("spark.eventLog.enabled", "true")
        .config("spark.eventLog.dir", f"file:{events}")
        .config("spark.sql.warehouse.dir", f"file:{warehouse}")
        .config("spark.hadoop.hive.metastore.uris", metastore)
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.log.level", "ERROR")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .enableHiveSupport()
        .getOrCreate()
    )
    for statement in STATEMENTS:
        spark.sql(statement)
    spark.table("shop.revenue").where("revenue > 10").write.mode("overwrite").csv(
        f"file:{exports}/revenue", header=True
    )
    (
        spark.read.csv(f"file:{exports}/revenue", header=True)
        .write.mode("overwrite")
        .saveAsTable("shop.revenue_check")
    )
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
