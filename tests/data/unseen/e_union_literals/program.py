from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()

names = [f"c{i:03d}" for i in range(1, 61)]
spark.sql(
    f"CREATE TABLE out.e_union_literals USING parquet AS SELECT {', '.join(names)} FROM src.wide UNION ALL SELECT {', '.join(repr('x') for n in names)}"
)
