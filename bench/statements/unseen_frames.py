"""Statements of DataFrames: name resolution, SQL in programs, joins and sets, writers."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from bench._referee_frames import frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


# -- Name resolution ----------------------------------------------------------------------------------------------------


@frame
def unseen_use_then_save_as_table(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    v = orders.amount, orders.qty
    """
    orders = spark.table("src.orders").selectExpr("id", "amount * qty AS v")
    spark.catalog.setCurrentDatabase("out")
    try:
        orders.write.saveAsTable("unseen_use_then_save_as_table")
    finally:
        spark.catalog.setCurrentDatabase("src")


@frame
def unseen_use_then_insert_into(spark: SparkSession, out: str, files: str) -> None:
    """
    # By position.
    a = orders.qty
    b = orders.id
    """
    spark.sql(f"CREATE TABLE {out} (a INT, b INT) USING parquet")
    orders = spark.table("orders").selectExpr("qty AS b", "id AS a")
    spark.sql("USE out")
    try:
        orders.write.insertInto("unseen_use_then_insert_into")
    finally:
        spark.sql("USE src")


@frame
def unseen_use_then_append_and_read(spark: SparkSession, out: str, files: str) -> None:
    """
    -> out.unseen_appended
    id = orders.id, archive.id
    v = orders.qty, archive.qty
    -> out.unseen_use_then_append_and_read
    id = out.unseen_appended.id
    total = out.unseen_appended.v
    total ~ out.unseen_appended.id
    """
    spark.sql("USE out")
    try:
        spark.sql("SELECT id, qty AS v FROM src.orders").write.mode("overwrite").saveAsTable(
            "unseen_appended"
        )
        spark.sql("SELECT qty AS v, id FROM src.archive").write.mode("append").saveAsTable("unseen_appended")
        spark.table("unseen_appended").groupBy("id").agg({"v": "sum"}).withColumnRenamed(
            "sum(v)", "total"
        ).write.saveAsTable("unseen_use_then_append_and_read")
    finally:
        spark.sql("USE src")


@frame
def unseen_global_view_from_a_frame(spark: SparkSession, out: str, files: str) -> None:
    """
    city == customers
    n = orders.id
    n ~ customers.city, orders.cust, customers.id
    """
    orders = spark.table("src.orders").join(
        spark.table("src.customers").withColumnRenamed("id", "cust"), "cust"
    )
    orders.createOrReplaceGlobalTempView("unseen_shared")
    query = "SELECT city, count(id) AS n FROM global_temp.unseen_shared GROUP BY city"
    spark.newSession().sql(f"CREATE TABLE {out} AS {query}")
    spark.catalog.dropGlobalTempView("unseen_shared")


# -- Statements in programs --------------------------------------------------------------------------------------------


@frame
def unseen_named_parameters(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    v = orders.amount
    * ~ orders.region, orders.qty
    """
    spark.sql(
        "SELECT id, amount * :rate AS v FROM IDENTIFIER(:source) WHERE region = :region AND qty > :least",
        args={"rate": 1.5, "source": "src.orders", "region": "north", "least": 0},
    ).write.saveAsTable(out)


@frame
def unseen_frames_as_parameters(spark: SparkSession, out: str, files: str) -> None:
    """
    name == customers
    total = orders.amount
    total ~ orders.cust, customers.id, customers.name
    """
    spark.sql(
        "SELECT c.name, sum(o.amount) AS total FROM {o} o JOIN {c} c ON o.cust = c.id GROUP BY c.name",
        o=spark.table("src.orders").select("cust", "amount"),
        c=spark.table("src.customers"),
    ).write.saveAsTable(out)


@frame
def unseen_script_of_sql(spark: SparkSession, out: str, files: str) -> None:
    """
    id = orders.id, archive.id
    v = orders.amount, archive.amount
    """
    spark.sql(f"CREATE TABLE {out} (id INT, v DOUBLE) USING parquet")
    script = f"""
        BEGIN
          DECLARE least INT DEFAULT 0;
          IF least = 0 THEN
            INSERT INTO {out} SELECT id, amount FROM src.orders WHERE qty > least;
          END IF;
          FOR each AS SELECT 1 AS n DO
            INSERT INTO {out} SELECT id, amount FROM src.archive WHERE qty > each.n - 1;
          END FOR;
        END
        """  # noqa: S608
    spark.sql(script)


# -- Joins and sets ----------------------------------------------------------------------------------------------------


@frame
def unseen_merge_of_frames(spark: SparkSession, out: str, files: str) -> None:
    """
    key = people.key, changes.key
    name = people.name, changes.name
    city = people.city, changes.city
    since = people.valid_from, changes.day
    * ~ people.key, changes.key
    """
    from pyspark.sql import functions as F

    old, new = spark.table("src.people").alias("o"), spark.table("src.changes").alias("n")
    joined = old.join(new, F.col("o.key") == F.col("n.key"), "full_outer")
    joined.select(
        *(F.coalesce(F.col(f"n.{name}"), F.col(f"o.{name}")).alias(name) for name in ("key", "name", "city")),
        F.coalesce("n.day", "o.valid_from").alias("since"),
    ).write.saveAsTable(out)


@frame
def unseen_sets_nested(spark: SparkSession, out: str, files: str) -> None:
    """
    id = orders.id, [archive.id], [items.order_id]
    qty = orders.qty, [archive.qty], [items.qty]
    """
    orders, archive = (
        spark.table("src.orders").select("id", "qty"),
        spark.table("src.archive").select("id", "qty"),
    )
    items = spark.table("src.items").selectExpr("order_id AS id", "qty")
    orders.exceptAll(archive.intersectAll(items)).subtract(items).write.saveAsTable(out)


@frame
def unseen_many_frames_united(spark: SparkSession, out: str, files: str) -> None:
    """
    id = orders.id, archive.id, customers.id
    what =
    """
    parts = [
        spark.table(f"src.{name}").selectExpr("id", f"'{name}#{at}' AS what")
        for at, name in enumerate(["orders", "archive", "customers"] * 3)
    ]
    united: DataFrame = reduce(lambda left, right: left.unionAll(right), parts)
    united.write.saveAsTable(out)


@frame
def unseen_self_joins_by_alias(spark: SparkSession, out: str, files: str) -> None:
    """
    a, b, c = customers.name
    city == customers
    * ~ customers.id, customers.parent
    """
    from pyspark.sql.functions import col

    one, two, three = (spark.table("src.customers").alias(name) for name in "xyz")
    joined = one.join(two, col("x.parent") == col("y.id"), "left").join(
        three, col("y.parent") == col("z.id"), "left"
    )
    joined.select(
        col("x.name").alias("a"), col("y.name").alias("b"), col("z.name").alias("c"), col("y.city")
    ).write.saveAsTable(out)


@frame
def unseen_joined_and_dropped(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    name = customers.name
    city = customers.city
    owner = targets.owner
    * ~ orders.cust, customers.id, orders.region, targets.region
    """
    orders, customers, targets = (spark.table(f"src.{name}") for name in ("orders", "customers", "targets"))
    joined = (
        orders.join(customers, orders.cust == customers.id).drop(customers.id).join(targets, "region", "left")
    )
    joined.drop("amount", "qty", "day", "note", "cust", "parent", "vip", "goal", "region").write.saveAsTable(
        out
    )


@frame
def unseen_split_and_united(spark: SparkSession, out: str, files: str) -> None:
    """
    id, v = orders.id, orders.amount
    """
    orders = spark.table("src.orders").selectExpr("id", "amount AS v")
    first, second = orders.randomSplit([0.5, 0.5], seed=3)
    first.union(second.selectExpr("CAST(v AS INT)", "CAST(id AS DOUBLE)")).write.saveAsTable(out)


@frame
def unseen_tail_of_a_sort(spark: SparkSession, out: str, files: str) -> None:
    """
    id, note == orders
    """
    spark.table("src.orders").orderBy("day", "amount").offset(1).limit(2).select(
        "id", "note"
    ).write.saveAsTable(out)


@frame
def unseen_crosstab(spark: SparkSession, out: str, files: str) -> None:
    """
    # Counts by a pivot: the first column's name is made of both.
    cust_region = orders.cust
    n =
    n ~ orders.cust, orders.region
    """
    crossed = spark.table("src.orders").stat.crosstab("cust", "region")
    first, *rest = crossed.columns
    crossed.selectExpr(first, f"{' + '.join(rest)} AS n").write.saveAsTable(out)


# -- Writers -----------------------------------------------------------------------------------------------------------


@frame
def unseen_all_formats(spark: SparkSession, out: str, files: str) -> None:
    """
    -> <files/unseen_a.json>
    id = orders.id
    v = orders.amount
    -> <files/unseen_b.csv>
    id = <files/unseen_a.json>.id
    w = <files/unseen_a.json>.v
    -> <files/unseen_c.orc>
    x = <files/unseen_b.csv>.w
    -> <files/unseen_d.text>
    value = <files/unseen_c.orc>.x
    -> out.unseen_all_formats
    z = <files/unseen_d.text>.value
    """
    place = f"{files}/files/unseen"
    spark.table("src.orders").selectExpr("id", "amount AS v").write.json(f"{place}_a.json")
    spark.read.json(f"{place}_a.json").selectExpr("id", "v AS w").write.csv(f"{place}_b.csv", header=True)
    spark.read.csv(f"{place}_b.csv", header=True, inferSchema=True).selectExpr("w AS x").write.orc(
        f"{place}_c.orc"
    )
    spark.read.orc(f"{place}_c.orc").selectExpr("CAST(x AS STRING) AS value").write.text(f"{place}_d.text")
    spark.read.text(f"{place}_d.text").selectExpr("upper(value) AS z").write.saveAsTable(out)


@frame
def unseen_dynamic_overwrite(spark: SparkSession, out: str, files: str) -> None:
    """
    -> <files/unseen_parts>
    id, amount, region, day == orders
    * ~ orders.id
    -> out.unseen_dynamic_overwrite
    total = <files/unseen_parts>.amount
    region = <files/unseen_parts>.region
    * ~ <files/unseen_parts>.day
    """
    place = f"{files}/files/unseen_parts"
    orders = spark.table("src.orders").select("id", "amount", "region", "day")
    orders.write.partitionBy("region", "day").parquet(place)
    writer = orders.where("id > 1").write
    writer.mode("overwrite").option("partitionOverwriteMode", "dynamic").partitionBy("region", "day").parquet(
        place
    )
    read = spark.read.parquet(place).where("day >= DATE'2026-01-02'")
    read.groupBy("region").agg({"amount": "sum"}).withColumnRenamed("sum(amount)", "total").write.saveAsTable(
        out
    )


@frame
def unseen_buckets_joined(spark: SparkSession, out: str, files: str) -> None:
    """
    -> out.unseen_bucket_a
    id, amount == orders
    -> out.unseen_bucket_b
    id = items.order_id
    price == items
    -> out.unseen_buckets_joined
    id = out.unseen_bucket_a.id
    v = out.unseen_bucket_a.amount, out.unseen_bucket_b.price
    * ~ out.unseen_bucket_a.id, out.unseen_bucket_b.id
    """
    first = spark.table("src.orders").select("id", "amount")
    second = spark.table("src.items").selectExpr("order_id AS id", "price")
    first.write.bucketBy(2, "id").sortBy("id").saveAsTable("out.unseen_bucket_a")
    second.write.bucketBy(2, "id").sortBy("id").saveAsTable("out.unseen_bucket_b")
    joined = spark.table("out.unseen_bucket_a").join(spark.table("out.unseen_bucket_b"), "id")
    joined.selectExpr("id", "amount * price AS v").write.saveAsTable(out)


@frame
def unseen_table_appended_to_itself(spark: SparkSession, out: str, files: str) -> None:
    """
    # Made, then appended to by what was read from it.
    id = orders.id, out.unseen_table_appended_to_itself.id
    v = orders.qty, out.unseen_table_appended_to_itself.v
    """
    spark.table("src.orders").selectExpr("id", "qty AS v").write.saveAsTable(out)
    spark.table(out).selectExpr("id", "v + 1 AS v").write.insertInto(out)


@frame
def unseen_written_to_a_table(spark: SparkSession, out: str, files: str) -> None:
    """
    id, region == orders
    v = orders.amount
    """
    from pyspark.sql.functions import col

    orders = spark.table("src.orders").selectExpr("id", "amount AS v", "region")
    orders.writeTo(out).using("parquet").partitionedBy(col("region")).create()
