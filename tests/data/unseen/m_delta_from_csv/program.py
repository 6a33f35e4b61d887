# spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension,org.apache.spark.sql.hudi.HoodieSparkSessionExtension
# spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()

spark.read.schema("id bigint, name string, junk string").csv("/data/unseen/in/news").createOrReplaceTempView(
    "news"
)
spark.sql("CREATE TABLE out.m_delta_csv (id BIGINT, name STRING) USING delta")
spark.sql("""MERGE INTO out.m_delta_csv d USING (SELECT id, max(concat(name, junk)) AS name FROM news GROUP BY id) n ON d.id = n.id
  WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY SOURCE THEN DELETE""")
