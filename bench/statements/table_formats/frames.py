"""Frames that write tables of either format."""
# ruff: noqa: S608

from __future__ import annotations

from typing import TYPE_CHECKING

from bench._referee_frames import frame, table_format

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@frame
def save_as_table(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    v = orders.amount
    """
    spark.table("orders").selectExpr("id", "amount AS v").write.format(table_format(spark)).saveAsTable(out)


@frame
def write_to_create(spark: SparkSession, out: str, files: str) -> None:
    """
    id == orders
    v = orders.amount
    """
    spark.table("orders").selectExpr("id", "amount AS v").writeTo(out).using(table_format(spark)).create()


@frame
def chain(spark: SparkSession, out: str, files: str) -> None:
    """
    -> {out_a}
    id == orders
    v = orders.amount
    -> {out_b}
    id = {out_a}.id
    w = {out_a}.v
    -> {out}
    key = {out_b}.id
    w = {out_b}.w
    """
    spark.table("orders").selectExpr("id", "amount AS v").write.format(table_format(spark)).saveAsTable(
        f"{out}_a"
    )
    spark.sql(f"CREATE TABLE {out}_b USING {table_format(spark)} AS SELECT id, v + 1 AS w FROM {out}_a")
    spark.table(f"{out}_b").selectExpr("id AS key", "w").writeTo(out).using(table_format(spark)).create()
