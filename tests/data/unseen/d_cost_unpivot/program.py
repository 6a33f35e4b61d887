# spark.sql.ui.explainMode=cost

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()

spark.sql("""CREATE TABLE out.d_cost_unpivot USING parquet AS
  SELECT * FROM (SELECT id, name, mail, city FROM src.cust) UNPIVOT INCLUDE NULLS (value FOR what IN (name AS `the name`, mail))""")
