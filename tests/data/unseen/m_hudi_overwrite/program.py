# spark.sql.extensions=org.apache.spark.sql.hudi.HoodieSparkSessionExtension,io.delta.sql.DeltaSparkSessionExtension
# spark.sql.catalog.spark_catalog=org.apache.spark.sql.hudi.catalog.HoodieCatalog
# spark.serializer=org.apache.spark.serializer.KryoSerializer
# spark.kryo.registrator=org.apache.spark.HoodieSparkKryoRegistrar

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()

spark.read.format("delta").load("/data/unseen/files/delta_people").createOrReplaceTempView("people")
spark.sql(
    "CREATE TABLE out.m_hudi_overwrite (id BIGINT, name STRING, city STRING) USING hudi TBLPROPERTIES (primaryKey = 'id') PARTITIONED BY (city)"
)
spark.sql(
    "INSERT OVERWRITE out.m_hudi_overwrite SELECT d.id, d.mail, u.city FROM people d JOIN src.upd u ON d.id = u.id"
)
