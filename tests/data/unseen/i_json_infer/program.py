from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.getOrCreate()

events = spark.read.option("inferSchema", True).json(
    ["/data/unseen/in/events/day=2026-01-01", "/data/unseen/in/events/day=2026-01-02"]
)
events.select("id", F.col("who.name").alias("who")).write.mode("overwrite").csv(
    "/data/unseen/files/i_json_infer", header=True
)
