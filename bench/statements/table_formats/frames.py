"""DataFrame programs that write tables, in Delta or Iceberg depending on the part."""
# ruff: noqa: S608

from __future__ import annotations

from typing import TYPE_CHECKING

from bench._referee_frames import frame, table_format

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# -- The older writer -----------------------------------------------------------------------------------------------------


@frame
def save_as_table(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    v = orders.amount
    """
    spark.table("orders").selectExpr("id", "amount AS v").write.format(table_format(spark)).saveAsTable(out)


@frame
def save_as_table_appending(spark: SparkSession, out: str, files: str) -> None:
    """
    # By name.
    a = orders.id
    b = orders.qty
    """
    form = table_format(spark)
    spark.sql(f"CREATE TABLE {out} (a INT, b INT) USING {form}")
    frame = spark.table("orders").selectExpr("qty AS b", "id AS a")
    frame.write.format(form).mode("append").saveAsTable(out)


@frame
def save_as_table_overwriting(spark: SparkSession, out: str, files: str) -> None:
    """
    # Both are written, the second in place of the first.
    id = orders.id, customers.id
    v = orders.amount
    name == customers
    """
    form = table_format(spark)
    spark.table("orders").selectExpr("id", "amount AS v").write.format(form).saveAsTable(out)
    writer = spark.table("customers").select("id", "name").write.format(form)
    writer.mode("overwrite").option("overwriteSchema", "true").saveAsTable(out)


@frame
def save_as_table_partitioned(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    region == orders
    """
    writer = spark.table("orders").select("id", "region").write.format(table_format(spark))
    writer.partitionBy("region").mode("overwrite").saveAsTable(out)


@frame
def insert_into(spark: SparkSession, out: str, files: str) -> None:
    """
    # By position, whatever the frame's names.
    a = orders.qty
    b = orders.id
    """
    spark.sql(f"CREATE TABLE {out} (a INT, b INT) USING {table_format(spark)}")
    spark.table("orders").selectExpr("qty AS b", "id AS a").write.insertInto(out)


@frame
def insert_into_overwriting(spark: SparkSession, out: str, files: str) -> None:
    """
    a = orders.qty
    b = orders.id
    """
    spark.sql(f"CREATE TABLE {out} (a INT, b INT) USING {table_format(spark)}")
    spark.table("orders").selectExpr("qty AS b", "id AS a").write.insertInto(out, overwrite=True)


# -- The newer writer -----------------------------------------------------------------------------------------------------


@frame
def write_to_create(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    v = orders.amount
    """
    spark.table("orders").selectExpr("id", "amount AS v").writeTo(out).using(table_format(spark)).create()


@frame
def write_to_create_partitioned(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    region == orders
    """
    from pyspark.sql.functions import col

    writer = spark.table("orders").select("id", "region").writeTo(out).using(table_format(spark))
    writer.partitionedBy(col("region")).create()


@frame
def write_to_append(spark: SparkSession, out: str, files: str) -> None:
    """
    # By name.
    a = orders.id
    b = orders.qty
    """
    spark.sql(f"CREATE TABLE {out} (a INT, b INT) USING {table_format(spark)}")
    spark.table("orders").selectExpr("qty AS b", "id AS a").writeTo(out).append()


@frame
def write_to_overwrite(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    region == orders
    * ~ orders.region
    """
    from pyspark.sql.functions import col

    spark.sql(
        f"CREATE TABLE {out} (id INT, region STRING) USING {table_format(spark)} PARTITIONED BY (region)"
    )
    frame = spark.table("orders").where("region = 'north'").select("id", "region")
    frame.writeTo(out).overwrite(col("region") == "north")


@frame
def write_to_overwrite_partitions(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    region == orders
    """
    spark.sql(
        f"CREATE TABLE {out} (id INT, region STRING) USING {table_format(spark)} PARTITIONED BY (region)"
    )
    spark.table("orders").select("id", "region").writeTo(out).overwritePartitions()


@frame
def write_to_create_or_replace(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    v = orders.amount
    """
    frame = spark.table("orders").selectExpr("id", "amount AS v")
    frame.writeTo(out).using(table_format(spark)).createOrReplace()


@frame
def write_to_replace(spark: SparkSession, out: str, files: str) -> None:
    """
    name == customers
    """
    form = table_format(spark)
    spark.sql(f"CREATE TABLE {out} (a INT) USING {form}")
    spark.table("customers").select("name").writeTo(out).using(form).replace()


@frame
def merge_into(spark: SparkSession, out: str, files: str) -> None:
    """
    @ delta-4 iceberg-1.12
    id = changes.id
    v = changes.amount
    * ~ (changes.id), ({out}.id)
    """
    from pyspark.sql.functions import col

    spark.sql(f"CREATE TABLE {out} (id INT, v DOUBLE) USING {table_format(spark)}")
    spark.sql(f"INSERT INTO {out} VALUES (1, 1D), (4, 2D)")
    source = spark.table("changes").selectExpr("id", "amount AS v").alias("s")
    merge = source.mergeInto(out, col("s.id") == col(f"{out}.id"))
    merge.whenMatched().updateAll().whenNotMatched().insertAll().merge()


# -- Reads -----------------------------------------------------------------------------------------------------------------


@frame
def cached_frame(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    v = orders.amount, orders.qty
    * ~ orders.qty
    """
    kept = spark.table("orders").selectExpr("id", "amount * qty AS v", "qty").cache()
    kept.count()
    kept.where("qty > 1").select("id", "v").write.format(table_format(spark)).saveAsTable(out)
    kept.unpersist()


@frame
def cached_frame_joined_to_itself(spark: SparkSession, out: str, files: str) -> None:
    """
    id = orders.id
    v = orders.amount
    w = orders.note
    * ~ orders.id, orders.cust
    """
    from pyspark.sql.functions import col

    kept = spark.table("orders").select("id", "cust", "amount", "note").cache()
    pairs = kept.alias("a").join(kept.alias("b"), col("a.id") == col("b.cust"))
    chosen = pairs.select(col("a.id").alias("id"), col("a.amount").alias("v"), col("b.note").alias("w"))
    chosen.write.format(table_format(spark)).saveAsTable(out)
    kept.unpersist()


@frame
def cached_wide(spark: SparkSession, out: str, files: str) -> None:
    """
    c{1..60} == wide
    """
    kept = spark.table("wide").cache()
    kept.write.format(table_format(spark)).saveAsTable(out)
    kept.unpersist()


@frame
def wide_frame_of_expressions(spark: SparkSession, out: str, files: str) -> None:
    """
    d{1..59} = wide.c{@+0}, wide.c{@+1}
    """
    frame = spark.table("wide").selectExpr(*(f"c{n} + c{n + 1} AS d{n}" for n in range(1, 60)))
    frame.writeTo(out).using(table_format(spark)).create()


@frame
def from_file(spark: SparkSession, out: str, files: str) -> None:
    """
    -> <files/{name}_csv>
    id == orders
    note == orders
    -> {out}
    id = <files/{name}_csv>.id
    loud = <files/{name}_csv>.note
    """
    place = f"{files}/files/{out.rpartition('.')[2]}_csv"
    spark.table("orders").select("id", "note").write.csv(place, header=True)
    read = spark.read.csv(place, header=True, schema="id int, note string")
    read.selectExpr("id", "upper(note) AS loud").write.format(table_format(spark)).saveAsTable(out)


@frame
def python_function(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    v = orders.note, orders.qty
    """
    from pyspark.sql.functions import udf

    joined = udf(lambda note, qty: f"{note}{qty}", "string")
    frame = spark.table("orders")
    chosen = frame.select("id", joined(frame.note, frame.qty).alias("v"))
    chosen.write.format(table_format(spark)).saveAsTable(out)


@frame
def chain(spark: SparkSession, out: str, files: str) -> None:
    """
    # One table, one name, whoever writes and reads it.
    -> {out_a}
    id == orders
    v = orders.amount
    -> {out_b}
    id = {out_a}.id
    w = {out_a}.v
    -> {out_c}
    key = {out_b}.id
    w = {out_b}.w
    -> {out_d}
    key = {out_c}.key
    w = {out_c}.w
    -> {out}
    last = {out_d}.w
    """
    form = table_format(spark)
    spark.table("orders").selectExpr("id", "amount AS v").write.format(form).saveAsTable(f"{out}_a")
    spark.sql(f"CREATE TABLE {out}_b USING {form} AS SELECT id, v + 1 AS w FROM {out}_a")
    spark.table(f"{out}_b").selectExpr("id AS key", "w").writeTo(f"{out}_c").using(form).create()
    spark.sql(f"CREATE TABLE {out}_d (key INT, w DOUBLE) USING {form}")
    spark.read.table(f"{out}_c").write.mode("append").insertInto(f"{out}_d")
    spark.sql(f"CREATE OR REPLACE TABLE {out} USING {form} AS SELECT w AS last FROM {out}_d")
