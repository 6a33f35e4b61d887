# spark.sql.extensions=org.apache.spark.sql.hudi.HoodieSparkSessionExtension,io.delta.sql.DeltaSparkSessionExtension
# spark.sql.catalog.spark_catalog=org.apache.spark.sql.hudi.catalog.HoodieCatalog
# spark.serializer=org.apache.spark.serializer.KryoSerializer
# spark.kryo.registrator=org.apache.spark.HoodieSparkKryoRegistrar

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()

spark.sql(
    "CREATE TABLE out.m_hudi_merge (id BIGINT, name STRING, mail STRING) USING hudi TBLPROPERTIES (primaryKey = 'id', preCombineField = 'mail')"
)
spark.sql("INSERT INTO out.m_hudi_merge SELECT id, name, mail FROM src.cust")
spark.sql("""MERGE INTO out.m_hudi_merge AS t USING (SELECT id, upper(name) AS name, mail FROM src.upd) AS s ON t.id = s.id
  WHEN MATCHED THEN UPDATE SET name = s.name, mail = s.mail WHEN NOT MATCHED THEN INSERT (id, name, mail) VALUES (s.id, s.name, s.mail)""")
