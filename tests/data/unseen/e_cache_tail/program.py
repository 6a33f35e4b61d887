from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()

spark.sql("CACHE TABLE src.wide")
columns = [f"c{i:03d} AS t{i:03d}" for i in range(150, 139, -1)]
spark.sql(
    f"CREATE TABLE out.e_cache_tail USING parquet AS SELECT c001 AS first, {', '.join(columns)} FROM src.wide"
)
