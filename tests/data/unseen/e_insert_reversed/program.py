from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()

spark.sql(
    f"CREATE TABLE out.e_insert_reversed ({', '.join(f'd{i:03d} STRING' for i in range(1, 61))}) USING parquet"
)
columns = [f"upper(c{i:03d})" if i % 3 == 0 else f"c{i:03d}" for i in range(60, 0, -1)]
spark.sql(f"INSERT INTO out.e_insert_reversed SELECT {', '.join(columns)} FROM src.wide")
