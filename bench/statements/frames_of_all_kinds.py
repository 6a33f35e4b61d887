"""More statements of DataFrames: operations of programs other than select, join and group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pandas
import pyarrow

from bench._referee_frames import frame
from bench.statements.python_functions import pandas_function

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@frame
def observed(spark: SparkSession, out: str, files: str) -> None:
    """
    # What is measured on the way flows nowhere.
    id == orders
    v = orders.amount
    """
    from pyspark.sql import functions as F

    orders = spark.table("src.orders").selectExpr("id", "amount AS v", "qty")
    orders.observe("measured", F.count("*").alias("n"), F.max("qty")).select("id", "v").write.saveAsTable(out)


@frame
def ranges_and_hints(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    note == orders
    """
    orders = spark.table("src.orders").repartitionByRange(2, "amount").sortWithinPartitions("day")
    orders.hint("rebalance").select("id", "note").write.saveAsTable(out)


@frame
def two_paths(spark: SparkSession, out: str, files: str) -> None:
    """
    # Of two directories read at once each has the columns.
    -> <files/two/a>
    id == orders
    v = orders.qty
    -> <files/two/b>
    id == customers
    v = customers.parent
    -> out.two_paths
    id = <files/two/a>.id, <files/two/b>.id
    w = <files/two/a>.v, <files/two/b>.v
    """
    spark.table("src.orders").selectExpr("id", "qty AS v").write.parquet(f"{files}/files/two/a")
    spark.table("src.customers").selectExpr("id", "parent AS v").write.parquet(f"{files}/files/two/b")
    read = spark.read.parquet(f"{files}/files/two/a", f"{files}/files/two/b")
    read.selectExpr("id", "v AS w").write.saveAsTable(out)


@frame
def text_lines(spark: SparkSession, out: str, files: str) -> None:
    """
    -> <files/text_lines>
    value = orders.note
    -> out.text_lines
    word = <files/text_lines>.value
    n =
    n ~ <files/text_lines>.value
    """
    from pyspark.sql import functions as F

    spark.table("src.orders").selectExpr("note AS value").write.text(f"{files}/files/text_lines")
    words = spark.read.text(f"{files}/files/text_lines").select(
        F.explode(F.split("value", " ")).alias("word")
    )
    words.groupBy("word").agg(F.count("*").alias("n")).write.saveAsTable(out)


@frame
def partition_of_a_path(spark: SparkSession, out: str, files: str) -> None:
    """
    # Partition directories: their column is of the whole.
    -> <files/by_region>
    id == orders
    region == orders
    -> out.partition_of_a_path
    id = <files/by_region>.id
    region = <files/by_region>.region
    * ~ <files/by_region>.region
    """
    orders = spark.table("src.orders").select("id", "region")
    orders.write.partitionBy("region").parquet(f"{files}/files/by_region")
    spark.read.parquet(f"{files}/files/by_region").where("region = 'north'").write.saveAsTable(out)


@frame
def cached_and_written_twice(spark: SparkSession, out: str, files: str) -> None:
    """
    region == orders
    total = orders.amount
    -> out.cached_and_written_twice_b
    loud = orders.region
    """
    kept = spark.sql("SELECT region, sum(amount) AS total FROM src.orders GROUP BY region").cache()
    kept.write.saveAsTable(out)
    kept.selectExpr("upper(region) AS loud").write.saveAsTable(f"{out}_b")
    kept.unpersist()


@frame
def joined_to_python_rows(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    label =
    * ~ orders.region
    """
    labels = spark.createDataFrame([("north", "N"), ("south", "S")], "region string, label string")
    spark.table("src.orders").join(labels, "region").select("id", "label").write.saveAsTable(out)


@frame
def sets_of_frames(spark: SparkSession, out: str, files: str) -> None:
    """
    id = orders.id, [customers.id]
    cust = orders.cust, [customers.parent]
    """
    orders = spark.table("src.orders").select("id", "cust")
    orders.exceptAll(spark.table("src.customers").select("id", "parent")).write.saveAsTable(out)


@frame
def aggregated_by_name(spark: SparkSession, out: str, files: str) -> None:
    """
    region == orders
    `max(amount)` = orders.amount
    `count(id)` = orders.id
    `max(amount)`, `count(id)` ~ orders.region
    """
    spark.table("src.orders").groupBy("region").agg({"amount": "max", "id": "count"}).write.saveAsTable(out)


@frame
def summarised(spark: SparkSession, out: str, files: str) -> None:
    """
    # Which row is which measure comes from a literal; the values are of all rows.
    summary =
    amount == orders
    qty == orders
    """
    spark.table("src.orders").describe("amount", "qty").write.saveAsTable(out)


@frame
def windows_of_frames(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    before = orders.amount
    share = orders.amount
    before ~ orders.cust, orders.day
    share ~ orders.region
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    by_day = Window.partitionBy("cust").orderBy(F.col("day").desc())
    total = F.sum("amount").over(Window.partitionBy("region"))
    orders = spark.table("src.orders")
    before = F.lag("amount", 2).over(by_day).alias("before")
    orders.select("id", before, (F.col("amount") / total).alias("share")).write.saveAsTable(out)


@frame
def self_join_by_reference(spark: SparkSession, out: str, files: str) -> None:
    """
    # Spark gives the second use ids of its own.
    child = customers.name
    parent = customers.name
    * ~ customers.parent, customers.id
    """
    from pyspark.sql.functions import col

    people = spark.table("src.customers")
    pairs = people.alias("a").join(people.alias("b"), col("a.parent") == col("b.id"), "left_outer")
    pairs.select(col("a.name").alias("child"), col("b.name").alias("parent")).write.saveAsTable(out)


@frame
def series_iterator(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    v = orders.amount
    """

    def twice(batches: Iterator[pandas.Series]) -> Iterator[pandas.Series]:
        for each in batches:
            yield each * 2

    function = pandas_function(twice, "double")
    spark.table("src.orders").select("id", function("amount").alias("v")).write.saveAsTable(out)


@frame
def apply_in_arrow(spark: SparkSession, out: str, files: str) -> None:
    """
    region, amount = orders.region, orders.amount
    ! opaque
    """

    def same(group: pyarrow.Table) -> pyarrow.Table:
        return group

    orders = spark.table("src.orders").select("region", "amount")
    orders.groupBy("region").applyInArrow(same, "region string, amount double").write.saveAsTable(out)


@frame
def python_and_pandas_functions_mixed(spark: SparkSession, out: str, files: str) -> None:
    """
    a = orders.note
    b = orders.amount, orders.qty
    c = orders.region, orders.note
    """
    from pyspark.sql import functions as F

    def added(amount: pandas.Series, qty: pandas.Series) -> pandas.Series:
        return amount + qty

    loud = F.udf(lambda x: f"{x}!")
    both = F.udf(lambda x, y: f"{x}{y}")
    function = pandas_function(added, "double")
    orders = spark.table("src.orders")
    orders.select(
        loud("note").alias("a"), function("amount", "qty").alias("b"), both("region", loud("note")).alias("c")
    ).write.saveAsTable(out)


@frame
def batches_of_a_stream(spark: SparkSession, out: str, files: str) -> None:
    """
    # Each batch is written by the program's own function.
    -> <files/batches_in>
    id == orders
    v = orders.qty
    -> out.batches_of_a_stream
    id = [<files/batches_in>.id]
    w = [<files/batches_in>.v]
    ! unknown
    """

    def write(batch: DataFrame, number: int) -> None:
        batch.selectExpr("id", "v AS w").write.mode("append").saveAsTable(out)

    place = f"{files}/files"
    spark.table("src.orders").selectExpr("id", "qty AS v").write.parquet(f"{place}/batches_in")
    stream = spark.readStream.schema("id int, v int").parquet(f"{place}/batches_in")
    writer = stream.writeStream.option("checkpointLocation", f"{place}/batches_state")
    writer.trigger(availableNow=True).foreachBatch(write).start().awaitTermination()


@frame
def aggregate_pushed_down(spark: SparkSession, out: str, files: str) -> None:
    """
    # The newer sources compute the aggregate themselves.
    -> <files/pushed>
    id == orders
    v = orders.qty
    -> out.aggregate_pushed_down
    top = <files/pushed>.v
    n =
    """
    spark.table("src.orders").selectExpr("id", "qty AS v").write.parquet(f"{files}/files/pushed")
    settings = {"spark.sql.sources.useV1SourceList": "", "spark.sql.parquet.aggregatePushdown": "true"}
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        read = spark.read.parquet(f"{files}/files/pushed")
        read.selectExpr("max(v) AS top", "count(*) AS n").write.saveAsTable(out)
    finally:
        for key in settings:
            spark.conf.unset(key)


@frame
def jdbc_query(spark: SparkSession, out: str, files: str) -> None:
    """
    # The database's own query: what is read is its result, or, for who knows the query's text, the table behind it.
    -> <jdbc/marks>
    id == orders
    v = orders.amount
    -> out.jdbc_query
    id = [<jdbc/marks>.id], [<jdbc/(select "id", "v" from marks) as q>.id]
    w = [<jdbc/marks>.v], [<jdbc/(select "id", "v" from marks) as q>.v]
    ! unknown
    """
    url = f"jdbc:derby:;databaseName={files}/marks;create=true"
    options = {"driver": "org.apache.derby.jdbc.EmbeddedDriver"}
    spark.table("src.orders").selectExpr("id", "amount AS v").write.jdbc(url, "marks", properties=options)
    read = spark.read.jdbc(url, '(SELECT "id", "v" FROM marks) AS q', properties=options)
    read.selectExpr("id", "v AS w").write.saveAsTable(out)


@frame
def nothing_written(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    """
    spark.table("src.orders").select("id").write.format("noop").mode("overwrite").save()
    spark.table("src.orders").select("id").write.saveAsTable(out)
