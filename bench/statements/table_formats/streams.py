"""Streams from and to tables, in Delta or Iceberg depending on the part."""
# ruff: noqa: S608

from __future__ import annotations

from typing import TYPE_CHECKING

from bench._referee_frames import frame, table_format

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@frame
def stream_between_tables(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    v = orders.amount
    * ~ orders.qty
    """
    frame = spark.readStream.table("orders").where("qty > 1").selectExpr("id", "amount AS v")
    spark.sql(f"CREATE TABLE {out} (id INT, v DOUBLE) USING {table_format(spark)}")
    writer = frame.writeStream.format(table_format(spark)).option(
        "checkpointLocation", f"{files}/state/{out}"
    )
    writer.trigger(availableNow=True).toTable(out).awaitTermination()


@frame
def stream_makes_table(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    v = orders.amount
    """
    frame = spark.readStream.table("orders").selectExpr("id", "amount AS v")
    writer = frame.writeStream.format(table_format(spark)).option(
        "checkpointLocation", f"{files}/state/{out}"
    )
    writer.trigger(availableNow=True).toTable(out).awaitTermination()


@frame
def stream_from_files(spark: SparkSession, out: str, files: str) -> None:
    """
    -> <files/{name}_in>
    id == orders
    v = orders.qty
    -> {out}
    id = <files/{name}_in>.id
    w = <files/{name}_in>.v
    """
    place = f"{files}/files/{out.rpartition('.')[2]}_in"
    spark.table("orders").selectExpr("id", "qty AS v").write.parquet(place)
    frame = spark.readStream.schema("id int, v int").parquet(place).selectExpr("id", "v AS w")
    spark.sql(f"CREATE TABLE {out} (id INT, w INT) USING {table_format(spark)}")
    writer = frame.writeStream.format(table_format(spark)).option(
        "checkpointLocation", f"{files}/state/{out}"
    )
    writer.trigger(availableNow=True).toTable(out).awaitTermination()


@frame
def stream_to_files(spark: SparkSession, out: str, files: str) -> None:
    """
    -> <files/{name}_out>
    id == orders
    v = orders.amount
    """
    frame = spark.readStream.table("orders").selectExpr("id", "amount AS v")
    writer = frame.writeStream.format("parquet").option("checkpointLocation", f"{files}/state/{out}")
    place = f"{files}/files/{out.rpartition('.')[2]}_out"
    writer.trigger(availableNow=True).start(place).awaitTermination()


@frame
def stream_of_aggregate(spark: SparkSession, out: str, files: str) -> None:
    """
    region == orders
    n =
    total = orders.amount
    n, total ~ orders.region
    """
    frame = spark.readStream.table("orders").groupBy("region")
    chosen = frame.agg({"amount": "sum", "*": "count"}).selectExpr(
        "region", "`count(1)` AS n", "`sum(amount)` AS total"
    )
    spark.sql(f"CREATE TABLE {out} (region STRING, n BIGINT, total DOUBLE) USING {table_format(spark)}")
    writer = chosen.writeStream.format(table_format(spark)).option(
        "checkpointLocation", f"{files}/state/{out}"
    )
    writer.outputMode("complete").trigger(availableNow=True).toTable(out).awaitTermination()


@frame
def batches_appended(spark: SparkSession, out: str, files: str) -> None:
    """
    # Each batch is written by the program's own function.
    id == orders
    w = orders.qty
    """

    def write(batch: DataFrame, number: int) -> None:
        batch.selectExpr("id", "qty AS w").write.format(form).mode("append").saveAsTable(out)

    form = table_format(spark)
    writer = spark.readStream.table("orders").writeStream.option("checkpointLocation", f"{files}/state/{out}")
    writer.trigger(availableNow=True).foreachBatch(write).start().awaitTermination()


@frame
def batches_merged(spark: SparkSession, out: str, files: str) -> None:
    """
    id == changes
    v = changes.amount
    * ~ (changes.id), ({out}.id)
    """

    def write(batch: DataFrame, number: int) -> None:
        batch.createOrReplaceTempView("batch_of_changes")
        batch.sparkSession.sql(
            f"MERGE INTO {out} t USING batch_of_changes s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET v = s.amount WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.amount)"
        )

    spark.sql(f"CREATE TABLE {out} (id INT, v DOUBLE) USING {table_format(spark)}")
    spark.sql(f"INSERT INTO {out} VALUES (1, 1D), (4, 2D)")
    writer = spark.readStream.table("changes").writeStream.option(
        "checkpointLocation", f"{files}/state/{out}"
    )
    writer.trigger(availableNow=True).foreachBatch(write).start().awaitTermination()
