from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()

people = (
    spark.read.format("jdbc")
    .options(
        url="jdbc:derby:memory:hr",
        dbtable="APP.STAFF",
        partitionColumn="ID",
        lowerBound="0",
        upperBound="100",
        numPartitions="3",
    )
    .load()
)
people.groupBy("DEPT").agg({"PAY": "max"}).withColumnRenamed("max(PAY)", "top pay").write.mode(
    "overwrite"
).parquet("/data/unseen/files/b_partitioned")
