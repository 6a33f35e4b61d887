"""DataFrame programs for Iceberg's features: options, branches, paths, partition transforms, streams."""
# ruff: noqa: S608

from __future__ import annotations

from typing import TYPE_CHECKING

from bench._referee_frames import frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@frame
def partitioned_by_transforms(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    day == orders
    """
    from pyspark.sql.functions import bucket, months

    writer = spark.table("orders").select("id", "day").writeTo(out).using("iceberg")
    writer.partitionedBy(months("day"), bucket(4, "id")).tableProperty("format-version", "2").create()


@frame
def save_by_name(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    v = orders.amount
    """
    spark.sql(f"CREATE TABLE {out} (id INT, v DOUBLE) USING iceberg")
    frame = spark.table("orders").selectExpr("id", "amount AS v")
    frame.write.format("iceberg").mode("append").save(out)


@frame
def save_by_name_overwriting(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    """
    spark.sql(f"CREATE TABLE {out} (id INT) USING iceberg")
    spark.table("orders").select("id").write.format("iceberg").mode("overwrite").save(out)


@frame
def load_by_name(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    v = orders.amount
    """
    read = spark.read.format("iceberg").load("local.src.orders")
    read.selectExpr("id", "amount AS v").write.format("iceberg").saveAsTable(out)


@frame
def load_by_path(spark: SparkSession, out: str, files: str) -> None:
    """
    # The table's own place: no name of a table is in the program.
    id = <local/src/orders>.id
    v = <local/src/orders>.amount
    """
    read = spark.read.format("iceberg").load(f"{files}/local/src/orders")
    read.selectExpr("id", "amount AS v").write.format("iceberg").saveAsTable(out)


@frame
def save_by_path(spark: SparkSession, out: str, files: str) -> None:
    """
    # The table's own place: no name of a table is in the program.
    -> <local/out/{name}>
    id == orders
    """
    spark.sql(f"CREATE TABLE {out} (id INT) USING iceberg")
    place = f"{files}/local/out/{out.rpartition('.')[2]}"
    spark.table("orders").select("id").write.format("iceberg").mode("append").save(place)


@frame
def load_snapshot(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    -> {out_b}
    id = {out}.id
    -> {out_c}
    id = {out}.id
    -> {out_d}
    id = {out}.id
    """
    spark.sql(f"CREATE TABLE {out} USING iceberg AS SELECT id FROM orders")
    spark.sql(f"INSERT INTO {out} VALUES (7)")
    first, last = (
        each[0]
        for each in spark.sql(f"SELECT snapshot_id FROM {out}.snapshots ORDER BY committed_at").collect()
    )
    old = spark.read.format("iceberg").option("versionAsOf", first).load(out)
    old.writeTo(f"{out}_b").using("iceberg").create()
    added = spark.read.format("iceberg").option("start-snapshot-id", first).option("end-snapshot-id", last)
    added.load(out).writeTo(f"{out}_c").using("iceberg").create()
    spark.sql(f"CREATE TABLE {out}_d USING iceberg AS SELECT id FROM {out} VERSION AS OF {first}")


@frame
def save_to_branch(spark: SparkSession, out: str, files: str) -> None:
    """
    id = orders.id, customers.id
    -> {out_b}
    id = {out}.id
    """
    spark.sql(f"CREATE TABLE {out} USING iceberg AS SELECT id FROM orders")
    spark.sql(f"ALTER TABLE {out} CREATE BRANCH audit")
    spark.table("customers").select("id").writeTo(f"{out}.branch_audit").append()
    read = spark.read.format("iceberg").option("branch", "audit").load(out)
    read.writeTo(f"{out}_b").using("iceberg").create()


@frame
def published_after_audit(spark: SparkSession, out: str, files: str) -> None:
    """
    # Written aside and published: the table is written once.
    id == orders
    """
    spark.sql(f"CREATE TABLE {out} (id INT) USING iceberg TBLPROPERTIES ('write.wap.enabled' = 'true')")
    spark.conf.set("spark.wap.id", "audit-1")
    try:
        spark.table("orders").select("id").writeTo(out).append()
    finally:
        spark.conf.unset("spark.wap.id")
    spark.sql(f"CALL local.system.publish_changes('{out.removeprefix('local.')}', 'audit-1')")


@frame
def merge_schema(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    note == orders
    """
    spark.sql(
        f"CREATE TABLE {out} (id INT) USING iceberg TBLPROPERTIES ('write.spark.accept-any-schema' = 'true')"
    )
    frame = spark.table("orders").select("id", "note")
    frame.writeTo(out).option("mergeSchema", "true").append()


@frame
def fanned_out(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    region == orders
    """
    spark.sql(f"CREATE TABLE {out} (id INT, region STRING) USING iceberg PARTITIONED BY (region)")
    writer = spark.table("orders").select("id", "region").writeTo(out)
    writer.option("fanout-enabled", "true").option("distribution-mode", "none").append()


@frame
def chain_over_catalogs(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    v = orders.qty
    -> lake.out.{name}
    w = {out}.v
    -> out.{name}
    w = lake.out.{name}.w
    -> {out_b}
    x = out.{name}.w
    """
    name = out.rpartition(".")[2]
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.out")
    spark.table("orders").selectExpr("id", "qty AS v").writeTo(out).using("iceberg").create()
    spark.table(out).selectExpr("v AS w").writeTo(f"lake.out.{name}").using("iceberg").create()
    spark.sql(f"CREATE TABLE spark_catalog.out.{name} USING iceberg AS SELECT w FROM lake.out.{name}")
    spark.table(f"spark_catalog.out.{name}").selectExpr("w AS x").write.format("iceberg").saveAsTable(
        f"{out}_b"
    )


@frame
def current_catalog(spark: SparkSession, out: str, files: str) -> None:
    """
    # The catalog's name stands nowhere in the statement.
    -> lake.out.{name}
    id == orders
    -> lake.out.{name}_b
    w = lake.out.{name}.id
    """
    name = out.rpartition(".")[2]
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.out")
    try:
        spark.sql("USE lake.out")
        spark.sql(f"CREATE TABLE {name} USING iceberg AS SELECT id FROM local.src.orders")
        spark.table(name).selectExpr("id AS w").write.format("iceberg").saveAsTable(f"{name}_b")
    finally:
        spark.sql("USE local.src")


@frame
def stream_by_name(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    v = orders.qty
    """
    spark.sql(f"CREATE TABLE {out} (id INT, v INT) USING iceberg")
    frame = spark.readStream.format("iceberg").load("local.src.orders").selectExpr("id", "qty AS v")
    writer = frame.writeStream.format("iceberg").option("checkpointLocation", f"{files}/state/{out}")
    writer.trigger(availableNow=True).option("fanout-enabled", "true").start(out).awaitTermination()


@frame
def stream_over_catalogs(spark: SparkSession, out: str, files: str) -> None:
    """
    -> out.{name}
    id == orders
    v = orders.qty
    """
    target = f"spark_catalog.out.{out.rpartition('.')[2]}"
    spark.sql(f"CREATE TABLE {target} (id INT, v INT) USING iceberg")
    frame = spark.readStream.table("local.src.orders").selectExpr("id", "qty AS v")
    writer = frame.writeStream.format("iceberg").option("checkpointLocation", f"{files}/state/{out}")
    writer.trigger(availableNow=True).toTable(target).awaitTermination()
