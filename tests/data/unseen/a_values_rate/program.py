from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()

spark.sql("CREATE TABLE out.a_values_rate (oid BIGINT, value DOUBLE, cur STRING) USING parquet")
spark.sql("""INSERT INTO out.a_values_rate
  SELECT o.oid, o.amount * r.rate, r.cur FROM src.orders o JOIN (VALUES ('eur', 1.0D), ('chf', 1.1D)) AS r(cur, rate) ON o.note = r.cur""")
