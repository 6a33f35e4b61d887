"""Statements that mix Python functions with Spark's own expressions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pandas
import pyarrow

from bench._referee_frames import frame
from bench.statements.python_functions import pandas_function

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@frame
def unseen_pandas_function_then_aggregate(spark: SparkSession, out: str, files: str) -> None:
    """
    region == orders
    total = orders.amount, orders.qty
    n = orders.note
    total, n ~ orders.region
    """
    from pyspark.sql import functions as F

    price = pandas_function(_product, "double")
    orders = spark.table("src.orders").withColumn("v", price("amount", "qty"))
    orders.groupBy("region").agg(
        F.sum("v").alias("total"), F.countDistinct("note").alias("n")
    ).write.saveAsTable(out)


def _product(amount: pandas.Series, qty: pandas.Series) -> pandas.Series:
    return amount.fillna(0) * qty


@frame
def unseen_map_in_pandas_then_join(spark: SparkSession, out: str, files: str) -> None:
    """
    key, value = orders.id, orders.amount, orders.cust
    name = customers.name
    * ~ customers.id
    ! opaque
    """

    def pairs(frames: Iterator[pandas.DataFrame]) -> Iterator[pandas.DataFrame]:
        for each in frames:
            yield pandas.DataFrame({"key": each["cust"], "value": each["amount"]})

    orders = spark.table("src.orders").select("id", "amount", "cust")
    mapped = orders.mapInPandas(pairs, "key int, value double")
    customers = spark.table("src.customers")
    mapped.join(customers, mapped.key == customers.id).select("key", "value", "name").write.saveAsTable(out)


@frame
def unseen_map_in_pandas_of_broad(spark: SparkSession, out: str, files: str) -> None:
    """
    k, total = broad.k
    k = broad.c{0..49}
    total = broad.c{0..49}
    ! opaque
    """

    def sums(frames: Iterator[pandas.DataFrame]) -> Iterator[pandas.DataFrame]:
        for each in frames:
            yield pandas.DataFrame({"k": each["k"], "total": each.drop(columns="k").sum(axis=1)})

    broad = spark.table("src.broad").select("k", *(f"c{at}" for at in range(50)))
    broad.mapInPandas(sums, "k int, total long").write.saveAsTable(out)


@frame
def unseen_apply_in_pandas_of_a_join(spark: SparkSession, out: str, files: str) -> None:
    """
    name, best = customers.name, orders.amount
    * ~ customers.id, orders.cust
    ! opaque
    """

    def best(group: pandas.DataFrame) -> pandas.DataFrame:
        return pandas.DataFrame({"name": group["name"][:1], "best": [group["amount"].max()]})

    joined = spark.table("src.orders").join(
        spark.table("src.customers").withColumnRenamed("id", "cust"), "cust"
    )
    selected = joined.select("name", "amount")
    selected.groupBy("name").applyInPandas(best, "name string, best double").write.saveAsTable(out)


@frame
def unseen_cogroup_with_a_union(spark: SparkSession, out: str, files: str) -> None:
    """
    id, v, source = orders.id, orders.qty, archive.id, archive.qty, items.order_id, items.price
    ! opaque
    """

    def merged(left: pandas.DataFrame, right: pandas.DataFrame) -> pandas.DataFrame:
        return pandas.DataFrame({"id": left["id"], "v": left["qty"] + len(right), "source": "both"})

    left = spark.table("src.orders").select("id", "qty").union(spark.table("src.archive").select("id", "qty"))
    right = spark.table("src.items").selectExpr("order_id AS id", "price")
    grouped = left.groupBy("id").cogroup(right.groupBy("id"))
    grouped.applyInPandas(merged, "id int, v int, source string").write.saveAsTable(out)


@frame
def unseen_grouped_then_arrow(spark: SparkSession, out: str, files: str) -> None:
    """
    region, n = orders.region, orders.qty
    ! opaque
    """

    def count(table: pyarrow.Table) -> pyarrow.Table:
        return pyarrow.table({"region": table["region"].slice(0, 1), "n": [table.num_rows]})

    orders = spark.table("src.orders").select("region", "qty")
    orders.groupBy("region").applyInArrow(count, "region string, n long").write.saveAsTable(out)


@frame
def unseen_table_function_of_rows(spark: SparkSession, out: str, files: str) -> None:
    """
    # What a function of Python makes of its arguments.
    id == orders
    word, size = orders.note, orders.region
    """
    from pyspark.sql import functions

    udtf: Any = functions.udtf  # the overloads do not allow a decorator of a decorator

    class Words:
        def eval(self, note: str | None, region: str) -> Iterator[tuple[str, int]]:
            for word in f"{note} {region}".split():
                yield word, len(word)

    spark.udtf.register("unseen_words_of", udtf(Words, returnType="word string, size int"))
    spark.sql(
        "SELECT o.id, w.word, w.size FROM src.orders o, LATERAL unseen_words_of(o.note, o.region) w"
    ).write.saveAsTable(out)


@frame
def unseen_table_function_of_a_table(spark: SparkSession, out: str, files: str) -> None:
    """
    region, total = orders.region, orders.qty
    ! opaque
    """
    from pyspark.sql import Row, functions

    udtf: Any = functions.udtf  # the overloads do not allow a decorator of a decorator

    class Totals:
        def __init__(self) -> None:
            self.region, self.total = "", 0

        def eval(self, row: Row) -> None:
            self.region, self.total = row["region"], self.total + row["qty"]

        def terminate(self) -> Iterator[tuple[str, int]]:
            yield self.region, self.total

    spark.udtf.register("unseen_totals_of", udtf(Totals, returnType="region string, total int"))
    spark.sql(
        "SELECT * FROM unseen_totals_of(TABLE(SELECT region, qty FROM src.orders) PARTITION BY region)"
    ).write.saveAsTable(out)


@frame
def unseen_python_functions_in_a_loop(spark: SparkSession, out: str, files: str) -> None:
    """
    k == broad
    p{0..39} = broad.c{0..39}
    c{40..79} = broad.c{40..79}
    """
    from pyspark.sql.functions import udf

    more = udf(lambda value: (value or 0) + 1, "int")
    broad = spark.table("src.broad").select("k", *(f"c{at}" for at in range(80)))
    for at in range(40):
        broad = broad.withColumn(f"p{at}", more(f"c{at}")).drop(f"c{at}")
    broad.write.saveAsTable(out)


@frame
def unseen_python_function_over_a_hundred(spark: SparkSession, out: str, files: str) -> None:
    """
    k == broad
    h = broad.c{0..99}
    * ~ broad.is_deleted
    """
    from pyspark.sql.functions import udf

    total = udf(lambda *values: str(sum(each or 0 for each in values)), "string")
    broad = spark.table("src.broad").where("NOT is_deleted")
    broad.select("k", total(*(f"c{at}" for at in range(100))).alias("h")).write.saveAsTable(out)


@frame
def unseen_arrow_function_beside_a_window(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    v = orders.amount
    r = orders.qty
    r ~ orders.region, orders.amount
    """
    from pyspark.sql import Window
    from pyspark.sql.functions import lag, udf

    twice = udf(lambda value: None if value is None else value * 2, "double", useArrow=True)
    orders = spark.table("src.orders").withColumn("v", twice("amount"))
    window = Window.partitionBy("region").orderBy("v")
    orders.select("id", "v", lag("qty").over(window).alias("r")).write.saveAsTable(out)
