from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()

people = (
    spark.read.format("jdbc")
    .options(url="jdbc:h2:mem:crm;DB_CLOSE_DELAY=-1", dbtable='"CRM"."app"."people"')
    .load()
)
people.select("id", "name").write.saveAsTable("out.b_three_part")
