from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()

both = (
    spark.read.format("jdbc")
    .options(url="jdbc:h2:mem:crm;DB_CLOSE_DELAY=-1", dbtable='"app"."people" p, "app"."dept" d')
    .load()
)
both.select("name", "dname").write.saveAsTable("out.b_comma_list")
