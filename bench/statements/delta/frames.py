"""DataFrame programs for Delta's features: paths, options, and the class DeltaTable."""
# ruff: noqa: S608

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench._referee_frames import frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def _delta(spark: SparkSession, name: str) -> Any:
    # delta-spark is imported here, because navlin's own environment does not have the package.
    from importlib import import_module

    return import_module("delta.tables").DeltaTable.forName(spark, name)


# -- By path --------------------------------------------------------------------------------------------------------------


@frame
def save_to_path(spark: SparkSession, out: str, files: str) -> None:
    """
    -> <files/save_to_path>
    id == orders
    v = orders.amount
    """
    frame = spark.table("orders").selectExpr("id", "amount AS v")
    frame.write.format("delta").save(f"{files}/files/save_to_path")


@frame
def save_to_path_appending(spark: SparkSession, out: str, files: str) -> None:
    """
    -> <files/{name}>
    id = orders.id, customers.id
    """
    place = f"{files}/files/save_to_path_appending"
    spark.table("orders").select("id").write.format("delta").save(place)
    spark.table("customers").select("id").write.format("delta").mode("append").save(place)


@frame
def save_to_path_overwriting(spark: SparkSession, out: str, files: str) -> None:
    """
    -> <files/{name}>
    id == orders
    name == customers
    """
    place = f"{files}/files/save_to_path_overwriting"
    spark.table("orders").select("id").write.format("delta").save(place)
    writer = spark.table("customers").select("name").write.format("delta").mode("overwrite")
    writer.option("overwriteSchema", "true").save(place)


@frame
def save_partitioned_to_path(spark: SparkSession, out: str, files: str) -> None:
    """
    -> <files/{name}>
    id == orders
    region == orders
    -> {out}
    id = <files/{name}>.id
    region = <files/{name}>.region
    * ~ <files/{name}>.region
    """
    place = f"{files}/files/save_partitioned_to_path"
    spark.table("orders").select("id", "region").write.format("delta").partitionBy("region").save(place)
    spark.read.format("delta").load(place).where("region = 'north'").write.format("delta").saveAsTable(out)


@frame
def replace_where(spark: SparkSession, out: str, files: str) -> None:
    """
    -> <files/{name}>
    id = orders.id
    region == orders
    """
    place = f"{files}/files/replace_where"
    frame = spark.table("orders").select("id", "region")
    frame.write.format("delta").partitionBy("region").save(place)
    writer = frame.where("region = 'north'").write.format("delta").mode("overwrite")
    writer.option("replaceWhere", "region = 'north'").save(place)


@frame
def replace_where_of_table(spark: SparkSession, out: str, files: str) -> None:
    """
    id = orders.id
    region == orders
    """
    frame = spark.table("orders").select("id", "region")
    frame.write.format("delta").saveAsTable(out)
    writer = frame.where("region = 'north'").write.format("delta").mode("overwrite")
    writer.option("replaceWhere", "region = 'north'").saveAsTable(out)


@frame
def overwrite_partitions_by_option(spark: SparkSession, out: str, files: str) -> None:
    """
    id = orders.id
    region == orders
    """
    frame = spark.table("orders").select("id", "region")
    frame.write.format("delta").partitionBy("region").saveAsTable(out)
    writer = frame.write.format("delta").mode("overwrite")
    writer.option("partitionOverwriteMode", "dynamic").saveAsTable(out)


@frame
def merge_schema(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    note == orders
    """
    spark.table("orders").select("id").write.format("delta").saveAsTable(out)
    writer = spark.table("orders").select("id", "note").write.format("delta").mode("append")
    writer.option("mergeSchema", "true").saveAsTable(out)


@frame
def load_path(spark: SparkSession, out: str, files: str) -> None:
    """
    # By path here, by the name of a table nowhere.
    -> <files/{name}_a>
    id == orders
    v = orders.qty
    -> <files/{name}_b>
    w = <files/{name}_a>.v
    n = <files/{name}_a>.id
    """
    place = f"{files}/files/load_path"
    spark.table("orders").selectExpr("id", "qty AS v").write.format("delta").save(f"{place}_a")
    read = spark.read.format("delta").load(f"{place}_a")
    read.selectExpr("v AS w", "id AS n").write.format("delta").save(f"{place}_b")


@frame
def load_version(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    -> {out_b}
    id = {out}.id
    """
    spark.sql(f"CREATE TABLE {out} USING delta AS SELECT id FROM orders")
    spark.sql(f"INSERT INTO {out} VALUES (7)")
    old = spark.read.format("delta").option("versionAsOf", 0).table(out)
    old.write.format("delta").saveAsTable(f"{out}_b")


@frame
def timestamp_as_of(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    -> {out_b}
    id = {out}.id
    """
    spark.sql(f"CREATE TABLE {out} USING delta AS SELECT id FROM orders")
    spark.sql(f"INSERT INTO {out} VALUES (7)")
    last = spark.sql(f"DESCRIBE HISTORY {out}").selectExpr("CAST(max(timestamp) AS STRING)").collect()[0][0]
    spark.sql(f"CREATE TABLE {out}_b USING delta AS SELECT id FROM {out} TIMESTAMP AS OF '{last}'")


@frame
def load_change_feed(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    -> {out_b}
    id = {out}.id
    what = [{out}._change_type]
    """
    properties = "TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')"
    spark.sql(f"CREATE TABLE {out} USING delta {properties} AS SELECT id FROM orders")
    feed = spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", 0).table(out)
    feed.selectExpr("id", "_change_type AS what").write.format("delta").saveAsTable(f"{out}_b")


@frame
def history_read(spark: SparkSession, out: str, files: str) -> None:
    """
    # What it says of the table is no data of the table.
    version, operation =
    <- [orders]
    """
    spark.sql("DESCRIBE HISTORY orders").select("version", "operation").write.format("delta").saveAsTable(out)


@frame
def wide_to_path(spark: SparkSession, out: str, files: str) -> None:
    """
    -> <files/{name}>
    c{1..60} == wide
    """
    spark.table("wide").write.format("delta").save(f"{files}/files/wide_to_path")


# -- DeltaTable -------------------------------------------------------------------------------------------------------------


@frame
def merge_of_class(spark: SparkSession, out: str, files: str) -> None:
    """
    id == changes
    v = changes.amount, {out}.v
    * ~ (changes.id), ({out}.id), (changes.op)
    """
    spark.sql(f"CREATE TABLE {out} (id INT, v DOUBLE) USING delta")
    spark.sql(f"INSERT INTO {out} VALUES (1, 1D), (2, 2D)")
    merge = _delta(spark, out).alias("t").merge(spark.table("changes").alias("s"), "t.id = s.id")
    merge = merge.whenMatchedDelete("s.op = 'D'").whenMatchedUpdate(set={"v": "t.v + s.amount"})
    merge.whenNotMatchedInsert(values={"id": "s.id", "v": "s.amount"}).execute()


@frame
def merge_of_class_all(spark: SparkSession, out: str, files: str) -> None:
    """
    id = orders.id
    v = orders.amount, orders.qty
    * ~ (orders.id), ({out}.id)
    """
    spark.sql(f"CREATE TABLE {out} (id INT, v DOUBLE) USING delta")
    spark.sql(f"INSERT INTO {out} VALUES (1, 1D), (9, 2D)")
    source = spark.table("orders").selectExpr("id", "amount * qty AS v").cache()
    merge = _delta(spark, out).alias("t").merge(source.alias("s"), "t.id = s.id")
    merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    source.unpersist()


@frame
def merge_of_class_by_path(spark: SparkSession, out: str, files: str) -> None:
    """
    -> <files/{name}>
    id = orders.id, changes.id
    v = orders.amount, changes.amount
    * ~ (changes.id), (<files/{name}>.id)
    """
    from importlib import import_module

    place = f"{files}/files/merge_of_class_by_path"
    spark.table("orders").selectExpr("id", "amount AS v").write.format("delta").save(place)
    table = import_module("delta.tables").DeltaTable.forPath(spark, place)
    source = spark.table("changes").selectExpr("id", "amount AS v")
    merge = table.alias("t").merge(source.alias("s"), "t.id = s.id")
    merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()


@frame
def merge_of_class_with_new_columns(spark: SparkSession, out: str, files: str) -> None:
    """
    id == changes
    note == changes
    * ~ (changes.id), ({out}.id)
    """
    spark.sql(f"CREATE TABLE {out} (id INT) USING delta")
    spark.sql(f"INSERT INTO {out} VALUES (1), (9)")
    source = spark.table("changes").select("id", "note")
    merge = _delta(spark, out).alias("t").merge(source.alias("s"), "t.id = s.id").withSchemaEvolution()
    merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()


@frame
def merge_of_made_frame(spark: SparkSession, out: str, files: str) -> None:
    """
    # The source is not read from anywhere.
    id, v =
    """
    spark.sql(f"CREATE TABLE {out} (id INT, v STRING) USING delta")
    spark.sql(f"INSERT INTO {out} VALUES (1, 'a')")
    source = spark.createDataFrame([(1, "x"), (2, "y")], "id int, v string")
    merge = _delta(spark, out).alias("t").merge(source.alias("s"), "t.id = s.id")
    merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()


@frame
def merge_of_uncertain_source(spark: SparkSession, out: str, files: str) -> None:
    """
    # Delta keeps a copy of a source that may answer differently twice.
    id == orders
    v = orders.amount
    * ~ (orders.id), ({out}.id)
    """
    spark.sql(f"CREATE TABLE {out} (id INT, v DOUBLE) USING delta")
    spark.sql(f"INSERT INTO {out} VALUES (1, 1D), (9, 2D)")
    source = spark.table("orders").selectExpr("id", "amount + rand() AS v")
    merge = _delta(spark, out).alias("t").merge(source.alias("s"), "t.id = s.id")
    merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()


@frame
def update_of_class(spark: SparkSession, out: str, files: str) -> None:
    """
    v = {out}.w
    v ~ ({out}.id)
    """
    spark.sql(f"CREATE TABLE {out} (id INT, v INT, w INT) USING delta")
    spark.sql(f"INSERT INTO {out} VALUES (1, 1, 2), (2, 3, 4)")
    _delta(spark, out).update(condition="id = 1", set={"v": "w * 2"})


@frame
def delete_of_class(spark: SparkSession, out: str, files: str) -> None:
    """
    id, v =
    * ~ {out}.id
    """
    spark.sql(f"CREATE TABLE {out} (id INT, v INT) USING delta")
    spark.sql(f"INSERT INTO {out} VALUES (1, 1), (2, 3)")
    _delta(spark, out).delete("id = 1")


@frame
def identity_of_builder(spark: SparkSession, out: str, files: str) -> None:
    """
    n =
    id == orders
    """
    from importlib import import_module

    tables = import_module("delta.tables")
    builder = tables.DeltaTable.create(spark).tableName(out)
    builder = builder.addColumn("n", "BIGINT", generatedAlwaysAs=tables.IdentityGenerator())
    builder.addColumn("id", "INT").execute()
    spark.table("orders").select("id").write.format("delta").mode("append").saveAsTable(out)


@frame
def generated_of_builder(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    day == orders
    year = orders.day
    """
    from importlib import import_module

    builder = import_module("delta.tables").DeltaTable.create(spark).tableName(out)
    builder = builder.addColumn("id", "INT").addColumn("day", "DATE")
    builder.addColumn("year", "INT", generatedAlwaysAs="YEAR(day)").partitionedBy("year").execute()
    spark.table("orders").select("id", "day").write.format("delta").mode("append").saveAsTable(out)


@frame
def optimized_by_class(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    """
    spark.sql(f"CREATE TABLE {out} USING delta AS SELECT id FROM orders")
    spark.table("orders").select("id").write.insertInto(out)
    table = _delta(spark, out)
    table.optimize().executeCompaction()
    table.vacuum()
    table.restoreToVersion(0)


@frame
def chain_by_path_and_name(spark: SparkSession, out: str, files: str) -> None:
    """
    -> <files/{name}>
    id == orders
    v = orders.qty
    -> {out}
    id = <files/{name}>.id
    v = <files/{name}>.v
    -> <files/{name}_b>
    w = {out}.v
    -> {out_c}
    w = <files/{name}_b>.w
    """
    place = f"{files}/files/chain_by_path_and_name"
    spark.table("orders").selectExpr("id", "qty AS v").write.format("delta").save(place)
    spark.sql(f"CREATE TABLE {out} USING delta AS SELECT * FROM delta.`{place}`")
    spark.table(out).selectExpr("v AS w").write.format("delta").save(f"{place}_b")
    spark.read.format("delta").load(f"{place}_b").writeTo(f"{out}_c").using("delta").create()


# -- Streams by path ------------------------------------------------------------------------------------------------------


@frame
def stream_between_paths(spark: SparkSession, out: str, files: str) -> None:
    """
    -> <files/{name}_a>
    id == orders
    v = orders.qty
    -> <files/{name}_b>
    id = <files/{name}_a>.id
    w = <files/{name}_a>.v
    """
    place = f"{files}/files/stream_between_paths"
    spark.table("orders").selectExpr("id", "qty AS v").write.format("delta").save(f"{place}_a")
    frame = spark.readStream.format("delta").load(f"{place}_a").selectExpr("id", "v AS w")
    writer = frame.writeStream.format("delta").option("checkpointLocation", f"{files}/state/{out}")
    writer.trigger(availableNow=True).start(f"{place}_b").awaitTermination()


@frame
def stream_of_change_feed(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    -> {out_b}
    id = {out}.id
    what = [{out}._change_type]
    """
    properties = "TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')"
    spark.sql(f"CREATE TABLE {out} USING delta {properties} AS SELECT id FROM orders")
    feed = spark.readStream.format("delta").option("readChangeFeed", "true").option("startingVersion", 0)
    frame = feed.table(out).selectExpr("id", "_change_type AS what")
    writer = frame.writeStream.format("delta").option("checkpointLocation", f"{files}/state/{out}")
    writer.trigger(availableNow=True).toTable(f"{out}_b").awaitTermination()


@frame
def batches_merged_by_class(spark: SparkSession, out: str, files: str) -> None:
    """
    id == changes
    v = changes.amount
    * ~ (changes.id), ({out}.id)
    """

    def write(batch: DataFrame, number: int) -> None:
        merge = _delta(spark, out).alias("t").merge(batch.alias("s"), "t.id = s.id")
        merge = merge.whenMatchedUpdate(set={"v": "s.amount"})
        merge.whenNotMatchedInsert(values={"id": "s.id", "v": "s.amount"}).execute()

    spark.sql(f"CREATE TABLE {out} (id INT, v DOUBLE) USING delta")
    spark.sql(f"INSERT INTO {out} VALUES (1, 1D), (4, 2D)")
    writer = spark.readStream.table("changes").writeStream.option(
        "checkpointLocation", f"{files}/state/{out}"
    )
    writer.trigger(availableNow=True).foreachBatch(write).start().awaitTermination()
