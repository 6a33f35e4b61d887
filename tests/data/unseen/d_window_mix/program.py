from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()

spark.sql(
    "CREATE TABLE out.d_window_mix (oid BIGINT, running DOUBLE, prev STRING, rk INT, known BOOLEAN) USING parquet"
)
spark.sql("""INSERT INTO out.d_window_mix
  SELECT oid, running, prev, rk, known FROM (
    SELECT oid, sum(amount) OVER (PARTITION BY cust_id ORDER BY day) AS running, lag(note) OVER (PARTITION BY cust_id ORDER BY day) AS prev,
           rank() OVER (PARTITION BY cust_id ORDER BY day) AS rk,
           (cust_id IN (SELECT id FROM src.cust) OR note = 'x') AS known
    FROM src.orders TABLESAMPLE (90 PERCENT)) WHERE rk <= 2""")
