# spark.sql.extensions=org.apache.spark.sql.hudi.HoodieSparkSessionExtension,io.delta.sql.DeltaSparkSessionExtension
# spark.sql.catalog.spark_catalog=org.apache.spark.sql.hudi.catalog.HoodieCatalog
# spark.serializer=org.apache.spark.serializer.KryoSerializer
# spark.kryo.registrator=org.apache.spark.HoodieSparkKryoRegistrar

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()

spark.sql("""CREATE TABLE out.m_hudi_ctas USING hudi TBLPROPERTIES (primaryKey = 'id', type = 'cow') AS
  SELECT c.id, u.name AS new_name, c.city FROM src.cust c JOIN src.upd u ON c.id = u.id""")
spark.sql("INSERT INTO out.m_hudi_ctas SELECT id, mail, city FROM src.upd")
