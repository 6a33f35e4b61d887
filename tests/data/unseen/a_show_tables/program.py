from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()

spark.sql("SHOW TABLES IN src").select("namespace", "tableName").write.mode("overwrite").json(
    "/data/unseen/files/a_show_tables"
)
