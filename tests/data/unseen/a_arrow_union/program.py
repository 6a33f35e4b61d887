from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.getOrCreate()

orders = spark.table("src.orders")
totals = orders.groupBy("cust_id").agg(F.sum("amount").alias("total")).toArrow()
spark.createDataFrame(totals).union(orders.select("cust_id", "amount")).write.saveAsTable("out.a_arrow_union")
