from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()

q = (
    spark.read.format("jdbc")
    .options(
        url="jdbc:h2:mem:crm;DB_CLOSE_DELAY=-1",
        dbtable='(select p."id" as pid, d."dname" from "app"."people" p join "app"."dept" d on p."dept" = d."did") as q',
    )
    .load()
)
q.write.saveAsTable("out.b_subquery_join")
