from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.getOrCreate()

some = spark.table("src.wide").select(*[f"c{i:03d}" for i in range(1, 41)]).cache()
left, right = some.alias("l"), some.alias("r")
(
    left.join(right, F.col("l.c001") == F.col("r.c040"))
    .select(
        F.col("l.c002").alias("c003"),
        F.col("r.c003").alias("c002"),
        F.concat("l.c039", "r.c030").alias("both"),
    )
    .write.saveAsTable("out.e_cached_twice")
)
