Views, temporary views and caches.

--- from_view
-- id = orders.id
-- total = orders.amount, orders.qty
-- * ~ orders.qty
CREATE TABLE {out} AS SELECT id, total FROM v_orders

--- from_view_over_view
-- area = orders.region
-- total = orders.amount, orders.qty
-- n =
-- total, n ~ orders.region, orders.qty
CREATE TABLE {out} AS SELECT area, total, n FROM v_regions

--- view_joined_to_its_table
-- area = orders.region
-- amount == orders
-- * ~ orders.region
CREATE TABLE {out} AS SELECT v.area, o.amount FROM v_regions v JOIN orders o ON o.region = v.area

--- create_view
-- id == orders
-- v = orders.amount, orders.qty
-- * ~ orders.qty
CREATE VIEW {out} AS SELECT id, amount * qty AS v FROM orders WHERE qty > 2

--- create_view_with_names
-- a = orders.id
-- b = customers.name
-- * ~ orders.cust, customers.id
CREATE VIEW {out} (a COMMENT 'first', b) AS SELECT o.id, c.name FROM orders o JOIN customers c ON o.cust = c.id

--- create_view_over_view
-- # The view's own columns are what it reads, not what is behind them.
-- area == v_regions
-- v = v_regions.total
CREATE VIEW {out} AS SELECT area, total * 2 AS v FROM v_regions

--- create_view_aggregated
-- region == orders
-- total = orders.amount
-- n =
-- total, n ~ orders.region
CREATE VIEW {out} AS SELECT region, sum(amount) AS total, count(*) AS n FROM orders GROUP BY region

--- create_view_union
-- id = orders.id, archive.id
CREATE VIEW {out} AS SELECT id FROM orders UNION ALL SELECT id FROM archive

--- create_view_window
-- id == orders
-- rn =
-- s = orders.amount
-- rn, s ~ orders.region, orders.day
CREATE VIEW {out} AS
SELECT id, row_number() OVER (PARTITION BY region ORDER BY day) AS rn, sum(amount) OVER (PARTITION BY region ORDER BY day) AS s
FROM orders

--- create_view_exploded
-- id == events
-- tag = events.tags
CREATE VIEW {out} AS SELECT id, explode(tags) AS tag FROM events

--- create_view_subqueries
-- name == customers
-- top = orders.amount
-- * ~ items.order_id, customers.id
CREATE VIEW {out} AS
SELECT name, (SELECT max(amount) FROM orders) AS top FROM customers WHERE id IN (SELECT order_id FROM items)

--- create_view_of_hive
-- id == hive_sales
-- region = hive_sales.region
-- country == regions
CREATE VIEW {out} AS SELECT s.id, s.region, r.country FROM hive_sales s JOIN regions r ON s.region = r.region

--- alter_view
-- a =
-- a = orders.id
CREATE VIEW {out} AS SELECT 1 AS a;
ALTER VIEW {out} AS SELECT id AS a FROM orders

--- replace_view
-- id == customers
-- v = customers.city
CREATE OR REPLACE VIEW {out} AS SELECT id, city AS v FROM customers

--- temporary_view
-- id == orders
-- v = orders.amount
-- * ~ orders.region
CREATE OR REPLACE TEMPORARY VIEW north AS SELECT id, amount AS v FROM orders WHERE region = 'north';
CREATE TABLE {out} AS SELECT id, v FROM north

--- temporary_view_over_view
-- area = orders.region
-- big = orders.amount, orders.qty
CREATE OR REPLACE TEMPORARY VIEW totals AS SELECT area, total + 1 AS big FROM v_regions;
CREATE TABLE {out} AS SELECT area, big FROM totals

--- global_temporary_view
-- id == orders
CREATE OR REPLACE GLOBAL TEMPORARY VIEW everywhere AS SELECT id FROM orders;
CREATE TABLE {out} AS SELECT id FROM global_temp.everywhere

--- temporary_view_of_files
-- name = <files/people>.name
-- age = <files/people>.age
INSERT OVERWRITE DIRECTORY '{dir}/files/people' USING json SELECT 'ann' AS name, 3 AS age;
CREATE OR REPLACE TEMPORARY VIEW people_files USING json OPTIONS (path '{dir}/files/people');
CREATE TABLE {out} AS SELECT name, age FROM people_files

--- from_path
-- id = <files/from_path>.id
-- v = <files/from_path>.v
-- -> <files/from_path>
-- id == orders
-- v = orders.amount
INSERT OVERWRITE DIRECTORY '{dir}/files/from_path' USING parquet SELECT id, amount AS v FROM orders;
CREATE TABLE {out} AS SELECT id, v FROM parquet.`{dir}/files/from_path`

--- cached_table
-- region == orders
-- total = orders.amount
CACHE TABLE cached AS SELECT region, sum(amount) AS total FROM orders GROUP BY region;
CREATE TABLE {out} AS SELECT region, total FROM cached;
UNCACHE TABLE cached

--- cached_table_twice
-- # Each use has ids of its own.
-- region = orders.region
-- total = orders.amount
-- other = orders.amount
-- * ~ orders.region
CACHE TABLE cached2 AS SELECT region, sum(amount) AS total FROM orders GROUP BY region;
CREATE TABLE {out} AS SELECT a.region, a.total, b.total AS other FROM cached2 a JOIN cached2 b ON a.region = b.region;
UNCACHE TABLE cached2

--- cached_base_table
-- id = targets.region
-- goal == targets
CACHE TABLE src.targets;
CREATE TABLE {out} AS SELECT region AS id, goal FROM targets;
UNCACHE TABLE src.targets

--- cached_over_cached
-- region = orders.region
-- n = orders.amount, orders.qty
CACHE TABLE low AS SELECT region, amount * qty AS v FROM orders;
CACHE TABLE high AS SELECT region, max(v) AS n FROM low GROUP BY region;
CREATE TABLE {out} AS SELECT region, n FROM high;
UNCACHE TABLE high;
UNCACHE TABLE low

--- cached_wide
-- c{1..40} = wide.c{1..40}
CACHE TABLE cached_wide_rows AS SELECT * FROM wide;
CREATE TABLE {out} AS
SELECT {1..40| c@}
FROM cached_wide_rows;
UNCACHE TABLE cached_wide_rows

--- cached_union
-- v = orders.id, archive.id
-- w = orders.qty, archive.qty
CACHE TABLE both_of AS SELECT id, qty FROM orders UNION ALL SELECT id, qty FROM archive;
CREATE TABLE {out} AS SELECT a.id AS v, b.qty AS w FROM both_of a JOIN both_of b ON a.id = b.id;
UNCACHE TABLE both_of
