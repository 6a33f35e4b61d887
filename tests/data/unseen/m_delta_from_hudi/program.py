# spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension,org.apache.spark.sql.hudi.HoodieSparkSessionExtension
# spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()

spark.read.format("hudi").load("/data/unseen/files/hudi_prices").createOrReplaceTempView("prices")
spark.sql("CREATE TABLE out.m_delta_hudi (item STRING, price DOUBLE, seen STRING) USING delta")
spark.sql("""MERGE INTO out.m_delta_hudi d USING prices p ON d.item = p.item
  WHEN MATCHED THEN UPDATE SET d.price = p.price * 2, d.seen = 'again' WHEN NOT MATCHED THEN INSERT (item, price, seen) VALUES (upper(p.item), p.price, p._hoodie_commit_time)""")
