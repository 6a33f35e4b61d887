from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()

spark.sql("""CREATE TABLE out.d_recursive USING parquet AS
  WITH RECURSIVE tree(id, boss, top) AS (
    SELECT id, boss, name FROM src.staff WHERE boss IS NULL
    UNION ALL SELECT s.id, s.boss, t.top FROM src.staff s JOIN tree t ON s.boss = t.id)
  SELECT * FROM tree""")
