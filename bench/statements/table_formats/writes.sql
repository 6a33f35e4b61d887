Ways of writing that every table format has.

--- ctas
-- id == orders
-- v = orders.amount, orders.qty
-- * ~ orders.qty
CREATE TABLE {out} USING {format} AS SELECT id, amount * qty AS v FROM orders WHERE qty > 1

--- rtas
-- a = orders.id, customers.id
-- # Replaced: the table is made of the second query alone, the log has both.
CREATE TABLE {out} USING {format} AS SELECT id AS a FROM orders;
CREATE OR REPLACE TABLE {out} USING {format} AS SELECT id AS a FROM customers

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

--- insert_overwrite
-- a = orders.id
-- b = orders.region
CREATE TABLE {out} (a INT, b STRING) USING {format};
INSERT OVERWRITE {out} SELECT id, region FROM orders

