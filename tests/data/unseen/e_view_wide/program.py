from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()

spark.sql("CREATE VIEW out.e_view AS SELECT *, concat(c001, c150) AS both FROM src.wide")
spark.sql("CREATE TABLE out.e_view_wide USING parquet AS SELECT both, c075, c150 FROM out.e_view")
