"""Statements of DataFrames over tables of 150 columns, at Spark's own limit of 25 fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench._referee_frames import frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ALL = [f"c{at}" for at in range(146)]


@frame
def unseen_columns_added_in_a_loop(spark: SparkSession, out: str, files: str) -> None:
    """
    k == broad
    c{0..59} = broad.c{0..59}, broad.c{@+1}
    c60 == broad
    """
    from pyspark.sql.functions import col

    broad = spark.table("src.broad").select("k", *_ALL[:61])
    for at in range(60):
        broad = broad.withColumn(f"c{at}", col(f"c{at}") + col(f"c{at + 1}"))
    broad.write.saveAsTable(out)


@frame
def unseen_columns_chained_in_a_loop(spark: SparkSession, out: str, files: str) -> None:
    """
    # Each is made of the one before.
    v0 = broad.c0
    v1 = broad.c0, broad.c1
    v2 = broad.c0, broad.c1, broad.c2
    v3 = broad.c0, broad.c1, broad.c2, broad.c3
    v4 = broad.c0, broad.c1, broad.c2, broad.c3, broad.c4
    c{100..145} = broad.c{100..145}
    """
    from pyspark.sql.functions import col

    broad = spark.table("src.broad").withColumn("v0", col("c0"))
    for at in range(1, 5):
        broad = broad.withColumn(f"v{at}", col(f"v{at - 1}") + col(f"c{at}"))
    broad.select(*(f"v{at}" for at in range(5)), *_ALL[100:]).write.saveAsTable(out)


@frame
def unseen_columns_renamed_in_a_loop(spark: SparkSession, out: str, files: str) -> None:
    """
    k, is_deleted, day, region == broad
    `src.c{0..145}` = broad.c{0..145}
    """
    broad = spark.table("src.broad")
    for name in _ALL:
        broad = broad.withColumnRenamed(name, f"src.{name}")
    broad.write.saveAsTable(out)


@frame
def unseen_columns_renumbered(spark: SparkSession, out: str, files: str) -> None:
    """
    # Each takes the name of its neighbour.
    c0 = broad.c145
    c{1..145} = broad.c{@-1}
    """
    spark.table("src.broad").select(*_ALL).toDF(*_ALL[1:], "c0").write.saveAsTable(out)


@frame
def unseen_columns_dropped(spark: SparkSession, out: str, files: str) -> None:
    """
    k, day == broad
    c{50..145} = broad.c{50..145}
    """
    spark.table("src.broad").drop("is_deleted", "region", *_ALL[:50]).write.saveAsTable(out)


@frame
def unseen_broad_united_by_name(spark: SparkSession, out: str, files: str) -> None:
    """
    k = broad.k, broad_old.k
    is_deleted = broad.is_deleted, broad_old.is_deleted
    day = broad.day, broad_old.day
    region = broad.region, broad_old.region
    c{0..145} = broad.c{0..145}, broad_old.c{0..145}
    """
    new, old = spark.table("src.broad"), spark.table("src.broad_old")
    new.unionByName(old.select(*reversed(old.columns))).write.saveAsTable(out)


@frame
def unseen_broad_united_with_missing(spark: SparkSession, out: str, files: str) -> None:
    """
    k = broad.k, broad_old.k
    c{0..49} = broad.c{0..49}
    c{50..99} = broad.c{50..99}, broad_old.c{50..99}
    c{100..145} = broad_old.c{100..145}
    """
    first = spark.table("src.broad").select("k", *_ALL[:100])
    second = spark.table("src.broad_old").select(*reversed(_ALL[50:]), "k")
    first.unionByName(second, allowMissingColumns=True).write.saveAsTable(out)


@frame
def unseen_broad_once_a_key(spark: SparkSession, out: str, files: str) -> None:
    """
    k, is_deleted, day, region == broad
    c{0..145} = broad.c{0..145}
    c{0..145} ~ broad.k
    """
    spark.table("src.broad").dropDuplicates(["k"]).write.saveAsTable(out)


@frame
def unseen_broad_once_a_key_of_a_join(spark: SparkSession, out: str, files: str) -> None:
    """
    k == broad
    c{0..79} = broad.c{0..79}
    d{0..79} = broad_text.d{0..79}
    c{0..79} ~ broad.k, broad_text.k
    d{0..79} ~ broad.k, broad_text.k
    """
    broad, text = spark.table("src.broad"), spark.table("src.broad_text")
    joined = broad.join(text, "k").dropDuplicates(["k", "region"])
    joined.select("k", *_ALL[:80], *(f"d{at}" for at in range(80))).write.saveAsTable(out)


@frame
def unseen_broad_filled(spark: SparkSession, out: str, files: str) -> None:
    """
    k, is_deleted, day, region == broad
    c{0..145} = broad.c{0..145}
    """
    spark.table("src.broad").fillna(0).fillna({"region": "none"}).write.saveAsTable(out)


@frame
def unseen_broad_replaced(spark: SparkSession, out: str, files: str) -> None:
    """
    k == broad
    c{0..59} = broad.c{0..59}
    region == broad
    """
    broad = spark.table("src.broad").select("k", *_ALL[:60], "region")
    broad = broad.replace([1, 2], [100, 200], _ALL[:60]).replace("north", "n", ["region"])
    broad.write.saveAsTable(out)


@frame
def unseen_broad_described(spark: SparkSession, out: str, files: str) -> None:
    """
    summary =
    c{0..49} = broad.c{0..49}
    """
    spark.table("src.broad").describe(*_ALL[:50]).write.saveAsTable(out)


@frame
def unseen_broad_summed(spark: SparkSession, out: str, files: str) -> None:
    """
    region == broad
    s{0..59} = broad.c{0..59}
    s{0..59} ~ broad.region
    u{60..69} = broad.c{60..69}
    u{60..69} ~ broad.region
    """
    from pyspark.sql import functions as F

    aggregates = [F.sum(f"c{at}").alias(f"s{at}") for at in range(60)]
    aggregates += [F.countDistinct(f"c{at}").alias(f"u{at}") for at in range(60, 70)]
    spark.table("src.broad").groupBy("region").agg(*aggregates).write.saveAsTable(out)


@frame
def unseen_broad_over_windows(spark: SparkSession, out: str, files: str) -> None:
    """
    k == broad
    w{0..59} = broad.c{0..59}
    w{0..59} ~ broad.region, broad.day
    m{60..79} = broad.c{60..79}
    m{60..79} ~ broad.is_deleted
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    by_day, by_flag = Window.partitionBy("region").orderBy("day"), Window.partitionBy("is_deleted")
    columns = [F.sum(f"c{at}").over(by_day).alias(f"w{at}") for at in range(60)]
    columns += [F.max(f"c{at}").over(by_flag).alias(f"m{at}") for at in range(60, 80)]
    spark.table("src.broad").select("k", *columns).write.saveAsTable(out)


@frame
def unseen_broad_pivoted(spark: SparkSession, out: str, files: str) -> None:
    """
    day == broad
    north_s{0..29} = broad.c{0..29}
    south_s{0..29} = broad.c{0..29}
    north_s{0..29} ~ broad.region, broad.day
    south_s{0..29} ~ broad.region, broad.day
    """
    from pyspark.sql import functions as F

    grouped = spark.table("src.broad").groupBy("day").pivot("region", ["north", "south"])
    grouped.agg(*(F.sum(f"c{at}").alias(f"s{at}") for at in range(30))).write.saveAsTable(out)


@frame
def unseen_broad_melted(spark: SparkSession, out: str, files: str) -> None:
    """
    k, region == broad
    name =
    v = broad.c{0..99}
    """
    spark.table("src.broad").melt(("k", "region"), tuple(_ALL[:100]), "name", "v").write.saveAsTable(out)


@frame
def unseen_broad_cached_and_joined(spark: SparkSession, out: str, files: str) -> None:
    """
    k == broad
    x{0..59} = broad.c{0..59}
    y{60..119} = broad_old.c{60..119}
    * ~ broad.k, broad_old.k, broad.is_deleted
    """
    from pyspark.sql.functions import col

    new = spark.table("src.broad").where("NOT is_deleted").cache()
    old = spark.table("src.broad_old").cache()
    new.count()
    joined = new.alias("n").join(old.alias("o"), "k")
    first = [col(f"n.c{at}").alias(f"x{at}") for at in range(60)]
    joined.select("k", *first, *(col(f"o.c{at}").alias(f"y{at}") for at in range(60, 120))).write.saveAsTable(
        out
    )
    new.unpersist()
    old.unpersist()


@frame
def unseen_two_caches_of_broad(spark: SparkSession, out: str, files: str) -> None:
    """
    k == broad
    c{0..69} = broad.c{0..69}
    c{70..139} = broad.c{70..139}
    * ~ broad.k
    """
    broad = spark.table("src.broad")
    left, right = broad.select("k", *_ALL[:70]).cache(), broad.select(*_ALL[70:140], "k").cache()
    left.join(right, "k").write.saveAsTable(out)
    left.unpersist()
    right.unpersist()


@frame
def unseen_broad_place_read_twice(spark: SparkSession, out: str, files: str) -> None:
    """
    -> <files/unseen_broad_place>
    k, is_deleted, day, region == broad
    c{0..145} = broad.c{0..145}
    -> out.unseen_broad_place_read_twice
    k = <files/unseen_broad_place>.k
    c{0..49} = <files/unseen_broad_place>.c{0..49}
    c{100..145} = <files/unseen_broad_place>.c{100..145}
    * ~ <files/unseen_broad_place>.k
    """
    place = f"{files}/files/unseen_broad_place"
    spark.table("src.broad").write.parquet(place)
    left = spark.read.parquet(place).drop("is_deleted", "day", "region", *_ALL[50:])
    right = spark.read.parquet(place).drop("is_deleted", "day", "region", *_ALL[:100])
    left.join(right, "k", "left").write.saveAsTable(out)


@frame
def unseen_broad_by_days(spark: SparkSession, out: str, files: str) -> None:
    """
    k, is_deleted == broad
    c{0..145} = broad.c{0..145}
    day, region == broad
    """
    spark.table("src.broad").write.partitionBy("day", "region").saveAsTable(out)


@frame
def unseen_broad_inserted_by_position(spark: SparkSession, out: str, files: str) -> None:
    """
    v{0..99} = broad.c{@+46}
    """
    spark.sql(f"CREATE TABLE {out} ({', '.join(f'v{at} INT' for at in range(100))}) USING parquet")
    spark.table("src.broad").select(*_ALL[46:]).write.insertInto(out)


@frame
def unseen_broad_nested_changed(spark: SparkSession, out: str, files: str) -> None:
    """
    k == broad_nested
    c{1..60} = broad_nested.c{1..60}
    doc = broad_nested.doc, broad_nested.c1, broad_nested.c2
    lines = broad_nested.lines
    """
    from pyspark.sql import functions as F

    doc = (
        F.col("doc")
        .withField("a", F.col("c1") * F.col("c2"))
        .withField("b.d", F.upper("doc.b.d"))
        .dropFields("e")
    )
    lines = F.transform("lines", lambda line: line.withField("total", line["qty"] * line["price"]))
    spark.table("src.broad_nested").withColumns({"doc": doc, "lines": lines}).write.saveAsTable(out)


@frame
def unseen_broad_lines_exploded(spark: SparkSession, out: str, files: str) -> None:
    """
    k == broad_nested
    c{1..60} = broad_nested.c{1..60}
    at = [broad_nested.lines]
    sku = broad_nested.lines
    h = broad_nested.c{1..60}
    """
    from pyspark.sql import functions as F

    nested = spark.table("src.broad_nested").select("*", F.posexplode("lines").alias("at", "line"))
    hashed = F.xxhash64(*(f"c{at}" for at in range(1, 61)))
    nested.select(
        "k", *(f"c{at}" for at in range(1, 61)), "at", "line.sku", hashed.alias("h")
    ).write.saveAsTable(out)


@frame
def unseen_broad_to_json_lines(spark: SparkSession, out: str, files: str) -> None:
    """
    -> <files/unseen_lines>
    value = broad.k, broad.region
    value = broad.c{0..145}
    """
    from pyspark.sql import functions as F

    packed = F.to_json(F.struct("k", "region", *_ALL)).alias("value")
    spark.table("src.broad").select(packed).write.text(f"{files}/files/unseen_lines")


@frame
def unseen_broad_top(spark: SparkSession, out: str, files: str) -> None:
    """
    k == broad
    c{0..145} = broad.c{0..145}
    """
    broad = spark.table("src.broad").select("k", *_ALL)
    broad.orderBy("c3", broad["c77"].desc()).limit(10).write.saveAsTable(out)


@frame
def unseen_broad_case_in_a_loop(spark: SparkSession, out: str, files: str) -> None:
    """
    k == broad
    c{0..59} = broad.c{0..59}, (broad.is_deleted)
    """
    from pyspark.sql import functions as F

    broad = spark.table("src.broad").select("k", "is_deleted", *_ALL[:60])
    for name in _ALL[:60]:
        broad = broad.withColumn(name, F.when(F.col("is_deleted"), F.lit(None)).otherwise(F.col(name)))
    broad.drop("is_deleted").write.saveAsTable(out)
