from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()

for floor in (10, 20):
    text = f'select * from "app"."people" where "salary" > {floor}'
    rows = spark.read.format("jdbc").options(url="jdbc:h2:mem:crm;DB_CLOSE_DELAY=-1", query=text).load()
    rows.select("id", "salary").write.mode("append").saveAsTable("out.b_query_twice")
