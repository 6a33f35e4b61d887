# spark.sql.catalog.crm=org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog
# spark.sql.catalog.crm.url=jdbc:h2:mem:crm;DB_CLOSE_DELAY=-1
# spark.sql.catalog.crm.driver=org.h2.Driver
# spark.sql.catalog.erp=org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog
# spark.sql.catalog.erp.url=jdbc:h2:mem:erp;DB_CLOSE_DELAY=-1
# spark.sql.catalog.erp.driver=org.h2.Driver

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()

spark.sql("""CREATE TABLE out.b_catalog_union USING parquet AS
  SELECT id, name FROM crm.app.people UNION ALL SELECT id, name FROM erp.app.people UNION ALL SELECT -1, 'nobody'""")
