# spark.sql.ui.explainMode=cost

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()

spark.sql("""CREATE TABLE out.d_cost_grouping USING parquet AS
  SELECT city, name, count(DISTINCT mail) AS mails, grouping(city) AS g, max(id) AS last
  FROM src.cust GROUP BY GROUPING SETS ((city, name), (city), ())""")
