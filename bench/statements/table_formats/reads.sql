What was read from a table of the format and written as something else.

--- to_parquet
-- -> plain.{name}
-- id == orders
-- v = orders.amount
CREATE TABLE spark_catalog.plain.{name} USING parquet AS SELECT id, amount AS v FROM orders

--- to_hive
-- -> plain.{name}
-- id == orders
-- v = orders.amount
CREATE TABLE spark_catalog.plain.{name} STORED AS ORC AS SELECT id, amount AS v FROM orders

--- to_existing_hive
-- -> plain.{name}
-- id == orders
-- country = plain.regions.country
-- * ~ orders.region, plain.regions.region
CREATE TABLE spark_catalog.plain.{name} (id INT, country STRING) STORED AS TEXTFILE;
INSERT INTO spark_catalog.plain.{name} SELECT o.id, r.country FROM orders o JOIN spark_catalog.plain.regions r ON o.region = r.region

--- to_directory
-- -> <files/{name}>
-- id == orders
-- v = orders.amount
INSERT OVERWRITE DIRECTORY '{dir}/files/{name}' USING parquet SELECT id, amount AS v FROM orders

--- from_parquet
-- id = plain.items.order_id
-- v = plain.items.price, plain.items.qty
CREATE TABLE {out} USING {format} AS SELECT order_id AS id, price * qty AS v FROM spark_catalog.plain.items

--- from_hive
-- country = plain.regions.country
CREATE TABLE {out} USING {format} AS SELECT country FROM spark_catalog.plain.regions

--- pruned_dynamically
-- id == orders
-- owner == targets
-- * ~ orders.region, targets.region, orders.qty
CREATE TABLE {out} USING {format} AS
SELECT o.id, t.owner FROM targets t JOIN orders o ON t.region = o.region WHERE o.qty > 1

--- of_temporary_view
-- id == orders
-- v = orders.amount
-- * ~ orders.qty
CREATE OR REPLACE TEMPORARY VIEW {name}_v AS SELECT id, amount AS v FROM orders WHERE qty > 1;
CREATE TABLE {out} USING {format} AS SELECT id, v FROM {name}_v

--- of_cached_table
-- id == orders
-- v = orders.amount
CACHE TABLE {name}_c AS SELECT id, amount AS v FROM orders;
CREATE TABLE {out} USING {format} AS SELECT id, v FROM {name}_c;
UNCACHE TABLE {name}_c

--- with_cte
-- region == orders
-- total = orders.amount
-- total ~ orders.region
CREATE TABLE {out} USING {format} AS
WITH t AS (SELECT region, sum(amount) AS total FROM orders GROUP BY region) SELECT region, total FROM t

--- read_alone
-- # Nothing is written.
-- -> nowhere
SELECT o.id, c.name FROM orders o JOIN customers c ON o.cust = c.id
