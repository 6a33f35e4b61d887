from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.getOrCreate()

(
    spark.range(3)
    .withColumn("label", F.lit("src.cust.name AS x#1"))
    .withColumn("chance", F.rand(7))
    .withColumn("part", F.explode(F.array(F.lit(1), F.lit(2))))
    .write.saveAsTable("out.a_range_literals")
)
