# spark.sql.catalog.crm=org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog
# spark.sql.catalog.crm.url=jdbc:h2:mem:crm;DB_CLOSE_DELAY=-1
# spark.sql.catalog.crm.driver=org.h2.Driver
# spark.sql.catalog.erp=org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog
# spark.sql.catalog.erp.url=jdbc:h2:mem:erp;DB_CLOSE_DELAY=-1
# spark.sql.catalog.erp.driver=org.h2.Driver
# spark.sql.catalog.crm.pushDownAggregate=true

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()

spark.sql(
    "CREATE TABLE out.b_catalog_pushed USING parquet AS SELECT dept, max(salary) AS top, count(*) AS n FROM crm.app.people WHERE name <> 'x' GROUP BY dept"
)
