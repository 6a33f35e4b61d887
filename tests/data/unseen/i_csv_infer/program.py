from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()

people = spark.read.option("header", True).option("inferSchema", True).csv("/data/unseen/in/people")
people.withColumnRenamed("full name", "name").write.saveAsTable("out.i_csv_infer")
