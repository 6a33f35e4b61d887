"""Statements of streams, each run to its end: files and tables are read, and files and tables are written, batch by
batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas

from bench._referee_frames import frame

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession


def _start(stream: DataFrame, state: str, **options: Any) -> Any:
    """Return the writer of a stream that ends once it has read all available data."""
    writer = stream.writeStream.option("checkpointLocation", state).trigger(availableNow=True)
    for key, value in options.items():
        writer = writer.option(key, value)
    return writer


@frame
def unseen_stream_to_files(spark: SparkSession, out: str, files: str) -> None:
    """
    -> <files/unseen_s1_in>
    id, amount, note == orders
    -> <files/unseen_s1_out>
    key = <files/unseen_s1_in>.id
    v = <files/unseen_s1_in>.amount, <files/unseen_s1_in>.id
    * ~ <files/unseen_s1_in>.note
    """
    place = f"{files}/files/unseen_s1"
    spark.table("src.orders").select("id", "amount", "note").write.parquet(f"{place}_in")
    stream = spark.readStream.schema("id int, amount double, note string").parquet(f"{place}_in")
    stream = stream.where("note IS NOT NULL").selectExpr("id AS key", "amount * id AS v")
    _start(stream, f"{place}_state").format("parquet").start(f"{place}_out").awaitTermination()


@frame
def unseen_stream_to_a_table(spark: SparkSession, out: str, files: str) -> None:
    """
    -> <files/unseen_s2_in>
    id, amount, note == orders
    -> out.unseen_stream_to_a_table
    id = <files/unseen_s2_in>.id
    word = <files/unseen_s2_in>.note
    """
    place = f"{files}/files/unseen_s2"
    spark.table("src.orders").select("id", "amount", "note").write.json(f"{place}_in")
    stream = spark.readStream.schema("id int, amount double, note string").json(f"{place}_in")
    _start(stream.selectExpr("id", "upper(note) AS word"), f"{place}_state").toTable(out).awaitTermination()


@frame
def unseen_stream_inserted_by_batch(spark: SparkSession, out: str, files: str) -> None:
    """
    -> <files/unseen_s3_in>
    id, amount, note == orders
    -> out.unseen_stream_inserted_by_batch
    a = <files/unseen_s3_in>.note
    b = <files/unseen_s3_in>.id
    * ~ <files/unseen_s3_in>.amount
    """

    def write(batch: DataFrame, number: int) -> None:
        batch.createOrReplaceTempView("unseen_batch")
        batch.sparkSession.sql(f"INSERT INTO {out} SELECT note, id FROM unseen_batch WHERE amount > 1")  # noqa: S608

    place = f"{files}/files/unseen_s3"
    spark.sql(f"CREATE TABLE {out} (a STRING, b INT) USING parquet")
    spark.table("src.orders").select("id", "amount", "note").write.parquet(f"{place}_in")
    stream = spark.readStream.schema("id int, amount double, note string").parquet(f"{place}_in")
    _start(stream, f"{place}_state").foreachBatch(write).start().awaitTermination()


@frame
def unseen_stream_merged_by_batch(spark: SparkSession, out: str, files: str) -> None:
    """
    # Each batch is joined with a table, and written to two others.
    -> <files/unseen_s4_in>
    cust = orders.cust
    amount == orders
    -> out.unseen_s4_names
    name = customers.name
    amount = <files/unseen_s4_in>.amount
    * ~ <files/unseen_s4_in>.cust, customers.id
    -> out.unseen_stream_merged_by_batch
    cust = <files/unseen_s4_in>.cust
    total = <files/unseen_s4_in>.amount
    total ~ <files/unseen_s4_in>.cust
    """

    def write(batch: DataFrame, number: int) -> None:
        batch.persist()
        customers = batch.sparkSession.table("src.customers")
        joined = batch.join(customers, batch.cust == customers.id).select("name", "amount")
        joined.write.mode("append").saveAsTable("out.unseen_s4_names")
        summed = batch.groupBy("cust").agg({"amount": "sum"}).withColumnRenamed("sum(amount)", "total")
        summed.write.mode("append").saveAsTable(out)
        batch.unpersist()

    place = f"{files}/files/unseen_s4"
    spark.table("src.orders").select("cust", "amount").write.parquet(f"{place}_in")
    stream = spark.readStream.schema("cust int, amount double").parquet(f"{place}_in")
    _start(stream, f"{place}_state").foreachBatch(write).start().awaitTermination()


@frame
def unseen_stream_windowed(spark: SparkSession, out: str, files: str) -> None:
    """
    -> <files/unseen_s5_in>
    visitor, at, page, ms == clicks
    -> <files/unseen_s5_out>
    began = <files/unseen_s5_in>.at
    page = <files/unseen_s5_in>.page
    total = <files/unseen_s5_in>.ms
    n =
    total, n ~ <files/unseen_s5_in>.at, <files/unseen_s5_in>.page
    """
    from pyspark.sql import functions as F

    place = f"{files}/files/unseen_s5"
    spark.table("src.clicks").write.parquet(f"{place}_in")
    stream = spark.readStream.schema("visitor int, at timestamp, page string, ms int").parquet(f"{place}_in")
    grouped = stream.withWatermark("at", "10 minutes").groupBy(F.window("at", "5 minutes"), "page")
    summed = grouped.agg(F.sum("ms").alias("total"), F.count("*").alias("n"))
    selected = summed.selectExpr("window.start AS began", "page", "total", "n")
    writer = _start(selected, f"{place}_state").outputMode("append")
    writer.format("parquet").start(f"{place}_out").awaitTermination()


@frame
def unseen_stream_joined_with_a_table(spark: SparkSession, out: str, files: str) -> None:
    """
    -> <files/unseen_s6_in>
    cust, amount == orders
    -> <files/unseen_s6_out>
    name == customers
    city == customers
    v = <files/unseen_s6_in>.amount
    * ~ <files/unseen_s6_in>.cust, customers.id
    """
    from pyspark.sql.functions import broadcast

    place = f"{files}/files/unseen_s6"
    spark.table("src.orders").select("cust", "amount").write.parquet(f"{place}_in")
    stream = spark.readStream.schema("cust int, amount double").parquet(f"{place}_in")
    customers = spark.table("src.customers").withColumnRenamed("id", "cust")
    joined = stream.join(broadcast(customers), "cust", "left").selectExpr("name", "city", "amount AS v")
    _start(joined, f"{place}_state").format("json").start(f"{place}_out").awaitTermination()


@frame
def unseen_stream_joined_with_a_stream(spark: SparkSession, out: str, files: str) -> None:
    """
    -> <files/unseen_s7_left>
    visitor, at, page == clicks
    -> <files/unseen_s7_right>
    who = clicks.visitor
    when = clicks.at
    ms == clicks
    -> out.unseen_stream_joined_with_a_stream
    visitor = <files/unseen_s7_left>.visitor
    page = <files/unseen_s7_left>.page
    took = <files/unseen_s7_right>.ms
    * ~ <files/unseen_s7_left>.visitor, <files/unseen_s7_right>.who
    * ~ <files/unseen_s7_left>.at, <files/unseen_s7_right>.when
    """
    from pyspark.sql.functions import expr

    place = f"{files}/files/unseen_s7"
    spark.table("src.clicks").select("visitor", "at", "page").write.parquet(f"{place}_left")
    spark.table("src.clicks").selectExpr("visitor AS who", "at AS when", "ms").write.parquet(f"{place}_right")
    reader = spark.readStream
    left = (
        reader.schema("visitor int, at timestamp, page string")
        .parquet(f"{place}_left")
        .withWatermark("at", "1 hour")
    )
    right = spark.readStream.schema("who int, when timestamp, ms int").parquet(f"{place}_right")
    right = right.withWatermark("when", "2 hours")
    near = expr("visitor = who AND when BETWEEN at AND at + INTERVAL 1 HOUR")
    joined = left.join(right, near).selectExpr("visitor", "page", "ms AS took")
    _start(joined, f"{place}_state").toTable(out).awaitTermination()


@frame
def unseen_stream_deduplicated(spark: SparkSession, out: str, files: str) -> None:
    """
    -> <files/unseen_s8_in>
    visitor, at, page == clicks
    -> <files/unseen_s8_out>
    visitor = <files/unseen_s8_in>.visitor
    at = <files/unseen_s8_in>.at
    page = <files/unseen_s8_in>.page
    """
    place = f"{files}/files/unseen_s8"
    spark.table("src.clicks").select("visitor", "at", "page").write.orc(f"{place}_in")
    stream = spark.readStream.schema("visitor int, at timestamp, page string").orc(f"{place}_in")
    once = stream.withWatermark("at", "1 hour").dropDuplicatesWithinWatermark(["visitor", "page"])
    _start(once, f"{place}_state").format("orc").partitionBy("page").start(f"{place}_out").awaitTermination()


@frame
def unseen_streams_united(spark: SparkSession, out: str, files: str) -> None:
    """
    -> <files/unseen_s9_a>
    id, qty == orders
    -> <files/unseen_s9_b>
    id, qty == archive
    -> out.unseen_streams_united
    id = <files/unseen_s9_a>.id, <files/unseen_s9_b>.id
    n = <files/unseen_s9_a>.qty, <files/unseen_s9_b>.qty
    side =
    """
    place = f"{files}/files/unseen_s9"
    spark.table("src.orders").select("id", "qty").write.parquet(f"{place}_a")
    spark.table("src.archive").select("id", "qty").write.parquet(f"{place}_b")
    first = (
        spark.readStream.schema("id int, qty int")
        .parquet(f"{place}_a")
        .selectExpr("id", "qty AS n", "'a' AS side")
    )
    second = (
        spark.readStream.schema("id int, qty int")
        .parquet(f"{place}_b")
        .selectExpr("id", "qty AS n", "'b' AS side")
    )
    _start(first.union(second), f"{place}_state").toTable(out).awaitTermination()


@frame
def unseen_stream_of_a_table(spark: SparkSession, out: str, files: str) -> None:
    """
    -> <files/unseen_s10_out>
    id == orders
    v = orders.amount, orders.qty
    * ~ orders.region
    """
    place = f"{files}/files/unseen_s10"
    stream = spark.readStream.table("src.orders").where("region <> 'x'").selectExpr("id", "amount * qty AS v")
    _start(stream, f"{place}_state").format("parquet").start(f"{place}_out").awaitTermination()


@frame
def unseen_stream_kept_complete(spark: SparkSession, out: str, files: str) -> None:
    """
    # All that was counted so far, written over each time.
    -> <files/unseen_s11_in>
    region, amount, note == orders
    -> out.unseen_stream_kept_complete
    region = <files/unseen_s11_in>.region
    total = <files/unseen_s11_in>.amount
    total ~ <files/unseen_s11_in>.region
    """

    def write(batch: DataFrame, number: int) -> None:
        batch.write.mode("overwrite").saveAsTable(out)

    place = f"{files}/files/unseen_s11"
    spark.table("src.orders").select("region", "amount", "note").write.parquet(f"{place}_in")
    stream = spark.readStream.schema("region string, amount double, note string").parquet(f"{place}_in")
    summed = stream.groupBy("region").agg({"amount": "sum"}).withColumnRenamed("sum(amount)", "total")
    _start(summed, f"{place}_state").outputMode("complete").foreachBatch(write).start().awaitTermination()


@frame
def unseen_stream_through_python(spark: SparkSession, out: str, files: str) -> None:
    """
    -> <files/unseen_s12_in>
    id, note == orders
    -> <files/unseen_s12_out>
    a, b = <files/unseen_s12_in>.id, <files/unseen_s12_in>.note
    ! opaque
    """

    def swap(frames: Iterator[pandas.DataFrame]) -> Iterator[pandas.DataFrame]:
        for each in frames:
            yield pandas.DataFrame({"a": each["note"], "b": each["id"]})

    place = f"{files}/files/unseen_s12"
    spark.table("src.orders").select("id", "note").write.parquet(f"{place}_in")
    stream = spark.readStream.schema("id int, note string").parquet(f"{place}_in")
    mapped = stream.mapInPandas(swap, "a string, b int")
    _start(mapped, f"{place}_state").format("parquet").start(f"{place}_out").awaitTermination()


@frame
def unseen_stream_in_three_batches(spark: SparkSession, out: str, files: str) -> None:
    """
    -> <files/unseen_s13_in>
    id == orders
    v = orders.qty
    -> <files/unseen_s13_out>
    id = <files/unseen_s13_in>.id
    v = <files/unseen_s13_in>.v
    """
    place = f"{files}/files/unseen_s13"
    for _ in range(3):
        spark.table("src.orders").selectExpr("id", "qty AS v").coalesce(1).write.mode("append").csv(
            f"{place}_in"
        )
    stream = spark.readStream.schema("id int, v int").option("maxFilesPerTrigger", 1).csv(f"{place}_in")
    _start(stream, f"{place}_state").format("csv").start(f"{place}_out").awaitTermination()


@frame
def unseen_stream_read_back(spark: SparkSession, out: str, files: str) -> None:
    """
    -> <files/unseen_s14_in>
    id, note == orders
    -> <files/unseen_s14_out>
    id = <files/unseen_s14_in>.id
    word = <files/unseen_s14_in>.note
    -> out.unseen_stream_read_back
    n = <files/unseen_s14_out>.id
    word = <files/unseen_s14_out>.word
    n ~ <files/unseen_s14_out>.word
    """
    from pyspark.sql import functions as F

    place = f"{files}/files/unseen_s14"
    spark.table("src.orders").select("id", "note").write.parquet(f"{place}_in")
    stream = spark.readStream.schema("id int, note string").parquet(f"{place}_in")
    words = stream.select("id", F.explode(F.split("note", " ")).alias("word"))
    _start(words, f"{place}_state").format("parquet").start(f"{place}_out").awaitTermination()
    read = spark.read.parquet(f"{place}_out")
    read.groupBy("word").agg(F.count("id").alias("n")).write.saveAsTable(out)


@frame
def unseen_stream_of_broad(spark: SparkSession, out: str, files: str) -> None:
    """
    -> <files/unseen_s15_in>
    k, is_deleted, day, region == broad
    c{0..145} = broad.c{0..145}
    -> <files/unseen_s15_out>
    k = <files/unseen_s15_in>.k
    h = <files/unseen_s15_in>.c{0..99}
    c{50..145} = <files/unseen_s15_in>.c{50..145}
    * ~ <files/unseen_s15_in>.is_deleted
    """
    place = f"{files}/files/unseen_s15"
    broad = spark.table("src.broad")
    broad.write.parquet(f"{place}_in")
    stream = spark.readStream.schema(broad.schema).parquet(f"{place}_in").where("NOT is_deleted")
    hashed = f"xxhash64({', '.join(f'c{at}' for at in range(100))}) AS h"
    stream = stream.selectExpr("k", hashed, *(f"c{at}" for at in range(50, 146)))
    _start(stream, f"{place}_state").format("parquet").start(f"{place}_out").awaitTermination()


@frame
def unseen_stream_by_batch_of_its_own_view(spark: SparkSession, out: str, files: str) -> None:
    """
    # Rows are numbered within the batch: the newest of each key is kept.
    -> <files/unseen_s16_in>
    key, city, day == changes
    -> out.unseen_stream_by_batch_of_its_own_view
    key = <files/unseen_s16_in>.key, people.key
    city = <files/unseen_s16_in>.city, people.city
    * ~ <files/unseen_s16_in>.key, people.key
    * ~ <files/unseen_s16_in>.day
    """

    def write(batch: DataFrame, number: int) -> None:
        batch.createOrReplaceGlobalTempView("unseen_changed")
        query = f"""
            INSERT INTO {out}
            SELECT coalesce(n.key, o.key), coalesce(n.city, o.city)
            FROM (SELECT key, city FROM (SELECT *, row_number() OVER (PARTITION BY key ORDER BY day DESC) AS rn
                                         FROM global_temp.unseen_changed) WHERE rn = 1) n
            FULL OUTER JOIN src.people o ON n.key = o.key
            """  # noqa: S608
        batch.sparkSession.sql(query)

    place = f"{files}/files/unseen_s16"
    spark.sql(f"CREATE TABLE {out} (key INT, city STRING) USING parquet")
    spark.table("src.changes").select("key", "city", "day").write.parquet(f"{place}_in")
    stream = spark.readStream.schema("key int, city string, day date").parquet(f"{place}_in")
    _start(stream, f"{place}_state").foreachBatch(write).start().awaitTermination()
