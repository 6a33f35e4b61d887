Ways of writing that every table format has.

--- ctas
-- id == orders
-- v = orders.amount, orders.qty
-- * ~ orders.qty
CREATE TABLE {out} USING {format} AS SELECT id, amount * qty AS v FROM orders WHERE qty > 1

--- ctas_partitioned
-- id == orders
-- amount == orders
-- region == orders
CREATE TABLE {out} USING {format} PARTITIONED BY (region) AS SELECT id, amount, region FROM orders

--- ctas_twice
-- # The second finds the table there and writes nothing.
-- id = orders.id, [customers.id]
CREATE TABLE IF NOT EXISTS {out} USING {format} AS SELECT id FROM orders;
CREATE TABLE IF NOT EXISTS {out} USING {format} AS SELECT id FROM customers

--- ctas_of_nothing
-- a, b =
CREATE TABLE {out} USING {format} AS SELECT 1 AS a, current_date() AS b

--- ctas_wide
-- c{1..60} == wide
CREATE TABLE {out} USING {format} AS SELECT * FROM wide

--- ctas_wide_shifted
-- e{1..59} = wide.c1, wide.c{@+0}
CREATE TABLE {out} USING {format} AS SELECT {1..59| c1 + c@ AS e@} FROM wide

--- rtas
-- # Replaced: the table is of the second query alone, but both ran.
-- a = orders.id, customers.id
CREATE TABLE {out} USING {format} AS SELECT id AS a FROM orders;
CREATE OR REPLACE TABLE {out} USING {format} AS SELECT id AS a FROM customers

--- rtas_at_once
-- region == orders
-- total = orders.amount
-- total ~ orders.region
CREATE OR REPLACE TABLE {out} USING {format} AS SELECT region, sum(amount) AS total FROM orders GROUP BY region

--- replace_table_as
-- b = customers.name
CREATE TABLE {out} (a INT) USING {format};
REPLACE TABLE {out} USING {format} AS SELECT name AS b FROM customers

--- replace_by_itself
-- id == orders
-- v = orders.qty
-- w = {out}.v
CREATE TABLE {out} USING {format} AS SELECT id, qty AS v FROM orders;
CREATE OR REPLACE TABLE {out} USING {format} AS SELECT id, v + 1 AS w FROM {out}

--- insert_by_position
-- a = orders.amount
-- b = orders.id
-- # Not by name: the query's b is the table's a.
CREATE TABLE {out} (a DOUBLE, b INT) USING {format};
INSERT INTO {out} SELECT amount AS b, id AS a FROM orders

--- insert_by_name
-- a = orders.id
-- b = orders.amount
CREATE TABLE {out} (a INT, b DOUBLE) USING {format};
INSERT INTO {out} BY NAME SELECT amount AS b, id AS a FROM orders

--- insert_column_list
-- a = orders.id
-- b =
-- c = orders.amount
CREATE TABLE {out} (a INT, b STRING, c DOUBLE) USING {format};
INSERT INTO {out} (c, b, a) SELECT amount, 'x', id FROM orders

--- insert_some_columns
-- @ delta-3.3 delta-4 iceberg-1.12
-- # The rest of the row is NULL.
-- a = orders.id
-- c = orders.amount
CREATE TABLE {out} (a INT, b STRING, c DOUBLE) USING {format};
INSERT INTO {out} (c, a) SELECT amount, id FROM orders

--- insert_casts
-- a = orders.amount
-- b = orders.qty
CREATE TABLE {out} (a DECIMAL(20, 3), b BIGINT) USING {format};
INSERT INTO {out} SELECT amount, qty FROM orders

--- insert_static_partition
-- id == orders
-- amount == orders
-- day, region =
CREATE TABLE {out} (id INT, amount DOUBLE, day STRING, region STRING) USING {format} PARTITIONED BY (day, region);
INSERT INTO {out} PARTITION (day = '2026-01-01', region = 'north') SELECT id, amount FROM orders

--- insert_dynamic_partitions
-- id == orders
-- amount == orders
-- day, region == orders
CREATE TABLE {out} (id INT, amount DOUBLE, day DATE, region STRING) USING {format} PARTITIONED BY (day, region);
INSERT INTO {out} SELECT id, amount, day, region FROM orders

--- insert_mixed_partitions
-- id == orders
-- amount == orders
-- day =
-- region = orders.note
CREATE TABLE {out} (id INT, amount DOUBLE, day STRING, region STRING) USING {format} PARTITIONED BY (day, region);
INSERT INTO {out} PARTITION (day = '2026-01-01', region) SELECT id, amount, note FROM orders

--- insert_overwrite
-- a = orders.id
-- b = orders.region
CREATE TABLE {out} (a INT, b STRING) USING {format};
INSERT OVERWRITE {out} SELECT id, region FROM orders

--- insert_overwrite_partition
-- id == orders
-- amount == orders
-- region =
CREATE TABLE {out} (id INT, amount DOUBLE, region STRING) USING {format} PARTITIONED BY (region);
INSERT OVERWRITE {out} PARTITION (region = 'north') SELECT id, amount FROM orders

--- insert_overwrite_dynamically
-- id == orders
-- region == orders
SET spark.sql.sources.partitionOverwriteMode = dynamic;
CREATE TABLE {out} (id INT, region STRING) USING {format} PARTITIONED BY (region);
INSERT OVERWRITE {out} SELECT id, region FROM orders;
RESET spark.sql.sources.partitionOverwriteMode

--- insert_replace_where
-- id == orders
-- region == orders
-- * ~ orders.region
CREATE TABLE {out} (id INT, region STRING) USING {format} PARTITIONED BY (region);
INSERT INTO {out} REPLACE WHERE region = 'north' SELECT id, region FROM orders WHERE region = 'north'

--- insert_values
-- a, b =
CREATE TABLE {out} (a INT, b STRING) USING {format};
INSERT INTO {out} VALUES (1, 'x'), (2, 'y')

--- insert_table
-- region == targets
-- goal == targets
-- owner == targets
CREATE TABLE {out} (region STRING, goal DOUBLE, owner STRING) USING {format};
INSERT INTO {out} TABLE targets

--- insert_of_itself
-- a = {out}.b
-- b = {out}.a
CREATE TABLE {out} (a INT, b INT) USING {format};
INSERT INTO {out} SELECT b, a FROM {out}

--- insert_twice
-- a = orders.id, customers.id
CREATE TABLE {out} (a INT) USING {format};
INSERT INTO {out} SELECT id FROM orders;
INSERT INTO {out} SELECT id FROM customers

--- insert_union
-- a = orders.id, customers.id, plain.items.order_id
-- b = orders.note, customers.name, plain.items.sku
CREATE TABLE {out} (a INT, b STRING) USING {format};
INSERT INTO {out}
SELECT id, note FROM orders UNION ALL SELECT id, name FROM customers UNION ALL SELECT order_id, sku FROM spark_catalog.plain.items

--- insert_aggregate
-- region == orders
-- n =
-- top = orders.amount
-- n, top ~ orders.region
CREATE TABLE {out} (region STRING, n BIGINT, top DOUBLE) USING {format};
INSERT INTO {out} SELECT region, count(*), max(amount) FROM orders GROUP BY region

--- insert_aggregate_of_all
-- # Formats answer such a query from their metadata: the plan may hold its result alone.
-- n =
-- top = orders.qty
-- <- orders
CREATE TABLE {out} (n BIGINT, top INT) USING {format};
INSERT INTO {out} SELECT count(*), max(qty) FROM orders

--- insert_count_of_all
-- n =
-- <- orders
CREATE TABLE {out} (n BIGINT) USING {format};
INSERT INTO {out} SELECT count(*) FROM orders

--- insert_window
-- id == orders
-- n =
-- before = orders.amount
-- n, before ~ orders.region, orders.day
CREATE TABLE {out} (id INT, n INT, before DOUBLE) USING {format};
INSERT INTO {out}
SELECT id, row_number() OVER w, lag(amount) OVER w FROM orders WINDOW w AS (PARTITION BY region ORDER BY day)

--- insert_joined_with_plain_tables
-- id == orders
-- name == customers
-- sku = plain.items.sku
-- country = plain.regions.country
-- * ~ orders.cust, customers.id, orders.id, plain.items.order_id, orders.region, plain.regions.region
CREATE TABLE {out} (id INT, name STRING, sku STRING, country STRING) USING {format};
INSERT INTO {out}
SELECT o.id, c.name, i.sku, r.country FROM orders o JOIN customers c ON o.cust = c.id
JOIN spark_catalog.plain.items i ON i.order_id = o.id LEFT JOIN spark_catalog.plain.regions r ON r.region = o.region

--- insert_semi_joined
-- id == orders
-- * ~ orders.cust, customers.id, customers.vip
CREATE TABLE {out} (id INT) USING {format};
INSERT INTO {out} SELECT id FROM orders WHERE cust IN (SELECT id FROM customers WHERE vip)

--- insert_scalar_query
-- id == orders
-- share = orders.amount
CREATE TABLE {out} (id INT, share DOUBLE) USING {format};
INSERT INTO {out} SELECT id, amount / (SELECT sum(amount) FROM orders) FROM orders

--- insert_nested
-- id == events
-- a = events.info
-- tag = events.tags
-- pair = events.info, events.props
-- x = events.points
-- * ~ [events.tags]
CREATE TABLE {out} (id INT, a INT, tag STRING, pair STRUCT<d: INT, k: STRING>, x ARRAY<INT>) USING {format};
INSERT INTO {out}
SELECT id, info.a, tag, named_struct('d', info.c.d, 'k', props['k']), points.x FROM events LATERAL VIEW explode(tags) AS tag

--- insert_wide
-- c{1..60} == wide
CREATE TABLE {out} ({1..60| c@ INT}) USING {format};
INSERT INTO {out} SELECT * FROM wide

--- insert_wide_shifted
-- c{1..59} = wide.c{@+1}
-- c60 = wide.c1
CREATE TABLE {out} ({1..60| c@ INT}) USING {format};
INSERT INTO {out} SELECT {2..60| c@}, c1 FROM wide

--- insert_wide_joined
-- c{1..60} == wide
-- * ~ wide.c1, orders.id
CREATE TABLE {out} ({1..60| c@ INT}) USING {format};
INSERT INTO {out} SELECT w.* FROM wide w JOIN orders o ON w.c1 = o.id

--- multi_insert
-- id == orders
-- id ~ orders.qty
-- -> {out_b}
-- region == orders
-- total = orders.amount
-- total ~ orders.region
CREATE TABLE {out} (id INT) USING {format};
CREATE TABLE {out_b} (region STRING, total DOUBLE) USING {format};
FROM orders INSERT INTO {out} SELECT id WHERE qty > 1 INSERT INTO {out_b} SELECT region, sum(amount) GROUP BY region

--- insert_into_new_column
-- a = orders.id
-- b = orders.note
CREATE TABLE {out} (a INT) USING {format};
ALTER TABLE {out} ADD COLUMN b STRING;
INSERT INTO {out} SELECT id, note FROM orders

--- insert_and_truncate
-- @ iceberg-1.9 iceberg-1.12
-- a = orders.id
CREATE TABLE {out} (a INT) USING {format};
INSERT INTO {out} SELECT id FROM orders;
TRUNCATE TABLE {out}

--- chain_of_three
-- -> {out_a}
-- id == orders
-- v = orders.amount
-- -> {out_b}
-- id = {out_a}.id
-- w = {out_a}.v
-- * ~ {out_a}.v
-- -> {out_c}
-- key = {out_b}.id
-- w = {out_b}.w
-- v = {out_a}.v
-- * ~ {out_a}.id, {out_b}.id
CREATE TABLE {out_a} USING {format} AS SELECT id, amount AS v FROM orders;
CREATE TABLE {out_b} (id INT, w DOUBLE) USING {format};
INSERT INTO {out_b} SELECT id, v + 1 FROM {out_a} WHERE v > 1;
CREATE TABLE {out_c} USING {format} AS SELECT b.id AS key, b.w, a.v FROM {out_b} b JOIN {out_a} a ON a.id = b.id
