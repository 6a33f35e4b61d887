"""Statements of DataFrames: caches, writers and readers, and methods that SQL does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench._referee_frames import frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# -- Caches -------------------------------------------------------------------------------------------------------------


@frame
def cached_frame(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    v = orders.amount, orders.qty
    * ~ orders.qty
    """
    kept = spark.table("src.orders").selectExpr("id", "amount * qty AS v", "qty").cache()
    kept.where("qty > 1").select("id", "v").write.saveAsTable(out)
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

    kept = spark.table("src.orders").select("id", "cust", "amount", "note").cache()
    pairs = kept.alias("a").join(kept.alias("b"), col("a.id") == col("b.cust"))
    pairs.select(
        col("a.id").alias("id"), col("a.amount").alias("v"), col("b.note").alias("w")
    ).write.saveAsTable(out)
    kept.unpersist()


@frame
def cached_and_filled(spark: SparkSession, out: str, files: str) -> None:
    """
    # The cache is filled by an action of its own before it is used.
    region == orders
    n =
    """
    kept = spark.table("src.orders").groupBy("region").count().cache()
    kept.count()
    kept.selectExpr("region", "count AS n").write.saveAsTable(out)
    kept.unpersist()


@frame
def checkpointed(spark: SparkSession, out: str, files: str) -> None:
    """
    id = [orders.id]
    v = [orders.amount]
    ! unknown
    """
    kept = spark.table("src.orders").selectExpr("id", "amount AS v").localCheckpoint()
    kept.where("v > 1").write.saveAsTable(out)


# -- Writers and readers ------------------------------------------------------------------------------------------------


@frame
def save_to_path(spark: SparkSession, out: str, files: str) -> None:
    """
    -> <files/save_to_path>
    id == orders
    v = orders.amount
    """
    spark.table("src.orders").selectExpr("id", "amount AS v").write.parquet(f"{files}/files/save_to_path")


@frame
def save_partitioned(spark: SparkSession, out: str, files: str) -> None:
    """
    -> <files/save_partitioned>
    id == orders
    region == orders
    """
    frame = spark.table("src.orders").select("id", "region")
    frame.write.partitionBy("region").mode("overwrite").orc(f"{files}/files/save_partitioned")


@frame
def path_to_path(spark: SparkSession, out: str, files: str) -> None:
    """
    -> <files/path_a>
    id == orders
    n = orders.note
    -> <files/path_b>
    id = <files/path_a>.id
    loud = <files/path_a>.n
    * ~ <files/path_a>.id
    """
    spark.table("src.orders").selectExpr("id", "note AS n").write.csv(f"{files}/files/path_a", header=True)
    read = spark.read.csv(f"{files}/files/path_a", header=True, schema="id int, n string")
    read.where("id > 1").selectExpr("id", "upper(n) AS loud").write.json(f"{files}/files/path_b")


@frame
def path_of_v2(spark: SparkSession, out: str, files: str) -> None:
    """
    # The newer sources' scan: BatchScan.
    -> <files/path_of_v2>
    id == orders
    v = orders.qty
    -> out.path_of_v2
    id = <files/path_of_v2>.id
    w = <files/path_of_v2>.v
    * ~ <files/path_of_v2>.v
    """
    spark.table("src.orders").selectExpr("id", "qty AS v").write.parquet(f"{files}/files/path_of_v2")
    spark.conf.set("spark.sql.sources.useV1SourceList", "")
    try:
        read = spark.read.parquet(f"{files}/files/path_of_v2")
        read.where("v > 1").selectExpr("id", "v AS w").write.saveAsTable(out)
    finally:
        spark.conf.unset("spark.sql.sources.useV1SourceList")


@frame
def insert_into(spark: SparkSession, out: str, files: str) -> None:
    """
    # By position, whatever the frame's names.
    a = orders.qty
    b = orders.id
    """
    spark.sql(f"CREATE TABLE {out} (a INT, b INT) USING parquet")
    spark.table("src.orders").selectExpr("qty AS b", "id AS a").write.insertInto(out)


@frame
def append_by_name(spark: SparkSession, out: str, files: str) -> None:
    """
    # saveAsTable goes by name, unlike insertInto.
    a = orders.id
    b = orders.qty
    """
    spark.sql(f"CREATE TABLE {out} (a INT, b INT) USING parquet")
    spark.table("src.orders").selectExpr("qty AS b", "id AS a").write.mode("append").saveAsTable(out)


@frame
def overwrite_table(spark: SparkSession, out: str, files: str) -> None:
    """
    id = orders.id, customers.id
    name = customers.name
    v = orders.amount
    """
    spark.table("src.customers").select("id", "name").write.saveAsTable(out)
    frame = spark.table("src.orders").selectExpr("id", "amount AS v")
    frame.write.mode("overwrite").option("overwriteSchema", "true").saveAsTable(out)


@frame
def write_to(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    v = orders.amount, orders.qty
    """
    spark.table("src.orders").selectExpr("id", "amount - qty AS v").writeTo(out).using("parquet").create()


@frame
def bucketed_writer(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    note == orders
    region == orders
    """
    frame = spark.table("src.orders").select("id", "note", "region")
    frame.write.partitionBy("region").bucketBy(2, "id").sortBy("note").saveAsTable(out)


@frame
def jdbc_round_trip(spark: SparkSession, out: str, files: str) -> None:
    """
    -> <jdbc/scores>
    id == orders
    v = orders.amount
    -> out.jdbc_round_trip
    id = <jdbc/scores>.id
    w = <jdbc/scores>.v
    * ~ <jdbc/scores>.v
    """
    url = f"jdbc:derby:;databaseName={files}/scores;create=true"
    options = {"driver": "org.apache.derby.jdbc.EmbeddedDriver"}
    spark.table("src.orders").selectExpr("id", "amount AS v").write.jdbc(url, "scores", properties=options)
    read = spark.read.jdbc(url, "scores", properties=options)
    read.where("v > 1").selectExpr("id", "v AS w").write.saveAsTable(out)


# -- Methods of frames ----------------------------------------------------------------------------------------------------


@frame
def with_columns(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    amount = orders.amount, orders.qty
    client = orders.cust
    size = (orders.qty)
    """
    from pyspark.sql import functions as F

    orders = spark.table("src.orders").withColumn("amount", F.col("amount") * F.col("qty"))
    orders = orders.withColumn("size", F.when(F.col("qty") > 3, "large").otherwise("small"))
    orders.withColumnRenamed("cust", "client").select("id", "amount", "client", "size").write.saveAsTable(out)


@frame
def union_by_name(spark: SparkSession, out: str, files: str) -> None:
    """
    id = orders.id, archive.id
    qty = orders.qty, archive.qty
    note = orders.note
    """
    orders = spark.table("src.orders").select("id", "qty", "note")
    archive = spark.table("src.archive").select("qty", "id")
    orders.unionByName(archive, allowMissingColumns=True).write.saveAsTable(out)


@frame
def drop_duplicates(spark: SparkSession, out: str, files: str) -> None:
    """
    # Of each region's rows any one stays: first(...) by region.
    region == orders
    id == orders
    amount == orders
    id, amount ~ orders.region
    """
    orders = spark.table("src.orders").select("region", "id", "amount")
    orders.dropDuplicates(["region"]).write.saveAsTable(out)


@frame
def fill_and_replace(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    note == orders
    region == orders
    """
    orders = spark.table("src.orders").select("id", "note", "region").na.fill("none", ["note"])
    orders.replace("north", "N", ["region"]).write.saveAsTable(out)


@frame
def pivot_unlisted(spark: SparkSession, out: str, files: str) -> None:
    """
    # The values are found by a query that runs before.
    cust == orders
    north = orders.amount, (orders.region)
    east = orders.amount, (orders.region)
    south = orders.amount, (orders.region)
    """
    spark.table("src.orders").groupBy("cust").pivot("region").sum("amount").write.saveAsTable(out)


@frame
def melted(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    k =
    v = orders.qty, orders.cust
    """
    orders = spark.table("src.orders").select("id", "qty", "cust")
    orders.unpivot("id", ["qty", "cust"], "k", "v").write.saveAsTable(out)


@frame
def sampled(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    """
    spark.table("src.orders").select("id").sample(0.5, 1).repartition(2, "id").coalesce(1).write.saveAsTable(
        out
    )


@frame
def cube_of_frame(spark: SparkSession, out: str, files: str) -> None:
    """
    region, cust == orders
    total = orders.amount
    total ~ orders.region, orders.cust
    """
    from pyspark.sql.functions import sum as total

    orders = spark.table("src.orders")
    orders.cube("region", "cust").agg(total("amount").alias("total")).write.saveAsTable(out)


@frame
def update_a_struct(spark: SparkSession, out: str, files: str) -> None:
    """
    id == events
    info = events.info, events.id
    less = events.info
    """
    from pyspark.sql import functions as F

    events = spark.table("src.events")
    events.select(
        "id",
        F.col("info").withField("a", F.col("id")).alias("info"),
        F.col("info").dropFields("b").alias("less"),
    ).write.saveAsTable(out)


@frame
def frame_of_view(spark: SparkSession, out: str, files: str) -> None:
    """
    area = orders.region
    n =
    """
    orders = spark.table("src.orders").groupBy("region").count()
    orders.selectExpr("region AS area", "count AS n").createOrReplaceTempView("counted")
    spark.table("counted").write.saveAsTable(out)


@frame
def streamed_batch(spark: SparkSession, out: str, files: str) -> None:
    """
    # What a streaming query's own function writes batch by batch is known by the batch's files alone.
    -> <files/stream_in>
    id == orders
    v = orders.qty
    -> <files/stream_out>
    id = [<files/stream_in>.id]
    v = [<files/stream_in>.v]
    ! unknown
    """
    place = f"{files}/files"
    spark.table("src.orders").selectExpr("id", "qty AS v").write.parquet(f"{place}/stream_in")
    stream = spark.readStream.schema("id int, v int").parquet(f"{place}/stream_in").where("v > 1")
    writer = stream.writeStream.option("checkpointLocation", f"{place}/stream_state").trigger(
        availableNow=True
    )
    writer.start(f"{place}/stream_out", format="parquet").awaitTermination()
