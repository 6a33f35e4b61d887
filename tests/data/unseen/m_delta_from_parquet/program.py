# spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension,org.apache.spark.sql.hudi.HoodieSparkSessionExtension
# spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()

spark.sql("CREATE TABLE out.m_delta_parquet USING delta AS SELECT * FROM src.cust")
spark.sql("""MERGE INTO out.m_delta_parquet d USING src.upd u ON d.id = u.id
  WHEN MATCHED AND u.city <> 'x' THEN UPDATE SET name = u.name, mail = concat(u.mail, d.mail)
  WHEN NOT MATCHED THEN INSERT (id, name, mail, city) VALUES (u.id, u.name, 'none', u.city)""")
