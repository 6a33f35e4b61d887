from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()

spark.sql(
    "CREATE TABLE out.z_zip_single USING parquet AS SELECT id, coalesce(mail, name) AS reach FROM src.cust"
)
