"""Statements of DataFrames: caches, and operations after a checkpoint or an RDD."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench._referee_frames import frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# -- Caches ------------------------------------------------------------------------------------------------------------


@frame
def unseen_frame_path_read_twice(spark: SparkSession, out: str, files: str) -> None:
    """
    -> <files/unseen_again>
    id, amount, qty, note == orders
    -> out.unseen_frame_path_read_twice
    id = <files/unseen_again>.id
    v = <files/unseen_again>.amount
    w = <files/unseen_again>.note
    * ~ <files/unseen_again>.id
    """
    place = f"{files}/files/unseen_again"
    spark.table("src.orders").select("id", "amount", "qty", "note").write.parquet(place)
    left = spark.read.parquet(place).drop("qty", "note").withColumnRenamed("amount", "v")
    right = spark.read.parquet(place).drop("amount", "qty").withColumnRenamed("note", "w")
    left.join(right, "id").write.saveAsTable(out)


@frame
def unseen_path_cached_twice(spark: SparkSession, out: str, files: str) -> None:
    """
    # Two caches over one place, of other columns.
    -> <files/unseen_cached_place>
    id, amount, qty, note == orders
    -> out.unseen_path_cached_twice
    v = <files/unseen_cached_place>.amount
    w = <files/unseen_cached_place>.note
    n = <files/unseen_cached_place>.qty
    * ~ <files/unseen_cached_place>.id
    """
    place = f"{files}/files/unseen_cached_place"
    spark.table("src.orders").select("id", "amount", "qty", "note").write.parquet(place)
    left = spark.read.parquet(place).drop("qty", "note").cache()
    right = spark.read.parquet(place).drop("amount").cache()
    joined = left.join(right, "id").selectExpr("amount AS v", "note AS w", "qty AS n")
    joined.write.saveAsTable(out)
    left.unpersist()
    right.unpersist()


@frame
def unseen_cached_by_name(spark: SparkSession, out: str, files: str) -> None:
    """
    region == orders
    total = orders.amount, orders.qty
    total ~ orders.region, orders.cust
    """
    spark.sql("SELECT cust, region, amount * qty AS v FROM src.orders").createOrReplaceTempView(
        "unseen_named"
    )
    spark.catalog.cacheTable("unseen_named")
    spark.sql(
        "SELECT region, sum(v) AS total FROM unseen_named WHERE cust > 0 GROUP BY region"
    ).write.saveAsTable(out)
    spark.catalog.uncacheTable("unseen_named")


@frame
def unseen_two_frames_cached(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    a = orders.amount
    b = orders.qty
    c = orders.amount, orders.qty
    * ~ orders.id
    """
    from pyspark.sql.functions import col

    orders = spark.table("src.orders")
    first, second = orders.select("id", "amount").cache(), orders.select("id", "qty", "amount").cache()
    first.count()
    joined = first.join(second.selectExpr("id AS k", "qty AS b", "amount * qty AS c"), first.id == col("k"))
    joined.selectExpr("id", "amount AS a", "b", "c").write.saveAsTable(out)
    first.unpersist()
    second.unpersist()


@frame
def unseen_cache_over_a_cache(spark: SparkSession, out: str, files: str) -> None:
    """
    region == orders
    n = orders.cust
    top = orders.amount
    n, top ~ orders.region, orders.qty
    """
    low = spark.table("src.orders").where("qty > 1").cache()
    high = low.groupBy("region").agg({"amount": "max", "cust": "count"}).cache()
    high.collect()
    high.selectExpr("region", "`count(cust)` AS n", "`max(amount)` AS top").write.saveAsTable(out)
    high.unpersist()
    low.unpersist()


# -- Checkpoints and RDDs: the operations after them still have sources -------------------------------------------------


@frame
def unseen_checkpoint_then_rollup(spark: SparkSession, out: str, files: str) -> None:
    """
    region, cust == orders
    total = orders.amount
    """
    spark.sparkContext.setCheckpointDir(f"{files}/files/checkpoints")
    kept = spark.table("src.orders").select("region", "cust", "amount").checkpoint()
    kept.rollup("region", "cust").sum("amount").withColumnRenamed("sum(amount)", "total").write.saveAsTable(
        out
    )


@frame
def unseen_local_checkpoint_then_cube(spark: SparkSession, out: str, files: str) -> None:
    """
    region, note == orders
    n = orders.cust
    m = orders.day
    """
    kept = spark.table("src.orders").select("region", "note", "cust", "day").localCheckpoint()
    kept.createOrReplaceTempView("unseen_point")
    spark.sql(
        "SELECT region, note, count(DISTINCT cust) AS n, count(DISTINCT day) AS m"
        " FROM unseen_point GROUP BY CUBE (region, note)"
    ).write.saveAsTable(out)


@frame
def unseen_local_checkpoint_then_unpivot(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    what =
    v = orders.cust, orders.qty
    """
    kept = spark.table("src.orders").select("id", "cust", "qty").localCheckpoint()
    kept.unpivot("id", ["cust", "qty"], "what", "v").write.saveAsTable(out)


@frame
def unseen_local_checkpoint_then_distincts(spark: SparkSession, out: str, files: str) -> None:
    """
    a = orders.cust
    b = orders.day
    c = orders.note
    s = orders.amount
    """
    kept = spark.table("src.orders").localCheckpoint()
    kept.selectExpr(
        "count(DISTINCT cust) AS a",
        "count(DISTINCT day) AS b",
        "count(DISTINCT note) AS c",
        "sum(amount) AS s",
    ).write.saveAsTable(out)


@frame
def unseen_checkpoint_then_pivot(spark: SparkSession, out: str, files: str) -> None:
    """
    cust == orders
    north, south = orders.amount
    """
    spark.sparkContext.setCheckpointDir(f"{files}/files/checkpoints")
    kept = spark.table("src.orders").select("cust", "region", "amount").checkpoint(eager=True)
    kept.groupBy("cust").pivot("region", ["north", "south"]).sum("amount").write.saveAsTable(out)


@frame
def unseen_local_checkpoint_then_window(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    before = orders.amount
    """
    kept = spark.table("src.orders").select("id", "cust", "day", "amount").localCheckpoint(eager=False)
    kept.selectExpr("id", "lag(amount) OVER (PARTITION BY cust ORDER BY day) AS before").write.saveAsTable(
        out
    )


@frame
def unseen_local_checkpoint_joined_with_its_table(spark: SparkSession, out: str, files: str) -> None:
    """
    id, note == orders
    v = orders.amount
    """
    kept = spark.table("src.orders").selectExpr("id", "amount AS v").localCheckpoint()
    kept.join(spark.table("src.orders").select("id", "note"), "id").write.saveAsTable(out)


@frame
def unseen_two_checkpoints(spark: SparkSession, out: str, files: str) -> None:
    """
    id = orders.id
    v = orders.amount, archive.amount
    """
    first = spark.table("src.orders").select("id", "amount").localCheckpoint()
    second = spark.table("src.archive").selectExpr("id", "amount").localCheckpoint()
    joined = first.join(second.withColumnRenamed("amount", "old"), "id", "left")
    joined.selectExpr("id", "coalesce(amount, old) AS v").write.saveAsTable(out)


@frame
def unseen_broad_checkpointed(spark: SparkSession, out: str, files: str) -> None:
    """
    k == broad
    h = broad.c{0..99}
    """
    kept = spark.table("src.broad").where("NOT is_deleted").localCheckpoint()
    kept.selectExpr("k", f"xxhash64({', '.join(f'c{at}' for at in range(100))}) AS h").write.saveAsTable(out)


@frame
def unseen_rdd_then_rollup(spark: SparkSession, out: str, files: str) -> None:
    """
    region, cust == orders
    total = orders.amount
    """
    orders = spark.table("src.orders").select("region", "cust", "amount")
    again = spark.createDataFrame(orders.rdd, orders.schema)
    again.rollup("region", "cust").sum("amount").withColumnRenamed("sum(amount)", "total").write.saveAsTable(
        out
    )


@frame
def unseen_rdd_then_unpivot(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    what =
    v = orders.cust, orders.qty
    """
    orders = spark.table("src.orders").select("id", "cust", "qty")
    orders.rdd.toDF(orders.schema).unpivot("id", ["cust", "qty"], "what", "v").write.saveAsTable(out)


@frame
def unseen_rdd_then_distincts_of_a_join(spark: SparkSession, out: str, files: str) -> None:
    """
    name == customers
    n = orders.note
    m = orders.day
    """
    orders = spark.table("src.orders").select("cust", "note", "day")
    again = spark.createDataFrame(orders.rdd.filter(lambda row: row.cust > 0), orders.schema)
    again.createOrReplaceTempView("unseen_rows")
    spark.sql(
        "SELECT c.name, count(DISTINCT r.note) AS n, count(DISTINCT r.day) AS m"
        " FROM unseen_rows r JOIN src.customers c ON r.cust = c.id GROUP BY c.name"
    ).write.saveAsTable(out)


@frame
def unseen_pandas_round_trip(spark: SparkSession, out: str, files: str) -> None:
    """
    # Through the driver: nothing in the plan tells where the rows were.
    id = [orders.id]
    v = [orders.amount]
    """
    collected = spark.table("src.orders").selectExpr("id", "coalesce(amount, 0) AS v").toPandas()
    spark.createDataFrame(collected, "id int, v double").write.saveAsTable(out)
