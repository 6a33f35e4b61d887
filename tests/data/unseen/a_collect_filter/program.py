from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()

cust = spark.table("src.cust")
rows = [row for row in cust.collect() if row.city == "Bern"]
spark.createDataFrame(rows, cust.schema).write.saveAsTable("out.a_collect_filter")
