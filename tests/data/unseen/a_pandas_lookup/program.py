import pandas as pd
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.getOrCreate()

places = pd.DataFrame(spark.table("src.cust").select("id", "city").toPandas())
places["city"] = places["city"].str.upper()
lookup = spark.createDataFrame(places)
orders = spark.table("src.orders")
orders.join(F.broadcast(lookup), orders.cust_id == lookup.id).select("oid", "city", "amount").write.mode(
    "overwrite"
).parquet("/data/unseen/files/a_pandas_lookup")
