from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()

spark.sql("CACHE TABLE keep AS SELECT * FROM src.wide")
spark.sql("CREATE TABLE out.e_cache_whole USING parquet AS SELECT * FROM keep")
