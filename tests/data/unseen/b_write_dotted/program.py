from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.getOrCreate()

spark.table("src.cust").select(F.col("id").cast("int").alias("k"), F.lower("mail").alias("v")).write.format(
    "jdbc"
).options(url="jdbc:h2:mem:crm;DB_CLOSE_DELAY=-1", dbtable='"app"."my.table"').mode("append").save()
