from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()

lookup = spark.createDataFrame([(1, "gold"), (2, "silver")], "k bigint, grade string")
spark.table("src.cust").join(lookup, spark.table("src.cust").id == lookup.k).select(
    "id", "name", "grade"
).write.saveAsTable("out.a_rows_of_program")
