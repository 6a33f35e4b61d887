import pandas as pd
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.getOrCreate()


def totals(customers: pd.DataFrame, orders: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {"who": customers["name"].head(1), "total": [orders["amount"].sum()] * len(customers.head(1))}
    )


cust, orders = spark.table("src.cust"), spark.table("src.orders")
(
    cust.groupBy("id")
    .cogroup(orders.groupBy("cust_id"))
    .applyInPandas(totals, "who string, total double")
    .observe("seen", F.count(F.lit(1)).alias("n"))
    .write.mode("overwrite")
    .orc("/data/unseen/files/d_cogroup")
)
