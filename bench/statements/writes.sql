Ways of writing.

--- ctas_orc
-- id == orders
-- v = orders.amount
CREATE TABLE {out} USING orc AS SELECT id, amount AS v FROM orders

--- ctas_hive
-- id == orders
-- v = orders.amount
CREATE TABLE {out} STORED AS PARQUET AS SELECT id, amount AS v FROM orders

--- ctas_hive_text
-- id == orders
-- v = orders.amount, orders.qty
CREATE TABLE {out} STORED AS TEXTFILE AS SELECT id, amount * qty AS v FROM orders

--- ctas_partitioned
-- id == orders
-- amount == orders
-- region == orders
CREATE TABLE {out} USING parquet PARTITIONED BY (region) AS SELECT id, amount, region FROM orders

--- ctas_of_a_location
-- id == orders
CREATE TABLE {out} USING parquet LOCATION '{dir}/ctas_of_a_location' AS SELECT id FROM orders

--- insert_by_position
-- a = orders.amount
-- b = orders.id
-- # Not by name: the query's b is the table's a.
CREATE TABLE {out} (a DOUBLE, b INT) USING parquet;
INSERT INTO {out} SELECT amount AS b, id AS a FROM orders

--- insert_by_name
-- a = orders.id
-- b = orders.amount
CREATE TABLE {out} (a INT, b DOUBLE) USING parquet;
INSERT INTO {out} BY NAME SELECT amount AS b, id AS a FROM orders

--- insert_column_list
-- a = orders.id
-- b =
-- c = orders.amount
CREATE TABLE {out} (a INT, b STRING DEFAULT 'none', c DOUBLE) USING parquet;
INSERT INTO {out} (c, a) SELECT amount, id FROM orders

--- insert_overwrite
-- a = orders.id
-- b = orders.region
CREATE TABLE {out} (a INT, b STRING) USING parquet;
INSERT OVERWRITE {out} SELECT id, region FROM orders

--- insert_hive_table
-- a = orders.id
-- b = orders.region
CREATE TABLE {out} (a INT, b STRING) STORED AS TEXTFILE;
INSERT INTO {out} SELECT id, region FROM orders

--- insert_static_partition
-- id == orders
-- amount == orders
-- day, region =
CREATE TABLE {out} (id INT, amount DOUBLE, day STRING, region STRING) USING parquet PARTITIONED BY (day, region);
INSERT INTO {out} PARTITION (day = '2026-01-01', region = 'north') SELECT id, amount FROM orders

--- insert_dynamic_partitions
-- id == orders
-- amount == orders
-- day, region == orders
CREATE TABLE {out} (id INT, amount DOUBLE, day DATE, region STRING) USING parquet PARTITIONED BY (day, region);
INSERT INTO {out} SELECT id, amount, day, region FROM orders

--- insert_mixed_partitions
-- id == orders
-- amount == orders
-- day =
-- region = orders.note
CREATE TABLE {out} (id INT, amount DOUBLE, day STRING, region STRING) USING parquet PARTITIONED BY (day, region);
INSERT OVERWRITE {out} PARTITION (day = '2026-01-01', region) SELECT id, amount, note FROM orders

--- insert_hive_dynamic
-- id == orders
-- amount == orders
-- day = orders.day
-- region = orders.region
CREATE TABLE {out} (id INT, amount DOUBLE) PARTITIONED BY (day STRING, region STRING) STORED AS ORC;
INSERT OVERWRITE TABLE {out} PARTITION (day, region) SELECT id, amount, CAST(day AS STRING), region FROM orders

--- insert_hive_static
-- id == orders
-- amount == orders
-- day =
CREATE TABLE {out} (id INT, amount DOUBLE) PARTITIONED BY (day STRING) STORED AS TEXTFILE;
INSERT INTO {out} PARTITION (day = '2026-01-01') SELECT id, amount FROM orders

--- overwrite_dynamically
-- id == orders
-- region == orders
SET spark.sql.sources.partitionOverwriteMode = dynamic;
CREATE TABLE {out} (id INT, region STRING) USING parquet PARTITIONED BY (region);
INSERT OVERWRITE {out} SELECT id, region FROM orders;
RESET spark.sql.sources.partitionOverwriteMode

--- insert_values
-- a, b =
CREATE TABLE {out} (a INT, b STRING) USING parquet;
INSERT INTO {out} VALUES (1, 'x'), (2, 'y')

--- insert_table
-- region == targets
-- goal == targets
-- owner == targets
CREATE TABLE {out} (region STRING, goal DOUBLE, owner STRING) USING parquet;
INSERT INTO {out} TABLE targets

--- insert_self
-- a, b =
-- a = out.insert_self.b
-- b = out.insert_self.a
CREATE TABLE {out} (a INT, b INT) USING parquet;
INSERT INTO {out} SELECT b, a FROM {out}

--- insert_self_joined
-- a = orders.id, out.insert_self_joined.a
-- b = orders.qty
-- a, b ~ out.insert_self_joined.a, orders.cust
CREATE TABLE {out} (a INT, b INT) USING parquet;
INSERT INTO {out} SELECT o.id + s.a, o.qty FROM orders o JOIN {out} s ON o.cust = s.a

--- insert_casts
-- # The table's types and names differ from the query's.
-- a = orders.amount
-- b = orders.qty
CREATE TABLE {out} (a DECIMAL(20, 3), b BIGINT) USING parquet;
INSERT INTO {out} SELECT amount, qty FROM orders

--- insert_twice
-- a = orders.id, customers.id
CREATE TABLE {out} (a INT) USING parquet;
INSERT INTO {out} SELECT id FROM orders;
INSERT INTO {out} SELECT id FROM customers

--- directory_parquet
-- -> <files/directory_parquet>
-- id == orders
-- v = orders.amount
INSERT OVERWRITE DIRECTORY '{dir}/files/directory_parquet' USING parquet SELECT id, amount AS v FROM orders

--- directory_hive
-- -> <files/directory_hive>
-- id == orders
-- v = orders.amount
INSERT OVERWRITE LOCAL DIRECTORY '{dir}/files/directory_hive' STORED AS ORC SELECT id, amount AS v FROM orders

--- directory_text
-- -> <files/directory_text>
-- id == orders
-- v = orders.amount
INSERT OVERWRITE DIRECTORY '{dir}/files/directory_text' ROW FORMAT DELIMITED FIELDS TERMINATED BY ',' SELECT id, amount AS v FROM orders

--- multi_insert
-- id == orders
-- -> multi_insert_b
-- region == orders
-- total = orders.amount
-- total ~ orders.region
CREATE TABLE {out} (id INT) USING parquet;
CREATE TABLE {out}_b (region STRING, total DOUBLE) USING parquet;
FROM orders INSERT INTO {out} SELECT id WHERE qty > 1 INSERT OVERWRITE {out}_b SELECT region, sum(amount) GROUP BY region

--- multi_insert_swapped
-- # The same columns cross over to two tables.
-- a = orders.id
-- b = orders.cust
-- -> multi_insert_swapped_b
-- a = orders.cust
-- b = orders.id
CREATE TABLE {out} (a INT, b INT) USING parquet;
CREATE TABLE {out}_b (a INT, b INT) USING parquet;
FROM orders INSERT INTO {out} SELECT id, cust INSERT INTO {out}_b SELECT cust, id

--- multi_insert_hive
-- id == orders
-- * ~ orders.cust, customers.id
-- -> multi_insert_hive_b
-- name == customers
-- * ~ orders.cust, customers.id
-- -> multi_insert_hive_c
-- day = orders.day
-- note == orders
-- * ~ orders.cust, customers.id
CREATE TABLE {out} (id INT) STORED AS ORC;
CREATE TABLE {out}_b (name STRING) STORED AS ORC;
CREATE TABLE {out}_c (note STRING) PARTITIONED BY (day STRING) STORED AS ORC;
FROM orders o JOIN customers c ON o.cust = c.id
INSERT INTO {out} SELECT o.id
INSERT INTO {out}_b SELECT c.name
INSERT OVERWRITE TABLE {out}_c PARTITION (day) SELECT note, CAST(day AS STRING)

--- cluster_and_bucket
-- id == orders
-- region == orders
CREATE TABLE {out} USING parquet CLUSTERED BY (id) SORTED BY (region) INTO 2 BUCKETS AS SELECT id, region FROM orders

--- create_like_then_insert
-- id, amount, qty, day, region == orders
CREATE TABLE {out} LIKE archive;
INSERT INTO {out} SELECT id, amount, qty, day, region FROM orders

--- text_file
-- value = orders.id, orders.region
CREATE TABLE {out} USING text AS SELECT concat(id, region) AS value FROM orders

--- csv_and_json
-- name == people_csv
-- city = people_json.address
-- * ~ people_csv.id, people_json.id
CREATE TABLE {out} USING json AS
SELECT c.name, j.address.city AS city FROM people_csv c JOIN people_json j ON c.id = j.id

--- from_hive_tables
-- id == hive_sales
-- v = serde_sales.amount
-- day = hive_sales.day
-- country == regions
-- * ~ hive_sales.id, serde_sales.id, hive_sales.region, regions.region
CREATE TABLE {out} AS
SELECT h.id, s.amount AS v, h.day, r.country
FROM hive_sales h JOIN serde_sales s ON h.id = s.id JOIN regions r ON h.region = r.region

--- partition_columns_read
-- day, region == sales
-- total = sales.amount
-- * ~ sales.day
CREATE TABLE {out} AS
SELECT day, region, sum(amount) AS total FROM sales WHERE day >= DATE'2026-01-01' GROUP BY day, region

--- hive_partition_pruned
-- id == serde_sales
-- day == serde_sales
-- * ~ serde_sales.day
CREATE TABLE {out} AS SELECT id, day FROM serde_sales WHERE day = '2026-01-01'

--- outside_table
-- id == outside
-- value == outside
CREATE TABLE {out} AS SELECT id, value FROM outside

--- only_partition_columns
-- region == sales
CREATE TABLE {out} AS SELECT DISTINCT region FROM sales

--- dynamic_pruning
-- id == sales
-- owner == targets
-- * ~ sales.region, targets.region, targets.goal
CREATE TABLE {out} AS
SELECT s.id, t.owner FROM sales s JOIN targets t ON s.region = t.region WHERE t.goal > 2
