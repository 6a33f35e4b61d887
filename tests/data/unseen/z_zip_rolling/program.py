# spark.eventLog.rolling.enabled=true
# spark.eventLog.rolling.maxFileSize=10m

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()

for part in range(3):
    spark.sql(
        f"CREATE TABLE out.z_zip_rolling_{part} USING parquet AS SELECT oid, note AS note_{part} FROM src.orders WHERE cust_id = {part}"
    )
