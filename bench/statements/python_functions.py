"""Statements with Python functions, whose arguments are known but whose use of the arguments is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pandas
import pyarrow

from bench._referee_frames import frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# -- Python functions ---------------------------------------------------------------------------------------------------


@frame
def python_udf(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    v = orders.amount, orders.qty
    """
    from pyspark.sql.functions import udf

    price = udf(lambda amount, qty: (amount or 0.0) * qty, "double")
    orders = spark.table("src.orders")
    orders.select("id", price("amount", "qty").alias("v")).write.saveAsTable(out)


@frame
def python_udfs_nested(spark: SparkSession, out: str, files: str) -> None:
    """
    a = orders.note
    b = orders.note, orders.region
    c = orders.qty
    """
    from pyspark.sql.functions import udf

    once, both = udf(lambda x: f"{x}!"), udf(lambda x, y: f"{x}{y}")
    orders = spark.table("src.orders")
    orders.select(
        once("note").alias("a"), both(once("note"), "region").alias("b"), once("qty").alias("c")
    ).write.saveAsTable(out)


@frame
def python_udf_in_filter(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    * ~ orders.note
    """
    from pyspark.sql.functions import udf

    short = udf(lambda x: len(x or "") < 3, "boolean")
    spark.table("src.orders").where(short("note")).select("id").write.saveAsTable(out)


@frame
def python_udf_over_aggregate(spark: SparkSession, out: str, files: str) -> None:
    """
    region == orders
    v = orders.amount
    v ~ orders.region
    """
    from pyspark.sql import functions as F

    twice = F.udf(lambda x: (x or 0.0) * 2, "double")
    totals = spark.table("src.orders").groupBy("region").agg(F.sum("amount").alias("total"))
    totals.select("region", twice("total").alias("v")).write.saveAsTable(out)


@frame
def python_udf_registered(spark: SparkSession, out: str, files: str) -> None:
    """
    v = orders.region
    w = customers.name
    * ~ orders.cust, customers.id
    """
    spark.udf.register("shout", lambda x: f"{x}!")
    shouted = spark.sql(
        "SELECT shout(o.region) AS v, shout(c.name) AS w FROM src.orders o JOIN src.customers c ON o.cust = c.id"
    )
    shouted.write.saveAsTable(out)


@frame
def python_udtf(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    word = orders.note
    """
    from pyspark.sql import functions

    udtf: Any = functions.udtf  # the overloads do not allow a decorator of a decorator

    class Words:
        def eval(self, text: str | None) -> Iterator[tuple[str]]:
            for word in (text or "").split():
                yield (word,)

    spark.udtf.register("words", udtf(Words, returnType="word STRING"))
    split = spark.sql("SELECT o.id, w.word FROM src.orders o, LATERAL words(o.note) w")
    split.write.saveAsTable(out)


@frame
def many_python_udfs(spark: SparkSession, out: str, files: str) -> None:
    """
    v{1..20} = wide.c{1..20}
    """
    from pyspark.sql.functions import udf

    add = udf(lambda x: (x or 0) + 1, "int")
    spark.table("src.wide").select([add(f"c{n}").alias(f"v{n}") for n in range(1, 21)]).write.saveAsTable(out)


@frame
def too_many_python_udfs(spark: SparkSession, out: str, files: str) -> None:
    """
    v{1..30} = wide.c{1..30}
    ! unknown
    """
    from pyspark.sql.functions import udf

    add = udf(lambda x: (x or 0) + 1, "int")
    spark.table("src.wide").select([add(f"c{n}").alias(f"v{n}") for n in range(1, 31)]).write.saveAsTable(out)


# -- pandas -------------------------------------------------------------------------------------------------------------


def pandas_function(run: Callable[..., Any], returns: str) -> Any:
    """Return a pandas UDF of the kind given by the function's annotations. PySpark's overloads do not support
    these."""
    from pyspark.sql.pandas import functions

    make: Any = functions.pandas_udf
    return make(run, returns)


@frame
def pandas_udf_scalar(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    v = orders.amount
    w = orders.qty, orders.id
    """

    def twice(amount: pandas.Series) -> pandas.Series:
        return amount * 2

    def added(qty: pandas.Series, key: pandas.Series) -> pandas.Series:
        return qty + key

    one, two = pandas_function(twice, "double"), pandas_function(added, "long")
    orders = spark.table("src.orders")
    orders.select("id", one("amount").alias("v"), two("qty", "id").alias("w")).write.saveAsTable(out)


@frame
def pandas_udf_aggregating(spark: SparkSession, out: str, files: str) -> None:
    """
    region == orders
    v = orders.amount
    v ~ orders.region
    """

    def spread(amount: pandas.Series) -> float:
        return float(amount.max() - amount.min())

    measure = pandas_function(spread, "double")
    spark.table("src.orders").groupBy("region").agg(measure("amount").alias("v")).write.saveAsTable(out)


@frame
def pandas_udf_over_window(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    v = orders.amount
    v ~ orders.region
    """
    from pyspark.sql import Window

    def mean(amount: pandas.Series) -> float:
        return float(amount.mean())

    measure = pandas_function(mean, "double")
    orders = spark.table("src.orders")
    orders.select("id", measure("amount").over(Window.partitionBy("region")).alias("v")).write.saveAsTable(
        out
    )


@frame
def map_in_pandas(spark: SparkSession, out: str, files: str) -> None:
    """
    a, b = orders.id, orders.amount
    ! opaque
    """

    def swap(frames: Iterator[pandas.DataFrame]) -> Iterator[pandas.DataFrame]:
        for each in frames:
            yield pandas.DataFrame({"a": each["amount"], "b": each["id"]})

    spark.table("src.orders").select("id", "amount").mapInPandas(swap, "a double, b int").write.saveAsTable(
        out
    )


@frame
def map_in_arrow(spark: SparkSession, out: str, files: str) -> None:
    """
    id, note = orders.id, orders.note
    * ~ orders.qty
    ! opaque
    """

    def same(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        yield from batches

    orders = spark.table("src.orders").where("qty > 1").select("id", "note")
    orders.mapInArrow(same, "id int, note string").write.saveAsTable(out)


@frame
def apply_in_pandas(spark: SparkSession, out: str, files: str) -> None:
    """
    region, total = orders.region, orders.amount
    ! opaque
    """

    def total(group: pandas.DataFrame) -> pandas.DataFrame:
        return pandas.DataFrame({"region": group["region"][:1], "total": [group["amount"].sum()]})

    orders = spark.table("src.orders").select("region", "amount")
    orders.groupBy("region").applyInPandas(total, "region string, total double").write.saveAsTable(out)


@frame
def cogrouped(spark: SparkSession, out: str, files: str) -> None:
    """
    id, name = orders.cust, orders.amount, customers.id, customers.name
    ! opaque
    """

    def both(left: pandas.DataFrame, right: pandas.DataFrame) -> pandas.DataFrame:
        return right[["id", "name"]]

    orders = spark.table("src.orders").select("cust", "amount")
    customers = spark.table("src.customers").select("id", "name")
    grouped = orders.groupBy("cust").cogroup(customers.groupBy("id"))
    grouped.applyInPandas(both, "id int, name string").write.saveAsTable(out)


@frame
def rdd_round_trip(spark: SparkSession, out: str, files: str) -> None:
    """
    # Rows that were an RDD in between have no columns that anything tells.
    a = [orders.id]
    b = [orders.qty]
    ! unknown
    """
    rows = spark.table("src.orders").select("id", "qty").rdd.map(lambda row: (row[0], row[1]))
    spark.createDataFrame(rows, "a int, b int").write.saveAsTable(out)


@frame
def from_python_rows(spark: SparkSession, out: str, files: str) -> None:
    """
    a, b =
    """
    spark.createDataFrame([(1, "x"), (2, "y")], "a int, b string").write.saveAsTable(out)
