# spark.sql.ui.explainMode=simple

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()

spark.sql("""CREATE TABLE out.d_simple_join USING parquet AS
  SELECT c.name, o.amount FROM src.cust c LEFT JOIN src.orders o ON c.id = o.cust_id""")
