from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()

spark.sql("""CREATE TABLE out.a_values_union USING parquet AS
  SELECT id, name, 'real' AS origin FROM src.cust
  UNION ALL
  SELECT * FROM VALUES (0L, 'none', 'made'), (-1L, 'it''s (2) Scan parquet src.orders', 'made') AS v(id, name, origin)""")
